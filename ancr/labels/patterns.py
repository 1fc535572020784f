r"""The opinion of patterns: how a sample's decision values compare with those usual for each class.

A sample that is taken for another class is often not alone: others of its class are taken for the same one, to the
same extent. So with D_i all decision values of sample i, m_k their mean over the samples of class k, and S their
covariance within classes, shrunk towards a multiple of I,

    q_ik = −½(D_i − m_k)ᵀS⁻¹(D_i − m_k) + log(n_k/n),

the discriminant of Gaussian classes. The mean of the own class is taken without the sample itself, which makes
D_i − m_k larger by n_k/(n_k − 1); D_i itself is from a code without the sample.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

# Share of the shrunken covariance that is a multiple of I: with many classes of a few samples it is poorly known.
_SHRINKAGE = 0.6


def by_patterns(decisions: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """q_ik for all samples and classes.

    Parameters
    ----------
    decisions : ndarray of shape (n_samples, n_classes)
        Decision values of samples that were held out.
    labels : ndarray of shape (n_samples,)
        Index of the given class. A class without samples gets the lowest value of all.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.labels.patterns import by_patterns
    >>> usual = np.array([[1.0, 0.8, 0.0], [0.9, 1.0, 0.1], [0.0, 0.1, 1.0]])  # class 1 is often taken for class 0
    >>> decisions = np.repeat(usual, 10, axis=0) + 0.1 * np.random.default_rng(0).normal(size=(30, 3))
    >>> by_patterns(decisions, np.repeat([0, 1, 2], 10)).shape
    (30, 3)
    """
    n, n_classes = decisions.shape
    decisions = decisions - decisions.mean(axis=0)  # nothing depends on an offset, and squares lose no digits to it
    members = np.bincount(labels, minlength=n_classes)
    member_of = np.zeros((n_classes, n))
    member_of[labels, np.arange(n)] = 1.0
    means = member_of @ decisions / np.maximum(members, 1)[:, None]
    apart = decisions - means[labels]
    covariance = apart.T @ apart / n
    level = float(np.trace(covariance)) / n_classes or 1.0
    shrunk = (1.0 - _SHRINKAGE) * covariance + _SHRINKAGE * level * np.eye(n_classes)
    root = np.linalg.cholesky(shrunk)
    points, centres = (solve_triangular(root, values.T, lower=True).T for values in (decisions, means))
    squares = (points**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1) - 2.0 * points @ centres.T
    own = members[labels]
    squares[np.arange(n), labels] *= (own / np.maximum(own - 1, 1)) ** 2
    values = -0.5 * squares + np.log(np.maximum(members, 1) / n)
    values[:, members == 0] = values.min()
    return values
