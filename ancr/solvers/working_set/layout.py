"""A problem as the kernels of the exact solver take it, and how long they may work on it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ancr._core.arrays import map_rows
from ancr.axes.problem import Problem
from ancr.certificate.tolerances import rounding_of
from ancr.solvers.working_set.thresholds import DEPENDENT, SHARE_OF_GAP, eta_of, followed_reach, roundings, shortest

# Rows of H worked on at once: they stay in a core's cache.
_ROWS = 64


def laid_out(problem: Problem, matrix: np.ndarray, tol: float, without_atoms: bool) -> Any:
    """The ``Program`` of a problem in standard form.

    Parameters
    ----------
    problem : Problem
        In standard form.
    matrix : ndarray of shape (n_atoms, n_atoms) or (0, 0)
        H without what atoms pay for c_j², or nothing if it is not kept.
    tol : float
        Relative gap to reach.
    without_atoms : bool
        Whether H is all that the kernels read.
    """
    from ancr.solvers.working_set.host_kernels import Program

    dictionary, quadratic, constraint = problem.dictionary, problem.quadratic, problem.constraint
    norms = np.sqrt((quadratic.gram + quadratic.blocks) * dictionary.squares)
    diagonal = norms**2 + quadratic.prices
    limits = (DEPENDENT, SHARE_OF_GAP, roundings(dictionary), shortest(diagonal))
    constants = (*limits, quadratic.ridge, followed_reach(problem), rounding_of(problem).of_nearest)
    return Program(
        matrix=matrix,
        pricing=_correlations(matrix, norms),
        atoms=np.empty((0, 0), dictionary.dtype) if without_atoms else dictionary.coordinates,
        numbers=np.array([quadratic.gram, quadratic.blocks, *constants], float),
        labels=dictionary.labels,
        lengths=np.sqrt(diagonal),
        longest=float(np.sqrt(diagonal.max())),
        norms=norms,
        largest_norm=float(norms.max()),
        prices=np.full(dictionary.n_atoms, quadratic.prices, float),
        eta=eta_of(diagonal, constraint.sums_to_one),
        shift=quadratic.absolute / 2.0 if problem.has_l1_term else 0.0,
        sums_to_one=constraint.sums_to_one,
        signed=not constraint.nonnegative,
        tol=tol,
    )


def exceeds_rounding(problem: Problem) -> bool:
    """Whether the ridge is larger than the rounding of a single-precision H."""
    diagonal = problem.quadratic.diagonal(problem.dictionary)
    return problem.quadratic.ridge > 1e-5 * float(diagonal.max())


def max_rounds(problem: Problem) -> int:
    """Rounds that a query may take: a few for each atom that a support can hold. It is not converged after that."""
    dictionary, quadratic = problem.dictionary, problem.quadratic
    full_rank = quadratic.ridge > 0.0 or quadratic.blocks > 0.0
    rank = dictionary.n_atoms if full_rank else min(dictionary.n_atoms, dictionary.n_features)
    return min(1000 + dictionary.n_atoms, 300 + 3 * rank)


def _correlations(matrix: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """H_ij / √(H_ii·H_jj) as integer multiples of 1/STEPS; zero for zero atoms."""
    from ancr.solvers.working_set.host_kernels import STEPS

    correlations = np.empty(matrix.shape, np.int16)
    # Computed in the matrix's own precision, where atoms shorter than this are lost in the rounding of the others.
    scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 1e-30 * lengths.max(initial=0.0))
    scale = scale.astype(matrix.dtype)

    def fill(rows: slice) -> None:
        block = matrix[rows] * scale[rows, None]
        block *= matrix.dtype.type(STEPS) * scale
        correlations[rows] = np.clip(np.rint(block, out=block), -32767, 32767, out=block)

    if 0 < len(matrix) <= _ROWS:
        fill(slice(None))
    else:
        map_rows(fill, matrix, block_rows=_ROWS)
    return correlations
