"""How far an answer can be trusted, learned from held-out training samples."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression

from ancr.labels.temperature import fit_temperature

__all__ = ["Trust", "brier_losses", "calibration_error", "concentration", "fit_temperature", "least_threshold"]


def brier_losses(decisions, labels, temperature):
    """Brier score Σ_k (p_k − [k is right])² of each sample, p the softmax of its decision values over a temperature.

    0 is best, 2 is certain and wrong. Unlike the log loss, it does not let a few samples that are sure and wrong decide
    between settings.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.selection.calibration import brier_losses
    >>> brier_losses(np.array([[0.0, 0.0], [9.0, 0.0], [9.0, 0.0]]), np.array([0, 0, 1]), 0.1).round(6)
    array([0.5, 0. , 2. ])
    """
    shares = softmax(decisions / temperature, axis=1)
    shares[np.arange(len(labels)), labels] -= 1.0
    return np.einsum("ij,ij->i", shares, shares)


def concentration(dictionary, codes):
    """Sparsity concentration index of each code: 1 if one class has all the weight, 0 if all classes have the same.

    SCI = (K·max_i ‖c_i‖₁/‖c‖₁ − 1) / (K − 1)

    Parameters
    ----------
    dictionary : Dictionary
        Gives the classes of the atoms.
    codes : ndarray or CSR array of shape (n_queries, n_atoms)
        Columns sorted by class.
    """
    n_classes = dictionary.n_classes
    weights = dictionary.class_sums(abs(codes))
    total = weights.sum(axis=1)
    share = weights.max(axis=1) / np.where(total > 0, total, 1.0)
    return (n_classes * np.where(total > 0, share, 1.0 / n_classes) - 1.0) / (n_classes - 1)


@dataclass(frozen=True)
class Trust:
    """Temperature, and the probability that the chosen class is right as a function of margin and concentration.

    Attributes
    ----------
    temperature : float
        Divides decision values in a softmax.
    weights : ndarray of shape (3,)
        Intercept and the weights of the margin (largest minus second-largest decision value, over the temperature) and
        of the concentration, in the log-odds of being right.
    threshold : float
        Lowest confidence at which the share of right answers among accepted samples was ``precision``.
    precision, coverage : float
        The requested share of right answers, and the share of samples accepted.
    """

    temperature: float
    weights: np.ndarray
    threshold: float
    precision: float
    coverage: float

    @classmethod
    def learn(cls, decisions, concentrations, labels, temperature, precision):
        """Learn from held-out samples."""
        right = decisions.argmax(axis=1) == labels
        features = np.column_stack([_margins(decisions, temperature), concentrations])
        if right.all() or not right.any():  # nothing to learn: the margin alone ranks the answers
            weights = np.array([0.0, 1.0, 0.0])
        else:
            model = LogisticRegression(C=10.0).fit(features, right)
            weights = np.concatenate([model.intercept_, model.coef_[0]])
        confidence = expit(weights[0] + features @ weights[1:])
        threshold, coverage = least_threshold(confidence, right, precision)
        return cls(temperature, weights, threshold, precision, coverage)

    def confidence(self, decisions, concentrations):
        """Probability that the class with the largest decision value is right."""
        margins = _margins(decisions, self.temperature)
        return expit(self.weights[0] + self.weights[1] * margins + self.weights[2] * concentrations)


def _margins(decisions, temperature):
    """Gap between the two largest decision values over the temperature: their log-odds, capped where certain anyway."""
    top = np.partition(decisions, -2, axis=1)[:, -2:]
    return np.minimum((top[:, 1] - top[:, 0]) / temperature, 30.0)


def least_threshold(confidence, right, precision):
    """The lowest confidence above which the share of right answers is at least ``precision``, and the share above it.

    Infinity and 0 where no threshold gives that precision.
    """
    order = np.argsort(-confidence, kind="stable")
    so_far = np.cumsum(right[order]) / np.arange(1, len(order) + 1)
    ends = np.append(np.diff(confidence[order]) != 0, True)  # equal confidences are accepted or rejected together
    good = np.flatnonzero((so_far >= precision) & ends)
    if not len(good):
        return np.inf, 0.0
    return float(confidence[order[good[-1]]]), (good[-1] + 1) / len(order)


def calibration_error(probabilities, right, bins=15):
    """Expected calibration error: the difference between confidence and accuracy, averaged over bins of confidence.

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
