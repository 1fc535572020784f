"""Codes without inequality constraints: one factorisation, then one matrix product for all queries."""

from dataclasses import replace
from typing import Any

import numpy as np

from ancr._arrays import add_to_diagonal, is_foreign, leaves, namespace
from ancr.quadratics import Quadratic
from ancr.solvers.solution import Array, Problem, Solution


class ClosedForm:
    """Free and affine codes: an affine map of the query, c = offset + (y − centre)·operator.

    **Free** (CRC): c = H⁻¹b. For H = XᵀX + λI the identity H⁻¹Xᵀ = Xᵀ(XXᵀ + λI)⁻¹ lets the factorisation run on
    the smaller of n and d.

    **Affine** (ACR): on Σc = 1 the mean atom x̄ can be taken from all atoms and from the query without changing
    y − Xc. With c = 1/n + w and X̄ = X − x̄1ᵀ the problem becomes min ‖(y − x̄) − X̄w‖² + λ‖w‖², 1ᵀw = 0, and the
    constraint takes care of itself because X̄1 = 0. So the affine code is 1/n plus the *free* code of the centred
    query over the centred atoms: as cheap as CRC, and stable for every λ ≥ 0.

    With class blocks in H there is no such shortcut, and the n × n matrix is factored whole.

    Where H is singular the code of least norm is taken.
    """

    name = "closed_form"
    accepts = ("free", "affine")
    options = ()

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        affine = problem.constraint.name == "affine"
        dictionary, quadratic = problem.dictionary, problem.quadratic
        atoms, xp = dictionary.atoms, dictionary.xp
        narrow = dictionary.n_features < dictionary.n_atoms
        self._centre, self._offset = xp.zeros_like(atoms[0, :]), xp.zeros_like(atoms[:, 0])
        if quadratic.blocks and (affine or quadratic.gram):
            self._prepare_dense(affine)
        elif quadratic.blocks:
            # H is block-diagonal: every class has its own small ridge problem.
            alone = Quadratic(ridge=quadratic.ridge, gram=quadratic.blocks, target=quadratic.target)
            blocks = [block for block in dictionary.blocks if block.stop > block.start]
            self._operator = xp.concat([ridge_operator(atoms[block, :], alone) for block in blocks], axis=1)
        elif affine:
            aim = quadratic.target / quadratic.gram
            mean = xp.astype(dictionary.mean, atoms.dtype)
            self._centre, self._offset = mean / aim, self._offset + 1.0 / atoms.shape[0]
            operator = ridge_operator(atoms - mean, quadratic, dictionary.spread if narrow else None)
            # Rounding along 1 comes back divided by λ; the code's sum must not feel it.
            self._operator = operator - xp.mean(operator, axis=1, keepdims=True)
        else:
            # The side that the dictionary holds is the one that it extends when it grows.
            held = dictionary.scatter if narrow else None if dictionary.is_single else dictionary.gram
            self._operator = ridge_operator(atoms, quadratic, held)

    def _prepare_dense(self, affine: bool) -> None:
        """Operator and offset from the whole n × n matrix H.

        Affine: with c = 1/n + w and P the projection on 1ᵀw = 0, PHP·w = P(b − H1/n). A multiple of 11ᵀ makes the
        matrix definite without touching w.
        """
        dictionary, quadratic = self.problem.dictionary, self.problem.quadratic
        xp, psd_solver = dictionary.xp, dictionary.leaves.psd_solver
        matrix = xp.astype(quadratic.matrix(dictionary), xp.float64)
        right = xp.astype(quadratic.target * dictionary.atoms, xp.float64)
        n = matrix.shape[0]
        if affine:
            even = -xp.mean(matrix, axis=1)
            matrix = _centred(_centred(matrix).T)
            size = float(xp.linalg.trace(matrix)) / n or 1.0
            solve = psd_solver(matrix + size / n, quadratic.ridge)
            offset = solve(even - xp.mean(even))
            self._offset = xp.astype(1.0 / n + offset - xp.mean(offset), dictionary.dtype)
            operator = _centred(solve(_centred(right)))
        else:
            operator = psd_solver(matrix, quadratic.ridge)(right)
        self._operator = _row_major(operator.T, dictionary.dtype)

    def warning(self, unmet: int, total: int) -> str | None:
        """A closed form always converges."""
        return None

    def solve(self, queries: Array, history: bool = False) -> Solution:
        """Code a block of queries."""
        codes = (queries - self._centre) @ self._operator
        codes += self._offset
        once = namespace(queries).ones_like(queries[:, 0], dtype=namespace(queries).int64)
        solution = Solution(codes, once, once > 0, self.problem, queries)
        return replace(solution, history=solution.objective[None, :]) if history else solution


def ridge_operator(atoms: Array, quadratic: Quadratic, held: Array | None = None) -> Array:
    """The (d, n) matrix that takes a query to its ridge code, through the smaller of n and d.

    ``held`` is that side's product of the atoms in double precision, where someone has it.
    """
    n, d = atoms.shape
    xp = namespace(atoms)
    ridge, double = quadratic.ridge / quadratic.gram, xp.astype(atoms, xp.float64, copy=False)
    if held is not None:
        side = xp.asarray(held, copy=True)
    else:
        side = double.T @ double if d < n else double @ double.T
    side = add_to_diagonal(side, ridge)
    solve = leaves(atoms).psd_solver(side, ridge)
    operator = solve(double.T) if d < n else solve(double).T
    return _row_major((quadratic.target / quadratic.gram) * operator, atoms.dtype)


def _row_major(matrix: Array, dtype: Any) -> Array:
    """Rows next to each other in memory, where the library has a notion of it."""
    if is_foreign(matrix):
        return namespace(matrix).astype(matrix, dtype)
    return np.ascontiguousarray(matrix, dtype)


def _centred(columns: Array) -> Array:
    """Columns with their means taken out."""
    return columns - namespace(columns).mean(columns, axis=0)
