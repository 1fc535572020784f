"""Queries that are far from the mean atom and close to some atoms, solved about themselves.

On Σc = 1 the exact solver computes about the mean atom. Where lengths of atoms differ by decades, the mean is that of
the longest, and about it what a query is made of is lost in rounding: 1e-16·‖y − m‖² can exceed the objective. With the
query as the origin nothing is lost, at the price of products with all atoms for each query alone.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from ancr._core.arrays import squared_distances
from ancr.certificate.solution import Solution
from ancr.dictionary.products import Queries
from ancr.solvers.contract import ExactSolver

# The nearest atom must be this many times closer than the mean atom, in squares, for the origin to matter.
_CLOSER = 1e4


def about_queries(solution: Solution, rows: np.ndarray, solver: ExactSolver) -> Solution:
    """The solution with some of its queries solved again, where that can help.

    Parameters
    ----------
    solution : Solution
        Of a block of queries, with CSR codes.
    rows : ndarray
        Queries that could not be certified.
    solver : ExactSolver
        Not prepared, with the relative gap to reach as its ``tol``.
    """
    problem = solution.problem
    dictionary = problem.dictionary.in_double
    if not len(rows) or problem.has_origin or not dictionary.has_coordinates or problem.quadratic.target != 1.0:
        return solution
    queries = problem.asked(solution.queries.take(rows).in_double)
    codes, n_iter, converged = solution.sorted_codes.tolil(), solution.n_iter.copy(), solution.converged.copy()
    apart = -2.0 * queries.charged(-0.5 * squared_distances(queries.rows, dictionary.atoms), -np.inf)
    nearest = apart.min(axis=1) + problem.quadratic.largest_price
    close = np.flatnonzero(_CLOSER * nearest < queries.squared_distances_to_mean)
    for i in close:
        near = dictionary.located.with_atoms(dictionary.atoms - queries.rows[i])
        own = queries.take(slice(i, i + 1)).settled_terms
        prepared = solver.prepare(replace(problem, dictionary=near, fixed_origin=True))
        again = prepared.solve_block(Queries.of(near, np.zeros((1, near.n_features)), terms=own))
        codes[rows[i]] = again.sorted_codes.tolil()
        n_iter[rows[i]] += again.n_iter[0]
    if not len(close):
        return solution
    better = replace(solution, sorted_codes=sparse.csr_array(codes.tocsr()), n_iter=n_iter, converged=converged)
    converged[rows] = better.rows(rows).gap <= solver.tol
    return better
