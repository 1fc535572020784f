"""The labelled samples as rows of a matrix that grows at its end."""

from typing import NamedTuple

import numpy as np

from ancr._core.arrays import unit_rows
from ancr.axes.spaces import signed_power

# Powers whose rows are kept: the one in use and some that a slider has just passed.
_KEPT = 3


class Labelled(NamedTuple):
    """The labelled samples of a moment.

    Attributes
    ----------
    members : ndarray of int
        Samples that have or had a label.
    classes : ndarray of str
        The classes that there have been, after an empty one for samples that are not used any more.
    codes : ndarray of int
        The class of each member.
    unused : ndarray of int
        Places of members that are not used any more.
    """

    members: np.ndarray
    classes: np.ndarray
    codes: np.ndarray
    unused: np.ndarray

    @property
    def labels(self) -> np.ndarray:
        """The label of each member."""
        return self.classes[self.codes]


class LabelledRows:
    """Samples with a label, in the order in which they got it, with rows in every power that is asked for.

    A label costs the same however many there are.

    Parameters
    ----------
    samples : ndarray of shape (n_samples, n_features)
        All samples.
    """

    def __init__(self, samples: np.ndarray) -> None:
        self.samples = samples
        self._members, self._codes = np.empty(len(samples), int), np.empty(len(samples), int)
        self._place: dict[int, int] = {}
        self._classes: dict[str, int] = {"": 0}
        self._unused: set[int] = set()
        self._rows: dict[tuple[float, bool], tuple[np.ndarray, np.ndarray, int]] = {}
        self._moment: Labelled | None = None

    def __len__(self) -> int:
        return len(self._place)

    def update(self, index: int, label: str | None) -> None:
        """Give a sample a label, or take it away if it is None."""
        self._moment = None
        place = self._place.get(index, len(self))
        if place == len(self):
            if label is None:
                return
            self._place[index] = place
            self._members[place] = index
        self._codes[place] = 0 if label is None else self._classes.setdefault(label, len(self._classes))
        (self._unused.add if label is None else self._unused.discard)(place)

    def now(self) -> Labelled:
        """The labelled samples of this moment; what comes later does not change them."""
        if self._moment is None:
            n, unused = len(self), np.array(sorted(self._unused), int)
            self._moment = Labelled(self._members[:n], np.array(list(self._classes)), self._codes[:n].copy(), unused)
        return self._moment

    def place(self, index: int) -> int | None:
        """Where a sample is among the members; None if it is not."""
        return self._place.get(index)

    def rows(self, power: float, normalize: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Rows of all members after a power, at unit norm unless they keep theirs, and their squared norms."""
        kind, n = (power, normalize), len(self)
        if kind not in self._rows:
            # As large as all samples, so that a new row does not move the others; memory is taken as rows are written.
            self._rows[kind] = np.empty_like(self.samples), np.empty(len(self.samples), self.samples.dtype), 0
        rows, squares, known = self._rows.pop(kind)
        if known < n:
            rows[known:n] = rows_of(self.samples[self._members[known:n]], power, normalize)
            squares[known:n] = np.einsum("ij,ij->i", rows[known:n], rows[known:n])
        self._rows[kind] = rows, squares, n  # the last used is kept longest
        while len(self._rows) > _KEPT:
            self._rows.pop(next(iter(self._rows)))
        return rows[:n], squares[:n]


def rows_of(samples: np.ndarray, power: float, normalize: bool = True) -> np.ndarray:
    """Samples after a power, and at unit norm unless they keep theirs."""
    powers = samples if power == 1.0 else signed_power(samples, power)
    return unit_rows(powers, copy=True) if normalize else powers
