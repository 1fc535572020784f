"""The leaves for arrays of any other library, in the operations of the array API standard.

Same names as `ancr._leaves_numpy`, but for `nearest_class`. Everything runs on all rows at once, which is what an
accelerator wants.
"""

from functools import partial

import numpy as np
from sklearn import get_config

from ancr._arrays import device, like, namespace, to_numpy


def map_rows(work, rows, row_bytes=0, block_rows=None):
    """``[work(block) …]`` over slices that cover the rows, each as large as ``working_memory`` allows."""
    n_rows = rows.shape[0]
    most = max(1, int(get_config()["working_memory"] * 2**20 // max(1, row_bytes)))
    size = -(-n_rows // -(-n_rows // most))  # all blocks alike
    return [work(slice(start, min(start + size, n_rows))) for start in range(0, n_rows, size)]


def unit_rows(rows, copy=True):
    """Rows scaled to unit ℓ2 norm; all-zero rows stay zero. Always a copy: arrays may be immutable."""
    xp = namespace(rows)
    norms = xp.sqrt(row_dots(rows, rows))[:, None]
    return rows / xp.where(norms > 0.0, norms, xp.ones_like(norms))


def row_dots(left, right):
    """Inner product of every row of ``left`` with its row of ``right``."""
    return namespace(left).vecdot(left, right, axis=-1)


def simplex_threshold(points, radius=1.0):
    """θ of every row such that Σ max(point − θ, 0) = radius, by Newton's iteration from below.

    Each step averages the entries above the present threshold; they only become fewer. The loop ends when no row's set
    has changed, which is one look from the host a step.
    """
    xp = namespace(points)
    largest = xp.max(points, axis=1, keepdims=True)
    below = points - largest  # sums relative to the largest entry stay accurate however far from zero it lies
    total = xp.sum(below, axis=1, keepdims=True)
    # Both are lower bounds of θ: no entry of the projection exceeds the radius.
    threshold = xp.clip((total - radius) / points.shape[1], -radius, None)
    count = None
    while True:
        above = below > threshold
        kept = xp.sum(xp.astype(above, points.dtype), axis=1, keepdims=True)
        if count is not None and not bool(xp.any(kept != count)):
            return (largest + threshold)[:, 0]
        total = xp.sum(xp.where(above, below, xp.zeros_like(below)), axis=1, keepdims=True)
        count, threshold = kept, (total - radius) / xp.clip(kept, 1.0, None)


def positive_part(points):
    """max(points, 0)."""
    return namespace(points).clip(points, 0.0, None)


def project_simplex(points, radius=1.0):
    """Every row projected on the simplex of this radius."""
    xp = namespace(points)
    projected = positive_part(points - simplex_threshold(points, radius)[:, None])
    total = xp.sum(projected, axis=1, keepdims=True)
    # Where the radius is below the precision of the entries all of it goes to the largest.
    top = xp.astype(points >= xp.max(points, axis=1, keepdims=True), points.dtype)
    projected = xp.where(total > 0.0, projected, top)
    return projected * (radius / xp.sum(projected, axis=1, keepdims=True))


def admm_step(on_simplex, push, fresh, shifted, threshold, previous=None):
    """End of a c-step, then the z- and δ-steps of Algorithm 1; `ancr.solvers.admm` derives them.

    Returns (codes, shifted, threshold, change) as `ancr._kernels.admm_step` leaves them; without the ``previous`` codes
    there is no change to tell.
    """
    xp = namespace(fresh)
    z_previous = positive_part(shifted - threshold[:, None])
    codes = fresh + push * (z_previous - 0.5 * shifted) if push else fresh
    shifted = codes + shifted - z_previous
    threshold = simplex_threshold(shifted) if on_simplex else xp.zeros_like(threshold)
    if previous is None:
        return codes, shifted, threshold, None
    z = positive_part(shifted - threshold[:, None])
    change = xp.zeros_like(threshold)
    for apart in (codes - previous, z - z_previous, z - codes):
        change = xp.maximum(change, row_dots(apart, apart))
    return codes, shifted, threshold, xp.sqrt(change)


def image_of_positive(shifted, threshold, atoms):
    """Xz for z = max(shifted − threshold, 0)."""
    return positive_part(shifted - threshold[:, None]) @ atoms


def class_sums(dictionary, values):
    """Sum over the atoms of every class: (n_queries, n_classes), as one product with the classes' indicator."""
    return values @ dictionary.indicator


def class_dots(dictionary, left, right):
    """left_iᵀright_i of every class i."""
    return class_sums(dictionary, left * right)


def class_forms(dictionary, codes):
    """c_iᵀ(X_iᵀX_i)c_i of every class i."""
    pairs = zip(dictionary.blocks, dictionary.block_grams, strict=True)
    images = namespace(codes).concat([codes[:, block] @ gram for block, gram in pairs], axis=1)
    return class_dots(dictionary, codes, images)


def largest(values, k):
    """The k largest entries of every row and their columns, in any order."""
    xp = namespace(values)
    if hasattr(xp, "topk"):  # beyond the standard, and far quicker than a sort
        return tuple(xp.topk(values, k, dim=1, sorted=False))
    arrange = xp.argpartition if hasattr(xp, "argpartition") else xp.argsort
    columns = (arrange(values, -k, axis=1) if arrange is not xp.argsort else arrange(values, axis=1))[:, -k:]
    return gather(values, columns), columns


def gather(values, columns):
    """``values[i, columns[i, j]]``."""
    return namespace(values).take_along_axis(values, columns, axis=1)


def put(values, columns, entries):
    """``values`` with ``values[i, columns[i, j]] = entries[i, j]``, in place where the library can."""
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


def psd_solver(matrix, ridge=0.0):
    """Factor a positive semi-definite float64 matrix and return the function that solves with it.

    As `ancr.solvers._factor.psd_solver`: directly where the ridge keeps the matrix well conditioned, through the
    eigenvalues otherwise.
    """
    if _well_conditioned(matrix, ridge):
        return partial(namespace(matrix).linalg.solve, matrix)
    return _through_eigenvalues(matrix, ridge)


def psd_inverse(matrix, ridge):
    """Inverse of a positive definite matrix that holds ``ridge`` times the identity."""
    xp = namespace(matrix)
    identity = xp.eye(matrix.shape[0], dtype=matrix.dtype, device=device(matrix))
    if not _well_conditioned(matrix, ridge):
        return _through_eigenvalues(matrix, ridge)(identity)
    factor = xp.linalg.cholesky(matrix)
    if hasattr(xp, "cholesky_inverse"):  # beyond the standard, and half the work
        return xp.cholesky_inverse(factor)
    half = xp.linalg.solve(factor, identity)
    return half.T @ half


def _well_conditioned(matrix, ridge):
    """Whether the ridge, a lower bound of all eigenvalues, lies safely above the rounding of the largest."""
    xp = namespace(matrix)
    largest = xp.max(xp.sum(xp.abs(matrix), axis=1))
    return ridge > matrix.shape[0] * xp.finfo(matrix.dtype).eps * float(largest)


def _through_eigenvalues(matrix, ridge):
    xp = namespace(matrix)
    values, vectors = xp.linalg.eigh(matrix)
    if ridge:
        inverse = 1.0 / xp.clip(values, float(ridge), None)
    else:
        least = xp.clip(values[-1], 0.0, None) * (matrix.shape[0] * float(xp.finfo(matrix.dtype).eps))
        kept = values > least
        inverse = xp.where(kept, 1.0 / xp.where(kept, values, xp.ones_like(values)), xp.zeros_like(values))

    def solve(right):
        image = vectors.T @ right
        return vectors @ (inverse[:, None] * image if right.ndim == 2 else inverse * image)

    return solve
