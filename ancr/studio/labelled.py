"""The labelled samples as rows of a matrix that grows at its end."""

from collections import Counter

import numpy as np
from numpy.typing import DTypeLike

from ancr._core.arrays import unit_rows
from ancr.axes.spaces import signed_power

# Powers whose rows are kept: the one in use and some that a slider has just passed.
_KEPT = 3


class GrowingRows:
    """Rows in memory that is doubled when it is full, so that one more row does not move the others.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.studio.labelled import GrowingRows
    >>> rows = GrowingRows(2, np.float32)
    >>> rows.append(np.eye(2, dtype=np.float32))
    >>> rows.view().shape
    (2, 2)
    """

    def __init__(self, width: int, dtype: DTypeLike) -> None:
        self._memory, self.count = np.empty((64, width), dtype), 0

    def append(self, rows: np.ndarray) -> None:
        """Add rows at the end."""
        end = self.count + len(rows)
        if end > len(self._memory):
            larger = np.empty((max(end, 2 * len(self._memory)), self._memory.shape[1]), self._memory.dtype)
            larger[: self.count] = self.view()
            self._memory = larger
        self._memory[self.count : end] = rows
        self.count = end

    def view(self) -> np.ndarray:
        """All rows, not copied."""
        return self._memory[: self.count]


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
        self._rows: dict[float, GrowingRows] = {}
        self._arrays: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
        self._counts: Counter[str | None] = Counter()

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
        place = self._place[index]
        self._counts[self._labels[place]] -= 1
        self._counts[label] += 1
        self._labels[place] = label

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """``(members, labels, unused)``."""
        if self._arrays is None:
            members = np.array(self._members, int)
            unused = np.array([place for place, label in enumerate(self._labels) if label is None], int)
            labels = np.array([label or "" for label in self._labels], dtype=str)
            self._arrays = members, labels, unused
        return self._arrays

    @property
    def n_classes(self) -> int:
        """How many classes have a sample."""
        return sum(count > 0 and label is not None for label, count in self._counts.items())

    def place(self, index: int) -> int | None:
        """Where a sample is among the members; None if it is not."""
        return self._place.get(index)

    def rows(self, power: float) -> np.ndarray:
        """Rows of all members after a power, at unit norm."""
        if power not in self._rows:
            while len(self._rows) >= _KEPT:
                self._rows.pop(next(iter(self._rows)))
            self._rows[power] = GrowingRows(self.samples.shape[1], self.samples.dtype)
        else:
            self._rows[power] = self._rows.pop(power)  # the last used is kept longest
        growing = self._rows[power]
        missing = self._members[growing.count :]
        if missing:
            growing.append(rows_of(self.samples[missing], power))
        return growing.view()


def rows_of(samples: np.ndarray, power: float) -> np.ndarray:
    """Samples after a power, at unit norm."""
    return unit_rows(samples if power == 1.0 else signed_power(samples, power), copy=True)
