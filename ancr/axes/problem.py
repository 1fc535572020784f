"""The problem to solve: a quadratic and a set over a dictionary, the first three axes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import frexp, sqrt
from typing import Any

import numpy as np

from ancr._core.arrays import Array
from ancr.axes.quadratics import Quadratic, times_square, weights_of
from ancr.axes.sets import Set, named_set
from ancr.dictionary.atoms import BaseDictionary, restricted
from ancr.dictionary.products import Queries

# Binary exponents of the data within which squares and their sums are safe from overflow and underflow.
_SAFE_EXPONENT = {True: 20, False: 100}
# Lengths below this share of the largest in the data are rounding: on a query that equals the centre no gap could be
# measured relative to its length.
_LEAST_LENGTH = 2.0**-32
# A relaxation this many times the square of the longest atom keeps a code in the set to the last digit.
_HARD = 1e18


@dataclass(frozen=True)
class Problem:
    """A quadratic over a set and a dictionary: min cᵀHc − 2bᵀc, for any query.

    With a ``relaxation`` γ the code may leave the set, at the price γ/2·dist². ``fixed_origin`` keeps solvers from
    moving the origin, for callers that read their pulls.
    """

    dictionary: BaseDictionary
    quadratic: Quadratic
    constraint: Set
    relaxation: float | None = None
    fixed_origin: bool = False

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

        An atom to which the dictionary gives a weight w pays λ/w.
        A relaxation so large that no code leaves the set is the hard constraint itself.
        """
        weights = weights_of(quadratic, float(alpha), float(beta), dictionary.n_classes).priced(dictionary.weights)
        if relaxation is not None and relaxation >= _HARD * max(weights.largest_price, dictionary.largest_square):
            relaxation = None
        return cls(dictionary, weights, named_set(constraint), relaxation)

    def over(self, kept: np.ndarray) -> Problem:
        """The same problem over some of the atoms."""
        dictionary = restricted(self.dictionary, kept)
        return replace(self, dictionary=dictionary, quadratic=self.quadratic.of_atoms(kept))

    @property
    def has_l1_term(self) -> bool:
        """Whether a term ‖c‖₁ matters: if all entries are non-negative and sum to one, it is a constant."""
        constant = self.constraint.nonnegative and self.constraint.sums_to_one and self.quadratic.multiples is None
        return bool(self.quadratic.absolute) and not constant

    @cached_property
    def lengths(self) -> Array:
        """√H_jj of each atom."""
        return self.dictionary.xp.sqrt(self.quadratic.diagonal(self.dictionary))

    @property
    def has_origin(self) -> bool:
        """Whether the optimum depends on where the origin is.

        On Σc = 1 it does not: y − Xc = (y − m) − (X − m1ᵀ)c for every m. Class terms and a relaxation depend on it.
        """
        moves = self.constraint.sums_to_one and not self.quadratic.blocks and self.relaxation is None
        return self.fixed_origin or not moves

    @cached_property
    def standard_form(self) -> StandardForm:
        """The problem with the same codes that solvers and the certificate compute with."""
        return StandardForm.of(self)

    def rule_dictionary(self, unit_norm: bool) -> BaseDictionary:
        """The dictionary whose atoms rules compare with queries, in units in which squares do not overflow.

        Where nothing fixes an origin, neither samples of unit norm nor the problem, decisions must not depend on it
        either: then it is the one about the mean atom, by weights where atoms have them: weight 2 is two copies.
        """
        if unit_norm or self.has_origin:
            return self.dictionary.in_safe_units
        dictionary = self.standard_form.problem.dictionary
        return dictionary.located.about_weighted_mean if dictionary.has_coordinates else dictionary

    def asked(self, queries: Queries) -> Queries:
        """The queries with prices as they matter: on Σc = 1 less the least, since one that all share is a constant."""
        return queries.from_least_price if self.constraint.sums_to_one else queries

    def objective(self, queries: Queries, codes: Any) -> Array:
        """‖y‖² + cᵀHc − 2bᵀc + absolute·‖c‖₁ for each query, and what it pays; without the price of a relaxation."""
        form = self.standard_form
        value = form.problem.quadratic.excess(form.queries(queries), codes) / form.factor / form.factor
        unreachable = 1.0 - self.quadratic.reach(self.dictionary)
        value = value + unreachable * queries.squares if unreachable else value
        return value if queries.prices is None else value + queries.paid(codes)

    def scale(self, queries: Queries, codes: Any) -> Array:
        """What a gap is relative to, for each query: the larger of ‖y − centre‖² and the objective itself."""
        form = self.standard_form
        moved = form.queries(queries)
        value = form.problem.quadratic.excess(moved, codes) + moved.paid(codes)
        return self.dictionary.xp.maximum(form.size(moved), value) / form.factor / form.factor


@dataclass(frozen=True)
class StandardForm:
    """An equivalent problem: about the mean atom m where the origin does not matter, and in safe units.

    With f a power of two, atoms f·(x − m) and queries f·(y − m·gram/target) have the same codes, at weights f²λ;
    objectives are f² times those of the problem given. Where neither is needed it is that problem itself.

    Attributes
    ----------
    problem : Problem
        The equivalent problem. Its dictionary knows m and f.
    least : float
        A square below which the squared norm of a query is rounding.
    """

    problem: Problem
    least: float

    @classmethod
    def of(cls, problem: Problem) -> StandardForm:
        """Centre and rescale a problem as far as it needs to be."""
        dictionary = problem.dictionary
        quadratic, factor = problem.quadratic, _factor(problem)
        if factor != 1.0:
            dictionary = dictionary.located.scaled(factor)
            problem = replace(problem, quadratic=quadratic.times(factor))
            if problem.relaxation is not None:
                problem = replace(problem, relaxation=float(times_square(problem.relaxation, factor)))
        # On a cone a code shrinks with its query, and nothing is lost.
        least = (_LEAST_LENGTH * dictionary.longest) ** 2 if problem.constraint.sums_to_one else 0.0
        if not problem.has_origin and dictionary.has_coordinates:
            dictionary = dictionary.located.centred
        if dictionary is not problem.dictionary:
            problem = replace(problem, dictionary=dictionary)
        return cls(problem, least)

    @property
    def factor(self) -> float:
        """f."""
        return self.problem.dictionary.units

    @property
    def query_scale(self) -> float:
        """target/gram: what a query is multiplied by where it is compared with Xc."""
        return self.problem.quadratic.target / (self.problem.quadratic.gram or 1.0)

    def queries(self, given: Queries) -> Queries:
        """Queries in standard form, with prices as they matter."""
        return self.problem.asked(given).seen_by(self.problem.dictionary, self.query_scale)

    def size(self, queries: Queries) -> Array:
        """‖y − centre‖² of each query in standard form, never below what rounding leaves."""
        squares = queries.squared_distances_to_mean if self.keeps_origin else queries.squares
        return self.problem.dictionary.xp.clip(squares, self.least, None)

    @property
    def keeps_origin(self) -> bool:
        """Whether the origin stays where it is although it does not matter, for want of coordinates."""
        return not (self.problem.has_origin or self.problem.dictionary.has_coordinates)


def _factor(problem: Problem) -> float:
    """A power of two that brings atoms and ridge to safe numbers; one if they already are."""
    dictionary = problem.dictionary
    if not dictionary.has_coordinates:
        return 1.0
    largest = max(dictionary.located.largest_entry, sqrt(problem.quadratic.largest_price))
    exponent = max(frexp(largest)[1], -1000)
    return 1.0 if abs(exponent) <= _SAFE_EXPONENT[dictionary.is_single] or not largest else 2.0**-exponent
