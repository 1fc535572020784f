r"""Two opinions about each label in one: that of the chosen setting, and that of a smooth one.

The setting that classifies best is not always the one that finds wrong labels best. Where classes are hard to tell
apart, a strong ridge, whose codes spread over whole classes, sees better that a label is far off; where they are easy,
it sees nothing that the chosen setting does not. So the decision values of both are added,

    d = β₁d₁ + β₂d₂,    β = argmin −Σ log softmax(d)_given,    β ≥ 0,

with weights for which they predict the given labels best: a convex problem in two numbers. As for one temperature, the
log loss is safe here, because it chooses two scales and not between settings.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from ancr.axes.problem import Problem
from ancr.dictionary.atoms import BaseDictionary
from ancr.selection.temperature import fit_temperature


def smooth_problem(dictionary: BaseDictionary) -> Problem:
    """Ridge regression on the free set, with λ the mean squared length of the atoms."""
    return Problem.of(dictionary, "ridge", "free", alpha=float(dictionary.xp.mean(dictionary.squares)) or 1.0)


def combined(
    first: np.ndarray, second: np.ndarray, labels: np.ndarray, counted: np.ndarray | None = None
) -> np.ndarray:
    """β₁d₁ + β₂d₂ for all samples.

    Parameters
    ----------
    first, second : ndarray of shape (n_samples, n_classes)
        Decision values.
    labels : ndarray of shape (n_samples,)
        Index of the given class.
    counted : ndarray of bool of shape (n_samples,) or None
        Samples that choose the weights; None for all.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.labels.opinions import combined
    >>> labels = np.array([0, 1, 0, 1, 1, 0])
    >>> useful, useless = np.eye(2)[[0, 1, 0, 1, 0, 0]], np.ones((6, 2))
    >>> combined(useful, useless, labels).argmax(axis=1).tolist()
    [0, 1, 0, 1, 0, 0]
    """
    used = np.arange(len(labels)) if counted is None else np.flatnonzero(counted)
    scales = [fit_temperature(values[used], labels[used])[0] for values in (first, second)]
    scaled = [values[used] / scale for values, scale in zip((first, second), scales, strict=True)]
    labels, rows = labels[used], np.arange(len(used))

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        logs = log_softmax(weights[0] * scaled[0] + weights[1] * scaled[1], axis=1)
        shares = np.exp(logs)
        shares[rows, labels] -= 1.0
        slopes = [float(np.einsum("ij,ij->", shares, values)) / len(labels) for values in scaled]
        return -float(logs[rows, labels].mean()), np.array(slopes)

    weights = minimize(loss, [1.0, 0.0], jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * 2).x
    return weights[0] * first / scales[0] + weights[1] * second / scales[1]
