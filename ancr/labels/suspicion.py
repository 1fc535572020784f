r"""How suspicious a label is, from decision values of a sample that was held out, and how many labels are wrong.

**The score.** With d_k the decision value of class k and T the temperature at which softmax(d/T) predicts the given
labels best,

    s = T·log mean_{k ≠ given} exp(d_k/T) − d_given,

the log-odds against the given label, up to a constant. A wrong label lies far below *all* others, a confused one just
below the best: the mean tells them apart better than the best other class alone.

**How many.** Scores of given labels are a mixture (1 − π)F₀ + πF₁ of right and wrong ones. F₁ is known: it is what the
scores of labels drawn at random would be, with the class of largest decision value taken for the truth. Above the
median t of F₁ right labels are rare, so that π ≈ P(s > t) / P₁(s > t). This is exact for errors that hit every class
alike; it counts too few where wrong labels are similar to the right ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp
from sklearn.isotonic import IsotonicRegression

from ancr.labels.temperature import fit_temperature

# Standard errors to either side of the estimate: an interval of 95 %.
_WIDTH = 1.96


def suspicion(decisions: np.ndarray, labels: np.ndarray, temperature: float | None = None) -> np.ndarray:
    """Log-odds against the given label of each sample, larger is more suspicious; see the module.

    Parameters
    ----------
    decisions : ndarray of shape (n_samples, n_classes)
        Decision values of samples that were held out.
    labels : ndarray of shape (n_samples,)
        Index of the given class.
    temperature : float or None
        T; None means `fit_temperature`.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.labels.suspicion import suspicion
    >>> suspicion(np.array([[0.0, 1.0], [0.0, 1.0]]), np.array([1, 0]), temperature=1.0).tolist()
    [-1.0, 1.0]
    """
    scale = fit_temperature(decisions, labels)[0] if temperature is None else temperature
    rows = np.arange(len(labels))
    others = decisions / scale
    own = others[rows, labels].copy()
    others[rows, labels] = -np.inf
    return scale * (logsumexp(others, axis=1) - np.log(max(decisions.shape[1] - 1, 1)) - own)


def random_labels(labels: np.ndarray, n_classes: int, seed: int = 0) -> np.ndarray:
    """For each label another one, drawn at random."""
    return (labels + np.random.default_rng(seed).integers(1, n_classes, len(labels))) % n_classes


def _at_least(ordered: np.ndarray, values: np.ndarray) -> np.ndarray:
    """How many of the ordered numbers are at least as large, for each value."""
    return len(ordered) - np.searchsorted(ordered, values, side="left")


@dataclass(frozen=True)
class ErrorCount:
    """An estimate of how many labels are wrong.

    Attributes
    ----------
    estimate : float
        How many.
    low, high : float
        An interval that holds the truth 95 times in 100, as far as errors hit every class alike.
    """

    estimate: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.estimate:.0f} ({self.low:.0f} to {self.high:.0f})"


class Errors:
    """How many labels are wrong, and how likely each is, from held-out decision values.

    Parameters
    ----------
    decisions : ndarray of shape (n_samples, n_classes)
        Decision values.
    labels : ndarray of shape (n_samples,)
        Index of the given class.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.labels.suspicion import Errors
    >>> random = np.random.default_rng(0)
    >>> truth = random.integers(0, 5, 1000)
    >>> given = np.where(random.uniform(size=1000) < 0.1, (truth + 1) % 5, truth)
    >>> errors = Errors(np.eye(5)[truth] + 0.2 * random.normal(size=(1000, 5)), given)
    >>> bool(errors.count.low < (given != truth).sum() < errors.count.high)
    True
    """

    def __init__(self, decisions: np.ndarray, labels: np.ndarray) -> None:
        scale = fit_temperature(decisions, labels)[0]
        self.scores, self._wrong = suspicion(decisions, labels, scale), _as_if_wrong(decisions, scale)
        n = len(labels)
        level = float(np.median(self._wrong))
        above, reached = float((self.scores > level).mean()), float((self._wrong > level).mean()) or 1.0
        spread = _WIDTH * np.sqrt(max(above * (1.0 - above), 1.0 / n) / n)
        self.share, low, high = np.clip(np.array([above, above - spread, above + spread]) / reached, 0.0, 1.0)
        self.count = ErrorCount(float(n * self.share), float(n * low), float(n * high))

    def precision(self) -> np.ndarray:
        """For each sample, the share of wrong labels among those at least as suspicious: π·P₁/P above its score."""
        n, wrong = len(self.scores), np.sort(self._wrong)
        found = self.share * n * _at_least(wrong, self.scores) / len(wrong)
        share = np.minimum(found / _at_least(np.sort(self.scores), self.scores), 1.0)
        order = np.argsort(self.scores)
        result = np.empty(n)  # it cannot fall as scores rise
        result[order] = np.maximum.accumulate(share[order])
        return result

    def probability(self) -> np.ndarray:
        """That each given label is wrong: π·f₁(s)/f(s), by an isotonic regression that tells F₁ from the scores."""
        n, many = len(self.scores), len(self._wrong)
        values = np.concatenate([self.scores, self._wrong])
        weights = np.concatenate([np.ones(n), np.full(many, max(self.share, 1e-12) * n / many)])
        origin = np.repeat([0.0, 1.0], [n, many])
        odds = IsotonicRegression(out_of_bounds="clip").fit(values, origin, sample_weight=weights).predict(self.scores)
        return np.clip(odds / np.maximum(1.0 - odds, 1e-12), 0.0, 1.0)


def _as_if_wrong(decisions: np.ndarray, scale: float) -> np.ndarray:
    """Scores of labels drawn at random, with the class of largest decision value taken for the truth."""
    top, rounds = decisions.argmax(axis=1), min(decisions.shape[1] - 1, 10)
    drawn = [random_labels(top, decisions.shape[1], seed) for seed in range(rounds)]
    return np.concatenate([suspicion(decisions, labels, scale) for labels in drawn])
