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

from ancr.backends.arrays import blas_threads_for, map_rows
from ancr.backends.psd import psd_inverse
from ancr.dictionary import BaseDictionary
from ancr.problem import Problem
from ancr.solvers.base import Solver
from ancr.solvers.closed_form import ClosedForm
from ancr.solvers.gram_closed_form import GramClosedForm
from ancr.solvers.relaxed import Relaxed, factors_of, from_last_pricing, inner_problem, shift
from ancr.solvers.whitening import spectrum
from ancr.solvers.working_set.host import HostWorkingSet, Run

# Atoms per block: more than for queries, since no matrix product has to stay in cache.
BLOCK_ROWS = 1024

# Solvers whose problems can be solved for each atom without it.
_SOLVERS: tuple[Solver, ...] = (ClosedForm(), GramClosedForm(), HostWorkingSet(), Relaxed())

Block = Callable[[slice], tuple[Any, Any]]


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
        return self._spectrum if factors is None else spectrum(self.dictionary.rescaled(factors))

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

        def work(rows: slice) -> tuple[Any, Any]:
            c, z = block(rows)
            return then(rows, c, z), None if free else z

        # c, z, b and what they are made from: about five rows of n numbers per atom.
        results = map_rows(work, self.dictionary.atoms, 40 * n, BLOCK_ROWS)
        if not free:
            codes = sparse.csr_array(sparse.vstack([z for _, z in results], format="csr"))
            self._known[id(problem.constraint)] = self._known[id(problem.constraint), problem.relaxation] = codes
            if unmet := sum(self._unmet):
                text = f"{unmet} of {self.dictionary.n_atoms} samples could not be coded to tol={self._tol:g}"
                warnings.warn(text, ConvergenceWarning, stacklevel=3)
        return [result for result, _ in results]

    def _free(self, problem: Problem) -> Block:
        quadratic = problem.quadratic
        # The ridge would be lost in the rounding of a single-precision Gram matrix.
        dictionary = self._double
        inverse = psd_inverse(quadratic.matrix(dictionary), quadratic.ridge)
        if problem.constraint.sums_to_one:
            sums = inverse.sum(axis=1)
            plane = inverse - np.outer(sums, sums) / sums.sum()
        else:
            sums, plane = np.zeros(len(inverse)), inverse
        linear = quadratic.target * dictionary.gram if quadratic.blocks else None

        def block(rows: slice) -> tuple[Any, Any]:
            own = np.arange(rows.start, rows.stop)
            pick = np.arange(len(own))
            if linear is None:  # scaled so that the own entry is −1, row i represents x_i by the others
                codes = -plane[rows] / plane[own, own][:, None]
            else:
                pulled = linear[rows].copy()
                pulled[pick, own] = 0.0
                codes = pulled @ plane + sums / (sums.sum() or 1.0)
                # Entry i is brought to zero; on Σc = 1 the sum stays the same.
                codes -= (codes[pick, own] / plane[own, own])[:, None] * plane[rows]
            codes[pick, own] = 0.0
            codes = codes.astype(self.dictionary.dtype, copy=False)
            return codes, codes

        return block

    def _constrained(self, problem: Problem) -> Block:
        """Blocks for a set with inequalities, warm-started at the last λ of this γ or at the last problem."""
        ratio = np.ones(problem.dictionary.n_atoms)
        if problem.relaxation is None:
            # b of an atom is a row of the Gram matrix only if queries and atoms have the same centre.
            same = problem.quadratic.target == problem.quadratic.gram
            inner, leverage = replace(problem, fixed_origin=not same), np.zeros(problem.dictionary.n_atoms)
        else:
            spectrum_ = self._spectrum_of(problem)
            # The rank-one update is one of b about the given origin.
            inner = inner_problem(problem, spectrum_.at(shift(problem)).dictionary)
            # 1 − h is small for an isolated atom: h must not come from a product in single precision.
            leverage = spectrum_.leverage(shift(problem))
            factors = factors_of(problem)
            ratio = ratio if factors is None else factors**2
        solver = HostWorkingSet(self._tol, gram_budget=inner.dictionary.n_atoms**2 * 8).prepare(inner)
        gram, ratio = solver.source.gram, ratio * solver.per_query
        self._unmet: list[int] = []  # appending is atomic, adding up in threads is not
        constraint = id(problem.constraint)
        known = self._known.get((constraint, problem.relaxation), self._known.get(constraint))

        def block(rows: slice) -> tuple[Any, Any]:
            run = _leaving_out(solver, gram, leverage, ratio, rows)
            if known is not None:
                run.begin_with(known[rows])
            run.to_the_end()
            self._unmet.append(int(np.count_nonzero(~(run.finished() | run.in_doubt()))))
            z = solver.given(run.codes())
            return (z if problem.relaxation is None else _without_own(run, z)), z

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
    queries = solver.problem.dictionary.own_queries(rows)
    run = Run(solver, queries, linear, squares=solver.source.squares[rows])
    run.banned, run.squares = own, run.squares / left / own_ratio**2
    run.rank_one = np.where(leverage[rows] > 0.0, left * own_ratio / target**2, 0.0)
    return run


def _without_own(run: Run, z: sparse.csr_array) -> np.ndarray:
    codes = from_last_pricing(run, z)
    codes[np.arange(len(codes)), run.banned] = 0.0
    return codes.astype(run.problem.dictionary.dtype, copy=False)
