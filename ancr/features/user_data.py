"""A user's own data as vectors: a table, or images as pixels or as features of a network."""

import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ancr.datasets.folder import IMAGE_SUFFIXES, DataWarning, load_folder
from ancr.datasets.table import TARGET_NAMES, load_table, load_vectors, table_columns
from ancr.features.deep import DeepFeatures

_SIDE = 32


@dataclass(frozen=True)
class UserData:
    """Labelled vectors, and what is needed to compute such vectors from new samples.

    Attributes
    ----------
    bunch : Bunch
        The data set; ``data`` holds the vectors.
    features : str
        ``"table"``, ``"pixels"`` or the name of a network.
    columns : tuple of str
        Names of the table's columns; empty for other sources.
    names : ndarray of str
        Name of each sample.
    image_paths : ndarray of str
        Path of each sample's image; empty for tables.
    """

    bunch: object
    features: str
    columns: tuple
    names: np.ndarray
    image_paths: np.ndarray

    @property
    def has_units(self):
        """Whether the columns have different units, so that they are standardized by default."""
        return bool(self.columns)


def load_user_data(path, label=None, features="pixels"):
    """Load labelled data of a user and check that a classifier can be trained on it.

    Parameters
    ----------
    path : path-like
        ``.csv``, ``.npz``, ``.npy``, ``.mat`` or ``.parquet``; a folder with one sub-folder of images per class; or a
        CSV with the columns ``path`` and ``label``.
    label : str or None
        Column or array that holds the labels.
    features : str
        For images: ``"pixels"``, or a network that `ancr.features.DeepFeatures` knows.

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
        paths = bunch.filenames
        bunch.data = image_vectors(paths, features)
        user_data = UserData(bunch, features, (), paths, paths)
    else:
        user_data = _from_table(path, label)
    _check(path, user_data.bunch)
    return user_data


def _from_table(path, label):
    columns = table_columns(path)
    label_column = label or next((name for name in TARGET_NAMES if name in columns), None)
    index = [name for name in columns if not name or name.startswith("Unnamed:")]  # row numbers that pandas wrote
    kept = [name for name in columns if name not in (label_column, "is_train", "image_names", *index)]
    if index:
        warnings.warn(f"{path.name}: a column without a name is taken as row numbers and left out", DataWarning, 2)
    try:
        bunch = load_table(path, target=label, data=kept if index else None)
    except (ValueError, OSError) as error:
        raise type(error)(_in_words_of_the_command(str(error), path)) from error
    names = bunch.filenames
    if names is None:
        names = np.array([f"row {number}" for number in range(1, len(bunch.data) + 1)])
    return UserData(bunch, "table", tuple(kept), names.astype(str), np.array([], str))


def _in_words_of_the_command(message, path):
    """First line of the loader's message, with the command's option in place of the loader's argument."""
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


def load_queries(path, features, columns=()):
    """Load unlabelled samples to classify: ``(vectors, names)``.

    Parameters
    ----------
    path : path-like
        A table or ``.npz``/``.npy`` file of vectors; or a folder of images, or one image.
    features : str
        The features that the model was trained on, as in `UserData.features`.
    columns : sequence of str
        Columns that the model was trained on, found by name in a table; other columns are not read.
    """
    path = Path(path).expanduser()
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    if features != "table":
        images = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.suffix.lower() in IMAGE_SUFFIXES)
        if not images or images[0].suffix.lower() not in IMAGE_SUFFIXES:
            raise ValueError(f"{path} holds no image, but the model was trained on images ({features})")
        names = [str(image) for image in images]
        return image_vectors(names, features), names
    if path.is_dir():
        raise ValueError(f"{path} is a folder, but the model was trained on a table")
    vectors = load_vectors(path, list(columns))
    return vectors, [f"row {number}" for number in range(1, len(vectors) + 1)]


def image_vectors(paths, features):
    """Vectors of images: 32 × 32 grey pixels, or the features of a network."""
    if features == "pixels":
        return np.array([_pixels(path) for path in paths])
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
