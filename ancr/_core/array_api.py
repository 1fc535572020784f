"""The operations that `ancr._core.arrays` runs on NumPy arrays as kernels, for arrays of all other libraries.

They use the array API standard and work on all rows at once, which suits an accelerator.
"""

from typing import Any, TypeAlias

# An array of any library that follows the array API standard, and the module with its functions: libraries share
# no type that a type checker knows.
Array: TypeAlias = Any
Namespace: TypeAlias = Any


def namespace(array: Array) -> Namespace:
    """The array API namespace of an array."""
    from array_api_compat import array_namespace  # importing ancr must not load it

    return array_namespace(array)


def unit_rows(rows: Array) -> Array:
    """Rows scaled to unit ℓ2 norm, at every scale; rows that are exactly zero stay zero. Always a copy."""
    xp = namespace(rows)
    largest = xp.max(xp.abs(rows), axis=1, keepdims=True)
    rows = rows / xp.where(largest > 0.0, largest, xp.ones_like(largest))  # squares neither overflow nor vanish
    norms = xp.sqrt(xp.vecdot(rows, rows, axis=-1))[:, None]
    return rows / xp.where(norms > 0.0, norms, xp.ones_like(norms))


def _simplex_threshold(points: Array, radius: float = 1.0) -> Array:
    """θ of each row such that Σ max(point − θ, 0) = radius, by Newton's iteration from below.

    Each step averages the entries above the current threshold, whose number only falls. The loop ends when no row's set
    has changed, a check that synchronises with the host once per step.
    """
    xp = namespace(points)
    largest = xp.max(points, axis=1, keepdims=True)
    below = points - largest  # sums relative to the largest entry stay accurate however far from zero it lies
    total = xp.sum(below, axis=1, keepdims=True)
    # Both are lower bounds on θ: no entry of the projection exceeds the radius.
    threshold = xp.clip((total - radius) / points.shape[1], -radius, None)
    count = xp.full_like(total, xp.inf)
    while True:
        above = below > threshold
        kept = xp.sum(xp.astype(above, points.dtype), axis=1, keepdims=True)
        falls = kept < count  # rounding may let it rise again, and so on without end
        if not bool(xp.any(falls)):
            return (largest + threshold)[:, 0]
        total = xp.sum(xp.where(above, below, xp.zeros_like(below)), axis=1, keepdims=True)
        threshold = xp.where(falls, (total - radius) / xp.clip(kept, 1.0, None), threshold)
        count = xp.where(falls, kept, count)


def project_simplex(points: Array, radius: float = 1.0) -> Array:
    """Each row projected on the simplex of this radius."""
    xp = namespace(points)
    projected = xp.clip(points - _simplex_threshold(points, radius)[:, None], 0.0, None)
    total = xp.sum(projected, axis=1, keepdims=True)
    # Where the radius is below the precision of the entries, all of it goes to the largest.
    top = xp.astype(points >= xp.max(points, axis=1, keepdims=True), points.dtype)
    projected = xp.where(total > 0.0, projected, top)
    return projected * (radius / xp.sum(projected, axis=1, keepdims=True))


def squared_distances(rows: Array, others: Array) -> Array:
    """‖x − y‖² of each row with each of the others, in double precision."""
    xp = namespace(rows)
    apart = xp.astype(rows, xp.float64)[:, None, :] - xp.astype(others, xp.float64)[None, :, :]
    return xp.vecdot(apart, apart, axis=-1)
