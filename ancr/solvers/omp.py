"""Sparse augmentation of a ridge code, for SA-CRC."""

import numpy as np

from ancr._arrays import RIDGE_FAMILY, needs_numpy
from ancr.solvers.closed_form import ClosedForm
from ancr.solvers.solution import Problem, Solution


class SparseAugmented:
    """The ridge code plus the code of orthogonal matching pursuit.

    OMP picks the atom that the residual correlates with most, refits all picked atoms by least squares, and goes on
    until it has ``n_nonzero``. All queries of a block share the Gram matrix: a pick is one row of it.

    Parameters
    ----------
    problem : Problem
        A ridge problem on the free set.
    n_nonzero : int
        Atoms that OMP picks, the k of SA-CRC.
    """

    name = "sparse_augmented"
    accepts = ("free",)
    options = ("n_nonzero",)

    def __init__(self, problem: Problem, n_nonzero: int = 50) -> None:
        needs_numpy(problem.dictionary.atoms, "orthogonal matching pursuit (SACRCClassifier)", RIDGE_FAMILY)
        self.problem = problem
        self.n_nonzero = min(n_nonzero, *problem.dictionary.atoms.shape)
        self._ridge = ClosedForm(problem)
        self._gram = problem.dictionary.gram
        # Below this share of an atom's square nothing new is left of it, but rounding.
        self._rounding = 1e-5 if problem.dictionary.is_single else 1e-10

    def warning(self, unmet: int, total: int) -> str | None:
        """Neither part iterates to a limit."""
        return None

    def solve(self, queries: np.ndarray, history: bool = False) -> Solution:
        """Code a block of queries."""
        from ancr._kernels import add_matching_pursuit

        ridge = self._ridge.solve(queries)
        linear = queries @ self.problem.dictionary.atoms.T
        add_matching_pursuit(self._gram, linear, self.n_nonzero, self._rounding, ridge.sorted_codes)
        return ridge
