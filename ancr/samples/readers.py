"""One reader for each kind of data that a user brings: a table, files of arrays, images, arrays in memory."""

import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from ancr._core.messages import counted
from ancr.features.decoding import UnreadableImageError
from ancr.samples.array_files import as_float, check_finite, numeric_matrix, read_mat, read_npy, read_npz
from ancr.samples.column_plan import ColumnPlan, checked_kinds
from ancr.samples.image_folders import folder_images, is_image, listed_images, lists_images, warn_of_doubts
from ancr.samples.image_vectors import (
    SIDE,
    USUAL_FEATURES,
    Advance,
    extracted_features,
    image_vectors,
    none_readable,
)
from ancr.samples.raw_columns import RawColumn, as_matrix, frame_rows, read_columns
from ancr.samples.sample_set import (
    DataWarning,
    Samples,
    encoded,
    label_texts,
    of_images,
    without_decimals,
)
from ancr.samples.table_files import MISSING, TABLES, Chunk, Table, cell_text, open_table, some

USUAL_NAMES = {
    "data": ("data", "features", "X", "x", "fea", "feature"),
    "label": ("target", "labels", "y", "label", "gnd", "Y", "class"),
}
_NAMES = ("name", "image_names", "path")
Target = str | Path | ArrayLike | None
_ARRAYS = (".npz", ".npy", ".mat")
# Cells in memory at a time while a table is read: few enough for a cache, since a chunk is turned into columns.
_CHUNK_CELLS = 2**14
# Samples classified at a time: many blocks of every solver, and few enough for any dictionary.
CHUNK_ROWS = 3072


def read_samples(
    path: str | Path,
    label: str | None = None,
    features: str | None = None,
    *,
    strict: bool = False,
    pool: bool = False,
    images: bool = True,
    kinds: Mapping[str, str] | None = None,
    advance: Advance | None = None,
) -> Samples:
    """Read what a user named on the command line; a file is opened once.

    Parameters
    ----------
    path : path-like
        ``.csv``, ``.tsv``, ``.parquet`` or ``.xlsx``; ``.txt`` with one text a line; ``.npz``, ``.npy`` or ``.mat``; a
        folder with one sub-folder of images per class; or a CSV with the columns ``path`` and ``label``.
    label : str or None
        Column or array that holds the labels; with ``pool`` an empty name means that none does.
    features : str
        For images: ``"pixels"``, ``"hog"``, or a network that `ancr.features.DeepFeatures` knows; None means hog.
    strict : bool
        Whether an image that cannot be read is an error; otherwise it is left out with a warning that names it.
    pool : bool
        Whether data may come without any labels, and links out of a folder are not followed: what is read is shown.
    images : bool
        Whether a CSV with the columns ``path`` and ``label`` lists images; otherwise it is a table.
    kinds : mapping or None
        What the user wants some columns of a table to be: a kind, ``"drop"``, or ``"id"``, which names samples.
    advance : callable or None
        ``advance(done, total)`` is called now and then while images are read.

    Raises
    ------
    ValueError, OSError
        With one line that says what is wrong with the data.
    """
    path = Path(path).expanduser()
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    table = open_table(path) if path.suffix.lower() in TABLES and not path.is_dir() else None
    is_list = table is not None and path.suffix.lower() == ".csv" and images and lists_images(table)
    if path.is_dir() or is_list:
        if label is not None:
            raise ValueError(f"--label {label!r}, but {path} holds images; their labels are their folders' names")
        if kinds:
            raise ValueError(f"{path} holds images, which have no column {next(iter(kinds))!r}")
        found, ignored = listed_images(table) if table else folder_images(path, follow_links=not pool)
        warn_of_doubts(found, ignored)
        return read_images(found, features or USUAL_FEATURES, strict, advance)
    if features is not None and not pool:
        raise ValueError(f"--features {features!r} is for images, but {path} is not a folder of images")
    if table:
        return read_table(table, target=label, pool=pool, kinds=kinds)
    if kinds:
        raise ValueError(f"{path} is not a table: it has no column {next(iter(kinds))!r}")
    return read_arrays(path, target=label, pool=pool)


def read_images(found: Samples, features: str, strict: bool = False, advance: Advance | None = None) -> Samples:
    """Images with their vectors; those that cannot be read are left out with a warning, or an error if ``strict``."""
    names = found.names.tolist()
    vectors, broken = image_vectors(names, features, strict, advance)
    if not len(vectors):
        raise none_readable(names, broken)
    _warn_of_broken(names, broken)
    kept = found.take(~np.isin(np.arange(len(found)), list(broken)))
    return replace(kept, vectors=vectors, features=features, image_shape=(SIDE, SIDE) if features == "pixels" else None)


def _warn_of_broken(names: Sequence[str], broken: dict[int, str]) -> None:
    if broken:
        one, many = "file cannot be read as an image and is", "files cannot be read as images and are"
        verb = one if len(broken) == 1 else many
        listed = some([f"{names[number]} ({reason})" for number, reason in broken.items()], 20, 400)
        _warn(f"{len(broken)} {verb} left out: {listed}")


def read_table(
    table: Table,
    data: str | Sequence[str] | None = None,
    target: str | None = None,
    pool: bool = False,
    kinds: Mapping[str, str] | None = None,
) -> Samples:
    """A table, with a column of labels, and perhaps columns of names and of the split."""
    path = table.path
    if table.note:
        _warn(f"{path.name}: {table.note}")
    label = _name_of(path, table.columns, target, "label", needed=not pool)
    kinds = checked_kinds(kinds or {}, [name for name in table.columns if name != label])
    names = next((name for name, kind in kinds.items() if kind == "id"), None)
    aside = [name for name in ("is_train", *_NAMES) if name in table.columns and name != label and name not in kinds]
    columns = [data] if isinstance(data, str) else list(data or _vector_columns(table, label, *aside))
    if not columns:
        beside = f" beside the column {label!r} of labels" if label else ""
        raise ValueError(f"{path} has no column to learn from{beside}")
    names = names or next((name for name in _NAMES if name in aside), None)
    split = "is_train" if "is_train" in aside else None
    wanted = list(dict.fromkeys([*columns, *filter(None, [label, names, split])]))
    table.check_columns(wanted)
    labels: list[str | None] = []
    texts, flags = [], []

    def noted(chunks: Iterator[Chunk]) -> Iterator[Chunk]:
        for chunk in chunks:
            yield chunk
            labels.extend(chunk.labels(label) if label else [None] * len(chunk))
            texts.extend(chunk.texts(names) if names else [])
            flags.extend(chunk.flags(split) if split else [])

    chunks = table.chunks(wanted, max(1, _CHUNK_CELLS // len(table.columns)))
    samples = Samples.of(
        _rows(table, read_columns(noted(chunks), columns, kinds)),
        without_decimals(labels),
        texts or None,
        where=str(path),
        name=path.stem,
        columns=tuple(columns),
        is_train=np.array(flags) if flags else None,
        origin=str(path.resolve()),
        label=target or "",
    )
    _warn_of_doubtful_classes(samples)
    return samples


def _rows(table: Table, columns: list[RawColumn]) -> np.ndarray:
    """Columns as a matrix; texts that early chunks of a file took for numbers are read again, as they are written."""
    values = [column.values() for column in columns]
    mixed = [place for place, column in enumerate(columns) if column.is_mixed]
    if mixed:
        names = [columns[place].name for place in mixed]
        again = open_table(table.path).chunks(names, _CHUNK_CELLS)
        for place, column in zip(mixed, read_columns(again, names, dict.fromkeys(names, "category")), strict=True):
            values[place] = column.values()
    return as_matrix(values)


def _vector_columns(table: Table, *others: str) -> list[str]:
    """The columns except the others and except those without a name, which pandas writes for row numbers."""
    unnamed = [name for name in table.columns if not name or name.startswith(("Unnamed:", "__index_level_"))]
    if unnamed:
        _warn(f"{table.path.name}: a column without a name is taken as row numbers and left out")
    return [name for name in table.columns if name not in (*others, *unnamed)]


def read_arrays(
    path: Path, data: str | Sequence[str] | None = None, target: Target = None, pool: bool = False
) -> Samples:
    """Vectors and labels in a ``.npz`` or ``.mat`` file, or in two ``.npy`` files."""
    if path.suffix.lower() not in _ARRAYS:
        expected = ", ".join((*_ARRAYS, *TABLES))
        raise ValueError(f"{path} ends in {path.suffix!r}, but expected {expected}")
    read = _npy_pair if path.suffix.lower() == ".npy" else _named_arrays
    arrays = read(path, data, target, pool)
    vectors, labels = numeric_matrix(path, arrays["data"]), arrays.get("labels")
    if labels is not None:
        labels = np.ravel(labels)
        vectors = vectors.T if len(vectors) != len(labels) == vectors.shape[1] else vectors
        if len(vectors) != len(labels):
            raise ValueError(f"{path}: {vectors.shape} vectors do not match {len(labels)} labels")
    check_finite(path, vectors)
    class_names, classes = _classes(path, labels, arrays.get("class_names"), len(vectors))
    names = arrays.get("image_names")
    features = extracted_features(str(arrays["made_by"])) if "made_by" in arrays else ""
    samples = Samples.of(
        as_float(vectors),
        names=None if names is None else np.ravel(names),
        name=path.stem,
        features=features or "array",
        columns=() if features else _numbered(vectors),
        image_shape=(SIDE, SIDE) if features == "pixels" else None,
        is_train=_split(path, arrays["is_train"], len(vectors)) if "is_train" in arrays else None,
        origin=str(path.resolve()),
        label=target if isinstance(target, str) else "",
    )
    samples = replace(samples, target=classes, class_names=class_names)
    _warn_of_doubtful_classes(samples)
    return samples


def _named_arrays(path: Path, data: str | Sequence[str] | None, target: Target, pool: bool) -> dict[str, np.ndarray]:
    """The arrays of a file, with the vectors as ``data`` and the labels, if there are any, as ``labels``."""
    arrays = (read_npz if path.suffix.lower() == ".npz" else read_mat)(path)
    vectors = arrays[_name_of(path, list(arrays), data, "data")]
    label = _name_of(path, list(arrays), target, "label", needed=not pool)
    named = {"data": vectors} | ({"labels": arrays[label]} if label else {})
    more = ("class_names", "is_train", "image_names", "made_by")
    return named | {name: arrays[name] for name in more if name in arrays}


def _npy_pair(path: Path, data: str | Sequence[str] | None, target: Target, pool: bool) -> dict[str, np.ndarray]:
    """The vectors of an ``.npy`` file, and the labels of another."""
    if data is not None:
        raise ValueError(f"data={data!r}, but a .npy file holds a single array without a name")
    beside = path.with_name(f"{path.stem}_labels.npy")
    if target is None and not beside.is_file():
        if not pool:
            raise ValueError(f"{beside} does not exist; give the labels of {path.name}")
        return {"data": np.array(read_npy(path))}
    target = beside if target is None else target
    if isinstance(target, str | Path) and not Path(target).is_file():
        raise FileNotFoundError(f"label {str(target)!r} does not exist; give the .npy file of the labels")
    labels = read_npy(Path(target)) if isinstance(target, str | Path) else target
    return {"data": np.array(read_npy(path)), "labels": np.array(labels)}


def _name_of(path: Path, names: Sequence[str], wanted: object, what: str, needed: bool = True) -> str:
    """The array or column that the user wants, or the one with a usual name; empty where none is needed."""
    if wanted == "" and not needed:
        return ""
    if wanted is not None:
        if wanted not in names:
            raise ValueError(f"{what} {wanted!r} is not in {path.name}, which has {some(names)}")
        return str(wanted)
    found = [name for name in USUAL_NAMES[what] if name in names]
    if len(found) > 1 and what == "label":
        raise ValueError(f"{path.name} has several candidates for the label: {', '.join(found)}; name one (--label)")
    if not found and needed:
        usual, option = ", ".join(USUAL_NAMES[what]), " with --label" if what == "label" else ""
        raise ValueError(f"{path.name} has no {what} by a usual name ({usual}); name one{option}: it has {some(names)}")
    return found[0] if found else ""


def _classes(
    path: Path, labels: np.ndarray | None, class_names: np.ndarray | None, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Names of the classes, and each sample's label as an index into them; with names, a negative one is absent."""
    if labels is None:
        return encoded([None] * count)
    if class_names is None:
        return encoded(label_texts(str(path), labels), str(path))
    class_names = np.ravel(class_names).astype(str)
    if labels.dtype.kind not in "iu":
        raise ValueError(f"{path}: with class_names, labels must be whole numbers, but are {labels.dtype}")
    if len(labels) and labels.max() >= len(class_names):
        raise ValueError(f"{path}: labels from {labels.min()} to {labels.max()}, but {len(class_names)} class_names")
    return class_names, np.maximum(labels.astype(np.int64), -1)


def _warn_of_doubtful_classes(samples: Samples) -> None:
    doubtful = ", ".join(repr(name) for name in samples.class_names.tolist() if name.lower() in MISSING)
    if doubtful:
        _warn(f"{Path(samples.origin).name}: the label {doubtful} is taken as a class; only an empty cell has no label")


def _split(path: Path, flags: np.ndarray, count: int) -> np.ndarray:
    flags = np.ravel(flags)
    if len(flags) != count or flags.dtype.kind not in "biuf" or not np.isin(flags, (0, 1)).all():
        raise ValueError(
            f"{path}: is_train has {len(flags)} values of type {flags.dtype}, but expected {count} of 0 or 1"
        )
    return flags.astype(bool)


def _numbered(vectors: np.ndarray) -> tuple[str, ...]:
    """Names of the columns of an array, which may have units: their numbers, as in Python."""
    return tuple(map(str, range(vectors.shape[1])))


def samples_in_memory(
    X: object,
    y: object,
    name: str = "data",
    image_shape: tuple[int, int] | None = None,
    kinds: Mapping[str, str] | None = None,
) -> Samples:
    """Arrays or a frame, and labels, of which some may be absent; a frame may have gaps, texts and categories.

    ``kinds`` says what some columns of a frame are to be, as for `read_samples`.
    """
    names, is_frame = getattr(X, "columns", None), hasattr(X, "columns")
    if kinds and not is_frame:
        raise ValueError("kinds go by the names of columns, but X is an array: its columns have no names")
    kinds = checked_kinds(kinds or {}, names)
    columns, vectors = frame_rows(X, kinds=kinds) if is_frame else ((), as_float(np.asarray(X)))
    labels = np.asarray(y, dtype=object)
    if vectors.ndim != 2 or labels.shape != vectors.shape[:1]:
        raise ValueError(f"X of shape {vectors.shape} and y of shape {labels.shape}: expected one row of X per label")
    if not is_frame:
        check_finite("X", vectors, in_memory=True)
        columns = _numbered(vectors) if image_shape is None else ()
    if image_shape is not None and np.prod(image_shape) != vectors.shape[1]:
        raise ValueError(f"image_shape={image_shape}, but samples have {vectors.shape[1]} values")
    named = next((place for place, column in enumerate(columns) if kinds.get(column) == "id"), None)
    return Samples.of(
        vectors,
        label_texts("y", y),
        None if named is None else [cell_text(value) for value in vectors[:, named]],
        name=name,
        features="table" if is_frame else "array",
        columns=columns,
        image_shape=image_shape,
    )


def read_queries(
    path: str | Path,
    features: str,
    plan: ColumnPlan,
    width: int | None = None,
    rows: int = CHUNK_ROWS,
    *,
    strict: bool = False,
    label: str | None = None,
    name: str | None = None,
    classes: Collection[str] = (),
) -> Iterator[Samples]:
    """Yield samples to classify, some at a time, with the labels that they have; a table is never in memory as a whole.

    Parameters
    ----------
    path : path-like
        A table or a file of arrays; or a folder of images, or one image.
    features : str
        The features that the model was trained on, as in `Samples.features`.
    plan : ColumnPlan
        Columns that the model was trained on, found by name in a table; other columns are not read, and said to be
        ignored.
    width : int or None
        Numbers that a vector must have.
    rows : int
        Samples at a time.
    strict : bool
        Whether an image or a row that cannot be read is an error; otherwise it is left out, and a warning names it.
    label, name : str or None
        Columns of a table that hold labels and names of the samples; None for those with a usual name, if there are
        any, and for names a column that the model left out as an identifier.
    classes : collection of str
        Of images: sub-folders of these names are the labels of what is in them.
    """
    path = Path(path).expanduser()
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    if of_images(features) and (path.is_dir() or path.suffix.lower() not in (*TABLES, *_ARRAYS)):
        parts = _image_parts(path, features, rows, strict, classes)
    elif path.is_dir():
        on = "a table" if features == "table" else "arrays that do not say how images become such"
        raise ValueError(f"{path} is a folder, but the model was trained on {on}")
    elif path.suffix.lower() in TABLES:
        plan = plan if features == "table" else ColumnPlan()
        parts = _table_parts(path, plan, (label, name), rows, strict)
    else:
        parts = _array_parts(path, rows)
    for samples in parts:
        if width not in (None, samples.vectors.shape[1]):
            found = samples.vectors.shape[1]
            on = f"images ({features})" if of_images(features) else str(width)
            raise ValueError(f"{path} has vectors of {found} numbers, but the model was trained on {on}")
        yield samples


def _image_parts(path: Path, features: str, rows: int, strict: bool, classes: Collection[str]) -> Iterator[Samples]:
    images = [path] if path.is_file() else sorted(file for file in path.rglob("*") if is_image(file))
    if not images or not is_image(images[0]):
        raise ValueError(f"{path} holds no image, but the model was trained on images ({features})")
    read = 0
    for start in range(0, len(images), rows):
        names = [str(image) for image in images[start : start + rows]]
        vectors, broken = image_vectors(names, features, strict)
        _warn_of_broken(names, broken)
        read += len(vectors)
        if len(vectors):
            kept = [name for number, name in enumerate(names) if number not in broken]
            folders = [Path(name).relative_to(path).parts[0] if path.is_dir() else "" for name in kept]
            labels = [folder if folder in classes else None for folder in folders]
            yield Samples.of(vectors, labels, kept, features=features)
    if not read:
        raise UnreadableImageError(f"{path} holds no image that can be read")


def _array_parts(path: Path, rows: int) -> Iterator[Samples]:
    samples = read_arrays(path, pool=True)
    if not len(samples):
        raise ValueError(f"{path} holds no vectors")
    for start in range(0, len(samples), rows):
        yield samples.take(np.arange(start, min(start + rows, len(samples))))


def _table_parts(
    path: Path, plan: ColumnPlan, asked: tuple[str | None, str | None], rows: int, strict: bool
) -> Iterator[Samples]:
    broken: list[str] = []
    table = open_table(path, None if strict else broken.append)
    columns = list(plan.kinds) or _vector_columns(table)
    table.check_columns(columns, " that the model was trained on")
    table.check_columns(filter(None, asked))
    label, names = asked[0] or _beside(table, USUAL_NAMES["label"], columns), asked[1] or ""
    names = names or _beside(table, (*_NAMES, *plan.identifiers), [*columns, label])
    known = {"", *plan.names, *columns, names, label, *USUAL_NAMES["label"]}
    if extra := [name for name in table.columns if name not in known]:
        _warn(f"{path.name}: the model does not know the columns {some(extra, 5)}; they are ignored")
    some_read = False
    for chunk in table.chunks(list(dict.fromkeys([*columns, *filter(None, (names, label))])), rows):
        good = chunk if strict else chunk.without(_bad_rows(chunk, columns, plan.kinds, broken))
        if len(good):
            found = as_matrix([column.values() for column in read_columns([good], columns, plan.kinds)])
            called = good.texts(names) if names else [f"row {number}" for number in good.numbers_of_rows]
            labels = good.labels(label) if label else None
            yield Samples.of(found, labels, called, columns=tuple(columns))
            some_read = True
    if not some_read:
        raise ValueError(f"no row of {path} can be read: {broken[0]}")
    if broken:
        are = "is" if len(broken) == 1 else "are"
        _warn(f"{counted(len(broken), 'row')} cannot be read and {are} left out: {some(broken, 20, 200)}")


def _beside(table: Table, usual: Sequence[str], taken: Sequence[str]) -> str:
    """The first column of a usual name that serves nothing else; empty if there is none."""
    return next((name for name in usual if table.columns.count(name) == 1 and name not in taken), "")


def _bad_rows(chunk: Chunk, columns: Sequence[str], kinds: Mapping[str, str], broken: list[str]) -> list[int]:
    """Places of the rows that cannot be read; their reasons are appended."""
    try:
        read_columns([chunk], columns, kinds)
        return []
    except ValueError:
        bad = []
    for place in range(len(chunk)):
        try:
            read_columns([chunk.take([place])], columns, kinds)
        except ValueError as error:
            bad.append(place)
            broken.append(str(error))
    return bad


def _warn(message: str) -> None:
    warnings.warn(message, DataWarning, stacklevel=4)
