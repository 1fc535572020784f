"""Codes without inequality constraints: one factorisation, then one matrix product for all queries."""

import numpy as np

from ancr.quadratics import Quadratic
from ancr.solvers._factor import PSDSolver, psd_solver
from ancr.solvers.solution import Problem, Solution


class ClosedForm:
    """Free and affine codes: an affine map of the query, c = offset + (y − centre)·operator.

    **Free** (CRC): c = H⁻¹b. For H = XᵀX + λI the identity H⁻¹Xᵀ = Xᵀ(XXᵀ + λI)⁻¹ lets the factorisation run on
    the smaller of n and d.

    **Affine** (ACR): on Σc = 1 the mean atom x̄ can be taken from all atoms and from the query without changing
    y − Xc. With c = 1/n + w and X̄ = X − x̄1ᵀ the problem becomes min ‖(y − x̄) − X̄w‖² + λ‖w‖², 1ᵀw = 0, and the
    constraint takes care of itself because X̄1 = 0. So the affine code is 1/n plus the *free* code of the centred
    query over the centred atoms: as cheap as CRC, and stable for every λ ≥ 0.

    With class blocks in H there is no such shortcut, and c = H⁻¹(b + ν1) with ν = (1 − 1ᵀH⁻¹b)/(1ᵀH⁻¹1).

    Where H is singular the code of least norm is taken.
    """

    name = "closed_form"
    accepts = ("free", "affine")
    options = ()

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._centred = False
        self._map: _ThroughFeatures | _ThroughOperator
        atoms = problem.dictionary.atoms
        self._centre = np.zeros(atoms.shape[1], atoms.dtype)
        self._offset = np.zeros(atoms.shape[0], atoms.dtype)
        affine = problem.constraint.name == "affine"
        if problem.quadratic.blocks:
            self._prepare_dense(affine)
        else:
            self._prepare_ridge(affine)

    def _prepare_ridge(self, affine: bool) -> None:
        dictionary, quadratic = self.problem.dictionary, self.problem.quadratic
        atoms, aim = dictionary.atoms, quadratic.target / quadratic.gram
        if affine:
            self._centred, self._centre = True, dictionary.mean / aim
            self._offset = self._offset + 1.0 / dictionary.n_atoms
            atoms = atoms - dictionary.mean
        # The side matrices that the dictionary holds are the ones that it extends when it grows.
        if dictionary.n_features < dictionary.n_atoms:
            side = dictionary.spread if affine else dictionary.scatter
            solve = ridge_solver(side, quadratic)
            self._map = _ThroughFeatures(solve, aim, atoms)
        else:
            side = atoms @ atoms.T if affine else dictionary.gram
            self._map = _ThroughOperator(aim * ridge_solver(side, quadratic)(atoms).T)

    def _prepare_dense(self, affine: bool) -> None:
        dictionary, quadratic = self.problem.dictionary, self.problem.quadratic
        solve = psd_solver(quadratic.matrix(dictionary))
        operator = solve(quadratic.target * dictionary.atoms).T
        if affine:
            direction = solve(np.ones(dictionary.n_atoms, dictionary.dtype))
            direction /= direction.sum()
            operator -= np.outer(operator.sum(axis=1), direction)
            self._offset = direction
        self._map = _ThroughOperator(operator)

    def warning(self, unmet: int, total: int) -> str | None:
        """A closed form always converges."""
        return None

    def solve(self, queries: np.ndarray, history: bool = False) -> Solution:
        """Code a block of queries."""
        codes = self._map(queries - self._centre)
        if self._centred:  # rounding along 1 comes back divided by λ; the code's sum must not feel it
            codes -= codes.mean(axis=1, keepdims=True)
        codes += self._offset
        done = np.ones(len(queries), bool)
        solution = Solution(codes, done.astype(int), done, self.problem, queries)
        if not history:
            return solution
        return Solution(codes, done.astype(int), done, self.problem, queries, solution.objective[None])


class _ThroughOperator:
    """c = y·operator, for n ≤ d or class blocks in H: one (d, n) matrix holds everything."""

    def __init__(self, operator: np.ndarray) -> None:
        self._operator = np.ascontiguousarray(operator)

    def __call__(self, queries: np.ndarray) -> np.ndarray:
        return queries @ self._operator


class _ThroughFeatures:
    """c = Xᵀ·(XXᵀ + λI)⁻¹y, for d < n: the factor is small, and nothing of size n × d is computed at fit."""

    def __init__(self, solve: PSDSolver, aim: float, atoms: np.ndarray) -> None:
        self._solve, self._aim, self._atoms = solve, aim, atoms

    def __call__(self, queries: np.ndarray) -> np.ndarray:
        return self._solve(self._aim * queries.T).T @ self._atoms.T


def ridge_solver(side: np.ndarray, quadratic: Quadratic) -> PSDSolver:
    """Solver of (side + λI), for a side matrix XᵀX or XXᵀ that is left as it is."""
    shifted = side.copy()
    shifted[np.diag_indices_from(side)] += side.dtype.type(quadratic.ridge / quadratic.gram)
    return psd_solver(shifted)
