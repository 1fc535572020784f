"""Validation of samples and labels, for what scikit-learn's own checks do not accept."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.utils._missing import is_pandas_na, is_scalar_nan

from ancr._core.arrays import Array, is_single, namespace, to_numpy, without_gradient
from ancr._core.messages import naming


def is_checked(samples: Any, dtypes: Any) -> bool:
    """Whether samples are what scikit-learn's check would return unchanged: its own look at them takes a tenth of a ms.

    A plain array of finite numbers, one sample per row, of one of the ``dtypes`` and in C order.
    """
    plain = type(samples) is np.ndarray and samples.ndim == 2 and samples.size > 0 and samples.flags.c_contiguous
    if not (plain and samples.dtype in dtypes):
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(samples.sum()))


@contextmanager
def hinting_at_tables() -> Iterator[None]:
    """Say what takes words where samples should be numbers."""
    try:
        yield
    except ValueError as error:
        if not str(error).startswith("could not convert string to float"):
            raise
        hint = "ancr.table_pipeline() takes tables with categories, dates and texts as they are"
        raise ValueError(f"X: {error}; {hint}") from error


def check_rows(samples: Array, name: str = "X", dtype: Any = None) -> Array:
    """Validate a non-NumPy array: two axes, at least one row and one feature, all numbers finite.

    float32 stays float32 and any other real dtype becomes float64, unless ``dtype`` is given. scikit-learn's own check
    accepts non-NumPy arrays only while its ``array_api_dispatch`` is on; this one always does.
    """
    xp = namespace(samples)
    if samples.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {samples.ndim}D array instead: {name} must hold one sample per row. Reshape it "
            "with shape (-1, 1) if it has a single feature or (1, -1) if it is a single sample."
        )
    for axis, what in enumerate(("sample", "feature")):
        if not samples.shape[axis]:
            shape = tuple(samples.shape)
            raise ValueError(f"Found array with 0 {what}(s) (shape={shape}) while a minimum of 1 is required.")
    if not xp.isdtype(samples.dtype, "numeric") or xp.isdtype(samples.dtype, "complex floating"):
        raise ValueError(f"{name} must hold real numbers, got dtype {samples.dtype}")
    dtype = dtype or (samples.dtype if is_single(samples.dtype) else xp.float64)
    samples = xp.astype(without_gradient(samples), dtype, copy=False)
    if not bool(xp.all(xp.isfinite(samples))):
        raise ValueError(f"Input {name} contains NaN, infinity or a value too large for {dtype}.")
    return samples


def check_labels(labels: Any, name: str = "y") -> np.ndarray:
    """Labels, or groups, as a NumPy array with one axis; raises if one is missing or if they cannot be sorted."""
    with naming(name):
        labels = np.asarray(to_numpy(labels))
    if labels.ndim != 1 and labels.shape[1:] != (1,):
        raise ValueError(f"{name} must have one entry per sample, got shape {labels.shape}")
    labels = labels.ravel()
    missing = np.flatnonzero(_is_missing(labels))
    if len(missing):
        raise ValueError(f"{name}: the entry of sample {missing[0]} is missing; fill it in or leave the sample out")
    try:
        np.unique(labels)
    except TypeError:
        kinds = ", ".join(sorted({type(label).__name__ for label in labels}))
        raise TypeError(f"{name} must hold entries of one kind, so that they can be sorted, got {kinds}") from None
    return labels


def _is_missing(labels: np.ndarray) -> np.ndarray:
    if labels.dtype.kind == "f":
        return np.isnan(labels)
    if labels.dtype.kind != "O":
        return np.zeros(len(labels), bool)
    return np.array([label is None or is_scalar_nan(label) or is_pandas_na(label) for label in labels], bool)
