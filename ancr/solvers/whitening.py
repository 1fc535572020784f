"""The space in which a relaxed constraint becomes a hard one: samples times (XXᵀ + μI)^(−1/2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

from ancr._core.arrays import Array, add_to_diagonal, in_double, namespace, row_major, row_squares
from ancr._core.psd import identity_like, lower_factor, solve_lower
from ancr._core.threads import aside
from ancr.dictionary.atoms import BaseDictionary
from ancr.dictionary.derived import WhitenedDictionary

# Below this share of the sum of all eigenvalues, μ would be lost in the rounding of XXᵀ; then X itself is factored.
_LEAST_SHARE = 1e-6


@dataclass(frozen=True)
class Whitened:
    """Samples y ↦ (XXᵀ + μI)^(−1/2)·y, up to a rotation, for one μ.

    Attributes
    ----------
    dictionary : BaseDictionary
        The atoms there.
    leverage : array of shape (n_atoms,)
        h_i = x_iᵀ(XXᵀ + μI)⁻¹x_i of each atom, in double precision.
    rotation, scale : array and float or array
        What takes queries there; without coordinates their products are enough.
    """

    dictionary: BaseDictionary
    leverage: Array
    rotation: Array | None = None
    scale: Array | float = 1.0

    def __call__(self, rows: Array) -> Array:
        """Whiten queries that have coordinates, in double precision, and convert them back."""
        whitened = (in_double(rows) @ self.rotation) * self.scale
        return namespace(rows).astype(whitened, self.dictionary.dtype, copy=False)


def whitening(dictionary: BaseDictionary, shift: float) -> Whitened:
    """The whitening for one μ, by one factorisation LLᵀ = XXᵀ + μI and y ↦ L⁻¹y.

    With more features than atoms everything happens in the span of the atoms, which has n dimensions: a query's
    part outside it adds a constant to its objective.
    """
    if not dictionary.has_coordinates:
        without = WhitenedDictionary.of(dictionary, shift)
        return Whitened(without, without.leverage)
    if dictionary.is_non_numpy:
        return _by_factor(dictionary, shift)
    n, d = dictionary.atoms.shape
    return aside(lambda: _by_factor(dictionary, shift), float(n) * d * min(n, d))


def _by_factor(dictionary: BaseDictionary, shift: float) -> Whitened:
    rows, basis = _in_their_span(in_double(dictionary.atoms))
    factor = _factor(rows, shift)
    whitened, inverse = solve_lower(factor, rows.T).T, solve_lower(factor, identity_like(factor)).T
    rotation = row_major(inverse if basis is None else basis @ inverse, dictionary.xp.float64)
    atoms = row_major(whitened, dictionary.dtype)
    return Whitened(dictionary.located.with_atoms(atoms), row_squares(whitened), rotation)


def spectrum(dictionary: BaseDictionary) -> Callable[[float], Whitened]:
    """The whitening for any μ, from one eigendecomposition of XXᵀ by scaling columns.

    More expensive than one `whitening`, cheaper than several: suited to a path over λ and γ. Without coordinates an
    inverse for each μ is as quick as what an eigendecomposition would leave to do; the last one is kept.
    """
    if not dictionary.has_coordinates:
        return lru_cache(1)(partial(whitening, dictionary))
    rows, basis = _in_their_span(in_double(dictionary.atoms))
    xp = dictionary.xp
    values, vectors = aside(lambda: xp.linalg.eigh(rows.T @ rows), 9.0 * rows.shape[1] ** 3)
    rotated, rotation = row_major(rows @ vectors, xp.float64), vectors if basis is None else basis @ vectors

    def at(shift: float) -> Whitened:
        scale = 1.0 / xp.sqrt(xp.clip(values, 0.0, None) + shift)
        whitened = rotated * scale
        atoms = xp.astype(whitened, dictionary.dtype, copy=False)
        return Whitened(dictionary.located.with_atoms(atoms), row_squares(whitened), rotation, scale)

    return at


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
    return xp.linalg.qr(xp.concat([rows, shift**0.5 * identity_like(side)], axis=0), mode="reduced").R.T
