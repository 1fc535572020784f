"""A block of queries with their codes, and what rounding can do to their pulls and objectives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ancr._core.arrays import Array, dense, row_dots, row_squares
from ancr.axes.problem import Problem
from ancr.axes.quadratics import Quadratic
from ancr.certificate.hessian import EPS, Hessian
from ancr.dictionary.atoms import BaseDictionary
from ancr.dictionary.products import Queries


@dataclass(frozen=True)
class BoundContext:
    """What a bound on f(c) − f* is computed from.

    Attributes
    ----------
    hessian : Hessian
        What is known about the problem independently of the query.
    queries : Queries
        In double precision and standard form.
    codes : array or CSR array
        In double precision.
    sums_by_scaling : bool
        Whether a sum that is one up to its last digit is made one by scaling the code, which leaves the pulls alone.
    """

    hessian: Hessian
    queries: Queries
    codes: Any
    sums_by_scaling: bool = False

    @property
    def problem(self) -> Problem:
        """The problem in standard form."""
        return self.hessian.problem

    @property
    def dictionary(self) -> BaseDictionary:
        """The atoms, in double precision."""
        return self.problem.dictionary

    @property
    def quadratic(self) -> Quadratic:
        """H and b."""
        return self.problem.quadratic

    @property
    def price(self) -> float:
        """γ/2, what a relaxed code pays for its squared distance from the set; 0 without a relaxation."""
        return (self.problem.relaxation or 0.0) / 2.0

    @cached_property
    def pull(self) -> Array:
        """p = b − Hc for all atoms."""
        return self.quadratic.pull(self.queries, self.codes)

    @cached_property
    def span(self) -> Array:
        """Σ|c_j|·√H_jj of each code, which bounds √(cᵀHc)."""
        return abs(self.codes) @ self.problem.lengths

    @cached_property
    def rounding(self) -> Array:
        """What rounding can do to the pull of an atom with H_jj = 1.

        Sums of d and of n products are off by at most (d + n)·u times the sum of their absolute values, which for
        p_j is at most √H_jj times the lengths of the query and of the code. A code that sums to one does so up to the
        last digit, in any of its entries.
        """
        steps, xp = self.dictionary.dimension + self.dictionary.n_atoms + 16, self.dictionary.xp
        exact = self.sums_by_scaling or not self.problem.constraint.sums_to_one
        of_the_sum = 0.0 if exact else EPS * float(xp.max(self.problem.lengths))
        share = steps * EPS / 2.0 + self.queries.rounding
        return share * self._terms + of_the_sum

    @cached_property
    def _terms(self) -> Array:
        """Length of the query and of the code: what pulls and misfits are made of."""
        reach = self.quadratic.reach(self.dictionary)
        return self.dictionary.xp.sqrt(reach * self.queries.squares) + self.span

    @cached_property
    def members(self) -> Array:
        """The point of the set nearest to each code."""
        return self.problem.constraint.project(self.codes)

    @cached_property
    def value(self) -> Array:
        """The objective without the constant that no code can reach, with prices and that of a relaxation."""
        value = self.quadratic.excess(self.queries, self.codes) + self.queries.paid(self.codes)
        return value + self.price * row_squares(self.codes - self.members) if self.price else value

    def at_most(self, value: Array) -> Array:
        """The largest that an objective can be, which without coordinates is a difference of large terms."""
        if self.dictionary.has_coordinates:
            root = self.dictionary.xp.sqrt(self.dictionary.xp.clip(value, 0.0, None))
            return (root + self.rounding) ** 2 + self._paid_slack
        return value + 2.0 * self.rounding * self._terms + self._paid_slack

    def at_least(self, value: Array) -> Array:
        """The least that an objective can be; for dictionaries with coordinates."""
        root = self.dictionary.xp.sqrt(self.dictionary.xp.clip(value - self._paid_slack, 0.0, None))
        return self.dictionary.xp.clip(root - self.rounding, 0.0, None) ** 2

    @cached_property
    def is_priced(self) -> bool:
        """Whether queries pay prices, so that b need not lie in the range of H."""
        return self.queries.prices is not None

    @cached_property
    def bounds_itself(self) -> Array:
        """Whether the objective of each query is a sum of terms that no code makes negative, so that f* is not."""
        prices, constraint, xp = self.queries.prices, self.problem.constraint, self.dictionary.xp
        if prices is None:
            return xp.ones_like(self.value, dtype=xp.bool)
        excluded = self.queries.excluded
        fine = prices >= 0.0 if excluded is None else (prices >= 0.0) | excluded
        return xp.all(fine, axis=1) & constraint.nonnegative

    @cached_property
    def _paid_slack(self) -> Array | float:
        """What rounding can do to what is paid."""
        prices, steps = self.queries.prices, self.dictionary.n_atoms + 16
        return 0.0 if prices is None else steps * EPS * row_dots(abs(self.codes), abs(prices))

    @cached_property
    def slack(self) -> Array:
        """What rounding can do to each pull."""
        slack = self.rounding[:, None] * self.hessian.atom_lengths
        if self.queries.prices is not None:
            slack = slack + EPS * abs(self.queries.prices)
        prices = self.quadratic.prices_like(slack)
        return slack + 2.0 * EPS * prices * abs(dense(self.codes)) if self.quadratic.largest_price else slack

    @cached_property
    def raised_pull(self) -> Array:
        """The largest that each pull can be."""
        return self.pull + self.slack

    @property
    def code_slack(self) -> Array:
        """What rounding can do to pᵀc."""
        return self.rounding * self.span + self._paid_slack

    @property
    def lost_price(self) -> Array | float:
        """2λ‖c‖² where the ridge is lost in rounding, for c and what is lost with it, and what lost directions gain."""
        if not self.hessian.ridge_is_lost:
            return 0.0
        share = self.hessian.lost_share
        price = 2.0 * self.quadratic.ridge * row_squares(self.codes) if self.quadratic.ridge else 0.0
        if not share:
            return price
        return price + (share * self.at_most(self.value) if self.dictionary.knows_lengths else float("inf"))

    def fall_to(self, better: BoundContext) -> Array:
        """By how much at most f falls to other codes: tᵀ(p + p′) for the step t, and what the relaxation costs less.

        A difference of two objectives would be one of large numbers, which contain the square of the query.
        """
        step, pull = dense(better.codes) - dense(self.codes), self.pull + better.pull
        if self.problem.constraint.sums_to_one and not self.price:
            # Steps sum to zero, up to the rounding of codes, which must not count.
            pull = pull - self.dictionary.xp.mean(pull, axis=1, keepdims=True)
        fall = row_dots(step, pull) + row_dots(abs(step), self.slack + better.slack)
        if not self.price:
            return fall
        before, after = dense(self.codes - self.members), dense(better.codes - better.members)
        rounding = 4.0 * EPS * (lengths_of(dense(self.codes)) + lengths_of(dense(better.codes)))
        return (
            fall
            + self.price * row_dots(before - after, before + after)
            + self.price * rounding * (lengths_of(before) + lengths_of(after) + rounding)
        )

    def moved(self, step: Array) -> tuple[BoundContext, Array]:
        """The same queries with codes that are a step further, and by how much at most f falls on the way there."""
        better = replace(self, codes=dense(self.codes) + step)
        return better, self.fall_to(better)

    def row(self, row: int) -> BoundContext:
        """The same for one query."""
        one = slice(row, row + 1)
        return BoundContext(self.hessian, self.queries.take(one), self.codes[one, :], self.sums_by_scaling)


def lengths_of(rows: Array) -> Array:
    """ℓ2 norms of rows."""
    return row_squares(rows) ** 0.5
