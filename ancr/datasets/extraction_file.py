"""Compute the features of a data set or folder and write them to a file."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from sklearn.utils import Bunch

from ancr import __version__, datasets
from ancr._core.files import PathLike, atomic_path
from ancr.datasets.own_data import find_images
from ancr.features.deep import DeepFeatures
from ancr.features.eigenfaces import Eigenfaces
from ancr.samples.image_folders import is_image, warn_of_doubts
from ancr.samples.image_vectors import image_vectors, none_readable

_N_EIGENFACES = 100  # fewer where there are fewer images
# Vectors with rows of NaN for unreadable images; how many were computed, how many found in the cache; why which images
# cannot be read; and what says how the vectors were made.
_Computed: TypeAlias = tuple[np.ndarray, int, int, dict[str, str], dict[str, str]]


@dataclass(frozen=True)
class ExtractionReport:
    """Result of an extraction."""

    output: Path
    shape: tuple[int, int]
    n_computed: int
    n_cached: int
    unreadable: dict[str, str]

    @property
    def summary(self) -> str:
        """The result in one line."""
        n_images, width = self.shape
        return (
            f"{self.output}: {n_images} images, {width} features each; {self.n_computed} computed, "
            f"{self.n_cached} from the cache, {len(self.unreadable)} unreadable"
        )


def load_source(source: str, data_home: PathLike | None = None) -> Bunch:
    """Load the images of a data set, a folder or a CSV; the target of an image without a label is −1.

    Parameters
    ----------
    source : str
        A name of the registry, otherwise a path: ``cars`` is the data set, ``./cars`` a folder.
    data_home : path-like or None
        Folder that holds the data sets.
    """
    if source in datasets.REGISTRY:
        info = datasets.dataset_info(source)
        if info.name in ("ar", "usps", "digits"):
            raise ValueError(f"source={source!r} consists of pixel vectors, but expected image files")
        return getattr(datasets, info.loader)(data_home)
    path = Path(source).expanduser()
    if not path.exists():
        names = ", ".join(datasets.REGISTRY)
        raise FileNotFoundError(f"source={source!r} is neither a path nor one of the data sets {names}")
    samples, ignored = find_images(path, flat=path.is_dir() and _is_flat(path))
    warn_of_doubts(samples, ignored)
    return Bunch(**samples.bunch(), filenames=samples.names)


def extract_to_file(
    bunch: Bunch, output: PathLike, *, features: str | None = None, strict: bool = False, **options: Any
) -> ExtractionReport:
    """Compute features of a data set's images and write them to an ``.npz`` file.

    Parameters
    ----------
    bunch : Bunch
        Result of a loader of images or of :func:`ancr.datasets.load_folder`.
    output : path-like
        Path that ends in ``.npz``, in an existing folder.
    features : {"pixels", "hog", "eigenfaces"} or None
        Without a network: 32 × 32 grey pixels; histograms of oriented gradients; or such pixels projected on at most
        100 leading axes of the training images (of all images if there is no split). None means deep features.
    strict : bool
        Stop at the first unreadable image instead of leaving it out.
    **options
        Parameters of :class:`~ancr.features.DeepFeatures`; for ``weights`` and ``cache_dir`` the text ``"none"`` means
        None. Features without a network do not use them.

    Returns
    -------
    ExtractionReport
        Counts, and the names of unreadable images.
    """
    target = _checked_output(output)
    computed = _deep_vectors(bunch, strict, options) if features is None else _plain_vectors(bunch, strict, features)
    vectors, n_computed, n_cached, unreadable, parameters = computed
    good = np.asarray(~np.isnan(vectors).any(axis=1))
    with atomic_path(target) as draft:
        np.savez(draft, **_arrays(bunch, vectors, good, parameters))
    return ExtractionReport(target, (int(good.sum()), vectors.shape[1]), n_computed, n_cached, unreadable)


def _deep_vectors(bunch: Bunch, strict: bool, options: Mapping[str, Any]) -> _Computed:
    named = {name: None for name in ("weights", "cache_dir") if options.get(name) == "none"}
    transformer = DeepFeatures(**{**options, **named, "on_error": "raise" if strict else "nan"})
    train = slice(None) if bunch.train_indices is None else bunch.train_indices
    vectors = transformer.fit(bunch.filenames[train]).transform(bunch.filenames)
    parameters = {name: str(value) for name, value in transformer.get_params().items()}
    if transformer.weights is None:
        parameters["weights"] = "none"
    return vectors, transformer.n_computed_, transformer.n_cached_, transformer.unreadable_, parameters


def _plain_vectors(bunch: Bunch, strict: bool, features: str) -> _Computed:
    names = bunch.filenames.tolist()
    found, broken = image_vectors(names, "hog" if features == "hog" else "pixels", strict)
    if not len(found):
        raise none_readable(names, broken)
    good = ~np.isin(np.arange(len(bunch.filenames)), list(broken))
    parameters = {"features": features}
    if features == "eigenfaces":
        train = slice(None) if bunch.train_indices is None else np.isin(np.flatnonzero(good), bunch.train_indices)
        found = Eigenfaces(min(_N_EIGENFACES, *found[train].shape)).fit(found[train]).transform(found)
        parameters["n_components"] = str(found.shape[1])
    vectors = np.full((len(good), found.shape[1]), np.nan, found.dtype)
    vectors[good] = found
    unreadable = {str(bunch.filenames[number]): reason for number, reason in broken.items()}
    return vectors, len(found), 0, unreadable, parameters


def _arrays(bunch: Bunch, features: np.ndarray, good: np.ndarray, parameters: Mapping[str, str]) -> dict[str, Any]:
    root = Path(os.path.commonpath([Path(name).parent for name in bunch.filenames]))
    arrays = {
        "features": features[good],
        "labels": bunch.target[good],
        "class_names": bunch.target_names,
        "image_names": np.array([Path(name).relative_to(root).as_posix() for name in bunch.filenames])[good],
        "made_by": json.dumps({"ancr": __version__, "source": bunch.name, **parameters}),
    }
    if bunch.train_indices is not None:
        is_train = np.zeros(len(good), dtype=bool)
        is_train[bunch.train_indices] = True
        arrays["is_train"] = is_train[good]
    return arrays


def _checked_output(output: PathLike) -> Path:
    path = Path(output).expanduser()
    if path.suffix != ".npz":
        raise ValueError(f"output={str(path)!r}, but expected a file that ends in .npz")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"output={str(path)!r}: the folder {path.parent} does not exist")
    return path


def _is_flat(folder: Path) -> bool:
    entries = [entry for entry in folder.iterdir() if not entry.name.startswith(".")]
    return not any(entry.is_dir() for entry in entries) and any(map(is_image, entries))
