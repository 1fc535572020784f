"""Texts of error messages."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def one_line(error: BaseException | str) -> str:
    """The message of an error in one line; its type if it has none."""
    return " ".join(str(error).split()) or type(error).__name__


def shown(text: str, most: int = 40) -> str:
    """A text of a user in a message: quoted, and not longer than a few words."""
    return repr(text if len(text) <= most else text[:most] + "…")


def plain(label: Any) -> str:
    """A label in a message: without the type that NumPy would show, ``0`` and not ``np.int64(0)``."""
    return repr(label.item() if hasattr(label, "item") else label)


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number of things: ``1 sample``, ``3 samples``."""
    return f"{number} {one if number == 1 else many or one + 's'}"


@contextmanager
def naming(argument: str) -> Iterator[None]:
    """Raise an error about an argument again in one line that names it, for checks that do not know its name."""
    try:
        yield
    except (TypeError, ValueError) as error:
        text, kind = one_line(error), TypeError if isinstance(error, TypeError) else ValueError
        raise kind(text if re.search(rf"\b{argument}\b", text) else f"{argument}: {text}") from error
