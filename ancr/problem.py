"""The problem to solve: a quadratic and a set over a dictionary, the first three axes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import isinf
from typing import Any

from ancr.backends.arrays import Array
from ancr.dictionary import BaseDictionary
from ancr.quadratics import Quadratic, weights_of
from ancr.sets import Set, named_set
from ancr.tolerances import LEAST_SPAN


@dataclass(frozen=True)
class Problem:
    """A quadratic over a set and a dictionary: min cᵀHc − 2bᵀc, for any query.

    With a ``relaxation`` γ the code may leave the set, at the price γ/2·dist².
    """

    dictionary: BaseDictionary
    quadratic: Quadratic
    constraint: Set
    relaxation: float | None = None

    @classmethod
    def of(
        cls,
        dictionary: BaseDictionary,
        quadratic: str | Callable[..., Quadratic],
        constraint: str | Set,
        *,
        alpha: float = 0.0,
        beta: float = 0.0,
        relaxation: float | None = None,
    ) -> Problem:
        """Make a problem from the axes, given by name or as objects, and their parameters.

        An infinite relaxation is the hard constraint itself.
        """
        weights = weights_of(quadratic, float(alpha), float(beta), dictionary.n_classes)
        relaxation = None if relaxation is None or isinf(relaxation) else relaxation
        return cls(dictionary, weights, named_set(constraint), relaxation)

    @property
    def has_l1_term(self) -> bool:
        """Whether a term ‖c‖₁ matters: if all entries are non-negative and sum to one, it is a constant."""
        constant = self.constraint.nonnegative and self.constraint.sums_to_one
        return bool(self.quadratic.absolute) and not constant

    @cached_property
    def lengths(self) -> Array:
        """√H_jj of each atom."""
        return self.dictionary.xp.sqrt(self.quadratic.diagonal(self.dictionary))

    def scale(self, queries: Array, codes: Any) -> Array:
        """Size of the terms of each query's objective, relative to which a gap is measured.

        ‖y‖² + (Σ|c_j|·√H_jj)², an upper bound on every term. On a bounded set, where a code cannot shrink with its
        query, √ε times the longest atom's square counts too: anything smaller is lost in rounding.
        """
        span = abs(codes) @ self.lengths
        if self.constraint.is_bounded:
            span = span + LEAST_SPAN * self.dictionary.xp.max(self.lengths)
        return self.quadratic.reach(self.dictionary) * self.dictionary.squared_norms(queries) + span**2
