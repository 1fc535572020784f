"""The leaves for NumPy arrays: numba kernels and LAPACK. `ancr._leaves_array` has the same names for all others."""

import numpy as np

from ancr._parallel import BLOCK_ROWS, map_blocks, read_only
from ancr.solvers._factor import psd_inverse, psd_solver

__all__ = [
    "admm_step", "class_dots", "class_forms", "class_sums", "image_of_positive", "map_rows", "nearest_class",
    "project_simplex", "psd_inverse", "psd_solver", "row_dots", "unit_rows",
]  # fmt: skip

# Samples a class, on average, from which a matrix product a class is quicker than a loop.
_LARGE_CLASS = 8


def map_rows(work, rows, row_bytes=0, block_rows=BLOCK_ROWS):
    """``[work(block) …]`` over slices that cover the rows: small blocks, one a thread."""
    return map_blocks(work, len(rows), row_bytes, block_rows)


def unit_rows(rows, copy=True):
    """Rows scaled to unit ℓ2 norm; those that `sklearn.preprocessing.normalize` takes for zero stay as they are.

    Without ``copy``, in place.
    """
    norms = np.sqrt(row_dots(rows, rows))
    norms[norms < 10 * np.finfo(norms.dtype).eps] = 1.0
    return np.divide(rows, norms[:, None], out=None if copy else rows)


def row_dots(left, right):
    """Inner product of every row of ``left`` with its row of ``right``."""
    return np.einsum("ij,ij->i", left, right)


def project_simplex(points, radius=1.0):
    """Every row projected on the simplex of this radius."""
    from ancr._kernels import project_simplex_rows

    points = np.ascontiguousarray(points)
    out = np.empty_like(points)
    project_simplex_rows(points, radius, out)
    return out


def admm_step(on_simplex, push, fresh, shifted, threshold, previous=None):
    """`ancr._kernels.admm_step`, which works in place; returns (codes, shifted, threshold, change).

    Without the ``previous`` codes there is no change to tell.
    """
    from ancr import _kernels

    change = np.empty(0 if previous is None else len(fresh), fresh.dtype)
    _kernels.admm_step(on_simplex, push, fresh, shifted, threshold, fresh if previous is None else previous, change)
    return fresh, shifted, threshold, None if previous is None else change


def image_of_positive(shifted, threshold, atoms):
    """Xz for z = max(shifted − threshold, 0), skipping the zeros of z where most are."""
    from ancr._kernels import sparse_image

    if 4 * np.count_nonzero(shifted > threshold[:, None]) > shifted.size:
        return np.maximum(shifted - threshold[:, None], 0.0) @ atoms
    image = np.empty((len(shifted), atoms.shape[1]), atoms.dtype)
    sparse_image(shifted, threshold, read_only(atoms), image)
    return image


def class_sums(dictionary, values):
    """Sum over the atoms of every class: (n_queries, n_classes)."""
    # reduceat has no empty sums, and a class that is only known by name has no atom.
    return np.stack([values[:, block].sum(axis=1) for block in dictionary.blocks], axis=1)


def class_dots(dictionary, left, right):
    """left_iᵀright_i of every class i."""
    from ancr import _kernels

    dots = np.empty((len(left), dictionary.n_classes), left.dtype)
    _kernels.class_dots(*map(read_only, (left, right, dictionary.bounds)), dots)
    return dots


def class_forms(dictionary, codes):
    """c_iᵀ(X_iᵀX_i)c_i of every class i: by matrix products for large classes, else by a kernel."""
    from ancr import _kernels

    if dictionary.n_atoms >= _LARGE_CLASS * dictionary.n_classes:
        pairs = zip(dictionary.blocks, dictionary.block_grams, strict=True)
        return class_dots(dictionary, codes, np.hstack([codes[:, block] @ gram for block, gram in pairs]))
    forms = np.empty((len(codes), dictionary.n_classes), codes.dtype)
    _kernels.class_forms(*map(read_only, (codes, *dictionary.flat_block_grams, dictionary.bounds)), forms)
    return forms


def nearest_class(dictionary, targets, codes, most):
    """Number of the class with the least ‖t − X_i c_i‖, −1 where `ancr.rules` says; codes may be `TwoParts`."""
    from ancr import _kernels

    if isinstance(codes, np.ndarray):
        parts = codes, np.zeros(len(codes)), targets, codes
    else:
        parts = *codes.roughly(), codes.vectors, codes.rest
    largest, longest, kind = float(np.diff(dictionary.bounds).max()), dictionary.longest, np.finfo(targets.dtype)
    # What a class's Gram and the sum over it can lose, relative to ‖c‖², and what vanishes in them.
    rounding = kind.eps * largest * (largest + dictionary.n_features) * longest**2 + kind.smallest_normal * largest**2
    arrays = (targets, *parts, class_forms(dictionary, parts[0]), dictionary.atoms, dictionary.bounds)
    winners = np.empty(len(targets), np.intp)
    _kernels.nearest_class(*map(read_only, arrays), rounding, largest * longest, 100 * kind.eps, most, winners)
    return winners
