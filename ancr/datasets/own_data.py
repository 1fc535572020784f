"""A user's own tables and folders of images, as the loaders of data sets give them."""

import warnings
from collections.abc import Sequence
from pathlib import Path

from numpy.typing import ArrayLike
from sklearn.utils import Bunch

from ancr._core.files import PathLike
from ancr._core.locations import WrongTreeError, describe_tree
from ancr.samples.image_folders import Found, flat_images, folder_images, listed_images, warn_of_doubts
from ancr.samples.readers import read_arrays, read_table
from ancr.samples.sample_set import DataWarning, Samples
from ancr.samples.table_files import TABLES, open_table

_EXPECTED = "folder/\n  first class/\n    image.jpg …\n  second class/\n    image.jpg …"


def load_table(
    path: PathLike, *, data: str | Sequence[str] | None = None, target: str | Path | ArrayLike | None = None
) -> Bunch:
    r"""Load vectors and labels from one file.

    Parameters
    ----------
    path : path-like
        ``.npz`` (the format that ``ancr extract`` writes), ``.npy`` with its labels in ``target``, ``.mat`` of
        any version, ``.csv`` or ``.tsv`` with a header, ``.parquet``, ``.xlsx``, or ``.txt`` with one text a line.
    data : str, list of str or None
        Array or columns that hold the vectors; None takes the first of ``data``, ``features``, ``X``, ``fea``
        that the file has, and for tables all columns except the label and those of names.
    target : str, path-like, array-like or None
        Array or column that holds the labels; None takes the one of ``target``, ``labels``, ``y``, ``label``,
        ``gnd``, ``Y``, ``class`` that the file has; several are an error. For ``.npy``, a second ``.npy`` file or
        an array; None looks for ``<name>_labels.npy``.

    Returns
    -------
    Bunch
        ``data`` (n_samples, n_features; NaN where a table has a gap, and objects if it has words), ``target`` (index
        into ``target_names``), ``target_names``, ``train_indices`` and ``test_indices`` (from an array or column
        ``is_train``, otherwise None),
        ``filenames`` (names of the samples: of their images, or of the rows), ``feature_names`` (columns of a table;
        empty for arrays), ``n_unlabelled`` (samples that have no label and were left out).

    Raises
    ------
    ValueError, OSError
        With one line that says what is wrong; for a cell of a table with its row and column.

    Warns
    -----
    DataWarning
        About samples without a label, which are left out.

    Notes
    -----
    MATLAB code in this field stores samples as columns. If only the columns match the number of labels, the
    matrix is transposed.

    Labels are kept as they are written: ``0`` is the class ``"0"``. Whole numbers stored as floating point are
    written without a decimal point. An empty cell, ``nan`` and a missing value are absent labels; any other text is a
    class, also ``NA`` and ``none``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ancr.datasets import load_table
    >>> path = Path(tempfile.mkdtemp()) / "tiny.csv"
    >>> _ = path.write_text("length,width,kind\n5,3,a\n6,2,b\n", encoding="utf-8")
    >>> bunch = load_table(path, target="kind")
    >>> bunch.data.shape, bunch.target_names.tolist()
    ((2, 2), ['a', 'b'])
    """
    file = Path(path).expanduser()
    if file.suffix.lower() in TABLES:
        return _bunch_of_labelled(read_table(open_table(file), data, None if target is None else str(target)))
    return _bunch_of_labelled(read_arrays(file, data, target))


def load_folder(path: PathLike, *, label_from: str = "folder") -> Bunch:
    """Load the images of a folder, or of a CSV of path and label.

    Parameters
    ----------
    path : path-like
        A folder with one sub-folder per class (images may be in deeper folders); a folder with such folders
        ``train/`` and ``test/``, which give the split; or a ``.csv`` file with the columns ``path`` and
        ``label`` (and optionally ``is_train``), where paths are relative to the file.
    label_from : {"folder", "name"}
        ``"name"`` is for a folder without sub-folders that holds one image per class, named after the class.

    Returns
    -------
    Bunch
        ``data`` and ``filenames`` (paths), ``target``, ``target_names``, ``train_indices``, ``test_indices``
        (None if there is no split), ``ignored`` (files that are not images), ``duplicates`` (pairs of identical
        images in different classes), ``n_unlabelled`` (images that have no label and were left out: loose ones, and
        those in a folder ``unlabelled``).

    Raises
    ------
    WrongTreeError
        If the folder has no sub-folders.
    ValueError
        If a CSV gives two labels for one path.

    Warns
    -----
    DataWarning
        About images without a label, classes without images, files that are not images, identical images in different
        classes, and class names that differ only in case.

    Examples
    --------
    >>> from ancr.datasets import load_folder
    >>> bunch = load_folder("photos")  # one sub-folder of images per class  # doctest: +SKIP
    >>> bunch.target_names  # doctest: +SKIP
    """
    root = Path(path).expanduser()
    if label_from not in ("folder", "name"):
        raise ValueError(f"label_from={label_from!r}, but expected 'folder' or 'name'")
    samples, ignored = find_images(root, flat=label_from == "name")
    duplicates = warn_of_doubts(samples, ignored)
    if samples.n_unlabelled == len(samples):
        if root.is_file():
            raise ValueError(f"{root} holds no label")
        raise WrongTreeError(
            f"{root} has no sub-folder per class.\nExpected:\n{_EXPECTED}\nFound:\n{describe_tree(root)}"
        )
    bunch = _bunch_of_labelled(samples)
    return Bunch(**{**bunch, "data": bunch.filenames}, ignored=list(map(str, ignored)), duplicates=duplicates)


def find_images(path: Path, flat: bool = False) -> Found:
    """``(samples, ignored files)`` of a folder or of a CSV; the images of a flat one are named after their classes."""
    if path.is_file() and path.suffix.lower() == ".csv":
        return listed_images(open_table(path))
    if not path.is_dir():
        raise FileNotFoundError(f"path={str(path)!r} is neither a folder nor a .csv file")
    return flat_images(path) if flat else folder_images(path)


def _bunch_of_labelled(samples: Samples) -> Bunch:
    if samples.n_unlabelled:
        warnings.warn(f"{samples.name}: {samples.left_out}", DataWarning, stacklevel=3)
    kept = samples.take(samples.target >= 0) if samples.n_unlabelled else samples
    return Bunch(**kept.bunch(), filenames=kept.names, n_unlabelled=samples.n_unlabelled)
