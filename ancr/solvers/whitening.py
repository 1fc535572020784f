"""The space in which a relaxed constraint becomes a hard one: samples times (XXᵀ + μI)^(−1/2)."""

from __future__ import annotations

from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np
from scipy.linalg import cholesky, eigh, qr, solve_triangular

from ancr.dictionary import Dictionary
from ancr.kernel_dictionary import GramDictionary, WhitenedDictionary

# Below this share of the sum of all eigenvalues, μ would be lost in the rounding of XXᵀ; then X itself is factored.
_LEAST_SHARE = 1e-6


def whitening(dictionary: Any, shift: float) -> Any:
    """The whitening for one μ: ``dictionary`` of the atoms, and a function of queries."""
    return (Whitening if dictionary.has_coordinates else GramWhitening)(dictionary, shift)


def spectrum(dictionary: Any) -> Any:
    """What whitenings for many μ share: ``at(μ)`` gives one, ``leverage(μ)`` the atoms' squares in it."""
    return (Spectrum if dictionary.has_coordinates else GramSpectrum)(dictionary)


class Whitening:
    """Samples y ↦ R⁻ᵀy with RᵀR = XXᵀ + μI, one factorisation per μ.

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
        rows, basis = _in_their_span(dictionary.atoms.astype(np.float64, copy=False))
        factor = _factor(rows, shift)
        whitened = solve_triangular(factor, rows.T, trans="T", check_finite=False).T
        self.dictionary = dictionary.with_atoms(np.ascontiguousarray(whitened, dictionary.dtype))
        inverse = solve_triangular(factor, np.eye(len(factor)), check_finite=False)
        self._map = np.ascontiguousarray(inverse if basis is None else basis @ inverse)

    def __call__(self, queries: np.ndarray) -> np.ndarray:
        """Whiten queries, in double precision, and convert them back."""
        return (queries @ self._map).astype(self.dictionary.dtype, copy=False)


class Spectrum:
    """One eigendecomposition of XXᵀ, which yields the whitening for any μ by scaling columns.

    More expensive than one `Whitening`, cheaper than several: suited to a path over λ and γ.

    Parameters
    ----------
    dictionary : Dictionary
        The atoms, as rows.
    """

    def __init__(self, dictionary: Dictionary) -> None:
        rows, basis = _in_their_span(dictionary.atoms.astype(np.float64, copy=False))
        values, vectors = eigh(rows.T @ rows, check_finite=False)
        self._given = dictionary
        self._values = np.maximum(values, 0.0)
        self._rotated = np.ascontiguousarray(rows @ vectors)
        self._rotation = vectors if basis is None else basis @ vectors

    def leverage(self, shift: float) -> np.ndarray:
        """h_i = x_iᵀ(XXᵀ + μI)⁻¹x_i of each atom, in double precision."""
        return np.einsum("ij,ij,j->i", self._rotated, self._rotated, 1.0 / (self._values + shift), optimize=True)

    def at(self, shift: float) -> _Scaled:
        """The whitening for one μ, with the interface of `Whitening`."""
        return _Scaled(self, 1.0 / np.sqrt(self._values + shift))


class _Scaled:
    def __init__(self, spectrum: Spectrum, scale: np.ndarray) -> None:
        self._spectrum, self._scale = spectrum, scale

    @cached_property
    def dictionary(self) -> Dictionary:
        given = self._spectrum._given
        return given.with_atoms((self._spectrum._rotated * self._scale).astype(given.dtype, copy=False))

    def __call__(self, queries: np.ndarray) -> np.ndarray:
        whitened = (queries @ self._spectrum._rotation) * self._scale
        return whitened.astype(self._spectrum._given.dtype, copy=False)


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

    def __call__(self, queries: np.ndarray) -> np.ndarray:
        """Queries themselves: the whitened dictionary knows their inner products."""
        return queries


class GramSpectrum:
    """The same for many μ. An inverse for each is as quick as what an eigendecomposition would leave to do.

    Parameters
    ----------
    dictionary : GramDictionary
        The atoms.
    """

    def __init__(self, dictionary: GramDictionary) -> None:
        self._last = lru_cache(1)(partial(GramWhitening, dictionary))

    def leverage(self, shift: float) -> np.ndarray:
        """h_i = x_iᵀ(XXᵀ + μI)⁻¹x_i of each atom, in double precision."""
        return self.at(shift).dictionary.leverage

    def at(self, shift: float) -> GramWhitening:
        """The whitening for one μ; the last one is kept."""
        return self._last(shift)


def _in_their_span(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Rows in an orthonormal basis of the features they use, and that basis; no basis where d ≤ n."""
    if rows.shape[1] <= rows.shape[0]:
        return rows, None
    basis, coordinates = qr(rows.T, mode="economic", check_finite=False)
    return coordinates.T, basis


def _factor(rows: np.ndarray, shift: float) -> np.ndarray:
    """Upper R with RᵀR = rowsᵀrows + shift·I."""
    side = rows.T @ rows
    if shift > _LEAST_SHARE * np.trace(side):
        side[np.diag_indices_from(side)] += shift
        return cholesky(side, check_finite=False)
    stacked = np.vstack([rows, np.sqrt(shift) * np.eye(rows.shape[1])])
    return qr(stacked, mode="r", check_finite=False)[0][: rows.shape[1]]
