"""Vectors of texts by a sentence-transformers model that is on the machine, pinned by the hash of its files.

Nothing is downloaded. A model is a folder, or a name in the cache of Hugging Face; its hash tells whether it is the one
that a classifier was trained with.
"""

import contextlib
import hashlib
import importlib
import json
import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from types import ModuleType

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from ancr.features.backbones import import_torchvision

# A folder in which models are found by the name of theirs, for machines that keep them elsewhere.
FOLDER = "ANCR_TEXT_MODELS"
# What decides the vectors: settings, vocabularies and weights, without their copies for other engines.
_DECIDE, _WEIGHTS, _COPIES = (".json", ".txt", ".model"), (".safetensors", ".bin"), ("onnx", "openvino")
# Texts whose vectors are kept: folds of a comparison and fits of the studio ask for the same ones again and again.
_MOST_KEPT = 50_000


def located(name: str) -> str:
    """The name to keep of a model that is on this machine: the path of a folder, or the name in a cache.

    Raises
    ------
    ValueError
        In one line, if it is not there.
    """
    folder = _folder(name)
    return str(folder) if Path(name).expanduser().is_dir() else name


def _folder(name: str) -> Path:
    """Where a model is."""
    beside = Path(os.environ[FOLDER]) / Path(name).name if os.environ.get(FOLDER) else None
    for place in filter(None, (Path(name).expanduser(), beside)):
        if place.is_dir():
            if not (place / "modules.json").is_file():
                raise ValueError(f"{place} is not a sentence-transformers model: it has no modules.json")
            return place.resolve()
    cached = _cached(name)
    if cached is None:
        raise ValueError(
            f"the text model {name!r} is not on this machine: it is neither a folder nor in the cache of Hugging Face; "
            f"a folder that holds it under the name {Path(name).name!r} may be named by {FOLDER}"
        )
    return cached


def _cached(name: str) -> Path | None:
    """The folder of a name such as ``sentence-transformers/all-MiniLM-L6-v2`` in the cache, without any network."""
    if Path(name).is_absolute():
        return None
    try:
        from huggingface_hub import snapshot_download

        return Path(snapshot_download(name, local_files_only=True))
    except (ImportError, ValueError, OSError):  # its own errors are of these kinds
        return None


def fingerprint(name: str) -> str:
    """SHA-256 of the files that decide a model's vectors: their paths in the folder, and what they hold."""
    return _hashed(_folder(name))


@lru_cache(maxsize=8)
def _hashed(folder: Path) -> str:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and not _aside(path.relative_to(folder))]
    weights = {suffix: [path for path in files if path.suffix == suffix] for suffix in _WEIGHTS}
    state = hashlib.sha256()
    for path in [path for path in files if path.suffix in _DECIDE] + (weights[".safetensors"] or weights[".bin"]):
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        state.update(f"{path.relative_to(folder).as_posix()}\0{digest}\n".encode())
    return state.hexdigest()


def _aside(path: Path) -> bool:
    return any(part.startswith(".") or part in _COPIES for part in path.parts)


class SentenceVectors(TransformerMixin, BaseEstimator):
    """Texts as vectors of a sentence-transformers model; nothing is learned.

    Parameters
    ----------
    model : str
        A folder, or a name in the cache of Hugging Face.
    digest : str
        What `fingerprint` says of the model that is meant; empty for any.
    """

    def __init__(self, model: str, digest: str = "") -> None:
        self.model = model
        self.digest = digest

    def fit(self, X: Sequence[str], y: object = None) -> "SentenceVectors":
        """Find the model; another one of the same name is refused.

        Parameters
        ----------
        X : sequence of str
            Texts.
        y : None
            Not used.
        """
        self._encoder()
        return self

    def transform(self, X: Sequence[str]) -> np.ndarray:
        """Vectors of texts.

        Parameters
        ----------
        X : sequence of str
            Texts.
        """
        return self._encoder()(list(X))

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _encoder(self) -> Callable[[list[str]], np.ndarray]:
        """What the machine has by the model's name, and not what a copy from another machine held."""
        found = fingerprint(self.model)
        if self.digest not in ("", found):
            here = f"the text model {self.model!r} has the hash {found[:12]} here"
            raise ValueError(f"{here}, but {self.digest[:12]} was trained with: its vectors would differ")
        return _encoder(_folder(self.model))


@lru_cache(maxsize=2)
def _encoder(folder: Path) -> Callable[[list[str]], np.ndarray]:
    """The function of a model; it keeps the vectors of texts that it has seen."""
    modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
    own = [module["type"] for module in modules if not module["type"].startswith("sentence_transformers.")]
    if own:  # sentence-transformers would import it from the folder
        raise ValueError(f"the text model {folder} brings code of its own ({own[0]}), which is not run")
    model = import_sentence_transformers().SentenceTransformer(str(folder), local_files_only=True)
    known: dict[str, np.ndarray] = {}

    def encode(texts: list[str]) -> np.ndarray:
        new = [text for text in dict.fromkeys(texts) if text not in known]
        found = dict(zip(new, _as_rows(model.encode(new, show_progress_bar=False)), strict=True)) if new else {}
        rows = np.stack([found[text] if text in found else known[text] for text in texts])
        if len(known) + len(found) <= _MOST_KEPT:
            known.update(found)
        return rows

    return encode


def import_sentence_transformers() -> ModuleType:
    """The module ``sentence_transformers``, or an ImportError that names the package."""
    with contextlib.suppress(ImportError):  # it is optional there, but where it is installed it must import
        import_torchvision()
    try:
        return importlib.import_module("sentence_transformers")
    except ImportError as error:
        raise ImportError("vectors of sentences need a package: pip install sentence-transformers") from error


def _as_rows(vectors: object) -> np.ndarray:
    return np.asarray(vectors, dtype=np.float64)
