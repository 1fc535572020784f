r"""How many labels are wrong, how likely each is, and whether wrong labels repeat each other.

Scores of given labels are a mixture (1 − π)F₀ + πF₁ of right and wrong ones. F₁ is known: it is what labels drawn at
random would score, with the class that the others suggest taken for the truth. Above the level t that seven in ten of
them reach, right labels are rare, so that π ≈ P(s > t) / P₁(s > t). A higher level would count fewer right labels as
wrong, but from fewer samples. This is exact for errors that hit every class alike; it counts too few where wrong
labels are similar to the right ones. P(s > t) is k of n samples, and the upper end is that of such a share
(Clopper–Pearson): none of sixty above t does not mean that none in a thousand would be. Nor is any single label certain
to be right: their probabilities use the share (k + ½)/(n + 1), the mean of what k of n leave likely.

Where classes overlap, right labels score above t, too, and no score tells them from wrong ones. How many that may be
follows from `if_all_are_right`, as the mean of a Poisson distribution; the lower end is k less its 97.5 % quantile, the
estimate leaves nothing out.

Take two suspicious samples that look like the same class: how often do they have the same label? If labels are wrong at
random, once in K − 1 times; if a class was mistaken for one other, always. With p_i the probability that the label of
sample i is wrong, t_i the class it looks like and g_i its label, over pairs i ≠ j with t_i = t_j,

    c = Σ p_i p_j·[g_i = g_j] / Σ p_i p_j,    m² = (c − 1/(K − 1)) / (1 − 1/(K − 1)),

and m is the share of wrong labels that are systematic.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import poisson
from sklearn.isotonic import IsotonicRegression

from ancr._core.arrays import log_softmax
from ancr.labels.suspicion import random_labels
from ancr.selection.calibration import share_interval

# Share of random labels that are above the level at which wrong labels are counted.
_REACHED = 0.7
# Shares of labels that are random, of which the most likely is taken.
_RANDOM = np.linspace(0.001, 0.8, 41)[:, None]
# Temperatures are possible whose likelihood is at most this much below the best, on a logarithmic scale: 99 in 100.
_POSSIBLE = 3.32
# Where m is above this, wrong labels repeat each other.
SYSTEMATIC = 0.3


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
        An interval that holds the truth 95 times in 100, as far as errors hit every class alike. Where classes overlap,
        ``low`` leaves out as many as would be suspicious if all labels were right.
    """

    estimate: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.estimate:.0f} ({self.low:.0f} to {self.high:.0f})"

    @property
    def caution(self) -> str:
        """A sentence where all that is counted may be right labels of classes that overlap; empty elsewhere."""
        if self.low >= 0.5 or self.estimate < 0.5:
            return ""
        return "All of them may be right: where classes overlap, as many labels look wrong."


class Errors:
    """How many labels are wrong, and how likely each is.

    Parameters
    ----------
    against : ndarray of shape (n_samples, n_classes)
        How suspicious each label would be on each sample: see `ancr.labels.suspicion`.
    labels : ndarray of shape (n_samples,)
        Index of the given class.
    suggested : ndarray of shape (n_samples,)
        Index of the class that the other samples suggest.
    expected : ndarray of shape (n_samples, n_classes) or None, default=None
        How likely each label would be if all were right, see `if_all_are_right`; None where classes do not overlap.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.labels.errors import Errors
    >>> from ancr.labels.suspicion import odds_against
    >>> random = np.random.default_rng(0)
    >>> truth = random.integers(0, 5, 1000)
    >>> given = np.where(random.uniform(size=1000) < 0.1, (truth + 1) % 5, truth)
    >>> decisions = np.eye(5)[truth] + 0.2 * random.normal(size=(1000, 5))
    >>> errors = Errors(odds_against(decisions, 0.1), given, decisions.argmax(axis=1))
    >>> bool(errors.count.low < (given != truth).sum() < errors.count.high)
    True
    """

    def __init__(
        self, against: np.ndarray, labels: np.ndarray, suggested: np.ndarray, expected: np.ndarray | None = None
    ) -> None:
        self.scores, self._wrong = against[np.arange(len(labels)), labels], _as_if_wrong(against, suggested)
        n = len(labels)
        level = float(np.quantile(self._wrong, 1.0 - _REACHED))
        above, reached = int((self.scores > level).sum()), float((self._wrong > level).mean()) or 1.0
        shares = [above / n, share_interval(above, n)[1], (above + 0.5) / (n + 1.0)]
        seen, high, self.share = np.clip(np.array(shares) / reached, 0.0, 1.0).tolist()
        by_overlap = 0.0 if expected is None else float(poisson.ppf(0.975, expected[against > level].sum()))
        low = max(above - by_overlap, 0.0) / n
        self.count = ErrorCount(n * seen, n * low, n * high)

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
        """That each given label is wrong: π·f₁(s)/f(s), by an isotonic regression that tells F₁ from the scores.

        At least ½/(n + 1): a rate below that cannot be told from n labels, whatever their scores.
        """
        n, many = len(self.scores), len(self._wrong)
        values = np.concatenate([self.scores, self._wrong])
        weights = np.concatenate([np.ones(n), np.full(many, self.share * n / many)])
        origin = np.repeat([0.0, 1.0], [n, many])
        odds = IsotonicRegression(out_of_bounds="clip").fit(values, origin, sample_weight=weights).predict(self.scores)
        return np.clip(odds / np.maximum(1.0 - odds, 1e-12), 0.5 / (n + 1.0), 1.0)


def if_all_are_right(decisions: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """How likely each label of each sample can be without wrong ones: softmax(d/T).

    T is fitted in (1 − ε)·softmax(d/T) + ε/K, so that labels that are wrong at random, however far a sample is from
    their class, raise ε and not T. Where classes overlap, ε and T can hardly be told from each other, so that not the
    most likely T is taken but the largest that is possible.

    Parameters
    ----------
    decisions : ndarray of shape (n_samples, n_classes)
        Decision values of samples that were held out.
    labels : ndarray of shape (n_samples,)
        Index of the given class.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.labels.errors import if_all_are_right
    >>> labels, random = np.arange(2000) % 2, np.random.default_rng(0)
    >>> apart = np.eye(2)[labels] + 0.5 * random.normal(size=(2000, 2))
    >>> wrong = np.where(np.arange(2000) < 200, 1 - labels, labels)  # one label in ten, at random
    >>> sure = if_all_are_right(apart, wrong).max(axis=1)
    >>> bool((1 - sure).sum() < 0.7 * (apart.argmax(axis=1) != wrong).sum())  # fewer than look wrong
    True
    """
    values = decisions - decisions.max(axis=1, keepdims=True)
    margin = -float(np.sort(values, axis=1)[:, -2].mean()) or 1.0
    found = []
    for temperature in margin * np.geomspace(0.02, 5.0, 40):
        share = np.exp(log_softmax(values / temperature))
        own = share[np.arange(len(labels)), labels]
        likelihood = np.log((1.0 - _RANDOM) * own + _RANDOM / values.shape[1]).sum(axis=1).max()
        found.append((float(likelihood), float(temperature)))
    least = max(found)[0] - _POSSIBLE
    return np.exp(log_softmax(values / max(temperature for likelihood, temperature in found if likelihood >= least)))


def _as_if_wrong(against: np.ndarray, suggested: np.ndarray) -> np.ndarray:
    """Scores of labels drawn at random, with the suggested class taken for the truth."""
    rows, n_classes = np.arange(len(suggested)), against.shape[1]
    seeds = range(min(n_classes - 1, 10))
    return np.concatenate([against[rows, random_labels(suggested, n_classes, seed)] for seed in seeds])


def repetition(probability: np.ndarray, suggested: np.ndarray, labels: np.ndarray, n_classes: int) -> float:
    """m, between 0 and 1; near 1 where there is nothing suspicious to tell it from, and with two classes.

    Parameters
    ----------
    probability : ndarray of shape (n_samples,)
        That each label is wrong.
    suggested, labels : ndarray of shape (n_samples,)
        Index of the class that each sample looks like, and of the given one.
    n_classes : int
        K.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.labels.errors import repetition
    >>> looks_like = np.zeros(60, int)
    >>> scattered, repeated = np.arange(60) % 20 + 1, np.ones(60, int)
    >>> [round(repetition(np.ones(60), looks_like, given, 21), 1) for given in (scattered, repeated)]
    [0.0, 1.0]
    """
    if n_classes < 3:
        return 1.0
    counted = np.where(suggested != labels, probability, 0.0)
    sums, squares = np.zeros((n_classes, n_classes)), np.zeros((n_classes, n_classes))
    np.add.at(sums, (suggested, labels), counted)
    np.add.at(squares, (suggested, labels), counted**2)
    same = float((sums**2 - squares).sum())
    pairs = float((sums.sum(axis=1) ** 2 - squares.sum(axis=1)).sum())
    # One pair that agrees is added, so that without any there is no reason to believe in random errors.
    share, by_chance = (same + 1.0) / (pairs + 1.0), 1.0 / (n_classes - 1)
    return float(np.sqrt(max(share - by_chance, 0.0) / (1.0 - by_chance)))
