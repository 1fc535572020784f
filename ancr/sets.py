"""The second axis: where a code may live, with the projection on each set."""

import numpy as np
from sklearn.utils import check_array

from ancr._parallel import map_blocks


def project_simplex(points, radius=1.0):
    """Euclidean projection of every row on the simplex {c ≥ 0, Σc = radius}.

    The projection is max(v − θ, 0) for the one θ that makes the sum right. θ is found by Newton's iteration on
    Σ max(v − θ, 0) = radius (Huang et al., 2015), a few vectorised passes over each row.

    Parameters
    ----------
    points : array-like of shape (n_rows, n) or (n,)
        Points to project. float32 stays float32.
    radius : float, default=1.0
        Sum of each projected row, > 0.

    Returns
    -------
    ndarray of the shape of ``points``

    Examples
    --------
    >>> from ancr import project_simplex
    >>> project_simplex([[0.25, 0.75], [2.0, 0.0], [1.0, 1.0]])
    array([[0.25, 0.75],
           [1.  , 0.  ],
           [0.5 , 0.5 ]])
    """
    if not radius > 0 or not np.isfinite(radius):
        raise ValueError(f"radius must be a positive finite number, got {radius!r}")
    points = check_array(
        points,
        dtype=[np.float64, np.float32],
        ensure_2d=False,
        ensure_min_samples=0,
        ensure_min_features=0,
        input_name="points",
    )
    if points.ndim not in (1, 2) or points.shape[-1] == 0:
        raise ValueError(f"points must be one row or rows of at least one number, got shape {points.shape}")
    rows = np.ascontiguousarray(np.atleast_2d(points))
    out = np.empty_like(rows)
    map_blocks(lambda block: _project_into(out[block], rows[block], float(radius)), len(rows))
    return out.reshape(points.shape)


def _project_into(out, rows, radius=1.0):
    from ancr._kernels import project_simplex_rows

    project_simplex_rows(rows, radius, out)
    return out


class Free:
    """No constraint: CRC, ProCRC, CCRC."""

    name = "free"

    def project(self, points):
        """Return the points themselves."""
        return points

    def violation(self, codes):
        """Distance from feasibility in the largest entry, one number a row: always 0."""
        return np.zeros(codes.shape[0])


class Affine(Free):
    """Σc = 1: ACR."""

    name = "affine"

    def project(self, points):
        """Shift every row so that it sums to one."""
        return points + (1.0 - points.sum(axis=1, keepdims=True)) / points.shape[1]

    def violation(self, codes):
        """|Σc − 1| of every row."""
        return np.abs(np.asarray(codes.sum(axis=1)).ravel() - 1.0)


class NonNegative(Free):
    """C ≥ 0: NRC, NCR."""

    name = "nonnegative"

    def project(self, points):
        """Clip at zero."""
        return np.maximum(points, 0.0)

    def violation(self, codes):
        """Size of the most negative entry of every row."""
        lowest = codes.min(axis=1)
        lowest = lowest.toarray().ravel() if hasattr(lowest, "toarray") else lowest
        return np.maximum(-lowest, 0.0)


class Simplex(Free):
    """C ≥ 0 and Σc = 1: ANCR."""

    name = "simplex"

    def project(self, points):
        """Row-wise `project_simplex`, for input that is already validated."""
        points = np.ascontiguousarray(points)
        return _project_into(np.empty_like(points), points)

    def violation(self, codes):
        """The larger of the two constraints' violations."""
        return np.maximum(Affine().violation(codes), NonNegative().violation(codes))


SETS = {kind.name: kind() for kind in (Free, Affine, NonNegative, Simplex)}
