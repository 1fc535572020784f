r"""The point of least norm in the convex hull of the atoms, by Wolfe's method (1976), on the host.

It keeps a set of affinely independent atoms and the least-norm point of their hull. Each round adds the atom that
the point separates least from the origin and moves to the least-norm point of the affine hull, stopping at each face
on the way. Every round lowers the norm, so the method is finite. It is deliberately independent of the solvers: the
certificate, which needs it, must not depend on what it judges.
"""

import numpy as np

from ancr.backends.arrays import to_numpy

# Stop when no atom's product with the point is below the point's square by more than this share of the largest square.
_ENOUGH = 1e-13


def nearest_to_origin(dictionary, quadratic, present):
    """Hp and pᵀHp for the p that minimises pᵀHp on the simplex over the atoms ``present``.

    Parameters
    ----------
    dictionary : Dictionary
        Atoms in double precision.
    quadratic : Quadratic
        Gives H.
    present : ndarray of int
        Positions of the atoms to use.
    """
    diagonal = to_numpy(quadratic.diagonal(dictionary))[present]

    def times_h(support, weights):
        code = np.zeros((1, dictionary.n_atoms))
        code[0, present[support]] = weights
        return -to_numpy(quadratic.pull(dictionary, None, dictionary.like(code)))[0, present]

    support, weights = np.array([np.argmin(diagonal)]), np.ones(1)
    block = diagonal[support][:, None]
    for _ in range(10 * len(present)):
        image = times_h(support, weights)
        square, newcomer = float(weights @ image[support]), int(np.argmin(image))
        if newcomer in support or image[newcomer] >= square - _ENOUGH * diagonal.max():
            break
        support, weights = np.append(support, newcomer), np.append(weights, 0.0)
        row = times_h(support[-1:], 1.0)[support]
        block = np.block([[block, row[:-1, None]], [row[None, :]]])
        while True:
            target = _affine_minimiser(block)
            if target is None:  # the newcomer depends on the others
                return image, square
            if target.min() > 0.0:
                weights = target
                break
            falling = target <= 0.0
            step = np.min(weights[falling] / np.maximum(weights[falling] - target[falling], 1e-300))
            weights = weights + step * (target - weights)
            kept = np.flatnonzero((weights > 1e-15) | ~falling)
            support, block, weights = support[kept], block[np.ix_(kept, kept)], weights[kept] / weights[kept].sum()
    image = times_h(support, weights)
    return image, float(weights @ image[support])


def _affine_minimiser(block):
    """Weights of the least-norm point of the affine hull, Σ = 1; None where the system is singular."""
    shift = np.trace(block) / len(block)  # a multiple of 11ᵀ changes nothing on Σ = 1 and makes the block definite
    try:
        ones = np.linalg.solve(block + shift, np.ones(len(block)))
    except np.linalg.LinAlgError:
        return None
    total = ones.sum()
    return ones / total if np.isfinite(ones).all() and total > 0.0 else None
