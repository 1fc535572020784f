"""How far an answer can be trusted, and what n held-out training samples can promise."""

from dataclasses import dataclass
from typing import NamedTuple, Self

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
        Lowest confidence, of those looked at, for which the accepted held-out samples support that share: the lower end
        of its interval is not below. Infinity where no threshold does, as with few samples.
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


class Look(NamedTuple):
    """One set of the surest held-out answers.

    Attributes
    ----------
    threshold : float
        Answers at least as sure belong to it.
    share : float
        Of all answers.
    interval : tuple of float
        Of 95 % for the share of right ones among answers at least as sure, held by all looks at once.
    """

    threshold: float
    share: float
    interval: tuple[float, float]


def looks_at(confidence: np.ndarray, right: np.ndarray, precision: float) -> list[Look]:
    """Sets of the surest answers, from all of them down to those too few to support a precision.

    Which set is used is decided by the answers, so an interval for one fixed set would be too narrow. The sizes
    n, n/2^¼, n/2^½, … depend on n and the precision alone: as many as could support it if all their answers were right.
    Given the next surest answer, those above it are independent, and so the interval of each look holds; divided among
    the looks, that of all holds at once (Bonferroni).

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.selection.calibration import looks_at
    >>> confidence = np.linspace(1.0, 0.5, 100)
    >>> [(round(look.share, 2), round(look.interval[0], 3)) for look in looks_at(confidence, confidence > 0.6, 0.9)]
    [(1.0, 0.683), (0.84, 0.861), (0.7, 0.93), (0.59, 0.918)]
    """
    order, sizes = np.argsort(-confidence, kind="stable"), _sizes(len(confidence), precision)
    ranked, counts = confidence[order], np.cumsum(right[order])
    looks = [Look(0.0, 1.0, share_interval(int(counts[-1]), len(order), len(sizes)))] if len(order) else []
    for size in sizes[1:]:
        above = int(np.searchsorted(-ranked, -ranked[size]))  # equal confidences stay together
        if above:
            interval = share_interval(int(counts[above - 1]), above, len(sizes))
            looks.append(Look(float(np.nextafter(ranked[size], np.inf)), above / len(order), interval))
    return looks


def _sizes(n: int, precision: float) -> list[int]:
    """Sizes of the sets looked at: the smallest could just support the precision, divided among as many looks."""
    sizes = [n]
    while (size := int(n * 2.0 ** (-len(sizes) / 4))) >= 1 and _low_of_all(size, len(sizes) + 1) >= precision:
        sizes.append(size)
    return sizes


def _low_of_all(n: int, looks: int) -> float:
    return share_interval(n, n, looks)[0]


def least_threshold(
    confidence: np.ndarray, right: np.ndarray, precision: float
) -> tuple[float, float, tuple[float, float]]:
    """The lowest confidence, of those looked at, above which a share ``precision`` of right answers is supported.

    Returns
    -------
    threshold : float
        Infinity where none is.
    coverage : float
        Share of the answers above it.
    interval : tuple of float
        Of the share of right ones among them.
    """
    supported = (look for look in looks_at(confidence, right, precision) if look.interval[0] >= precision)
    return next(supported, Look(np.inf, 0.0, (0.0, 1.0)))
