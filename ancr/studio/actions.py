"""What an action changes, step by step, and which actions of which tab can be undone."""

import time
from dataclasses import dataclass
from typing import Any

# Seconds after which a tab that has not been heard of counts as closed.
_ALIVE = 600.0
_LONGEST_NAME = 200


class ActionError(ValueError):
    """An action that cannot be done; the message is a sentence for the page."""


class ConflictError(ActionError):
    """An action on a sample that another tab has changed since it was shown."""


@dataclass(frozen=True)
class Step:
    """One value that an action changes.

    Attributes
    ----------
    sample : str or None
        Identity of the sample; None for what belongs to none.
    field : str
        ``"label"``, ``"skipped"``, ``"excluded"``, ``"kept"``; without a sample ``"class"`` or ``"settings"``.
    old, new : str or None
        The value before and after; a mark is ``"yes"`` or None, settings are JSON.
    """

    sample: str | None
    field: str
    old: str | None
    new: str | None

    @property
    def back(self) -> "Step":
        """The step that takes this one back."""
        return Step(self.sample, self.field, self.new, self.old)


@dataclass(frozen=True)
class Batch:
    """What one action did: steps that are done, and undone, together.

    Attributes
    ----------
    do : str
        The action.
    steps : tuple of Step
        What it changed.
    tab : str
        The tab of the browser that asked for it.
    undoes : int or None
        Number of the batch that it takes back.
    refused : tuple of str
        Sentences about the parts that were not done.
    """

    do: str
    steps: tuple[Step, ...]
    tab: str = ""
    undoes: int | None = None
    refused: tuple[str, ...] = ()


class History:
    """Batches that can be undone: a tab undoes its own, and those of tabs that are closed."""

    def __init__(self) -> None:
        self._batches: dict[int, Batch] = {}
        self._of_tab: dict[str, list[int]] = {}
        self._heard: dict[str, float] = {}

    def hear(self, tab: str) -> None:
        """Note that a tab is open."""
        self._heard[tab] = time.monotonic()

    def add(self, number: int, batch: Batch) -> None:
        """Remember a batch, or forget the one that it takes back."""
        if batch.undoes is not None:
            self.forget(batch.undoes)
        else:
            self._batches[number] = batch
            self._of_tab.setdefault(batch.tab, []).append(number)

    def forget(self, number: int) -> None:
        """A batch cannot be undone any more."""
        if (batch := self._batches.pop(number, None)) is not None:
            self._of_tab[batch.tab].remove(number)

    def can_undo(self, tab: str) -> bool:
        """Whether a batch is left for a tab to undo."""
        return self._last(tab) is not None

    def last(self, tab: str) -> tuple[int, Batch]:
        """The number of the batch that a tab undoes next, and the batch."""
        number = self._last(tab)
        if number is None:
            raise ActionError("There is nothing to undo.")
        return number, self._batches[number]

    def _last(self, tab: str) -> int | None:
        lately = time.monotonic() - _ALIVE
        ends = [
            numbers[-1]
            for other, numbers in self._of_tab.items()
            if numbers and (other == tab or self._heard.get(other, -1e9) < lately)
        ]
        return max(ends, default=None)


def words(value: Any) -> str:
    """What a page sent, in a message."""
    return repr(value if len(value) <= 40 else value[:40] + "…") if isinstance(value, str) else "of this kind"


def check_label(label: Any) -> str:
    """A label as text in one line, or an `ActionError`."""
    if not isinstance(label, str) or not any(letter.isprintable() and not letter.isspace() for letter in label):
        raise ActionError("A class needs a name.")
    label = label.strip()
    if not label.isprintable() and any("\ud800" <= letter <= "\udfff" for letter in label):
        raise ActionError("A class name must be valid text; this one holds half of a character.")
    if len(label) > _LONGEST_NAME or any(ord(letter) < 32 or ord(letter) == 127 for letter in label):
        raise ActionError(f"A class name is one line of at most {_LONGEST_NAME} characters.")
    return label
