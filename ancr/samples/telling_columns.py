"""Columns that give the label away without describing the sample: identifiers, sorted columns, copies of the label."""

import numpy as np

_FEWEST = 20  # samples below which chance makes such columns


def numbers_samples(values: np.ndarray) -> bool:
    """Whether a column numbers the samples: whole numbers, no two alike, in order or without gaps.

    Columns that count the rows one by one, and those named like an identifier, are left out by the column plan already.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)
        The column in the order of the file; NaN for a missing value.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.samples.telling_columns import numbers_samples
    >>> shuffled = np.random.default_rng(0).permutation(50)
    >>> numbers_samples(shuffled), numbers_samples(100 + 3 * np.arange(50)), numbers_samples(7 * shuffled)
    (True, True, False)
    """
    if len(values) < _FEWEST or not np.isfinite(values).all() or (values != np.round(values)).any():
        return False
    steps = np.diff(np.sort(values))
    return bool(steps.min() > 0 and (_rises(values) or steps.max() == 1))


def is_sorted(values: np.ndarray) -> bool:
    """Whether a column of many different values rises or falls through the whole file, as times do.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.samples.telling_columns import is_sorted
    >>> is_sorted(np.sqrt(np.arange(30))), is_sorted(np.arange(30) // 10)
    (True, False)
    """
    known = values[np.isfinite(values)]
    return len(known) >= _FEWEST and 2 * len(np.unique(known)) > len(known) and _rises(known)


def _rises(values: np.ndarray) -> bool:
    steps = np.diff(values)
    return bool((steps >= 0).all() or (steps <= 0).all())


def error_alone(values: np.ndarray, target: np.ndarray) -> float:
    """Errors of the best rule on one column, as a share of those made by always naming the largest class.

    A rule names one class for each interval of values, one interval per class; or one class for each value, if at least
    ten samples have each value on average. Zero is a column that determines the label, one a column that says nothing.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)
        The column; a missing value is a value.
    target : ndarray of int
        Class of each sample.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.samples.telling_columns import error_alone
    >>> target = np.repeat([0, 1, 2], 20)
    >>> error_alone(np.arange(60.0), target), error_alone(np.arange(60.0) % 2, target)
    (0.0, 1.0)
    """
    kinds, place = np.unique(values, return_inverse=True)
    names, classes = np.unique(target, return_inverse=True)
    counts = np.bincount(place.ravel() * len(names) + classes, minlength=len(kinds) * len(names))
    counts = counts.reshape(len(kinds), len(names))
    errors = float(len(values) - counts.max(axis=1).sum())
    if 10 * len(kinds) > len(values):  # each interruption of an interval is an error, and makes two more of them
        runs = 1 + np.count_nonzero(np.diff(counts.argmax(axis=1)))
        errors += max(0, int(runs) - len(names)) / 2
    return min(1.0, errors / max(1, len(values) - int(counts.sum(axis=0).max())))
