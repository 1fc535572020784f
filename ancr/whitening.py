"""The space in which a relaxed constraint is a hard one: samples times (XXᵀ + μI)^(−1/2)."""

from dataclasses import replace
from functools import cached_property

import numpy as np
from scipy.linalg import cholesky, eigh, qr, solve_triangular

# Below this share of the largest eigenvalue, μ would drown in the rounding of XXᵀ; then X itself is factored.
_LEAST_SHARE = 1e-6


class Whitening:
    """Samples y ↦ R⁻ᵀy with RᵀR = XXᵀ + μI, one factorisation for one μ.

    With more features than atoms everything happens in the span of the atoms, which has n dimensions: a query's
    part outside it adds a constant to its objective.

    Parameters
    ----------
    dictionary : Dictionary
        The atoms, as rows.
    shift : float
        μ > 0.
    """

    def __init__(self, dictionary, shift):
        rows, basis = _in_their_span(dictionary.atoms.astype(np.float64, copy=False))
        factor = _factor(rows, shift)
        whitened = solve_triangular(factor, rows.T, trans="T", check_finite=False).T
        self.dictionary = replace(dictionary, atoms=np.ascontiguousarray(whitened, dictionary.dtype))
        inverse = solve_triangular(factor, np.eye(len(factor)), check_finite=False)
        self._map = np.ascontiguousarray(inverse if basis is None else basis @ inverse)

    def __call__(self, queries):
        """Whiten queries, in double precision and back."""
        return (queries @ self._map).astype(self.dictionary.dtype, copy=False)


class Spectrum:
    """One eigendecomposition of XXᵀ, from which every μ takes its whitening by scaling columns.

    Dearer than one `Whitening`, cheaper than a few: what a path over λ and γ wants.

    Parameters
    ----------
    dictionary : Dictionary
        The atoms, as rows.
    """

    def __init__(self, dictionary):
        rows, basis = _in_their_span(dictionary.atoms.astype(np.float64, copy=False))
        values, vectors = eigh(rows.T @ rows, check_finite=False)
        self._given = dictionary
        self._values = np.maximum(values, 0.0)
        self._rotated = np.ascontiguousarray(rows @ vectors)
        self._rotation = vectors if basis is None else basis @ vectors

    def at(self, shift):
        """The whitening of one μ, with the interface of `Whitening`."""
        return _Scaled(self, 1.0 / np.sqrt(self._values + shift))


class _Scaled:
    def __init__(self, spectrum, scale):
        self._spectrum, self._scale = spectrum, scale

    @cached_property
    def dictionary(self):
        given = self._spectrum._given
        return replace(given, atoms=(self._spectrum._rotated * self._scale).astype(given.dtype, copy=False))

    def __call__(self, queries):
        whitened = (queries @ self._spectrum._rotation) * self._scale
        return whitened.astype(self._spectrum._given.dtype, copy=False)


def _in_their_span(rows):
    """Rows in an orthonormal basis of the features they use, and that basis; no basis where d ≤ n."""
    if rows.shape[1] <= rows.shape[0]:
        return rows, None
    basis, coordinates = qr(rows.T, mode="economic", check_finite=False)
    return coordinates.T, basis


def _factor(rows, shift):
    """Upper R with RᵀR = rowsᵀrows + shift·I."""
    side = rows.T @ rows
    if shift > _LEAST_SHARE * np.trace(side):
        side[np.diag_indices_from(side)] += shift
        return cholesky(side, check_finite=False)
    stacked = np.vstack([rows, np.sqrt(shift) * np.eye(rows.shape[1])])
    return qr(stacked, mode="r", check_finite=False)[0][: rows.shape[1]]
