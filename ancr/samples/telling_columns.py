"""Columns that give the label away without describing the sample: identifiers, sorted columns, copies of the label."""

import numpy as np
from sklearn.model_selection import KFold, cross_val_score
from sklearn.tree import DecisionTreeClassifier

from ancr.samples.column_kinds import FEW_ROWS, rises


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
    return len(known) >= FEW_ROWS and 2 * len(np.unique(known)) > len(known) and rises(known)


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


def right_alone(values: np.ndarray, target: np.ndarray) -> float:
    """Share of held-out labels that a small tree on one column predicts, in five folds.

    It has two leaves for each class, or one for each value, if at least ten samples have each value on average.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)
        The column; a missing value is a value.
    target : ndarray of int
        Class of each sample.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.samples.telling_columns import right_alone
    >>> rng = np.random.default_rng(0)
    >>> target = rng.integers(0, 2, 400)
    >>> right_alone(target + rng.random(400) / 2, target), right_alone(rng.integers(0, 40, 400), target) < 0.6
    (1.0, True)
    """
    kinds, classes = len(np.unique(values)), len(np.unique(target))
    leaves = max(2 * classes, kinds if 10 * kinds <= len(values) else 2)
    tree = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0)
    column = np.asarray(values, dtype=float)[:, np.newaxis]
    return float(cross_val_score(tree, column, target, cv=KFold(5, shuffle=True, random_state=0)).mean())
