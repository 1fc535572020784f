"""How far an answer can be trusted, and what n held-out training samples can promise."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import betaincinv

from ancr._core.arrays import Array, like, namespace, row_squares, softmax, to_numpy
from ancr.classifiers.probabilities import Temperatures

# The probability with which an interval of a share holds it.
_LEVEL = 0.95


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


def share_interval(count: int, n: int, looks: int = 1) -> tuple[float, float]:
    """The interval of 95 % for a share of which ``count`` of ``n`` were seen (Clopper and Pearson, 1934).

    With several ``looks``, all their intervals hold at once with that probability (Bonferroni).

    Examples
    --------
    >>> from ancr.selection.calibration import share_interval
    >>> [round(end, 3) for end in share_interval(60, 60)]
    [0.94, 1.0]
    """
    tail = (1.0 - _LEVEL) / 2.0 / looks
    low = float(betaincinv(count, n - count + 1, tail)) if count else 0.0
    high = float(betaincinv(count + 1, n - count, 1.0 - tail)) if count < n else 1.0
    return low, high


@dataclass(frozen=True)
class Trust:
    """How sure an answer must be, so that held-out samples support a precision.

    Attributes
    ----------
    temperatures : Temperatures
        Turn decision values into probabilities.
    precision : float
        The share of right answers asked for.
    threshold : float
        Lowest confidence at which the accepted held-out samples support that share: the lower end of its interval is
        not below. Infinity where no threshold does, as with few samples.
    coverage : float
        Share of held-out samples that are accepted.
    interval : tuple of float
        Of 95 %, for the share of right answers among those accepted; (0, 1) where none is.
    """

    temperatures: Temperatures
    precision: float
    threshold: float
    coverage: float
    interval: tuple[float, float]

    @classmethod
    def learn(cls, decisions: Array, labels: np.ndarray, temperatures: Temperatures, precision: float) -> Self:
        """Learn from held-out samples."""
        probabilities = to_numpy(temperatures.probabilities(decisions))
        right = probabilities.argmax(axis=1) == labels
        return cls(temperatures, precision, *least_threshold(probabilities.max(axis=1), right, precision))

    def confidence(self, decisions: Array) -> Array:
        """Probability that the class with the largest decision value is right."""
        return namespace(decisions).max(self.temperatures.probabilities(decisions), axis=1)


def least_threshold(
    confidence: np.ndarray, right: np.ndarray, precision: float
) -> tuple[float, float, tuple[float, float]]:
    """The lowest confidence above which a share ``precision`` of right answers is supported.

    The threshold is chosen where the answers look good, so an interval for one fixed threshold would be too narrow. The
    accepted sets are nested; n of them count as ⌈log₂ n⌉ looks, as many as a bisection takes (Geifman and El-Yaniv:
    Selective classification for deep neural networks, 2017).

    Returns
    -------
    threshold : float
        Infinity where none is.
    coverage : float
        Share of the answers above it.
    interval : tuple of float
        Of the share of right ones among them.
    """
    order = np.argsort(-confidence, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(confidence[order]) != 0, True))  # equal confidences stay together
    counts, looks = np.cumsum(right[order]), max(int(np.ceil(np.log2(len(order)))), 1)
    for end in ends[::-1]:
        interval = share_interval(int(counts[end]), int(end) + 1, looks)
        if interval[0] >= precision:
            return float(confidence[order[end]]), float(end + 1) / len(order), interval
    return np.inf, 0.0, (0.0, 1.0)
