"""Symmetric positive semi-definite systems, factored once, in double precision.

By Cholesky factorisation if the matrix is well enough conditioned, otherwise by eigendecomposition. With a ``ridge``,
which is part of the matrix, no eigenvalue is taken below it; without one, zero eigenvalues are left out, which gives
the solution of least norm.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky, lapack, solve_triangular

from ancr._core.arrays import Array, device, is_non_numpy, namespace
from ancr._core.budgets import is_out_of_memory
from ancr._core.threads import aside


def psd_solver(matrix: Array, ridge: float = 0.0) -> Callable[[Array], Array]:
    """Factor a positive semi-definite matrix and return the function that solves with it.

    Parameters
    ----------
    matrix : array of float64
        Single precision is not enough: on non-negative data the largest eigenvalue is n times the others.
    ridge : float
        The multiple of the identity that the matrix contains.
    """
    size = _finite_size(matrix)
    if is_non_numpy(matrix):
        if _well_conditioned(matrix, ridge):
            return partial(namespace(matrix).linalg.solve, matrix)
        return _through_eigenvalues(matrix, ridge)
    try:
        factor = aside(lambda: cho_factor(matrix, lower=True, check_finite=False), len(matrix) ** 3 / 3.0)
    except np.linalg.LinAlgError:
        return _through_eigenvalues(matrix, ridge)
    (pocon,) = lapack.get_lapack_funcs(("pocon",), (matrix,))
    reciprocal_condition, _ = pocon(factor[0], size, uplo="L")
    if reciprocal_condition < len(matrix) * np.finfo(matrix.dtype).eps:
        return _through_eigenvalues(matrix, ridge)
    n = len(matrix)

    def solve(right: Array) -> Array:
        return aside(lambda: cho_solve(factor, right, check_finite=False), 2.0 * n * right.size)

    return solve


def psd_inverse(matrix: Array, ridge: float) -> Array:
    """Inverse of a matrix that contains ``ridge`` times the identity, C-ordered; without a ridge the pseudo-inverse."""
    _finite_size(matrix)
    if not ridge:
        return psd_solver(matrix)(identity_like(matrix))
    if is_non_numpy(matrix):
        return _inverse_elsewhere(matrix, ridge)
    half = aside(lambda: _upper_half_of_inverse(matrix), len(matrix) ** 3)
    if half is None:
        return _through_eigenvalues(matrix, ridge)(identity_like(matrix))
    return _both_halves(half)


def inverse_of_factor(lower: np.ndarray) -> np.ndarray:
    """(LLᵀ)⁻¹, C-ordered, for a lower triangle L that is zero above."""
    (potri,) = lapack.get_lapack_funcs(("potri",), (lower,))
    return _both_halves(aside(lambda: potri(lower, lower=True)[0], 2.0 * len(lower) ** 3 / 3.0))


def _both_halves(half: np.ndarray) -> np.ndarray:
    """The symmetric matrix with this triangle, the other half of which is zero."""
    matrix = half + half.T
    matrix[np.diag_indices_from(matrix)] *= 0.5
    return matrix


def _upper_half_of_inverse(matrix: np.ndarray) -> np.ndarray | None:
    """The inverse on and above the diagonal, zero below; None if the matrix is not definite."""
    potrf, potri = lapack.get_lapack_funcs(("potrf", "potri"), (matrix,))
    factor, failed = potrf(matrix, lower=False)
    return None if failed else potri(factor, lower=False, overwrite_c=True)[0]


def psd_solver_on_plane(matrix: Array, ridge: float) -> tuple[Callable[[Array], Array], Array]:
    """The function that maps columns b to minimisers of wᵀHw − 2bᵀw on Σw = 0, and the c of least cᵀHc on Σc = 1.

    More accurate than `psd_inverse_on_plane` where columns have a large part in common, which is taken off first.
    """
    solve = psd_solver(definite_on_plane(matrix), ridge)

    def on_plane(right: Array) -> Array:
        return about_mean(solve(about_mean(right)))

    common = namespace(matrix).mean(matrix, axis=0)
    return on_plane, 1.0 / matrix.shape[0] - on_plane(common[:, None])[:, 0]


def psd_inverse_on_plane(matrix: Array, ridge: float) -> tuple[Array, Array]:
    """The inverse of H on Σw = 0, which maps b to the minimiser of wᵀHw − 2bᵀw, and the c of least cᵀHc on Σc = 1.

    With c = 1/n + w and P the projection on Σw = 0, PHP·w = P(b − H1/n) is what minimises cᵀHc − 2bᵀc on Σc = 1.
    """
    inverse = about_mean(about_mean(psd_inverse(definite_on_plane(matrix), ridge)).T).T
    return inverse, 1.0 / matrix.shape[0] - inverse @ namespace(matrix).mean(matrix, axis=0)


def definite_on_plane(matrix: Array) -> Array:
    """PHP, with P the projection on Σw = 0, plus a multiple of 11ᵀ, which makes it definite without touching w."""
    matrix = about_mean(about_mean(matrix).T)
    return matrix + (float(namespace(matrix).linalg.trace(matrix)) / matrix.shape[0] or 1.0) / matrix.shape[0]


def about_mean(columns: Array) -> Array:
    """Columns minus their means."""
    return columns - namespace(columns).mean(columns, axis=0)


def lower_factor(matrix: Array) -> Array:
    """L with LLᵀ = matrix, for a matrix that is well conditioned."""
    if is_non_numpy(matrix):
        return namespace(matrix).linalg.cholesky(matrix)
    return cholesky(matrix, lower=True, check_finite=False)


def solve_lower(factor: Array, right: Array) -> Array:
    """L⁻¹ times a matrix, for a lower triangular L."""
    if not is_non_numpy(factor):
        return solve_triangular(factor, right, lower=True, check_finite=False)
    xp = namespace(factor)
    if hasattr(xp.linalg, "solve_triangular"):  # not in the standard, but a third of the work
        return xp.linalg.solve_triangular(factor, right, upper=False)
    return xp.linalg.solve(factor, right)


def identity_like(matrix: Array) -> Array:
    """The identity of the size and kind of a matrix."""
    return namespace(matrix).eye(matrix.shape[0], dtype=matrix.dtype, device=device(matrix))


def _finite_size(matrix: Array) -> float:
    """The largest sum of sizes in a column of a symmetric matrix, without a copy where LAPACK has it."""
    if is_non_numpy(matrix):
        xp = namespace(matrix)
        size = float(xp.max(xp.sum(xp.abs(matrix), axis=0)))
    else:
        (lange,) = lapack.get_lapack_funcs(("lange",), (matrix,))
        size = float(lange("1", matrix.T))
    if not np.isfinite(size):
        raise ValueError(f"inner products of the samples are beyond the range of {matrix.dtype}; rescale the samples")
    return size


def _inverse_elsewhere(matrix: Array, ridge: float) -> Array:
    xp, identity = namespace(matrix), identity_like(matrix)
    if not _well_conditioned(matrix, ridge):
        return _through_eigenvalues(matrix, ridge)(identity)
    try:
        factor = xp.linalg.cholesky(matrix)
    except Exception as error:  # each library has an error of its own for a matrix that is not definite in rounding
        if is_out_of_memory(error):
            raise
        return _through_eigenvalues(matrix, ridge)(identity)
    if hasattr(xp, "cholesky_inverse"):  # not in the standard, but half the work
        return xp.cholesky_inverse(factor)
    half = xp.linalg.solve(factor, identity)
    return half.T @ half


def _well_conditioned(matrix: Array, ridge: float) -> bool:
    """Whether the ridge, a lower bound on all eigenvalues, lies safely above the rounding error of the largest."""
    xp = namespace(matrix)
    largest = xp.max(xp.sum(xp.abs(matrix), axis=1))
    return ridge > matrix.shape[0] * xp.finfo(matrix.dtype).eps * float(largest)


def _through_eigenvalues(matrix: Array, ridge: float) -> Callable[[Array], Array]:
    xp = namespace(matrix)
    values, vectors = aside(lambda: xp.linalg.eigh(matrix), 9.0 * matrix.shape[0] ** 3)
    least = xp.clip(values[-1], 0.0, None) * (matrix.shape[0] * float(xp.finfo(matrix.dtype).eps))
    if ridge > 1e-8 * float(least):
        inverse = 1.0 / xp.clip(values, float(ridge), None)
    else:  # no ridge, or one that is lost in the rounding of the matrix
        kept = values > least
        inverse = xp.where(kept, 1.0 / xp.where(kept, values, xp.ones_like(values)), xp.zeros_like(values))

    def solve(right: Array) -> Array:
        image = vectors.T @ right
        return vectors @ (inverse[:, None] * image if right.ndim == 2 else inverse * image)

    return solve
