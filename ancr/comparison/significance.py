r"""Whether one method is better than another, as good, or whether the samples cannot tell.

Methods answer the same held-out samples, so that two of them differ only where exactly one is right: in the share b of
the answers the first, in the share c the second. Each of n samples is one piece of evidence, however often it was
divided into folds. With one imaginary sample won by each of the two,

    gap = n·(b − c) / (n + 2),    error = w · √(n·(b + c) + 2) / (n + 2)

gap/error is the statistic of Q. McNemar ("Note on the sampling error of the difference between correlated proportions",
Psychometrika 12, 1947), and the imaginary samples keep a handful of disagreements from counting for too much (D. Bonett
and R. Price, "Adjusted Wald confidence interval for a difference of binomial proportions based on paired data", Journal
of Educational and Behavioral Statistics 37, 2012). For one given split w = 1. In cross-validation the training parts
overlap, and errors on different samples are no longer independent: w = `WIDENING`, as measured by
``benchmarks/significance.py``. The corrected t-test of Nadeau and Bengio, with w = 1.5 for five folds and four degrees
of freedom, cannot tell 80 % from 99 % among nineteen methods.

The best method is chosen by looking at the answers. So every pair of methods is judged, not only those with the best
(P. Hansen, A. Lunde and J. Nason, "The model confidence set", Econometrica 79, 2011): while the largest gap between any
two of the remaining methods is larger than chance allows for their number (J. Tukey's studentized range), the method
behind it is worse and leaves.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

LEVEL = 0.05
# Points of accuracy that a method may be behind the best and still be called as good.
REGION = 1.0
# How much larger the error of a gap is where training parts overlap.
WIDENING = 1.2
_ONE_SIDED = 1.6449


def paired_gap(
    ahead: ArrayLike, behind: ArrayLike, n_samples: int | None = None, widening: float = 1.0
) -> tuple[float, float]:
    """By how much one method is ahead of another, and the standard error of that, as shares.

    Parameters
    ----------
    ahead, behind : array-like of bool of shape (n_answers,)
        Which answers of each of two methods are right.
    n_samples : int or None
        How many different samples these answers are on; None if no sample comes twice.
    widening : float
        What overlapping training parts multiply the error by.

    Examples
    --------
    >>> from ancr.comparison.significance import paired_gap
    >>> gap, error = paired_gap([1, 1, 1, 1, 1, 1, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0])
    >>> round(gap, 2), round(gap / error, 2)
    (0.6, 2.12)
    """
    difference = np.asarray(ahead, float) - np.asarray(behind, float)
    count = len(difference) if n_samples is None else n_samples
    disagreement = count * float(np.mean(difference**2))
    return count * float(difference.mean()) / (count + 2), widening * (disagreement + 2) ** 0.5 / (count + 2)


def most_behind(gaps: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """How far each method is behind the best at most, as a share, with 95 % confidence.

    The best is unknown: the bound holds against every other method.

    Parameters
    ----------
    gaps, errors : ndarray of shape (n_methods, n_methods)
        By how much the method of a column is ahead of that of a row, and the standard error.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.comparison.significance import most_behind
    >>> most_behind(np.array([[0.0, -0.04], [0.04, 0.0]]), np.full((2, 2), 0.01)).round(3).tolist()
    [0.0, 0.056]
    """
    bounds = gaps + _ONE_SIDED * errors
    np.fill_diagonal(bounds, 0.0)
    return np.maximum(bounds.max(axis=1), 0.0)


def best_set(statistics: np.ndarray) -> list[float]:
    """p-value of each method: that it is as good as the best. Those of at least 0.05 are the model confidence set.

    All methods that are as good as the best are in that set with a probability of at least 95 %.

    Parameters
    ----------
    statistics : ndarray of shape (n_methods, n_methods)
        How many standard errors the method of a row is behind that of a column.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.comparison.significance import best_set
    >>> behind = np.array([[0.0, -1.0, -4.0], [1.0, 0.0, -3.5], [4.0, 3.5, 0.0]])
    >>> [round(p, 4) for p in best_set(behind)]
    [1.0, 0.3173, 0.0002]
    """
    from scipy.stats import studentized_range

    remaining, p_values, reached = list(range(len(statistics))), [1.0] * len(statistics), 0.0
    while len(remaining) > 1:
        furthest = statistics[np.ix_(remaining, remaining)].max(axis=1)
        chance = studentized_range.sf(max(furthest.max(), 0.0) * 2**0.5, len(remaining), np.inf)
        reached = max(reached, float(chance))  # no method is worse than one that was no worse
        p_values[remaining.pop(int(furthest.argmax()))] = min(reached, 1.0)
    return p_values


def judge(pair: Callable[[int, int], tuple[float, float]], n_methods: int) -> tuple[list[float], list[float]]:
    """p-value of each method, and how many points it is behind the best at most.

    Parameters
    ----------
    pair : callable
        ``pair(i, j)`` is the `paired_gap` of method i ahead of method j.
    n_methods : int
        How many methods there are.
    """
    gaps, errors = np.zeros((2, n_methods, n_methods))
    for ahead in range(n_methods):
        for behind in range(ahead):
            gap, error = pair(ahead, behind)
            gaps[behind, ahead], gaps[ahead, behind] = gap, -gap
            errors[behind, ahead] = errors[ahead, behind] = error
    statistics = gaps / np.where(errors > 0.0, errors, 1.0)
    return best_set(statistics), (100.0 * most_behind(gaps, errors)).tolist()


def outcome(p_value: float, behind: float) -> str:
    """``"worse"`` than the best, ``"as good"`` (at most `REGION` points behind), or ``"cannot tell"``.

    A method that is worse by less than the region is worse.

    Examples
    --------
    >>> from ancr.comparison.significance import outcome
    >>> outcome(0.01, 8.0), outcome(0.4, 0.7), outcome(0.4, 3.0)
    ('worse', 'as good', 'cannot tell')
    """
    return "worse" if p_value < LEVEL else "as good" if behind <= REGION else "cannot tell"


def wilson_interval(right: float, total: float, z: float = 1.96) -> tuple[float, float]:
    """95 % interval of an accuracy of ``right`` out of ``total``, as shares.

    Examples
    --------
    >>> from ancr.comparison.significance import wilson_interval
    >>> [round(end, 3) for end in wilson_interval(95, 100)]
    [0.888, 0.978]
    """
    share, spread = right / total, z * z / total
    centre = (share + spread / 2) / (1 + spread)
    half = z * np.sqrt(share * (1 - share) / total + spread / (4 * total)) / (1 + spread)
    return float(centre - half), float(centre + half)
