r"""Whether wrong labels are scattered over all classes or repeat each other.

Take two suspicious samples that look like the same class: how often do they have the same label? If labels are wrong at
random, once in K − 1 times; if a class was mistaken for one other, always. With p_i the probability that the label of
sample i is wrong, t_i the class it looks like and g_i its label, over pairs i ≠ j with t_i = t_j,

    c = Σ p_i p_j·[g_i = g_j] / Σ p_i p_j,    m² = (c − 1/(K − 1)) / (1 − 1/(K − 1)),

and m is the share of wrong labels that are systematic.
"""

from __future__ import annotations

import numpy as np

# Where m is above this, wrong labels repeat each other.
SYSTEMATIC = 0.3


def repetition(probability: np.ndarray, suggested: np.ndarray, labels: np.ndarray, n_classes: int) -> float:
    """m, between 0 and 1; near 1 where there is nothing suspicious to tell it from, and with two classes.

    Parameters
    ----------
    probability : ndarray of shape (n_samples,)
        That each label is wrong.
    suggested, labels : ndarray of shape (n_samples,)
        Index of the class that each sample looks like, and of the given one.
    n_classes : int
        K.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.labels.repetition import repetition
    >>> looks_like = np.zeros(60, int)
    >>> scattered, repeated = np.arange(60) % 20 + 1, np.ones(60, int)
    >>> [round(repetition(np.ones(60), looks_like, given, 21), 1) for given in (scattered, repeated)]
    [0.0, 1.0]
    """
    if n_classes < 3:
        return 1.0
    counted = np.where(suggested != labels, probability, 0.0)
    sums, squares = np.zeros((n_classes, n_classes)), np.zeros((n_classes, n_classes))
    np.add.at(sums, (suggested, labels), counted)
    np.add.at(squares, (suggested, labels), counted**2)
    same = float((sums**2 - squares).sum())
    pairs = float((sums.sum(axis=1) ** 2 - squares.sum(axis=1)).sum())
    # One pair that agrees is added, so that without any there is no reason to believe in random errors.
    share, by_chance = (same + 1.0) / (pairs + 1.0), 1.0 / (n_classes - 1)
    return float(np.sqrt(max(share - by_chance, 0.0) / (1.0 - by_chance)))
