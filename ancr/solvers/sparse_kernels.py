"""Numba kernels of the interior-point method, of matching pursuit and of relaxed codes; their solvers explain them."""

import numpy as np
from numba import njit

from ancr._core.compiling import cached_njit

_FAST = {"nogil": True, "error_model": "numpy", "fastmath": {"nnan", "reassoc", "contract", "nsz", "arcp"}}
_INNER = {**_FAST, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}

# Growth of the barrier's weight, and the line search's slope and shrinkage: the values of the published method.
_GROWTH, _SLOPE, _SHRINK = 2.0, 0.01, 0.5


@njit(**_INNER)
def _newton_step(atoms, diagonal, right):
    """Solve (2·XᵀX + diag)·step = right through the smaller of n and d; atoms are the rows of Xᵀ."""
    n, d = atoms.shape
    if n <= d:
        system = 2.0 * np.dot(atoms, atoms.T)
        for j in range(n):
            system[j, j] += diagonal[j]
        return np.linalg.solve(system, right)
    # (2AAᵀ + D)⁻¹r = D⁻¹r − D⁻¹A(½I + AᵀD⁻¹A)⁻¹AᵀD⁻¹r
    scaled = atoms / np.sqrt(diagonal).reshape(-1, 1)
    system = np.dot(scaled.T, scaled)
    for k in range(d):
        system[k, k] += 0.5
    inner = np.linalg.solve(system, np.dot(atoms.T, right / diagonal))
    return (right - np.dot(atoms, inner)) / diagonal


@njit(**_INNER)
def _barrier(misfit, weight, bound, code, t):
    """The barrier function's value; infinite outside |c| < u."""
    total = np.dot(misfit, misfit)
    logs = 0.0
    for j in range(code.size):
        above, below = bound[j] - code[j], bound[j] + code[j]
        if above <= 0.0 or below <= 0.0:
            return np.inf
        total += weight * bound[j]
        logs += np.log(above) + np.log(below)
    return total - logs / t


@cached_njit(**_FAST)
def follow_central_path(atoms, queries, weight, wanted, max_iter, codes, n_iter):
    """Codes of all queries; ``n_iter`` is ``max_iter`` if the gap was not reached."""
    n = atoms.shape[0]
    for q in range(queries.shape[0]):
        y, code, bound = queries[q], np.zeros(n), np.ones(n)
        t, step, dual = min(max(1.0, 1.0 / weight), 2.0 * n / 1e-3), np.inf, -np.inf
        n_iter[q] = max_iter
        for iteration in range(max_iter):
            # 1. Duality gap: the residual, scaled until it is feasible, is a dual point.
            misfit = np.dot(atoms.T, code) - y
            slope = 2.0 * np.dot(atoms, misfit)
            shrink = min(1.0, weight / max(np.abs(slope).max(), 1e-300))
            nu = 2.0 * shrink * misfit
            dual = max(dual, -0.25 * np.dot(nu, nu) - np.dot(nu, y))
            gap = np.dot(misfit, misfit) + weight * np.abs(code).sum() - dual
            if gap <= wanted * dual or gap <= 0.0:
                n_iter[q] = iteration
                break
            if step >= 0.5:
                t = max(min(2.0 * n * _GROWTH / gap, _GROWTH * t), t)
            # 2. Newton step; Δu is eliminated.
            q1, q2 = 1.0 / (bound + code), 1.0 / (bound - code)
            d1, d2 = (q1 * q1 + q2 * q2) / t, (q1 * q1 - q2 * q2) / t
            g_code, g_bound = slope - (q1 - q2) / t, weight - (q1 + q2) / t
            by_code = _newton_step(atoms, d1 - d2 * d2 / d1, -g_code + d2 * g_bound / d1)
            by_bound = (-g_bound - d2 * by_code) / d1
            # 3. Backtracking line search inside the barrier.
            value, fall = _barrier(misfit, weight, bound, code, t), np.dot(g_code, by_code) + np.dot(g_bound, by_bound)
            ahead = np.dot(atoms.T, by_code)
            step = 1.0
            for _ in range(100):
                trial = _barrier(misfit + step * ahead, weight, bound + step * by_bound, code + step * by_code, t)
                if trial - value <= _SLOPE * step * fall:
                    break
                step *= _SHRINK
            code, bound = code + step * by_code, bound + step * by_bound
        codes[q] = code


@cached_njit(**_FAST)
def add_matching_pursuit(gram, linear, weights, n_nonzero, rounding, codes):
    """Add to each row of ``codes`` the query's code by orthogonal matching pursuit.

    With L the factor of the picked atoms' Gram block, the correlation of the residual with all atoms falls by
    u_t·w_t at pick t, where u = L⁻¹b and w_t is the new atom's Gram row made orthogonal to the rows before it. The pick
    is the atom whose correlation times its weight is largest.
    """
    n = gram.shape[0]
    ortho = np.empty((n_nonzero, n))
    factor, ahead = np.zeros((n_nonzero, n_nonzero)), np.empty(n_nonzero)
    picked, pull = np.empty(n_nonzero, np.int64), np.empty(n)
    for row in range(linear.shape[0]):
        for j in range(n):
            pull[j] = linear[row, j]
        count, first = 0, 0.0
        while count < n_nonzero:
            best, hardest = 0, -1.0
            for j in range(n):
                if weights[j] * abs(pull[j]) > hardest:
                    best, hardest = j, weights[j] * abs(pull[j])
            new = ortho[count]
            for j in range(n):
                new[j] = gram[best, j]
            for i in range(count):
                weight = ortho[i, best]
                factor[count, i] = weight
                old = ortho[i]
                for j in range(n):
                    new[j] -= weight * old[j]
            first = abs(pull[best]) if count == 0 else first
            if abs(pull[best]) <= rounding * first or new[best] <= rounding * gram[best, best]:
                break  # nothing left to explain, or nothing new to explain it with
            pivot = np.sqrt(new[best])
            for j in range(n):
                new[j] /= pivot
            factor[count, count], ahead[count], picked[count] = pivot, pull[best] / pivot, best
            for j in range(n):
                pull[j] -= ahead[count] * new[j]
            pull[best] = 0.0
            count += 1
        for i in range(count - 1, -1, -1):
            ahead[i] /= factor[i, i]
            for k in range(i):
                ahead[k] -= ahead[i] * factor[i, k]
            codes[row, picked[i]] += ahead[i]


@cached_njit(**_FAST)
def subtract_image(indptr, indices, values, matrix, linear, rank_one, divisor, out):
    """``out[row] = ((1 − τ·bᵀz)·b − Hz) / divisor`` for each CSR row z, four rows of the matrix at a time."""
    n, scale = matrix.shape[1], out.dtype.type(1.0 / divisor)
    for row in range(out.shape[0]):
        total, b, i, last = out[row], linear[row], indptr[row], indptr[row + 1]
        level = 0.0
        for k in range(i, last):
            level += values[k] * b[indices[k]]
        level = scale * out.dtype.type(1.0 - rank_one[row] * level)
        for j in range(n):
            total[j] = level * b[j]
        while i + 3 < last:
            v0, v1, v2, v3 = scale * values[i], scale * values[i + 1], scale * values[i + 2], scale * values[i + 3]
            r0, r1, r2, r3 = matrix[indices[i]], matrix[indices[i + 1]], matrix[indices[i + 2]], matrix[indices[i + 3]]
            for j in range(n):
                total[j] -= v0 * r0[j] + v1 * r1[j] + v2 * r2[j] + v3 * r3[j]
            i += 4
        while i < last:
            value, only = scale * values[i], matrix[indices[i]]
            for j in range(n):
                total[j] -= value * only[j]
            i += 1
