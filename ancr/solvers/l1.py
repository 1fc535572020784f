r"""The ℓ1 problem by an interior-point method that stops at a wanted duality gap.

`Exact` finds the optimum faster. This one exists because published numbers of SRC are those of an interior-point
solver stopped at a relative gap of 1 %, and its iterates, dense and inside the orthant, classify differently.

The method (Kim, Koh, Lustig, Boyd, Gorinevsky: An interior-point method for large-scale ℓ1-regularized least
squares, 2007) follows the central path of

    min ‖y − Xc‖² + λΣu    s.t. −u ≤ c ≤ u

with the barrier −(1/t)·Σlog(u² − c²). Eliminating Δu from the Newton system leaves (2XᵀX + D)Δc = r with D diagonal,
solved here exactly through the smaller of n and d.
"""

import numpy as np

from ancr._arrays import RIDGE_FAMILY, needs_numpy
from ancr.solvers.solution import Problem, Solution

MAX_ITER = 400


class InteriorPoint:
    """Primal interior point for min ‖y − Xc‖² + λ‖c‖₁, stopped at a relative duality gap.

    Parameters
    ----------
    problem : Problem
        What to solve; its quadratic must be the ℓ1 one on the free set.
    gap : float
        Stop when the duality gap falls below this share of the dual objective.
    """

    name = "interior_point"
    accepts = ("l1",)
    options = ("gap",)

    def __init__(self, problem: Problem, gap: float | None = 1e-2) -> None:
        needs_numpy(problem.dictionary.atoms, "the interior-point method (SRCClassifier with a gap)", RIDGE_FAMILY)
        self.problem = problem
        self.gap = 1e-2 if gap is None else gap
        # In double precision: the barrier's terms differ by many orders of magnitude.
        self._atoms = problem.dictionary.atoms.astype(np.float64)

    def warning(self, unmet: int, total: int) -> str | None:
        """What to tell a user about queries that did not reach the gap."""
        return f"{unmet} of {total} queries did not reach gap={self.gap:g}" if unmet else None

    def solve(self, queries: np.ndarray, history: bool = False) -> Solution:
        """Code a block of queries."""
        from ancr.solvers._l1_kernels import follow_central_path

        codes = np.zeros((len(queries), self.problem.dictionary.n_atoms))
        n_iter = np.zeros(len(queries), np.int64)
        weight = float(self.problem.quadratic.absolute)
        follow_central_path(self._atoms, queries.astype(np.float64), weight, self.gap, MAX_ITER, codes, n_iter)
        dtype = self.problem.dictionary.dtype
        return Solution(codes.astype(dtype), n_iter, n_iter < MAX_ITER, self.problem, queries)
