"""Numba leaves of the sets, of ADMM, of the rules and of matching pursuit. Imported only where they are run."""

import numpy as np
from numba import njit
from numba.core.options import DefaultOptions

# Sums may be reordered (that is what vectorises them) and input is known to hold no NaN; infinity keeps its meaning.
_FAST = {"nnan", "reassoc", "contract", "nsz", "arcp"}
# For what neither makes nor keeps an array: no reference counts. Numba has no public name for it.
BORROWING = {"_nrt": False} if hasattr(DefaultOptions, "_nrt") else {}
_LEAF = {"cache": True, "nogil": True, "fastmath": _FAST, "error_model": "numpy"}


@njit(**_LEAF)
def simplex_threshold(point, radius, kept):
    """θ such that Σ max(point − θ, 0) = radius, by Newton's iteration from below.

    Each step averages the entries above the current threshold. They only become fewer, so the iteration is
    finite; they are moved to the front of the scratch array ``kept``, so a step costs what is left. Sums are
    taken relative to the largest entry, which keeps them accurate however far from zero the point lies.
    """
    largest = point[0]
    total = 0.0
    for value in point:
        largest = max(largest, value)
        total += value
    # Both are lower bounds of θ: no entry of the projection exceeds the radius.
    threshold = max((total - radius) / point.size, largest - radius)
    count = 0
    for value in point:
        kept[count] = value  # branchless: written always, counted only when above
        count += value > threshold
    while count > 0:
        total = 0.0
        for i in range(count):
            total += kept[i] - largest
        threshold = largest + (total - radius) / count
        above = 0
        for i in range(count):
            value = kept[i]
            kept[above] = value
            above += value > threshold
        if above == count:
            break
        count = above
    return threshold


@njit(**_LEAF)
def project_simplex_rows(points, radius, out):
    """Project every row of ``points`` on the simplex of the given radius."""
    kept = np.empty(points.shape[1], points.dtype)
    for row in range(points.shape[0]):
        threshold = simplex_threshold(points[row], radius, kept)
        total = 0.0
        for j in range(points.shape[1]):
            value = max(points[row, j] - threshold, 0.0)
            out[row, j] = value
            total += value
        if total == 0.0:  # the radius is below the precision of the entries: all of it goes to the largest
            out[row, np.argmax(points[row])] = total = radius
        # One relative correction takes the sum from n roundings to one; it moves no zero.
        scale = radius / total
        for j in range(points.shape[1]):
            out[row, j] *= scale


@njit(**_LEAF)
def admm_step(on_simplex, rho, diagonal, fresh, codes, shifted, threshold, change):
    """End of a c-step, then the z- and δ-steps of Algorithm 1; `ancr.solvers.admm` derives them.

    Reads ``fresh``, which lacks diagonal·ρ(z − s/2) to be the new c. Leaves the new c in ``codes``, the new
    s = c − δ/ρ in ``shifted``, the projection's threshold in ``threshold`` and
    max(‖z−c‖, ‖z−z_prev‖, ‖c−c_prev‖) in ``change``.
    """
    n = fresh.shape[1]
    z_previous = np.empty(n, fresh.dtype)
    kept = np.empty(n, fresh.dtype)
    for row in range(fresh.shape[0]):
        c_moved = 0.0
        for j in range(n):
            s = shifted[row, j]
            z = max(s - threshold[row], 0.0)
            c = fresh[row, j] + diagonal * rho * (z - 0.5 * s)
            c_moved += (c - codes[row, j]) ** 2
            z_previous[j] = z
            codes[row, j] = c
            shifted[row, j] = c + s - z
        threshold[row] = simplex_threshold(shifted[row], 1.0, kept) if on_simplex else 0.0
        z_moved = 0.0
        apart = 0.0
        for j in range(n):
            z = max(shifted[row, j] - threshold[row], 0.0)
            z_moved += (z - z_previous[j]) ** 2
            apart += (z - codes[row, j]) ** 2
        change[row] = np.sqrt(max(c_moved, z_moved, apart))


@njit(**_LEAF)
def sparse_image(shifted, threshold, atoms, out):
    """``out[row] = Σ_j z_j·atoms[j]`` for z = max(shifted − threshold, 0), skipping the zeros of z."""
    n, d = atoms.shape
    support = np.empty(n + 3, np.int64)
    weight = np.empty(n + 3, atoms.dtype)
    for row in range(shifted.shape[0]):
        count = 0
        for j in range(n):
            support[count] = j
            weight[count] = shifted[row, j] - threshold[row]
            count += shifted[row, j] > threshold[row]
        support[count : count + 3] = 0
        weight[count : count + 3] = 0.0
        image = out[row]
        image[:] = 0.0
        for i in range(0, count, 4):  # four atoms a pass: a quarter of the loads and stores of the image
            w0, w1, w2, w3 = weight[i], weight[i + 1], weight[i + 2], weight[i + 3]
            a0, a1 = atoms[support[i]], atoms[support[i + 1]]
            a2, a3 = atoms[support[i + 2]], atoms[support[i + 3]]
            for k in range(d):
                image[k] += w0 * a0[k] + w1 * a1[k] + w2 * a2[k] + w3 * a3[k]


@njit(**_LEAF)
def subtract_image(indptr, indices, values, matrix, linear, tilt, divisor, out):
    """``out[row] = ((1 − τ·bᵀz)·b − Hz) / divisor`` of every CSR row z, four rows of the matrix at a time."""
    n, scale = matrix.shape[1], out.dtype.type(1.0 / divisor)
    for row in range(out.shape[0]):
        total, b, i, last = out[row], linear[row], indptr[row], indptr[row + 1]
        level = 0.0
        for k in range(i, last):
            level += values[k] * b[indices[k]]
        level = scale * out.dtype.type(1.0 - tilt[row] * level)
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


@njit(**_LEAF)
def class_quadratics(codes, linear, gram_blocks, starts, bounds, cross, square):
    """``cross[:, i] = linear_iᵀc_i`` and ``square[:, i] = c_iᵀ(X_iᵀX_i)c_i`` of every class i."""
    for row in range(codes.shape[0]):
        for k in range(bounds.size - 1):
            first, size = bounds[k], bounds[k + 1] - bounds[k]
            lean = 0.0
            form = 0.0
            for i in range(size):
                c = codes[row, first + i]
                lean += linear[row, first + i] * c
                inner = 0.0
                for j in range(size):
                    inner += gram_blocks[starts[k] + i * size + j] * codes[row, first + j]
                form += c * inner
            cross[row, k] = lean
            square[row, k] = form


@njit(**_LEAF)
def sparse_class_squares(indptr, indices, values, targets, atoms, labels, squares, norms):
    """``squares[:, i] = ‖t − X_i c_i‖²`` and ``norms[:, i] = ‖c_i‖²`` from CSR codes with sorted indices."""
    misfit = np.empty(targets.shape[1])
    for row in range(targets.shape[0]):
        base = 0.0
        for k in range(targets.shape[1]):
            base += float(targets[row, k]) ** 2
        squares[row] = base
        norms[row] = 0.0
        i = indptr[row]
        while i < indptr[row + 1]:
            label, norm, square = labels[indices[i]], 0.0, 0.0
            for k in range(targets.shape[1]):
                misfit[k] = targets[row, k]
            while i < indptr[row + 1] and labels[indices[i]] == label:
                atom, weight = atoms[indices[i]], float(values[i])
                norm += weight * weight
                for k in range(targets.shape[1]):
                    misfit[k] -= weight * atom[k]
                i += 1
            for k in range(targets.shape[1]):
                square += misfit[k] * misfit[k]
            squares[row, label], norms[row, label] = square, norm


@njit(**_LEAF)
def add_matching_pursuit(gram, linear, n_nonzero, rounding, codes):
    """Add to every row of ``codes`` its query's code of orthogonal matching pursuit.

    With L the factor of the picked atoms' Gram block, the correlation of the residual with all atoms falls by
    u_t·w_t at pick t, where u = L⁻¹b and w_t is the new atom's Gram row made orthogonal to the rows before it.
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
                if abs(pull[j]) > hardest:
                    best, hardest = j, abs(pull[j])
            new = ortho[count]
            for j in range(n):
                new[j] = gram[best, j]
            for i in range(count):
                weight = ortho[i, best]
                factor[count, i] = weight
                old = ortho[i]
                for j in range(n):
                    new[j] -= weight * old[j]
            first = hardest if count == 0 else first
            if hardest <= rounding * first or new[best] <= rounding * gram[best, best]:
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
