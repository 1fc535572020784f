"""Products between atoms: computed from scratch, or extended from those of a smaller dictionary."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ancr._core.arrays import (
    Array,
    concat,
    concat_columns,
    in_double,
    is_non_numpy,
    like,
    namespace,
    submatrix,
    take_columns,
    take_rows,
    to_numpy,
)
from ancr._core.threads import aside
from ancr.dictionary.atoms import Atoms, BaseDictionary, bounds_of, kind_of_labels


def extended(
    dictionary: BaseDictionary,
    samples: Any,
    labels: Any,
    *,
    classes: Any = None,
    weights: np.ndarray | None = None,
    name: str = "X",
) -> BaseDictionary:
    """The dictionary of these atoms and more samples, as it would be made from all samples together.

    Matrices that the dictionary holds are carried over: when the larger one needs them, it computes only the products
    that involve new atoms.

    Parameters
    ----------
    dictionary : BaseDictionary
        The dictionary to extend, which stays as it is.
    samples, labels, classes, weights, name
        As for `Atoms.build`; samples take the dtype of the atoms, and labels may contain new classes.
    """
    more = Atoms.build(
        samples, labels, dtype=dictionary.dtype, normalize=False, classes=classes, weights=weights, name=name
    )
    before, added = to_numpy(dictionary.classes), to_numpy(more.classes)
    if kind_of_labels(before) != kind_of_labels(added):
        raise ValueError(f"labels must be of the kind seen before, {before.dtype}, got {added.dtype}")
    classes, parts = np.union1d(before, added), (dictionary, more)
    codes = np.concatenate([np.searchsorted(classes, to_numpy(part.classes))[part.labels] for part in parts])
    rank, n_samples, both = np.argsort(codes, kind="stable"), dictionary.n_samples + more.n_samples, None
    if any(part.weights is not None for part in parts):
        both = np.concatenate([np.ones(part.n_atoms) if part.weights is None else part.weights for part in parts])[rank]
    larger = replace(
        dictionary,
        atoms=take_rows(concat([dictionary.atoms, more.atoms]), rank),
        order=np.concatenate([dictionary.order, more.order + dictionary.n_samples])[rank],
        classes=like(classes, dictionary.classes),
        bounds=bounds_of(codes[rank], len(classes)),
        weights=both,
        n_given=None if n_samples == len(rank) else n_samples,
    )
    larger.growth = Growth.of(dictionary, *np.split(np.argsort(rank), [dictionary.n_atoms]))
    return larger


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

    held: dict[str, Array]
    old: np.ndarray
    new: np.ndarray

    @classmethod
    def of(cls, smaller: BaseDictionary, old: np.ndarray, new: np.ndarray) -> Growth | None:
        """What there is to extend: matrices held now, or those that the smaller dictionary has not extended yet."""
        held: dict[str, Array] = {
            name: smaller.held[name] for name in ("gram", "scatter", "spread") if name in smaller.held
        }
        centred, before = smaller.held.get("centred"), smaller.growth
        if centred is not None and "gram" in centred.held:
            held |= {"centred_gram": centred.gram, "origin": centred.origin}
        if "spread" in held:
            held["mean"] = smaller.xp.mean(in_double(smaller.atoms), axis=0)
        if held:
            return cls(held, old, new)
        return before and cls(before.held, old[before.old], np.concatenate([old[before.new], new]))

    @staticmethod
    def carrying(dictionary: BaseDictionary, name: str) -> Growth | None:
        """What can extend this matrix for a dictionary; None if there is nothing to extend."""
        return dictionary.growth if dictionary.growth is not None and name in dictionary.growth.held else None

    def extend_gram(self, atoms: Array) -> Array:
        """The larger Gram matrix: the old entries moved to their places, products computed only for the new rows."""
        new = take_rows(atoms, self.new)
        return self._assembled(new @ take_rows(atoms, self.old).T, gram_of(new))

    def _assembled(self, between: Array, among: Array) -> Array:
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

    def extend_centred_gram(self, atoms: Array, origin: Array) -> Array:
        """The same for atoms about their mean, which has moved: (x − m')ᵀ(z − m') from (x − m)ᵀ(z − m).

        With δ = m' − m and u = (X − m')ᵀδ, both numbers of the new centre, the old entries gain −u_i − u_j − δᵀδ.
        """
        moved = in_double(origin) - in_double(self.held["origin"])
        shift = in_double(take_rows(atoms, self.old)) @ moved + float(moved @ moved) / 2.0
        shift = namespace(atoms).astype(shift, atoms.dtype)
        old = self.held["centred_gram"] - shift[:, None] - shift
        return Growth({"gram": old}, self.old, self.new).extend_gram(atoms)

    def extend_gram_by(self, rows: Array) -> Array:
        """The same where inner products are given: ``rows`` are those of the new atoms with all atoms."""
        among = take_columns(rows, self.new)
        return self._assembled(take_columns(rows, self.old), 0.5 * (among + among.T))

    def extend_scatter(self, atoms: Array) -> Array:
        """The scatter of the old atoms plus that of the new ones."""
        return self.held["scatter"] + scatter_of(take_rows(atoms, self.new))

    def extend_spread(self, atoms: Array) -> Array:
        """Scatters about two means, combined without cancellation (Chan, Golub and LeVeque, 1983)."""
        new, xp = in_double(take_rows(atoms, self.new)), namespace(atoms)
        mean, weight = xp.mean(new, axis=0), len(self.old) * len(self.new) / atoms.shape[0]
        apart = mean - self.held["mean"]
        return self.held["spread"] + scatter_of(new - mean) + weight * (apart[:, None] * apart)


def gram_of(atoms: Array) -> Array:
    """XᵀX of atoms as rows."""
    if is_non_numpy(atoms):
        return atoms @ atoms.T
    gram = np.empty((len(atoms), len(atoms)), atoms.dtype)
    # In blocks of rows, half of them by symmetry: a single call for 16,000 atoms crashes some builds of BLAS.
    for start in range(0, len(atoms), 2048):
        rows, before = slice(start, start + 2048), slice(0, start)
        product = partial(np.matmul, atoms[rows], atoms[: start + 2048].T, out=gram[rows, : start + 2048])
        aside(product, 2.0 * 2048 * atoms[: start + 2048].size)
        gram[before, rows] = gram[rows, before].T
    return gram


def scatter_of(rows: Array) -> Array:
    """XXᵀ of atoms as rows, in double precision."""
    rows = in_double(rows)
    if is_non_numpy(rows):
        return rows.T @ rows
    return aside(lambda: rows.T @ rows, float(rows.shape[1]) * rows.size)
