"""Codes without inequality constraints where only inner products are known: one factorisation of H."""

from __future__ import annotations

import numpy as np

from ancr.backends.arrays import add_to_diagonal
from ancr.backends.psd import psd_inverse, psd_solver
from ancr.problem import Problem
from ancr.solution import Solution
from ancr.solvers.base import Solver
from ancr.solvers.closed_form import ClosedForm


class GramClosedForm(Solver):
    """Free and affine codes in a space without coordinates: c = offset + (k − centre)·operator.

    **Free** (kernel CRC): c = H⁻¹b = target·H⁻¹k, with k the inner products of the query and the atoms.

    **Affine** (kernel ACR): with c = 1/n + w and P the projection on 1ᵀw = 0, PHP·w = P(b − H1/n). A multiple of 11ᵀ
    makes the matrix definite without touching w.

    **Classes alone** (kernel NSC): H is block-diagonal, and so is its inverse: one small operator per class.

    If H is singular, the code of least norm is returned.
    """

    name = "closed_form"
    is_exact = True

    def refuses(self, problem: Problem) -> str | None:
        """It solves what `ClosedForm` solves, on NumPy arrays."""
        if problem.dictionary.is_foreign:
            return "it runs on NumPy arrays only"
        return ClosedForm().refuses(problem)

    def set_up(self) -> None:
        """Factor what all queries share."""
        dictionary, quadratic = self.problem.dictionary, self.problem.quadratic
        n, dtype = dictionary.n_atoms, dictionary.dtype
        self._offset = np.zeros(n, dtype)
        if self.problem.constraint.sums_to_one:
            self._prepare_affine()
        elif quadratic.gram:
            matrix = quadratic.matrix(dictionary.in_double)
            self._keep([_inverse(matrix, quadratic.ridge)])
        else:
            matrices = [quadratic.blocks * gram for gram in dictionary.in_double.block_grams]
            prices = [quadratic.of_atoms(block).prices for block in dictionary.blocks]
            shifted = [add_to_diagonal(matrix, price) for matrix, price in zip(matrices, prices, strict=True)]
            self._keep([_inverse(matrix, quadratic.ridge) for matrix in shifted])
        self._blocks = dictionary.blocks if len(self._operators) > 1 else [slice(0, n)]

    def _prepare_affine(self) -> None:
        dictionary, quadratic = self.problem.dictionary, self.problem.quadratic
        matrix = quadratic.matrix(dictionary.in_double)
        n, means = len(matrix), matrix.mean(axis=0)
        matrix = matrix - means - (means - means.mean())[:, None]
        size = float(np.trace(matrix)) / n or 1.0
        inverse = _inverse(matrix + size / n, quadratic.ridge)
        inverse = inverse - inverse.mean(axis=0)
        inverse -= inverse.mean(axis=1, keepdims=True)
        self._offset = (1.0 / n - inverse @ means).astype(dictionary.dtype)
        self._keep([inverse])

    def _keep(self, inverses: list[np.ndarray]) -> None:
        """Operators in the precision of the atoms, and their sums, which come from double precision."""
        target, dtype = self.problem.quadratic.target, self.problem.dictionary.dtype
        self._operators = [np.ascontiguousarray(target * inverse, dtype) for inverse in inverses]
        self._sums = [(target * inverse.sum(axis=0)).astype(dtype) for inverse in inverses]

    def solve(self, queries: np.ndarray, history: bool = False) -> Solution:
        """Code a block of queries."""
        cross = self.problem.dictionary.cross(queries)
        codes = np.empty_like(cross)
        for block, operator, sums in zip(self._blocks, self._operators, self._sums, strict=True):
            # What all inner products have in common nearly cancels in the product: its part is known exactly.
            common = cross[:, block].mean(axis=1, keepdims=True) if block.stop > block.start else 0.0
            np.matmul(cross[:, block] - common, operator, out=codes[:, block])
            codes[:, block] += common * sums
        codes += self._offset
        if self.problem.constraint.sums_to_one:  # rounding errors along 1 are divided by λ
            codes += (1.0 - codes.sum(axis=1, keepdims=True)) / codes.dtype.type(codes.shape[1])
        once = np.ones(len(queries), np.int64)
        solution = Solution(codes, once, once > 0, self.problem, queries)
        return solution.with_history() if history else solution


def _inverse(matrix: np.ndarray, ridge: float) -> np.ndarray:
    """The inverse, or without a ridge the pseudo-inverse."""
    return psd_inverse(matrix, ridge) if ridge else psd_solver(matrix)(np.eye(len(matrix)))
