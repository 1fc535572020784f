r"""SRC's problem on arrays of any library: min ‖y − Xc‖² + λ‖c‖₁ as a problem on the orthant.

With c = c⁺ − c⁻ and both parts non-negative, ‖c‖₁ = Σc⁺ + Σc⁻: over the atoms and their mirror images the ℓ1 term is
linear, and `DeviceWorkingSet` solves what is left. An atom and its mirror image never pull at once, so that one of the
two entries is zero.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ancr.axes.problem import Problem
from ancr.axes.sets import SETS
from ancr.certificate.solution import Solution
from ancr.dictionary.derived import mirrored, rescaled
from ancr.dictionary.products import Queries
from ancr.solvers.contract import ExactSolver
from ancr.solvers.working_set.device import DeviceWorkingSet
from ancr.solvers.working_set.host import refuses


class DeviceAbsolute(ExactSolver):
    """The ℓ1 problem on the free and the non-negative set, for all queries in lock-step.

    Parameters
    ----------
    tol : float or None
        Relative gap a query must reach to count as converged; None means 1e-8, in float32 1e-6.
    """

    def refuses(self, problem: Problem) -> str | None:
        """It supports arrays other than NumPy's, and needs an ℓ1 term without class terms."""
        if not problem.dictionary.is_non_numpy:
            return "it is for arrays of libraries other than NumPy"
        if not problem.has_l1_term:
            return "it is for quadratic='l1'"
        if problem.quadratic.blocks:
            return "it has no class terms"
        return refuses(problem)

    def set_up(self) -> None:
        """Mirror the atoms and prepare the solver over both halves."""
        super().set_up()
        dictionary, quadratic = self.problem.dictionary, self.problem.quadratic
        self._factors = None if quadratic.multiples is None else 1.0 / quadratic.multiples
        if self._factors is not None:  # atoms divided by their multiples have one ℓ1 price
            dictionary, quadratic = rescaled(dictionary, self._factors), quadratic.without_multiples()
        self._signed = not self.problem.constraint.nonnegative
        if self._signed:
            both = None if quadratic.surcharges is None else np.tile(quadratic.surcharges, 2)
            dictionary, quadratic = mirrored(dictionary), replace(quadratic, surcharges=both)
        orthant = SETS["nonnegative"]
        inner = replace(self.problem, dictionary=dictionary, quadratic=quadratic, constraint=orthant)
        self._exact = DeviceWorkingSet(self.tol).prepare(inner)

    def solve_block(self, queries: Queries, history: bool = False) -> Solution:
        """Code a block of queries."""
        inner = self._exact.solve_block(queries.seen_by(self._exact.problem.dictionary))
        n = self.problem.dictionary.n_atoms
        codes, xp = inner.sorted_codes, self.problem.dictionary.xp
        if self._signed:
            codes = codes[:, :n] - codes[:, n:]
        if self._factors is not None:
            codes = codes * xp.astype(self.problem.dictionary.like(self._factors), codes.dtype)
        return Solution(codes, inner.n_iter, inner.converged, self.problem, queries)
