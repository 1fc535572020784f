"""Numba kernels of `pivoting`: one query at a time, on the system of all atoms."""

import numpy as np
from numba import njit

from ancr._core.compiling import cached_njit
from ancr.solvers.working_set.host_kernels import _FAST, _INNER

# Updates for each atom after which a query is left to the other kernels.
_PATIENCE = 4
# What works on the tableau is inlined: where the compiler sees that arrays are apart it vectorises twice as well.
_INLINED = {**_INNER, "inline": "always"}


@njit(**_INLINED)
def _fill(tableau, used, system, right, whole):
    """The tableau of no atoms, from H and b, or that of all, from H⁻¹ and H⁻¹b."""
    n = right.size
    for i in range(n):
        one = 0.0
        for j in range(n):
            tableau[i, j] = system[i, j]
            one += system[i, j]
        tableau[i, n], tableau[i, n + 1], used[i] = right[i], one if whole else 1.0, whole


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
def _largest(linear):
    """max |b| over the atoms that may be used."""
    largest = 0.0
    for b in linear:
        if b > -np.inf:
            largest = max(largest, abs(b))
    return largest


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


@njit(**_INLINED)
def _exchange(tableau, used, row, column, pivot):
    """Put an atom into the support, or take it out: a rank-one update, four rows at a time."""
    n, own = used.size, tableau[pivot, pivot]
    for j in range(n + 2):
        row[j] = tableau[pivot, j] / own
    row[pivot] = 1.0 / own
    for i in range(n):
        column[i], tableau[i, pivot] = tableau[i, pivot], 0.0
    column[pivot] = 0.0
    for i in range(0, n, 4):
        f0, f1, f2, f3 = column[i], column[i + 1], column[i + 2], column[i + 3]
        for j in range(n + 2):
            r = row[j]
            tableau[i, j] -= f0 * r
            tableau[i + 1, j] -= f1 * r
            tableau[i + 2, j] -= f2 * r
            tableau[i + 3, j] -= f3 * r
    for j in range(n + 2):
        tableau[pivot, j] = row[j]
    used[pivot] = not used[pivot]


@njit(**_INLINED)
def _judge(tableau, used, values, shift, sums_to_one, least):
    """Codes and excesses; return the atom to exchange, −1 at the optimum.

    With the multiplier ν of Σc = 1, or −shift, x = u + νv is the code of an atom in use and the excess of any other.
    The atom whose exchange changes the objective most is chosen.
    """
    n, nu, total = used.size, 0.0, 0.0
    for i in range(n):
        if used[i]:
            nu += tableau[i, n]
            total += tableau[i, n + 1]
    nu = (1.0 - nu) / total if sums_to_one else -shift
    pivot, best = -1, 0.0
    for i in range(n):
        x = tableau[i, n] + nu * tableau[i, n + 1]
        values[i] = x
        if x < 0.0 if used[i] else x > least:
            gain = x * x / abs(tableau[i, i])
            if gain > best:
                pivot, best = i, gain
    return pivot


@cached_njit(**_FAST)
def pivot_all(hessian, inverse, whole, linear, shift, sums_to_one, dependent, support, code, found):
    """Pivot each query to the end.

    The tableau has the rows of H with b and 1 beside them. Once the atoms S have been exchanged, its last two columns
    hold u = H_SS⁻¹b and v = H_SS⁻¹1 in the rows of S, and b − Hu and 1 − Hv in the others. It starts with all
    atoms where most of them stay, and with one otherwise.
    """
    n = hessian.shape[0]
    tableau, used = np.zeros((n + 3, n + 2)), np.empty(n, np.bool_)  # rows for four at a time
    row, column, values, ones = np.empty(n + 2), np.zeros(n + 3), np.empty(n), inverse.sum(axis=1)
    for q in range(linear.shape[0]):
        if found[q, 0] > 0:
            continue
        steps, least = 0, 1e-12 * _largest(linear[q])
        if whole.shape[0] > 0 and 3 * _count_negative(whole[q], ones, shift, sums_to_one) <= n:
            _fill(tableau, used, inverse, whole[q], True)
            pivot = _judge(tableau, used, values, shift, sums_to_one, least)
        else:
            _fill(tableau, used, hessian, linear[q], False)
            pivot = _first(hessian, linear[q], shift, sums_to_one)
        while pivot >= 0 and steps < _PATIENCE * n:
            if not used[pivot] and not tableau[pivot, pivot] > dependent * hessian[pivot, pivot]:
                break
            _exchange(tableau, used, row, column, pivot)
            steps += 1
            pivot = _judge(tableau, used, values, shift, sums_to_one, least)
        size = 0
        for i in range(n):
            if pivot < 0 and used[i] and values[i] > 0.0:
                support[q, size], code[q, size], size = i, values[i], size + 1
        found[q, 0] = size
