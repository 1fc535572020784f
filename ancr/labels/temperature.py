"""The temperature that turns decision values into probabilities."""

import numpy as np
from scipy.special import log_softmax, softmax


def fit_temperature(decisions, labels, start=None):
    """The T > 0 for which softmax(decisions / T) is most likely, and the log loss of each sample.

    The loss is convex in 1/T, and Newton's iteration needs only means and variances of the decisions.

    Parameters
    ----------
    decisions : ndarray of shape (n_samples, n_classes)
        Decision values.
    labels : ndarray of shape (n_samples,)
        Index of the right class.
    start : float or None
        A temperature to start from.

    Returns
    -------
    temperature : float
    losses : ndarray of shape (n_samples,)
    """
    values = decisions - decisions.max(axis=1, keepdims=True)
    picked = values[np.arange(len(labels)), labels]
    spread = -values.mean() or 1.0
    lowest, highest = 1e-3 / spread, 1e4 / spread
    inverse = float(np.clip(1.0 / (start or spread), lowest, highest))
    for _ in range(30):
        shares = softmax(inverse * values, axis=1)
        means = np.einsum("ij,ij->i", shares, values)
        slope = np.mean(means - picked)
        curvature = np.mean(np.einsum("ij,ij,ij->i", shares, values, values) - means**2)
        # Far from the optimum Newton overshoots: change by at most a factor of four per step.
        step = inverse - slope / max(curvature, 1e-300)
        new = float(np.clip(step, max(lowest, inverse / 4), min(highest, inverse * 4)))
        if abs(new - inverse) <= 1e-3 * inverse:
            break
        inverse = new
    losses = -log_softmax(inverse * values, axis=1)[np.arange(len(labels)), labels]
    return 1.0 / inverse, losses
