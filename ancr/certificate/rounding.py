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

# A gap of 1e-8, the tolerance, is at most this many times as much of f(c); a bound above this share of what a gap is
# relative to is worth more effort.
_SHARE, _GOOD = 100.0, 1e-10


@dataclass(frozen=True)
class CodedQueries:
    """A block of queries with their codes.

    Attributes
    ----------
    hessian : Hessian
        What is known about the problem independently of the query.
    queries : Queries
        In double precision and standard form.
    codes : array or CSR array
        In double precision.
    """

    hessian: Hessian
    queries: Queries
    codes: Any

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
    def members(self) -> Array:
        """The point of the set nearest to each code."""
        return self.problem.constraint.project(self.codes)

    @cached_property
    def value(self) -> Array:
        """The objective without the constant that no code can reach, with prices and that of a relaxation."""
        value = self._excess + self.queries.paid(self.codes)
        return value + self.price * row_squares(self.codes - self.members) if self.price else value

    @cached_property
    def _excess(self) -> Array:
        return self.quadratic.excess(self.queries, self.codes)

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


@dataclass(frozen=True)
class BoundContext(CodedQueries):
    """What a bound on f(c) − f* is computed from: queries with their codes, and what rounding can do.

    Attributes
    ----------
    sums_by_scaling : bool
        Whether a sum that is one up to its last digit is made one by scaling the code, which leaves the pulls alone.
    """

    sums_by_scaling: bool = False

    @cached_property
    def _of_residual(self) -> Array:
        """What rounding can do to the residual, and through it to the pull of an atom with H_jj = 1.

        Sums of d and of n products are off by at most (d + n)·u times the sum of their absolute values, which for
        p_j is at most √H_jj times the lengths of the query and of the code.
        """
        steps = self.dictionary.dimension + self.dictionary.n_atoms + 16
        return (steps * EPS / 2.0 + self.queries.rounding) * self._terms

    @cached_property
    def _of_sum(self) -> float:
        """What it does to it that a code sums to one up to the last digit only, in any of its entries."""
        exact = self.sums_by_scaling or not self.problem.constraint.sums_to_one
        return 0.0 if exact else EPS * float(self.dictionary.xp.max(self.problem.lengths))

    @property
    def _splits(self) -> bool:
        """Whether pulls are products of the atoms with a residual: then bounds are those of a query nearby."""
        return self.dictionary.has_coordinates and not self.quadratic.blocks

    @cached_property
    def rounding(self) -> Array:
        """What rounding can do to the pull of an atom with H_jj = 1, for the residual as it was computed.

        A product with it is off by d·u of its length; `of_given` makes up for what it is off itself.
        """
        if not self._splits:
            return self._of_residual + self._of_sum
        length = self.dictionary.xp.sqrt(self._excess) + self._of_residual
        return (self.dictionary.dimension + 8) * EPS / 2.0 * length + self._of_sum

    def of_given(self, bound: Array) -> Array:
        """A bound for the queries given, from one for those whose residuals are the ones computed.

        For ‖y − Xc‖² + g(c) with a convex g, a bound G at y + e means ‖X(c − c*)‖ ≤ √G + ‖e‖, since the products of two
        optima are no farther apart than their queries. So at y the gap is at most G + 2‖e‖(√G + ‖e‖).
        """
        if not self._splits:
            return bound
        error = self._of_residual
        return (self.dictionary.xp.sqrt(self.dictionary.xp.clip(bound, 0.0, None)) + error) ** 2 + error**2

    @cached_property
    def _terms(self) -> Array:
        """Length of the query and of the code: what pulls and misfits are made of."""
        reach = self.quadratic.reach(self.dictionary)
        return self.dictionary.xp.sqrt(reach * self.queries.squares) + self.span

    def at_most(self, value: Array) -> Array:
        """The largest that an objective can be, which without coordinates is a difference of large terms."""
        if self.dictionary.has_coordinates:
            root = self.dictionary.xp.sqrt(self.dictionary.xp.clip(value, 0.0, None))
            return (root + self._of_residual + self._of_sum) ** 2 + self._paid_slack
        return value + 2.0 * (self._of_residual + self._of_sum) * self._terms + self._paid_slack

    def at_least(self, value: Array) -> Array:
        """The least that an objective can be; for dictionaries with coordinates."""
        root = self.dictionary.xp.sqrt(self.dictionary.xp.clip(value - self._paid_slack, 0.0, None))
        return self.dictionary.xp.clip(root - self._of_residual - self._of_sum, 0.0, None) ** 2

    @cached_property
    def scale(self) -> Array:
        """What a gap is relative to: ‖y − centre‖² or, where that is less, a hundred times f(c), or its rounding.

        Where nothing counts as rounding, f(c) counts as no more than it surely is.
        """
        form, share, xp = self.hessian.form, self.hessian.rounding, self.dictionary.xp
        size = form.size(self.queries)
        if not self.dictionary.knows_lengths:
            return size
        size = xp.maximum(size, xp.abs(self.value))  # negative only where prices are, and then as large as these
        if share.of_nearest:
            rounding = xp.maximum(share.of_nearest * self._nearest(size), share.of_distance * size)
            least = xp.maximum(self.value, xp.clip(rounding, form.least, None))
        else:
            least = self.at_least(self.value)
        return xp.where(self.bounds_itself, xp.minimum(size, _SHARE * least), size)

    def _nearest(self, size: Array) -> Array:
        """What the best single atom leaves, at most the size: outliers move the mean atom, and do not enter this."""
        if self.problem.has_origin or not self.dictionary.has_coordinates:
            return size
        xp, queries = self.dictionary.xp, self.queries
        apart = queries.squares[:, None] - 2.0 * queries.cross + self.dictionary.squares
        apart = -2.0 * queries.charged(-0.5 * apart, -float("inf"))
        return xp.minimum(size, xp.clip(xp.min(apart, axis=1), 0.0, None) + self.quadratic.largest_price)

    @cached_property
    def proved(self) -> Array:
        """What f(c) proves by itself, a sum of squares; infinite where prices may be negative, or ‖y‖² is not known."""
        xp = self.dictionary.xp
        if not self.dictionary.knows_lengths:
            return xp.full_like(self.queries.squares, float("inf"))
        return xp.where(self.bounds_itself, self.at_most(self.value), float("inf"))

    @cached_property
    def good(self) -> Array:
        """Bounds that are worth no more effort."""
        good = _GOOD * self.scale
        return self.dictionary.xp.where(self.proved <= good, float("inf"), good)

    @cached_property
    def _paid_slack(self) -> Array | float:
        """What rounding can do to what is paid."""
        prices, steps = self.queries.prices, self.dictionary.n_atoms + 16
        return 0.0 if prices is None else steps * EPS * row_dots(abs(self.codes), abs(prices))

    @cached_property
    def slack(self) -> Array:
        """What rounding can do to each pull, for the residual as it was computed."""
        return self._slack(self.rounding)

    def _slack(self, rounding: Array) -> Array:
        slack = rounding[:, None] * self.hessian.atom_lengths
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
        # Two residuals are rounded in two ways.
        slack = self._slack(self._of_residual + self._of_sum) + better._slack(better._of_residual + better._of_sum)
        fall = row_dots(step, pull) + row_dots(abs(step), slack)
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
