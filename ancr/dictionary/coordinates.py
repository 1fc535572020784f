"""The dictionary whose atoms have coordinates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import frexp
from typing import Any, Self

import numpy as np

from ancr._core.arrays import Array, in_double, squares_in_double, to_numpy
from ancr.dictionary.atoms import BaseDictionary
from ancr.dictionary.gram import Growth, gram_of, scatter_of
from ancr.dictionary.products import CoordinateQueries


@dataclass(eq=False)
class Dictionary(BaseDictionary):
    """Atoms with coordinates, sorted by class, with the class blocks and Gram matrices that solvers and rules ask for.

    Use `Dictionary.build`, which validates.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ancr import ANCRClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> dictionary = ANCRClassifier().fit(X, y).dictionary_
    >>> dictionary.n_atoms, dictionary.gram.shape
    (150, (150, 150))
    """

    has_coordinates = True
    queries_type = CoordinateQueries

    @property
    def coordinates(self) -> Array:
        """The columns of the paper's X, as rows: (n_atoms, n_features)."""
        return self.atoms

    @property
    def located(self) -> Dictionary:
        """Itself."""
        return self

    @property
    def dimension(self) -> int:
        """Number of features."""
        return self.n_features

    def _in_precision(self, name: str) -> Self:
        return self.with_atoms(self.xp.astype(self.atoms, getattr(self.xp, name)))

    def with_atoms(self, atoms: Array) -> Self:
        """The same classes with other coordinates, and the origin that these have."""
        return replace(self, atoms=atoms, origin=None, units=1.0)

    # --- units and origin

    @cached_property
    def largest_entry(self) -> float:
        """The largest absolute value in the atoms."""
        return max(float(self.xp.max(self.atoms)), -float(self.xp.min(self.atoms)))

    @property
    def largest_square(self) -> float:
        """The largest squared norm that an atom can have, from its largest entry; zero where it is lost."""
        return self.largest_entry * self.largest_entry * self.n_features

    @cached_property
    def in_safe_units(self) -> Dictionary:
        """The same dictionary in units in which squares of the atoms neither overflow nor vanish."""
        exponent = frexp(self.largest_entry)[1]
        is_safe = abs(exponent) <= (50 if self.is_single else 400)
        return self if is_safe or not self.largest_entry else self.scaled(2.0 ** -max(exponent, -1000))

    def scaled(self, factor: float) -> Dictionary:
        """The same dictionary in other units."""
        return replace(self, atoms=self.atoms * factor, units=factor)

    @property
    def centred(self) -> Dictionary:
        """The same dictionary with the mean atom as its origin."""
        return self.once("centred", self._centred)

    def about(self, point: Array) -> Dictionary:
        """The same dictionary with another origin."""
        origin = self.xp.astype(point, self.dtype)
        return replace(self, atoms=self.atoms - origin, origin=origin)

    def _centred(self) -> Dictionary:
        centred, origin = self.about(self.mean), self.xp.astype(self.mean, self.dtype)
        if growth := Growth.carrying(self, "centred_gram"):
            centred.held["gram"] = growth.extend_centred_gram(centred.atoms, origin)
        return centred

    @cached_property
    def about_weighted_mean(self) -> Dictionary:
        """The same dictionary with the mean of the atoms by their weights as its origin; itself without weights."""
        if self.weights is None or self.origin is None:
            return self
        weights = self.like(self.weights / self.weights.sum())
        apart = self.xp.astype(weights @ in_double(self.atoms), self.dtype)
        return replace(self, atoms=self.atoms - apart, origin=self.origin + apart)

    # --- products

    def _gram(self) -> Array:
        growth = Growth.carrying(self, "gram")
        return growth.extend_gram(self.atoms) if growth else gram_of(self.atoms)

    @property
    def scatter(self) -> Array:
        """XXᵀ in double precision, (n_features, n_features)."""
        growth = Growth.carrying(self, "scatter")
        return self.once("scatter", lambda: growth.extend_scatter(self.atoms) if growth else scatter_of(self.atoms))

    @property
    def spread(self) -> Array:
        """(X − x̄1ᵀ)(X − x̄1ᵀ)ᵀ in double precision, the scatter about the mean."""
        return self.once("spread", self._spread)

    def _spread(self) -> Array:
        growth = Growth.carrying(self, "spread")
        return growth.extend_spread(self.atoms) if growth else scatter_of(in_double(self.atoms) - self.mean)

    def _squares(self) -> Array:
        return squares_in_double(self.atoms)

    def _block_grams(self) -> list[Array]:
        return [self.atoms[block, :] @ self.atoms[block, :].T for block in self.blocks]

    @cached_property
    def mean(self) -> Array:
        """x̄, the mean atom, in double precision."""
        return self.xp.mean(in_double(self.atoms), axis=0)

    @property
    def squared_mean(self) -> float:
        """‖x̄‖²."""
        return float(self.mean @ self.mean)

    def times_gram(self, codes: Any) -> Array:
        """XᵀXc for each code: (n_queries, n_atoms)."""
        return (codes @ self.atoms) @ self.atoms.T

    def class_cross(self, codes: Any) -> Array:
        """X_iᵀX_i c_i for each class i, side by side: (n_queries, n_atoms)."""
        products = [(codes[:, block] @ self.atoms[block, :]) @ self.atoms[block, :].T for block in self.blocks]
        return self.xp.concat(products, axis=1)

    def class_shortfalls(self, codes: Any) -> Array:
        """‖Xc − X_i c_i‖² for each class i: how far it falls short of what all classes represent together."""
        return CoordinateQueries(self, codes @ self.atoms).class_misfits(codes)

    def eigenvalues(self, on_plane: bool) -> tuple[np.ndarray, float]:
        """Squares of the singular values of X, which are as accurate as the atoms are."""
        # About their mean once more: a centre that is rounded would leave a direction that Σc = 0 does not have.
        atoms = in_double((self.centred if on_plane else self).atoms)
        values = to_numpy(self.xp.linalg.svdvals(atoms)) ** 2
        return values, 16.0 * np.finfo(float).eps ** 2 * self.n_features * len(values) * float(values.max())
