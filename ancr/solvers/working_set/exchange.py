r"""The exchange of the lock-step solver: the minimiser on each working set, without the atoms that turn negative.

The minimiser t is found as an increment on the current code,

    H_AA (t − c)_A = p_A + H_AD c_D + ν1,      Σt = 1 on the simplex, ν = 0 on the orthant,

with A the part of the working set still allowed and D the part dropped.
"""

from __future__ import annotations

import numpy as np

from ancr._core.arrays import Array, like, namespace, row_dots, take_rows, to_numpy
from ancr._core.small_systems import solve_kept
from ancr.solvers.working_set.batches import Batch, reorder
from ancr.solvers.working_set.thresholds import DEPENDENT


def exchange(blocks: Array, batch: Batch, allowed: Array, pull: Array, sums_to_one: bool) -> tuple[Array, Array]:
    """Minimise on the working sets, dropping atoms that turn negative; return the codes and which improved."""
    xp, code, parts = namespace(blocks), batch.code, []
    todo, now = np.arange(batch.size), [blocks, code, allowed, pull]
    while len(todo):
        target, left = _minimise(sums_to_one, *now)
        settled = to_numpy(xp.all(left == now[2], axis=1))
        done, others = np.flatnonzero(settled), np.flatnonzero(~settled)
        parts.append((todo[done], take_rows(target, done)))
        todo, now = todo[others], [take_rows(array, others) for array in (now[0], now[1], left, now[3])]
    target = reorder(parts)
    better = _change(blocks, target - code, pull) < 0.0
    better = better | like(batch.count == 0, code) if sums_to_one else better
    fine = to_numpy(better)
    if fine.all():
        return target, better
    worse, fine = np.flatnonzero(~fine), np.flatnonzero(fine)
    some = [take_rows(array, worse) for array in (blocks, code, allowed, pull)]
    stepped, fell = _active_set_step(sums_to_one, *some)
    target = reorder([(fine, take_rows(target, fine)), (worse, stepped)])
    return target, reorder([(fine, take_rows(better, fine)), (worse, fell)])


def _minimise(sums_to_one: bool, blocks: Array, code: Array, allowed: Array, pull: Array) -> tuple[Array, Array]:
    """The minimiser on the allowed atoms, without sign constraints, and those on which it is positive."""
    xp = namespace(blocks)
    dropped = xp.where(allowed, xp.zeros_like(code), code)
    right = pull + (blocks @ dropped[:, :, None])[:, :, 0]
    solution, kept = solve_kept(blocks, allowed, xp.stack([right, xp.ones_like(right)], axis=2), DEPENDENT)
    target = xp.where(kept, code + solution[:, :, 0], xp.zeros_like(code))
    if sums_to_one:
        ones = solution[:, :, 1]
        total = xp.sum(ones, axis=1)
        nu = (1.0 - xp.sum(target, axis=1)) / xp.where(total > 0.0, total, xp.ones_like(total))
        target = target + nu[:, None] * ones
    return target, kept & (target > 0.0)


def _change(blocks: Array, step: Array, pull: Array) -> Array:
    """How much a step changes the objective: stepᵀH·step − 2pᵀstep."""
    return row_dots((blocks @ step[:, :, None])[:, :, 0] - 2.0 * pull, step)


def _active_set_step(sums_to_one: bool, blocks: Array, code: Array, allowed: Array, pull: Array) -> tuple[Array, Array]:
    """Admit the one atom that pulls hardest and move to the minimiser, stopping at each bound on the way.

    The textbook active-set step: the objective never rises.
    """
    xp = namespace(blocks)
    fresh = allowed & (code <= 0.0)
    hardest = xp.where(fresh, pull, xp.full_like(pull, -xp.inf))
    first = fresh & (hardest >= xp.max(hardest, axis=1, keepdims=True))
    allowed, now = (code > 0.0) | first, code
    for _ in range(code.shape[1] + 1):
        here = pull - (blocks @ (now - code)[:, :, None])[:, :, 0]
        target, keeps = _minimise(sums_to_one, blocks, now, allowed, here)
        blocked = allowed & ~keeps
        share = xp.where(blocked, now / xp.where(now > target, now - target, xp.ones_like(now)), xp.ones_like(now))
        step = xp.min(share, axis=1, keepdims=True)
        now = now + step * xp.where(allowed, target - now, xp.zeros_like(now))
        gone = blocked & (share <= step)
        now = xp.where(gone, xp.zeros_like(now), xp.clip(now, 0.0, None))
        allowed = allowed & ~gone
        if not bool(xp.any(blocked)):
            break
    return now, _change(blocks, now - code, pull) < 0.0
