"""The temperature that turns decision values into probabilities."""

import numpy as np

from ancr._core.arrays import Array, entry_of_each_row, log_softmax, namespace, row_dots, row_sums, softmax


def fit_temperature(decisions: Array, labels: np.ndarray, start: float | None = None) -> tuple[float, Array]:
    """The T > 0 for which softmax(decisions / T) is most likely, and the log loss of each sample.

    The loss is convex in 1/T, and Newton's iteration needs only means and variances of the decisions.

    Parameters
    ----------
    decisions : array of shape (n_samples, n_classes)
        Decision values, of any library.
    labels : ndarray of shape (n_samples,)
        Index of the right class.
    start : float or None
        A temperature to start from.

    Returns
    -------
    temperature : float
    losses : array of shape (n_samples,)
    """
    xp = namespace(decisions)
    values = decisions - xp.max(decisions, axis=1, keepdims=True)
    picked = entry_of_each_row(values, labels)
    spread = -float(xp.mean(values)) or 1.0
    lowest, highest = 1e-3 / spread, 1e4 / spread
    inverse = float(np.clip(1.0 / (start or spread), lowest, highest))
    for _ in range(30):
        parts = softmax(inverse * values) * values
        means = row_sums(parts)
        slope = float(xp.mean(means - picked))
        curvature = float(xp.mean(row_dots(parts, values) - means**2))
        # Far from the optimum Newton overshoots: change by at most a factor of four per step.
        step = inverse - slope / max(curvature, 1e-300)
        new = float(np.clip(step, max(lowest, inverse / 4), min(highest, inverse * 4)))
        if abs(new - inverse) <= 1e-3 * inverse:
            break
        inverse = new
    return 1.0 / inverse, -entry_of_each_row(log_softmax(inverse * values), labels)
