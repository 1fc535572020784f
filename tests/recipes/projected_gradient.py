"""A solver: accelerated projected gradient (FISTA), for all sets, from inner products alone."""

import numpy as np
from scipy import sparse

from ancr.certificate.solution import Solution
from ancr.solvers import Solver


class ProjectedGradient(Solver):
    """z ← projection of v + (b − Hv)/L, with L the largest eigenvalue of H and v extrapolated from the last two z."""

    name = "projected gradient"

    def __init__(self, max_iter=2000):
        self.max_iter = max_iter

    def refuses(self, problem):
        """Why it cannot solve a problem, from attributes of sets and quadratics; None if it can."""
        return "it has no ℓ1 term" if problem.has_l1_term else None

    def set_up(self):
        """What all queries share."""
        self._matrix = self.problem.quadratic.matrix(self.problem.dictionary)
        self._step = 1.0 / np.linalg.eigvalsh(self._matrix)[-1]

    def solve_block(self, queries, history=False):
        """Code a block of queries."""
        linear = self.problem.quadratic.linear(queries)
        project = self.problem.constraint.project
        z = v = project(np.zeros_like(linear))
        for k in range(self.max_iter):
            previous, z = z, project(v + self._step * (linear - v @ self._matrix))
            v = z + k / (k + 3.0) * (z - previous)
        n_iter = np.full(len(queries), self.max_iter)
        return Solution(sparse.csr_array(z), n_iter, np.zeros(len(queries), bool), self.problem, queries)
