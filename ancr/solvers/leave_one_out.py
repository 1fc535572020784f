r"""Every atom coded over all the others, without a refit.

For an inequality set the exact solver is told not to use the query's own atom. A free code follows from one inverse
P = H⁻¹ for all atoms: taking row and column i out of H turns P into P − P_i P_iᵀ/P_ii, so that for a ridge problem
c = −P_i/P_ii. So does an affine code, with P the inverse on Σc = 0. These inverses are in double precision.

A relaxed problem whitens with all atoms, x_i among them. Without it, (XXᵀ + μI)⁻¹ changes by a rank-one term, and
with g the row of the whitened Gram matrix and h = g_i,

    H ← H + ggᵀ/(1 − h),    b ← b/(1 − h).

As b is a multiple of g this is H + τ·bbᵀ, which the kernel takes in its stride.
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

from ancr._parallel import blas_threads_for, map_blocks
from ancr.dictionary import Dictionary
from ancr.quadratics import relaxed
from ancr.solvers._factor import psd_inverse
from ancr.solvers.exact import Exact, _Run
from ancr.solvers.relaxed import from_last_pricing, shift
from ancr.solvers.solution import Problem
from ancr.whitening import Spectrum

# Atoms of a block: more than for queries, since no product of matrices has to stay in a cache.
BLOCK_ROWS = 1024

Block = Callable[[slice], tuple[Any, Any]]


class LeaveOneOut:
    """Codes of every atom of a dictionary over all the others, for any number of problems.

    Parameters
    ----------
    dictionary : Dictionary
        The atoms. Their Gram matrix must fit in memory.
    tol : float
        Relative gap of the codes on an inequality set.
    """

    def __init__(self, dictionary: Dictionary, tol: float = 1e-8) -> None:
        self.dictionary, self._tol = dictionary, tol
        self._known: dict[Any, sparse.csr_array] = {}

    @cached_property
    def _double(self) -> Dictionary:
        double = self.dictionary.dtype == np.float64
        return self.dictionary if double else replace(self.dictionary, atoms=self.dictionary.atoms.astype(np.float64))

    @cached_property
    def _spectrum(self) -> Spectrum:
        return Spectrum(self.dictionary)

    def map(self, problem: Problem, then: Callable[[slice, Any, Any], Any]) -> list[Any]:
        """Results of ``then(rows, c, z)`` on blocks of atoms, c the codes and z those in the set.

        Without a relaxation both are the same. Rows and columns are as the dictionary sorts its atoms.
        """
        free = problem.kind in ("free", "affine")
        n, d = self.dictionary.atoms.shape
        with blas_threads_for(2 * n * n * d):
            block = (self._free if free else self._constrained)(problem)

        def work(rows: slice) -> tuple[Any, Any]:
            c, z = block(rows)
            return then(rows, c, z), None if free else z

        # c, z, b and what they are made from: about five rows of n numbers an atom.
        results = map_blocks(work, self.dictionary.n_atoms, 40 * self.dictionary.n_atoms, BLOCK_ROWS)
        if not free:
            codes = sparse.vstack([z for _, z in results], format="csr")
            self._known[problem.kind] = self._known[problem.kind, problem.relaxation] = codes
            if self._unmet:
                text = f"{self._unmet} of {self.dictionary.n_atoms} samples could not be coded to tol={self._tol:g}"
                warnings.warn(text, ConvergenceWarning, stacklevel=3)
        return [result for result, _ in results]

    def _free(self, problem: Problem) -> Block:
        quadratic = problem.quadratic
        if not quadratic.ridge:
            raise ValueError(
                "leave-one-out on the free and affine sets needs alpha > 0, and quadratic='least_squares' has none; "
                "give cv=5 to score them in folds"
            )
        # The ridge would drown in a Gram matrix of single precision.
        dictionary = self._double
        inverse = psd_inverse(quadratic.matrix(dictionary), quadratic.ridge)
        if problem.kind == "affine":
            sums = inverse.sum(axis=1)
            plane = inverse - np.outer(sums, sums) / sums.sum()
        else:
            sums, plane = np.zeros(len(inverse)), inverse
        linear = quadratic.target * dictionary.gram if quadratic.blocks else None

        def block(rows: slice) -> tuple[Any, Any]:
            own = np.arange(rows.start, rows.stop)
            pick = np.arange(len(own))
            if linear is None:  # the representation of x_i by the others is what makes −1 of its own entry
                codes = -plane[rows] / plane[own, own][:, None]
            else:
                pulled = linear[rows].copy()
                pulled[pick, own] = 0.0
                codes = pulled @ plane + sums / (sums.sum() or 1.0)
                # Entry i is brought to zero, on Σc = 1 along the plane.
                codes -= (codes[pick, own] / plane[own, own])[:, None] * plane[rows]
            codes[pick, own] = 0.0
            codes = codes.astype(self.dictionary.dtype, copy=False)
            return codes, codes

        return block

    def _constrained(self, problem: Problem) -> Block:
        """Blocks of an inequality set, begun with the supports at the last λ of this γ, else of the last problem."""
        if problem.relaxation is None:
            inner, leverage = problem, np.zeros(problem.dictionary.n_atoms)
        else:
            quadratic = relaxed(problem.quadratic.ridge, problem.relaxation)
            inner = Problem(self._spectrum.at(shift(problem)).dictionary, quadratic, problem.constraint)
            # 1 − h is small for an atom that stands alone: h must not come from a product in single precision.
            leverage = self._spectrum.leverage(shift(problem))
        solver = Exact(inner, tol=self._tol, gram_budget=inner.dictionary.n_atoms**2 * 8)
        gram = solver.source.gram
        self._unmet = 0
        known = self._known.get((problem.kind, problem.relaxation), self._known.get(problem.kind))

        def block(rows: slice) -> tuple[Any, Any]:
            run = _leaving_out(solver, gram, leverage, rows)
            if known is not None:
                run.begin_with(known[rows])
            run.to_the_end()
            self._unmet += int(np.count_nonzero(~run.finished()))
            z = run.codes()
            return (z if problem.relaxation is None else _without_own(run, z)), z

        return block


def _leaving_out(solver: Exact, gram: np.ndarray, leverage: np.ndarray, rows: slice) -> _Run:
    """A run of the atoms ``rows``, each without itself."""
    own = np.arange(rows.start, rows.stop)
    target, left = solver.problem.quadratic.target, 1.0 - leverage[rows]
    linear = gram[rows] * (target / left).astype(gram.dtype)[:, None]
    linear[np.arange(len(own)), own] = 0.0
    run = _Run(solver, solver.problem.dictionary.atoms[rows], linear)
    run.banned, run.squares = own, run.squares / left
    run.tilt = np.where(leverage[rows] > 0.0, left / target**2, 0.0)
    return run


def _without_own(run: _Run, z: sparse.csr_array) -> np.ndarray:
    codes = from_last_pricing(run, z)
    codes[np.arange(len(codes)), run.banned] = 0.0
    return codes.astype(run.problem.dictionary.dtype, copy=False)
