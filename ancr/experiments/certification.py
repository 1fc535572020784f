"""How many of a classifier's decisions rest on a certified optimum, counted while it predicts."""

from contextlib import contextmanager

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from ancr.classifiers.base import BaseRepresentationClassifier
from ancr.solvers import Solver


class CertifiedCount(Solver):
    """A prepared solver that keeps what it takes to verify its solutions.

    Sparse solutions are kept and verified together at the end, because a certificate prepares the whole dictionary
    once. Dense codes of a set with inequalities come from ADMM stopped outside the set and are not certified; of a
    closed form nothing needs to be kept.
    """

    def __init__(self, solver):
        self._solver, self.problem = solver, solver.problem
        self.block_rows, self.relaxes = solver.block_rows, solver.relaxes
        self._solutions, self._infeasible = [], 0

    def refuses(self, problem):
        """What the solver refuses."""
        return self._solver.refuses(problem)

    def warm_up(self, queries):
        """As the solver does."""
        self._solver.warm_up(queries)

    def warning(self, unmet, total):
        """As the solver says it."""
        return self._solver.warning(unmet, total)

    def solve(self, queries, history=False):
        """Solve, and keep the solution."""
        solution = self._solver.solve(queries, history)
        if sparse.issparse(solution.proof.sorted_codes):
            self._solutions.append(solution.proof)
        elif self.problem.constraint.has_inequalities:
            self._infeasible += len(queries)
        return solution

    def share(self):
        """Share of the queries certified; None for a closed form."""
        certified = [np.zeros(self._infeasible, bool)]
        if self._solutions:
            certified.append(self._solutions[0].join(self._solutions).verify())
        certified = np.concatenate(certified)
        return float(certified.mean()) if len(certified) else None


@contextmanager
def counting_certified(classifier):
    """Count what a fitted classifier, alone or at the end of a pipeline, certifies; yields the share's function."""
    final = classifier[-1] if isinstance(classifier, Pipeline) else classifier
    if not isinstance(final, BaseRepresentationClassifier):
        yield lambda: None
        return
    solver, final.solver_ = final.solver_, CertifiedCount(final.solver_)
    try:
        yield final.solver_.share
    finally:
        final.solver_ = solver
