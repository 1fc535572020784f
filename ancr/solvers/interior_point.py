r"""The ℓ1 problem by an interior-point method that stops at a given duality gap.

The working-set solver finds the optimum faster. This one exists because the published numbers of SRC are those of
an interior-point solver stopped at a relative gap of 1 %, and its iterates, dense and inside the orthant, classify
differently.

The method (Kim, Koh, Lustig, Boyd, Gorinevsky: An interior-point method for large-scale ℓ1-regularized least
squares, 2007) follows the central path of

    min ‖y − Xc‖² + λΣu    s.t. −u ≤ c ≤ u

with the barrier −(1/t)·Σlog(u² − c²). Eliminating Δu from the Newton system leaves (2XᵀX + D)Δc = r with D diagonal,
solved here exactly through the smaller of n and d.
"""

from __future__ import annotations

import numpy as np

from ancr.axes.problem import Problem
from ancr.certificate.solution import Solution
from ancr.dictionary.products import Queries
from ancr.solvers.contract import Solver, pieces

MAX_ITER = 400


class InteriorPoint(Solver):
    """Primal interior point for min ‖y − Xc‖² + λ‖c‖₁, stopped at a relative duality gap.

    Parameters
    ----------
    tol : float or None
        Stop when the duality gap falls below this share of the dual objective; None means 0.01.
    """

    name = "interior_point"
    options = ("tol",)
    on_coordinates = True

    def __init__(self, tol: float | None = None) -> None:
        self.tol = tol

    def refuses(self, problem: Problem) -> str | None:
        """It solves only the ℓ1 problem of SRC."""
        constraint = problem.constraint
        if not problem.has_l1_term or constraint.has_inequalities or constraint.sums_to_one:
            return "it is for quadratic='l1' with alpha > 0 on the free set"
        return "it solves one query after the other, on NumPy arrays only" if problem.dictionary.is_non_numpy else None

    def set_up(self) -> None:
        """Work in double precision: the barrier's terms differ by many orders of magnitude."""
        self.tol = 1e-2 if self.tol is None else self.tol
        self._atoms = self.problem.dictionary.coordinates.astype(np.float64)
        multiples = self.problem.quadratic.multiples
        self._factors = np.ones(len(self._atoms)) if multiples is None else 1.0 / multiples
        self._atoms *= self._factors[:, None]

    def warning(self, unmet: int, total: int) -> str | None:
        """Report queries that did not reach the gap."""
        return f"{unmet} of {total} queries did not reach a duality gap of tol={self.tol:g}"

    def solve_block(self, queries: Queries, history: bool = False) -> Solution:
        """Code a block of queries."""
        from ancr.solvers.sparse_kernels import follow_central_path

        codes = np.zeros((len(queries), self.problem.dictionary.n_atoms))
        n_iter = np.zeros(len(queries), np.int64)
        weight = float(self.problem.quadratic.absolute)
        for some in pieces(np.arange(len(queries)), first=1):
            part = slice(some[0], some[-1] + 1)
            rows, found = queries.rows[part].astype(np.float64), (codes[part], n_iter[part])
            follow_central_path(self._atoms, rows, weight, self.tol, MAX_ITER, *found)
        codes = (codes * self._factors).astype(self.problem.dictionary.dtype)
        return Solution(codes, n_iter, n_iter < MAX_ITER, self.problem, queries)
