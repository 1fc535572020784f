"""The third axis: the set that a code must lie in. A set describes its codes and projects on itself.

A new set is a subclass of `Set`, passed as an object wherever ``constraint`` takes a name. Solvers, classifiers and
the certificate read its attributes, never its name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import ceil
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from ancr._core import arrays
from ancr._core.arrays import Array, concat, dense, is_non_numpy, is_single, map_rows, namespace, row_dots, row_sums
from ancr._core.axis import AxisObject
from ancr._core.messages import naming

# Codes, one per row: an array of any library, or CSR.
Codes = Any
# Newton steps, or halvings, after which the last digit of a projection's level is found.
_MOST_STEPS = 100


def project_simplex(points: Any, radius: float = 1.0) -> Array:
    """Euclidean projection of each row on the simplex {c ≥ 0, Σc = radius}.

    The projection is max(v − θ, 0) for the unique θ that makes the sum right. θ is found by Newton's iteration on
    Σ max(v − θ, 0) = radius (Huang et al., 2015), a few vectorised passes over each row.

    Parameters
    ----------
    points : array-like of shape (n_rows, n) or (n,)
        Points to project, an array of any library. float32 stays float32.
    radius : float, default=1.0
        Sum of each projected row, > 0, within the range of the points' precision.

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
    with naming("points"):
        points = _check_points(points)
    radius = _check_radius(radius, points.dtype)
    if points.ndim not in (1, 2) or points.shape[-1] == 0:
        raise ValueError(f"points must be one row or rows of at least one number, got shape {tuple(points.shape)}")
    rows = points if points.ndim == 2 else points[None, :]
    if not rows.shape[0]:
        return points
    parts = map_rows(lambda block: _project_at_any_scale(rows[block, :], radius), rows, rows.shape[1] * 40)
    return namespace(points).reshape(concat(parts), tuple(points.shape))


def _project_at_any_scale(rows: Array, radius: float) -> Array:
    """The projection of (v − max v)/radius on the unit simplex, times the radius: nothing overflows or cancels.

    Entries more than the radius below the largest become zero, however far below they are.
    """
    xp = namespace(rows)
    with np.errstate(over="ignore"):
        below = rows - xp.max(rows, axis=1, keepdims=True)
        below /= radius
    projected = arrays.project_simplex(xp.clip(below, -1.0, None))
    projected *= radius
    return projected


def _check_radius(radius: Any, dtype: Any) -> float:
    """The radius as a float; raises if it is not a positive number that the points' precision can hold."""
    with naming("radius"):
        value = float(radius) if isinstance(radius, Real) or getattr(radius, "ndim", None) == 0 else float("nan")
    bounds = np.finfo(np.float32 if is_single(dtype) else np.float64)
    if not float(bounds.tiny) <= value <= float(bounds.max):
        raise ValueError(f"radius must be a positive finite number within the range of {dtype}, got {radius!r}")
    return value


def _check_points(points: Any) -> Array:
    if is_non_numpy(points):
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


class Set(AxisObject, ABC):
    """A convex set that codes must lie in.

    Attributes
    ----------
    name : str
        Name used in messages.
    sums_to_one : bool
        Whether the entries of each code sum to one.
    nonnegative : bool
        Whether no entry is negative.
    plain : bool
        Whether these two attributes describe the set completely. Solvers for the four plain sets rely on it.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr import RepresentationClassifier
    >>> from ancr.axes.sets import Set
    >>> from ancr.solvers import ADMM
    >>> class Box(Set):
    ...     name, nonnegative = "box", True
    ...     def project(self, points: Array) -> Array:
    ...         return np.clip(points, 0.0, 0.2)
    >>> clf = RepresentationClassifier(constraint=Box(), solver=ADMM(max_iter=50))
    >>> X = np.array([[1.0, 0.1], [0.9, 0.2], [0.1, 1.0], [0.2, 0.9]])
    >>> clf.fit(X, [0, 0, 1, 1]).predict([[1.0, 0.0], [0.0, 1.0]])
    array([0, 1])
    """

    name: ClassVar[str] = "a set"
    sums_to_one: ClassVar[bool] = False
    nonnegative: ClassVar[bool] = False
    plain: ClassVar[bool] = False

    @property
    def highest(self) -> float:
        """The most that an entry may be, where this and the two attributes describe the set; infinity otherwise."""
        return float("inf")

    @property
    def fewest_atoms(self) -> int:
        """The fewest atoms that a code can be made of."""
        return int(self.sums_to_one)

    @property
    def has_inequalities(self) -> bool:
        """Whether codes can lie on a boundary of the set; if not, they are an affine function of the query."""
        return self.nonnegative or not self.plain

    @abstractmethod
    def project(self, points: Array) -> Array:
        """The nearest point of the set, for each row."""

    def violation(self, codes: Codes) -> Array:
        """Distance from feasibility in the most violated constraint, for each row.

        The two attributes say it for a plain set; for any other it is the largest entry of c less its projection.
        """
        sums = row_sums(codes)
        xp = namespace(sums)
        if not self.plain:
            codes = dense(codes)
            return xp.max(xp.abs(codes - self.project(codes)), axis=1)
        worst = xp.abs(sums - 1.0) if self.sums_to_one else xp.zeros_like(sums)
        if self.nonnegative:
            lowest = codes.min(axis=1).toarray().ravel() if sparse.issparse(codes) else xp.min(codes, axis=1)
            worst = xp.maximum(worst, -lowest)
        return worst

    def repaired(self, codes: Codes) -> Codes:
        """Codes that lie in the set up to rounding, moved into it: what the gap of a certificate speaks of.

        For a custom set that is their projection.
        """
        return self.project(dense(codes))

    def support(self, pull: Array) -> Array:
        """max of pᵀv over the points v of the set, for each row p: the certificate of a custom set rests on it.

        Infinite where there is no maximum, and by default, which certifies nothing.
        """
        return namespace(pull).full_like(pull[:, 0], float("inf"))


class Free(Set):
    """No constraint: CRC, ProCRC, CCRC."""

    name = "free"
    plain = True

    def project(self, points: Array) -> Array:
        """Return the points themselves."""
        return points

    def repaired(self, codes: Codes) -> Codes:
        """Return the codes themselves, sparse ones, too."""
        return codes


class Affine(Set):
    """Σc = 1: ACR."""

    name = "affine"
    sums_to_one = plain = True

    def project(self, points: Array) -> Array:
        """Shift each row so that it sums to one."""
        return points + ((1.0 - row_sums(points)) / points.shape[1])[:, None]

    def repaired(self, codes: Codes) -> Codes:
        """Shift each row so that it sums to one."""
        return self.project(codes)


class NonNegative(Set):
    """c ≥ 0: NRC, NCR."""

    name = "nonnegative"
    nonnegative = plain = True

    def project(self, points: Array) -> Array:
        """Clip at zero."""
        return namespace(points).clip(points, 0.0, None)

    def repaired(self, codes: Codes) -> Codes:
        """Clip at zero."""
        return codes.maximum(0.0) if sparse.issparse(codes) else self.project(codes)


class Simplex(Set):
    """c ≥ 0 and Σc = 1: ANCR."""

    name = "simplex"
    sums_to_one = nonnegative = plain = True

    def project(self, points: Array) -> Array:
        """Row-wise `project_simplex`, for input that is already validated."""
        return arrays.project_simplex(points)

    def repaired(self, codes: Codes) -> Codes:
        """Clip at zero, and divide each row by its sum, where that is nearly one."""
        codes = codes.maximum(0.0) if sparse.issparse(codes) else namespace(codes).clip(codes, 0.0, None)
        sums = row_sums(codes)
        xp = namespace(sums)
        share = xp.where(xp.abs(sums - 1.0) < 1e-3, 1.0 / xp.where(sums > 0.0, sums, 1.0), 1.0)[:, None]
        return codes.multiply(share).tocsr() if sparse.issparse(codes) else codes * share

    def support(self, pull: Array) -> Array:
        """max p: the best point of a simplex is one of its corners."""
        return namespace(pull).max(pull, axis=1)


class CappedSimplex(Set):
    """0 ≤ c ≤ cap and Σc = 1: no atom has more than its share of the weight.

    Parameters
    ----------
    cap : float, default=0.5
        The most that an entry may be, > 0. With n atoms it must be at least 1/n; from 1 on it is the simplex.

    Examples
    --------
    >>> from ancr import CappedSimplex, solve
    >>> atoms = [[0.0], [1.0], [3.0], [4.0]]
    >>> solve(atoms, [[0.5]], alpha=1e-3, constraint=CappedSimplex(0.4)).toarray().round(3)
    array([[0.4, 0.4, 0.2, 0. ]])
    """

    name = "capped_simplex"
    sums_to_one = nonnegative = True

    def __init__(self, cap: float = 0.5) -> None:
        self.cap = cap

    @property
    def highest(self) -> float:
        """The cap; a sum of one allows no entry above one."""
        if not (isinstance(self.cap, Real) and self.cap > 0.0):
            raise ValueError(f"the cap of CappedSimplex must be a number above 0, got {self.cap!r}")
        return min(float(self.cap), 1.0)

    @property
    def fewest_atoms(self) -> int:
        """1/cap, rounded up; n atoms at a cap of 1/n sum to one up to the rounding of the cap."""
        return ceil(1.0 / self.highest * (1.0 - 1e-12))

    def project(self, points: Array) -> Array:
        """clip(v − θ, 0, cap), with θ between v_k − cap and v_k for the k = ⌈1/cap⌉ largest entries v_1 ≥ v_2 ≥ …

        The sum falls as θ grows: from at least k·cap ≥ 1 to at most (k − 1)·cap < 1. Measured from v_k, all that
        matters is within a cap of zero, so that points of any size keep their digits.
        """
        xp, cap = namespace(points), self.highest
        last = min(self.fewest_atoms, points.shape[1]) - 1
        rows = xp.clip(points - xp.sort(points, axis=1, descending=True)[:, last : last + 1], -cap, cap)
        low, high = xp.full_like(rows[:, :1], -cap), xp.zeros_like(rows[:, :1])
        level, rounding = low, 2.0 * float(xp.finfo(rows.dtype).eps)
        for number in range(_MOST_STEPS):
            shares = xp.clip(rows - level, 0.0, cap)
            excess = xp.sum(shares, axis=1, keepdims=True) - 1.0
            if bool(xp.all(xp.abs(excess) <= rounding)):
                break
            low, high = xp.where(excess >= 0.0, level, low), xp.where(excess <= 0.0, level, high)
            between = xp.sum(xp.astype((shares > 0.0) & (shares < cap), rows.dtype), axis=1, keepdims=True)
            newton, middle = level + excess / xp.clip(between, 1.0, None), (low + high) / 2.0
            inside = (newton >= low) & (newton <= high) & (number % 2 == 0)
            level = xp.where(inside, newton, middle)
        return xp.clip(rows - level, 0.0, cap)

    def violation(self, codes: Codes) -> Array:
        """The largest of what is missing to the sum, below zero and above the cap."""
        sums = row_sums(codes)
        xp = namespace(sums)
        if sparse.issparse(codes):
            least, most = codes.min(axis=1).toarray().ravel(), codes.max(axis=1).toarray().ravel()
        else:
            least, most = xp.min(codes, axis=1), xp.max(codes, axis=1)
        return xp.maximum(xp.abs(sums - 1.0), xp.maximum(-least, most - self.highest))

    def repaired(self, codes: Codes) -> Codes:
        """The nearest point of the set over the same atoms, where the code is nearly there."""
        codes = dense(codes)
        xp, near = namespace(codes), self.violation(codes) < 1e-3
        used = xp.where(codes > 0.0, codes, xp.full_like(codes, -2.0))
        return xp.where(near[:, None], self.project(used), codes)

    def support(self, pull: Array) -> Array:
        """max pᵀv: as much as the cap allows on the largest entries."""
        xp, cap = namespace(pull), self.highest
        before = cap * xp.cumulative_sum(xp.ones_like(pull), axis=1) - cap  # used up by larger entries
        return row_dots(xp.sort(pull, axis=1, descending=True), xp.clip(1.0 - before, 0.0, cap))


SETS: dict[str, Set] = {kind.name: kind() for kind in (Free, Affine, NonNegative, Simplex, CappedSimplex)}


def asks_for_unit_sum(constraint: str | Set) -> bool:
    """Whether a set, by name or as an object, asks for Σc = 1; False for anything else, which validation reports."""
    known = SETS.get(constraint) if isinstance(constraint, str) else constraint
    return getattr(known, "sums_to_one", False)


def named_set(constraint: str | Set) -> Set:
    """The set with this name; a set is returned unchanged."""
    if isinstance(constraint, str) and constraint not in SETS:
        raise ValueError(f"constraint must be one of {sorted(SETS)} or a Set, got {constraint!r}")
    return SETS[constraint] if isinstance(constraint, str) else constraint
