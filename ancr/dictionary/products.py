"""A block of queries with its inner products: all that solvers, rules, explanations and certificates ask about it.

`Solver.map` makes one object per block and hands it down; whatever is asked is computed once and kept until the block
ends. Nothing of the size queries × atoms outlives it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse

from ancr._core.arrays import (
    Array,
    in_double,
    is_non_numpy,
    like,
    namespace,
    read_only,
    row_dots,
    row_squares,
    squared_distances,
    squares_in_double,
    submatrix,
    take_rows,
    to_numpy,
)
from ancr.dictionary.class_forms import class_forms
from ancr.dictionary.terms import Asking, Terms

if TYPE_CHECKING:
    from ancr.dictionary.atoms import BaseDictionary
    from ancr.dictionary.coordinates import Dictionary
    from ancr.dictionary.inner_products import GramDictionary

_EPS = float(np.finfo(float).eps)


class Queries(Asking, ABC):
    """A block of queries y, and their products with the atoms of a dictionary.

    Parameters
    ----------
    dictionary : BaseDictionary
        The atoms.
    rows : array of shape (n_queries, n_features)
        The queries, as the dictionary has its samples.
    cross, squares : array or None
        The products ``cross`` and ``squares``, where they are known already.
    terms : Terms or None
        Atoms that queries may not use, and what they pay for atoms.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr import Dictionary
    >>> from ancr.dictionary.products import Queries
    >>> dictionary = Dictionary.build(np.eye(2), ["a", "b"])
    >>> queries = Queries.of(dictionary, np.array([[3.0, 4.0]]))
    >>> queries.cross, queries.squares
    (array([[3., 4.]]), array([25.]))
    >>> queries.class_misfits(np.array([[1.0, 0.0]]))
    array([[20., 25.]])
    """

    dictionary: BaseDictionary

    def __init__(
        self,
        dictionary: BaseDictionary,
        rows: Array,
        *,
        cross: Array | None = None,
        squares: Array | None = None,
        terms: Terms | None = None,
    ) -> None:
        self.dictionary, self.rows, self.terms = dictionary, rows, terms
        self._cross, self._squares = cross, squares
        self._double: Queries | None = None
        self._prices: Array | None = None

    @staticmethod
    def of(dictionary: BaseDictionary, rows: Array, **known: Any) -> Queries:
        """The queries of a dictionary, of the kind that goes with it; ``known`` are products and terms."""
        return dictionary.queries_type(dictionary, rows, **known)

    @staticmethod
    def of_atoms(dictionary: BaseDictionary, rows: slice) -> Queries:
        """Atoms as queries, for leaving each of them out: their products are in the Gram matrix."""
        products = {"cross": dictionary.gram[rows, :], "squares": dictionary.squares[rows]}
        return Queries.of(dictionary, dictionary.atoms[rows, :], **products)

    def __len__(self) -> int:
        return self.rows.shape[0]

    @property
    def cross(self) -> Array:
        """xᵀy of each query y with each atom x: (n_queries, n_atoms). Not to be written to."""
        if self._cross is None:
            self._cross = self._find_cross()
        return self._cross

    @property
    def squares(self) -> Array:
        """‖y‖² of each query, in double precision."""
        if self._squares is None:
            self._squares = self._find_squares()
        return self._squares

    @abstractmethod
    def _find_cross(self) -> Array:
        """Compute `cross`."""

    @abstractmethod
    def _find_squares(self) -> Array:
        """Compute `squares`."""

    def release(self) -> None:
        """Forget all products, at the end of the block."""
        self._cross = self._squares = self._double = self._prices = None

    @abstractmethod
    def squared_distances(self, beyond_nearest: bool = False) -> tuple[Array, Array]:
        """‖x − y‖² of each query y and each atom x, and what rounding can have done to it: two (n_queries, n_atoms).

        ``beyond_nearest`` takes away that of the nearest atom, by the same amount from all: what is left needs no ‖y‖².
        """

    def knowing_cross(self, cross: Array) -> Self:
        """The same queries, for a solver that has their cross products at hand."""
        known = copy(self)
        known._cross = cross
        return known

    def take(self, which: Any) -> Queries:
        """Some of the queries, with those of their products that are known."""
        known = {"cross": self._cross, "squares": self._squares}
        some = {name: take_rows(values, which) for name, values in known.items() if values is not None}
        terms = None if self.terms is None else self.terms.take(which)
        return Queries.of(self.dictionary, take_rows(self.rows, which), terms=terms, **some)

    @property
    def in_double(self) -> Queries:
        """The same queries of the dictionary in double precision."""
        if self._double is None:
            double = self.dictionary.in_double
            same = double is self.dictionary
            self._double = self if same else Queries.of(double, in_double(self.rows), terms=self.terms)
        return self._double

    @abstractmethod
    def seen_by(self, dictionary: BaseDictionary, query_scale: float = 1.0) -> Queries:
        """The same queries for another dictionary of these atoms: in its precision and units, from its origin.

        ``query_scale`` is what a query is multiplied by where it is compared with Xc.
        """

    @abstractmethod
    def on_host(self, dictionary: BaseDictionary) -> Queries:
        """The same queries in NumPy arrays, for the dictionary `ancr.dictionary.derived.on_host`."""

    @abstractmethod
    def cross_as_given(self, cross: Array, query_scale: float) -> Array:
        """xᵀy of the samples and queries as given, from the cross products of these."""

    @property
    @abstractmethod
    def squared_distances_to_mean(self) -> Array:
        """‖y − x̄‖² of each query to the mean atom x̄, in double precision."""

    @property
    def rounding(self) -> float:
        """What rounding can do to xᵀy in double precision beyond that of sums of products, as a share of ‖x‖·‖y‖."""
        return 0.0

    @property
    def inconsistent_with_gram(self) -> Array:
        """Whether each query has inner products with the atoms that no space has, as far as is known."""
        xp = namespace(self.rows)
        return xp.zeros_like(self.rows[:, 0], dtype=xp.bool)

    @property
    def least_squares(self) -> Array:
        """max (yᵀx)²/‖x‖² over the atoms, which ‖y‖² cannot be below."""
        xp, squares = namespace(self.cross), self.dictionary.squares
        return xp.max(in_double(self.cross) ** 2 / xp.where(squares > 0.0, squares, float("inf")), axis=1)

    @abstractmethod
    def residual_cross(self, codes: Any, target: float = 1.0, gram: float = 1.0) -> Array:
        """xᵀ(target·y − gram·Xc) for each query y with code c and each atom x."""

    @abstractmethod
    def misfits(self, codes: Any, scale: float = 1.0) -> Array:
        """‖scale·y − Xc‖² for each query."""

    @abstractmethod
    def class_misfits(self, codes: Any, scale: float = 1.0) -> Array:
        """‖scale·y − X_i c_i‖² for each query y and class i: (n_queries, n_classes)."""

    @abstractmethod
    def lengths_with_and_without(
        self, row: int, atoms: np.ndarray, weights: np.ndarray, place: int
    ) -> tuple[float, float]:
        """‖y − Σ w_j x_j‖ of one query over some atoms, and the same without the atom at ``place``."""


class CoordinateQueries(Queries):
    """Queries with coordinates."""

    dictionary: Dictionary

    def _find_cross(self) -> Array:
        return self.rows @ self.dictionary.atoms.T

    def _find_squares(self) -> Array:
        return squares_in_double(self.rows)

    def seen_by(self, dictionary: BaseDictionary, query_scale: float = 1.0) -> Queries:
        """Multiplied by the dictionary's units, and measured from its origin over ``query_scale``."""
        if dictionary is self.dictionary:
            return self
        rows = namespace(self.rows).astype(self.rows, dictionary.dtype, copy=False)
        rows = rows if dictionary.units == 1.0 else rows * dictionary.units
        rows = rows if dictionary.origin is None else rows - dictionary.origin / query_scale
        return Queries.of(dictionary, rows, terms=self.terms and self._terms_in(dictionary.units))

    def times(self, factors: Array) -> Queries:
        """Each query, and what it pays, times a factor of its own: its code is so, too, where no sum is asked for."""
        xp, terms = namespace(self.rows), self.settled_terms
        terms = None if terms is None else terms.times(in_double(factors)[:, None])
        rows = self.rows * xp.astype(factors, self.rows.dtype, copy=False)[:, None]
        return Queries.of(self.dictionary, rows, terms=terms)

    def squared_distances(self, beyond_nearest: bool = False) -> tuple[Array, Array]:
        """From products of differences to the mean atom, or, where more than four of their digits cancel, directly."""
        given = in_double(self.rows), in_double(self.dictionary.atoms)
        rows, atoms = (values - self.dictionary.mean for values in given)
        own, of_atoms, xp = row_squares(rows)[:, None], row_squares(atoms), namespace(rows)
        products, rounding = 2.0 * (rows @ atoms.T), (self.dictionary.n_features + 8) * _EPS
        terms = own + of_atoms
        apart = terms - products
        cancels = xp.any(apart < 1e-4 * terms, axis=1)
        if is_non_numpy(rows) and bool(xp.any(cancels)):
            direct = squared_distances(*given)
            apart, terms = (xp.where(cancels[:, None], direct, values) for values in (apart, terms))
        elif not is_non_numpy(rows):
            apart[cancels] = terms[cancels] = squared_distances(given[0][cancels], given[1])
        if beyond_nearest:
            far = own > xp.max(of_atoms)
            apart = xp.where(far, of_atoms - products, apart)
            terms = xp.where(far, of_atoms + 2.0 * xp.sqrt(own) * xp.sqrt(of_atoms), terms)
            apart = apart - xp.min(apart, axis=1, keepdims=True)
        return apart, rounding * terms

    def on_host(self, dictionary: BaseDictionary) -> Queries:
        """The same coordinates."""
        return Queries.of(dictionary, to_numpy(self.rows), terms=self._terms_on_host)

    def cross_as_given(self, cross: Array, query_scale: float) -> Array:
        """xᵀy of the samples and queries as given, from the cross products of these."""
        dictionary = self.dictionary
        if dictionary.origin is not None:
            origin = in_double(dictionary.origin)
            of_atoms = in_double(dictionary.atoms) @ origin
            of_queries = in_double(self.rows) @ origin + (origin @ origin) / query_scale
            cross = cross + of_atoms / query_scale + of_queries[:, None]
        return cross if dictionary.units == 1.0 else cross / dictionary.units / dictionary.units

    @property
    def squared_distances_to_mean(self) -> Array:
        """‖y − x̄‖² of each query to the mean atom x̄, in double precision."""
        return row_squares(in_double(self.rows) - self.dictionary.mean)

    def residual_cross(self, codes: Any, target: float = 1.0, gram: float = 1.0) -> Array:
        """xᵀ(target·y − gram·Xc) for each query y with code c and each atom x."""
        return (target * self.rows - gram * (codes @ self.dictionary.atoms)) @ self.dictionary.atoms.T

    def misfits(self, codes: Any, scale: float = 1.0) -> Array:
        """‖scale·y − Xc‖² for each query."""
        return row_squares(scale * self.rows - codes @ self.dictionary.atoms)

    def class_misfits(self, codes: Any, scale: float = 1.0) -> Array:
        """‖scale·y − X_i c_i‖² for each query y and class i, in the cheapest way: (n_queries, n_classes)."""
        if scale != 1.0:
            return Queries.of(self.dictionary, scale * self.rows).class_misfits(codes)
        if sparse.issparse(codes):
            if codes.nnz < codes.shape[0] * codes.shape[1]:
                return self._misfits_of_sparse(codes)
            codes.sort_indices()
            codes = codes.data.reshape(codes.shape)  # every entry is there, in order
        dictionary = self.dictionary
        # Writing, reading and squaring the d-vector X_i c_i of a class was measured to cost 4 products per entry.
        spared = (4 * dictionary.n_classes + (self._cross is not None) * dictionary.n_atoms) * dictionary.n_features
        if (np.diff(dictionary.bounds) ** 2).sum() < spared:
            return self._misfits_through_grams(codes)
        squares = [self._misfits_of_class(k, codes) for k in range(dictionary.n_classes)]
        return namespace(self.rows).stack(squares, axis=1)

    def _misfits_of_sparse(self, codes: sparse.csr_array) -> np.ndarray:
        from ancr._core.array_kernels import sparse_class_squares

        squares = np.empty((len(self), self.dictionary.n_classes), self.rows.dtype)
        codes.sort_indices()  # the entries of a class must be contiguous
        arrays = (codes.indptr, codes.indices, codes.data, self.rows, self.dictionary.atoms, self.dictionary.labels)
        sparse_class_squares(*map(read_only, arrays), squares)
        return squares

    def _misfits_of_class(self, k: int, codes: Array) -> Array:
        """‖y − X_k c_k‖² from the d-vector of class k itself."""
        block = self.dictionary.blocks[k]
        return row_squares(self.rows - codes[:, block] @ self.dictionary.atoms[block, :])

    def _misfits_through_grams(self, codes: Array) -> Array:
        """‖y‖² − 2·yᵀX_i c_i + c_iᵀ(X_iᵀX_i)c_i, and the direct formula where these, or terms of the last, cancel."""
        xp, dictionary, own = namespace(self.rows), self.dictionary, row_squares(self.rows)[:, None]
        squares = class_forms(dictionary, codes) + own - 2.0 * dictionary.class_dots(codes, self.cross)
        lengths = xp.astype(xp.sqrt(dictionary.squares), codes.dtype, copy=False)
        spread = dictionary.class_dots(codes * lengths, xp.sign(codes)) ** 2 + own
        # Below this share of the terms added up, too few correct digits are left for a square root.
        cancelled = squares < float(xp.finfo(squares.dtype).eps) ** 0.375 * spread
        for k in np.flatnonzero(to_numpy(xp.any(cancelled, axis=0))).tolist():
            mask, column = cancelled[:, k], squares[:, k]
            (rows,) = xp.nonzero(mask)
            some = CoordinateQueries(self.dictionary, xp.take(self.rows, rows, axis=0))
            column[mask] = some._misfits_of_class(k, xp.take(codes, rows, axis=0))
            squares[:, k] = column
        return squares

    def lengths_with_and_without(
        self, row: int, atoms: np.ndarray, weights: np.ndarray, place: int
    ) -> tuple[float, float]:
        """‖y − Σ w_j x_j‖ of one query over some atoms, and the same without the atom at ``place``."""
        used = to_numpy(take_rows(self.dictionary.atoms, like(atoms, self.dictionary.atoms)))
        misfit = to_numpy(self.rows[row, :]) - weights @ used
        return float(np.linalg.norm(misfit)), float(np.linalg.norm(misfit + weights[place] * used[place]))


class GramQueries(Queries):
    """Queries that are known by their inner products alone; ``rows`` are samples before the kernel.

    ``given`` are the same queries of the dictionary that a derived one is made from.
    """

    dictionary: GramDictionary

    def __init__(self, dictionary: GramDictionary, rows: Array, *, given: Queries | None = None, **known: Any) -> None:
        super().__init__(dictionary, rows, **known)
        self._given = given

    @property
    def given(self) -> Queries:
        """The queries of the dictionary that this one is derived from."""
        if self._given is None:
            assert self.dictionary.made_from is not None
            self._given = Queries.of(self.dictionary.made_from, self.rows)
        return self._given

    def _find_cross(self) -> Array:
        return self.dictionary.cross_of(self)

    def _find_squares(self) -> Array:
        return self.dictionary.squares_of(self)

    def release(self) -> None:
        """Forget all products, at the end of the block."""
        super().release()
        self._given = None

    def seen_by(self, dictionary: BaseDictionary, query_scale: float = 1.0) -> Queries:
        """The same rows; a derived dictionary uses the products of the one it is made from."""
        if dictionary is self.dictionary:
            return self
        terms = self.settled_terms
        if dictionary.made_from is None:
            rows = namespace(self.rows).astype(self.rows, dictionary.dtype, copy=False)
            return Queries.of(dictionary, rows, terms=terms)
        return Queries.of(dictionary, self.rows, given=self.seen_by(dictionary.made_from), terms=terms)

    def squared_distances(self, beyond_nearest: bool = False) -> tuple[Array, Array]:
        """k(y, y) − 2k(x, y) + k(x, x)."""
        own, of_atoms, xp = self.squares[:, None], self.dictionary.squares, namespace(self.squares)
        apart, product = of_atoms - 2.0 * in_double(self.cross), 2.0 * xp.sqrt(own) * xp.sqrt(of_atoms)
        rounding = (self.dictionary.dimension + 8) * _EPS + 2.0 * self.rounding
        if beyond_nearest:
            return apart - xp.min(apart, axis=1, keepdims=True), rounding * (of_atoms + product)
        return xp.clip(own + apart, 0.0, None), rounding * (own + of_atoms + product)

    def on_host(self, dictionary: BaseDictionary) -> Queries:
        """Their products in double precision, as rows [k, k(y, y)] of a `ProductsDictionary`."""
        double = self.in_double
        rows = np.hstack([to_numpy(double.cross), to_numpy(double.squares)[:, None]])
        return Queries.of(dictionary, rows, terms=self._terms_on_host)

    def cross_as_given(self, cross: Array, query_scale: float) -> Array:
        """Themselves: without coordinates nothing is moved."""
        return cross

    @property
    def squared_distances_to_mean(self) -> Array:
        """‖y − x̄‖² = k(y, y) − 2·mean k + mean K of each query to the mean atom x̄, in double precision."""
        apart = self.squares - 2.0 * row_means(self.cross) + self.dictionary.squared_mean
        return namespace(apart).clip(apart, 0.0, None)

    @property
    def rounding(self) -> float:
        """As the kernel says."""
        return self.dictionary.value_rounding(self.rows)

    def residual_cross(self, codes: Any, target: float = 1.0, gram: float = 1.0) -> Array:
        """xᵀ(target·y − gram·Xc) for each query y with code c and each atom x."""
        pull = (-gram) * (codes @ self.dictionary.gram)
        pull += self.cross if target == 1.0 else target * self.cross
        return pull

    def misfits(self, codes: Any, scale: float = 1.0) -> Array:
        """‖scale·y − Xc‖² for each query."""
        xp = namespace(self.rows)
        forms = row_dots(codes, codes @ self.dictionary.gram) - 2.0 * scale * row_dots(codes, self.cross)
        return xp.astype(xp.clip(scale**2 * self.squares + forms, 0.0, None), codes.dtype, copy=False)

    def class_misfits(self, codes: Any, scale: float = 1.0) -> Array:
        """‖scale·y − X_i c_i‖² for each query y and class i: (n_queries, n_classes)."""
        base, xp, dictionary = scale**2 * self.squares, namespace(self.rows), self.dictionary
        if sparse.issparse(codes):
            return self._misfits_of_sparse(base, codes, scale)
        squares = class_forms(dictionary, codes) - 2.0 * scale * dictionary.class_dots(codes, self.cross)
        return xp.astype(xp.clip(squares + base[:, None], 0.0, None), codes.dtype, copy=False)

    def _misfits_of_sparse(self, base: np.ndarray, codes: sparse.csr_array, scale: float) -> np.ndarray:
        from ancr._core.array_kernels import sparse_class_misfits

        squares = np.empty((len(base), self.dictionary.n_classes), codes.dtype)
        codes.sort_indices()  # the entries of a class must be contiguous
        entries = (codes.indptr, codes.indices, codes.data)
        arrays = (*entries, base, self.cross, self.dictionary.gram, self.dictionary.labels)
        sparse_class_misfits(*map(read_only, arrays), scale, squares)
        return squares

    def lengths_with_and_without(
        self, row: int, atoms: np.ndarray, weights: np.ndarray, place: int
    ) -> tuple[float, float]:
        """‖y − Σ w_j x_j‖ of one query over some atoms, and the same without the atom at ``place``."""
        weights, cross = weights.astype(float), to_numpy(self.cross[row, :]).astype(float)[atoms]
        image = to_numpy(submatrix(self.dictionary.gram, atoms)).astype(float) @ weights
        square = float(self.squares[row]) - weights @ (2.0 * cross - image)
        pull, own = cross[place] - image[place], float(self.dictionary.squares[int(atoms[place])])
        without = square + 2.0 * weights[place] * pull + weights[place] ** 2 * own
        return max(square, 0.0) ** 0.5, max(without, 0.0) ** 0.5


def row_means(rows: Array) -> Array:
    """Mean of each row, in double precision."""
    if is_non_numpy(rows):
        return namespace(rows).mean(in_double(rows), axis=1)
    return rows.mean(axis=1, dtype=float)
