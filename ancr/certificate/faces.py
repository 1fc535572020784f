"""Bounds and better codes for one query of the orthant, from the atoms that matter to it.

These atoms are *tight*: those that a code uses and those whose pull is close to zero. They span a face of the cone.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigvalsh, svdvals

from ancr._core.arrays import Array, dense, to_numpy
from ancr._core.psd import about_mean
from ancr.certificate.hessian import EPS, Hessian
from ancr.certificate.rounding import BoundContext

# The most atoms of a support that is solved again for a bound.
_MOST_USED = 1000
# An atom is at its cap if no more than this share of it is missing: codes in single precision have seven digits.
_AT_CAP = 1e-6
# The most times that atoms leave such a support.
_MOST_ROUNDS = 10


def face_bound(context: BoundContext, tight: np.ndarray) -> float:
    """Bound on the gap of one query of the orthant whose code uses tight atoms only; infinite if it proves nothing.

    With r the residual and P the projection on the span of the tight atoms, r″ = r − Pr pulls at none of them. If
    it pulls at no other atom either, it is a dual point, and f(c) − f* ≤ ‖Pr‖², less than ‖p‖²/σ over these atoms.
    """
    hessian, prices, code = context.hessian, context.quadratic.prices, to_numpy(dense(context.codes))[0]
    lengths, rounding = to_numpy(hessian.atom_lengths), float(context.rounding[0])
    others = np.setdiff1d(np.arange(len(code)), tight)
    pull = (to_numpy(context.pull)[0] + prices * code)[tight] / lengths[tight]  # without the ridge
    least = _least_of_units(hessian, tight)
    if not least:
        return np.inf
    projected = (np.linalg.norm(pull) + np.sqrt(len(tight)) * rounding) / np.sqrt(least)
    pulled = (to_numpy(context.raised_pull)[0] + prices * code)[others]
    if (np.abs(code[others]) > 0.0).any() or (pulled + lengths[others] * projected > 0.0).any():
        return np.inf
    return float(projected**2 + np.sum(prices * code**2))


def _least_of_units(hessian: Hessian, atoms: np.ndarray) -> float:
    """The smallest positive eigenvalue of H over some atoms, each at unit length; 0 if rounding may hide one."""
    lengths = to_numpy(hessian.atom_lengths)[atoms]
    if hessian.dictionary.has_coordinates:
        rows = hessian.stacked[atoms] / lengths[:, None]
        values, rounding = svdvals(rows) ** 2, 16.0 * EPS**2 * rows.shape[1]
    else:
        values, rounding = eigvalsh(hessian.unit_rows(atoms)[:, atoms] / lengths), EPS
        if not values[0] > len(values) * rounding * values[-1]:
            return 0.0
    return float(values[values > len(values) * rounding * values.max()].min())


def step_on_support(context: BoundContext) -> Array | None:
    """A step to better codes for one query, over the atoms in use and those that surely pull harder; None if none.

    On Σc = 1 the sum of a step is zero. Atoms that would turn negative leave, those that would exceed a cap stop there,
    and the others make up for them; atoms at the cap move if they surely pull less.
    """
    code, lengths = to_numpy(dense(context.codes))[0], to_numpy(context.hessian.atom_lengths)
    pull, slack, plane = to_numpy(context.pull)[0], to_numpy(context.slack)[0], context.problem.constraint.sums_to_one
    cap = context.problem.constraint.highest
    at_cap = code >= cap * (1.0 - _AT_CAP)
    between = np.where(at_cap, 0.0, code)
    level = (pull @ between / between.sum() if between.any() else pull[at_cap].min(initial=np.inf)) if plane else 0.0
    moves = np.where(at_cap, pull + slack < level, (code > 0.0) | (pull - slack > level))
    used = np.flatnonzero(moves & (lengths > 0.0))
    if not 0 < len(used) <= _MOST_USED:
        return None
    own, step = np.ones(len(used)) if plane else lengths[used], np.zeros_like(code)
    code, pull, most = code[used] * own, pull[used] / own, cap * own
    matrix = context.hessian.unit_rows(used)[:, used] * (lengths[used, None] / own[:, None]) / own
    change, kept = np.zeros(len(used)), np.ones(len(used), bool)
    for _ in range(_MOST_ROUNDS):
        left, system = pull[kept] - matrix[np.ix_(kept, ~kept)] @ change[~kept], matrix[np.ix_(kept, kept)]
        if plane:  # what the others leave is shared out first
            even = np.full(len(left), -change[~kept].sum() / len(left))
            left, system = left - system @ even, about_mean(about_mean(system).T)
            found = np.linalg.lstsq(system, left - left.mean(), rcond=1e-14)[0]
            change[kept] = even + found - found.mean()
        else:
            change[kept] = np.linalg.lstsq(system, left, rcond=1e-14)[0]
        inside = np.clip(code + change, 0.0, most)
        outside = kept & (inside != code + change)
        if not outside.any():
            step[used] = change / own
            return context.dictionary.like(step[None, :])
        change[outside] = (inside - code)[outside]
        kept &= ~outside
        if not kept.any():
            break
    return None


def newton_step(context: BoundContext) -> Array:
    """The step to the minimiser for one query of the relaxed orthant, if the entries that are negative stay so.

    There the objective is ‖y − Xc‖² + λ‖c‖² + γ/2·Σc_j² over those entries.
    """
    code = to_numpy(context.codes)
    price = np.where(code[0] < 0.0, context.price, 0.0)
    matrix = context.hessian.times(np.eye(code.shape[1])) + np.diag(price)
    step = np.linalg.lstsq(matrix, (to_numpy(context.pull) - price * code)[0], rcond=1e-15)[0]
    return context.dictionary.like(step[None, :])
