"""The relative gap of codes, from the problem alone: no solver takes part in it."""

from __future__ import annotations

from typing import Any

from scipy.sparse import issparse

from ancr._core.arrays import Array, in_double
from ancr.axes.problem import Problem
from ancr.certificate.bounds import bound_on_gap
from ancr.certificate.hessian import Hessian
from ancr.certificate.rounding import BoundContext
from ancr.dictionary.products import Queries


class Certificate:
    """The relative gap of a problem as a function of (queries, codes), in double precision.

    Parameters
    ----------
    problem : Problem
        The problem as given.
    """

    def __init__(self, problem: Problem) -> None:
        self._hessian = Hessian(problem)

    def __call__(self, queries: Queries, codes: Any) -> Array:
        """Bound on f(c) − f* for each query, relative to the larger of ‖y − centre‖² and f(c)."""
        form, problem = self._hessian.form, self._hessian.problem
        dictionary, xp = problem.dictionary, problem.dictionary.xp
        queries, codes = queries.in_double, in_double(codes)
        if not dictionary.is_convex:  # all bounds rest on convexity
            return xp.full_like(queries.rows[:, 0], float("inf"))
        if problem.relaxation is None:  # codes in single precision sum to one up to their last digit
            codes = problem.constraint.repaired(codes)
        context = BoundContext(self._hessian, *_at_length_one(problem, form.queries(queries), codes))
        bound = xp.where(context.queries.inconsistent_with_gram, float("inf"), bound_on_gap(context))
        scale = form.size(context.queries)
        if dictionary.knows_lengths:  # the objective is a sum of squares and bounds the gap itself
            scale, most = xp.maximum(scale, context.value), context.at_most(context.value)
            bound = xp.where(bound <= most, bound, most)  # what is not a number is no bound
        # A zero query over zero atoms has scale zero; its gap is zero.
        gap = xp.clip(bound, 0.0, None) / xp.where(scale > 0.0, scale, xp.ones_like(scale))
        return xp.where(gap >= 0.0, gap, float("inf"))  # what is not a number proves nothing


def _at_length_one(problem: Problem, queries: Queries, codes: Any) -> tuple[Queries, Any]:
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
    shorter = Queries.of(problem.dictionary, queries.rows * share)
    return shorter, codes.multiply(share).tocsr() if issparse(codes) else codes * share
