"""The labelled samples as rows of a matrix that grows at its end."""

import numpy as np

from ancr._core.arrays import unit_rows
from ancr.axes.spaces import signed_power

# Powers whose rows are kept: the one in use and some that a slider has just passed.
_KEPT = 3


class LabelledRows:
    """Samples with a label, in the order in which they got it, with rows in every power that is asked for.

    Parameters
    ----------
    samples : ndarray of shape (n_samples, n_features)
        All samples.

    Attributes
    ----------
    members : ndarray of int
        Samples that have or had a label.
    labels : ndarray of str
        Their labels; those of samples that are not used any more are empty.
    unused : ndarray of int
        Places of such samples.
    """

    def __init__(self, samples: np.ndarray) -> None:
        self.samples = samples
        self._members: list[int] = []
        self._labels: list[str | None] = []
        self._place: dict[int, int] = {}
        self._rows: dict[tuple[float, bool], tuple[np.ndarray, np.ndarray, int]] = {}
        self._arrays: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    def __len__(self) -> int:
        return len(self._members)

    def update(self, index: int, label: str | None) -> None:
        """Give a sample a label, or take it away if it is None."""
        self._arrays = None
        if index not in self._place:
            if label is None:
                return
            self._place[index] = len(self._members)
            self._members.append(index)
            self._labels.append(None)
        self._labels[self._place[index]] = label

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """``(members, labels, unused)``."""
        if self._arrays is None:
            members = np.array(self._members, int)
            unused = np.array([place for place, label in enumerate(self._labels) if label is None], int)
            labels = np.array([label or "" for label in self._labels], dtype=str)
            self._arrays = members, labels, unused
        return self._arrays

    def place(self, index: int) -> int | None:
        """Where a sample is among the members; None if it is not."""
        return self._place.get(index)

    def rows(self, power: float, normalize: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Rows of all members after a power, at unit norm unless they keep theirs, and their squared norms."""
        kind, n = (power, normalize), len(self)
        # As large as all samples, so that a new row does not move the others; memory is taken as rows are written.
        new = (np.empty_like(self.samples), np.empty(len(self.samples), self.samples.dtype), 0)
        rows, squares, known = self._rows.pop(kind, new)
        if missing := self._members[known:]:
            rows[known:n] = rows_of(self.samples[missing], power, normalize)
            squares[known:n] = np.einsum("ij,ij->i", rows[known:n], rows[known:n])
        self._rows[kind] = rows, squares, n  # the last used is kept longest
        while len(self._rows) > _KEPT:
            self._rows.pop(next(iter(self._rows)))
        return rows[:n], squares[:n]


def rows_of(samples: np.ndarray, power: float, normalize: bool = True) -> np.ndarray:
    """Samples after a power, and at unit norm unless they keep theirs."""
    powers = samples if power == 1.0 else signed_power(samples, power)
    return unit_rows(powers, copy=True) if normalize else powers
