r"""Kernels k(x, y) = φ(x)ᵀφ(y): inner products of samples in a space whose coordinates are never computed.

    linear        xᵀy
    rbf           exp(−κ‖x − y‖²)
    poly          (κ·xᵀy + coef0)^degree
    a function    of two matrices of samples, as in scikit-learn's SVC
    precomputed   the samples are rows of inner products themselves

A kernel is prepared for atoms, once, and then gives inner products of a block of samples with all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ancr._core.arrays import (
    Array,
    check_same_kind,
    concat,
    in_double,
    is_non_numpy,
    is_single,
    namespace,
    squared_distances,
    squares_in_double,
    take_columns,
)
from ancr._core.axis import AxisObject, check_takes
from ancr._core.budgets import CACHED_BYTES

# Rows of a block whose k(y, y) is read from the diagonal of one small matrix.
_DIAGONAL_ROWS = 64
# Rounding of an exponent that is too much, in single precision and in double.
_CANCELLED = {True: 1e-5, False: 2e-14}

_EPS = float(np.finfo(float).eps)


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
    >>> from ancr import ANCRClassifier, Space
    >>> def histogram_intersection(left, right):
    ...     return np.stack([np.minimum(row, right).sum(axis=1) for row in left])
    >>> X, y = load_iris(return_X_y=True)
    >>> ANCRClassifier(space=Space(histogram_intersection), alpha=1e-2).fit(X[::2], y[::2]).predict(X[1::50])
    array([0, 1, 2])
    """

    name = "a kernel"
    knows_squares = True

    @property
    def is_certain(self) -> bool:
        """Whether it is known to be positive semi-definite."""
        return False

    @abstractmethod
    def prepare(self, atoms: Array, order: np.ndarray) -> Callable[[Array], Array]:
        """The function that gives k of each of its rows with each atom; ``atoms[i]`` is the sample ``order[i]``."""

    def rounding(self, atoms: Array, rows: Array) -> float:
        """What rounding can do to k(y, x) of rows y and atoms x in double precision, relative to √(k(x, x)·k(y, y))."""
        return (atoms.shape[1] + 8.0) * _EPS

    @abstractmethod
    def squares(self, rows: Array) -> Array:
        """k(y, y) of each row, in double precision; NaN where it cannot be known."""

    def __call__(self, rows: Array, others: Array) -> Array:
        """k of each row with each of the others."""
        return self.prepare(others, np.arange(others.shape[0]))(rows)


class RBF(Kernel):
    """exp(−κ‖x − y‖²).

    Parameters
    ----------
    gamma : float
        κ > 0.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.dictionary.mercer import RBF
    >>> RBF(0.5)(np.array([[0.0, 0.0]]), np.array([[0.0, 0.0], [1.0, 1.0]])).round(3)
    array([[1.   , 0.368]])
    """

    name = "rbf"
    is_certain = True

    def __init__(self, gamma: float = 1.0) -> None:
        self.gamma = gamma

    def prepare(self, atoms: Array, order: np.ndarray) -> _Exponentials:
        """Distances do not change with the origin: it is put where the rounding of squares is least."""
        if not self.gamma > 0.0:  # by gamma="scale" only; the other values of users are checked
            raise ValueError(
                "kernel='rbf' with gamma='scale': the variance of the samples is beyond the range of double precision; "
                "rescale them, or give a number for gamma"
            )
        return _Exponentials(atoms, self.gamma)

    def rounding(self, atoms: Array, rows: Array) -> float:
        """Exponents are sums of terms up to κ‖x − centre‖² each."""
        centre = namespace(atoms).mean(in_double(atoms), axis=0)
        with np.errstate(over="ignore"):
            farthest = max(float(namespace(part).max(squares_in_double(part - centre))) for part in (atoms, rows))
            terms = min(4.0 * self.gamma * farthest, 4.0 * _CANCELLED[False] / _EPS)
        return (1.0 + terms) * super().rounding(atoms, rows)

    def squares(self, rows: Array) -> Array:
        """1: every sample has unit length."""
        return namespace(rows).ones_like(in_double(rows[:, 0]))


class _Exponentials:
    """exp(2κ·xᵀy − κ‖x‖² − κ‖y‖²): one matrix product gives the exponents, by two more columns.

    Far from the centre the three terms cancel. There the distances are computed from differences, which takes longer.
    """

    def __init__(self, atoms: Array, gamma: float) -> None:
        xp = namespace(atoms)
        self._given, self._gamma = atoms, gamma
        self._centre = xp.astype(xp.mean(in_double(atoms), axis=0), atoms.dtype)
        about, squares = self._about_centre(atoms)
        self._farthest = float(xp.max(squares))
        with np.errstate(over="ignore"):  # the distances are then computed from differences
            self._atoms = xp.concat([about, -xp.astype(squares, about.dtype), xp.ones_like(about[:, :1])], axis=1)

    def __call__(self, rows: Array) -> Array:
        xp = namespace(rows)
        about, squares = self._about_centre(rows)
        rounding = max(self._farthest, float(xp.max(squares))) * float(xp.finfo(rows.dtype).eps)
        if not rounding <= _CANCELLED[is_single(rows.dtype)]:
            with np.errstate(over="ignore"):
                exponents = -self._gamma * squared_distances(rows, self._given)
            return xp.astype(xp.exp(exponents), rows.dtype, copy=False)
        about *= 2.0 * self._gamma
        left = xp.concat([about, xp.ones_like(about[:, :1]), -xp.astype(squares, about.dtype)], axis=1)
        return _exponentials_of(left @ self._atoms.T)

    def _about_centre(self, rows: Array) -> tuple[Array, Array]:
        """x about the centre, and κ‖x‖² as a column."""
        about = rows - self._centre
        with np.errstate(over="ignore"):
            return about, self._gamma * squares_in_double(about)[:, None]


def _exponentials_of(values: Array) -> Array:
    """exp of each entry, none above one; NumPy arrays in place."""
    if is_non_numpy(values):
        xp = namespace(values)
        return xp.exp(xp.clip(values, None, 0.0))
    for part in _parts(values):
        np.minimum(part, 0.0, out=part)
        np.exp(part, out=part)
    return values


class Polynomial(Kernel):
    """(κ·xᵀy + coef0)^degree.

    Parameters
    ----------
    gamma : float
        κ > 0.
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

    def rounding(self, atoms: Array, rows: Array) -> float:
        """That of xᵀy, for each factor."""
        return max(self.degree, 1) * super().rounding(atoms, rows)

    def prepare(self, atoms: Array, order: np.ndarray) -> Callable[[Array], Array]:
        """The atoms as they are."""
        return partial(self._values, atoms)

    def _values(self, atoms: Array, rows: Array) -> Array:
        values, xp = rows @ atoms.T, namespace(rows)
        with np.errstate(over="ignore"):
            for part in _parts(values):
                self.of(part)
                if not float(xp.max(part)) - float(xp.min(part)) < np.inf:
                    raise ValueError(
                        f"kernel='poly' is beyond the range of {rows.dtype}; rescale the samples, or lower gamma, "
                        "coef0 or degree"
                    )
        return values

    def squares(self, rows: Array) -> Array:
        """(κ‖y‖² + coef0)^degree."""
        return self.of(squares_in_double(rows))

    def of(self, products: Array) -> Array:
        """The kernel as a function of inner products, in place, by repeated multiplication."""
        products *= self.gamma
        products += self.coef0
        base = products + 0.0
        if self.degree == 0:
            products[...] = 1.0
        for _ in range(self.degree - 1):
            products *= base
        return products


class Function(Kernel):
    """A user's function of two matrices of samples, (p, d) and (q, d), that returns their (p, q) kernel values.

    Parameters
    ----------
    function : callable
        As ``kernel`` of scikit-learn's ``SVC``; those of ``sklearn.metrics.pairwise`` fit.
    """

    name = "callable"

    def __init__(self, function: Callable[[Array, Array], Array]) -> None:
        self.function = function

    def prepare(self, atoms: Array, order: np.ndarray) -> Callable[[Array], Array]:
        """The atoms as they are."""
        check_takes(self.function, "kernel", "samples", "others")
        return partial(self._values, atoms)

    def squares(self, rows: Array) -> Array:
        """k(y, y), from the diagonals of small matrices."""
        starts, xp = range(0, rows.shape[0], _DIAGONAL_ROWS), namespace(rows)
        blocks = [rows[start : min(start + _DIAGONAL_ROWS, rows.shape[0]), :] for start in starts]
        diagonals = [xp.linalg.diagonal(self._values(block, block)) for block in blocks]
        return concat([xp.astype(diagonal, xp.float64) for diagonal in diagonals])

    def _values(self, atoms: Array, rows: Array) -> Array:
        returned, xp = self.function(rows, atoms), namespace(rows)
        values, wanted = returned if is_non_numpy(rows) else np.asarray(returned), (rows.shape[0], atoms.shape[0])
        check_same_kind(values, rows, "values returned by kernel", "samples")
        real = xp.isdtype(values.dtype, ("bool", "integral", "real floating"))
        if tuple(values.shape) != wanted or not real:
            found = f"{values.dtype} of shape {tuple(values.shape)}"
            raise ValueError(f"kernel must return one number per pair of samples, {wanted} here, got {found}")
        values = xp.astype(values, rows.dtype, copy=False)
        if not bool(xp.all(xp.isfinite(values))):
            raise ValueError("kernel returned NaN or infinity")
        return values if is_non_numpy(rows) else np.ascontiguousarray(values)


class Precomputed(Kernel):
    """Samples are rows of inner products with the training samples, in the order given to ``fit``."""

    name = "precomputed"
    knows_squares = False

    def rounding(self, atoms: Array, rows: Array) -> float:
        """Inner products are what they are said to be."""
        return 0.0

    def prepare(self, atoms: Array, order: np.ndarray) -> Callable[[Array], Array]:
        """Only the order matters."""
        return partial(take_columns, chosen=order)

    def squares(self, rows: Array) -> Array:
        """Unknown: a row of inner products with others does not tell its own length."""
        return namespace(rows).full_like(in_double(rows[:, 0]), float("nan"))


def _parts(values: Array) -> Any:
    """Rows of a NumPy array in views that fit the cache; other arrays as a whole."""
    if is_non_numpy(values):
        return (values,)
    rows = max(1, CACHED_BYTES // max(1, values.strides[0]))
    return (values[start : start + rows] for start in range(0, len(values), rows))
