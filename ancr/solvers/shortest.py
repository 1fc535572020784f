"""The shortest of all optimal codes, where several are: the limit of the ridge's code as λ → 0."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.linalg import svd

from ancr._core.arrays import dense
from ancr.axes.problem import Problem
from ancr.certificate.solution import Solution
from ancr.dictionary.products import Queries
from ancr.solvers.contract import ExactSolver, stop_if_asked
from ancr.solvers.working_set.host import HostWorkingSet

# A pull this close to zero, relative to the residual and to the query, may be that of an atom in another optimal code.
_OF_RESIDUAL, _OF_QUERY = 1e-8, 1e-13
# Newton's steps; they end at the first of these errors, and at the second a code is taken.
_STEPS, _REACHED, _TAKEN = 60, 1e-13, 1e-10


class ShortestCode(ExactSolver):
    r"""The shortest optimal code of a problem without a ridge: unique, whatever the order of the atoms.

    Without a ridge, every c in the set with the same Xc is as good. ``solver="exact"`` returns a sparse one, which
    depends on the order of the atoms. This solver starts from it and returns

        argmin ‖c‖²   s.t. Xc = Xc*,  c ≥ 0,  on the simplex Σc = 1.

    With V an orthonormal basis of the rows of X (and of 1ᵀ), its dual is min ½‖max(Vu, 0)‖² − (Vᵀc*)ᵀu, which
    Newton's method solves in a few steps, and c = max(Vu, 0). Queries whose code is unique keep it, as do those on
    which Newton fails. The code uses about half of the atoms, and finding it takes about as long again.

    Parameters
    ----------
    tol : float or None
        As for the exact solver.

    Examples
    --------
    >>> from ancr import solve
    >>> from ancr.solvers import ShortestCode
    >>> atoms = [[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0], [1.0, 0.0]]
    >>> options = {"constraint": "nonnegative", "quadratic": "least_squares"}
    >>> solve(atoms, [[2.0, 1.0]], solver=ShortestCode(), **options).codes.toarray().round(3)
    array([[1., 1., 0., 1.]])
    """

    name = "shortest"
    on_coordinates = True
    is_exact = False  # leave-one-out has a way of its own to an optimal code, which need not be the shortest

    def refuses(self, problem: Problem) -> str | None:
        """It is for least squares without a ridge on NumPy arrays."""
        quadratic = problem.quadratic
        if quadratic.largest_price or quadratic.blocks or problem.has_l1_term:
            return "it is for least squares without a ridge, class terms or ‖c‖₁; elsewhere use solver='exact'"
        return HostWorkingSet().refuses(problem)

    def set_up(self) -> None:
        """Prepare the solver that finds an optimal code."""
        super().set_up()
        self._first = HostWorkingSet(self.tol).prepare(self.problem)

    def warm_up(self, queries: Queries, total: int = 1) -> None:
        """Compile what the first solver needs."""
        self._first.warm_up(queries, total)

    def solve_block(self, queries: Queries, history: bool = False) -> Solution:
        """Code a block of queries."""
        solution = self._first.solve_block(queries)
        codes = dense(solution.sorted_codes).astype(float)
        for row in np.flatnonzero(self._may_differ(queries, codes)):
            stop_if_asked()
            codes[row] = shortest(self._row_space, codes[row])
        return replace(solution, sorted_codes=sparse.csr_array(codes.astype(solution.sorted_codes.dtype)))

    @cached_property
    def _row_space(self) -> np.ndarray:
        """Orthonormal columns: the span of the features over the atoms and, on Σc = 1, of a constant one."""
        rows = self._atoms
        if self.problem.constraint.sums_to_one:
            rows = np.column_stack([rows, np.full(len(rows), np.sqrt(np.mean(rows**2)) or 1.0)])
        basis, sizes, _ = svd(rows, full_matrices=False)
        return basis[:, sizes > 8.0 * np.finfo(float).eps * max(rows.shape) * sizes[0]]

    @property
    def _atoms(self) -> np.ndarray:
        return np.asarray(self.problem.dictionary.in_double.located.coordinates)

    def _may_differ(self, queries: Queries, codes: np.ndarray) -> np.ndarray:
        """Which queries may have other optimal codes: more atoms pull at the limit than are in use."""
        atoms, rows = self._atoms, np.asarray(queries.rows, float)
        residual = rows - codes @ atoms
        pull = residual @ atoms.T
        if self.problem.constraint.sums_to_one:
            pull -= np.sum(codes * pull, axis=1, keepdims=True)
        size = np.maximum(_OF_RESIDUAL * np.linalg.norm(residual, axis=1), _OF_QUERY * np.linalg.norm(rows, axis=1))
        close = pull >= -size[:, None] * np.linalg.norm(atoms, axis=1)
        return np.sum(close, axis=1) > np.sum(codes > 0.0, axis=1)


def shortest(basis: np.ndarray, code: np.ndarray) -> np.ndarray:
    """The shortest non-negative code with the products of ``code`` with a basis; ``code`` itself if none is found.

    Parameters
    ----------
    basis : ndarray of shape (n_atoms, rank)
        Orthonormal columns V.
    code : ndarray of shape (n_atoms,)
        A non-negative code.
    """
    target = code @ basis
    dual, size = target.copy(), float(np.linalg.norm(target)) or 1.0
    for _ in range(_STEPS):
        values = basis @ dual
        used = np.maximum(values, 0.0)
        slope = used @ basis - target
        error = float(np.linalg.norm(slope)) / size
        if not error > _REACHED:
            break
        part = basis[values > 0.0]
        curvature = part.T @ part + 1e-14 * np.eye(len(dual))
        dual = _moved(basis, target, dual, -np.linalg.solve(curvature, slope), slope)
    return used if error <= _TAKEN else code


def _moved(basis: np.ndarray, target: np.ndarray, dual: np.ndarray, step: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """The dual point after a step, halved until the dual objective falls."""
    values, change, fall = basis @ dual, basis @ step, float(slope @ step)
    start, share = _dual_objective(values, float(target @ dual)), 1.0
    while share > 1e-8:
        there = _dual_objective(values + share * change, float(target @ (dual + share * step)))
        if there <= start + 1e-4 * share * fall:
            break
        share /= 2.0
    return dual + share * step


def _dual_objective(values: np.ndarray, linear: float) -> float:
    used = np.maximum(values, 0.0)
    return float(0.5 * (used @ used) - linear)
