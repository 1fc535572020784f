"""Products between atoms: computed from scratch, or extended from those of a smaller dictionary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ancr._core.arrays import (
    concat,
    concat_columns,
    in_double,
    is_non_numpy,
    namespace,
    submatrix,
    take_columns,
    take_rows,
)


@dataclass(frozen=True)
class Growth:
    """What a dictionary takes over from a smaller one.

    Attributes
    ----------
    held : dict of str to array
        Matrices of the smaller dictionary under their names there, and the mean that they are taken about.
    old, new : ndarray of int
        Positions in the larger dictionary: of the smaller one's atoms, in their order there, and of the new atoms.
    """

    held: dict[str, Any]
    old: np.ndarray
    new: np.ndarray

    @classmethod
    def of(cls, before: Growth | None, held: dict[str, Any], old: np.ndarray, new: np.ndarray) -> Growth | None:
        """What there is to extend: matrices held now, or those that the smaller dictionary has not extended yet."""
        if held:
            return cls(held, old, new)
        return before and cls(before.held, old[before.old], np.concatenate([old[before.new], new]))

    def extend_gram(self, atoms):
        """The larger Gram matrix: the old entries moved to their places, products computed only for the new rows."""
        new = take_rows(atoms, self.new)
        return self._assembled(new @ take_rows(atoms, self.old).T, gram_of(new))

    def _assembled(self, between, among):
        """The larger matrix from the one held, products of new atoms with the old ones, and those among the new."""
        held = self.held["gram"]
        if is_non_numpy(among):
            upper, lower = concat_columns([held, between.T]), concat_columns([between, among])
            return submatrix(concat([upper, lower]), np.argsort(np.concatenate([self.old, self.new])))
        gram = np.empty((len(self.old) + len(self.new),) * 2, among.dtype)
        gram[np.ix_(self.old, self.old)] = held
        gram[np.ix_(self.new, self.new)] = among
        gram[np.ix_(self.new, self.old)] = between
        gram[np.ix_(self.old, self.new)] = between.T
        return gram

    def extend_centred_gram(self, atoms, origin):
        """The same for atoms about their mean, which has moved: (x − m')ᵀ(z − m') from (x − m)ᵀ(z − m).

        With δ = m' − m and u = (X − m')ᵀδ, both numbers of the new centre, the old entries gain −u_i − u_j − δᵀδ.
        """
        moved = in_double(origin) - in_double(self.held["origin"])
        shift = in_double(take_rows(atoms, self.old)) @ moved + float(moved @ moved) / 2.0
        shift = namespace(atoms).astype(shift, atoms.dtype)
        old = self.held["centred_gram"] - shift[:, None] - shift
        return Growth({"gram": old}, self.old, self.new).extend_gram(atoms)

    def extend_gram_by(self, rows):
        """The same where inner products are given: ``rows`` are those of the new atoms with all atoms."""
        among = take_columns(rows, self.new)
        return self._assembled(take_columns(rows, self.old), 0.5 * (among + among.T))

    def extend_scatter(self, atoms):
        """The scatter of the old atoms plus that of the new ones."""
        return self.held["scatter"] + scatter_of(take_rows(atoms, self.new))

    def extend_spread(self, atoms):
        """Scatters about two means, combined without cancellation (Chan, Golub and LeVeque, 1983)."""
        new, xp = in_double(take_rows(atoms, self.new)), namespace(atoms)
        mean, weight = xp.mean(new, axis=0), len(self.old) * len(self.new) / atoms.shape[0]
        apart = mean - self.held["mean"]
        return self.held["spread"] + scatter_of(new - mean) + weight * (apart[:, None] * apart)


def gram_of(atoms):
    """XᵀX of atoms as rows."""
    if is_non_numpy(atoms):
        return atoms @ atoms.T
    gram = np.empty((len(atoms), len(atoms)), atoms.dtype)
    # In blocks of rows, half of them by symmetry: a single call for 16,000 atoms crashes some builds of BLAS.
    for start in range(0, len(atoms), 2048):
        rows, before = slice(start, start + 2048), slice(0, start)
        np.matmul(atoms[rows], atoms[: start + 2048].T, out=gram[rows, : start + 2048])
        gram[before, rows] = gram[rows, before].T
    return gram


def scatter_of(rows):
    """XXᵀ of atoms as rows, in double precision."""
    rows = in_double(rows)
    return rows.T @ rows
