"""Rows of a ``.csv`` or ``.parquet`` file, a chunk at a time, and what counts as a missing cell or an absent label.

Whatever is wrong with a file is a ValueError of one line that says where.
"""

import csv
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils._missing import is_pandas_na, is_scalar_nan

from ancr._core.messages import one_line, shown

# Cells of a column of numbers that say that there is none, in any case: what pandas takes for missing, and two marks.
MISSING = frozenset({"", "#n/a", "#na", "-", "-nan", "<na>", "?", "n/a", "na", "nan", "none", "null"})
_FLAGS = {"1": True, "true": True, "train": True, "0": False, "false": False, "test": False}
# A file without line ends, which is not a table, must not fill the memory.
_LONGEST_LINE = 2**26


def label_text(value: object) -> str | None:
    """A label as text, or None where it is absent: no value, NaN, or a cell that is empty or says ``nan``.

    Any other text is a class, also ``none``, ``NA`` and ``?``: they are answers to some questions.

    Examples
    --------
    >>> from ancr.samples.table_files import label_text
    >>> [label_text(value) for value in ("cat ", "NA", "?", 1.0, "", " ", None, float("nan"), "NaN")]
    ['cat', 'NA', '?', '1', None, None, None, None, None]
    """
    if not isinstance(value, str) and (value is None or is_scalar_nan(value) or is_pandas_na(value)):
        return None
    text = cell_text(value)
    return text if text and text.lower() != "nan" else None


def cell_text(value: object) -> str:
    """A cell as text; whole numbers without a decimal point."""
    if isinstance(value, str):
        return value.strip()
    if value is None:
        return ""
    return str(int(value) if isinstance(value, float | np.floating) and value.is_integer() else value).strip()


@dataclass(frozen=True)
class Chunk:
    """Some rows of a table.

    Attributes
    ----------
    path : Path
        The file.
    first : int
        Number of the first row, counted from 1.
    cells : mapping of str to sequence
        Columns by name: texts of a CSV file, values of a Parquet file.
    lines : sequence of int
        Line of each row in a CSV file.
    """

    path: Path
    first: int
    cells: Mapping[str, Sequence[Any] | np.ndarray]
    lines: Sequence[int] = ()

    def where(self, i: int, name: str) -> str:
        """File, row and column of a cell, for messages."""
        line = f" (line {self.lines[i]})" if self.lines else ""
        return f"{self.path}, row {self.first + i}{line}, column {shown(name)}"

    def texts(self, name: str) -> list[str]:
        """A column as text."""
        return [cell_text(value) for value in self.cells[name]]

    def labels(self, name: str) -> list[str | None]:
        """A column of labels."""
        return [label_text(value) for value in self.cells[name]]

    def numbers(self, names: Sequence[str]) -> np.ndarray:
        """Columns as a matrix; a cell that is not a finite number is an error that says where it is."""
        return np.column_stack([self._numbers(name) for name in names])

    def _numbers(self, name: str) -> np.ndarray:
        cells = self.cells[name]
        if not isinstance(cells, np.ndarray) or cells.dtype.kind in "biufO":
            try:
                numbers = np.array(cells, dtype=np.float64)
                if np.isfinite(numbers).all():
                    return numbers
            except (TypeError, ValueError):
                pass
        return np.array([self._number(i, name, text) for i, text in enumerate(self.texts(name))])

    def _number(self, i: int, name: str, text: str) -> float:
        if text in ("True", "False"):
            return float(text == "True")
        if text.lower() in MISSING:
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

    def flags(self, name: str) -> list[bool]:
        """A column that marks training samples."""
        texts = [text.lower() for text in self.texts(name)]
        for i, text in enumerate(texts):
            if text not in _FLAGS:
                raise ValueError(
                    f"{self.where(i, name)}: {name}={shown(text)}, but expected one of {', '.join(_FLAGS)}"
                )
        return [_FLAGS[text] for text in texts]


@dataclass(frozen=True)
class Table:
    """A file that is open, and is read once.

    Attributes
    ----------
    path : Path
        The file.
    columns : list of str
        Names of all columns.
    read : callable
        ``read(names, rows)`` yields the rows, so many at a time, as chunks with these columns.
    """

    path: Path
    columns: list[str]
    read: Callable[[Sequence[str], int], Iterator[Chunk]]

    def chunks(self, names: Sequence[str], rows: int) -> Iterator[Chunk]:
        """Yield the rows, so many at a time, with these columns; a table without rows is an error."""
        chunk = None
        for chunk in self.read(names, rows):
            yield chunk
        if chunk is None:
            raise ValueError(f"{self.path} has a header but no rows")

    def check_columns(self, names: Iterable[str], why: str = "") -> None:
        """Raise a ValueError if a column is missing, or if there are two of its name; ``why`` says what it is for."""
        present, names = set(self.columns), list(names)
        missing = [name for name in names if name not in present]
        if missing:
            raise ValueError(f"{self.path} lacks the columns {some(missing, 5)}{why}; it has {some(self.columns)}")
        twice = sorted({name for name in names if self.columns.count(name) > 1})
        if twice:
            raise ValueError(f"{self.path} has several columns named {shown(twice[0])}; rename or remove all but one")


def some(names: Sequence[object], most: int = 20, longest: int = 40) -> str:
    """The first names of a list, and of each its first letters, for messages."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(str(name)[:longest] for name in names[:most]) + more


def open_table(path: Path) -> Table:
    """Open a ``.csv`` or ``.parquet`` file."""
    if path.suffix.lower() != ".csv":
        return _open_parquet(path)
    numbered = csv_rows(path)
    _, header = next(numbered, (0, []))
    if not header:
        raise ValueError(f"{path} is empty")
    if len(header) == 1 and any(mark in header[0] for mark in ";\t"):
        raise ValueError(f"{path} has one column, {shown(header[0])}; separate columns by commas")
    columns = [name.strip() for name in header]

    def read(names: Sequence[str], rows: int) -> Iterator[Chunk]:
        places, first = [columns.index(name) for name in names], 1
        while part := list(islice(numbered, rows)):
            lines, cells = zip(*part, strict=True)
            _check_lengths(path, columns, first, part)
            by_column = list(zip(*cells, strict=True))
            yield Chunk(path, first, {columns[j]: by_column[j] for j in places}, lines)
            first += len(part)

    return Table(path, columns, read)


def _check_lengths(path: Path, columns: list[str], first: int, part: list[tuple[int, list[str]]]) -> None:
    """Raise a ValueError if a row is not as long as the header."""
    width = len(columns)
    for i, (line, row) in enumerate(part):
        if len(row) != width:
            last = shown(columns[min(len(row), width) - 1])
            raise ValueError(
                f"{path}, row {first + i} (line {line}) has {len(row)} cells, but the header has {width} columns; "
                f"check it from column {last} on (a cell with a comma needs quotation marks)"
            )


def csv_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield ``(line number, cells)`` of the rows that are not blank.

    Raises
    ------
    ValueError
        If the file is not text in UTF-8 (with or without a byte order mark), or not CSV.
    """
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = csv.reader(_lines(path, file), strict=True)
        try:
            for cells in rows:
                if cells:
                    yield rows.line_num, cells
        except UnicodeDecodeError as error:
            raise ValueError(_not_utf8(path)) from error
        except csv.Error as error:
            raise ValueError(f"{path}, line {rows.line_num}: {error}; is a quotation mark missing?") from error


def _lines(path: Path, file: Any) -> Iterator[str]:
    while line := file.readline(_LONGEST_LINE):
        if len(line) == _LONGEST_LINE:
            raise ValueError(f"{path} is not a table: a line is longer than {_LONGEST_LINE} characters")
        if "\0" in line:
            raise ValueError(f"{path} is not a text file: it holds zero bytes; save it as CSV in UTF-8")
        yield line


def _not_utf8(path: Path) -> str:
    """Message about the first line that is not UTF-8."""
    content, place = path.read_bytes(), 0
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return f"{path} is in UTF-16; save it as CSV in UTF-8"
    try:
        content.decode()
    except UnicodeDecodeError as error:
        place = error.start
    line = content.count(b"\n", 0, place) + 1
    return f"{path}, line {line}: byte 0x{content[place]:02x} is not UTF-8; save it as CSV in UTF-8"


def _open_parquet(path: Path) -> Table:
    try:
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise ImportError("reading .parquet needs pyarrow: pip install 'ancr[data]'") from error

    def unreadable(error: Exception) -> ValueError:
        return ValueError(f"{path} is not a Parquet file that can be read: {one_line(error)}")

    try:
        file = parquet.ParquetFile(path)
    except Exception as error:  # pyarrow raises many kinds
        raise unreadable(error) from error
    columns = list(file.schema_arrow.names)

    def read(names: Sequence[str], rows: int) -> Iterator[Chunk]:
        first = 1
        try:
            for batch in file.iter_batches(rows):
                found = {name: batch.column(columns.index(name)) for name in names}
                yield Chunk(path, first, {name: cells.to_numpy(zero_copy_only=False) for name, cells in found.items()})
                first += batch.num_rows
        except (OSError, NotImplementedError) as error:  # what pyarrow says about damaged pages
            raise unreadable(error) from error

    return Table(path, columns, read)
