"""Rows of a table on disk (CSV, TSV, Parquet, Excel, lines of text), some at a time; what a missing cell or label is.

Whatever is wrong with a file is a ValueError of one line that says where.
"""

import csv
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils._missing import is_pandas_na, is_scalar_nan

from ancr._core.messages import one_line, shown

TABLES = (".csv", ".tsv", ".parquet", ".xlsx", ".txt")
# Cells of a column of numbers that say that there is none, in any case: what pandas takes for missing, and two marks.
MISSING = frozenset({"", "#n/a", "#na", "-", "-nan", "<na>", "?", "n/a", "na", "nan", "none", "null"})
# In a column of words, two of them are answers to some questions.
_WORDS = frozenset({"none", "-"})
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
    if value is None or is_scalar_nan(value) or is_pandas_na(value):
        return ""
    if isinstance(value, date):
        return _iso_date(value)
    return str(int(value) if isinstance(value, float | np.floating) and value.is_integer() else value).strip()


def _iso_date(value: date) -> str:
    """A date, and its time unless that is midnight."""
    if not isinstance(value, datetime):
        return value.isoformat()
    text = value.isoformat(sep="T", timespec="seconds")
    return text[:10] if text[10:] == "T00:00:00" else text


def as_number(text: str, decimal: str = ".") -> float | None:
    """The number that a text says, or None."""
    if text in ("True", "False"):
        return float(text == "True")
    if decimal == "," and text.count(",") == 1 and "." not in text:
        text = text.replace(",", ".")
    try:
        return float(text)
    except ValueError:
        return None


def as_word(value: object, decimal: str = ".") -> str | None:
    """A cell of a column of words as text, None where it is missing; a number as a column of numbers would have it.

    Examples
    --------
    >>> from ancr.samples.table_files import as_word
    >>> as_word("39.0"), as_word(39.0), as_word("2,5", ","), as_word("1.0-beta"), as_word("n/a"), as_word("none")
    ('39', '39', '2.5', '1.0-beta', None, 'none')
    """
    text = cell_text(value)
    if text.lower() in MISSING and text.lower() not in _WORDS:
        return None
    if decimal == "," and as_number(text, decimal) is not None:
        text = text.replace(",", ".")
    return text.removesuffix(".0") if text.removeprefix("-").removesuffix(".0").isdecimal() else text


def _iso_dates(cells: np.ndarray) -> list[str | None]:
    """Dates as texts, and times only where a column has some; None where one is missing."""
    known = cells[~np.isnat(cells)]
    is_date = bool((known == known.astype("datetime64[D]")).all())
    return [None if text == "NaT" else text for text in np.datetime_as_string(cells, unit="D" if is_date else "s")]


class NotANumberError(ValueError):
    """A cell in a column of numbers that is no number."""


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
    decimal : str
        The decimal point: a comma in files that separate columns by semicolons.
    rows : sequence of int
        Numbers of the rows, where some were left out.
    """

    path: Path
    first: int
    cells: Mapping[str, Sequence[Any] | np.ndarray]
    lines: Sequence[int] = ()
    decimal: str = "."
    rows: Sequence[int] = ()

    def __len__(self) -> int:
        return len(next(iter(self.cells.values())))

    @property
    def numbers_of_rows(self) -> Sequence[int]:
        """Number of each row in the file, counted from 1."""
        return self.rows or range(self.first, self.first + len(self))

    def where(self, i: int, name: str) -> str:
        """File, row and column of a cell, for messages."""
        line = f" (line {self.lines[i]})" if self.lines else ""
        return f"{self.path}, row {self.numbers_of_rows[i]}{line}, column {shown(name)}"

    def take(self, places: Sequence[int]) -> "Chunk":
        """The rows at some places."""

        def some_of(values: Sequence[Any] | np.ndarray) -> Any:
            return values[list(places)] if isinstance(values, np.ndarray) else [values[i] for i in places]

        cells = {name: some_of(values) for name, values in self.cells.items()}
        lines = some_of(self.lines) if self.lines else ()
        return replace(self, cells=cells, lines=lines, rows=some_of(self.numbers_of_rows))

    def without(self, places: Sequence[int]) -> "Chunk":
        """The rows at all other places."""
        left_out = set(places)
        return self.take([i for i in range(len(self)) if i not in left_out]) if places else self

    def texts(self, name: str) -> list[str]:
        """A column as text."""
        return [cell_text(value) for value in self.cells[name]]

    def labels(self, name: str) -> list[str | None]:
        """A column of labels."""
        return [label_text(value) for value in self.cells[name]]

    def words(self, name: str) -> np.ndarray:
        """A column as texts, None where one is missing; dates and times as ISO 8601 writes them."""
        cells = self.cells[name]
        if isinstance(cells, np.ndarray) and cells.dtype.kind == "M":
            cells = _iso_dates(cells)
        found = np.empty(len(self), dtype=object)
        found[:] = [as_word(value, self.decimal) for value in cells]
        return found

    def numbers(self, name: str) -> np.ndarray:
        """A column as numbers, NaN where one is missing; any other cell is an error that says where it is."""
        cells = self.cells[name]
        if not isinstance(cells, np.ndarray) or cells.dtype.kind in "biufO":
            try:
                numbers = np.array(cells, dtype=np.float64)
                if not np.isinf(numbers).any():
                    return numbers
            except (TypeError, ValueError):
                pass
        if isinstance(cells, np.ndarray) and cells.dtype.kind == "m":
            return cells / np.timedelta64(1, "s")
        texts = self.words(name) if isinstance(cells, np.ndarray) and cells.dtype.kind == "M" else self.texts(name)
        return np.array([self._number(i, name, text) for i, text in enumerate(texts)])

    def _number(self, i: int, name: str, text: str | None) -> float:
        if text is None or text.lower() in MISSING:
            return math.nan
        number = as_number(text, self.decimal)
        if number is None:
            raise NotANumberError(
                f"{self.where(i, name)}: {shown(text)} is not a number; correct it, empty it, or leave the column out"
            )
        if not math.isfinite(number):
            raise ValueError(f"{self.where(i, name)}: {shown(text)} is infinite; correct it, or empty it")
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
    note : str
        What a user should know: that a part of the file is not read.
    """

    path: Path
    columns: list[str]
    read: Callable[[Sequence[str], int], Iterator[Chunk]]
    note: str = ""

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


def open_table(path: Path, leave_out: Callable[[str], None] | None = None) -> Table:
    """Open a ``.csv``, ``.tsv``, ``.parquet`` or ``.xlsx`` file, or a ``.txt`` file of one text a line.

    Parameters
    ----------
    path : Path
        The file.
    leave_out : callable or None
        Told why, for each row of a CSV that is not as long as the header and left out; None makes it an error.
    """
    others = {".parquet": _open_parquet, ".xlsx": _open_excel, ".txt": _open_texts}
    if path.suffix.lower() in others:
        return others[path.suffix.lower()](path)
    numbered = csv_rows(path)
    _, (mark,) = next(numbered)
    _, header = next(numbered, (0, []))
    if not header:
        raise ValueError(f"{path} is empty")
    columns = [name.strip() for name in header]

    def read(names: Sequence[str], rows: int) -> Iterator[Chunk]:
        places, first = [columns.index(name) for name in names], 1
        while part := list(islice(numbered, rows)):
            good = _of_right_length(path, columns, first, part, leave_out)
            cells = [part[i][1] for i in good]
            found = {columns[j]: [row[j] for row in cells] for j in places}
            rows_left = [first + i for i in good] if len(good) < len(part) else ()
            yield Chunk(path, first, found, [part[i][0] for i in good], "," if mark == ";" else ".", rows_left)
            first += len(part)

    return Table(path, columns, read)


def _of_right_length(
    path: Path,
    columns: list[str],
    first: int,
    part: list[tuple[int, list[str]]],
    leave_out: Callable[[str], None] | None,
) -> list[int]:
    """Places of the rows that are as long as the header; another one is an error, or left out with the reason."""
    width, good = len(columns), []
    for i, (line, row) in enumerate(part):
        if len(row) == width:
            good.append(i)
            continue
        last = shown(columns[min(len(row), width) - 1])
        reason = (
            f"{path}, row {first + i} (line {line}) has {len(row)} cells, but the header has {width} columns; "
            f"check it from column {last} on (a cell with a comma needs quotation marks)"
        )
        if leave_out is None:
            raise ValueError(reason)
        leave_out(reason)
    return good


def csv_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield ``(0, [mark between columns])`` and then ``(line number, cells)`` of the rows that are not blank.

    Raises
    ------
    ValueError
        If the file is not text in UTF-8 (with or without a byte order mark), or not CSV.
    """
    with path.open(newline="", encoding="utf-8-sig") as file:
        try:
            lines = _lines(path, file)
            first = []  # with blank lines, which count for the numbers in messages
            for line in lines:
                first.append(line)
                if line.strip():
                    break
            mark = _mark(path, "".join(first))
            yield 0, [mark]
            rows = csv.reader(chain(first, lines), delimiter=mark, strict=True)
            for cells in rows:
                if cells:
                    yield rows.line_num, cells
        except UnicodeDecodeError as error:
            raise ValueError(_not_utf8(path)) from error
        except csv.Error as error:
            raise ValueError(f"{path}, line {rows.line_num}: {error}; is a quotation mark missing?") from error


def _mark(path: Path, header: str) -> str:
    """What separates columns: commas, unless the header has none but semicolons, as spreadsheets write, or tabs."""
    if path.suffix.lower() == ".tsv":
        return "\t"
    return "," if "," in header else next((mark for mark in ";\t" if mark in header), ",")


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
    kind = "text" if path.suffix.lower() == ".txt" else "CSV"
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return f"{path} is in UTF-16; save it as {kind} in UTF-8"
    try:
        content.decode()
    except UnicodeDecodeError as error:
        place = error.start
    line = content.count(b"\n", 0, place) + 1
    return f"{path}, line {line}: byte 0x{content[place]:02x} is not UTF-8; save it as {kind} in UTF-8"


def _open_texts(path: Path) -> Table:
    """One text a line. If each line has one tab, the side with fewer different entries, or else the first, is labels.

    The columns are ``text`` and, if there are labels, ``label``; blank lines are skipped.
    """
    sides: tuple[set[str], set[str]] = (set(), set())
    is_labelled, empty = True, True
    for _, line in _text_lines(path):
        parts, empty = line.split("\t"), False
        if len(parts) != 2:
            is_labelled = False
            break
        for side, part in zip(sides, parts, strict=True):
            side.add(part.strip())
    if empty:
        raise ValueError(f"{path} is empty")
    place = int(len(sides[1]) < len(sides[0]))

    def read(names: Sequence[str], rows: int) -> Iterator[Chunk]:
        numbered, first = _text_lines(path), 1
        while part := list(islice(numbered, rows)):
            cells = [line.split("\t") if is_labelled else [line] for _, line in part]
            found = {
                "text": [row[1 - place] if is_labelled else row[0] for row in cells],
                "label": [row[place] if is_labelled else "" for row in cells],
            }
            yield Chunk(path, first, {name: found[name] for name in names}, [number for number, _ in part])
            first += len(part)

    return Table(path, ["text", "label"] if is_labelled else ["text"], read)


def _text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line that is not blank."""
    with path.open(encoding="utf-8-sig") as file:
        try:
            for number, line in enumerate(_lines(path, file), start=1):
                if line.strip():
                    yield number, line.rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise ValueError(_not_utf8(path)) from error


def _open_excel(path: Path) -> Table:
    """The first sheet of a workbook; its first row names the columns."""
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise ImportError("reading .xlsx needs openpyxl: pip install openpyxl") from error
    try:
        book = load_workbook(path, read_only=True, data_only=True)
        rows, sheets = [list(row) for row in book.worksheets[0].iter_rows(values_only=True)], book.sheetnames
        book.close()
    except Exception as error:  # zipfile, the parser of XML and openpyxl raise many kinds
        raise ValueError(f"{path} is not an Excel file that can be read: {one_line(error)}") from error
    rows = [row for row in rows if any(cell is not None for cell in row)]
    others = f"; of its {len(sheets)} sheets only the first is read" if len(sheets) > 1 else ""
    if not rows:
        raise ValueError(f"{path} is empty{others}")
    columns = [cell_text(name) for name in rows[0]]

    def read(names: Sequence[str], count: int) -> Iterator[Chunk]:
        for start in range(1, len(rows), count):
            by_column = list(zip(*rows[start : start + count], strict=True))
            yield Chunk(path, start, {name: by_column[columns.index(name)] for name in names})

    note = f"of {len(sheets)} sheets only the first, {shown(sheets[0])}, is read; save another as a file of its own"
    return Table(path, columns, read, note if len(sheets) > 1 else "")


def _open_parquet(path: Path) -> Table:
    try:
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise ImportError("reading .parquet needs pyarrow: pip install pyarrow") from error

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
