"""The second axis: where a code may live, with the projection on each set."""

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from ancr._arrays import concat, is_foreign, is_single, leaves, namespace


def project_simplex(points, radius=1.0):
    """Euclidean projection of every row on the simplex {c ≥ 0, Σc = radius}.

    The projection is max(v − θ, 0) for the one θ that makes the sum right. θ is found by Newton's iteration on
    Σ max(v − θ, 0) = radius (Huang et al., 2015), a few vectorised passes over each row.

    Parameters
    ----------
    points : array-like of shape (n_rows, n) or (n,)
        Points to project, an array of any library. float32 stays float32.
    radius : float, default=1.0
        Sum of each projected row, > 0.

    Returns
    -------
    array of the shape of ``points``

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
    points = _check_points(points)
    if points.ndim not in (1, 2) or points.shape[-1] == 0:
        raise ValueError(f"points must be one row or rows of at least one number, got shape {tuple(points.shape)}")
    rows = points if points.ndim == 2 else points[None, :]
    if not rows.shape[0]:
        return points
    own = leaves(points)
    parts = own.map_rows(lambda block: own.project_simplex(rows[block, :], float(radius)), rows, rows.shape[1] * 40)
    return namespace(points).reshape(concat(parts), tuple(points.shape))


def _check_points(points):
    if is_foreign(points):
        xp = namespace(points)
        if not bool(xp.all(xp.isfinite(points))):
            raise ValueError("Input points contains NaN or infinity.")
        return points if is_single(points.dtype) else xp.astype(points, xp.float64)
    return check_array(
        points,
        dtype=[np.float64, np.float32],
        ensure_2d=False,
        ensure_min_samples=0,
        ensure_min_features=0,
        input_name="points",
    )


class Free:
    """No constraint: CRC, ProCRC, CCRC."""

    name = "free"

    def project(self, points):
        """Return the points themselves."""
        return points

    def violation(self, codes):
        """Distance from feasibility in the largest entry, one number a row: always 0."""
        return 0.0 * _sums(codes)


class Affine(Free):
    """Σc = 1: ACR."""

    name = "affine"

    def project(self, points):
        """Shift every row so that it sums to one."""
        return points + ((1.0 - _sums(points)) / points.shape[1])[:, None]

    def violation(self, codes):
        """|Σc − 1| of every row."""
        return abs(_sums(codes) - 1.0)


class NonNegative(Free):
    """C ≥ 0: NRC, NCR."""

    name = "nonnegative"

    def project(self, points):
        """Clip at zero."""
        return namespace(points).clip(points, 0.0, None)

    def violation(self, codes):
        """Size of the most negative entry of every row."""
        lowest = codes.min(axis=1).toarray().ravel() if sparse.issparse(codes) else namespace(codes).min(codes, axis=1)
        return namespace(lowest).clip(-lowest, 0.0, None)


class Simplex(Free):
    """C ≥ 0 and Σc = 1: ANCR."""

    name = "simplex"

    def project(self, points):
        """Row-wise `project_simplex`, for input that is already validated."""
        return leaves(points).project_simplex(points)

    def violation(self, codes):
        """The larger of the two constraints' violations."""
        outside = Affine().violation(codes)
        return namespace(outside).maximum(outside, NonNegative().violation(codes))


def _sums(codes):
    if sparse.issparse(codes):
        return np.asarray(codes.sum(axis=1)).ravel()
    return namespace(codes).sum(codes, axis=1)


SETS = {kind.name: kind() for kind in (Free, Affine, NonNegative, Simplex)}
