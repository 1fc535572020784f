"""The columns of a table before any preparation: numbers with NaN for gaps, or texts with None for gaps.

A table of numbers alone is a matrix of floats; any other table is a matrix of objects. Files and frames come out alike.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ancr._core.messages import counted, shown
from ancr.samples.column_kinds import base_kind
from ancr.samples.table_files import MISSING, Chunk, NotANumberError, as_number, some

# Kinds whose cells are read as text, whatever they look like.
WORDS = ("yes/no", "date", "category", "text", "id", "group", "drop", "left out")


class RawColumn:
    """One column, gathered chunk by chunk, that turns out to hold numbers or texts.

    Parameters
    ----------
    name : str
        Its name.
    kind : str
        What it is to be: ``"number"``, one of `WORDS`, or empty to go by its cells.
    """

    def __init__(self, name: str, kind: str = "") -> None:
        self.name, self.kind = name, base_kind(kind)
        self._parts: list[np.ndarray] = []
        self._complaint: NotANumberError | None = None
        self._counts = [0, 0]  # cells that are no numbers, and that are

    def add(self, chunk: Chunk) -> None:
        """Append the cells of a chunk."""
        if self.kind in WORDS:
            self._parts.append(chunk.words(self.name))
            return
        try:
            self._parts.append(chunk.numbers(self.name))
        except NotANumberError as error:
            if self.kind:
                raise
            self._complaint = self._complaint or error
            self._parts.append(chunk.words(self.name))
            for text in chunk.texts(self.name):
                if text.lower() not in MISSING:
                    self._counts[as_number(text, chunk.decimal) is not None] += 1

    @property
    def is_mixed(self) -> bool:
        """Whether early chunks looked like numbers and a later one did not: their texts are to be read again."""
        return self._complaint is not None and any(part.dtype.kind == "f" for part in self._parts)

    def values(self) -> np.ndarray:
        """The column; one that is mostly numbers and has other cells is an error: the first, and how many there are."""
        if self._complaint is not None:
            numbers = self._counts[1] + sum(np.isfinite(p).sum() for p in self._parts if p.dtype.kind == "f")
            if numbers >= self._counts[0]:
                raise NotANumberError(f"{self._complaint}{_also(self._counts[0] - 1)}")
        return np.concatenate(self._parts)


def _also(more: int) -> str:
    """How many cells have to be looked at besides the one that is named."""
    is_ = "is not a number" if more == 1 else "are not numbers"
    return f"; {counted(more, 'more cell')} of this column {is_} either" if more else ""


def read_columns(chunks: Iterable[Chunk], names: Sequence[str], kinds: Mapping[str, str]) -> list[RawColumn]:
    """The columns of these names; ``kinds`` says what some of them are to be."""
    columns = [RawColumn(name, kinds.get(name, "")) for name in names]
    for chunk in chunks:
        for column in columns:
            column.add(chunk)
    return columns


def as_matrix(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Columns side by side: floats if all are numbers, otherwise objects."""
    if all(column.dtype.kind == "f" for column in columns):
        return np.column_stack(columns)
    rows = np.empty((len(columns[0]), len(columns)), dtype=object)
    for place, column in enumerate(columns):
        rows[:, place] = column
    return rows


def frame_rows(
    frame: Any, names: Sequence[str] | None = None, kinds: Mapping[str, str] | None = None, where: str = "X"
) -> tuple[tuple[str, ...], np.ndarray]:
    """Names and rows of a pandas or polars frame, or of an array, whose columns have the names ``x0``, ``x1`` …

    Parameters
    ----------
    frame : DataFrame or array-like
        The table.
    names : sequence of str or None
        Columns to read, found by name in a frame and by place in an array; None means all.
    kinds : mapping or None
        What some columns are to be.
    where : str
        What messages call the table.

    Raises
    ------
    ValueError
        In one line, if a column is missing or a cell cannot be read.
    """
    kinds = kinds or {}
    if not hasattr(frame, "columns"):
        return _array_rows(np.asarray(frame), names, kinds, where)
    present = {str(name): name for name in frame.columns}
    wanted = list(present) if names is None else list(names)
    if missing := [name for name in wanted if name not in present]:
        raise ValueError(f"{where} lacks the columns {some(missing, 5)}; it has {some(list(present))}")
    many = Counter(map(str, frame.columns))  # 1 and "1" are one name in a file, too
    for name in wanted:
        if many[name] > 1:
            raise ValueError(f"{where} has several columns named {shown(name)}; rename or remove all but one")
    cells = {name: _cells(frame[present[name]]) for name in wanted}
    chunk = Chunk(Path(where), 1, cells)
    return tuple(wanted), as_matrix([column.values() for column in read_columns([chunk], wanted, kinds)])


def _array_rows(
    rows: np.ndarray, names: Sequence[str] | None, kinds: Mapping[str, str], where: str
) -> tuple[tuple[str, ...], np.ndarray]:
    if rows.ndim != 2:
        raise ValueError(f"{where} has {rows.ndim} dimensions, but expected a table of rows and columns")
    known = [f"x{place}" for place in range(rows.shape[1])] if names is None else list(names)
    if len(known) != rows.shape[1]:
        raise ValueError(f"{where} has {rows.shape[1]} columns, but expected {len(known)}: {some(known, 5)}")
    if rows.dtype.kind in "fiub" and not any(base_kind(kinds.get(name, "")) in WORDS for name in known):
        return tuple(known), rows if rows.dtype.kind == "f" else rows.astype(np.float64)
    chunk = Chunk(Path(where), 1, {name: rows[:, place] for place, name in enumerate(known)})
    return tuple(known), as_matrix([column.values() for column in read_columns([chunk], known, kinds)])


def _cells(series: Any) -> np.ndarray:
    """The values of a column of a frame; categories as what they stand for, times without their zone."""
    values = np.asarray(series.to_numpy() if hasattr(series, "to_numpy") else series)
    return values.astype(object) if values.dtype.kind == "U" else values
