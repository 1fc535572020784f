"""How many of a classifier's decisions rest on a certified optimum, found out while it predicts."""

from contextlib import contextmanager

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from ancr.solvers import concatenate


class Witness:
    """Stands before a solver, passes everything on, and keeps what it takes to verify the solutions.

    Sparse solutions are kept and verified together at the end, because a certificate prepares the whole dictionary
    once. Dense ones come from ADMM stopped outside its set (not certified, and told apart by that alone) or from a
    closed form, for which nothing needs to be kept.
    """

    def __init__(self, solver=None):
        self._solver = solver
        self._solutions, self._infeasible = [], 0

    def solve(self, queries, **options):
        """Solve, and keep the solution."""
        solution = self._solver.solve(queries, **options)
        if sparse.issparse(solution.sorted_members):
            self._solutions.append(solution)
        elif self._solver.problem.constraint.name in ("nonnegative", "simplex"):
            self._infeasible += len(queries)
        return solution

    def __getattr__(self, name):
        return getattr(self._solver, name)

    def share(self):
        """Share of the queries certified; None where no solver was asked, or a closed form."""
        certified = [np.zeros(self._infeasible, bool)]
        if self._solutions:
            solution = concatenate(self._solutions)
            # Tolerances of the precision that the codes were computed in: gap and feasibility.
            certified.append(
                solution.verify(*((1e-6, 1e-6) if solution.queries.dtype == np.float32 else (1e-8, 1e-12)))
            )
        certified = np.concatenate(certified)
        return float(certified.mean()) if len(certified) else None


@contextmanager
def witnessed(classifier):
    """Watch a fitted classifier, alone or at the end of a pipeline; those without a solver have no witness."""
    final = classifier[-1] if isinstance(classifier, Pipeline) else classifier
    solver = getattr(final, "solver_", None)
    if not hasattr(solver, "solve"):
        yield Witness()
        return
    final.solver_ = witness = Witness(solver)
    try:
        yield witness
    finally:
        final.solver_ = solver
