"""How far claimed confidences held on labels that were left out, and which guesses may be offered for acceptance."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

# Labels of each class before guesses are ticked, and how sure a guess must then be.
LEAST_PER_CLASS, LEAST_SURE = 5, 0.95
_TAIL = 0.05


@dataclass(frozen=True)
class Claims:
    """Confidences of answers to samples that were left out, and what can be said of answers as sure.

    Attributes
    ----------
    confidence : ndarray
        The largest first.
    supported : ndarray
        Share of right answers that is certain enough among those at least as sure.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.studio.claims import Claims
    >>> few = Claims.of(np.full(6, 0.99), np.ones(6, bool))
    >>> many = Claims.of(np.full(200, 0.99), np.ones(200, bool))
    >>> few.capped(np.array([0.999])).round(2), many.capped(np.array([0.999])).round(3)
    (array([0.51]), array([0.975]))
    """

    confidence: np.ndarray
    supported: np.ndarray

    @classmethod
    def of(cls, confidence: np.ndarray, right: np.ndarray) -> "Claims":
        """Claims in any order, and which of the answers were right.

        Of the k surest answers, a share of at least p was right: p is the lower end of its interval (one-sided, 95 %,
        Clopper and Pearson). A surer answer is not less often right, so the largest p of all sets that it would belong
        to counts; n nested sets count as ⌈log₂ n⌉ looks at the same data (Bonferroni).
        """
        order, n = np.argsort(-confidence, kind="stable"), len(confidence)
        hits, looks = np.cumsum(right[order]), max(int(np.ceil(np.log2(max(n, 1)))), 1)
        misses = np.arange(1, n + 1) - hits
        low = np.where(hits > 0, betaincinv(np.maximum(hits, 1), misses + 1, _TAIL / looks), 0.0)
        return cls(confidence[order], np.maximum.accumulate(low[::-1])[::-1])

    def capped(self, confidence: np.ndarray) -> np.ndarray:
        """Confidences, none above what the answers to samples that were left out support."""
        if not len(self.confidence):
            return np.zeros_like(confidence)
        count = np.searchsorted(-self.confidence, -confidence, side="right")
        return np.minimum(confidence, self.supported[np.maximum(count, 1) - 1])


def why_nothing_is_ticked(classes: Mapping[str, int], is_checked: bool) -> str:
    """A sentence if no guess may be ticked yet; empty if guesses may be."""
    few = [f"{label} has {count}" for label, count in classes.items() if count < LEAST_PER_CLASS]
    if few:
        rest = f", and {len(few) - 3} more" if len(few) > 3 else ""
        return f"Nothing is ticked before each class has {LEAST_PER_CLASS} labels: {', '.join(few[:3])}{rest}."
    return "" if is_checked else "Nothing is ticked before the claims have been checked on labels that are left out."
