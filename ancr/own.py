"""A user's own data as vectors: from a table, or from images through their pixels or a network."""

import csv
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ancr.datasets import DataWarning, load_folder, load_table
from ancr.datasets.folder import IMAGE_SUFFIXES
from ancr.datasets.table import _DATA_NAMES

_TABLES_WITH_UNITS = (".csv", ".parquet")
_SIDE = 32


@dataclass(frozen=True)
class OwnData:
    """Vectors with labels, and what it takes to make such vectors again.

    Attributes
    ----------
    bunch : Bunch
        ``data`` holds vectors.
    features : str
        ``"table"``, ``"pixels"`` or the name of a network.
    columns : tuple of str
        Names of a table's columns; empty for other sources.
    names : ndarray of str
        What to call each sample.
    pictures : ndarray of str
        Path of each sample's image; empty for tables.
    """

    bunch: object
    features: str
    columns: tuple
    names: np.ndarray
    pictures: np.ndarray

    @property
    def has_units(self):
        """Whether columns were measured in units of their own, so that scaling them is the sane default."""
        return bool(self.columns)


def load_own(path, label=None, features="pixels"):
    """Labelled data of a user, checked to be something that can be learned from.

    Parameters
    ----------
    path : path-like
        ``.csv``, ``.npz``, ``.npy``, ``.mat`` or ``.parquet``; a folder with one sub-folder of images a class; or a
        CSV with the columns ``path`` and ``label``.
    label : str or None
        Column or array of the labels.
    features : str
        Of images: ``"pixels"``, or a network that `ancr.features.DeepFeatures` knows.

    Raises
    ------
    ValueError, OSError
        With one line that says what is wrong with the data.
    """
    path = Path(path).expanduser()
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    if path.is_dir() or _lists_images(path):
        bunch = load_folder(path)
        pictures = bunch.filenames
        bunch.data = image_vectors(pictures, features)
        own = OwnData(bunch, features, (), pictures, pictures)
    else:
        own = _from_table(path, label)
    _check(path, own.bunch)
    return own


def _from_table(path, label):
    columns = table_columns(path)
    try:
        bunch = load_table(path, target=label, data=_vector_columns(path, columns, label))
    except (ValueError, OSError) as error:
        raise type(error)(_in_words_of_the_command(str(error), path)) from error
    names = bunch.filenames
    if names is None:
        names = np.array([f"row {number}" for number in range(1, len(bunch.data) + 1)])
    named = tuple(_vector_columns(path, columns, label, always=True) or ())
    return OwnData(bunch, "table", named, names.astype(str), np.array([], str))


def table_columns(path):
    """Column names of a CSV or Parquet file; none for files of arrays."""
    if path.suffix.lower() == ".csv":
        if not path.stat().st_size:
            raise ValueError(f"{path} is empty")
        with path.open(newline="", encoding="utf-8-sig", errors="replace") as file:
            rows = csv.reader(file)
            header = next(rows, [])
            if next(rows, None) is None:
                raise ValueError(f"{path} has a header but no rows")
            return header
    if path.suffix.lower() == ".parquet":
        import pyarrow.parquet as parquet

        return parquet.read_schema(path).names
    return []


def _vector_columns(path, columns, label, always=False):
    """Columns to learn from, where the file has columns that are not; an index that pandas wrote is one."""
    usual = [name for name in ("target", "labels", "y", "label", "gnd", "Y", "class") if name in columns]
    target = label or (usual[0] if usual else None)
    index = [name for name in columns if not name or name.startswith("Unnamed:")]
    kept = [name for name in columns if name not in (target, "is_train", "image_names", *index)]
    if index and not always:
        warnings.warn(f"{path.name}: a column without a name is taken as row numbers and left out", DataWarning, 2)
    return kept if index or always else None


def _in_words_of_the_command(message, path):
    """The loader's message in one line, with the command's own names of the arguments."""
    line = (
        message.strip().splitlines()[0].replace("target=", "--label ").replace("target is None", "--label is missing")
    )
    return line if path.name in line else f"{path} cannot be read: {line}"


def _lists_images(path):
    return path.suffix.lower() == ".csv" and {"path", "label"} <= {name.strip().lower() for name in table_columns(path)}


def _check(path, bunch):
    present = np.unique(bunch.target)
    if len(present) < 2:
        only = f": {str(bunch.target_names[present[0]])!r}" if len(present) else ""
        raise ValueError(f"{path} holds {len(present)} class{only}, but at least two are needed")
    if not np.isfinite(bunch.data).all():
        raise ValueError(f"{path} has {np.count_nonzero(~np.isfinite(bunch.data))} missing or infinite values")


def image_vectors(paths, features):
    """Vectors of images: 32 × 32 grey pixels, or what a network makes of them."""
    if features == "pixels":
        return np.array([_pixels(path) for path in paths])
    from ancr.features import DeepFeatures

    return DeepFeatures(features).fit_transform(paths)


def _pixels(path):
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError("reading images needs pillow: pip install 'ancr[plot]'") from error
    try:
        with Image.open(path) as image:
            small = image.convert("L").resize((_SIDE, _SIDE), Image.Resampling.BILINEAR)
    except OSError as error:
        raise OSError(f"{path} cannot be read as an image: {error}") from error
    return np.asarray(small, dtype=np.float64).ravel() / 255.0


def load_queries(path, features, columns=()):
    """Unlabelled samples to classify: ``(vectors, names)``.

    Parameters
    ----------
    path : path-like
        A table or ``.npz``/``.npy`` file of vectors; or a folder of images, or one image.
    features : str
        What the model was trained on, as `OwnData.features`.
    columns : sequence of str
        Columns that the model was trained on, found by name in a table; labels and others are not read.
    """
    path = Path(path).expanduser()
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    if features != "table":
        images = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.suffix.lower() in IMAGE_SUFFIXES)
        if not images or images[0].suffix.lower() not in IMAGE_SUFFIXES:
            raise ValueError(f"{path} holds no image, but the model was trained on images ({features})")
        return image_vectors([str(image) for image in images], features), [str(image) for image in images]
    if path.is_dir():
        raise ValueError(f"{path} is a folder, but the model was trained on a table")
    vectors = _table_vectors(path, list(columns))
    return vectors, [f"row {number}" for number in range(1, len(vectors) + 1)]


def _table_vectors(path, columns):
    if path.suffix.lower() in _TABLES_WITH_UNITS:
        import pandas as pd

        frame = pd.read_csv(path) if path.suffix.lower() == ".csv" else pd.read_parquet(path)
        missing = [name for name in columns if name not in frame]
        if missing:
            raise ValueError(f"{path} lacks the columns {', '.join(missing[:5])} that the model was trained on")
        return frame[columns].to_numpy(dtype=np.float64) if columns else frame.to_numpy(dtype=np.float64)
    if path.suffix.lower() == ".npy":
        return np.load(path, allow_pickle=False)
    if path.suffix.lower() == ".npz":
        with np.load(path, allow_pickle=False) as content:
            found = [name for name in _DATA_NAMES if name in content]
            if not found:
                raise ValueError(f"{path} has none of the arrays {', '.join(_DATA_NAMES)}")
            return content[found[0]]
    raise ValueError(f"{path} ends in {path.suffix!r}, but expected .csv, .parquet, .npz or .npy")
