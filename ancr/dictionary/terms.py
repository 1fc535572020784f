"""What single queries ask for beside their samples: atoms not to use, prices of atoms, codes to start from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse

from ancr._core.arrays import Array, concat, in_double, like, namespace, row_dots, take_rows, to_numpy

if TYPE_CHECKING:
    from ancr.dictionary.atoms import BaseDictionary
    from ancr.dictionary.products import Queries


class Locality:
    """Prices that grow with the distance of an atom from the query: w·‖x_j − y‖².

    On Σc = 1 this is the penalty of Abadie and L'Hour (2021) for synthetic controls, and that of locality-constrained
    coding: of two codes that fit equally well, the one over nearer atoms is preferred.

    Parameters
    ----------
    weight : float
        w ≥ 0.

    Examples
    --------
    >>> from ancr import Locality, solve
    >>> atoms = [[0.0], [1.0], [3.0]]
    >>> solve(atoms, [[1.5]], alpha=1e-6, prices=Locality(0.1)).codes.toarray().round(3)
    array([[0.   , 0.775, 0.225]])
    """

    def __init__(self, weight: float) -> None:
        if not (isinstance(weight, (int, float)) and 0.0 <= weight < float("inf")):
            raise ValueError(f"the weight of Locality must be a finite number of at least 0, got {weight!r}")
        self.weight = weight

    def __repr__(self) -> str:
        return f"Locality({self.weight!r})"

    def __call__(self, queries: Queries) -> Array:
        """Prices of all atoms for a block of queries."""
        if not queries.dictionary.knows_lengths:
            raise ValueError(
                f"prices={self!r} needs distances, and with space='precomputed' k(y, y) of the queries is not known; "
                "give prices as an array"
            )
        return self.weight * queries.in_double.squared_distances()[0]

    def beyond_least(self, queries: Queries) -> Array:
        """The same less the price of the nearest atom, for codes that sum to one.

        Of queries far away only this is left of the prices: in a sum with ‖y‖² it would be lost.
        """
        return self.weight * queries.in_double.squared_distances(beyond_nearest=True)[0]

    def rounding(self, queries: Queries, beyond_nearest: bool) -> Array:
        """What rounding can have done to either."""
        return self.weight * queries.in_double.squared_distances(beyond_nearest)[1]


@dataclass(frozen=True)
class Terms:
    """What each query of a block asks for; columns are in the order of the dictionary.

    Attributes
    ----------
    excluded : csr_array of bool of shape (n_queries, n_atoms) or None
        True where a query may not use an atom.
    prices : array of shape (n_queries, n_atoms) or (n_atoms,), callable or None
        What a query pays for each unit of an atom's weight; a callable computes that from a block of `Queries`.
    start : csr_array of shape (n_queries, n_atoms) or None
        Codes of nearby problems. They change where a solver begins, not what it finds.
    rounding : array of the shape of ``prices`` or None
        What rounding can have done to prices that were computed; None for nothing.
    """

    excluded: sparse.csr_array | None = None
    prices: Any = None
    start: sparse.csr_array | None = None
    rounding: Array | None = None

    def take(self, which: Any) -> Terms:
        """Those of some of the queries."""
        rows = which if isinstance(which, slice) else to_numpy(which)
        prices, rounding = self.prices, self.rounding
        if not callable(prices) and prices is not None and prices.ndim == 2:
            prices = take_rows(prices, which)
            rounding = None if rounding is None else take_rows(rounding, which)
        return Terms(_rows_of(self.excluded, rows), prices, _rows_of(self.start, rows), rounding)

    def of_atoms(self, kept: np.ndarray) -> Terms:
        """The same for some of the atoms, all of which may be used; prices must be arrays."""
        prices, rounding = (
            None if values is None else namespace(values).take(values, like(kept, values), axis=values.ndim - 1)
            for values in (self.prices, self.rounding)
        )
        return Terms(None, prices, None if self.start is None else self.start[:, kept], rounding)

    def times(self, factors: Array | float) -> Terms:
        """The same with prices, which must be arrays, multiplied by a factor or by one for each query."""
        prices, rounding = (None if values is None else values * factors for values in (self.prices, self.rounding))
        return replace(self, prices=prices, rounding=rounding)

    @staticmethod
    def join(parts: Sequence[Terms | None]) -> Terms | None:
        """The terms of consecutive blocks as one: either all blocks have them or none has. Starts are not kept."""
        known = [part for part in parts if part is not None]
        if not known:
            return None
        first = known[0]
        excluded = None if first.excluded is None else concat([part.excluded for part in known])
        prices = first.prices
        if not callable(prices) and prices is not None and prices.ndim == 2:
            prices = concat([part.prices for part in known])
        return Terms(excluded, prices)

    def resolved(self, queries: Queries) -> Array | None:
        """Prices of a block in double precision, one row per query, in the library of its rows."""
        prices = self.prices(queries) if callable(self.prices) else self.prices
        if prices is None:
            return None
        xp, shape = namespace(prices), (len(queries), queries.dictionary.n_atoms)
        return xp.broadcast_to(in_double(prices), shape)


def _rows_of(matrix: sparse.csr_array | None, rows: Any) -> sparse.csr_array | None:
    return None if matrix is None else matrix[rows]


def patterns(terms: Terms | None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Queries that may use the same atoms: their positions, and these atoms, for each such set of atoms."""
    assert terms is not None
    assert terms.excluded is not None
    masks, which = np.unique(terms.excluded.toarray(), axis=0, return_inverse=True)
    for number, mask in enumerate(masks):
        yield np.flatnonzero(which.ravel() == number), np.flatnonzero(~mask)


def misuse(terms: Terms | None, codes: Any) -> Array | float:
    """The largest absolute weight of an atom that a query may not use, for each code."""
    if terms is None or terms.excluded is None:
        return 0.0
    if sparse.issparse(codes):
        used = abs(sparse.csr_array(codes).multiply(terms.excluded)).max(axis=1)
        return used.toarray().ravel()
    xp, mask = namespace(codes), like(terms.excluded.toarray(), codes)
    return xp.max(xp.where(mask, xp.abs(codes), xp.zeros_like(codes)), axis=1)


class Asking:
    """What `ancr.dictionary.products.Queries` know about their terms."""

    terms: Terms | None
    rows: Array
    of: Any
    _prices: Array | None
    _double: Any

    @property
    def prices(self) -> Array | None:
        """What each query pays for a unit of each atom, (n_queries, n_atoms) in double precision; None for nothing."""
        if self._prices is None and self.terms is not None:
            self._prices = self.terms.resolved(self)  # type: ignore[arg-type]
        return self._prices

    @property
    def excluded(self) -> Array | None:
        """True where a query may not use an atom, (n_queries, n_atoms); None where every query may use all."""
        if self.terms is None or self.terms.excluded is None:
            return None
        return like(self.terms.excluded.toarray(), self.rows)

    def charged(self, pulls: Array, barred: float) -> Array:
        """Xᵀy or pulls less half the prices, and ``barred`` for atoms that a query may not use."""
        if self.terms is None:
            return pulls
        xp, prices, excluded = namespace(pulls), self.prices, self.excluded
        if prices is not None:
            pulls = pulls - xp.astype(0.5 * prices, pulls.dtype, copy=False)
        return pulls if excluded is None else xp.where(excluded, xp.full_like(pulls, barred), pulls)

    def paid(self, codes: Any) -> Array | float:
        """Σ price_j·c_j of each code; zero without prices."""
        return 0.0 if self.prices is None else row_dots(codes, namespace(self.prices).astype(self.prices, codes.dtype))

    @property
    def from_least_price(self) -> Self:
        """The same queries with prices less the least price of any atom they may use, for codes that sum to one."""
        if self.terms is None or self.terms.prices is None:
            return self
        terms = self.terms
        if isinstance(terms.prices, Locality):
            found = terms.prices.beyond_least(self), terms.prices.rounding(self, beyond_nearest=True)  # type: ignore[arg-type]
            terms = replace(terms, prices=found[0], rounding=found[1])
        prices = terms.resolved(self)  # type: ignore[arg-type]
        assert prices is not None
        xp, excluded = namespace(prices), self.excluded
        usable = prices if excluded is None else xp.where(excluded, xp.full_like(prices, float("inf")), prices)
        return self.asking(replace(terms, prices=prices - xp.min(usable, axis=1, keepdims=True)))

    @property
    def price_rounding(self) -> Array | None:
        """What rounding can have done to each price; None for prices as they were given."""
        return None if self.terms is None else self.settled_terms.rounding

    def asking(self, terms: Terms | None) -> Self:
        """The same queries with other terms."""
        other = copy(self)
        other.terms, other._prices, other._double = terms, None, None
        return other

    @property
    def settled_terms(self) -> Any:
        """The terms, with prices that are computed as arrays."""
        terms = self.terms
        if terms is None or not callable(terms.prices):
            return terms
        own = isinstance(terms.prices, Locality)
        rounding = terms.prices.rounding(self, beyond_nearest=False) if own else None
        return replace(terms, prices=self.prices, rounding=rounding)

    def over(self, dictionary: BaseDictionary, kept: np.ndarray) -> Queries:
        """The same queries of the dictionary of the atoms ``kept``, all of which they may use."""
        return self.of(dictionary, self.rows, terms=self.settled_terms.of_atoms(kept))

    def _terms_in(self, units: float) -> Terms | None:
        """The terms of samples multiplied by ``units``."""
        terms = self.settled_terms
        return terms.times(units).times(units) if units != 1.0 and terms is not None else terms

    @property
    def _terms_on_host(self) -> Terms | None:
        """The terms with prices as NumPy arrays."""
        terms = self.settled_terms
        if self.prices is None:
            return terms
        rounding = None if terms.rounding is None else to_numpy(terms.rounding)
        return replace(terms, prices=to_numpy(self.prices), rounding=rounding)
