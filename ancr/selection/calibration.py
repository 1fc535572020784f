"""How far an answer can be trusted, learned from held-out training samples."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from sklearn.linear_model import LogisticRegression

from ancr._core.arrays import Array, like, namespace, row_squares, row_sums, softmax, to_numpy
from ancr.dictionary.atoms import BaseDictionary
from ancr.selection.temperature import fit_temperature

__all__ = ["Trust", "brier_losses", "concentration", "fit_temperature", "least_threshold"]


def brier_losses(decisions: Array, labels: np.ndarray, temperature: float) -> Array:
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
    shares, xp = softmax(decisions / temperature), namespace(decisions)
    right = like(np.arange(decisions.shape[1]), decisions)[None, :] == like(labels, decisions)[:, None]
    return row_squares(shares - xp.astype(right, shares.dtype))


def concentration(dictionary: BaseDictionary, codes: Array) -> Array:
    """Sparsity concentration index of each code: 1 if one class has all the weight, 0 if all classes have the same.

    SCI = (K·max_i ‖c_i‖₁/‖c‖₁ − 1) / (K − 1)

    Parameters
    ----------
    dictionary : Dictionary
        Gives the classes of the atoms.
    codes : array or CSR array of shape (n_queries, n_atoms)
        Columns sorted by class.
    """
    n_classes, xp = dictionary.n_classes, dictionary.xp
    weights = dictionary.class_sums(abs(codes))
    total = row_sums(weights)
    some = total > 0.0
    share = xp.max(weights, axis=1) / xp.where(some, total, xp.ones_like(total))
    return (n_classes * xp.where(some, share, xp.full_like(share, 1.0 / n_classes)) - 1.0) / (n_classes - 1)


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
    def learn(
        cls, decisions: Array, concentrations: Array, labels: np.ndarray, temperature: float, precision: float
    ) -> Self:
        """Learn from held-out samples."""
        decisions, concentrations = to_numpy(decisions), to_numpy(concentrations)
        right = decisions.argmax(axis=1) == labels
        features = np.column_stack([_margins(decisions, temperature), concentrations])
        if right.all() or not right.any():  # nothing to learn: the margin alone ranks the answers
            weights = np.array([0.0, 1.0, 0.0])
        else:
            model = LogisticRegression(C=10.0).fit(features, right)
            weights = np.concatenate([model.intercept_, model.coef_[0]])
        confidence = _sigmoid(weights[0] + features @ weights[1:])
        threshold, coverage = least_threshold(confidence, right, precision)
        return cls(temperature, weights, threshold, precision, coverage)

    def confidence(self, decisions: Array, concentrations: Array) -> Array:
        """Probability that the class with the largest decision value is right."""
        margins = _margins(decisions, self.temperature)
        intercept, margin, concentration = self.weights.tolist()
        return _sigmoid(intercept + margin * margins + concentration * concentrations)


def _margins(decisions: Array, temperature: float) -> Array:
    """Gap between the two largest decision values over the temperature: their log-odds, capped where certain anyway."""
    xp = namespace(decisions)
    top = xp.sort(decisions, axis=1)[:, -2:]
    return xp.clip((top[:, 1] - top[:, 0]) / temperature, None, 30.0)


def _sigmoid(values: Array) -> Array:
    """1 / (1 + exp(−v))."""
    xp = namespace(values)
    return 1.0 / (1.0 + xp.exp(xp.clip(-values, None, 700.0 if values.dtype == xp.float64 else 80.0)))


def least_threshold(confidence: np.ndarray, right: np.ndarray, precision: float) -> tuple[float, float]:
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
