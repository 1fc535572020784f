"""Numba kernels of `pivoting`: one query at a time, on the inverse of H over the atoms in use."""

from collections import namedtuple

import numpy as np
from numba import njit

from ancr._core.compiling import cached_njit
from ancr.solvers.working_set.host_kernels import _FAST, _INNER, DEPENDENT, FINISHED, UNFINISHED, _allowance

# Exchanges for each atom after which a query is left to the other kernels, and steps of refinement.
_PATIENCE, _STEPS = 4, 3
# What exchanges atoms is inlined: where the compiler sees that arrays are apart it vectorises twice as well.
_INLINED = {**_INNER, "inline": "always"}

# A query with the atoms S in use, in the order ``atoms[:size]``; atom j is at ``place[j]``, −1 if not used.
# ``inverse`` is H_SS⁻¹ in that order, zero beyond it. Other vectors have an entry for each atom: ``of_linear`` is
# H_SS⁻¹b at those in use and b − Hu, their pull, at the others, ``of_ones`` the same of a vector of ones. ``curvature``
# is the diagonal of the inverse, or of H without what the atoms in use explain. ``limit`` is how far an atom may be on
# the wrong side, infinite for atoms that the query may not use; vectors are padded with atoms of that kind.
State = namedtuple("State", "inverse atoms place of_ones limit linear pull some column")


@njit(**_INNER)
def _count_negative(right, ones, shift, sums_to_one):
    """How many entries of the code over all atoms, H⁻¹b + ν·H⁻¹1, are negative."""
    nu, total, count = 1.0, 0.0, 0
    for i in range(right.size):
        nu -= right[i]
        total += ones[i]
    nu = nu / total if sums_to_one else -shift
    for i in range(right.size):
        count += right[i] + nu * ones[i] < 0.0
    return count


@njit(**_INNER)
def _first(hessian, linear, shift, sums_to_one):
    """The atom that alone fits best; −1 on the orthant if none lowers the objective."""
    first, best = -1, -np.inf
    for i in range(linear.size):
        b = linear[i] - (0.0 if sums_to_one else shift)
        nearness = b - 0.5 * hessian[i, i] if sums_to_one else b / np.sqrt(max(hessian[i, i], 1e-300))
        if nearness > best and (sums_to_one or b > 0.0):
            first, best = i, nearness
    return first


@njit(**_INNER)
def _load(linear, usable, limit):
    """b with zeros for atoms that the query may not use, and how far each may be on the wrong side; return max |b|."""
    largest = 0.0
    for j in range(linear.size):
        is_usable = linear[j] > -np.inf
        usable[j], limit[j] = linear[j] if is_usable else 0.0, 0.0 if is_usable else np.inf
        largest = max(largest, abs(usable[j]))
    for j in range(limit.size):
        limit[j] = max(limit[j] if j < linear.size else np.inf, 1e-12 * largest)
    return largest


@njit(**_INLINED)
def _exchange(
    hessian, inverse, atoms, place, of_linear, of_ones, curvature, pull, some, column, size, pivot, dependent
):
    """Put an atom into the support, or take it out; return the new size, −1 if it depends on those in use.

    ``pull`` receives the column of the exchange over all atoms, ``some`` that over the atoms in use.
    """
    width, own, joins = pull.size, place[pivot], place[pivot] < 0
    if joins:
        for i in range(size):
            column[i] = hessian[pivot, atoms[i]]
        for i in range(size, width):
            column[i] = 0.0
        for i in range(size):
            total, row = 0.0, inverse[i]
            for k in range(width):
                total += row[k] * column[k]
            some[i] = total
        for j in range(width):
            pull[j] = hessian[pivot, j]
    else:
        for j in range(width):
            some[j], pull[j] = inverse[own, j], 0.0
    for i in range(size):
        times, row = some[i], hessian[atoms[i]]
        for j in range(width):
            pull[j] -= times * row[j]
    curved = pull[pivot] if joins else some[own]
    after = size
    if joins and not curved > dependent * hessian[pivot, pivot]:
        after = -1
    else:
        for i in range(size):
            pull[atoms[i]] = some[i]
        pull[pivot] = 0.0
        per = 1.0 / curved
        u, v, change = per * of_linear[pivot], per * of_ones[pivot], per if joins else -per
        for j in range(width):
            entry = pull[j]
            of_linear[j] -= entry * u
            of_ones[j] -= entry * v
            square = change * entry * entry
            curvature[j] += square if place[j] >= 0 else -square
        of_linear[pivot], of_ones[pivot], curvature[pivot] = u, v, per
        if joins:
            some[size] = -1.0
            for i in range(size + 1, width):
                some[i] = 0.0
            atoms[size], place[pivot], after = pivot, size, size + 1
        for i in range(after):
            times, row = change * some[i], inverse[i]
            for k in range(width):
                row[k] += times * some[k]
        if not joins:  # the last atom moves to the place that is free
            after, atoms[own] = size - 1, atoms[size - 1]
            place[atoms[own]], place[pivot] = own, -1
            for i in range(size):
                inverse[own, i] = inverse[after, i]
            for i in range(size):
                inverse[i, own] = inverse[i, after]
            for i in range(size):
                inverse[after, i] = inverse[i, after] = 0.0
    return after


@njit(**_INLINED)
def _judge(of_linear, of_ones, curvature, place, limit, gain, nu):
    """The atom to exchange, −1 at the optimum.

    With the multiplier ν of Σc = 1, or −shift, u + νv is the code of an atom in use and the excess of any other. The
    atom whose exchange changes the objective most is chosen.
    """
    best, pivot = 0.0, -1
    for j in range(gain.size):
        value = of_linear[j] + nu * of_ones[j]
        wrong = -value if place[j] >= 0 else value
        gain[j] = (wrong * wrong if wrong > limit[j] else 0.0) / curvature[j]
    for j in range(gain.size):  # by itself: otherwise the compiler vectorises neither
        best = max(best, gain[j])
    if best > 0.0:
        pivot = 0
        while gain[pivot] < best:
            pivot += 1
    return pivot


@njit(**_INLINED)
def _multiplier(of_linear, of_ones, atoms, size, shift, sums_to_one):
    """ν: the multiplier of Σc = 1, or −shift."""
    nu, total = 1.0, 0.0
    for i in range(size):
        nu -= of_linear[atoms[i]]
        total += of_ones[atoms[i]]
    return nu / total if sums_to_one and size > 0 else -shift


@njit(**_INNER)
def _settle(program, hessian, state, work, size, square, largest):
    """Refine the code in ``work``; return whether it is shown to be optimal, by pulls in double precision.

    As `host_kernels` does with the code of a factor, and to the same allowance.
    """
    moved, excess, value = 1.0, -np.inf, 0.0
    for _ in range(_STEPS):
        missing, level, value, excess = 1.0, 0.0, 0.0, -np.inf
        for j in range(state.pull.size):
            state.pull[j] = state.linear[j]
        for i in range(size):
            state.some[i] = work.code[i]
        for i in range(size):
            times, row = state.some[i], hessian[state.atoms[i]]
            for j in range(state.pull.size):
                state.pull[j] -= times * row[j]
        for i in range(size):
            code, atom = work.code[i], state.atoms[i]
            missing -= code
            level += code * state.pull[atom]
            value += code * (2.0 * program.shift - state.pull[atom] - state.linear[atom])
        level = level / (1.0 - missing) if program.sums_to_one else program.shift
        for i in range(state.pull.size):
            state.column[i] = state.pull[state.atoms[i]] - level if i < size else 0.0
        step, ones, change, top, least = 0.0, 0.0, missing, 1e-300, 0.0
        for i in range(size):
            total, row = 0.0, state.inverse[i]
            for k in range(state.column.size):
                total += row[k] * state.column[k]
            state.some[i], change, ones = total, change - total, ones + state.of_ones[state.atoms[i]]
        change = change / ones if program.sums_to_one else 0.0
        for j in range(state.pull.size):
            if state.place[j] < 0 and state.limit[j] < np.inf:
                excess = max(excess, state.pull[j] - level)
        for i in range(size):
            move = state.some[i] + change * state.of_ones[state.atoms[i]]
            work.code[i] += move
            step, top, least = max(step, abs(move)), max(top, work.code[i]), min(least, work.code[i])
        moved = step / top
        if moved < 1e-9 or moved > 1e-3 or least < 0.0:
            break  # the next step would shrink by as much again; or rounding, amplified by nearly dependent atoms
    allowed, doubtful = _allowance(program, largest, work, size, square, value, 1)
    return moved < 1e-9 and least >= 0.0 and excess <= allowed and not doubtful


@njit(**_INNER)
def _store_positive(work, state, support, code):
    """Write the code in the order of the atoms; return its size."""
    kept = 0
    for j in range(min(state.place.size, support.size)):
        place = state.place[j]
        if place >= 0 and work.code[place] > 0.0:
            support[kept], code[kept], kept = j, work.code[place], kept + 1
    return kept


@cached_njit(**_FAST)
def pivot_all(program, hessian, inverses, whole, linear, squares, todo, work, codes):
    """Pivot each query without a support to the end: from all atoms where most of them stay, from one otherwise."""
    (support, code, found), width, n = codes, hessian.shape[0], linear.shape[1]
    shift, sums_to_one, dependent = program.shift, program.sums_to_one, program.numbers[DEPENDENT]
    inverse, atoms, place = np.zeros((width, width)), np.zeros(width, np.int64), np.empty(width, np.int64)
    of_linear, of_ones, curvature, limit = np.empty(width), np.empty(width), np.empty(width), np.empty(width)
    usable, pull, some, column, gain = (
        np.zeros(width),
        np.empty(width),
        np.zeros(width),
        np.empty(width),
        np.empty(width),
    )
    ones, state = inverses.sum(axis=1), State(inverse, atoms, place, of_ones, limit, usable, pull, some, column)
    for q in todo:
        found[q, 1] = UNFINISHED
        if found[q, 0] > 0:
            continue
        size, steps, largest, pivot, nu = 0, 0, _load(linear[q], usable, limit), -1, -shift
        for j in range(width):
            of_linear[j], of_ones[j], place[j], curvature[j] = usable[j], 1.0, -1, hessian[j, j]
        if whole.shape[0] > 0 and 3 * _count_negative(whole[q], ones, shift, sums_to_one) <= n:
            size = n
            for i in range(n):
                atoms[i] = place[i] = i
                of_linear[i], of_ones[i], curvature[i] = whole[q, i], ones[i], inverses[i, i]
                for j in range(n):
                    inverse[i, j] = inverses[i, j]
            nu = _multiplier(of_linear, of_ones, atoms, size, shift, sums_to_one)
            pivot = _judge(of_linear, of_ones, curvature, place, limit, gain, nu)
        else:
            pivot = _first(hessian, linear[q], shift, sums_to_one)
        while pivot >= 0 and steps < _PATIENCE * n:
            after = _exchange(
                hessian,
                inverse,
                atoms,
                place,
                of_linear,
                of_ones,
                curvature,
                pull,
                some,
                column,
                size,
                pivot,
                dependent,
            )
            if after < 0:
                break
            size, steps = after, steps + 1
            nu = _multiplier(of_linear, of_ones, atoms, size, shift, sums_to_one)
            pivot = _judge(of_linear, of_ones, curvature, place, limit, gain, nu)
        if pivot < 0 and size > 0:
            for i in range(size):
                work.support[i] = atoms[i]
                work.code[i] = max(of_linear[atoms[i]] + nu * of_ones[atoms[i]], 0.0)
            if _settle(program, hessian, state, work, size, squares[q], largest):
                found[q, 1], found[q, 2] = FINISHED, 1.0
            found[q, 0] = _store_positive(work, state, support[q], code[q])
        for i in range(size):
            for k in range(width):
                inverse[i, k] = 0.0
