r"""Dictionaries without coordinates: everything that solvers and rules ask for, from inner products alone.

With K the Gram matrix, k the inner products of a query with the atoms and k(y, y) its square,

    ‖y − Xc‖²      = k(y, y) − 2kᵀc + cᵀKc,
    ‖y − X_i c_i‖² = k(y, y) − 2k_iᵀc_i + c_iᵀK_ii c_i,
    Xᵀ(y − Xc)     = k − Kc.

A point Xc is known by its code c. `ancr.dictionary.products.GramQueries` holds k and k(y, y) of a block of queries;
`ancr.dictionary.derived` has dictionaries whose inner products follow from those of another one.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from ancr._core.arrays import Array, concat, dense, in_double, map_rows, row_dots, take_rows, to_numpy, with_diagonal
from ancr.dictionary.atoms import BaseDictionary
from ancr.dictionary.class_forms import class_forms
from ancr.dictionary.gram import Growth
from ancr.dictionary.mercer import Kernel
from ancr.dictionary.products import GramQueries, row_means
from ancr.dictionary.psd_checks import eigenvalues_of, is_semidefinite

# Rows of the Gram matrix computed at once, half of them by symmetry.
_GRAM_ROWS = 1024
# A difference of k(x, y) and k(y, x) that is no rounding, relative to the largest.
_UNEVEN = 1e-4


@dataclass(eq=False)
class GramDictionary(BaseDictionary):
    """Atoms that are known by their inner products; a subclass says where these come from."""

    has_coordinates = False
    queries_type = GramQueries

    @abstractmethod
    def cross_of(self, queries: GramQueries) -> Array:
        """xᵀy of each query with each atom, computed."""

    @abstractmethod
    def squares_of(self, queries: GramQueries) -> Array:
        """k(y, y) of each query, in double precision, computed."""

    @property
    def coordinates(self) -> Array:
        """None, in an array that says so by its shape."""
        return self.atoms[:0, :0]

    @property
    def dimension(self) -> int:
        """As many as there are atoms."""
        return self.n_atoms

    def eigenvalues(self, on_plane: bool) -> tuple[np.ndarray, float]:
        """Those of the Gram matrix, with its rounding: also on the plane, where they may be far smaller than it."""
        return eigenvalues_of(to_numpy(in_double(self.gram)), on_plane, self.own_rounding)

    def _squares(self) -> Array:
        return self.xp.clip(in_double(self.xp.linalg.diagonal(self.gram)), 0.0, None)

    @cached_property
    def squared_mean(self) -> float:
        """‖x̄‖², the mean of the Gram matrix."""
        return float(self.xp.mean(row_means(self.gram)))

    def _block_grams(self) -> list[Array]:
        blocks = [self.gram[block, block] for block in self.blocks]
        return blocks if self.is_non_numpy else [np.ascontiguousarray(block) for block in blocks]

    def times_gram(self, codes: Any) -> Array:
        """Kc for each code: (n_queries, n_atoms)."""
        return codes @ self.gram

    def class_cross(self, codes: Any) -> Array:
        """X_iᵀX_i c_i for each class i, side by side: (n_queries, n_atoms)."""
        pairs = zip(self.blocks, self.block_grams, strict=True)
        return self.xp.concat([codes[:, block] @ gram for block, gram in pairs], axis=1)

    def class_shortfalls(self, codes: Any) -> Array:
        """‖Xc − X_i c_i‖² for each class i: how far it falls short of what all classes represent together."""
        codes = dense(codes)
        image = codes @ self.gram
        squares = class_forms(self, codes) - 2.0 * self.class_dots(codes, image)
        return self.xp.clip(squares + row_dots(codes, image)[:, None], 0.0, None)


@dataclass(eq=False)
class KernelDictionary(GramDictionary):
    """Atoms in the space of a kernel; ``atoms`` are the samples before it.

    Attributes
    ----------
    kernel : Kernel
        Gives the inner products.
    """

    kernel: Kernel
    # Whether inner products as they were given have been found to be positive semi-definite; None before.
    _found_convex: bool | None = field(default=None, init=False, repr=False)

    def _in_precision(self, name: str) -> Self:
        dtype = getattr(self.xp, name)
        other = replace(self, atoms=self.xp.astype(self.atoms, dtype))
        if self.is_single and not self.kernel.is_certain:
            other._found_convex = self.is_convex  # inner products have been judged as they were given
        if not self.is_single and "gram" in self.held:  # in single precision it is that of double, rounded
            other.held["gram"] = self.xp.astype(self.gram, dtype)
        return other

    @cached_property
    def _prepared(self) -> Any:
        return self.kernel.prepare(self.atoms, self.order)

    def cross_of(self, queries: GramQueries) -> Array:
        """Kernel values."""
        return self._prepared(queries.rows)

    def squares_of(self, queries: GramQueries) -> Array:
        """k(y, y) or, where the kernel cannot know it, its mean over the atoms."""
        squares = self.kernel.squares(queries.rows)
        return self.xp.where(self.xp.isnan(squares), self.xp.mean(self.squares), squares)

    def value_rounding(self, rows: Array) -> float:
        """As the kernel says."""
        return self.kernel.rounding(self.atoms, rows)

    @property
    def knows_lengths(self) -> bool:
        """Whether k(y, y) of a query is known."""
        return self.kernel.knows_squares

    @property
    def is_certain(self) -> bool:
        """Whether the kernel's formula says that there is a space with these inner products."""
        return self.kernel.is_certain

    @cached_property
    def n_distinct(self) -> int:
        """Atoms of some length that are not equal to another one; inner products that were given may differ even so."""
        long = to_numpy(self.squares) > 0.0
        return len(np.unique(to_numpy(self.atoms)[long], axis=0)) if self.knows_lengths else int(long.sum())

    @property
    def is_convex(self) -> bool:
        """Whether K is positive semi-definite, so that every quadratic of the family is convex."""
        _ = self.gram
        return self._found_convex is not False

    def _gram(self) -> Array:
        """K, with a warning if it belongs to no space."""
        growth = Growth.carrying(self, "gram")
        new = take_rows(self.atoms, growth.new) if growth else None
        gram = growth.extend_gram_by(self._in_parallel(new)) if growth else self._from_scratch()
        squares, xp = self.kernel.squares(self.atoms), self.xp
        gram = with_diagonal(gram, xp.where(xp.isnan(squares), in_double(xp.linalg.diagonal(gram)), squares))
        if not self.kernel.is_certain and self._found_convex is None:
            self._found_convex = is_semidefinite(gram)
            text = "is not positive semi-definite on the samples: no space has such inner products, codes need not be"
            if not self._found_convex:
                message = f"kernel={self.kernel.name!r} {text} optimal, and none is certified"
                warnings.warn(message, UserWarning, stacklevel=4)
        return gram

    def _from_scratch(self) -> Array:
        """The lower half in blocks of rows, and its mirror image; on a device all at once, in double precision."""
        if self.is_non_numpy:
            # Solvers need it in double precision in any case; inner products that were given are judged as they are.
            from_double = self.is_single and self.kernel.is_certain
            values = self.in_double.gram if from_double else self._made_even(self._prepared(self.atoms))
            return self.xp.astype(values, self.dtype)
        gram = np.empty((self.n_atoms, self.n_atoms), self.dtype)
        for start in range(0, self.n_atoms, _GRAM_ROWS):
            stop = min(start + _GRAM_ROWS, self.n_atoms)
            first = self.kernel.prepare(self.atoms[:stop], self.order[:stop])
            gram[start:stop, :stop] = first(self.atoms[start:stop])
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
        return concat(map_rows(lambda block: self._prepared(rows[block, :]), rows, 8 * self.n_atoms))
