r"""Upper bounds on f(c) − f*, computed from the problem alone, independently of any solver.

With f(c) = cᵀHc − 2bᵀc, the pull p = b − Hc is minus half the gradient. Each set bounds the gap in its own way, see
`ancr.sets`; ``docs/exact.md`` derives the bounds. For an ℓ1 term the dual point is the usual one: the residual r,
scaled until |Xᵀr| ≤ λ/2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh
from scipy.sparse.linalg import LinearOperator, cg

from ancr.backends.arrays import Array, in_double, row_dots, row_sums, to_numpy
from ancr.dictionary import BaseDictionary
from ancr.problem import Problem
from ancr.quadratics import Quadratic

_EPS = float(np.finfo(float).eps)


class Certificate:
    """The relative gap of a problem as a function of (queries, codes), in double precision."""

    def __init__(self, problem: Problem) -> None:
        self.problem = replace(problem, dictionary=problem.dictionary.in_double)

    def __call__(self, queries: Array, codes: Any) -> Array:
        """Bound on f(c) − f* for each query, relative to the scale of the problem's terms."""
        queries, codes = in_double(queries), in_double(codes)
        if not self.problem.dictionary.is_convex:  # all bounds rest on convexity
            return np.full(queries.shape[0], np.inf)
        look, xp = Look(self, queries, codes), self.problem.dictionary.xp
        excess = _l1_bound(look) if self.problem.has_l1_term else self.problem.constraint.bound(look)
        scale = look.scale
        # A zero query over zero atoms has scale zero; its gap is zero.
        return xp.clip(excess, 0.0, None) / xp.where(scale > 0.0, scale, xp.ones_like(scale))

    @cached_property
    def curvature(self) -> float:
        """A lower bound on the positive eigenvalues of H or, if the set asks for Σc = 1, of H restricted to Σc = 0."""
        if self.problem.quadratic.ridge:
            return self.problem.quadratic.ridge
        matrix = to_numpy(self.problem.quadratic.matrix(self.problem.dictionary))
        if self.problem.constraint.sums_to_one:
            matrix = matrix - matrix.mean(axis=0)
            matrix = matrix - matrix.mean(axis=1, keepdims=True)
        values = eigvalsh(matrix)
        positive = values[values > len(values) * _EPS * max(values[-1], 0.0)]
        return float(positive[0]) if len(positive) else 1.0

    @cached_property
    def interior_direction(self) -> tuple[Array | None, float]:
        """He and eᵀHe for some e with He ≥ 1 on all atoms but zero ones; (None, 0) if none is found.

        Equal weights will do where atoms lie on one side of the origin, as non-negative data does. Otherwise He = 1 is
        solved by conjugate gradients; with a ridge the set has a bound that needs no e.
        """
        dictionary, quadratic = self.problem.dictionary, self.problem.quadratic
        present = to_numpy(self.problem.lengths) > 0.0

        def times_h(code: np.ndarray) -> np.ndarray:
            return -to_numpy(quadratic.pull(dictionary, None, dictionary.like(code[None, :])))[0, :]

        direction = present / max(present.sum(), 1)
        image = times_h(direction)
        if not quadratic.ridge and image[present].min(initial=np.inf) <= 0.0:
            system = LinearOperator((dictionary.n_atoms,) * 2, times_h, dtype=np.float64)
            with np.errstate(all="ignore"):  # where there is no e, whatever comes out is told below
                direction, _ = cg(system, 1.0 * present, maxiter=200)
                image = times_h(direction)
        least = float(image[present].min(initial=0.0 if not present.any() else np.inf))
        if not least > 1e-12 * np.abs(image).max(initial=0.0):
            return None, 0.0
        return dictionary.like(image / least), float(direction @ image) / least**2


@dataclass(frozen=True)
class Look:
    """A block of queries with their codes, as the bound of a set needs them.

    Attributes
    ----------
    certificate : Certificate
        What is known about the problem independently of the query.
    queries, codes : array
        In double precision; codes dense or CSR.
    """

    certificate: Certificate
    queries: Array
    codes: Any

    @property
    def dictionary(self) -> BaseDictionary:
        """The atoms, in double precision."""
        return self.certificate.problem.dictionary

    @property
    def quadratic(self) -> Quadratic:
        """H and b."""
        return self.certificate.problem.quadratic

    @cached_property
    def scale(self) -> Array:
        """Size of the terms of each objective."""
        return self.certificate.problem.scale(self.queries, self.codes)

    @cached_property
    def pull(self) -> Array:
        """p = b − Hc for all atoms."""
        return self.quadratic.pull(self.dictionary, self.queries, self.codes)

    @cached_property
    def lowered_pull(self) -> Array:
        """The pulls minus what rounding alone can produce: the bound is for data equal to ours up to the last bit."""
        rounding = 16.0 * _EPS * self.dictionary.xp.sqrt(self.scale)
        return self.pull - rounding[:, None] * self.certificate.problem.lengths


def _l1_bound(look: Look) -> Array:
    """f(c) less the dual objective at the residual, scaled until no atom pulls harder than half the ℓ1 weight.

    With all squares of the objective stacked into one, ‖r‖², its gradient over the atoms is −2p and rᵀXc = pᵀc. The
    residual scaled by s is a dual point, and the difference is (1 − s)²‖r‖² + μ‖c‖₁ − 2s·pᵀc.
    """
    quadratic, xp = look.quadratic, look.dictionary.xp
    signed = not look.certificate.problem.constraint.nonnegative
    hardest = xp.max(xp.abs(look.pull) if signed else look.pull, axis=1)
    shrink = xp.clip(quadratic.absolute / 2.0 / xp.clip(hardest, float(np.finfo(float).tiny), None), None, 1.0)
    squares = quadratic.squares(look.dictionary, look.queries, look.codes)
    price = quadratic.absolute * row_sums(abs(look.codes))
    return (1.0 - shrink) ** 2 * squares + price - 2.0 * shrink * row_dots(look.codes, look.pull)
