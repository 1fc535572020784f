"""How far claimed confidences held on labels that were left out, and which guesses may be offered for acceptance."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ancr.selection.calibration import Look, looks_at

# Labels of each class before guesses are ticked, and how sure a guess must then be.
LEAST_PER_CLASS, LEAST_SURE = 5, 0.95


@dataclass(frozen=True)
class Claims:
    """What answers to samples that were left out say of other answers as sure.

    Attributes
    ----------
    looks : tuple of Look
        Sets of the surest answers, each with an interval of its share of right ones; all hold at once.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.studio.claims import Claims
    >>> few = Claims.of(np.full(6, 0.99), np.ones(6, bool))
    >>> many = Claims.of(np.full(200, 0.99), np.ones(200, bool))
    >>> few.capped(np.array([0.999])).round(2), many.capped(np.array([0.999])).round(3)
    (array([0.54]), array([0.975]))
    """

    looks: tuple[Look, ...]

    @classmethod
    def of(cls, confidence: np.ndarray, right: np.ndarray) -> "Claims":
        """Claims in any order, and which of the answers were right."""
        return cls(tuple(looks_at(confidence, right, LEAST_SURE)))

    def capped(self, confidence: np.ndarray) -> np.ndarray:
        """Confidences, none above what the answers to samples that were left out support.

        A surer answer is not less often right, so of all sets that an answer would belong to, the one that supports
        most counts.
        """
        supported = np.zeros_like(confidence)
        for look in self.looks:
            low = look.interval[0]
            supported = np.where(confidence >= look.threshold, np.maximum(supported, low), supported)
        return np.minimum(confidence, supported)


def why_nothing_is_ticked(classes: Mapping[str, int], is_checked: bool) -> str:
    """A sentence if no guess may be ticked yet; empty if guesses may be."""
    few = [f"{label} has {count}" for label, count in classes.items() if count < LEAST_PER_CLASS]
    if few:
        rest = f", and {len(few) - 3} more" if len(few) > 3 else ""
        return f"Nothing is ticked before each class has {LEAST_PER_CLASS} labels: {', '.join(few[:3])}{rest}."
    return "" if is_checked else "Nothing is ticked before the claims have been checked on labels that are left out."
