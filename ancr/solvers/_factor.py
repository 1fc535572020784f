"""Symmetric positive semi-definite systems, factored once."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh, lapack


@dataclass(frozen=True)
class Cholesky:
    """Solves with a well-conditioned matrix through its Cholesky factor."""

    factor: tuple[np.ndarray, bool]

    def __call__(self, right: np.ndarray) -> np.ndarray:
        """The solution for one right-hand side a column."""
        return cho_solve(self.factor, right, check_finite=False)


@dataclass(frozen=True)
class PseudoInverse:
    """The solution of least norm, through the eigenvectors of non-zero eigenvalues."""

    vectors: np.ndarray
    inverse: np.ndarray

    def __call__(self, right: np.ndarray) -> np.ndarray:
        """The solution for one right-hand side a column."""
        return self.vectors @ ((self.inverse * (self.vectors.T @ right).T).T)


PSDSolver = Cholesky | PseudoInverse


def psd_solver(matrix: np.ndarray) -> PSDSolver:
    """Factor a positive semi-definite matrix.

    Cholesky where the matrix is well enough conditioned for it; otherwise (λ = 0 with dependent atoms) the
    pseudo-inverse, which gives the solution of least norm.
    """
    try:
        factor = cho_factor(matrix, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        return _pseudo_inverse(matrix)
    (pocon,) = lapack.get_lapack_funcs(("pocon",), (matrix,))
    reciprocal_condition, _ = pocon(factor[0], np.linalg.norm(matrix, 1), uplo="L")
    if reciprocal_condition < len(matrix) * np.finfo(matrix.dtype).eps:
        return _pseudo_inverse(matrix)
    return Cholesky(factor)


def _pseudo_inverse(matrix: np.ndarray) -> PseudoInverse:
    values, vectors = eigh(matrix, check_finite=False)
    floor = max(values[-1], 0.0) * len(matrix) * np.finfo(matrix.dtype).eps
    kept = values > floor
    return PseudoInverse(vectors[:, kept], 1.0 / values[kept])


def psd_inverse(matrix: np.ndarray) -> np.ndarray:
    """Inverse of a positive definite matrix, C-ordered."""
    potrf, potri = lapack.get_lapack_funcs(("potrf", "potri"), (matrix,))
    factor, failed = potrf(matrix, lower=False)
    if failed:
        return _pseudo_inverse(matrix)(np.eye(len(matrix), dtype=matrix.dtype))
    upper = np.triu(potri(factor, lower=False)[0])
    return upper + np.triu(upper, 1).T
