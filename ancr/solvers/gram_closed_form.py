"""Codes without inequality constraints where only inner products are known: one factorisation of H."""

from __future__ import annotations

from ancr._core.arrays import Array, add_to_diagonal, concat_columns, device, namespace, row_major, row_sums
from ancr._core.psd import psd_inverse, psd_solver
from ancr.axes.problem import Problem
from ancr.certificate.solution import Solution
from ancr.dictionary.products import Queries
from ancr.solvers.closed_form import ClosedForm
from ancr.solvers.contract import Solver


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
        """It solves what `ClosedForm` solves."""
        return ClosedForm().refuses(problem)

    def set_up(self) -> None:
        """Factor what all queries share."""
        dictionary, quadratic = self.problem.dictionary, self.problem.quadratic
        n, dtype = dictionary.n_atoms, dictionary.dtype
        self._offset, self._blocks = dictionary.xp.astype(0.0 * dictionary.squares, dtype), [slice(0, n)]
        if self.problem.constraint.sums_to_one:
            self._prepare_affine()
        elif quadratic.gram:
            matrix = quadratic.matrix(dictionary.in_double)
            self._keep([_inverse(matrix, quadratic.ridge)])
        else:
            # A class may be known by name alone, and has no matrix then.
            self._blocks = [block for block in dictionary.blocks if block.stop > block.start]
            grams = [gram for gram in dictionary.in_double.block_grams if gram.shape[0]]
            parts = zip(grams, map(quadratic.of_atoms, self._blocks), strict=True)
            shifted = [add_to_diagonal(quadratic.blocks * gram, part.prices_like(gram)) for gram, part in parts]
            self._keep([_inverse(matrix, quadratic.ridge) for matrix in shifted])

    def _prepare_affine(self) -> None:
        dictionary, quadratic = self.problem.dictionary, self.problem.quadratic
        matrix, xp = quadratic.matrix(dictionary.in_double), dictionary.xp
        n, means = matrix.shape[0], xp.mean(matrix, axis=0)
        matrix = matrix - means - (means - xp.mean(means))[:, None]
        size = float(xp.linalg.trace(matrix)) / n or 1.0
        inverse = _inverse(matrix + size / n, quadratic.ridge)
        inverse = inverse - xp.mean(inverse, axis=0)
        inverse -= xp.mean(inverse, axis=1, keepdims=True)
        self._offset = xp.astype(1.0 / n - inverse @ means, dictionary.dtype)
        self._keep([inverse])

    def _keep(self, inverses: list[Array]) -> None:
        """Operators in the precision of the atoms, and their sums, which come from double precision."""
        target, dtype, xp = self.problem.quadratic.target, self.problem.dictionary.dtype, self.problem.dictionary.xp
        self._operators = [row_major(target * inverse, dtype) for inverse in inverses]
        self._sums = [xp.astype(target * xp.sum(inverse, axis=0), dtype) for inverse in inverses]

    def solve_block(self, queries: Queries, history: bool = False) -> Solution:
        """Code a block of queries."""
        cross, xp = queries.cross, self.problem.dictionary.xp
        triples = zip(self._blocks, self._operators, self._sums, strict=True)
        codes = concat_columns([_part(cross[:, block], *own) for block, *own in triples])
        codes += self._offset
        if self.problem.constraint.sums_to_one:  # rounding errors along 1 are divided by λ
            codes += ((1.0 - row_sums(codes)) / codes.shape[1])[:, None]
        once = xp.ones_like(codes[:, 0], dtype=xp.int64)
        solution = Solution(codes, once, xp.isfinite(row_sums(codes)), self.problem, queries)
        return solution.with_history() if history else solution


def _part(cross: Array, operator: Array, sums: Array) -> Array:
    """Entries of the atoms of one block.

    What all inner products have in common nearly cancels in the product: its part is known exactly.
    """
    common = namespace(cross).mean(cross, axis=1, keepdims=True)
    part = (cross - common) @ operator
    part += common * sums
    return part


def _inverse(matrix: Array, ridge: float) -> Array:
    """The inverse, or without a ridge the pseudo-inverse."""
    if ridge:
        return psd_inverse(matrix, ridge)
    return psd_solver(matrix)(namespace(matrix).eye(matrix.shape[0], dtype=matrix.dtype, device=device(matrix)))
