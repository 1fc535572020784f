"""The space in which a relaxed constraint becomes a hard one: samples times (XXᵀ + μI)^(−1/2)."""

from __future__ import annotations

from functools import cached_property, lru_cache, partial
from typing import Any

from ancr._core.arrays import Array, add_to_diagonal, device, in_double, namespace, row_major
from ancr._core.psd import lower_factor, solve_lower
from ancr.dictionary.coordinates import Dictionary
from ancr.dictionary.derived import WhitenedDictionary
from ancr.dictionary.inner_products import GramDictionary

# Below this share of the sum of all eigenvalues, μ would be lost in the rounding of XXᵀ; then X itself is factored.
_LEAST_SHARE = 1e-6


def whitening(dictionary: Any, shift: float) -> Any:
    """The whitening for one μ: ``dictionary`` of the atoms and, with coordinates, a function of rows of queries."""
    return (Whitening if dictionary.has_coordinates else GramWhitening)(dictionary, shift)


def spectrum(dictionary: Any) -> Any:
    """What whitenings for many μ share: ``at(μ)`` gives one, ``leverage(μ)`` the atoms' squares in it."""
    return (Spectrum if dictionary.has_coordinates else GramSpectrum)(dictionary)


class Whitening:
    """Samples y ↦ L⁻¹y with LLᵀ = XXᵀ + μI, one factorisation per μ.

    With more features than atoms everything happens in the span of the atoms, which has n dimensions: a query's
    part outside it adds a constant to its objective.

    Parameters
    ----------
    dictionary : Dictionary
        The atoms, as rows.
    shift : float
        μ > 0.
    """

    def __init__(self, dictionary: Dictionary, shift: float) -> None:
        rows, basis = _in_their_span(in_double(dictionary.atoms))
        factor, xp = _factor(rows, shift), dictionary.xp
        whitened = solve_lower(factor, rows.T).T
        self.dictionary = dictionary.with_atoms(row_major(whitened, dictionary.dtype))
        inverse = solve_lower(factor, _identity(factor)).T
        self._map = row_major(inverse if basis is None else basis @ inverse, xp.float64)

    def __call__(self, queries: Array) -> Array:
        """Whiten queries, in double precision, and convert them back."""
        return namespace(queries).astype(in_double(queries) @ self._map, self.dictionary.dtype, copy=False)


class Spectrum:
    """One eigendecomposition of XXᵀ, which yields the whitening for any μ by scaling columns.

    More expensive than one `Whitening`, cheaper than several: suited to a path over λ and γ.

    Parameters
    ----------
    dictionary : Dictionary
        The atoms, as rows.
    """

    def __init__(self, dictionary: Dictionary) -> None:
        rows, basis = _in_their_span(in_double(dictionary.atoms))
        xp = dictionary.xp
        values, vectors = xp.linalg.eigh(rows.T @ rows)
        self._given = dictionary
        self._values = xp.clip(values, 0.0, None)
        self._rotated = row_major(rows @ vectors, xp.float64)
        self._rotation = vectors if basis is None else basis @ vectors

    def leverage(self, shift: float) -> Array:
        """h_i = x_iᵀ(XXᵀ + μI)⁻¹x_i of each atom, in double precision."""
        return (self._rotated * self._rotated) @ (1.0 / (self._values + shift))

    def at(self, shift: float) -> _Scaled:
        """The whitening for one μ, with the interface of `Whitening`."""
        return _Scaled(self, 1.0 / self._given.xp.sqrt(self._values + shift))


class _Scaled:
    def __init__(self, spectrum: Spectrum, scale: Array) -> None:
        self._spectrum, self._scale = spectrum, scale

    @cached_property
    def dictionary(self) -> Dictionary:
        given = self._spectrum._given
        return given.with_atoms(given.xp.astype(self._spectrum._rotated * self._scale, given.dtype, copy=False))

    def __call__(self, queries: Array) -> Array:
        whitened = (in_double(queries) @ self._spectrum._rotation) * self._scale
        return namespace(queries).astype(whitened, self._spectrum._given.dtype, copy=False)


class GramWhitening:
    """The whitening of a dictionary without coordinates, see `WhitenedDictionary`.

    Parameters
    ----------
    dictionary : GramDictionary
        The atoms.
    shift : float
        μ > 0.
    """

    def __init__(self, dictionary: GramDictionary, shift: float) -> None:
        self.dictionary = WhitenedDictionary.of(dictionary, shift)


class GramSpectrum:
    """The same for many μ. An inverse for each is as quick as what an eigendecomposition would leave to do.

    Parameters
    ----------
    dictionary : GramDictionary
        The atoms.
    """

    def __init__(self, dictionary: GramDictionary) -> None:
        self._last = lru_cache(1)(partial(GramWhitening, dictionary))

    def leverage(self, shift: float) -> Array:
        """h_i = x_iᵀ(XXᵀ + μI)⁻¹x_i of each atom, in double precision."""
        return self.at(shift).dictionary.leverage

    def at(self, shift: float) -> GramWhitening:
        """The whitening for one μ; the last one is kept."""
        return self._last(shift)


def _in_their_span(rows: Array) -> tuple[Array, Array | None]:
    """Rows in an orthonormal basis of the features they use, and that basis; no basis where d ≤ n."""
    if rows.shape[1] <= rows.shape[0]:
        return rows, None
    basis, coordinates = namespace(rows).linalg.qr(rows.T, mode="reduced")
    return coordinates.T, basis


def _factor(rows: Array, shift: float) -> Array:
    """Lower L with LLᵀ = rowsᵀrows + shift·I."""
    xp, side = namespace(rows), rows.T @ rows
    if shift > _LEAST_SHARE * float(xp.linalg.trace(side)):
        return lower_factor(add_to_diagonal(side, shift))
    return xp.linalg.qr(xp.concat([rows, shift**0.5 * _identity(side)], axis=0), mode="reduced").R.T


def _identity(matrix: Array) -> Array:
    return namespace(matrix).eye(matrix.shape[0], dtype=matrix.dtype, device=device(matrix))
