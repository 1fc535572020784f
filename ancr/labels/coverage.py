r"""Which candidates, once labelled, make a pool best represented.

Representing a sample y by the labelled ones A costs, without constraints,

    s(y, y) = min_c ‖y − Ac‖² + λ‖c‖²,    s(y, x) = yᵀx − yᵀA(AᵀA + λI)⁻¹Aᵀx,

and one more labelled sample x lowers that cost by s(y, x)²/(s(x, x) + λ). So the candidate for which these have the
largest weighted sum over the pool is taken, then the best one beside it, and so on: samples that stand for many others
which nothing represents yet. (s is the posterior covariance of a Gaussian process given the labelled samples.)
"""

from __future__ import annotations

import numpy as np

from ancr._core.arrays import Array, in_double, map_rows, to_numpy
from ancr.axes.problem import Problem
from ancr.dictionary.atoms import BaseDictionary
from ancr.solvers.choice import make_solver


def best_represented(
    labelled: BaseDictionary,
    candidates: BaseDictionary,
    rows: Array,
    pool: Array,
    weights: np.ndarray,
    ridge: float,
    n: int,
) -> np.ndarray:
    """Places of n candidates, the most useful first.

    Parameters
    ----------
    labelled, candidates : BaseDictionary
        The samples that have labels, and those that may be chosen.
    rows, pool : array of shape (n_candidates, n_features) and (n_pool, n_features)
        The candidates again, and the samples to be represented, as queries of the same space.
    weights : ndarray of shape (n_pool,)
        How much each sample of the pool counts.
    ridge : float
        λ.
    n : int
        How many to choose, at most as many as there are candidates.
    """
    solver = make_solver("closed_form", Problem.of(labelled, "ridge", "free", alpha=ridge))
    codes = in_double(solver.solve(rows).sorted_codes)

    def unrepresented(queries: Array) -> np.ndarray:
        """s/λ; the products of queries and labelled samples live for a block."""

        def work(block: slice) -> np.ndarray:
            part = queries[block, :]
            both = in_double(candidates.cross(part)) - in_double(labelled.cross(part)) @ codes.T
            return np.asarray(to_numpy(both), float) / ridge

        return np.concatenate(map_rows(work, queries, 16 * (labelled.n_atoms + candidates.n_atoms)))

    return _one_by_one(np.sqrt(weights)[:, None] * unrepresented(pool), unrepresented(rows), n)


def _one_by_one(of_pool: np.ndarray, among: np.ndarray, n: int) -> np.ndarray:
    """Places of n columns, each the best beside those before it.

    Parameters
    ----------
    of_pool : ndarray of shape (n_pool, n_candidates)
        s(y, x)/λ for the samples y of the pool and the candidates x, times the root of the weight of y.
    among : ndarray of shape (n_candidates, n_candidates)
        s(x, x')/λ for two candidates.

    Notes
    -----
    In units of λ a chosen x takes uvᵀ from s, with u = s(·, x)/√(s(x, x) + 1) over the pool and v the same over the
    candidates. These are kept, and s itself is left as it was: one product with it per choice is all that is needed.
    """
    own, squares = np.diag(among).copy(), np.einsum("ij,ij->j", of_pool, of_pool)
    left, right = np.zeros((n, len(of_pool))), np.zeros((n, len(among)))
    free, chosen = np.ones(len(among), bool), []
    for step in range(n):
        gains = squares / (np.maximum(own, 0.0) + 1.0)
        best = int(np.argmax(np.where(free, gains, -np.inf)))
        free[best] = False
        chosen.append(best)
        before, length = right[:step, best], np.sqrt(max(own[best], 0.0) + 1.0)
        u = (of_pool[:, best] - before @ left[:step]) / length
        v = (among[best] - before @ right[:step]) / length
        overlap = u @ of_pool - (left[:step] @ u) @ right[:step]
        squares = np.maximum(squares - 2.0 * v * overlap + v**2 * (u @ u), 0.0)
        own = own - v**2
        left[step], right[step] = u, v
    return np.array(chosen)
