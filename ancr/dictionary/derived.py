"""Dictionaries made from others: whitened, checked, rescaled, mirrored, or known by their products alone.

Without coordinates their inner products follow from those of the given dictionary, and their queries are its queries.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from ancr._core.arrays import Array, add_to_diagonal, concat, concat_columns, in_double, row_dots, to_numpy
from ancr._core.psd import psd_inverse
from ancr.dictionary.atoms import Atoms, BaseDictionary, one_class
from ancr.dictionary.coordinates import Dictionary
from ancr.dictionary.inner_products import GramDictionary
from ancr.dictionary.products import GramQueries
from ancr.dictionary.psd_checks import is_semidefinite_with, tolerated


def rescaled(dictionary: BaseDictionary, factors: np.ndarray) -> BaseDictionary:
    """The same classes with each atom multiplied by a factor of its own."""
    if not dictionary.has_coordinates:
        return RescaledDictionary.of(dictionary, factors)
    scaled = dictionary.atoms * dictionary.like(factors)[:, None]
    return dictionary.located.with_atoms(dictionary.xp.astype(scaled, dictionary.dtype, copy=False))


def reweighted(dictionary: BaseDictionary, weights: np.ndarray) -> BaseDictionary:
    """The same atoms with other weights, on which no product depends."""
    other = replace(dictionary, weights=weights)
    other.held |= {
        name: dictionary.held[name] for name in ("gram", "squares", "block_grams") if name in dictionary.held
    }
    return other


def mirrored(dictionary: BaseDictionary) -> BaseDictionary:
    """The atoms and, after them, their mirror images −x, all in one class."""
    atoms, of_one_class = dictionary.atoms, one_class(2 * dictionary.n_atoms)
    if dictionary.has_coordinates:
        return Dictionary(concat([atoms, -atoms]), **of_one_class)
    return MirroredDictionary(concat([atoms, atoms]), **of_one_class, given=dictionary)


def on_host(dictionary: BaseDictionary) -> BaseDictionary:
    """The same dictionary with NumPy arrays; without coordinates, the `ProductsDictionary` in double precision."""
    if dictionary.has_coordinates:
        return dictionary.located.with_atoms(np.ascontiguousarray(to_numpy(dictionary.atoms)))
    double = dictionary.in_double
    host = replace(ProductsDictionary.of(double), atoms=to_numpy(double.atoms))
    host.held |= {name: np.ascontiguousarray(to_numpy(getattr(double, name))) for name in ("gram", "squares")}
    return host


def in_long(dictionary: Dictionary) -> Dictionary:
    """The same classes with NumPy coordinates in the longest numbers of the machine."""
    return dictionary.with_atoms(dictionary.atoms.astype(np.longdouble))


def checked(dictionary: BaseDictionary, ridge: float) -> tuple[BaseDictionary, float]:
    """The dictionary for proofs, and what it takes from the ridge: itself and nothing, where it is certain."""
    return (dictionary, 0.0) if dictionary.is_certain else CheckedDictionary.check(dictionary, ridge)


@dataclass(eq=False)
class DerivedDictionary(GramDictionary):
    """A dictionary whose inner products follow from those of another one.

    Attributes
    ----------
    given : BaseDictionary
        The other one; queries are its queries.
    """

    given: BaseDictionary

    @property
    def made_from(self) -> BaseDictionary:
        """The dictionary that this one is derived from."""
        return self.given

    @classmethod
    def of(cls, given: Atoms, *more: Any) -> Self:
        """Derive a dictionary; ``more`` is what the class needs beside the given one."""
        return super().of(given, given, *more)

    def squares_of(self, queries: GramQueries) -> Array:
        """As the given dictionary."""
        return queries.given.squares

    @property
    def is_convex(self) -> bool:
        """As the given dictionary."""
        return self.given.is_convex

    def value_rounding(self, rows: Array) -> float:
        """As the given dictionary."""
        return self.given.value_rounding(rows)

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

    def _in_precision(self, name: str) -> Self:
        given = self.given.in_double if self.is_single else self.given.in_single
        return replace(self, atoms=self._atoms_of(given), given=given)

    def _atoms_of(self, given: BaseDictionary) -> Array:
        return given.atoms


@dataclass(eq=False)
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
            double.held.pop("gram")  # twice the size, and not needed again
        return psd_inverse(matrix, self.shift)

    def _gram(self) -> Array:
        """I − μM."""
        return self.xp.astype(add_to_diagonal(-self.shift * self._inverse, 1.0), self.dtype, copy=False)

    @property
    def leverage(self) -> Array:
        """h_i = x_iᵀ(XXᵀ + μI)⁻¹x_i of each atom, in double precision."""
        return 1.0 - self.shift * self.xp.linalg.diagonal(self._inverse)

    def _squares(self) -> Array:
        return self.xp.clip(self.leverage, 0.0, None)

    def cross_of(self, queries: GramQueries) -> Array:
        """Mk."""
        return self.xp.astype(queries.given.in_double.cross @ self._inverse, self.dtype, copy=False)

    def squares_of(self, queries: GramQueries) -> Array:
        """(k(y, y) − kᵀMk)/μ."""
        inside = row_dots(queries.given.cross, queries.cross)
        return self.xp.clip(queries.given.squares - inside, 0.0, None) / self.shift


class CheckedQueries(GramQueries):
    """Queries whose lengths are not known to belong to the space of the atoms."""

    @property
    def least_squares(self) -> Array:
        """As the given dictionary, whose atoms may be far shorter than with a shift."""
        return self.given.least_squares

    @property
    def inconsistent_with_gram(self) -> Array:
        """Whether a query has an inner product with an atom of no length, along which an objective could fall."""
        zero, xp = self.given.dictionary.squares == 0.0, self.dictionary.xp
        return xp.any(zero & (self.cross != 0.0), axis=1)

    @property
    def squared_distances_to_mean(self) -> Array:
        """As the given dictionary where that knows lengths; otherwise the least that a squared length can be."""
        return self.given.squared_distances_to_mean if self.given.dictionary.knows_lengths else self.squares


@dataclass(eq=False)
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

    queries_type = CheckedQueries

    @classmethod
    def check(cls, given: BaseDictionary, ridge: float) -> tuple[CheckedDictionary, float]:
        """The dictionary, and what it takes from the ridge."""
        gram = to_numpy(in_double(given.gram))
        rounding = tolerated(gram) * max(float(np.diagonal(gram).max()), 0.0)
        enough = ridge >= 2.0 * rounding  # otherwise the ridge is lost in rounding, as the certificate will find
        if is_semidefinite_with(gram, 0.0):
            shift = rounding if enough else 0.0
            return cls.of(given, shift, True), shift
        sound = enough and is_semidefinite_with(gram, ridge / 2.0 - rounding)
        return cls.of(given, ridge / 2.0 if sound else 0.0, sound), ridge / 2.0 if sound else 0.0

    @property
    def is_convex(self) -> bool:
        """Whether K was found to be positive semi-definite."""
        return self.is_sound

    @property
    def knows_lengths(self) -> bool:
        """False: k(y, y) may not belong to the space of K."""
        return False

    def _gram(self) -> Array:
        """K, with the shift."""
        return add_to_diagonal(self.xp.asarray(self.given.gram, copy=True), self.shift)

    def cross_of(self, queries: GramQueries) -> Array:
        """Those of the given dictionary."""
        return queries.given.cross

    def squares_of(self, queries: GramQueries) -> Array:
        """k(y, y), where it is given, but no less than the cross products allow."""
        least = queries.least_squares
        return self.xp.maximum(queries.given.squares, least) if self.given.knows_lengths else least


@dataclass(eq=False)
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

    def _gram(self) -> Array:
        """K times the factors of both atoms."""
        return self.given.gram * self._factors * self._factors[:, None]

    @property
    def _factors(self) -> Array:
        return self.xp.astype(self.like(self.factors), self.dtype)

    def cross_of(self, queries: GramQueries) -> Array:
        """k times the factors."""
        return queries.given.cross * self._factors


@dataclass(eq=False)
class MirroredDictionary(DerivedDictionary):
    """The atoms of another dictionary and, after them, their mirror images −x, all in one class."""

    def _atoms_of(self, given: BaseDictionary) -> Array:
        return concat([given.atoms, given.atoms])

    @property
    def n_distinct(self) -> int:
        """Mirror images count."""
        return 2 * self.given.n_distinct

    def _gram(self) -> Array:
        """K and −K in turn."""
        half = concat_columns([self.given.gram, -self.given.gram])
        return concat([half, -half])

    def cross_of(self, queries: GramQueries) -> Array:
        """k and −k."""
        return concat_columns([queries.given.cross, -queries.given.cross])


@dataclass(eq=False)
class ProductsDictionary(DerivedDictionary):
    """The atoms of another dictionary, for queries that are given by their products: rows [k, k(y, y)].

    For queries that leave the device of their block, and for atoms that are coded without themselves.
    """

    def _gram(self) -> Array:
        return self.given.gram

    def _squares(self) -> Array:
        return self.given.squares

    def value_rounding(self, rows: Array) -> float:
        """That of the atoms: the samples that queries were are not known any more."""
        return self.given.own_rounding

    def cross_of(self, queries: GramQueries) -> Array:
        """The first columns."""
        return queries.rows[:, : self.n_atoms]

    def squares_of(self, queries: GramQueries) -> Array:
        """The last column."""
        return in_double(queries.rows[:, self.n_atoms])
