r"""Each atom coded over all the others, without a refit.

For a set with inequalities the exact solver is told not to use the query's own atom. A free code follows from one
inverse P = H⁻¹ for all atoms: removing row and column i of H turns P into P − P_i P_iᵀ/P_ii, so that for a ridge
problem c = −P_i/P_ii. So does an affine code, with P the inverse on Σc = 0. These inverses are in double precision.

A relaxed problem whitens with all atoms, including x_i. Without x_i, (XXᵀ + μI)⁻¹ changes by a rank-one term, and
with g the row of the whitened Gram matrix and h = g_i,

    H ← H + ggᵀ/(1 − h),    b ← b/(1 − h).

Since b is a multiple of g, this is a rank-one update H + τ·bbᵀ, which the kernel supports.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from ancr._core.arrays import Array, blas_threads_for, in_double, is_non_numpy, like, map_rows, namespace, row_dots
from ancr._core.psd import psd_inverse, psd_inverse_on_plane
from ancr.axes.problem import Problem
from ancr.dictionary.atoms import BaseDictionary
from ancr.dictionary.derived import ProductsDictionary, rescaled
from ancr.dictionary.products import Queries
from ancr.solvers.closed_form import ClosedForm
from ancr.solvers.contract import Solver
from ancr.solvers.relaxed import Relaxed, factors_of, from_last_pricing, inner_problem, shift
from ancr.solvers.whitening import spectrum
from ancr.solvers.working_set.dense_codes import is_strong
from ancr.solvers.working_set.device import DeviceWorkingSet
from ancr.solvers.working_set.device_leaving_out import DeviceLeavingOut
from ancr.solvers.working_set.first_answers import can_wait, counted
from ancr.solvers.working_set.host import HostWorkingSet, Run

# Atoms per block: more than for queries, since no matrix product has to stay in cache.
BLOCK_ROWS = 1024

# Solvers whose problems can be solved for each atom without it.
_SOLVERS: tuple[Solver, ...] = (ClosedForm(), DeviceWorkingSet(), HostWorkingSet(), Relaxed())

# c and z of some atoms, and how many of them were not coded to the tolerance.
Block = Callable[[slice], tuple[Any, Any, int]]


class LeaveOneOut:
    """Codes of each atom of a dictionary over all the others, for any number of problems.

    Parameters
    ----------
    dictionary : BaseDictionary
        The atoms. Their Gram matrix must fit in memory.
    tol : float
        Relative gap of the codes on a set with inequalities.
    """

    def __init__(self, dictionary: BaseDictionary, tol: float = 1e-8) -> None:
        self.dictionary, self._tol = dictionary, tol
        self._known: dict[Any, sparse.csr_array] = {}

    @cached_property
    def _double(self) -> Any:
        return self.dictionary.in_double

    @cached_property
    def _spectrum(self) -> Any:
        return spectrum(self.dictionary)

    def _spectrum_of(self, problem: Problem) -> Any:
        """One for all problems, unless prices of the atoms make the space depend on λ."""
        factors = factors_of(problem)
        return self._spectrum if factors is None else spectrum(rescaled(self.dictionary, factors))

    @staticmethod
    def accepts(problem: Problem) -> bool:
        """Whether the atoms of a problem can be coded; without inequalities this needs a ridge."""
        flat = not (problem.constraint.has_inequalities or problem.has_l1_term)
        if flat and not problem.quadratic.ridge:
            return False
        return any(solver.objection(problem) is None for solver in _SOLVERS)

    def map(self, problem: Problem, then: Callable[[slice, Any, Any], Any]) -> list[Any]:
        """Results of ``then(rows, c, z)`` on blocks of atoms, with c the codes and z those in the set.

        Without a relaxation both are the same. Rows and columns are in the dictionary's order.
        """
        free = not (problem.constraint.has_inequalities or problem.has_l1_term)
        n, d = self.dictionary.n_atoms, self.dictionary.n_features
        with blas_threads_for(2 * n * n * d):
            block = (self._free if free else self._constrained)(problem)

        begins_the_next = not free and not self.dictionary.is_non_numpy

        def work(rows: slice) -> tuple[Any, Any, int]:
            c, z, unmet = block(rows)
            return then(rows, c, z), z if begins_the_next else None, unmet

        # c, z, b and what they are made from: about five rows of n numbers per atom.
        results = map_rows(work, self.dictionary.atoms, 40 * n, BLOCK_ROWS)
        if begins_the_next:
            codes = sparse.csr_array(sparse.vstack([z for _, z, _ in results], format="csr"))
            self._known[id(problem.constraint)] = self._known[id(problem.constraint), problem.relaxation] = codes
        if unmet := sum(unmet for _, _, unmet in results):
            text = f"{unmet} of {self.dictionary.n_atoms} samples could not be coded to tol={self._tol:g}"
            warnings.warn(text, ConvergenceWarning, stacklevel=3)
        return [result for result, _, _ in results]

    def _free(self, problem: Problem) -> Block:
        quadratic = problem.quadratic
        # The ridge would be lost in the rounding of a single-precision Gram matrix.
        dictionary = self._double
        matrix, xp = quadratic.matrix(dictionary), dictionary.xp
        if problem.constraint.sums_to_one:
            inverse, offset = psd_inverse_on_plane(matrix, quadratic.ridge)
        else:
            inverse, offset = psd_inverse(matrix, quadratic.ridge), 0.0
        linear = quadratic.target * dictionary.gram if quadratic.blocks else None
        diagonal = xp.linalg.diagonal(inverse)

        def block(rows: slice) -> tuple[Any, Any, int]:
            if linear is None:  # scaled so that the own entry is −1, row i represents x_i by the others
                codes = -inverse[rows, :] / diagonal[rows][:, None]
            else:
                codes = _without_own(xp.asarray(linear[rows, :], copy=True), rows) @ inverse + offset
                # Entry i is brought to zero; on Σc = 1 the sum stays the same.
                codes -= (xp.linalg.diagonal(codes[:, rows]) / diagonal[rows])[:, None] * inverse[rows, :]
            codes = xp.astype(_without_own(codes, rows), self.dictionary.dtype, copy=False)
            return codes, codes, 0

        return block

    def _constrained(self, problem: Problem) -> Block:
        """Blocks for a set with inequalities, warm-started at the last λ of this γ or at the last problem."""
        if self.dictionary.is_non_numpy:
            return self._in_lock_step(problem)
        if self._can_wait(problem):
            return self._before_kernels(problem)
        inner, leverage, ratio = self._inner(problem)
        solver = HostWorkingSet(self._tol, gram_budget=inner.dictionary.n_atoms**2 * 8).prepare(inner)
        gram, ratio = solver.source.gram, ratio * solver.per_query
        constraint = id(problem.constraint)
        known = self._known.get((constraint, problem.relaxation), self._known.get(constraint))

        def block(rows: slice) -> tuple[Any, Any, int]:
            run = _leaving_out(solver, gram, leverage, ratio, rows)
            if known is not None:
                run.begin_with(known[rows])
            run.to_the_end()
            unmet = int(np.count_nonzero(~(run.finished() | run.in_doubt())))
            z = solver.given(run.codes())
            return z if problem.relaxation is None else _near_the_set(run, z, rows), z, unmet

        return block

    def _inner(self, problem: Problem) -> tuple[Problem, Any, Any]:
        """The problem in z, the leverage h of each atom, and what an atom is as a multiple of itself as a query."""
        xp, zeros = problem.dictionary.xp, 0.0 * problem.dictionary.squares
        if problem.relaxation is None:
            # b of an atom is a row of the Gram matrix only if queries and atoms have the same centre.
            same = problem.quadratic.target == problem.quadratic.gram
            return replace(problem, fixed_origin=not same), zeros, xp.ones_like(zeros)
        whitened = self._spectrum_of(problem)(shift(problem))
        # The rank-one update is one of b about the given origin.
        inner = inner_problem(problem, whitened.dictionary)
        factors = factors_of(problem)
        ratio = xp.ones_like(zeros) if factors is None else problem.dictionary.like(factors**2)
        # 1 − h is small for an isolated atom: h must not come from a product in single precision.
        return inner, whitened.leverage, ratio

    def _can_wait(self, problem: Problem) -> bool:
        """Whether lock-step rounds do with less time than compiling; dense codes need no kernels."""
        n = self.dictionary.n_atoms
        if problem.has_l1_term or not can_wait(n, n):
            return False
        return problem.relaxation is not None or not is_strong(problem.standard_form.problem)

    def _before_kernels(self, problem: Problem) -> Block:
        """Blocks of small work on NumPy arrays, which does not wait for kernels to be compiled."""
        in_lock_step = self._in_lock_step(problem)

        def block(rows: slice) -> tuple[Any, Any, int]:
            with counted():
                c, z, unmet = in_lock_step(rows)
            z = sparse.csr_array(z)
            return z if problem.relaxation is None else c, z, unmet

        return block

    def _in_lock_step(self, problem: Problem) -> Block:
        """Blocks on the device of the atoms."""
        inner, leverage, ratio = self._inner(problem)
        form = inner.standard_form.problem
        products = ProductsDictionary.of(form.dictionary)
        exact: Any = DeviceLeavingOut(self._tol)
        solver = exact.prepare(replace(form, dictionary=products, fixed_origin=True))
        divisor, xp = form.quadratic.target * form.dictionary.units**2, products.xp
        quadratic, double, left = form.quadratic, products.in_double, (1.0 - leverage) * ratio
        rank_one = xp.where(leverage > 0.0, left / quadratic.target**2, xp.zeros_like(left))

        def block(rows: slice) -> tuple[Any, Any, int]:
            cross = _without_own(double.gram[rows, :] / left[rows][:, None], rows)
            squares = (double.squares / left / ratio)[rows]
            queries = Queries.of(products, xp.concat([cross, squares[:, None]], axis=1))
            solution = solver.without_own(queries, np.arange(rows.start, rows.stop), rank_one[rows])
            z, unmet = solution.sorted_codes, int(xp.count_nonzero(~solution.converged))
            if problem.relaxation is None:
                return z, z, unmet
            exactly, queries = in_double(z), Queries.of(double, queries.rows)
            linear, pull = quadratic.linear(queries), quadratic.pull(queries, exactly)
            pull -= (rank_one[rows] * row_dots(linear, exactly))[:, None] * linear
            return xp.astype(_without_own(pull / divisor + exactly, rows), z.dtype, copy=False), z, unmet

        return block


def _leaving_out(solver: HostWorkingSet, gram: np.ndarray, leverage: np.ndarray, ratio: np.ndarray, rows: slice) -> Run:
    """A run with the atoms ``rows`` as queries, each coded without itself.

    ``ratio`` is what an atom is as a multiple of the query that is the same sample: with weights, D_ii² in a relaxed
    problem, see `ancr.solvers.relaxed`.
    """
    own = np.arange(rows.start, rows.stop)
    target, left, own_ratio = solver.problem.quadratic.target, 1.0 - leverage[rows], ratio[rows]
    linear = gram[rows] * (target / left / own_ratio).astype(gram.dtype)[:, None]
    linear[np.arange(len(own)), own] = 0.0
    queries = Queries.of(solver.problem.dictionary, solver.problem.dictionary.atoms[rows, :])
    run = Run(solver, queries, linear, squares=solver.source.squares[rows])
    run.banned, run.squares = own, run.squares / left / own_ratio**2
    run.rank_one = np.where(leverage[rows] > 0.0, left * own_ratio / target**2, 0.0)
    return run


def _near_the_set(run: Run, z: sparse.csr_array, rows: slice) -> np.ndarray:
    return _without_own(from_last_pricing(run, z), rows).astype(run.problem.dictionary.dtype, copy=False)


def _without_own(values: Array, rows: slice) -> Array:
    """Values of the atoms ``rows`` (as rows) for all atoms (as columns), with zero for each with itself; in place.

    Arrays of other libraries than NumPy are copied.
    """
    own = np.arange(rows.start, rows.stop)
    if not is_non_numpy(values):
        values[np.arange(len(own)), own] = 0.0
        return values
    xp = namespace(values)
    mask = like(own, values)[:, None] == like(np.arange(values.shape[1]), values)[None, :]
    return xp.where(mask, xp.zeros_like(values), values)
