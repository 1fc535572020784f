r"""Upper bounds on f(c) − f*, computed from the problem alone, independently of any solver.

With f(c) = cᵀHc − 2bᵀc, the pull p = b − Hc is minus half the gradient. Each set bounds the gap in its own way, see
`ancr.sets`; ``docs/exact.md`` derives the bounds. For an ℓ1 term the dual point is the usual one: the residual r,
scaled until |Xᵀr| ≤ λ/2. All bounds include what rounding can do to them, so that none is below the truth.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh
from scipy.sparse import issparse
from scipy.sparse.linalg import LinearOperator, cg

from ancr.backends.arrays import Array, in_double, row_dots, row_squares, to_numpy
from ancr.dictionary import BaseDictionary, about_mean
from ancr.problem import Problem
from ancr.quadratics import Quadratic

_EPS = float(np.finfo(float).eps)
# A curvature that proves nothing.
_NONE = float(np.finfo(float).tiny)


class Certificate:
    """The relative gap of a problem as a function of (queries, codes), in double precision."""

    def __init__(self, problem: Problem) -> None:
        self._given = replace(problem, dictionary=problem.dictionary.in_double)

    @property
    def problem(self) -> Problem:
        """The problem in its standard form, in double precision."""
        return self._given.standard_form.problem

    def __call__(self, queries: Array, codes: Any) -> Array:
        """Bound on f(c) − f* for each query, relative to the larger of ‖y − centre‖² and f(c)."""
        form, xp = self._given.standard_form, self.problem.dictionary.xp
        queries, codes = in_double(queries), in_double(codes)
        if not self.problem.dictionary.is_convex:  # all bounds rest on convexity
            return np.full(queries.shape[0], np.inf)
        look = Look(self, *self._at_length_one(form.queries(queries), codes))
        codes = look.codes
        # The objective is a sum of squares and bounds the gap itself.
        value = self.problem.quadratic.excess(self.problem.dictionary, look.queries, codes)
        if self.problem.relaxation is not None:
            members = self.problem.constraint.project(codes)
            value = value + self.problem.relaxation / 2.0 * row_squares(codes - members)
            bound = self.problem.constraint.relaxed_bound(look, members)
        elif self.problem.has_l1_term:
            bound = _l1_bound(look)
        else:
            bound = self.problem.constraint.bound(look)
        scale = xp.maximum(form.size(look.queries), value)
        bound = xp.minimum(bound, look.at_most(value))
        # A zero query over zero atoms has scale zero; its gap is zero.
        return xp.clip(bound, 0.0, None) / xp.where(scale > 0.0, scale, xp.ones_like(scale))

    def _at_length_one(self, queries: Array, codes: Any) -> tuple[Array, Any]:
        """Queries and codes divided by a power of two, where squares of a query would overflow or vanish.

        On a cone the code is proportional to the query, and the relative gap stays the same.
        """
        problem, xp = self.problem, self.problem.dictionary.xp
        cone = not (problem.constraint.sums_to_one or problem.has_l1_term or problem.relaxation is not None)
        if not (cone and problem.dictionary.has_coordinates):
            return queries, codes
        largest = xp.max(xp.abs(queries), axis=1)
        if bool(xp.all(((largest > 1e-60) & (largest < 1e60)) | (largest == 0.0))):
            return queries, codes
        share = 2.0 ** -xp.round(xp.log2(xp.where(largest > 0.0, largest, 1.0)))[:, None]
        return queries * share, codes.multiply(share).tocsr() if issparse(codes) else codes * share

    @cached_property
    def curvature(self) -> float:
        """A lower bound on the positive eigenvalues of H or, if the set asks for Σc = 1, of H restricted to Σc = 0.

        Singular values of X below the rounding of the largest count as zero, and a ridge below their squares is none.
        """
        problem = self.problem
        ridge, dictionary, on_plane = problem.quadratic.ridge, problem.dictionary, problem.constraint.sums_to_one
        if not self.ridge_is_lost:
            return ridge
        if problem.quadratic.surcharges is not None:  # they may lift a direction that XᵀX has not, by any small amount
            return _NONE
        if problem.quadratic.blocks:
            matrix = to_numpy(problem.quadratic.matrix(dictionary))
            values, rounding = eigvalsh(about_mean(about_mean(matrix).T) if on_plane else matrix), _EPS
            # Some eigenvalues are zero by dimension, on the plane one more. Any other below rounding may be anything.
            rank = int(np.minimum(np.diff(dictionary.bounds), dictionary.dimension).sum()) - on_plane
            if rank > 0 and values[-rank] <= len(values) * rounding * values[-1]:
                return _NONE
        else:
            values, rounding = dictionary.eigenvalues(on_plane)
            values = problem.quadratic.gram * values
        positive = values[values > len(values) * rounding * max(values.max(), 0.0)]
        return float(positive.min()) if len(positive) else 1.0

    @cached_property
    def ridge_is_lost(self) -> bool:
        """Whether the ridge is below the rounding of H, so that it cannot make H definite."""
        return self.problem.quadratic.ridge <= _EPS * float(self.problem.dictionary.xp.max(self.problem.lengths)) ** 2

    @cached_property
    def interior_direction(self) -> tuple[Array | None, float]:
        """He and eᵀHe for some e with He ≥ 1 on all atoms but zero ones; (None, 0) if none is found.

        Equal weights will do where atoms lie on one side of the origin, as non-negative data does. Otherwise He = 1 is
        solved by conjugate gradients; with a ridge the set has a bound that needs no e.
        """
        dictionary = self.problem.dictionary
        present = to_numpy(self.problem.lengths) > 0.0
        direction = present / max(present.sum(), 1)
        image = self._times_h(direction[None, :])[0]
        if not self.problem.quadratic.ridge and image[present].min(initial=np.inf) <= 0.0:
            system = LinearOperator((dictionary.n_atoms,) * 2, lambda e: self._times_h(e[None, :])[0], dtype=np.float64)
            with np.errstate(all="ignore"):  # where there is no e, whatever comes out is told below
                direction, _ = cg(system, 1.0 * present, maxiter=200)
                image = self._times_h(direction[None, :])[0]
        if not present.any():
            return dictionary.like(image), 0.0
        least = float(image[present].min())
        if not least > 1e-12 * np.abs(image).max():
            return None, 0.0
        return dictionary.like(image / least), float(direction @ image) / least**2

    def own_direction(self, tight: np.ndarray) -> tuple[np.ndarray, float]:
        """He and eᵀHe for an e over some atoms only, with He = 1 on them as nearly as can be."""
        unit = np.zeros((len(tight), self.problem.dictionary.n_atoms))
        unit[np.arange(len(tight)), tight] = 1.0
        rows = self._times_h(unit)
        direction = np.linalg.lstsq(rows[:, tight], np.ones(len(tight)), rcond=1e-13)[0]
        image = direction @ rows
        return image, float(direction @ image[tight])

    def _times_h(self, codes: np.ndarray) -> np.ndarray:
        """He for each row e."""
        dictionary = self.problem.dictionary
        return -to_numpy(self.problem.quadratic.pull(dictionary, None, dictionary.like(codes)))


@dataclass(frozen=True)
class Look:
    """A block of queries with their codes, as the bound of a set needs them.

    Attributes
    ----------
    certificate : Certificate
        What is known about the problem independently of the query.
    queries, codes : array
        In double precision and standard form; codes dense or CSR.
    """

    certificate: Certificate
    queries: Array
    codes: Any

    @property
    def problem(self) -> Problem:
        """The problem in standard form."""
        return self.certificate.problem

    @property
    def dictionary(self) -> BaseDictionary:
        """The atoms, in double precision."""
        return self.problem.dictionary

    @property
    def quadratic(self) -> Quadratic:
        """H and b."""
        return self.problem.quadratic

    @cached_property
    def pull(self) -> Array:
        """p = b − Hc for all atoms."""
        return self.quadratic.pull(self.dictionary, self.queries, self.codes)

    @cached_property
    def span(self) -> Array:
        """Σ|c_j|·√H_jj of each code, which bounds √(cᵀHc)."""
        return abs(self.codes) @ self.problem.lengths

    @cached_property
    def rounding(self) -> Array:
        """What rounding can do to the pull of an atom with H_jj = 1.

        Sums of d and of n products are off by at most (d + n)·u times the sum of their absolute values, which for
        p_j is at most √H_jj times the lengths of the query and of the code.
        """
        steps = self.dictionary.dimension + self.dictionary.n_atoms + 16
        return steps * _EPS / 2.0 * self._terms

    @cached_property
    def _terms(self) -> Array:
        """Length of the query and of the code: what pulls and misfits are made of."""
        reach = self.quadratic.reach(self.dictionary)
        return self.dictionary.xp.sqrt(reach * self.dictionary.squared_norms(self.queries)) + self.span

    def at_most(self, value: Array) -> Array:
        """The largest that an objective can be, which without coordinates is a difference of large terms."""
        if self.dictionary.has_coordinates:
            return (self.dictionary.xp.sqrt(value) + self.rounding) ** 2
        return value + 2.0 * self.rounding * self._terms

    @cached_property
    def slack(self) -> Array:
        """What rounding can do to each pull."""
        return self.rounding[:, None] * self.problem.lengths

    @cached_property
    def raised_pull(self) -> Array:
        """The largest that each pull can be."""
        return self.pull + self.slack

    @property
    def code_slack(self) -> Array:
        """What rounding can do to pᵀc."""
        return self.rounding * self.span

    @property
    def lost_price(self) -> Array | float:
        """2λ‖c‖² where the ridge is lost in rounding: the price of c, and as much for what is lost with it."""
        lost = self.certificate.ridge_is_lost and self.quadratic.ridge
        return 2.0 * self.quadratic.ridge * row_squares(self.codes) if lost else 0.0

    def row(self, row: int) -> Look:
        """The same for one query."""
        one = slice(row, row + 1)
        return Look(self.certificate, self.queries[one, :], self.codes[one, :])


def _l1_bound(look: Look) -> Array:
    """f(c) less the dual objective at the residual, scaled until no atom pulls harder than half the ℓ1 weight.

    With all squares of the objective stacked into one, ‖r‖², its gradient over the atoms is −2p and rᵀXc = pᵀc. The
    residual scaled by s is a dual point, and the difference is (1 − s)²‖r‖² + μ‖c‖₁ − 2s·pᵀc.
    """
    quadratic, xp = look.quadratic, look.dictionary.xp
    signed = not look.problem.constraint.nonnegative
    pulls = (xp.abs(look.pull) if signed else look.pull) + look.slack
    hardest = xp.max(pulls if quadratic.multiples is None else pulls / quadratic.multiples, axis=1)
    shrink = xp.clip(quadratic.absolute / 2.0 / xp.clip(hardest, float(np.finfo(float).tiny), None), None, 1.0)
    squares = quadratic.squares(look.dictionary, look.queries, look.codes)
    price = quadratic.absolute_price(look.codes)
    inner = row_dots(look.codes, look.pull) - look.code_slack
    return (1.0 - shrink) ** 2 * squares + price - 2.0 * shrink * inner
