"""Symmetric positive semi-definite systems, factored once."""

from collections.abc import Callable

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh, lapack


def psd_solver(matrix: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Factor a positive semi-definite matrix and return the function that solves with it.

    Cholesky where the matrix is well enough conditioned for it; otherwise (λ = 0 with dependent atoms) the
    pseudo-inverse, which gives the solution of least norm.
    """
    try:
        factor = cho_factor(matrix, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        return _pseudo_solver(matrix)
    (pocon,) = lapack.get_lapack_funcs(("pocon",), (matrix,))
    reciprocal_condition, _ = pocon(factor[0], np.linalg.norm(matrix, 1), uplo="L")
    if reciprocal_condition < len(matrix) * np.finfo(matrix.dtype).eps:
        return _pseudo_solver(matrix)
    return lambda right: cho_solve(factor, right, check_finite=False)


def _pseudo_solver(matrix: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    values, vectors = eigh(matrix, check_finite=False)
    floor = max(values[-1], 0.0) * len(matrix) * np.finfo(matrix.dtype).eps
    kept = values > floor
    vectors = vectors[:, kept]
    inverse = 1.0 / values[kept]
    return lambda right: vectors @ ((inverse * (vectors.T @ right).T).T)


def psd_inverse(matrix: np.ndarray) -> np.ndarray:
    """Inverse of a positive definite matrix, C-ordered."""
    potrf, potri = lapack.get_lapack_funcs(("potrf", "potri"), (matrix,))
    factor, failed = potrf(matrix, lower=False)
    if failed:
        return _pseudo_solver(matrix)(np.eye(len(matrix), dtype=matrix.dtype))
    upper = np.triu(potri(factor, lower=False)[0])
    return upper + np.triu(upper, 1).T
