r"""Upper bounds on f(c) − f*, from the problem alone.

With f(c) = cᵀHc − 2bᵀc and the pull p = b − Hc (so ∇f = −2p), for c in its set:

* **simplex**: by convexity f(c) − f* ≤ ⟨∇f, c⟩ − min ∇f = 2(max p − pᵀc).
* **orthant**: every w with Hw ≥ b gives the bound f* ≥ −wᵀHw. If some e has He ≥ 1, then w = c + εe is one, where
  ε = max(0, max p), and f(c) + wᵀHw = −2pᵀc + 2ε·eᵀHc + ε²·eᵀHe. Such an e exists exactly when the origin is not in
  the convex hull of the atoms (always, with a ridge): it is the hull's point of least H-norm, scaled, which is one
  simplex problem for the whole dictionary. Two more bounds need no e, and the least of the three counts: with a
  ridge λ the strong convexity Σ 2p_j t_j − λt_j², t_j = max(p_j/λ, −c_j); and f(c) less the constant below which no
  code can bring a sum of squares.
* **free, affine**: ‖p‖²/σ with σ the smallest positive eigenvalue of H and, for the affine set, the mean taken from
  p, because then only differences of pulls count.
* **ℓ1**: the usual dual point, the residual scaled until |Xᵀr| ≤ λ/2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import eigvalsh

from ancr._arrays import leaves, like, to_numpy
from ancr.dictionary import Dictionary
from ancr.sets import SETS
from ancr.solvers.solution import Array, Problem, in_double

_EPS = float(np.finfo(float).eps)
Bound = Callable[[Array, Any, Array], Array]


def relative_gap(problem: Problem) -> Callable[[Array, Any], Array]:
    """The function (queries, codes) → gap over scale, in double precision."""
    problem = replace(problem, dictionary=_in_double(problem.dictionary))
    bound = _BOUNDS[problem.kind](problem)
    quadratic, dictionary = problem.quadratic, problem.dictionary

    xp = dictionary.xp

    def gap(queries: Array, codes: Any) -> Array:
        queries, codes = in_double(queries), in_double(codes)
        excess = bound(queries, codes, quadratic.pull(dictionary, queries, codes))
        scale = problem.scale(queries, codes)
        # A zero query over zero atoms has nothing to be wrong about.
        return xp.clip(excess, 0.0, None) / xp.where(scale > 0.0, scale, xp.ones_like(scale))

    return gap


def _in_double(dictionary: Dictionary) -> Dictionary:
    return replace(dictionary, atoms=in_double(dictionary.atoms)) if dictionary.is_single else dictionary


def _row_dots(dense: Array, codes: Any) -> Array:
    if sparse.issparse(codes):
        return np.asarray(codes.multiply(dense).sum(axis=1)).ravel()
    return leaves(dense).row_dots(dense, codes)


def _hardest_pull(problem: Problem, queries: Array, codes: Any, pull: Array) -> Array:
    """max p, less what rounding alone can make of it: the bound is for data equal to ours to the last digit."""
    xp = problem.dictionary.xp
    rounding = 16.0 * _EPS * xp.sqrt(problem.scale(queries, codes))
    lengths = xp.sqrt(problem.quadratic.diagonal(problem.dictionary))
    return xp.max(pull - rounding[:, None] * lengths, axis=1)


def _simplex_bound(problem: Problem) -> Bound:
    return lambda queries, codes, pull: 2.0 * (_hardest_pull(problem, queries, codes, pull) - _row_dots(pull, codes))


def _orthant_bound(problem: Problem) -> Bound:
    quadratic, dictionary = problem.quadratic, problem.dictionary
    xp = dictionary.xp
    lift, lift_square = _interior_point(problem)

    def bound(queries: Array, codes: Any, pull: Array) -> Array:
        bounds = [quadratic.excess(dictionary, queries, codes)]
        excess = _hardest_pull(problem, queries, codes, pull)
        loose = -2.0 * _row_dots(pull, codes)
        if lift is not None:
            excess = xp.clip(excess, 0.0, None)
            bounds.append(loose + 2.0 * excess * (codes @ lift) + excess**2 * lift_square)
        else:
            bounds.append(xp.where(excess <= 0.0, loose, xp.full_like(loose, xp.inf)))
        if quadratic.ridge:
            dense = codes.toarray() if sparse.issparse(codes) else codes
            step = xp.maximum(pull / quadratic.ridge, -dense)
            bounds.append(xp.sum(2.0 * pull * step - quadratic.ridge * step**2, axis=1))
        return reduce(xp.minimum, bounds)

    return bound


def _interior_point(problem: Problem) -> tuple[Array | None, float]:
    """He and eᵀHe for an e with He ≥ 1; None where there is none, or none that double precision can tell."""
    from ancr.solvers import make_solver

    dictionary, quadratic = problem.dictionary, problem.quadratic
    # An all-zero atom pulls at nothing, ever; it would put the origin into the hull.
    present = np.flatnonzero(to_numpy(quadratic.diagonal(dictionary)) > 0.0)
    if not len(present):
        return None, 0.0
    xp, rows = dictionary.xp, like(present, dictionary.atoms)
    origin = xp.zeros_like(dictionary.atoms[:1, :])
    sub = Dictionary.build(xp.take(dictionary.atoms, rows, axis=0), dictionary.labels[present], normalize=False)
    hull_problem = Problem(sub, replace(quadratic, absolute=0.0), SETS["simplex"])
    hull = make_solver("exact", hull_problem).solve(origin).codes
    image = -quadratic.pull(sub, origin, hull)[0, :]  # H·p, since b = 0
    least, norm = float(xp.min(image)), float((hull @ image)[0])
    if least <= 1e-12 * float(hull_problem.scale(origin, hull)[0]):
        return None, 0.0
    lift = np.zeros(dictionary.n_atoms)
    lift[present] = to_numpy(image) / least
    return like(lift, dictionary.atoms), norm / least**2


def _unconstrained_bound(problem: Problem) -> Bound:
    xp, affine = problem.dictionary.xp, problem.constraint.name == "affine"
    curvature = problem.quadratic.ridge or _smallest_curvature(problem, affine)

    def bound(queries: Array, codes: Any, pull: Array) -> Array:
        if affine:
            pull = pull - xp.mean(pull, axis=1, keepdims=True)
        return _row_dots(pull, pull) / curvature

    return bound


def _smallest_curvature(problem: Problem, affine: bool) -> float:
    matrix = to_numpy(problem.quadratic.matrix(problem.dictionary))
    if affine:
        matrix = matrix - matrix.mean(axis=0)
        matrix = matrix - matrix.mean(axis=1, keepdims=True)
    values = eigvalsh(matrix)
    positive = values[values > len(values) * np.finfo(float).eps * max(values[-1], 0.0)]
    return float(positive[0]) if len(positive) else 1.0


def _absolute_bound(problem: Problem) -> Bound:
    quadratic, dictionary = problem.quadratic, problem.dictionary
    signed = problem.constraint.name == "free"

    def bound(queries: Array, codes: Any, pull: Array) -> Array:
        residual = queries - codes @ dictionary.atoms
        hardest = (np.abs(pull) if signed else pull).max(axis=1)
        shrink = np.minimum(1.0, quadratic.absolute / 2.0 / np.maximum(hardest, np.finfo(float).tiny))
        dual = 2.0 * shrink * _row_dots(residual, queries)
        dual -= shrink**2 * _row_dots(residual, residual)
        return quadratic.objective(dictionary, queries, codes) - dual

    return bound


_BOUNDS = {
    "simplex": _simplex_bound,
    "nonnegative": _orthant_bound,
    "free": _unconstrained_bound,
    "affine": _unconstrained_bound,
    "l1": _absolute_bound,
}
