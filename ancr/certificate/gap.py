"""The relative gap of codes, from the problem alone: no solver takes part in it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ancr._core.arrays import Array, in_double, row_sums, take_columns, take_rows, to_numpy
from ancr.axes.problem import Problem
from ancr.certificate.bounds import bound_on_gap
from ancr.certificate.hessian import EPS, Hessian
from ancr.certificate.rounding import LONG, LONG_EPS, BoundContext, LongBoundContext
from ancr.dictionary.products import Queries
from ancr.dictionary.terms import patterns

# A gap above this is worth another look.
_PROOF = 1e-9
# The most entries of atoms that are read for bounds in the longest numbers, over all queries of a block.
_MOST_ENTRIES = 10_000_000


class Certificate:
    """The relative gap of a problem as a function of (queries, codes), in double precision.

    Parameters
    ----------
    problem : Problem
        The problem as given.
    """

    def __init__(self, problem: Problem) -> None:
        self._hessian, self._given = Hessian(problem), problem

    def __call__(self, queries: Queries, codes: Any) -> Array:
        """Bound on f(c) − f* for each query, relative to ‖y − centre‖² or, where that is less, to a hundred times f(c).

        So 1e-8 means that f(c) is within 1e-6 of f*. Without a ridge f* may be zero: an f(c) that is rounding beside
        the query, the best single atom or the longest one counts as that much; ``docs/exact.md`` has the numbers.
        """
        problem, dictionary, xp = self._hessian.problem, self._hessian.dictionary, self._hessian.dictionary.xp
        queries, codes = problem.asked(queries.in_double), in_double(codes)
        if queries.excluded is not None and not self._heeds_exclusions:
            return self._over_atoms_left(queries, codes)
        if not dictionary.is_convex:  # all bounds rest on convexity
            return xp.full_like(queries.rows[:, 0], float("inf"))
        if problem.relaxation is None:  # codes in single precision sum to one up to their last digit
            codes = problem.constraint.repaired(codes)
        context, bound = self._bounds(queries, codes)
        scale = context.scale
        # A zero query over zero atoms has scale zero, and nothing pulls. Otherwise a scale of zero proves nothing:
        # numbers so small that their products are zero have a bound of zero, too, unless a zero code is the optimum.
        gap = xp.clip(bound, 0.0, None) / xp.where(scale > 0.0, scale, xp.ones_like(scale))
        quiet = context.pull == 0.0 if queries.excluded is None else (context.pull == 0.0) | queries.excluded
        settled = (gap == 0.0) & xp.all(quiet, axis=1) & xp.all(queries.rows == 0.0, axis=1)
        proved = (gap >= 0.0) & ((scale > 0.0) | settled)  # what is not a number proves nothing, either
        return xp.where(context.stays_zero, 0.0, xp.where(proved, gap, float("inf")))

    def _bounds(self, queries: Queries, codes: Any) -> tuple[BoundContext, Array]:
        """What bounds are computed from, and the best of them, in the units of the standard form."""
        dictionary, xp = self._hessian.dictionary, self._hessian.dictionary.xp
        moved = self._hessian.form.queries(queries)
        context = BoundContext(self._hessian, *_at_length_one(self._hessian.problem, moved, codes))
        bound = xp.where(context.queries.inconsistent_with_gram, float("inf"), bound_on_gap(context))
        if dictionary.knows_lengths:
            bound = xp.where(bound <= context.proved, bound, context.proved)  # what is not a number is no bound
            bound = self._about_queries(queries, codes, bound, context)
            bound = self._in_long(queries, context, bound)
        return context, bound

    @property
    def _heeds_exclusions(self) -> bool:
        """Whether bounds hold over the atoms that a query may use if the others pull far below all of these.

        They do where inequalities alone limit what an atom can gain: on Σc = 1, and where a ridge does.
        """
        problem, constraint = self._hessian.problem, self._hessian.problem.constraint
        bounded = constraint.sums_to_one or not self._hessian.ridge_is_lost
        return constraint.nonnegative and bounded and not (problem.relaxation or problem.has_l1_term)

    def _over_atoms_left(self, queries: Queries, codes: Any) -> Array:
        """The gap of each query in the problem over the atoms that it may use, made for each set of such atoms."""
        gaps = np.zeros(len(queries))
        for rows, kept in patterns(queries.terms):
            if len(kept):  # without atoms there is one code
                part = Certificate(self._given.over(kept))
                some = queries.take(rows).over(part._given.dictionary.in_double, kept)
                gaps[rows] = to_numpy(part(some, take_columns(take_rows(codes, rows), kept)))
        return self._given.dictionary.like(gaps)

    def _about_queries(self, queries: Queries, codes: Any, bound: Array, context: BoundContext) -> Array:
        """Bounds with those that are too large for a proof computed again, each about its own query.

        Where lengths differ by decades, the mean atom is far from a query beside short atoms, and what rounding does
        about it hides f. About the query, y − Xc = −(X − y1ᵀ)c on Σc = 1, with a query of zero.
        """
        problem, form = self._given, self._hessian.form
        dictionary = problem.dictionary.in_double
        moves = not problem.has_origin and dictionary.has_coordinates and form.query_scale == 1.0 == form.factor
        if not (moves and problem.constraint.has_inequalities and not problem.dictionary.is_non_numpy):
            return bound
        better, apart = np.array(bound), np.abs(row_sums(codes) - 1.0) + dictionary.n_atoms * EPS
        enough = (better <= _PROOF * context.scale) | context.is_refuted
        for row in np.flatnonzero(~enough & (apart < 0.1)).tolist():
            near = dictionary.located.with_atoms(dictionary.atoms - queries.rows[row])
            hessian = Hessian(replace(problem, dictionary=near, fixed_origin=True))
            own = queries.take(slice(row, row + 1))
            zero = hessian.form.queries(Queries.of(near, np.zeros((1, near.n_features)), terms=own.settled_terms))
            about = BoundContext(hessian, zero, codes[row : row + 1, :], sums_by_scaling=True)
            # A code whose sum is nearly one is scaled to it, which changes f by at most four times as much.
            found = bound_on_gap(about)[0] + 4.0 * apart[row] * about.value[0]
            # Atoms about a query may be twice as long as those about the mean, and need other units.
            better[row] = np.fmin(better[row], found / hessian.form.factor / hessian.form.factor)
        return better

    def _in_long(self, queries: Queries, context: BoundContext, bound: Array) -> Array:
        """Bounds that do not certify, again from pulls in the longest numbers of the machine."""
        dictionary = context.dictionary
        if dictionary.is_non_numpy or not dictionary.has_coordinates or LONG_EPS >= EPS:
            return bound
        better, rows = np.array(bound), np.flatnonzero(~((bound <= context.tolerated) | context.is_refuted))
        with np.errstate(divide="ignore"):  # where nothing is tolerated, a bound is far from it
            nearest = np.argsort(bound[rows] / context.tolerated[rows], kind="stable")
        for row in rows[nearest[: _MOST_ENTRIES // (dictionary.n_atoms * dictionary.dimension)]].tolist():
            one = context.row(row)
            long_rows = self._rows_in_long(queries.rows[row : row + 1], one)
            again = LongBoundContext(one.hessian, one.queries, one.codes, one.sums_by_scaling, long_rows=long_rows)
            better[row] = np.fmin(better[row], bound_on_gap(again)[0])
        return better

    def _rows_in_long(self, given: np.ndarray, one: BoundContext) -> np.ndarray:
        """Queries in standard form in the longest numbers; about an origin from those given, which nothing rounded."""
        long = self._hessian.long_dictionary
        if long.origin is None:
            return one.queries.rows.astype(LONG)
        return Queries.of(self._given.dictionary, given).seen_by(long, self._hessian.form.query_scale).rows


def _at_length_one(problem: Problem, queries: Any, codes: Any) -> tuple[Queries, Any]:
    """Queries and codes divided by a power of two, where squares of a query would overflow or vanish.

    On a cone the code is proportional to the query, and the relative gap stays the same.
    """
    xp, constraint = problem.dictionary.xp, problem.constraint
    cone = constraint.plain and not (constraint.sums_to_one or problem.has_l1_term or problem.relaxation is not None)
    if not (cone and problem.dictionary.has_coordinates):
        return queries, codes
    largest = xp.max(xp.abs(queries.rows), axis=1)
    if bool(xp.all(((largest > 1e-60) & (largest < 1e60)) | (largest == 0.0))):
        return queries, codes
    share = 2.0 ** -xp.round(xp.log2(xp.where(largest > 0.0, largest, 1.0)))[:, None]
    return queries.times(share[:, 0]), codes.multiply(share).tocsr() if issparse(codes) else codes * share
