"""Sparse samples, such as TF-IDF, in coordinates in which few of them are small and dense.

n samples span at most n directions. With XXᵀ = USUᵀ, a sample x has the coordinates S^(−½)Uᵀ·Xx in this span, and what
lies outside is one more number, its length. All inner products with training samples, and all lengths, stay what they
are, so that every space that needs nothing else gives the same answers. The matrix is never made dense.
"""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import eigh

from ancr.axes.spaces import Space

# Samples whose inner products are decomposed: half a minute on one core.
_MOST = 4096


class SparseSamples:
    """The coordinates of sparse training samples, and of queries with the same features.

    Parameters
    ----------
    samples : CSR matrix of shape (n_samples, n_features)
        Training samples.

    Attributes
    ----------
    is_rotated : bool
        Whether coordinates are other than the features; not where there are fewer features than samples.

    Examples
    --------
    >>> from scipy import sparse
    >>> from ancr.classifiers.sparse_samples import SparseSamples
    >>> samples = sparse.random(5, 10_000, density=1e-2, format="csr", random_state=0)
    >>> rows = SparseSamples(samples).rows(samples)
    >>> rows.shape, bool(abs(rows @ rows.T - (samples @ samples.T).toarray()).max() < 1e-12)
    ((5, 6), True)
    """

    def __init__(self, samples: Any) -> None:
        n_samples, n_features = samples.shape
        self.is_rotated, self._dtype = n_features > n_samples, samples.dtype
        if not self.is_rotated:
            return
        if n_samples > _MOST:
            raise ValueError(
                f"X is sparse with {n_samples} samples of {n_features} features, but at most {_MOST} samples can be "
                "sparse; reduce the features before: make_pipeline(TruncatedSVD(500), …)"
            )
        self._samples = sparse.csr_matrix(samples, dtype=np.float64)
        sizes, vectors = eigh((self._samples @ self._samples.T).toarray())
        kept = sizes > n_samples * np.finfo(float).eps * max(sizes[-1], 0.0)
        self._map = vectors[:, kept] / np.sqrt(sizes[kept])

    def rows(self, X: Any) -> np.ndarray:
        """Samples as dense rows; ``X`` may be sparse or dense."""
        if not self.is_rotated:
            return X.toarray() if sparse.issparse(X) else X
        X = sparse.csr_matrix(X, dtype=np.float64)
        inside = (X @ self._samples.T).toarray() @ self._map
        squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
        outside = squares - np.square(inside).sum(axis=1)
        outside[outside < 4.0 * len(self._map) * np.finfo(float).eps * squares] = 0.0  # rounding
        return np.column_stack([inside, np.sqrt(outside)]).astype(self._dtype)


def needs_features(space: Space) -> bool:
    """Whether a space needs more of samples than inner products and lengths: their entries, or how many there are."""
    known = isinstance(space.kernel, str) and not space.is_pairwise
    return space.power != 1.0 or not known or (not space.is_linear and isinstance(space.gamma, str))


def check_rotated(space: Space) -> None:
    """Raise if samples in other coordinates, as sparse ones are, would give other answers."""
    if needs_features(space):
        raise ValueError(
            f"{space!r} needs the entries of samples, but X is sparse with more features than samples; take "
            "power=1, a kernel by name and a number for gamma, or dense samples"
        )
