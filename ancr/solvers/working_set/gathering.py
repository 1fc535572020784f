"""Picking, gathering and scattering entries of each row, for arrays of any library."""

import numpy as np

from ancr._core.arrays import Array, concat, is_single, like, map_rows, namespace, to_numpy


def largest(values: Array, k: int) -> tuple[Array, Array]:
    """The k largest entries of each row and their columns, in any order."""
    xp = namespace(values)
    if hasattr(xp, "topk"):  # not in the standard, but far quicker than a sort
        return tuple(xp.topk(values, k, dim=1, sorted=False))
    arrange = xp.argpartition if hasattr(xp, "argpartition") else xp.argsort
    columns = (arrange(values, -k, axis=1) if arrange is not xp.argsort else arrange(values, axis=1))[:, -k:]
    return gather(values, columns), columns


def gather(values: Array, columns: Array) -> Array:
    """``values[i, columns[i, j]]``."""
    return namespace(values).take_along_axis(values, columns, axis=1)


def put(values: Array, columns: Array, entries: Array) -> Array:
    """``values`` with ``values[i, columns[i, j]] = entries[i, j]``, in place where the library allows it."""
    xp = namespace(values)
    if hasattr(values, "scatter_"):
        return values.scatter_(1, columns, entries)
    if hasattr(xp, "put_along_axis"):
        xp.put_along_axis(values, columns, entries, axis=1)
        return values
    # The standard has no scatter: this one goes through the host.
    moved = np.array(to_numpy(values))
    np.put_along_axis(moved, to_numpy(columns), to_numpy(entries), axis=1)
    return like(moved, values)


def combine(rows: Array, chosen: Array, weights: Array) -> Array:
    """``sum(weights[i, j] * rows[chosen[i, j]] for j)``, for each i."""
    xp = namespace(rows)
    if hasattr(xp, "embedding_bag"):
        # Not in the standard; it adds up the rows that count, without gathering them first.
        counts = weights != 0.0
        sizes = xp.sum(counts, axis=1)
        bags = chosen[counts], xp.cumsum(sizes, axis=0) - sizes
        return xp.embedding_bag(rows, *bags, mode=0, per_sample_weights=weights[counts])[0]
    length, width = rows.shape[1], chosen.shape[1]
    row_bytes = 3 * width * length * (4 if is_single(rows.dtype) else 8)

    def part(block: slice) -> Array:
        taken = xp.take(rows, xp.reshape(chosen[block, :], (-1,)), axis=0)
        return (weights[block, None, :] @ xp.reshape(taken, (-1, width, length)))[:, 0, :]

    return concat(map_rows(part, weights, row_bytes))
