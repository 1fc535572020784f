"""Codes without inequality constraints: one factorisation, then one matrix product for all queries."""

import numpy as np

from ancr.quadratics import Quadratic
from ancr.solvers._factor import psd_solver
from ancr.solvers.solution import Problem, Solution


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
        atoms = dictionary.atoms
        narrow = dictionary.n_features < dictionary.n_atoms
        self._centre = np.zeros(atoms.shape[1], atoms.dtype)
        self._offset = np.zeros(atoms.shape[0], atoms.dtype)
        if quadratic.blocks and (affine or quadratic.gram):
            self._prepare_dense(affine)
        elif quadratic.blocks:
            # H is block-diagonal: every class has its own small ridge problem.
            alone = Quadratic(ridge=quadratic.ridge, gram=quadratic.blocks, target=quadratic.target)
            blocks = [block for block in dictionary.blocks if block.stop > block.start]
            self._operator = np.concatenate([ridge_operator(atoms[block], alone) for block in blocks], axis=1)
        elif affine:
            aim = quadratic.target / quadratic.gram
            mean = dictionary.mean.astype(atoms.dtype)
            self._centre, self._offset = mean / aim, self._offset + 1.0 / atoms.shape[0]
            operator = ridge_operator(atoms - mean, quadratic, dictionary.spread if narrow else None)
            # Rounding along 1 comes back divided by λ; the code's sum must not feel it.
            self._operator = operator - operator.mean(axis=1, keepdims=True)
        else:
            # The side that the dictionary holds is the one that it extends when it grows.
            held = dictionary.scatter if narrow else dictionary.gram if atoms.dtype == np.float64 else None
            self._operator = ridge_operator(atoms, quadratic, held)

    def _prepare_dense(self, affine: bool) -> None:
        """Operator and offset from the whole n × n matrix H.

        Affine: with c = 1/n + w and P the projection on 1ᵀw = 0, PHP·w = P(b − H1/n). A multiple of 11ᵀ makes the
        matrix definite without touching w.
        """
        dictionary, quadratic = self.problem.dictionary, self.problem.quadratic
        matrix, right = quadratic.matrix(dictionary).astype(np.float64), quadratic.target * dictionary.atoms
        n = len(matrix)
        if affine:
            even = -matrix.mean(axis=1)
            matrix = _centred(_centred(matrix).T)
            size = np.trace(matrix) / n or 1.0
            solve = psd_solver(matrix + size / n, quadratic.ridge)
            offset = solve(even - even.mean())
            self._offset = (1.0 / n + offset - offset.mean()).astype(dictionary.dtype)
            operator = _centred(solve(_centred(right.astype(np.float64))))
        else:
            operator = psd_solver(matrix, quadratic.ridge)(right.astype(np.float64))
        self._operator = np.ascontiguousarray(operator.T, dictionary.dtype)

    def warning(self, unmet: int, total: int) -> str | None:
        """A closed form always converges."""
        return None

    def solve(self, queries: np.ndarray, history: bool = False) -> Solution:
        """Code a block of queries."""
        codes = (queries - self._centre) @ self._operator
        codes += self._offset
        done = np.ones(len(queries), bool)
        solution = Solution(codes, done.astype(int), done, self.problem, queries)
        if not history:
            return solution
        return Solution(codes, done.astype(int), done, self.problem, queries, solution.objective[None])


def ridge_operator(atoms: np.ndarray, quadratic: Quadratic, held: np.ndarray | None = None) -> np.ndarray:
    """The (d, n) matrix that takes a query to its ridge code, through the smaller of n and d.

    ``held`` is that side's product of the atoms in double precision, where someone has it.
    """
    n, d = atoms.shape
    ridge, double = quadratic.ridge / quadratic.gram, atoms.astype(np.float64, copy=False)
    if held is not None:
        side = held.copy()
    else:
        side = double.T @ double if d < n else double @ double.T
    side[np.diag_indices_from(side)] += ridge
    solve = psd_solver(side, ridge)
    operator = solve(double.T) if d < n else solve(double).T
    return np.ascontiguousarray((quadratic.target / quadratic.gram) * operator, atoms.dtype)


def _centred(columns: np.ndarray) -> np.ndarray:
    """Columns with their means taken out."""
    return columns - columns.mean(axis=0)
