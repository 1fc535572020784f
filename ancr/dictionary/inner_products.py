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

from ancr._core.arrays import (
    Array,
    add_to_diagonal,
    concat,
    concat_columns,
    dense,
    in_double,
    is_non_numpy,
    is_single,
    map_rows,
    namespace,
    read_only,
    row_dots,
    submatrix,
    take_rows,
    to_numpy,
    with_diagonal,
)
from ancr._core.psd import psd_inverse
from ancr.dictionary.atoms import BaseDictionary, about_mean, one_class
from ancr.dictionary.mercer import Kernel

# Rows of the Gram matrix computed at once, half of them by symmetry.
_GRAM_ROWS = 1024
# By this share of the longest atom's square, eigenvalues of a Gram matrix may be negative from rounding alone, in
# single precision and in double.
_ROUNDING = {True: 1e-5, False: 1e-12}
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
    def coordinates(self) -> Array:
        """None, in an array that says so by its shape."""
        return self.atoms[:0, :0]

    @property
    def by_products(self) -> ProductsDictionary:
        """The dictionary whose queries are the `products` of the queries of this one."""
        return ProductsDictionary.of(self)

    @property
    def mirrored(self) -> MirroredDictionary:
        """The atoms and, after them, their mirror images −x, all in one class."""
        return MirroredDictionary(concat([self.atoms, self.atoms]), **one_class(2 * self.n_atoms), given=self)

    @property
    def on_host(self) -> ProductsDictionary:
        """The dictionary `by_products` with NumPy arrays, in double precision."""
        return self.by_products.on_host

    def products(self, queries: Array) -> Array:
        """Rows [k, k(y, y)] of each query, in double precision: all that a solver has to know about it."""
        double, rows = self.in_double, in_double(queries)
        with double.keeping(rows):
            return self.xp.concat([double.cross(rows), double.squared_norms(rows)[:, None]], axis=1)

    def checked(self, ridge: float) -> tuple[GramDictionary, float]:
        """The dictionary for proofs, and what it takes from the ridge: see `CheckedDictionary`."""
        return (self, 0.0) if self.is_certain else CheckedDictionary.check(self, ridge)

    def rescaled(self, factors: np.ndarray) -> RescaledDictionary:
        """The same classes with each atom multiplied by a factor of its own."""
        return RescaledDictionary.of(self, factors)

    @property
    def dimension(self) -> int:
        """As many as there are atoms."""
        return self.n_atoms

    def eigenvalues(self, on_plane: bool) -> tuple[np.ndarray, float]:
        """Those of the Gram matrix, with its rounding: also on the plane, where they may be far smaller than it."""
        return eigenvalues_of(to_numpy(in_double(self.gram)), on_plane, self.own_rounding)

    @property
    def own_rounding(self) -> float:
        """What rounding can do to the Gram matrix, as a share of the lengths of two atoms."""
        return self.value_rounding(self.atoms)

    @abstractmethod
    def _values(self, queries: Array) -> Array:
        """xᵀy of each query with each atom, computed."""

    @cached_property
    def squares(self) -> Array:
        """‖x‖² of each atom, in double precision."""
        return self.xp.clip(in_double(self.xp.linalg.diagonal(self.gram)), 0.0, None)

    @cached_property
    def squared_mean(self) -> float:
        """‖x̄‖², the mean of the Gram matrix."""
        return float(self.xp.mean(row_means(self.gram)))

    @cached_property
    def block_grams(self) -> list[Array]:
        """X_iᵀX_i of each class."""
        blocks = [self.gram[block, block] for block in self.blocks]
        return blocks if self.is_non_numpy else [np.ascontiguousarray(block) for block in blocks]

    @cached_property
    def _padded_grams(self) -> Array:
        """X_iᵀX_i of each class, zero beyond its atoms: (n_classes, longest, longest)."""
        xp, longest = self.xp, self._places.shape[0] // self.n_classes
        places = xp.reshape(self._places, (self.n_classes, longest))
        pairs = places[:, :, None] * self.n_atoms + places[:, None, :]
        grams = xp.take(xp.reshape(self.gram, (-1,)), xp.reshape(pairs, (-1,)))
        inside = self.like(np.arange(longest) < np.diff(self.bounds)[:, None])
        both = inside[:, :, None] & inside[:, None, :]
        return xp.where(both, xp.reshape(grams, tuple(both.shape)), xp.zeros_like(grams[:1]))

    @cached_property
    def flat_block_grams(self) -> tuple[np.ndarray, np.ndarray]:
        """X_iᵀX_i of all classes, one after the other in one array, and where each begins; for many small classes."""
        starts = np.concatenate([[0], np.cumsum(np.diff(self.bounds) ** 2)])
        return np.concatenate([gram.ravel() for gram in self.block_grams]), starts

    # --- inner products with queries and codes

    @contextmanager
    def keeping(self, queries: Array) -> Iterator[None]:
        """A context in which the inner products with this array of queries are computed only once, in this thread."""
        before = vars(_BLOCK).get("blocks", ())
        _BLOCK.blocks = (*before, (self, queries, {}))
        try:
            yield
        finally:
            _BLOCK.blocks = before

    def cross(self, queries: Array, scale: float = 1.0) -> Array:
        """scale·xᵀy of each query y with each atom x: (n_queries, n_atoms). Not to be written to."""
        values = self._known_values(queries)
        return values if scale == 1.0 else scale * values

    def _known_values(self, queries: Array) -> Array:
        if self._knows(queries):
            return vars(self)["_known"][1]
        return self._kept("values", queries, self._values)

    def _kept(self, name: str, queries: Array, compute: Callable[[Array], Array]) -> Array:
        """What has been computed for these queries in this thread's block, or is computed and kept now."""
        for dictionary, block, kept in vars(_BLOCK).get("blocks", ()):
            if dictionary is self and block is queries:
                if name not in kept:
                    kept[name] = compute(queries)
                return kept[name]
        return compute(queries)

    def squared_norms(self, queries: Array) -> Array:
        """k(y, y) of each query, in double precision."""
        if self._knows(queries) and (known := vars(self)["_known"][2]) is not None:
            return known
        return self._kept("squares", queries, self._squared_norms)

    def least_squared_norms(self, queries: Array) -> Array:
        """max k(y, x)²/k(x, x) over the atoms, which ‖φ(y)‖² cannot be below."""
        squares = self.xp.where(self.squares > 0.0, self.squares, float("inf"))
        return self.xp.max(in_double(self.cross(queries)) ** 2 / squares, axis=1)

    @abstractmethod
    def _squared_norms(self, queries: Array) -> Array:
        """The same, computed."""

    def squared_distances_to_mean(self, queries: Array) -> Array:
        """‖y − x̄‖² = k(y, y) − 2·mean k + mean K of each query to the mean atom x̄, in double precision."""
        apart = self.squared_norms(queries) - 2.0 * row_means(self.cross(queries))
        return self.xp.clip(apart + self.squared_mean, 0.0, None)

    def residual_cross(self, queries: Any, codes: Any, target: float = 1.0, gram: float = 1.0) -> Array:
        """xᵀ(target·y − gram·Xc) for each query y with code c and each atom x; without queries y is zero."""
        pull = (-gram) * (codes @ self.gram)
        if queries is not None:
            pull += self.cross(queries, target)
        return pull

    def class_cross(self, codes: Any) -> Array:
        """X_iᵀX_i c_i for each class i, side by side: (n_queries, n_atoms)."""
        pairs = zip(self.blocks, self.block_grams, strict=True)
        return self.xp.concat([codes[:, block] @ gram for block, gram in pairs], axis=1)

    def misfits(self, queries: Array, codes: Any, scale: float = 1.0) -> Array:
        """‖scale·y − Xc‖² for each query."""
        forms = row_dots(codes, codes @ self.gram) - 2.0 * scale * row_dots(codes, self.cross(queries))
        squares = self.xp.clip(scale**2 * self.squared_norms(queries) + forms, 0.0, None)
        return self.xp.astype(squares, codes.dtype, copy=False)

    def class_misfits(self, queries: Array, codes: Any, scale: float = 1.0) -> Array:
        """‖scale·y − X_i c_i‖² for each query y and class i: (n_queries, n_classes)."""
        base = scale**2 * self.squared_norms(queries)
        if sparse.issparse(codes):
            return self._misfits_of_sparse(base, self.cross(queries), codes, scale)
        squares = self.class_forms(codes) - 2.0 * scale * self.class_dots(codes, self.cross(queries))
        return self.xp.astype(self.xp.clip(squares + base[:, None], 0.0, None), codes.dtype, copy=False)

    def _misfits_of_sparse(self, base: np.ndarray, cross: np.ndarray, codes: Any, scale: float) -> np.ndarray:
        from ancr._core.array_kernels import sparse_class_misfits

        squares = np.empty((len(base), self.n_classes), codes.dtype)
        codes.sort_indices()  # the entries of a class must be contiguous
        arrays = (codes.indptr, codes.indices, codes.data, base, cross, self.gram, self.labels)
        sparse_class_misfits(*map(read_only, arrays), scale, squares)
        return squares

    def class_shortfalls(self, codes: Any) -> Array:
        """‖Xc − X_i c_i‖² for each class i: how far it falls short of what all classes represent together."""
        codes = dense(codes)
        image = codes @ self.gram
        squares = self.class_forms(codes) - 2.0 * self.class_dots(codes, image)
        return self.xp.clip(squares + row_dots(codes, image)[:, None], 0.0, None)

    def lengths_with_and_without(
        self, queries: Array, row: int, atoms: np.ndarray, weights: np.ndarray, place: int
    ) -> tuple[float, float]:
        """‖y − Σ w_j x_j‖ of one query of a block over some atoms, and the same without the atom at ``place``."""
        weights, cross = weights.astype(float), to_numpy(self.cross(queries)[row, :]).astype(float)[atoms]
        image = to_numpy(submatrix(self.gram, atoms)).astype(float) @ weights
        square = float(self.squared_norms(queries)[row]) - weights @ (2.0 * cross - image)
        pull, own = cross[place] - image[place], float(self.squares[int(atoms[place])])
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
        double = replace(self, atoms=in_double(self.atoms))
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
        single = replace(self, atoms=self.xp.astype(self.atoms, self.xp.float32))
        if "gram" in vars(self):
            vars(single)["gram"] = self.xp.astype(self.gram, self.xp.float32)
        return single

    @cached_property
    def _prepared(self) -> Any:
        return self.kernel.prepare(self.atoms, self.order)

    def _values(self, queries: Array) -> Array:
        return self._prepared(queries)

    def _squared_norms(self, queries: Array) -> Array:
        """k(y, y) or, where the kernel cannot know it, its mean over the atoms."""
        squares = self.kernel.squares(queries)
        return self.xp.where(self.xp.isnan(squares), self.xp.mean(self.squares), squares)

    @cached_property
    def gram(self) -> Array:
        """K, computed on first use and cached."""
        growth = self._carried("gram")
        gram = growth.extend_gram_by(self._in_parallel(take_rows(self.atoms, growth.new))) if growth else self._gram()
        squares, xp = self.kernel.squares(self.atoms), self.xp
        gram = with_diagonal(gram, xp.where(xp.isnan(squares), in_double(xp.linalg.diagonal(gram)), squares))
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

    def value_rounding(self, queries: Array) -> float:
        """As the kernel says."""
        return self.kernel.rounding(self.atoms, queries)

    @property
    def is_certain(self) -> bool:
        """Whether the kernel's formula says that there is a space with these inner products."""
        return self.kernel.is_certain

    @cached_property
    def n_distinct(self) -> int:
        """Atoms of some length that are not equal to another one; inner products that were given may differ even so."""
        long = to_numpy(self.squares) > 0.0
        return len(np.unique(to_numpy(self.atoms)[long], axis=0)) if self.knows_lengths else int(long.sum())

    @cached_property
    def is_convex(self) -> bool:
        """Whether K is positive semi-definite, so that every quadratic of the family is convex."""
        _ = self.gram
        return vars(self).get("is_convex", True)

    def _gram(self) -> Array:
        """The lower half in blocks of rows, and its mirror image; on a device all at once, in double precision."""
        if self.is_non_numpy:
            # Solvers need it in double precision in any case; inner products that were given are judged as they are.
            from_double = self.is_single and self.kernel.is_certain
            values = self.in_double.gram if from_double else self._made_even(self._values(self.atoms))
            return self.xp.astype(values, self.dtype)
        gram = np.empty((self.n_atoms, self.n_atoms), self.dtype)
        for start in range(0, self.n_atoms, _GRAM_ROWS):
            stop = min(start + _GRAM_ROWS, self.n_atoms)
            first = replace(self, atoms=self.atoms[:stop], order=self.order[:stop])
            gram[start:stop, :stop] = first._values(self.atoms[start:stop])
            gram[:start, start:stop] = gram[start:stop, :start].T
            own = gram[start:stop, start:stop]
            own[...] = self._made_even(own)
        return gram

    def _made_even(self, values: Array) -> Array:
        """Kernel values of samples with themselves, exactly symmetric."""
        xp, mirrored = self.xp, values.T
        if not float(xp.max(xp.abs(values - mirrored))) <= _UNEVEN * float(xp.max(xp.abs(values))):
            raise ValueError(f"kernel={self.kernel.name!r} must be symmetric; k(x, y) and k(y, x) differ")
        return 0.5 * (values + mirrored)

    def _in_parallel(self, rows: Array) -> Array:
        return concat(map_rows(lambda block: self._values(rows[block, :]), rows, 8 * self.n_atoms))


@dataclass(frozen=True)
class DerivedDictionary(GramDictionary):
    """A dictionary whose inner products follow from those of another one.

    Attributes
    ----------
    given : GramDictionary
        The other one; queries are its queries.
    """

    given: GramDictionary

    @classmethod
    def of(cls, given: Any, *how: Any) -> Self:
        """Derive a dictionary; ``how`` is what the class needs beside the given one."""
        kept = {"weights": given.weights, "n_given": given.n_given}
        fields: tuple[Any, ...] = (given.atoms, given.order, given.classes, given.bounds, given, *how)
        return cls(*fields, **kept)

    @property
    def is_convex(self) -> bool:
        """As the given dictionary."""
        return self.given.is_convex

    def value_rounding(self, queries: Array) -> float:
        """As the given dictionary."""
        return self.given.value_rounding(queries)

    @property
    def own_rounding(self) -> float:
        """As the given dictionary."""
        return self.given.own_rounding

    @property
    def is_certain(self) -> bool:
        """As the given dictionary."""
        return self.given.is_certain

    @property
    def n_distinct(self) -> int:
        """As the given dictionary."""
        return self.given.n_distinct

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
    def _inverse(self) -> Array:
        """M, in double precision: the entries of Mk cancel, and single precision would leave too little of them."""
        double = self.given.in_double
        matrix = add_to_diagonal(self.xp.asarray(double.gram, copy=True), self.shift)
        if self.is_single:
            vars(double).pop("gram", None)  # twice the size, and not needed again
        return psd_inverse(matrix, self.shift)

    @cached_property
    def gram(self) -> Array:
        """I − μM."""
        gram = add_to_diagonal(-self.shift * self._inverse, 1.0)
        vars(self)["leverage"] = self.xp.asarray(self.xp.linalg.diagonal(gram), copy=True)
        return self.xp.astype(gram, self.dtype, copy=False)

    @cached_property
    def leverage(self) -> Array:
        """h_i = x_iᵀ(XXᵀ + μI)⁻¹x_i of each atom, in double precision."""
        _ = self.gram
        return vars(self)["leverage"]

    @cached_property
    def squares(self) -> Array:
        """‖x̂‖² of each atom, in double precision."""
        return self.xp.clip(self.leverage, 0.0, None)

    def _values(self, queries: Array) -> Array:
        double = self.given.in_double.cross(in_double(queries)) @ self._inverse
        return self.xp.astype(double, self.dtype, copy=False)

    def _squared_norms(self, queries: Array) -> Array:
        inside = row_dots(self.given.cross(queries), self.cross(queries))
        return self.xp.clip(self.given.squared_norms(queries) - inside, 0.0, None) / self.shift


@dataclass(frozen=True)
class CheckedDictionary(DerivedDictionary):
    """User-supplied inner products, not known to be positive semi-definite, as a proof may use them.

    That K has no negative eigenvalue is checked; if it has, but none below −λ/2, then K + λ/2·I is an inner product and
    λ/2 is left of the ridge. That K and the query's k and k(y, y) belong to one space is not known, so that lengths of
    queries prove nothing: they only say how large numbers are, of which rounding is a share.

    Attributes
    ----------
    given : GramDictionary
        The atoms.
    shift : float
        What is added to the diagonal of K.
    is_sound : bool
        Whether K has no negative eigenvalue then, up to rounding in double precision.
    """

    shift: float
    is_sound: bool

    @classmethod
    def check(cls, given: GramDictionary, ridge: float) -> tuple[CheckedDictionary, float]:
        """The dictionary, and what it takes from the ridge."""
        gram = to_numpy(in_double(given.gram))
        rounding = _tolerated(gram) * max(float(np.diagonal(gram).max()), 0.0)
        enough = ridge >= 2.0 * rounding  # otherwise it is lost, see `Hessian.ridge_is_lost`
        if _is_semidefinite(gram, 0.0):
            shift = rounding if enough else 0.0
            return cls.of(given, shift, True), shift
        sound = enough and _is_semidefinite(gram, ridge / 2.0 - rounding)
        return cls.of(given, ridge / 2.0 if sound else 0.0, sound), ridge / 2.0 if sound else 0.0

    @property
    def is_convex(self) -> bool:
        """Whether K was found to be positive semi-definite."""
        return self.is_sound

    @property
    def knows_lengths(self) -> bool:
        """False: k(y, y) may not belong to the space of K."""
        return False

    @cached_property
    def gram(self) -> Array:
        """K, with the shift."""
        return add_to_diagonal(self.xp.asarray(self.given.gram, copy=True), self.shift)

    def _values(self, queries: Array) -> Array:
        return self.given.cross(queries)

    def _squared_norms(self, queries: Array) -> Array:
        least = self.least_squared_norms(queries)
        return self.xp.maximum(self.given.squared_norms(queries), least) if self.given.knows_lengths else least

    def least_squared_norms(self, queries: Array) -> Array:
        """As the given dictionary, whose atoms may be far shorter than with a shift."""
        return self.given.least_squared_norms(queries)

    def inconsistent_with_gram(self, queries: Array) -> Array:
        """Whether a query has an inner product with an atom of no length, along which an objective could fall."""
        zero = self.given.squares == 0.0
        return self.xp.any(zero & (self.given.cross(queries) != 0.0), axis=1)

    def squared_distances_to_mean(self, queries: Array) -> Array:
        """As the given dictionary where that knows lengths; otherwise the least that a squared length can be."""
        if self.given.knows_lengths:
            return self.given.squared_distances_to_mean(queries)
        return self.squared_norms(queries)


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
    def gram(self) -> Array:
        """K times the factors of both atoms."""
        return self.given.gram * self._factors * self._factors[:, None]

    @property
    def _factors(self) -> Array:
        return self.xp.astype(self.like(self.factors), self.dtype)

    def _values(self, queries: Array) -> Array:
        return self.given.cross(queries) * self._factors

    def _squared_norms(self, queries: Array) -> Array:
        return self.given.squared_norms(queries)


@dataclass(frozen=True)
class MirroredDictionary(DerivedDictionary):
    """The atoms of another dictionary and, after them, their mirror images −x, all in one class."""

    def _from(self, given: GramDictionary) -> Self:
        return replace(self, atoms=concat([given.atoms, given.atoms]), given=given)

    @property
    def n_distinct(self) -> int:
        """Mirror images count."""
        return 2 * self.given.n_distinct

    @cached_property
    def gram(self) -> Array:
        """K and −K in turn."""
        half = concat_columns([self.given.gram, -self.given.gram])
        return concat([half, -half])

    def _values(self, queries: Array) -> Array:
        return concat_columns([self.given.cross(queries), -self.given.cross(queries)])

    def _squared_norms(self, queries: Array) -> Array:
        return self.given.squared_norms(queries)


@dataclass(frozen=True)
class ProductsDictionary(DerivedDictionary):
    """The atoms of another dictionary, for queries that are rows of `GramDictionary.products`: [k, k(y, y)].

    Rows can be taken, joined and moved like samples, and nothing of them is computed twice.
    """

    @cached_property
    def gram(self) -> Array:
        """That of the given dictionary."""
        return self.given.gram

    @cached_property
    def squares(self) -> Array:
        """Those of the given dictionary."""
        return self.given.squares

    @property
    def by_products(self) -> Self:
        """Itself."""
        return self

    def products(self, queries: Array) -> Array:
        """Queries themselves, in double precision."""
        return in_double(queries)

    def value_rounding(self, queries: Array) -> float:
        """That of the atoms: the samples that queries were are not known any more."""
        return self.given.own_rounding

    def _values(self, queries: Array) -> Array:
        return queries[:, : self.n_atoms]

    def _squared_norms(self, queries: Array) -> Array:
        return in_double(queries[:, self.n_atoms])

    @property
    def on_host(self) -> Self:
        """The same with NumPy arrays, in double precision."""
        double = self.in_double
        host = replace(double, atoms=to_numpy(double.atoms))
        vars(host).update({name: np.ascontiguousarray(to_numpy(getattr(double, name))) for name in ("gram", "squares")})
        return host


def row_means(rows: Array) -> Array:
    """Mean of each row, in double precision."""
    if is_non_numpy(rows):
        return namespace(rows).mean(in_double(rows), axis=1)
    return rows.mean(axis=1, dtype=float)


def eigenvalues_of(matrix: np.ndarray, on_plane: bool, share: float = 0.0) -> tuple[np.ndarray, float]:
    """Eigenvalues of a symmetric matrix, restricted to Σc = 0 if ``on_plane``, and what its rounding does to them.

    ``share`` is what rounding has done to its entries, relative to the roots of the two entries on the diagonal.
    """
    lengths = np.sqrt(np.clip(np.diagonal(matrix), 0.0, None))
    rounding = (len(matrix) + 16.0) * float(np.finfo(float).eps) * float(np.abs(matrix).sum(axis=1).max())
    rounding += share * float(lengths.max()) * float(lengths.sum())
    return eigvalsh(about_mean(about_mean(matrix).T) if on_plane else matrix), rounding


def _tolerated(gram: np.ndarray) -> float:
    """The largest negative eigenvalue that counts as rounding, for a diagonal of ones."""
    return 8.0 * len(gram) * float(np.finfo(float).eps)


def _is_semidefinite(gram: np.ndarray, shift: float) -> bool:
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
    matrix[np.diag_indices_from(matrix)] += _tolerated(gram)
    (potrf,) = lapack.get_lapack_funcs(("potrf",), (matrix,))
    return not len(matrix) or not potrf(matrix, overwrite_a=True)[1]


def _semidefinite(gram: Array) -> bool:
    """Whether all eigenvalues of a Gram matrix are zero or above, up to rounding.

    Exactly then a Cholesky factorisation of the matrix plus that rounding succeeds.
    """
    single, gram = is_single(gram.dtype), to_numpy(gram)
    rounding = _ROUNDING[single] * len(gram) ** 0.5 * max(float(np.diagonal(gram).max()), 0.0)
    matrix = gram.astype(float)
    matrix[np.diag_indices_from(matrix)] += rounding
    (potrf,) = lapack.get_lapack_funcs(("potrf",), (matrix,))
    return not matrix.any() or not potrf(matrix, overwrite_a=True)[1]
