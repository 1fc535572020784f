"""Columns of a table that differ so much in scale that one dominates."""

import warnings
from typing import Any

import numpy as np

from ancr._core.arrays import Array, namespace, to_numpy

# A column this many times as large as the typical one dominates: it has 10⁴ times the weight in ‖y − Xc‖².
_ORDERS_OF_MAGNITUDE = 100.0


def dominant_column(samples: Array) -> int | None:
    """The largest column, if it is a hundred times as large as the typical one; otherwise None.

    Columns are measured by their largest absolute value. Constant columns do not count, and nor do samples that are
    mostly zeros, such as word counts, whose columns differ by nature.
    """
    low, high = _ends(samples)
    sizes = np.maximum(np.abs(low), np.abs(high))
    varying = np.sort(sizes[high > low])
    # The lower of two middle values, so that two columns can differ.
    if not len(varying) or varying[-1] / _ORDERS_OF_MAGNITUDE <= varying[(len(varying) - 1) // 2]:
        return None
    xp = namespace(samples)
    if 2 * int(xp.count_nonzero(samples)) < samples.shape[0] * samples.shape[1]:
        return None
    return int(np.argmax(np.where(high > low, sizes, 0.0)))


def warn_of_dominant_column(samples: Array, estimator: Any) -> None:
    """One `UserWarning` to the caller of ``estimator.fit`` if a column dominates."""
    column = dominant_column(samples)
    if column is None:
        return
    names = getattr(estimator, "feature_names_in_", None)
    which = column if names is None else f"{names[column]!r}"
    warnings.warn(
        f"the columns of X differ in scale by orders of magnitude, and column {which} dominates. If they have "
        f"different units, scale them: make_pipeline(StandardScaler(), {type(estimator).__name__}(...))",
        UserWarning,
        stacklevel=3,
    )


def _ends(samples: Array) -> tuple[np.ndarray, np.ndarray]:
    xp = namespace(samples)
    return to_numpy(xp.min(samples, axis=0)), to_numpy(xp.max(samples, axis=0))
