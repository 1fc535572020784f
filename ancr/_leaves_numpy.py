"""The leaves for NumPy arrays: numba kernels and LAPACK. `ancr._leaves_array` has the same names for all others."""

import numpy as np
from sklearn.preprocessing import normalize

from ancr._parallel import map_blocks
from ancr.solvers._factor import psd_inverse, psd_solver

__all__ = [
    "admm_step", "class_norms", "class_quadratics", "class_sums", "image_of_positive", "map_rows", "project_simplex",
    "psd_inverse", "psd_solver", "row_dots", "unit_rows",
]  # fmt: skip

# Samples a class, on average, from which a matrix product a class is quicker than a loop.
_LARGE_CLASS = 8


def map_rows(work, rows, row_bytes=0):
    """``[work(block) …]`` over slices that cover the rows: small blocks, one a thread."""
    return map_blocks(work, len(rows), row_bytes)


def unit_rows(rows, copy=True):
    """Rows scaled to unit ℓ2 norm; all-zero rows stay zero. Without ``copy``, in place."""
    return normalize(rows, copy=copy)


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


def admm_step(on_simplex, rho, diagonal, fresh, codes, shifted, threshold):
    """`ancr._kernels.admm_step`, which works in place; returns (codes, shifted, threshold, change)."""
    from ancr import _kernels

    change = np.empty(len(fresh), fresh.dtype)
    _kernels.admm_step(on_simplex, rho, diagonal, fresh, codes, shifted, threshold, change)
    return codes, shifted, threshold, change


def image_of_positive(shifted, threshold, atoms):
    """Xz for z = max(shifted − threshold, 0), skipping the zeros of z."""
    from ancr._kernels import sparse_image

    image = np.empty((len(shifted), atoms.shape[1]), atoms.dtype)
    sparse_image(shifted, threshold, atoms, image)
    return image


def class_sums(dictionary, values):
    """Sum over the atoms of every class: (n_queries, n_classes)."""
    # reduceat has no empty sums, and a class that is only known by name has no atom.
    return np.stack([values[:, block].sum(axis=1) for block in dictionary.blocks], axis=1)


def class_norms(dictionary, codes):
    """‖c_i‖² of every class i."""
    norms = np.empty((len(codes), dictionary.n_classes), codes.dtype)
    for k, block in enumerate(dictionary.blocks):
        norms[:, k] = row_dots(codes[:, block], codes[:, block])
    return norms


def class_quadratics(dictionary, codes, linear):
    """linear_iᵀc_i and c_iᵀ(X_iᵀX_i)c_i of every class: by matrix products for large classes, else by a kernel."""
    from ancr import _kernels

    squares = np.empty((len(codes), dictionary.n_classes), codes.dtype)
    cross = np.empty_like(squares)
    if dictionary.n_atoms < _LARGE_CLASS * dictionary.n_classes:
        _kernels.class_quadratics(codes, linear, *dictionary.flat_block_grams, dictionary.bounds, cross, squares)
        return cross, squares
    for k, (block, gram) in enumerate(zip(dictionary.blocks, dictionary.block_grams, strict=True)):
        part = codes[:, block]
        cross[:, k], squares[:, k] = row_dots(part, linear[:, block]), row_dots(part, part @ gram)
    return cross, squares
