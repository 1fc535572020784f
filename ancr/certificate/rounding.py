"""A block of queries with their codes, and what rounding can do to their pulls and objectives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from ancr._core.arrays import Array, dense, namespace, row_dots, row_squares
from ancr.axes.problem import Problem
from ancr.axes.quadratics import Quadratic
from ancr.certificate.hessian import EPS, Hessian
from ancr.dictionary.atoms import BaseDictionary
from ancr.dictionary.products import Queries

# A gap of 1e-8, the tolerance, is at most this many times as much of f(c); a bound above this share of what a gap is
# relative to is worth more effort.
_SHARE, _GOOD = 100.0, 1e-10
# More than a sum of products can lose because some are below the smallest number.
_UNDERFLOW = 1e-300
# Sums of squares below this may have lost terms that count.
_FEW_DIGITS = 1e-290
# The longest floating-point numbers of the machine; on some they are those of double precision.
LONG = np.longdouble
LONG_EPS = float(np.finfo(LONG).eps)


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

    @property
    def _of_pull(self) -> Array:
        """What rounding can do to the pull of an atom with H_jj = 1, as it was computed from the query given."""
        return self._of_residual

    @cached_property
    def _of_residual(self) -> Array:
        """What rounding can do to the residual, and through it to the pull of an atom with H_jj = 1.

        Sums of d and of n products are off by at most (d + n)·u times the sum of their absolute values, which for
        p_j is at most √H_jj times the lengths of the query and of the code.
        """
        steps = self.dictionary.dimension + self.dictionary.n_atoms + 16
        return (steps * EPS / 2.0 + self.queries.rounding) * self._terms

    @cached_property
    def _of_sum(self) -> Array | float:
        """What it does to it that a code sums to one up to the last digit only, in any of its entries."""
        if self.sums_by_scaling or not self.problem.constraint.sums_to_one:
            return 0.0
        return self._apart * float(self.dictionary.xp.max(self.problem.lengths))

    @property
    def _apart(self) -> Array | float:
        """How far a sum that is one up to its last digit is from one."""
        return EPS

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
            return self._of_pull + self._of_sum
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
            rounding = xp.maximum(share.of_nearest * _nearest(self, size), share.of_distance * size)
            least = xp.maximum(self.value, xp.clip(rounding, form.least, None))
        else:
            least = self.at_least(self.value)
        return xp.where(self.bounds_itself, xp.minimum(size, _SHARE * least), size)

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

    @property
    def stays_zero(self) -> Array:
        """Which codes are zero and the optimum: no atom pulls harder than half its ℓ1 price, whatever underflowed.

        A zero query pulls at nothing, exactly; what an atom costs only holds it back.
        """
        xp, quadratic, constraint = self.dictionary.xp, self.quadratic, self.problem.constraint
        zero = xp.all(dense(self.codes) == 0.0, axis=1)
        if self.problem.has_l1_term and not self.is_priced:
            hardest = xp.abs(self.pull) + self.slack + _UNDERFLOW
            quiet = hardest <= 0.5 * quadratic.absolute * quadratic.multiples_like(hardest)
            return xp.all(quiet, axis=1) & (self.span == 0.0) & zero
        on_orthant = constraint.plain and constraint.nonnegative and not constraint.sums_to_one
        quiet = xp.all(self.queries.rows == 0.0, axis=1) & xp.all(self.pull <= 0.0, axis=1)
        return zero & quiet & (on_orthant and self.problem.relaxation is None and self.dictionary.has_coordinates)

    @cached_property
    def tolerated(self) -> Array:
        """Bounds that certify a query."""
        return self.hessian.tolerances.gap * self.scale

    @cached_property
    def is_refuted(self) -> Array:
        """Whether some step surely lowers f(c) by more than a certificate allows, so that no bound is worth its time.

        A step with the slope g and the curvature q, of which all may be taken, lowers f by at least g·min(1, g/q). Here
        it goes to the atom that pulls hardest or, on the orthant, along it or towards zero.
        """
        problem, xp = self.problem, self.dictionary.xp
        plain = problem.constraint.plain and problem.constraint.nonnegative
        has_other_bounds = problem.relaxation is not None or problem.has_l1_term
        if has_other_bounds or not plain or not self.dictionary.is_certain:
            return xp.zeros_like(self.value, dtype=xp.bool)
        level, lengths = row_dots(self.codes, self.pull), problem.lengths
        if problem.constraint.sums_to_one:
            slope = self.pull - self.slack - (level + self.code_slack)[:, None]
            slope, curvature = xp.clip(slope, 0.0, None), (lengths + self.span[:, None]) ** 2
            # Without curvature, as between equal atoms, all of the step may be taken.
            share = xp.where(curvature > 0.0, slope / xp.where(curvature > 0.0, curvature, 1.0), 1.0)
            gain = xp.max(slope * xp.minimum(share, xp.ones_like(slope)), axis=1)
            return gain > self.tolerated
        slope = xp.clip(self.pull - self.slack, 0.0, None)
        gain = xp.max(slope**2 / xp.where(lengths > 0.0, lengths, 1.0) ** 2, axis=1)
        back, curvature = xp.clip(-level - self.code_slack, 0.0, None), self.span**2
        share = back / xp.where(curvature > 0.0, curvature, 1.0)
        return xp.maximum(gain, back * xp.minimum(share, xp.ones_like(share))) > self.tolerated

    @cached_property
    def _paid_slack(self) -> Array | float:
        """What rounding can do to what is paid."""
        prices, steps = self.queries.prices, self.dictionary.n_atoms + 16
        if prices is None:
            return 0.0
        slack = steps * EPS * row_dots(abs(self.codes), abs(prices))
        rounding = self.queries.price_rounding
        return slack if rounding is None else slack + row_dots(abs(self.codes), rounding)

    @cached_property
    def slack(self) -> Array:
        """What rounding can do to each pull, for the residual as it was computed."""
        return self._slack(self.rounding)

    def _slack(self, rounding: Array) -> Array:
        slack = rounding[:, None] * self.hessian.atom_lengths
        if self.queries.prices is not None:
            slack = slack + EPS * abs(self.queries.prices)
            rounding = self.queries.price_rounding
            slack = slack if rounding is None else slack + rounding / 2.0
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
        """2λ‖c‖² where the ridge is lost in rounding, for c and what is lost with it, and what lost directions gain.

        Where H without the ridge is above its rounding in every direction, nothing is lost.
        """
        if not self.hessian.ridge_is_lost or self.hessian.has_all_directions:
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
            # Steps sum to zero, up to the rounding of codes, which must not count: as these are moved into the set, by
            # scaling on the simplex and by a shift elsewhere. They leave barred atoms alone.
            excluded, xp = self.queries.excluded, self.dictionary.xp
            pull = pull if excluded is None else xp.where(excluded, xp.zeros_like(pull), pull)
            scales = self.problem.constraint.nonnegative
            level = row_dots(better.codes, pull) if scales else xp.mean(pull, axis=1)
            pull = pull - level[:, None]
        # Two residuals are rounded in two ways, and differences of pulls once more.
        slack = self._slack(self._of_pull + self._of_sum) + better._slack(better._of_pull + better._of_sum)
        slack = slack + self.dictionary.n_atoms * EPS * abs(pull)
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
        better = replace(self, codes=dense(self.codes) + step, sums_by_scaling=False)
        return better, self.fall_to(better)

    def row(self, row: int) -> Self:
        """The same for one query."""
        one = slice(row, row + 1)
        return replace(self, queries=self.queries.take(one), codes=self.codes[one, :])


@dataclass(frozen=True, kw_only=True)
class LongBoundContext(BoundContext):
    """The same from pulls in the longest numbers of the machine, which hide less; for NumPy atoms with coordinates.

    Attributes
    ----------
    long_rows : ndarray
        The queries in these numbers, from the origin of the standard form.
    """

    long_rows: np.ndarray

    @cached_property
    def pull(self) -> Array:
        """p = b − Hc for all atoms, rounded to double precision at the end."""
        queries = Queries.of(self.hessian.long_dictionary, self.long_rows, terms=self.queries.settled_terms)
        return self.quadratic.pull(queries, self._long_codes).astype(float)

    @property
    def code_slack(self) -> Array:
        """What rounding can do to pᵀc, with the sum of products of rounded pulls."""
        lost = row_dots(abs(self.codes), abs(self.pull))
        return super().code_slack + self.dictionary.n_atoms * EPS * lost

    def row(self, row: int) -> Self:
        """The same for one query."""
        return replace(super().row(row), long_rows=self.long_rows[row : row + 1])

    @property
    def _long_codes(self) -> np.ndarray:
        return dense(self.codes).astype(LONG)

    @property
    def _of_pull(self) -> Array:
        return self._of_residual * (LONG_EPS / EPS)

    @property
    def _apart(self) -> Array:
        """Measured, since this may be most of what is lost, and of large entries it may be more than a last digit."""
        codes = self._long_codes
        off = abs(codes.sum(axis=1) - 1.0) + self.dictionary.n_atoms * LONG_EPS * abs(codes).sum(axis=1)
        return off.astype(float)

    @property
    def _splits(self) -> bool:
        return False

    def _slack(self, rounding: Array) -> Array:
        # What sums of pulls, and their last digits, can lose.
        return super()._slack(rounding) + self.dictionary.n_atoms * EPS * abs(self.pull)


def _nearest(context: BoundContext, size: Array) -> Array:
    """What the best single atom leaves, at most the size: outliers move the mean atom, and do not enter this."""
    if context.problem.has_origin or not context.dictionary.has_coordinates:
        return size
    xp, queries = context.dictionary.xp, context.queries
    apart = queries.squares[:, None] - 2.0 * queries.cross + context.dictionary.squares
    apart = -2.0 * queries.charged(-0.5 * apart, -float("inf"))
    alone = xp.clip(apart, 0.0, None) + context.quadratic.prices_like(context.dictionary.squares)
    return xp.minimum(size, xp.min(alone, axis=1))


def lengths_of(rows: Array) -> Array:
    """ℓ2 norms of rows, also of those whose squares are too small for their digits."""
    squares = row_squares(rows)
    xp = namespace(squares)
    small = squares < _FEW_DIGITS
    if not bool(xp.any(small)):
        return squares**0.5
    largest = xp.max(xp.abs(dense(rows)), axis=1)
    unit = xp.where(small & (largest > 0.0), largest, xp.ones_like(largest))
    scaled = row_squares(dense(rows) / unit[:, None])
    return xp.where(small, unit * scaled**0.5, squares**0.5)
