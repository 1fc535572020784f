"""Bounds and better codes for one query of the orthant, from the atoms that matter to it.

These atoms are *tight*: those that a code uses and those whose pull is close to zero. They span a face of the cone.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigvalsh, svdvals

from ancr._core.arrays import Array, dense, to_numpy
from ancr.certificate.hessian import EPS, Hessian
from ancr.certificate.rounding import BoundContext

# The most atoms of a support that is solved again for a bound.
_MOST_USED = 1000


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
    """A step to better codes for one query of the orthant, over the atoms in use; None if one would turn negative."""
    code, lengths = to_numpy(dense(context.codes))[0], to_numpy(context.hessian.atom_lengths)
    used = np.flatnonzero((code > 0.0) & (lengths > 0.0))
    if not 0 < len(used) <= _MOST_USED:
        return None
    own, step = lengths[used], np.zeros_like(code)
    matrix = context.hessian.unit_rows(used)[:, used] / own
    step[used] = np.linalg.lstsq(matrix, to_numpy(context.pull)[0, used] / own, rcond=1e-14)[0] / own
    return None if (code + step < 0.0).any() else context.dictionary.like(step[None, :])


def newton_step(context: BoundContext) -> Array:
    """The step to the minimiser for one query of the relaxed orthant, if the entries that are negative stay so.

    There the objective is ‖y − Xc‖² + λ‖c‖² + γ/2·Σc_j² over those entries.
    """
    code = to_numpy(context.codes)
    price = np.where(code[0] < 0.0, context.price, 0.0)
    matrix = context.hessian.times(np.eye(code.shape[1])) + np.diag(price)
    step = np.linalg.lstsq(matrix, (to_numpy(context.pull) - price * code)[0], rcond=1e-15)[0]
    return context.dictionary.like(step[None, :])
