"""A user's own vectors: ``.npz``, ``.npy``, ``.mat``, ``.csv`` or ``.parquet``."""

import math
import warnings
from abc import ABC, abstractmethod
from itertools import islice
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from ancr._core.messages import one_line, shown
from ancr.samples.array_files import check_expansion, read_mat, read_npy, read_npz
from ancr.samples.delimited import csv_rows, parse_flag
from ancr.samples.folders import DataWarning

_DATA_NAMES = ("data", "features", "X", "x", "fea", "feature")
TARGET_NAMES = ("target", "labels", "y", "label", "gnd", "Y", "class")
_TABLES = (".csv", ".parquet")
_MISSING = frozenset({"", "-", "?", "n/a", "na", "nan", "none", "null"})
# Cells in memory at a time while a table is read.
_CHUNK_CELLS = 2**18


def load_table(path, *, data=None, target=None):
    r"""Load vectors and labels from one file.

    Parameters
    ----------
    path : path-like
        ``.npz`` (the format that ``ancr extract`` writes), ``.npy`` with its labels in ``target``, ``.mat`` of
        any version, ``.csv`` with a header, or ``.parquet``.
    data : str, list of str or None
        Array or columns that hold the vectors; None takes the first of ``data``, ``features``, ``X``, ``fea``
        that the file has, and for tables all columns except the label.
    target : str, path-like, array-like or None
        Array or column that holds the labels; None takes the one of ``target``, ``labels``, ``y``, ``label``,
        ``gnd``, ``Y``, ``class`` that the file has; several are an error. For ``.npy``, a second ``.npy`` file or
        an array; None looks for ``<name>_labels.npy``.

    Returns
    -------
    Bunch
        ``data`` (n_samples, n_features), ``target`` (index into ``target_names``), ``target_names``,
        ``train_indices`` and ``test_indices`` (from an array or column ``is_train``, otherwise None),
        ``filenames`` (from ``image_names``, otherwise None), ``feature_names`` (columns of a table; empty for
        arrays).

    Raises
    ------
    ValueError, OSError
        With one line that says what is wrong; for a cell of a table with its row and column.

    Notes
    -----
    MATLAB code in this field stores samples as columns. If only the columns match the number of labels, the
    matrix is transposed.

    Labels are kept as they are written: ``0`` is the class ``"0"``. Whole numbers stored as floating point are
    written without a decimal point.

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
    path = Path(path).expanduser()
    readers = {".npz": _from_npz, ".npy": _from_npy, ".mat": _from_mat, ".csv": _from_table, ".parquet": _from_table}
    if path.suffix.lower() not in readers:
        raise ValueError(f"path={str(path)!r} ends in {path.suffix!r}, but expected {', '.join(readers)}")
    if not path.is_file():
        raise FileNotFoundError(f"path={str(path)!r} does not exist")
    return _bunch(path, *readers[path.suffix.lower()](path, data, target))


def _from_npz(path, data, target):
    return _pick(path, read_npz(path), data, target)


def _from_mat(path, data, target):
    return _pick(path, read_mat(path), data, target)


def _from_npy(path, data, target):
    if data is not None:
        raise ValueError(f"data={data!r}, but a .npy file holds a single array without a name")
    if target is None:
        target = path.with_name(f"{path.stem}_labels.npy")
        if not target.is_file():
            raise ValueError(f"target is None, but {target} does not exist; give the labels of {path.name}")
    if isinstance(target, str | Path) and not Path(target).is_file():
        raise FileNotFoundError(f"target={str(target)!r} does not exist; give the .npy file of the labels")
    labels = read_npy(Path(target)) if isinstance(target, str | Path) else np.asarray(target)
    return np.array(read_npy(path)), np.array(labels), {}


def _from_table(path, data, target):
    table = open_table(path)
    label = _name_of(path, table.columns, target, TARGET_NAMES, "target")
    extra = [name for name in ("is_train", "image_names") if name in table.columns]
    columns = [data] if isinstance(data, str) else data or table.vector_columns(label, *extra)
    if not columns:
        raise ValueError(f"{path} has no column of numbers beside the column {label!r} of labels")
    table.check_columns([*columns, label, *extra])
    vectors, labels, rest = [], [], {name: [] for name in extra}
    for chunk in table.chunks(max(1, _CHUNK_CELLS // len(table.columns))):
        vectors.append(chunk.numbers(columns))
        labels += chunk.labels(label)
        for name in extra:
            rest[name] += chunk.flags(name) if name == "is_train" else chunk.texts(name)
    found = {name: np.asarray(values) for name, values in rest.items()}
    return np.concatenate(vectors), np.asarray(labels), {**found, "feature_names": tuple(map(str, columns))}


def _pick(path, arrays, data, target):
    """Vectors, labels and the remaining arrays."""
    data_name = _name_of(path, list(arrays), data, _DATA_NAMES, "data")
    target_name = _name_of(path, list(arrays), target, TARGET_NAMES, "target")
    extra = {name: arrays[name] for name in ("class_names", "is_train", "image_names") if name in arrays}
    return arrays[data_name], arrays[target_name], extra


def _name_of(path, names, wanted, usual, argument):
    if wanted is not None:
        if wanted not in names:
            raise ValueError(f"{argument}={wanted!r} is not in {path.name}, which has {_some(names)}")
        return wanted
    found = [name for name in usual if name in names]
    if not found:
        expected = ", ".join(usual)
        raise ValueError(
            f"{argument} is None, but {path.name} has none of the usual names ({expected}); it has {_some(names)}"
        )
    if len(found) > 1 and argument == "target":
        raise ValueError(f"{argument} is None, but {path.name} has several candidates: {', '.join(found)}; name one")
    return found[0]


def _some(names, most=20):
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(str(name)[:40] for name in names[:most]) + more


def _bunch(path, vectors, labels, extra):
    vectors, labels = numeric_matrix(path, vectors), np.ravel(labels)
    if len(vectors) != len(labels) and vectors.shape[1] == len(labels):
        vectors = vectors.T
    if len(vectors) != len(labels):
        raise ValueError(f"{path}: {vectors.shape} vectors do not match {len(labels)} labels")
    names, target = _class_names(path, labels, extra.get("class_names"))
    is_train = _split(path, extra["is_train"], len(labels)) if "is_train" in extra else None
    return Bunch(
        data=_as_float(vectors),
        target=target,
        target_names=names,
        train_indices=None if is_train is None else np.flatnonzero(is_train),
        test_indices=None if is_train is None else np.flatnonzero(~is_train),
        filenames=extra.get("image_names"),
        feature_names=extra.get("feature_names", ()),
        image_shape=None,
        name=path.stem,
        licence="the user's own",
        citation="",
        DESCR=f"{len(vectors)} vectors of {vectors.shape[1]} numbers from {path}",
    )


def numeric_matrix(path, vectors):
    """The vectors as they are, if they are rows of real numbers."""
    vectors = np.asarray(vectors)
    if vectors.ndim != 2:
        raise ValueError(f"{path}: the vectors have {vectors.ndim} dimensions, but expected 2")
    if vectors.dtype.kind not in "biuf":
        raise ValueError(f"{path}: the vectors are of type {vectors.dtype}, but expected real numbers")
    if not vectors.shape[1]:
        raise ValueError(f"{path}: the vectors have no columns")
    return vectors


def check_finite(path, vectors, first=1):
    """Raise a ValueError that names the first value that is missing or infinite."""
    finite = np.isfinite(vectors)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        raise ValueError(
            f"{path}, row {row + first}, column {column + 1}: the value is {vectors[row, column]:g}, the first of "
            f"{np.count_nonzero(~finite)} missing or infinite values; fill them in or remove the rows"
        )


def _as_float(vectors):
    """Keep single and double precision; half precision, used to save disk space, becomes single; all else double."""
    if vectors.dtype in (np.float32, np.float64):
        return np.asarray(vectors)
    return vectors.astype(np.float32 if vectors.dtype == np.float16 else np.float64)


def _split(path, flags, count):
    flags = np.ravel(flags)
    if len(flags) != count or flags.dtype.kind not in "biuf" or not np.isin(flags, (0, 1)).all():
        raise ValueError(
            f"{path}: is_train has {len(flags)} values of type {flags.dtype}, but expected {count} of 0 or 1"
        )
    return flags.astype(bool)


def _class_names(path, labels, class_names):
    """Names of the classes, and each sample's label as an index into them."""
    labels = _plain_labels(path, labels)
    if class_names is not None:
        class_names = np.ravel(class_names).astype(str)
        if labels.dtype.kind not in "iu":
            raise ValueError(f"{path}: with class_names, labels must be whole numbers, but are {labels.dtype}")
        if len(labels) and (labels.min() < 0 or labels.max() >= len(class_names)):
            raise ValueError(
                f"{path}: labels from {labels.min()} to {labels.max()}, but {len(class_names)} class_names"
            )
        return class_names, labels.astype(np.int64)
    names, target = np.unique(labels, return_inverse=True)
    names = names.astype(str)
    order = _order(path, names)
    return names[order], np.argsort(order)[target].astype(np.int64)


def _plain_labels(path, labels):
    """Labels as whole numbers or text; the first one that is missing is an error."""
    if labels.dtype.kind == "O":  # a cell array of MATLAB
        labels = np.array([str(np.squeeze(label)) if np.size(label) else "" for label in labels], dtype=str)
    if labels.dtype.kind == "S":
        labels = np.char.decode(labels, "utf-8")
    if labels.dtype.kind == "U":
        labels = np.char.strip(labels)
    if labels.dtype.kind not in "biufU":
        raise ValueError(f"{path}: the labels are of type {labels.dtype}, but expected numbers or text")
    missing = np.flatnonzero(labels == "" if labels.dtype.kind == "U" else ~np.isfinite(labels))
    if len(missing):
        raise ValueError(f"{path}, row {missing[0] + 1}: the label is missing; fill it in or remove the row")
    if labels.dtype.kind == "f" and (labels == np.rint(labels)).all() and (np.abs(labels) < 2**53).all():
        return labels.astype(np.int64)
    return labels


def _order(path, names):
    """Sort names: by value if all are numbers, otherwise by letters. One number spelled in two ways is an error."""
    try:
        values = [float(name) for name in names.tolist()]
    except ValueError:
        return np.argsort(names)
    first = {}
    for name, value in zip(names.tolist(), values, strict=True):
        if first.setdefault(value, name) != name:
            raise ValueError(f"{path}: the labels {first[value]!r} and {name!r} are one number; write them alike")
    return np.argsort(values)


class Table(ABC):
    """A ``.csv`` or ``.parquet`` file, read a chunk of rows at a time.

    Attributes
    ----------
    path : Path
    columns : list of str
        Names of all columns.
    """

    def __init__(self, path, columns):
        self.path, self.columns = path, columns

    def vector_columns(self, *others):
        """The columns except the others and except those without a name, which pandas writes for row numbers."""
        unnamed = [name for name in self.columns if _is_unnamed(name)]
        if unnamed:
            message = f"{self.path.name}: a column without a name is taken as row numbers and left out"
            warnings.warn(message, DataWarning, stacklevel=2)
        return [name for name in self.columns if name not in (*others, *unnamed)]

    def check_columns(self, names, why=""):
        """Raise a ValueError if a column is missing, or if there are two of its name; ``why`` says what it is for."""
        present = set(self.columns)
        missing = [name for name in names if name not in present]
        if missing:
            raise ValueError(f"{self.path} lacks the columns {_some(missing, 5)}{why}; it has {_some(self.columns)}")
        twice = sorted({name for name in names if self.columns.count(name) > 1})
        if twice:
            raise ValueError(f"{self.path} has several columns named {shown(twice[0])}; rename or remove all but one")

    @abstractmethod
    def chunks(self, rows):
        """Yield the rows of the file, ``rows`` at a time, as objects with the methods of `Chunk`."""


class Chunk(ABC):
    """Some rows of a table. ``first`` is the number of the first one, counted from 1."""

    def __init__(self, path, first):
        self.path, self.first = path, first

    def where(self, i, name):
        """File, row and column of a cell, for messages."""
        return f"{self.path}, row {self.first + i}, column {shown(name)}"

    @abstractmethod
    def texts(self, name):
        """A column as a list of text."""

    def numbers(self, names):
        """Columns as a matrix; a cell that is not a finite number is an error that says where it is."""
        columns = [self.texts(name) for name in names]
        return np.array(
            [[self._number(i, names[j], text) for j, text in enumerate(row)] for i, row in _rows(columns)],
            dtype=np.float64,
        )

    def _number(self, i, name, text):
        if text in ("True", "False"):
            return float(text == "True")
        if text.lower() in _MISSING:
            raise ValueError(f"{self.where(i, name)}: the value is missing; fill it in, or remove the row or column")
        try:
            number = float(text)
        except ValueError:
            raise ValueError(
                f"{self.where(i, name)}: {shown(text)} is not a number; correct it, or remove the column"
            ) from None
        if not math.isfinite(number):
            raise ValueError(f"{self.where(i, name)}: {shown(text)} is infinite; correct it, or remove the row")
        return number

    def labels(self, name):
        """A column of labels as a list of text; an empty one is an error."""
        texts = self.texts(name)
        for i, text in enumerate(texts):
            if not text or text.lower() == "nan":
                raise ValueError(f"{self.where(i, name)}: the label is missing; fill it in or remove the row")
        return texts

    def flags(self, name):
        """A column of flags as a list."""
        return [parse_flag(text, self.where(i, name)) for i, text in enumerate(self.texts(name))]


def _rows(columns):
    return enumerate(zip(*columns, strict=True))


def _is_unnamed(name):
    return not name or name.startswith(("Unnamed:", "__index_level_"))


def open_table(path):
    """Open a ``.csv`` or ``.parquet`` file as a `Table`."""
    return _Csv(path) if path.suffix.lower() == ".csv" else _Parquet(path)


class _Csv(Table):
    def __init__(self, path):
        rows = csv_rows(path)
        _, header = next(rows, (0, None))
        if header is None:
            raise ValueError(f"{path} is empty")
        if next(rows, None) is None:
            raise ValueError(f"{path} has a header but no rows")
        if len(header) == 1 and any(mark in header[0] for mark in ";\t"):
            raise ValueError(f"{path} has one column, {shown(header[0])}; separate columns by commas")
        super().__init__(path, [name.strip() for name in header])

    def chunks(self, rows):
        numbered, first = csv_rows(self.path), 1
        next(numbered)
        while part := list(islice(numbered, rows)):
            chunk = _CsvChunk(self.path, first, self.columns, part)
            chunk.check_lengths()
            yield chunk
            first += len(part)


class _CsvChunk(Chunk):
    def __init__(self, path, first, columns, numbered):
        super().__init__(path, first)
        self._columns = columns
        self._lines, self._rows = zip(*numbered, strict=True)

    def where(self, i, name):
        return f"{self.path}, row {self.first + i} (line {self._lines[i]}), column {shown(name)}"

    def check_lengths(self):
        """Raise a ValueError if a row is not as long as the header."""
        width = len(self._columns)
        for i, row in enumerate(self._rows):
            if len(row) != width:
                last = shown(self._columns[min(len(row), width) - 1])
                raise ValueError(
                    f"{self.path}, row {self.first + i} (line {self._lines[i]}) has {len(row)} cells, but the header "
                    f"has {width} columns; check it from column {last} on (a cell with a comma needs quotation marks)"
                )

    def texts(self, name):
        place = self._columns.index(name)
        return [row[place].strip() for row in self._rows]

    def numbers(self, names):
        places = [self._columns.index(name) for name in names]
        try:
            numbers = np.array([[row[place] for place in places] for row in self._rows], dtype=np.float64)
        except ValueError:
            return super().numbers(names)
        return numbers if np.isfinite(numbers).all() else super().numbers(names)


class _Parquet(Table):
    def __init__(self, path):
        try:
            import pyarrow.parquet as parquet
        except ImportError as error:
            raise ImportError("reading .parquet needs pyarrow: pip install 'ancr[data]'") from error
        try:
            self._file = parquet.ParquetFile(path)
        except Exception as error:  # pyarrow raises many kinds
            raise ValueError(f"{path} is not a Parquet file that can be read: {one_line(error)}") from error
        super().__init__(path, list(self._file.schema_arrow.names))
        if not self._file.metadata.num_rows:
            raise ValueError(f"{path} has columns but no rows")
        check_expansion(path, 8 * self._file.metadata.num_rows * len(self.columns))

    def chunks(self, rows):
        first = 1
        try:
            for batch in self._file.iter_batches(rows):
                yield _ParquetChunk(self.path, first, self.columns, batch)
                first += batch.num_rows
        except (OSError, NotImplementedError) as error:  # what pyarrow says about damaged pages
            raise ValueError(f"{self.path} is not a Parquet file that can be read: {one_line(error)}") from error


class _ParquetChunk(Chunk):
    def __init__(self, path, first, columns, batch):
        super().__init__(path, first)
        self._columns, self._batch = columns, batch

    def _values(self, name):
        return self._batch.column(self._columns.index(name))

    def texts(self, name):
        return [_text(value) for value in self._values(name).to_pylist()]

    def numbers(self, names):
        values = [self._values(name) for name in names]
        arrays = [value.to_numpy(zero_copy_only=False) for value in values]
        if any(array.dtype.kind not in "biuf" for array in arrays):
            return super().numbers(names)
        numbers = np.column_stack(arrays).astype(np.float64)
        return numbers if np.isfinite(numbers).all() else super().numbers(names)


def _text(value):
    """A value of a Parquet column as text; whole numbers without a decimal point."""
    if value is None:
        return ""
    return str(int(value) if isinstance(value, float) and value.is_integer() else value).strip()


def vector_chunks(path, columns, rows):
    """Yield unlabelled vectors of a ``.csv``, ``.parquet``, ``.npz`` or ``.npy`` file, a chunk of rows at a time.

    Parameters
    ----------
    path : Path
        The file. Tables and ``.npy`` files of any length are never in memory as a whole.
    columns : list of str
        Columns of a table to read, in this order; empty means all.
    rows : int
        Rows of a chunk.
    """
    kind = path.suffix.lower()
    if kind in _TABLES:
        table = open_table(path)
        columns = list(columns) or table.vector_columns()
        table.check_columns(columns, " that the model was trained on")
        for chunk in table.chunks(rows):
            yield chunk.numbers(columns)
        return
    if kind not in (".npz", ".npy"):
        raise ValueError(f"{path} ends in {path.suffix!r}, but expected .csv, .parquet, .npz or .npy")
    vectors = numeric_matrix(path, read_npy(path) if kind == ".npy" else _vectors_of(path))
    if not len(vectors):
        raise ValueError(f"{path} holds no vectors")
    for start in range(0, len(vectors), rows):
        part = _as_float(np.array(vectors[start : start + rows]))
        check_finite(path, part, start + 1)
        yield part


def _vectors_of(path):
    arrays = read_npz(path, _DATA_NAMES)
    found = [name for name in _DATA_NAMES if name in arrays]
    if not found:
        raise ValueError(f"{path} has none of the arrays {', '.join(_DATA_NAMES)}")
    return arrays[found[0]]
