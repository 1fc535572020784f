"""Text that may be opened in a spreadsheet."""

import re

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")
_NUMBER = re.compile(r"[+-](\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def harmless(text: str) -> str:
    """Text that no spreadsheet runs: with an apostrophe in front if it starts like a formula and is not a number.

    Examples
    --------
    >>> from ancr._core.spreadsheet import harmless
    >>> harmless("=1+1"), harmless("-2.5"), harmless("cat")
    ("'=1+1", '-2.5', 'cat')
    """
    return f"'{text}" if text.startswith(_FORMULA_STARTS) and not _NUMBER.fullmatch(text) else text
