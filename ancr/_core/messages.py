"""Texts of error messages."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def one_line(error: BaseException | str) -> str:
    """The message of an error in one line; with its type if it is a key alone, its type if it has none.

    Examples
    --------
    >>> from ancr._core.messages import one_line
    >>> one_line(KeyError("width"))
    "KeyError: 'width'"
    """
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if isinstance(error, KeyError) else text or type(error).__name__


def shown(text: str, most: int = 40) -> str:
    """A text of a user in a message: quoted, and not longer than a few words."""
    return repr(text if len(text) <= most else text[:most] + "…")


def plain(label: Any) -> str:
    """A label in a message: without the type that NumPy would show, ``0`` and not ``np.int64(0)``."""
    return repr(label.item() if hasattr(label, "item") else label)


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number of things: ``1 sample``, ``3 samples``."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def joined(names: Sequence[str]) -> str:
    """Names in a sentence: ``a``, ``a and b``, ``a, b and c``."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def shown_path(path: str | Path) -> str:
    """A path for people: relative to the working folder if it is inside, otherwise as it is.

    Examples
    --------
    >>> from pathlib import Path
    >>> from ancr._core.messages import shown_path
    >>> shown_path(Path.cwd() / "data" / "wine.csv") == str(Path("data", "wine.csv")), shown_path("/elsewhere/wine.csv")
    (True, '/elsewhere/wine.csv')
    """
    path = Path(path)
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def shown_cells(cells: Sequence[tuple[str, str]], most: int = 8, longest: int = 160) -> str:
    """Columns and values of a row of a table in a line; a text alone as it is.

    Examples
    --------
    >>> from ancr._core.messages import shown_cells
    >>> shown_cells([("length", "39.1"), ("sex", ""), ("island", "Biscoe")])
    'length 39.1 · sex – · island Biscoe'
    """
    if len(cells) == 1:
        text = cells[0][1]
        return text if len(text) <= longest else f"{text[:longest]}…"
    parts = [f"{name} {value[:longest] or '–'}" for name, value in cells[:most]]
    return " · ".join([*parts, "…"] if len(cells) > most else parts)


def shown_chance(probability: float) -> str:
    """A probability with three digits; one that is neither 0 nor 1 is not shown as if it were.

    Examples
    --------
    >>> from ancr._core.messages import shown_chance
    >>> [shown_chance(value) for value in (0.0831, 0.0002, 0.9998, 1.0)]
    ['0.083', '< 0.001', '> 0.999', '1.000']
    """
    text = f"{probability:.3f}"
    if 0.0 < probability < 1.0 and text in ("0.000", "1.000"):
        return "< 0.001" if text == "0.000" else "> 0.999"
    return text


def shown_time(seconds: float) -> str:
    """A duration for people: ``850 µs``, ``12 ms``, ``3.2 s``, ``2 min 5 s``, ``1 h 10 min``.

    Examples
    --------
    >>> from ancr._core.messages import shown_time
    >>> [shown_time(value) for value in (0.00085, 0.0123, 3.21, 125, 4200)]
    ['850 µs', '12 ms', '3.2 s', '2 min 5 s', '1 h 10 min']
    """
    for unit, size, limit, digits in (("µs", 1e6, 1e-3, 0), ("ms", 1e3, 0.9995, 0), ("s", 1.0, 9.95, 1)):
        if seconds < limit:
            return f"{size * seconds:.{digits}f} {unit}"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"


@contextmanager
def naming(argument: str) -> Iterator[None]:
    """Raise an error about an argument again in one line that names it, for checks that do not know its name."""
    try:
        yield
    except (TypeError, ValueError) as error:
        text, kind = one_line(error), TypeError if isinstance(error, TypeError) else ValueError
        raise kind(text if re.search(rf"\b{argument}\b", text) else f"{argument}: {text}") from error
