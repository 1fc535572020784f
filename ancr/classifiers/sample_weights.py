"""Weights of samples and of classes, checked and made one number per sample."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d, compute_class_weight
from sklearn.utils.validation import _check_sample_weight

from ancr._core.arrays import to_numpy
from ancr._core.messages import naming, plain

# Weights beyond this, or below its inverse, are refused: as a factor of λ they would leave the range of numbers.
LARGEST_WEIGHT = 1e50


def weights_of_samples(sample_weight: Any, class_weight: Any, y: Any, n_samples: int) -> np.ndarray | None:
    """Weights ≥ 0 of all samples, in double precision; None where all are one.

    A class weight multiplies the weights of its samples; ``"balanced"`` is n/(K·n_k) for a class with n_k of the n
    samples that have some weight, of K classes.

    Examples
    --------
    >>> from ancr.classifiers.sample_weights import weights_of_samples
    >>> weights_of_samples(None, "balanced", ["a", "a", "a", "b"], 4).round(2).tolist()
    [0.67, 0.67, 0.67, 2.0]
    """
    if sample_weight is None and class_weight is None:
        return None
    given = None if sample_weight is None else to_numpy(sample_weight)
    with naming("sample_weight"):
        weights = _check_sample_weight(given, np.empty((n_samples, 1)), dtype=np.float64, ensure_non_negative=True)
    if class_weight is not None:
        weights = weights * _factors_of_classes(class_weight, column_or_1d(to_numpy(y)), weights > 0.0)
    _check_range(weights, "class_weight" if sample_weight is None else "sample_weight")
    return None if (weights == 1.0).all() else weights


def _factors_of_classes(class_weight: Any, labels: np.ndarray, used: np.ndarray) -> np.ndarray:
    """What a class weight multiplies the weight of each sample by."""
    if isinstance(class_weight, dict):
        for label, weight in class_weight.items():
            if not isinstance(weight, Real) or not 0.0 <= float(weight) < np.inf:
                text = f"the weight of class {plain(label)} must be finite and ≥ 0, got {plain(weight)}"
                raise ValueError(f"class_weight: {text}")
    factors, classes = np.zeros(len(labels)), np.unique(labels[used])
    each = compute_class_weight(class_weight, classes=classes, y=labels[used])
    factors[used] = each[np.searchsorted(classes, labels[used])]
    return factors


def _check_range(weights: np.ndarray, name: str) -> None:
    """Raise if all weights are zero, or if λ/w of one could leave the range of double precision."""
    used = weights[weights > 0.0]
    if not len(used):
        raise ValueError(f"{name} must be above 0 for samples of at least two classes, all are 0")
    low, high = used.min(), used.max()
    if low < 1.0 / LARGEST_WEIGHT or high > LARGEST_WEIGHT:
        limits = f"0 or between {1.0 / LARGEST_WEIGHT:g} and {LARGEST_WEIGHT:g}"
        raise ValueError(f"{name}: weights must be {limits}, got {low:g} to {high:g}")
