r"""Every atom coded over all the others, without a refit.

For an inequality set the exact solver is told not to use the query's own atom. A free code follows from one inverse
P = H⁻¹ for all atoms: taking row and column i out of H turns P into P − P_i P_iᵀ/P_ii. So does an affine code, with
P the inverse on Σc = 0.

A relaxed problem whitens with all atoms, x_i among them. Without it, (XXᵀ + μI)⁻¹ changes by a rank-one term, and
with g the row of the whitened Gram matrix and h = g_i,

    H ← H + ggᵀ/(1 − h),    b ← b/(1 − h).

As b is a multiple of g this is H + τ·bbᵀ, which the kernel takes in its stride.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ancr._parallel import map_blocks, read_only
from ancr.dictionary import Dictionary
from ancr.quadratics import relaxed
from ancr.solvers._factor import psd_inverse
from ancr.solvers.exact import Exact, _Run
from ancr.solvers.relaxed import shift
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
    def _spectrum(self) -> Spectrum:
        return Spectrum(self.dictionary)

    def map(self, problem: Problem, then: Callable[[slice, Any, Any], Any]) -> list[Any]:
        """Results of ``then(rows, c, z)`` on blocks of atoms, c the codes and z those in the set.

        Without a relaxation both are the same. Rows and columns are as the dictionary sorts its atoms.
        """
        free = problem.kind in ("free", "affine")
        block = (self._free if free else self._constrained)(problem)

        def work(rows: slice) -> tuple[Any, Any]:
            c, z = block(rows)
            return then(rows, c, z), None if free else z

        # c, z, b and what they are made from: about five rows of n numbers an atom.
        results = map_blocks(work, self.dictionary.n_atoms, 40 * self.dictionary.n_atoms, BLOCK_ROWS)
        if not free:
            codes = sparse.vstack([z for _, z in results], format="csr")
            self._known[problem.kind] = self._known[problem.kind, problem.relaxation] = codes
        return [result for result, _ in results]

    def _free(self, problem: Problem) -> Block:
        quadratic, dictionary = problem.quadratic, problem.dictionary
        if not quadratic.ridge:
            raise ValueError("leave-one-out on the free and affine sets needs alpha > 0")
        inverse = psd_inverse(quadratic.matrix(dictionary).astype(np.float64, copy=False), quadratic.ridge)
        gram = dictionary.gram.astype(np.float64, copy=False)
        if problem.kind == "affine":
            return self._affine(inverse, quadratic.target * gram)
        if quadratic.blocks:
            images = quadratic.target * (inverse @ gram)
        else:  # PXᵀX = I − λP
            images = (quadratic.target / quadratic.gram) * (np.eye(len(inverse)) - quadratic.ridge * inverse)

        def block(rows: slice) -> tuple[Any, Any]:
            own = np.arange(rows.start, rows.stop)
            # P(b − b_i e_i), then what taking i out subtracts.
            free = images[:, rows].T - (quadratic.target * gram[own, own])[:, None] * inverse[rows]
            codes = free - (free[np.arange(len(own)), own] / inverse[own, own])[:, None] * inverse[rows]
            codes[np.arange(len(own)), own] = 0.0
            codes = codes.astype(dictionary.dtype, copy=False)
            return codes, codes

        return block

    def _affine(self, inverse: np.ndarray, linear: np.ndarray) -> Block:
        sums = inverse.sum(axis=1)
        # The code is that of Σc = 0 plus the even point; both from the inverse on the constraint.
        on_plane = inverse - np.outer(sums, sums) / sums.sum()

        def block(rows: slice) -> tuple[Any, Any]:
            own = np.arange(rows.start, rows.stop)
            pick = np.arange(len(own))
            pulled = linear[rows].copy()
            pulled[pick, own] = 0.0
            codes = pulled @ on_plane + sums / sums.sum()
            # Entry i is brought to zero along the plane.
            codes -= (codes[pick, own] / on_plane[own, own])[:, None] * on_plane[rows]
            codes[pick, own] = 0.0
            codes = codes.astype(self.dictionary.dtype, copy=False)
            return codes, codes

        return block

    def _constrained(self, problem: Problem) -> Block:
        """Blocks of an inequality set, begun with the supports at the last λ of this γ, else of the last problem."""
        if problem.relaxation is None:
            inner, leverage = problem, np.zeros(problem.dictionary.n_atoms)
            gram = problem.dictionary.gram
        else:
            quadratic = relaxed(problem.quadratic.ridge, problem.relaxation)
            inner = Problem(self._spectrum.at(shift(problem)).dictionary, quadratic, problem.constraint)
            gram = inner.dictionary.gram
            # 1 − h is small for an atom that stands alone: h must not come from a product in single precision.
            leverage = self._spectrum.leverage(shift(problem))
        solver = Exact(inner, tol=self._tol, gram_budget=inner.dictionary.n_atoms**2 * 8)
        known = self._known.get((problem.kind, problem.relaxation), self._known.get(problem.kind))

        def block(rows: slice) -> tuple[Any, Any]:
            run = _leaving_out(solver, gram, leverage, rows)
            if known is not None:
                run.begin_with(known[rows])
            run.to_the_end()
            z = run.codes()
            return (z if problem.relaxation is None else _near_the_set(run, z)), z

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


def _near_the_set(run: _Run, z: sparse.csr_array) -> np.ndarray:
    """c = z + p/(1 + w), p = (1 − τ·bᵀz)·b − Gz − wz."""
    from ancr._kernels import subtract_image

    quadratic, codes = run.problem.quadratic, np.empty_like(run.linear)
    arrays = (z.indptr, z.indices, z.data, run.form.matrix, run.linear, run.tilt)
    subtract_image(*map(read_only, arrays), quadratic.target, codes)
    rows = np.repeat(np.arange(z.shape[0]), np.diff(z.indptr))
    codes[rows, z.indices] += z.data * codes.dtype.type(1.0 - quadratic.ridge / quadratic.target)
    codes[np.arange(len(codes)), run.banned] = 0.0
    return codes
