r"""How suspicious a label is by the odds of its class against all others.

With d_k the decision value of class k and T the temperature at which softmax(d/T) predicts the given labels best,

    s_k = T·log mean_{j ≠ k} exp(d_j/T) − d_k,

the log-odds against label k, up to a constant. A wrong label lies far below *all* others, a confused one just below
the best: the mean tells them apart better than the best other class alone.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp


def odds_against(decisions: np.ndarray, temperature: float) -> np.ndarray:
    """s_k of every class for every sample, of shape (n_samples, n_classes).

    Parameters
    ----------
    decisions : ndarray of shape (n_samples, n_classes)
        Decision values of samples that were held out.
    temperature : float
        T.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.labels.odds import odds_against
    >>> odds_against(np.array([[0.0, 1.0]]), temperature=1.0).tolist()
    [[1.0, -1.0]]
    """
    number = max(decisions.shape[1] - 1, 1)
    return all_others(decisions, temperature) - temperature * np.log(number) - decisions


def all_others(decisions: np.ndarray, temperature: float) -> np.ndarray:
    """T·log Σ_{j ≠ k} exp(d_j/T) for every class k."""
    rows, top = np.arange(len(decisions)), decisions.argmax(axis=1)
    values = decisions / temperature
    total = logsumexp(values, axis=1)
    with np.errstate(divide="ignore"):
        # No class but the largest has more than half of the sum, so that nothing cancels.
        sums = total[:, None] + np.log1p(-np.minimum(np.exp(values - total[:, None]), 1.0))
    values[rows, top] = -np.inf
    sums[rows, top] = logsumexp(values, axis=1)
    return temperature * sums


def best_other(decisions: np.ndarray) -> np.ndarray:
    """max_{j ≠ k} d_j for every class k."""
    rows, top = np.arange(len(decisions)), decisions.argmax(axis=1)
    best = np.repeat(decisions[rows, top][:, None], decisions.shape[1], axis=1)
    rest = decisions.copy()
    rest[rows, top] = -np.inf
    best[rows, top] = rest.max(axis=1)
    return best
