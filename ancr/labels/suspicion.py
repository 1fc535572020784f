r"""How many labels are wrong, and how likely each is, from how suspicious every label would be on every sample.

Scores of given labels are a mixture (1 − π)F₀ + πF₁ of right and wrong ones. F₁ is known: it is what labels drawn at
random would score, with the class that the others suggest taken for the truth. Above the level t that seven in ten of
them reach, right labels are rare, so that π ≈ P(s > t) / P₁(s > t). A higher level would count fewer right labels as
wrong, but from fewer samples. This is exact for errors that hit every class alike; it counts too few where wrong
labels are similar to the right ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.isotonic import IsotonicRegression

# Standard errors to either side of the estimate: an interval of 95 %.
_WIDTH = 1.96
# Share of random labels that are above the level at which wrong labels are counted.
_REACHED = 0.7


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
    """How many labels are wrong, and how likely each is.

    Parameters
    ----------
    against : ndarray of shape (n_samples, n_classes)
        How suspicious each label would be on each sample: see `ancr.labels.odds` and `ancr.labels.evidence`.
    labels : ndarray of shape (n_samples,)
        Index of the given class.
    suggested : ndarray of shape (n_samples,)
        Index of the class that the other samples suggest.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.labels.odds import odds_against
    >>> from ancr.labels.suspicion import Errors
    >>> random = np.random.default_rng(0)
    >>> truth = random.integers(0, 5, 1000)
    >>> given = np.where(random.uniform(size=1000) < 0.1, (truth + 1) % 5, truth)
    >>> decisions = np.eye(5)[truth] + 0.2 * random.normal(size=(1000, 5))
    >>> errors = Errors(odds_against(decisions, 0.1), given, decisions.argmax(axis=1))
    >>> bool(errors.count.low < (given != truth).sum() < errors.count.high)
    True
    """

    def __init__(self, against: np.ndarray, labels: np.ndarray, suggested: np.ndarray) -> None:
        self.scores, self._wrong = against[np.arange(len(labels)), labels], _as_if_wrong(against, suggested)
        n = len(labels)
        level = float(np.quantile(self._wrong, 1.0 - _REACHED))
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


def _as_if_wrong(against: np.ndarray, suggested: np.ndarray) -> np.ndarray:
    """Scores of labels drawn at random, with the suggested class taken for the truth."""
    rows, n_classes = np.arange(len(suggested)), against.shape[1]
    seeds = range(min(n_classes - 1, 10))
    return np.concatenate([against[rows, random_labels(suggested, n_classes, seed)] for seed in seeds])
