r"""Dictionaries without coordinates: everything that solvers and rules ask for, from inner products alone.

With K the Gram matrix, k the inner products of a query with the atoms and k(y, y) its square,

    ‖y − Xc‖²      = k(y, y) − 2kᵀc + cᵀKc,
    ‖y − X_i c_i‖² = k(y, y) − 2k_iᵀc_i + c_iᵀK_ii c_i,
    Xᵀ(y − Xc)     = k − Kc.

A point Xc is known by its code c. Queries are plain rows, samples before the kernel; their k is computed once for a
block, see `GramDictionary.keeping`, and nothing of queries × atoms outlives it.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from threading import local
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.linalg import eigvalsh, lapack

from ancr.backends.arrays import concat, map_rows, read_only, row_dots
from ancr.backends.psd import psd_inverse
from ancr.dictionary import BaseDictionary, about_mean
from ancr.kernels import Kernel

# Rows of the Gram matrix computed at once, half of them by symmetry.
_GRAM_ROWS = 1024
# By this share of the longest atom's square, eigenvalues of a Gram matrix may be negative from rounding alone.
_ROUNDING = {4: 1e-5, 8: 1e-12}
# A difference of k(x, y) and k(y, x) that is no rounding, relative to the largest.
_UNEVEN = 1e-4
# The block of queries that each thread is working on: (dictionary, queries, their cross products or None).
_BLOCK = local()


@dataclass(frozen=True)
class GramDictionary(BaseDictionary):
    """Atoms that are known by their inner products; a subclass says where these come from."""

    @property
    def has_coordinates(self) -> bool:
        """False: there are inner products alone."""
        return False

    @property
    def coordinates(self) -> np.ndarray:
        """None, in an array that says so by its shape."""
        return np.empty((0, 0), self.dtype)

    def rescaled(self, factors: np.ndarray) -> RescaledDictionary:
        """The same classes with each atom multiplied by a factor of its own."""
        return RescaledDictionary.of(self, factors)

    @property
    def dimension(self) -> int:
        """As many as there are atoms."""
        return self.n_atoms

    def eigenvalues(self, on_plane: bool) -> tuple[np.ndarray, float]:
        """Those of the Gram matrix, with its rounding."""
        gram = self.gram.astype(float)
        return eigvalsh(about_mean(about_mean(gram).T) if on_plane else gram), float(np.finfo(float).eps)

    @abstractmethod
    def _values(self, queries: np.ndarray) -> np.ndarray:
        """xᵀy of each query with each atom, computed."""

    @cached_property
    def squares(self) -> np.ndarray:
        """‖x‖² of each atom, in double precision."""
        return np.maximum(np.diagonal(self.gram).astype(float), 0.0)

    @property
    def squared_mean(self) -> float:
        """‖x̄‖², the mean of the Gram matrix."""
        return float(self.gram.mean(dtype=float))

    @cached_property
    def block_grams(self) -> list[np.ndarray]:
        """X_iᵀX_i of each class."""
        return [np.ascontiguousarray(self.gram[block, block]) for block in self.blocks]

    @cached_property
    def flat_block_grams(self) -> tuple[np.ndarray, np.ndarray]:
        """X_iᵀX_i of all classes, one after the other in one array, and where each begins; for many small classes."""
        starts = np.concatenate([[0], np.cumsum(np.diff(self.bounds) ** 2)])
        return np.concatenate([gram.ravel() for gram in self.block_grams]), starts

    # --- inner products with queries and codes

    @contextmanager
    def keeping(self, queries: np.ndarray) -> Iterator[None]:
        """A context in which the inner products with this array of queries are computed only once, in this thread."""
        before = vars(_BLOCK).get("blocks", ())
        _BLOCK.blocks = (*before, (self, queries, {}))
        try:
            yield
        finally:
            _BLOCK.blocks = before

    def cross(self, queries: np.ndarray, scale: float = 1.0) -> np.ndarray:
        """scale·xᵀy of each query y with each atom x: (n_queries, n_atoms). Not to be written to."""
        values = self._known_values(queries)
        return values if scale == 1.0 else scale * values

    def _known_values(self, queries: np.ndarray) -> np.ndarray:
        if self._knows(queries):
            return vars(self)["_known"][1]
        return self._kept("values", queries, self._values)

    def _kept(self, name: str, queries: np.ndarray, compute: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """What has been computed for these queries in this thread's block, or is computed and kept now."""
        for dictionary, block, kept in vars(_BLOCK).get("blocks", ()):
            if dictionary is self and block is queries:
                if name not in kept:
                    kept[name] = compute(queries)
                return kept[name]
        return compute(queries)

    def squared_norms(self, queries: np.ndarray) -> np.ndarray:
        """k(y, y) of each query, in double precision."""
        if self._knows(queries) and (known := vars(self)["_known"][2]) is not None:
            return known
        return self._kept("squares", queries, self._squared_norms)

    def least_squared_norms(self, queries: np.ndarray) -> np.ndarray:
        """max k(y, x)²/k(x, x) over the atoms, which ‖φ(y)‖² cannot be below."""
        squares = np.where(self.squares > 0.0, self.squares, np.inf)
        return np.max(self.cross(queries).astype(float) ** 2 / squares, axis=1)

    @abstractmethod
    def _squared_norms(self, queries: np.ndarray) -> np.ndarray:
        """The same, computed."""

    def squared_distances_to_mean(self, queries: np.ndarray) -> np.ndarray:
        """‖y − x̄‖² = k(y, y) − 2·mean k + mean K of each query to the mean atom x̄, in double precision."""
        apart = self.squared_norms(queries) - 2.0 * self.cross(queries).mean(axis=1, dtype=float)
        return np.maximum(apart + self.squared_mean, 0.0)

    def residual_cross(self, queries: Any, codes: Any, target: float = 1.0, gram: float = 1.0) -> np.ndarray:
        """xᵀ(target·y − gram·Xc) for each query y with code c and each atom x; without queries y is zero."""
        pull = (-gram) * (codes @ self.gram)
        return pull if queries is None else np.add(pull, self.cross(queries, target), out=pull)

    def class_cross(self, codes: Any) -> np.ndarray:
        """X_iᵀX_i c_i for each class i, side by side: (n_queries, n_atoms)."""
        pairs = zip(self.blocks, self.block_grams, strict=True)
        return np.concatenate([codes[:, block] @ gram for block, gram in pairs], axis=1)

    def misfits(self, queries: np.ndarray, codes: Any, scale: float = 1.0) -> np.ndarray:
        """‖scale·y − Xc‖² for each query."""
        forms = row_dots(codes, codes @ self.gram) - 2.0 * scale * row_dots(codes, self.cross(queries))
        return np.maximum(scale**2 * self.squared_norms(queries) + forms, 0.0).astype(codes.dtype, copy=False)

    def class_misfits(self, queries: np.ndarray, codes: Any, scale: float = 1.0) -> np.ndarray:
        """‖scale·y − X_i c_i‖² for each query y and class i: (n_queries, n_classes)."""
        base = scale**2 * self.squared_norms(queries)
        if sparse.issparse(codes):
            return self._misfits_of_sparse(base, self.cross(queries), codes, scale)
        squares = self.class_forms(codes) - 2.0 * scale * self.class_dots(codes, self.cross(queries))
        return np.maximum(squares + base[:, None], 0.0).astype(codes.dtype, copy=False)

    def _misfits_of_sparse(self, base: np.ndarray, cross: np.ndarray, codes: Any, scale: float) -> np.ndarray:
        from ancr.backends.kernels import sparse_class_misfits

        squares = np.empty((len(base), self.n_classes), codes.dtype)
        codes.sort_indices()  # the entries of a class must be contiguous
        arrays = (codes.indptr, codes.indices, codes.data, base, cross, self.gram, self.labels)
        sparse_class_misfits(*map(read_only, arrays), scale, squares)
        return squares

    def class_shortfalls(self, codes: Any) -> np.ndarray:
        """‖Xc − X_i c_i‖² for each class i: how far it falls short of what all classes represent together."""
        codes = codes.toarray() if sparse.issparse(codes) else codes
        image = codes @ self.gram
        squares = self.class_forms(codes) - 2.0 * self.class_dots(codes, image)
        return np.maximum(squares + row_dots(codes, image)[:, None], 0.0)

    def lengths_with_and_without(
        self, queries: np.ndarray, row: int, atoms: np.ndarray, weights: np.ndarray, place: int
    ) -> tuple[float, float]:
        """‖y − Σ w_j x_j‖ of one query of a block over some atoms, and the same without the atom at ``place``."""
        weights, cross = weights.astype(float), self.cross(queries)[row, atoms].astype(float)
        image = self.gram[np.ix_(atoms, atoms)].astype(float) @ weights
        square = float(self.squared_norms(queries[[row]])[0]) - weights @ (2.0 * cross - image)
        pull, own = cross[place] - image[place], self.squares[atoms[place]]
        without = square + 2.0 * weights[place] * pull + weights[place] ** 2 * own
        return max(square, 0.0) ** 0.5, max(without, 0.0) ** 0.5


@dataclass(frozen=True)
class KernelDictionary(GramDictionary):
    """Atoms in the space of a kernel; ``atoms`` are the samples before it.

    Attributes
    ----------
    kernel : Kernel
        Gives the inner products.
    """

    kernel: Kernel

    @classmethod
    def of(cls, samples: BaseDictionary, kernel: Kernel) -> KernelDictionary:
        """The atoms of another dictionary, with a kernel in place of their coordinates."""
        kept = {"weights": samples.weights, "n_given": samples.n_given}
        return cls(samples.atoms, samples.order, samples.classes, samples.bounds, kernel, **kept)

    @cached_property
    def in_double(self) -> KernelDictionary:
        """The same dictionary in double precision; the dictionary itself if it already is."""
        if not self.is_single:
            return self
        double = replace(self, atoms=self.atoms.astype(float))
        if not self.kernel.is_certain:
            vars(double)["is_convex"] = self.is_convex  # inner products have been judged as they were given
        return double

    @cached_property
    def in_single(self) -> KernelDictionary:
        """The same dictionary in single precision; the dictionary itself if it already is.

        Its Gram matrix is that of double precision, rounded.
        """
        if self.is_single:
            return self
        single = replace(self, atoms=self.atoms.astype(np.float32))
        if "gram" in vars(self):
            vars(single)["gram"] = self.gram.astype(np.float32)
        return single

    @cached_property
    def _prepared(self) -> Any:
        return self.kernel.prepare(self.atoms, self.order)

    def _values(self, queries: np.ndarray) -> np.ndarray:
        return self._prepared(queries)

    def _squared_norms(self, queries: np.ndarray) -> np.ndarray:
        """k(y, y) or, where the kernel cannot know it, its mean over the atoms."""
        squares = self.kernel.squares(queries)
        return np.where(np.isnan(squares), self.squares.mean(), squares)

    @cached_property
    def gram(self) -> np.ndarray:
        """K, computed on first use and cached."""
        growth = self._carried("gram")
        gram = growth.extend_gram_by(self._in_parallel(self.atoms[growth.new])) if growth else self._gram()
        squares = self.kernel.squares(self.atoms)
        known = np.flatnonzero(~np.isnan(squares))
        gram[known, known] = squares[known]
        if not self.kernel.is_certain and "is_convex" not in vars(self) and not _semidefinite(gram):
            vars(self)["is_convex"] = False
            warnings.warn(
                f"kernel={self.kernel.name!r} is not positive semi-definite on the samples: no space has such inner "
                "products, codes need not be optimal, and none is certified",
                UserWarning,
                stacklevel=2,
            )
        return gram

    @property
    def knows_lengths(self) -> bool:
        """Whether k(y, y) of a query is known."""
        return self.kernel.knows_squares

    @cached_property
    def is_convex(self) -> bool:
        """Whether K is positive semi-definite, so that every quadratic of the family is convex."""
        _ = self.gram
        return vars(self).get("is_convex", True)

    def _gram(self) -> np.ndarray:
        """The lower half in blocks of rows, and its mirror image."""
        gram = np.empty((self.n_atoms, self.n_atoms), self.dtype)
        for start in range(0, self.n_atoms, _GRAM_ROWS):
            stop = min(start + _GRAM_ROWS, self.n_atoms)
            first = replace(self, atoms=self.atoms[:stop], order=self.order[:stop])
            gram[start:stop, :stop] = first._values(self.atoms[start:stop])
            gram[:start, start:stop] = gram[start:stop, :start].T
            own = gram[start:stop, start:stop]
            if not np.abs(own - own.T).max() <= _UNEVEN * np.abs(own).max():
                raise ValueError(f"kernel={self.kernel.name!r} must be symmetric; k(x, y) and k(y, x) differ")
            own[...] = 0.5 * (own + own.T)
        return gram

    def _in_parallel(self, rows: np.ndarray) -> np.ndarray:
        return concat(map_rows(lambda block: self._values(rows[block]), rows, 8 * self.n_atoms))


@dataclass(frozen=True)
class DerivedDictionary(GramDictionary):
    """A dictionary whose inner products follow from those of another one, by one more number or array.

    Attributes
    ----------
    given : GramDictionary
        The other one; queries are its queries.
    """

    given: GramDictionary

    @classmethod
    def of(cls, given: GramDictionary, how: Any) -> Self:
        """Derive a dictionary; ``how`` is what the class needs beside the given one."""
        kept = {"weights": given.weights, "n_given": given.n_given}
        fields: tuple[Any, ...] = (given.atoms, given.order, given.classes, given.bounds, given, how)
        return cls(*fields, **kept)

    @property
    def is_convex(self) -> bool:
        """As the given dictionary."""
        return self.given.is_convex

    @property
    def knows_lengths(self) -> bool:
        """As the given dictionary."""
        return self.given.knows_lengths

    @cached_property
    def in_double(self) -> Self:
        """The same dictionary in double precision; the dictionary itself if it already is."""
        return self._from(self.given.in_double) if self.is_single else self

    @cached_property
    def in_single(self) -> Self:
        """The same dictionary in single precision; the dictionary itself if it already is."""
        return self if self.is_single else self._from(self.given.in_single)

    def _from(self, given: GramDictionary) -> Self:
        """The same, derived from the given dictionary in another precision."""
        return replace(self, atoms=given.atoms, given=given)


@dataclass(frozen=True)
class WhitenedDictionary(DerivedDictionary):
    """The atoms of another dictionary times (XXᵀ + μI)^(−1/2): where a relaxed constraint becomes a hard one.

    With M = (K + μI)⁻¹ all inner products follow from those of the given dictionary,

        X̂ᵀX̂ = KM = I − μM,    X̂ᵀŷ = Mk,    ‖ŷ‖² = (k(y, y) − kᵀMk)/μ,

    so its queries are those of the given one.

    Attributes
    ----------
    given : GramDictionary
        The atoms before whitening.
    shift : float
        μ > 0.
    """

    shift: float

    @cached_property
    def _inverse(self) -> np.ndarray:
        """M, in double precision: the entries of Mk cancel, and single precision would leave too little of them."""
        double = self.given.in_double
        matrix = double.gram.copy()
        matrix[np.diag_indices_from(matrix)] += self.shift
        if self.is_single:
            vars(double).pop("gram")  # twice the size, and not needed again
        return psd_inverse(matrix, self.shift)

    @cached_property
    def gram(self) -> np.ndarray:
        """I − μM."""
        gram = -self.shift * self._inverse
        gram[np.diag_indices_from(gram)] += 1.0
        vars(self)["leverage"] = np.diagonal(gram).copy()
        return gram.astype(self.dtype, copy=False)

    @cached_property
    def leverage(self) -> np.ndarray:
        """h_i = x_iᵀ(XXᵀ + μI)⁻¹x_i of each atom, in double precision."""
        _ = self.gram
        return vars(self)["leverage"]

    @cached_property
    def squares(self) -> np.ndarray:
        """‖x̂‖² of each atom, in double precision."""
        return np.maximum(self.leverage, 0.0)

    def _values(self, queries: np.ndarray) -> np.ndarray:
        double = self.given.in_double.cross(queries.astype(float, copy=False)) @ self._inverse
        return double.astype(self.dtype, copy=False)

    def _squared_norms(self, queries: np.ndarray) -> np.ndarray:
        inside = row_dots(self.given.cross(queries), self.cross(queries))
        return np.maximum(self.given.squared_norms(queries) - inside, 0.0) / self.shift


@dataclass(frozen=True)
class RescaledDictionary(DerivedDictionary):
    """The atoms of another dictionary, each multiplied by a factor of its own; queries stay what they are.

    Attributes
    ----------
    given : GramDictionary
        The atoms before.
    factors : ndarray of shape (n_atoms,)
        Their factors, in double precision.
    """

    factors: np.ndarray

    @cached_property
    def gram(self) -> np.ndarray:
        """K times the factors of both atoms."""
        factors = self.factors.astype(self.dtype)
        return self.given.gram * factors * factors[:, None]

    def _values(self, queries: np.ndarray) -> np.ndarray:
        return self.given.cross(queries) * self.factors.astype(self.dtype)

    def _squared_norms(self, queries: np.ndarray) -> np.ndarray:
        return self.given.squared_norms(queries)


def _semidefinite(gram: np.ndarray) -> bool:
    """Whether all eigenvalues of a Gram matrix are zero or above, up to rounding.

    Exactly then a Cholesky factorisation of the matrix plus that rounding succeeds.
    """
    rounding = _ROUNDING[gram.itemsize] * len(gram) ** 0.5 * max(float(np.diagonal(gram).max()), 0.0)
    matrix = gram.astype(float)
    matrix[np.diag_indices_from(matrix)] += rounding
    (potrf,) = lapack.get_lapack_funcs(("potrf",), (matrix,))
    return not matrix.any() or not potrf(matrix, overwrite_a=True)[1]
