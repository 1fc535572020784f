"""How far an answer can be trusted, learned from samples that were coded without themselves."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import expit, log_softmax, softmax
from sklearn.linear_model import LogisticRegression


def fit_temperature(decisions, labels, start=None):
    """The T > 0 that makes softmax(decisions / T) most likely, and its log loss a sample.

    The loss is convex in 1/T, of which Newton's iteration needs only means and variances of the decisions.

    Parameters
    ----------
    decisions : ndarray of shape (n_samples, n_classes)
        Decision values.
    labels : ndarray of shape (n_samples,)
        Number of the right class.
    start : float or None
        A temperature to begin with.

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
        # From far off Newton overshoots: never more than a factor of four at once.
        step = inverse - slope / max(curvature, 1e-300)
        new = float(np.clip(step, max(lowest, inverse / 4), min(highest, inverse * 4)))
        if abs(new - inverse) <= 1e-3 * inverse:
            break
        inverse = new
    losses = -log_softmax(inverse * values, axis=1)[np.arange(len(labels)), labels]
    return 1.0 / inverse, losses


def concentration(codes, bounds):
    """Sparsity concentration index of every code: 1 if one class has all of its weight, 0 if all have the same.

    SCI = (K·max_i ‖c_i‖₁/‖c‖₁ − 1) / (K − 1)

    Parameters
    ----------
    codes : ndarray or CSR array of shape (n_queries, n_atoms)
        Columns sorted by class.
    bounds : ndarray of shape (n_classes + 1,)
        Where the classes begin.
    """
    n_classes = len(bounds) - 1
    weights = class_weights(codes, bounds)
    total = weights.sum(axis=1)
    share = weights.max(axis=1) / np.where(total > 0, total, 1.0)
    return (n_classes * np.where(total > 0, share, 1.0 / n_classes) - 1.0) / (n_classes - 1)


def class_weights(codes, bounds):
    """‖c_i‖₁ of every class: (n_queries, n_classes)."""
    n_rows, n_classes = codes.shape[0], len(bounds) - 1
    labels = np.repeat(np.arange(n_classes), np.diff(bounds))
    if sparse.issparse(codes):
        rows = np.repeat(np.arange(n_rows), np.diff(codes.indptr))
        cells, weights = rows * n_classes + labels[codes.indices], np.abs(codes.data)
    else:
        cells, weights = np.add.outer(np.arange(n_rows) * n_classes, labels).ravel(), np.abs(codes).ravel()
    return np.bincount(cells, weights, minlength=n_rows * n_classes).reshape(n_rows, n_classes)


@dataclass(frozen=True)
class Trust:
    """Temperature, and the probability that the chosen class is right as a function of margin and concentration.

    Attributes
    ----------
    temperature : float
        Divides decision values in a softmax.
    weights : ndarray of shape (3,)
        Intercept and the weights of the margin (first less second decision value, over the temperature) and of the
        concentration, in the log-odds of being right.
    threshold : float
        Least confidence at which ``precision`` of the accepted samples were right.
    precision, coverage : float
        The share that was asked for, and the share of samples accepted.
    """

    temperature: float
    weights: np.ndarray
    threshold: float
    precision: float
    coverage: float

    @classmethod
    def learn(cls, decisions, concentrations, labels, temperature, precision):
        """Learn from samples that were coded without themselves."""
        right = decisions.argmax(axis=1) == labels
        features = np.column_stack([_margins(decisions, temperature), concentrations])
        if right.all() or not right.any():  # nothing to tell apart: the margin alone orders the answers
            weights = np.array([0.0, 1.0, 0.0])
        else:
            model = LogisticRegression(C=10.0).fit(features, right)
            weights = np.concatenate([model.intercept_, model.coef_[0]])
        confidence = expit(weights[0] + features @ weights[1:])
        threshold, coverage = least_threshold(confidence, right, precision)
        return cls(temperature, weights, threshold, precision, coverage)

    def confidence(self, decisions, concentrations):
        """Probability that the class of largest decision value is right."""
        margins = _margins(decisions, self.temperature)
        return expit(self.weights[0] + self.weights[1] * margins + self.weights[2] * concentrations)


def _margins(decisions, temperature):
    """First less second decision value over the temperature: log-odds of the two, capped where it is certain anyway."""
    top = np.partition(decisions, -2, axis=1)[:, -2:]
    return np.minimum((top[:, 1] - top[:, 0]) / temperature, 30.0)


def least_threshold(confidence, right, precision):
    """The lowest confidence above which the share of right answers is at least ``precision``, and the share above it.

    Infinity and 0 where no threshold gives that precision.
    """
    order = np.argsort(-confidence, kind="stable")
    so_far = np.cumsum(right[order]) / np.arange(1, len(order) + 1)
    ends = np.append(np.diff(confidence[order]) != 0, True)  # equal confidences stand or fall together
    good = np.flatnonzero((so_far >= precision) & ends)
    if not len(good):
        return np.inf, 0.0
    return float(confidence[order[good[-1]]]), (good[-1] + 1) / len(order)


def calibration_error(probabilities, right, bins=15):
    """Expected calibration error: how far confidence and accuracy are apart, averaged over bins of confidence.

    Parameters
    ----------
    probabilities : ndarray of shape (n_samples,)
        Confidence in the chosen class.
    right : ndarray of bool of shape (n_samples,)
        Whether it was right.
    bins : int
        Bins of equal width.
    """
    number = np.minimum((probabilities * bins).astype(int), bins - 1)
    counts = np.bincount(number, minlength=bins)
    apart = np.abs(np.bincount(number, probabilities - right, minlength=bins))
    return float(apart.sum() / counts.sum())
