"""What is measured beside accuracy: classes that count alike, and how good stated probabilities are."""

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import balanced_accuracy_score, f1_score

_BINS, _PER_BIN = 8, 15  # bins of a calibration curve at most, and samples in one at least
_LEAST = 1e-15  # a method that excludes the truth loses much, but not everything


@dataclass(frozen=True)
class Measures:
    """One method on all samples that it was tested on.

    Attributes
    ----------
    balanced_accuracy : float
        Mean over the classes of the share of their samples that is right, in percent.
    f1 : float
        Mean over the classes of the harmonic mean of precision and recall, in percent.
    log_loss : float or None
        Mean of −log p(true class); None for a method without probabilities.
    calibration_error : float or None
        Mean distance of stated probability and accuracy in bins of equal number, in points.
    """

    balanced_accuracy: float
    f1: float
    log_loss: float | None
    calibration_error: float | None

    @classmethod
    def of(cls, truth: np.ndarray, predicted: np.ndarray, chance: np.ndarray, of_truth: np.ndarray) -> "Measures":
        """Measures of answers: true and predicted classes, and the stated probabilities of both; NaN where none is.

        Examples
        --------
        >>> import numpy as np
        >>> from ancr.comparison.measures import Measures
        >>> chance = np.full(4, 0.75)
        >>> found = Measures.of(np.array([0, 0, 0, 1]), np.array([0, 0, 0, 0]), chance, np.array([0.75] * 3 + [0.25]))
        >>> found.balanced_accuracy, round(found.log_loss, 3), found.calibration_error
        (50.0, 0.562, 0.0)
        """
        balanced = 100 * float(balanced_accuracy_score(truth, predicted))
        f1 = 100 * float(f1_score(truth, predicted, average="macro", labels=np.unique(truth), zero_division=0))
        if not np.isfinite(chance).all():
            return cls(balanced, f1, None, None)
        loss = -float(np.mean(np.log(np.clip(of_truth, _LEAST, 1.0))))
        return cls(balanced, f1, loss, calibration_error(chance, predicted == truth))


def calibration_bins(chance: np.ndarray) -> list[np.ndarray]:
    """Positions of the samples, sorted by stated probability and cut into bins of equal number."""
    return np.array_split(np.argsort(chance, kind="stable"), min(_BINS, max(1, len(chance) // _PER_BIN)))


def calibration_error(chance: np.ndarray, right: np.ndarray) -> float:
    """Mean distance of stated and found over the bins, weighted by samples, in points."""
    bins = calibration_bins(chance)
    apart = [abs(chance[part].mean() - right[part].mean()) for part in bins]
    return 100 * float(np.average(apart, weights=[len(part) for part in bins]))
