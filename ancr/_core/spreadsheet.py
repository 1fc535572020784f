"""Text that may be opened in a spreadsheet."""

import re

_FORMULA_STARTS = ("=", "+", "-", "@")
_NUMBER = re.compile(r"[+-](\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?", re.ASCII)
# What ends a cell: in countries with a decimal comma, tables of commas are read as tables of semicolons.
_CELL_END = re.compile(r"([;\t\r\n])")


def harmless(text: str) -> str:
    """Text that no spreadsheet runs: with an apostrophe where a cell may begin like a formula and is not a number.

    Examples
    --------
    >>> from ancr._core.spreadsheet import harmless
    >>> harmless("=1+1"), harmless("-2.5"), harmless("cat"), harmless("a;=1+1")
    ("'=1+1", '-2.5', 'cat', "a;'=1+1")
    """
    cells = "".join(f"'{part}" if _is_formula(part) else part for part in _CELL_END.split(text))
    return f"'{cells}" if text.startswith(("\t", "\r", "\n")) else cells


def _is_formula(text: str) -> bool:
    return text.startswith(_FORMULA_STARTS) and not _NUMBER.fullmatch(text)
