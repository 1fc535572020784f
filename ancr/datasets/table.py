"""A user's own vectors: ``.npz``, ``.npy``, ``.mat``, ``.csv`` or ``.parquet``."""

import csv
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

_DATA_NAMES = ("data", "features", "X", "x", "fea", "feature")
TARGET_NAMES = ("target", "labels", "y", "label", "gnd", "Y", "class")


def load_table(path, *, data=None, target=None):
    """Load vectors and labels from one file.

    Parameters
    ----------
    path : path-like
        ``.npz`` (the format that ``ancr extract`` writes), ``.npy`` with its labels in ``target``, ``.mat`` of
        any version, ``.csv`` with a header, or ``.parquet``.
    data : str, list of str or None
        Array or columns that hold the vectors; None takes the first of ``data``, ``features``, ``X``, ``fea``
        that the file has, and for tables all columns except the label.
    target : str, path-like, array-like or None
        Array or column that holds the labels; None takes the first of ``target``, ``labels``, ``y``,
        ``label``, ``gnd`` that the file has. For ``.npy``, a second ``.npy`` file or an array; None looks for
        ``<name>_labels.npy``.

    Returns
    -------
    Bunch
        ``data`` (n_samples, n_features), ``target`` (index into ``target_names``), ``target_names``,
        ``train_indices`` and ``test_indices`` (from an array or column ``is_train``, otherwise None),
        ``filenames`` (from ``image_names``, otherwise None).

    Notes
    -----
    MATLAB code in this field stores samples as columns. If only the columns match the number of labels, the
    matrix is transposed.
    """
    path = Path(path).expanduser()
    readers = {
        ".npz": _read_npz,
        ".npy": _read_npy,
        ".mat": _read_mat,
        ".csv": _read_frame,
        ".parquet": _read_frame,
    }
    if path.suffix.lower() not in readers:
        raise ValueError(f"path={str(path)!r} ends in {path.suffix!r}, but expected {', '.join(readers)}")
    if not path.is_file():
        raise FileNotFoundError(f"path={str(path)!r} does not exist")
    return _bunch(path, *readers[path.suffix.lower()](path, data, target))


def _read_npz(path, data, target):
    with np.load(path, allow_pickle=False) as content:
        return _pick(path, dict(content), data, target)


def _read_npy(path, data, target):
    if data is not None:
        raise ValueError(f"data={data!r}, but a .npy file holds a single array without a name")
    if target is None:
        target = path.with_name(f"{path.stem}_labels.npy")
        if not target.is_file():
            raise ValueError(f"target is None, but {target} does not exist; give the labels of {path.name}")
    labels = np.load(target) if isinstance(target, str | Path) else np.asarray(target)
    return np.load(path), labels, {}


def _read_mat(path, data, target):
    from scipy.io import loadmat

    try:
        content = loadmat(path)
    except NotImplementedError:  # v7.3 is HDF5
        content = _read_hdf5(path)
    arrays = {name: value for name, value in content.items() if not name.startswith("_")}
    return _pick(path, arrays, data, target)


def _read_hdf5(path):
    try:
        import h5py
    except ImportError as error:
        raise ImportError(f"{path} is a MATLAB v7.3 file and needs h5py: pip install 'ancr[data]'") from error
    with h5py.File(path) as file:
        # HDF5 keeps MATLAB's column-major order, so every array comes out transposed
        return {name: np.asarray(value).T for name, value in file.items() if isinstance(value, h5py.Dataset)}


def _read_frame(path, data, target):
    frame = _data_frame(path)
    label = _name_of(path, list(frame.columns), target, TARGET_NAMES, "target")
    extra = {name: frame[name].to_numpy() for name in ("is_train", "image_names") if name in frame}
    columns = [data] if isinstance(data, str) else data
    vectors = frame[columns] if columns else frame.drop(columns=[label, *extra])
    text = [name for name, dtype in vectors.dtypes.items() if dtype.kind not in "biufc"]
    if text:
        raise ValueError(f"{path}: columns {', '.join(map(str, text))} are not numeric; choose the columns with data=")
    return vectors.to_numpy(), frame[label].to_numpy(), extra


def _data_frame(path):
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(f"reading {path.suffix} needs pandas: pip install 'ancr[data]'") from error
    return pd.read_csv(path) if path.suffix.lower() == ".csv" else pd.read_parquet(path)


def _pick(path, arrays, data, target):
    """Vectors, labels and the remaining arrays."""
    data_name = _name_of(path, list(arrays), data, _DATA_NAMES, "data")
    target_name = _name_of(path, list(arrays), target, TARGET_NAMES, "target")
    extra = {name: value for name, value in arrays.items() if name not in (data_name, target_name)}
    return arrays[data_name], arrays[target_name], extra


def _name_of(path, names, wanted, usual, argument):
    if wanted is not None:
        if wanted not in names:
            raise ValueError(f"{argument}={wanted!r} is not in {path.name}, which has {', '.join(map(str, names))}")
        return wanted
    found = [name for name in usual if name in names]
    if not found:
        raise ValueError(f"{argument} is None, but {path.name} has none of the usual names; it has {', '.join(names)}")
    return found[0]


def _bunch(path, vectors, labels, extra):
    vectors, labels = np.asarray(vectors), np.ravel(labels)
    if vectors.ndim != 2:
        raise ValueError(f"{path}: the vectors have {vectors.ndim} dimensions, but expected 2")
    if len(vectors) != len(labels) and vectors.shape[1] == len(labels):
        vectors = vectors.T
    if len(vectors) != len(labels):
        raise ValueError(f"{path}: {vectors.shape} vectors do not match {len(labels)} labels")
    names, target = _class_names(path, labels, extra.get("class_names"))
    is_train = np.ravel(extra["is_train"]).astype(bool) if "is_train" in extra else None
    return Bunch(
        data=_as_float(vectors),
        target=target,
        target_names=names,
        train_indices=None if is_train is None else np.flatnonzero(is_train),
        test_indices=None if is_train is None else np.flatnonzero(~is_train),
        filenames=extra.get("image_names"),
        image_shape=None,
        name=path.stem,
        licence="the user's own",
        citation="",
        DESCR=f"{len(vectors)} vectors of {vectors.shape[1]} numbers from {path}",
    )


def _as_float(vectors):
    """Keep single and double precision; half precision, used to save disk space, becomes single; all else double."""
    if vectors.dtype in (np.float32, np.float64):
        return vectors
    return vectors.astype(np.float32 if vectors.dtype == np.float16 else np.float64)


def _class_names(path, labels, class_names):
    """Names of the classes, and each sample's label as an index into them."""
    if class_names is None:
        names, target = np.unique(labels, return_inverse=True)
        return names.astype(str), target.astype(np.int64)
    if labels.min() < 0 or labels.max() >= len(class_names):
        raise ValueError(f"{path}: labels from {labels.min()} to {labels.max()}, but {len(class_names)} class_names")
    return np.asarray(class_names).astype(str), labels.astype(np.int64)


def table_columns(path):
    """Column names of a CSV or Parquet file; an empty list for files of arrays."""
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


def load_vectors(path, columns=()):
    """Load unlabelled vectors from a ``.csv``, ``.parquet``, ``.npz`` or ``.npy`` file.

    Parameters
    ----------
    path : Path
        The file.
    columns : list of str
        Columns of a table to read, in this order; empty means all.
    """
    if path.suffix.lower() in (".csv", ".parquet"):
        frame = _data_frame(path)
        missing = [name for name in columns if name not in frame]
        if missing:
            raise ValueError(f"{path} lacks the columns {', '.join(missing[:5])} that the model was trained on")
        return (frame[columns] if columns else frame).to_numpy(dtype=np.float64)
    if path.suffix.lower() == ".npy":
        return np.load(path, allow_pickle=False)
    if path.suffix.lower() == ".npz":
        with np.load(path, allow_pickle=False) as content:
            found = [name for name in _DATA_NAMES if name in content]
            if not found:
                raise ValueError(f"{path} has none of the arrays {', '.join(_DATA_NAMES)}")
            return content[found[0]]
    raise ValueError(f"{path} ends in {path.suffix!r}, but expected .csv, .parquet, .npz or .npy")
