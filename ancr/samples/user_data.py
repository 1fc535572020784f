"""A user's own data as vectors: a table, or images as pixels or as features of a network."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ancr._core.column_scales import share_one_range
from ancr.features.deep import DeepFeatures
from ancr.features.hog import hog_of_files
from ancr.features.images import reading
from ancr.samples.folders import IMAGE_SUFFIXES, load_folder
from ancr.samples.scaling import SPACES_OF_COLUMNS
from ancr.samples.tables import check_finite, load_table, open_table, vector_chunks

_SIDE = 32
# Samples classified at a time: many blocks of every solver, and few enough for any dictionary.
CHUNK_ROWS = 3072


@dataclass(frozen=True)
class UserData:
    """Labelled vectors, and what is needed to compute such vectors from new samples.

    Attributes
    ----------
    bunch : Bunch
        The data set; ``data`` holds the vectors.
    features : str
        ``"table"``, ``"pixels"``, ``"hog"`` or the name of a network.
    columns : tuple of str
        Names of the columns of a table, or of an array whose columns may have units; empty for other sources.
    names : ndarray of str
        Name of each sample.
    image_paths : ndarray of str
        Path of each sample's image; empty for tables.
    origin : str
        Absolute path of the data.
    label : str
        The column of the labels, if the user named it.
    """

    bunch: object
    features: str
    columns: tuple
    names: np.ndarray
    image_paths: np.ndarray
    origin: str = ""
    label: str = ""

    @property
    def has_units(self):
        """Whether the columns have different units, so that they are standardized by default.

        Columns of a table do, unless they share one range.
        """
        return bool(self.columns) and not share_one_range(self.bunch.data)

    def is_standardized(self, standardize=None):
        """Whether columns are scaled; ``standardize`` is what the user asked for, None for nothing."""
        return self.has_units if standardize is None else standardize

    def spaces(self, standardize=None):
        """Parameters of a search over settings that fit these vectors; none where its defaults do."""
        return {"spaces": SPACES_OF_COLUMNS} if self.columns and self.is_standardized(standardize) else {}

    def scaling(self, standardize=None):
        """What is done with the columns, in words; ``standardize`` is what the user asked for, None for nothing."""
        if standardize is not None or not self.columns:
            return "columns are standardized" if standardize else "values are used as they are"
        if self.has_units:
            return f"columns are standardized, because their ranges differ ({self.option(False)} uses them as they are)"
        low, high = self.bunch.data.min(), self.bunch.data.max()
        shared = f"columns share the range {low:g} to {high:g} and are used as they are"
        return f"{shared} ({self.option(True)} scales them)"

    def option(self, standardize):
        """How the user asks for scaling: on the command line if the data comes from a file, otherwise in Python."""
        if self.origin:
            return "--standardize" if standardize else "--no-standardize"
        return f"standardize={standardize}"


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
        For images: ``"pixels"``, ``"hog"``, or a network that `ancr.features.DeepFeatures` knows.

    Raises
    ------
    ValueError, OSError
        With one line that says what is wrong with the data.
    """
    path = Path(path).expanduser()
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    if path.is_dir() or _lists_images(path):
        if label is not None:
            raise ValueError(f"--label {label!r}, but {path} holds images; their labels are their folders' names")
        bunch = load_folder(path)
        paths = bunch.filenames
        bunch.data = image_vectors(paths, features)
        user_data = UserData(bunch, features, (), paths, paths, str(path.resolve()))
    else:
        if features != "pixels":
            raise ValueError(f"--features {features!r} is for images, but {path} is not a folder of images")
        user_data = _from_table(path, label)
    _check(path, user_data.bunch)
    return user_data


def _from_table(path, label):
    try:
        bunch = load_table(path, target=label)
    except ValueError as error:
        raise ValueError(_in_words_of_the_command(str(error))) from error
    names = bunch.filenames
    if names is None:
        names = np.array([f"row {number}" for number in range(1, len(bunch.data) + 1)])
    return UserData(
        bunch, "table", bunch.feature_names, names.astype(str), np.array([], str), str(path.resolve()), label or ""
    )


# What the loader's arguments are called on the command line.
_OPTIONS = {"target=": "--label ", "target is None": "--label is missing", "path=": "", "data is None, but ": ""}


def _in_words_of_the_command(message):
    for argument, option in _OPTIONS.items():
        if message.startswith(argument):
            return option + message.removeprefix(argument)
    return message


def _lists_images(path):
    return path.suffix.lower() == ".csv" and {"path", "label"} <= {name.lower() for name in open_table(path).columns}


def _check(path, bunch):
    present = np.unique(bunch.target)
    if len(present) < 2:
        only = f": {str(bunch.target_names[present[0]])!r}" if len(present) else ""
        raise ValueError(f"{path} holds {len(present)} class{only}, but at least two are needed")
    check_finite(path, bunch.data)


def query_chunks(path, features, columns=(), rows=CHUNK_ROWS):
    """Yield unlabelled samples to classify, some at a time: ``(vectors, names)``.

    Parameters
    ----------
    path : path-like
        A table or ``.npz``/``.npy`` file of vectors; or a folder of images, or one image.
    features : str
        The features that the model was trained on, as in `UserData.features`.
    columns : sequence of str
        Columns that the model was trained on, found by name in a table; other columns are not read.
    rows : int
        Samples at a time.
    """
    path = Path(path).expanduser()
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    if features != "table":
        images = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.suffix.lower() in IMAGE_SUFFIXES)
        if not images or images[0].suffix.lower() not in IMAGE_SUFFIXES:
            raise ValueError(f"{path} holds no image, but the model was trained on images ({features})")
        for start in range(0, len(images), rows):
            names = [str(image) for image in images[start : start + rows]]
            yield image_vectors(names, features), names
        return
    if path.is_dir():
        raise ValueError(f"{path} is a folder, but the model was trained on a table")
    first = 1
    for vectors in vector_chunks(path, list(columns), rows):
        yield vectors, [f"row {number}" for number in range(first, first + len(vectors))]
        first += len(vectors)


def image_vectors(paths, features):
    """Vectors of images: 32 × 32 grey pixels, histograms of gradients, or the features of a network."""
    if features == "pixels":
        return np.array([_grey(path, _SIDE).ravel() for path in paths])
    if features == "hog":
        return hog_of_files(paths, _grey)
    return DeepFeatures(features).fit_transform(paths)


def _grey(path, side):
    """A grey image of side × side pixels in [0, 1]; ``path`` may be a file that is open."""
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError("reading images needs pillow: pip install 'ancr[plot]'") from error
    path = str(path) if isinstance(path, str) else path  # a text of NumPy would show its type in messages
    with reading(path), Image.open(path) as image:
        small = image.convert("L").resize((side, side), Image.Resampling.BILINEAR)
    return np.asarray(small, dtype=np.float64) / 255.0
