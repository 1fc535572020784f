"""Rows of a CSV file. Whatever is wrong with the file is a ValueError of one line that says where."""

import csv

from ancr._core.messages import shown

# A file without line ends, which is not a table, must not fill the memory.
_LONGEST_LINE = 2**26


def csv_rows(path):
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


def _lines(path, file):
    while line := file.readline(_LONGEST_LINE):
        if len(line) == _LONGEST_LINE:
            raise ValueError(f"{path} is not a table: a line is longer than {_LONGEST_LINE} characters")
        if "\0" in line:
            raise ValueError(f"{path} is not a text file: it holds zero bytes; save it as CSV in UTF-8")
        yield line


def _not_utf8(path):
    """Message about the first line that is not UTF-8."""
    with path.open("rb") as file:
        if file.read(2) in (b"\xff\xfe", b"\xfe\xff"):
            return f"{path} is in UTF-16; save it as CSV in UTF-8"
        file.seek(0)
        for number, line in enumerate(file, start=1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                return f"{path}, line {number}: byte 0x{line[error.start]:02x} is not UTF-8; save it as CSV in UTF-8"
    return f"{path} is not text in UTF-8; save it as CSV in UTF-8"


FLAGS = {"1": True, "true": True, "train": True, "0": False, "false": False, "test": False}


def parse_flag(text, where):
    """Whether a cell of the column ``is_train`` marks a training sample."""
    if text.lower() not in FLAGS:
        raise ValueError(f"{where}: is_train={shown(text)}, but expected one of {', '.join(FLAGS)}")
    return FLAGS[text.lower()]
