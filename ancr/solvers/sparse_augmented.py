"""Sparse augmentation of a ridge code, for SA-CRC."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ancr._core.arrays import like
from ancr.axes.problem import Problem
from ancr.certificate.solution import Solution
from ancr.dictionary.products import Queries
from ancr.solvers.closed_form import ClosedForm
from ancr.solvers.contract import Solver
from ancr.solvers.matching_pursuit import matching_pursuit


class SparseAugmented(Solver):
    """The ridge code plus the code of orthogonal matching pursuit.

    OMP picks the atom that the residual correlates with most, refits all picked atoms by least squares, and goes on
    until it has ``n_nonzero``. All queries of a block share the Gram matrix: each pick reads one row of it. An atom of
    weight w counts as w times as long where one is picked, as in an ℓ1 code; the refit does not change with lengths.

    Parameters
    ----------
    n_nonzero : int
        Atoms that OMP picks, the k of SA-CRC.
    """

    name = "sparse_augmented"
    options = ("n_nonzero",)

    def __init__(self, n_nonzero: int = 50) -> None:
        self.n_nonzero = n_nonzero

    def refuses(self, problem: Problem) -> str | None:
        """It extends a closed form."""
        return ClosedForm().refuses(problem)

    def set_up(self) -> None:
        """Prepare the ridge code, and the Gram matrix."""
        dictionary = self.problem.dictionary
        self.n_nonzero = min(self.n_nonzero, dictionary.n_atoms, dictionary.dimension)
        self._ridge = ClosedForm().prepare(self.problem)
        self._gram = dictionary.gram
        weights = np.ones(dictionary.n_atoms) if dictionary.weights is None else dictionary.weights
        self._weights = like(np.asarray(weights, float), dictionary.gram)
        # Below this share of an atom's squared norm, what is left of it is only rounding.
        self._rounding = 1e-5 if dictionary.is_single else 1e-10

    def solve_block(self, queries: Queries, history: bool = False) -> Solution:
        """Code a block of queries."""
        solution = self._ridge.solve_block(queries)
        products = self._gram, queries.cross, self._weights, self.n_nonzero, self._rounding
        if self.problem.dictionary.is_non_numpy:
            return replace(solution, sorted_codes=solution.sorted_codes + matching_pursuit(*products))
        from ancr.solvers.sparse_kernels import add_matching_pursuit

        add_matching_pursuit(*products, solution.sorted_codes)
        return solution
