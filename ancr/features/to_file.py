"""From a data set or a folder to a file of features."""

import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ancr import __version__, datasets
from ancr.datasets.folder import IMAGE_SUFFIXES
from ancr.features.deep import DeepFeatures


@dataclass(frozen=True)
class ExtractionReport:
    """What an extraction did."""

    output: Path
    shape: tuple[int, int]
    n_computed: int
    n_cached: int
    unreadable: dict

    @property
    def summary(self):
        """One line for the end of a run."""
        n_images, width = self.shape
        return (
            f"{self.output}: {n_images} images, {width} features each; {self.n_computed} computed, "
            f"{self.n_cached} from the cache, {len(self.unreadable)} unreadable"
        )


def load_source(source, data_home=None):
    """Images of a registered name, of a folder or of a CSV.

    Parameters
    ----------
    source : str
        A name of the registry, or else a path; ``./cars`` is a folder, ``cars`` the data set.
    data_home : path-like or None
        Where data sets are looked for.
    """
    if source in datasets.REGISTRY:
        info = datasets.dataset_info(source)
        if info.name in ("ar", "usps", "digits"):
            raise ValueError(f"source={source!r} comes as pixels, but expected a set of image files")
        return getattr(datasets, info.loader)(data_home)
    path = Path(source).expanduser()
    if not path.exists():
        names = ", ".join(datasets.REGISTRY)
        raise FileNotFoundError(f"source={source!r} is neither a path nor one of the data sets {names}")
    flat = path.is_dir() and _is_flat(path)
    return datasets.load_folder(path, label_from="name" if flat else "folder")


def extract_to_file(bunch, output, *, weights="default", workers=None, cache_dir="auto", strict=False, **options):
    """Compute deep features of a data set's images and write them to an ``.npz`` file, all or nothing.

    Parameters
    ----------
    bunch : Bunch
        Of an image data set or of :func:`ancr.datasets.load_folder`.
    output : path-like
        Must end in ``.npz``, in a folder that exists.
    weights, cache_dir : str or None
        As in :class:`~ancr.features.DeepFeatures`; the word ``"none"`` is None.
    workers : int or None
        Processes that decode ahead.
    strict : bool
        Stop at the first unreadable image, instead of leaving it out.
    **options
        Further parameters of :class:`~ancr.features.DeepFeatures`.

    Returns
    -------
    ExtractionReport
        Counts, and the unreadable images by name.
    """
    output = _checked_output(output)
    transformer = DeepFeatures(
        weights=_word_none(weights),
        cache_dir=_word_none(cache_dir),
        n_workers=workers,
        on_error="raise" if strict else "nan",
        **options,
    )
    train = slice(None) if bunch.train_indices is None else bunch.train_indices
    features = transformer.fit(bunch.filenames[train]).transform(bunch.filenames)
    good = ~np.isnan(features).any(axis=1)
    _write(output, _arrays(bunch, features, good, transformer))
    return ExtractionReport(
        output,
        (int(good.sum()), features.shape[1]),
        transformer.n_computed_,
        transformer.n_cached_,
        transformer.unreadable_,
    )


def _arrays(bunch, features, good, transformer):
    root = Path(os.path.commonpath([Path(name).parent for name in bunch.filenames]))
    parameters = {name: str(value) for name, value in transformer.get_params().items()}
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


def _write(output, arrays):
    """Under a temporary name first: a file of features is whole or not there."""
    with tempfile.NamedTemporaryFile(dir=output.parent, suffix=".npz", delete=False) as draft:
        try:
            np.savez(draft, **arrays)
        except BaseException:
            os.unlink(draft.name)
            raise
    os.replace(draft.name, output)


def _checked_output(output):
    output = Path(output).expanduser()
    if output.suffix != ".npz":
        raise ValueError(f"output={str(output)!r}, but expected a file that ends in .npz")
    if not output.parent.is_dir():
        raise FileNotFoundError(f"output={str(output)!r}: the folder {output.parent} does not exist")
    return output


def _word_none(value):
    return None if value == "none" else value


def _is_flat(folder):
    entries = [entry for entry in folder.iterdir() if not entry.name.startswith(".")]
    return not any(entry.is_dir() for entry in entries) and any(
        entry.suffix.lower() in IMAGE_SUFFIXES for entry in entries
    )
