r"""Kernels k(x, y) = φ(x)ᵀφ(y): inner products of samples in a space whose coordinates are never computed.

    linear        xᵀy
    rbf           exp(−γ‖x − y‖²)
    poly          (γ·xᵀy + coef0)^degree
    a function    of two matrices of samples, as in scikit-learn's SVC
    precomputed   the samples are rows of inner products themselves

A kernel is prepared for atoms, once, and then gives inner products of a block of samples with all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from ancr.axis import AxisObject

# Bytes of kernel values worked on at once: what stays in a core's cache between the steps of one formula.
_CACHED_BYTES = 2**20
# Rows of a block whose k(y, y) is read from the diagonal of one small matrix.
_DIAGONAL_ROWS = 64
# Rounding of an exponent that is too much, by the bytes of a number.
_CANCELLED = {4: 1e-5, 8: 1e-12}


class Kernel(AxisObject, ABC):
    """Inner products in a space without coordinates.

    Attributes
    ----------
    name : str
        Name used in messages.
    is_certain : bool
        Whether it is positive semi-definite by its formula; otherwise the Gram matrix is checked.
    knows_squares : bool
        Whether k(y, y) of a query is known, so that its objective is, and not only which code is best.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from ancr import ANCRClassifier
    >>> def histogram_intersection(left, right):
    ...     return np.stack([np.minimum(row, right).sum(axis=1) for row in left])
    >>> X, y = load_iris(return_X_y=True)
    >>> ANCRClassifier(kernel=histogram_intersection, alpha=1e-2).fit(X[::2], y[::2]).predict(X[1::50])
    array([0, 1, 2])
    """

    name = "a kernel"
    is_certain = False
    knows_squares = True

    @abstractmethod
    def prepare(self, atoms: np.ndarray, order: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """The function that gives k of each of its rows with each atom; ``atoms[i]`` is the sample ``order[i]``."""

    @abstractmethod
    def squares(self, rows: np.ndarray) -> np.ndarray:
        """k(y, y) of each row, in double precision; NaN where it cannot be known."""

    def __call__(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """k of each row with each of the others."""
        return self.prepare(others, np.arange(len(others)))(rows)


class RBF(Kernel):
    """exp(−γ‖x − y‖²).

    Parameters
    ----------
    gamma : float
        γ > 0.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.kernels import RBF
    >>> RBF(0.5)(np.array([[0.0, 0.0]]), np.array([[0.0, 0.0], [1.0, 1.0]])).round(3)
    array([[1.   , 0.368]])
    """

    name = "rbf"
    is_certain = True

    def __init__(self, gamma: float = 1.0) -> None:
        self.gamma = gamma

    def prepare(self, atoms: np.ndarray, order: np.ndarray) -> _Exponentials:
        """Distances do not change with the origin: it is put where the rounding of squares is least."""
        return _Exponentials(atoms, self.gamma)

    def squares(self, rows: np.ndarray) -> np.ndarray:
        """1: every sample has unit length."""
        return np.ones(len(rows))


class _Exponentials:
    """exp(2γ·xᵀy − γ‖x‖² − γ‖y‖²): one matrix product gives the exponents, by two more columns.

    Far from the centre the three terms cancel. There the distances are computed from differences, which takes longer.
    """

    def __init__(self, atoms: np.ndarray, gamma: float) -> None:
        self._given = atoms
        self._centre, self._gamma = atoms.mean(axis=0, dtype=float).astype(atoms.dtype), gamma
        self._atoms = self._with_squares(atoms, 1.0)
        self._farthest = -float(self._atoms[:, -2].min(initial=0.0))
        self._atoms[:, -1] = 1.0

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        left = self._with_squares(rows, 2.0 * self._gamma)
        farthest = max(self._farthest, -float(left[:, -2].min(initial=0.0)))
        if not farthest * float(np.finfo(rows.dtype).eps) <= _CANCELLED[rows.itemsize]:
            return np.exp(-self._gamma * cdist(rows, self._given, "sqeuclidean")).astype(rows.dtype, copy=False)
        left[:, -1], left[:, -2] = left[:, -2], 1.0
        values = left @ self._atoms.T
        for part in _parts(values):
            np.minimum(part, 0.0, out=part)
            np.exp(part, out=part)
        return values

    def _with_squares(self, rows: np.ndarray, scale: float) -> np.ndarray:
        """[scale·x, −γ‖x‖², empty], x about the centre."""
        wider = np.empty((len(rows), rows.shape[1] + 2), rows.dtype)
        about = np.subtract(rows, self._centre, out=wider[:, :-2])
        wider[:, -2] = -self._gamma * np.einsum("ij,ij->i", about, about, dtype=float)
        about *= rows.dtype.type(scale)
        return wider


class Polynomial(Kernel):
    """(γ·xᵀy + coef0)^degree.

    Parameters
    ----------
    gamma : float
        γ > 0.
    degree : int
        Degree ≥ 0.
    coef0 : float
        Weight of the lower powers; below zero the kernel need not be positive semi-definite.
    """

    name = "poly"

    def __init__(self, gamma: float = 1.0, degree: int = 3, coef0: float = 0.0) -> None:
        self.gamma, self.degree, self.coef0 = gamma, degree, coef0

    @property
    def is_certain(self) -> bool:
        """Products and sums with positive weights of inner products are inner products."""
        return self.coef0 >= 0.0

    def prepare(self, atoms: np.ndarray, order: np.ndarray) -> _Powers:
        """The atoms as they are."""
        return _Powers(atoms, self)

    def squares(self, rows: np.ndarray) -> np.ndarray:
        """(γ‖y‖² + coef0)^degree."""
        return self.of(np.einsum("ij,ij->i", rows, rows, dtype=float))

    def of(self, products: np.ndarray) -> np.ndarray:
        """The kernel as a function of inner products, in place, by repeated multiplication."""
        products *= self.gamma
        products += self.coef0
        base = products.copy()
        if self.degree == 0:
            products[...] = 1.0
        for _ in range(self.degree - 1):
            products *= base
        return products


class _Powers:
    def __init__(self, atoms: np.ndarray, kernel: Polynomial) -> None:
        self._atoms, self._kernel = atoms, kernel

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        values = rows @ self._atoms.T
        with np.errstate(over="ignore"):
            for part in _parts(values):
                self._kernel.of(part)
                if not np.isfinite(part.max(initial=0.0) - part.min(initial=0.0)):
                    raise ValueError(
                        f"kernel='poly' is beyond the range of {rows.dtype}; rescale the samples, or lower gamma, "
                        "coef0 or degree"
                    )
        return values


class Linear(Kernel):
    """xᵀy, by way of the Gram matrix: the reference for the other kernels.

    ``kernel="linear"`` does not use it; a `Dictionary` has coordinates, and more ways to be fast.
    """

    name = "linear"
    is_certain = True

    def prepare(self, atoms: np.ndarray, order: np.ndarray) -> _Powers:
        """The atoms as they are."""
        return _Powers(atoms, Polynomial(1.0, 1, 0.0))

    def squares(self, rows: np.ndarray) -> np.ndarray:
        """‖y‖²."""
        return np.einsum("ij,ij->i", rows, rows, dtype=float)


class Function(Kernel):
    """A user's function of two matrices of samples, (p, d) and (q, d), that returns their (p, q) kernel values.

    Parameters
    ----------
    function : callable
        As ``kernel`` of scikit-learn's ``SVC``; those of ``sklearn.metrics.pairwise`` fit.
    """

    name = "callable"

    def __init__(self, function: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> None:
        self.function = function

    def prepare(self, atoms: np.ndarray, order: np.ndarray) -> _Called:
        """The atoms as they are."""
        return _Called(self.function, atoms)

    def squares(self, rows: np.ndarray) -> np.ndarray:
        """k(y, y), from the diagonals of small matrices."""
        starts = range(0, len(rows), _DIAGONAL_ROWS)
        blocks = [rows[start : start + _DIAGONAL_ROWS] for start in starts]
        return np.concatenate([np.diagonal(_Called(self.function, block)(block)).astype(float) for block in blocks])


class _Called:
    def __init__(self, function: Callable[[np.ndarray, np.ndarray], np.ndarray], atoms: np.ndarray) -> None:
        self._function, self._atoms = function, atoms

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        values = np.asarray(self._function(rows, self._atoms))
        wanted = (len(rows), len(self._atoms))
        if values.shape != wanted or values.dtype.kind not in "biuf":
            found = f"{values.dtype} of shape {values.shape}"
            raise ValueError(f"kernel must return one number per pair of samples, {wanted} here, got {found}")
        if not np.isfinite(values).all():
            raise ValueError("kernel returned NaN or infinity")
        return np.ascontiguousarray(values, rows.dtype)


class Precomputed(Kernel):
    """Samples are rows of inner products with the training samples, in the order given to ``fit``."""

    name = "precomputed"
    knows_squares = False

    def prepare(self, atoms: np.ndarray, order: np.ndarray) -> _Columns:
        """Only the order matters."""
        return _Columns(order)

    def squares(self, rows: np.ndarray) -> np.ndarray:
        """Unknown: a row of inner products with others does not tell its own length."""
        return np.full(len(rows), np.nan)


class _Columns:
    def __init__(self, order: np.ndarray) -> None:
        self._order = order

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(rows[:, self._order])


def _parts(values: np.ndarray) -> Any:
    """Rows of an array, in views that fit the cache."""
    rows = max(1, _CACHED_BYTES // max(1, values.strides[0]))
    return (values[start : start + rows] for start in range(0, len(values), rows))
