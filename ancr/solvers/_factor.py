"""Symmetric positive semi-definite systems, factored once, in double precision."""

from collections.abc import Callable

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh, lapack


def psd_solver(matrix: np.ndarray, ridge: float = 0.0) -> Callable[[np.ndarray], np.ndarray]:
    """Factor a positive semi-definite matrix and return the function that solves with it.

    Cholesky where the matrix is well enough conditioned for it. Otherwise the eigenvalues: none is below ``ridge``,
    which is part of the matrix, and without a ridge those that are zero are left out, for the solution of least norm.

    Parameters
    ----------
    matrix : ndarray of float64
        Single precision would not do: on non-negative data the largest eigenvalue is n times the others.
    ridge : float
        What the matrix holds of the identity.
    """
    try:
        factor = cho_factor(matrix, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        return _through_eigenvalues(matrix, ridge)
    (pocon,) = lapack.get_lapack_funcs(("pocon",), (matrix,))
    reciprocal_condition, _ = pocon(factor[0], np.linalg.norm(matrix, 1), uplo="L")
    if reciprocal_condition < len(matrix) * np.finfo(matrix.dtype).eps:
        return _through_eigenvalues(matrix, ridge)
    return lambda right: cho_solve(factor, right, check_finite=False)


def _through_eigenvalues(matrix: np.ndarray, ridge: float) -> Callable[[np.ndarray], np.ndarray]:
    values, vectors = eigh(matrix, check_finite=False)
    if ridge:
        inverse = 1.0 / np.maximum(values, ridge)
    else:
        kept = values > max(values[-1], 0.0) * len(matrix) * np.finfo(matrix.dtype).eps
        vectors, inverse = vectors[:, kept], 1.0 / values[kept]
    return lambda right: vectors @ ((inverse * (vectors.T @ right).T).T)


def psd_inverse(matrix: np.ndarray, ridge: float) -> np.ndarray:
    """Inverse of a positive definite matrix that holds ``ridge`` times the identity, C-ordered."""
    potrf, potri = lapack.get_lapack_funcs(("potrf", "potri"), (matrix,))
    factor, failed = potrf(matrix, lower=False)
    if failed:
        return _through_eigenvalues(matrix, ridge)(np.eye(len(matrix), dtype=matrix.dtype))
    half = potri(factor, lower=False, overwrite_c=True)[0]  # zero below the diagonal, as the factor was
    inverse = half + half.T
    inverse[np.diag_indices_from(inverse)] *= 0.5
    return inverse
