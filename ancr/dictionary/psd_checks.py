"""Whether a matrix of inner products has negative eigenvalues, and which they are, up to rounding."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigvalsh, lapack

from ancr._core.arrays import Array, is_single, to_numpy
from ancr._core.psd import about_mean

# By this share of the longest atom's square, eigenvalues of a Gram matrix may be negative from rounding alone, in
# single precision and in double.
_ROUNDING = {True: 1e-5, False: 1e-12}


def eigenvalues_of(matrix: np.ndarray, on_plane: bool, share: float = 0.0) -> tuple[np.ndarray, float]:
    """Eigenvalues of a symmetric matrix, restricted to Σc = 0 if ``on_plane``, and what its rounding does to them.

    ``share`` is what rounding has done to its entries, relative to the roots of the two entries on the diagonal.
    """
    lengths = np.sqrt(np.clip(np.diagonal(matrix), 0.0, None))
    rounding = (len(matrix) + 16.0) * float(np.finfo(float).eps) * float(np.abs(matrix).sum(axis=1).max())
    rounding += share * float(lengths.max()) * float(lengths.sum())
    return eigvalsh(about_mean(about_mean(matrix).T) if on_plane else matrix), rounding


def tolerated(gram: np.ndarray) -> float:
    """The largest negative eigenvalue that counts as rounding, for a diagonal of ones."""
    return 8.0 * len(gram) * float(np.finfo(float).eps)


def is_semidefinite_with(gram: np.ndarray, shift: float) -> bool:
    """Whether a matrix plus a shift has no negative eigenvalue, up to rounding in double precision.

    Atoms are compared at unit length: what is rounding beside the longest is not beside others.
    """
    matrix = gram + shift * np.eye(len(gram))
    diagonal = np.diagonal(matrix).copy()
    used = diagonal > 0.0
    if (diagonal < 0.0).any() or matrix[~used].any():
        return False
    lengths = np.sqrt(diagonal[used])
    matrix = matrix[np.ix_(used, used)] / lengths / lengths[:, None]
    matrix[np.diag_indices_from(matrix)] += tolerated(gram)
    return _has_factor(matrix)


def is_semidefinite(gram: Array) -> bool:
    """Whether all eigenvalues of a Gram matrix are zero or above, up to rounding in its own precision."""
    single, gram = is_single(gram.dtype), to_numpy(gram)
    matrix = gram.astype(float)
    matrix[np.diag_indices_from(matrix)] += (
        _ROUNDING[single] * len(gram) ** 0.5 * max(float(np.diagonal(gram).max()), 0.0)
    )
    return not matrix.any() or _has_factor(matrix)


def _has_factor(matrix: np.ndarray) -> bool:
    """Whether a Cholesky factorisation succeeds: exactly then no eigenvalue is negative. The matrix is overwritten."""
    (potrf,) = lapack.get_lapack_funcs(("potrf",), (matrix,))
    return not len(matrix) or not potrf(matrix, overwrite_a=True)[1]
