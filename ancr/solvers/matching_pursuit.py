"""Orthogonal matching pursuit for all queries in lock-step, on arrays of any library.

`ancr.solvers.sparse_kernels.add_matching_pursuit` does the same for NumPy arrays, one query after the other, and
explains it.
"""

from __future__ import annotations

from ancr._core.arrays import Array, concat, device, in_double, map_rows, namespace
from ancr.solvers.working_set.gathering import gather, put


def matching_pursuit(gram: Array, linear: Array, weights: Array, n_nonzero: int, rounding: float) -> Array:
    """Codes with at most ``n_nonzero`` entries, one row per query.

    Parameters
    ----------
    gram : array of shape (n_atoms, n_atoms)
        Inner products of the atoms.
    linear : array of shape (n_queries, n_atoms)
        Inner products of queries and atoms.
    weights : array of shape (n_atoms,)
        Factors of the correlations that are compared where an atom is picked.
    n_nonzero : int
        Atoms to pick.
    rounding : float
        Below this share of an atom's squared norm, what is left of it is only rounding.
    """
    # The rows that each query has made orthogonal, and the one it is working on.
    row_bytes = 2 * n_nonzero * linear.shape[1] * 8
    parts = map_rows(lambda block: _picked(gram, linear[block, :], weights, n_nonzero, rounding), linear, row_bytes)
    return concat(parts)


def _picked(gram: Array, linear: Array, trust: Array, n_nonzero: int, rounding: float) -> Array:
    xp, (rows, n) = namespace(linear), linear.shape
    kind = {"dtype": xp.float64, "device": device(linear)}
    ortho, factor = xp.zeros((rows, n_nonzero, n), **kind), xp.zeros((rows, n_nonzero, n_nonzero), **kind)
    pull, diagonal = in_double(linear), in_double(xp.linalg.diagonal(gram))
    columns, ahead, went_on = [], [], []
    for count in range(n_nonzero):
        # 1. The atom whose weighted correlation with the residual is largest, made orthogonal to those picked.
        best = xp.argmax(trust * xp.abs(pull), axis=1)
        here = best[:, None]
        pulled = gather(pull, here)[:, 0]
        new = in_double(xp.take(gram, best, axis=0))
        if count:
            old = ortho[:, :count, :]
            at_best = xp.broadcast_to(here[:, None, :], (rows, count, 1))
            weights = xp.take_along_axis(old, at_best, axis=2)[:, :, 0]
            factor[:, count, :count] = weights
            new = new - (weights[:, None, :] @ old)[:, 0, :]
        # 2. A query stops when nothing is left to explain, or nothing new to explain it with.
        hardest, own = xp.abs(pulled), gather(new, here)[:, 0]
        if not count:
            first, goes_on = hardest, hardest > 0.0
        goes_on = goes_on & (hardest > rounding * first) & (own > rounding * xp.take(diagonal, best))
        pivot = xp.sqrt(xp.where(goes_on, own, xp.ones_like(own)))
        step = xp.where(goes_on, pulled / pivot, xp.zeros_like(own))
        new = xp.where(goes_on[:, None], new / pivot[:, None], xp.zeros_like(new))
        ortho[:, count, :], factor[:, count, count] = new, pivot
        pull = pull - step[:, None] * new
        pull = put(pull, here, xp.where(goes_on[:, None], xp.zeros_like(step[:, None]), gather(pull, here)))
        columns.append(best)
        ahead.append(step)
        went_on.append(goes_on)
    entries = _substituted(factor, ahead)
    # Where a query stopped, its first entry is written once more.
    picked = xp.stack([xp.where(on, column, columns[0]) for on, column in zip(went_on, columns, strict=True)], axis=1)
    entries = xp.stack([xp.where(on, entry, entries[0]) for on, entry in zip(went_on, entries, strict=True)], axis=1)
    codes = put(xp.zeros((rows, n), **kind), picked, entries)
    return xp.astype(codes, linear.dtype, copy=False)


def _substituted(factor: Array, ahead: list[Array]) -> list[Array]:
    """L⁻ᵀ times a vector, for each query: the vector as a list of its entries."""
    entries = list(ahead)
    for i in range(len(entries) - 1, -1, -1):
        entries[i] = entries[i] / factor[:, i, i]
        for k in range(i):
            entries[k] = entries[k] - entries[i] * factor[:, i, k]
    return entries
