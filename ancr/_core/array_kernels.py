"""Numba kernels that belong to no solver: the simplex, sums by class, products that skip zeros.

Numba's on-disk cache detects changes only in the file of the cached kernel. So a kernel and everything it calls share a
file, here and in the other kernel modules. Kernels are imported only where they are run.
"""

import numpy as np

from ancr._core.compiling import cached_njit

# Sums may be reordered (which lets them vectorise) and inputs are known to hold no NaN; infinity keeps its meaning.
_FAST = {"nnan", "reassoc", "contract", "nsz", "arcp"}
_KERNEL = {"nogil": True, "fastmath": _FAST, "error_model": "numpy"}


@cached_njit(**_KERNEL)
def _simplex_threshold(point, radius):
    """θ such that Σ max(point − θ, 0) = radius, by Newton's iteration from below.

    For every set S of entries (Σ_S point − radius)/|S| is a lower bound on θ, and θ itself for the entries above it.
    So each step takes the entries above the last bound. Their number only falls, and the iteration is finite.
    """
    largest = point[0]
    for j in range(point.size):
        largest = max(largest, point[j])
    threshold, last = largest - radius, point.size + 1  # no entry of the projection exceeds the radius
    while True:
        count, higher = _raised(point, radius, threshold)
        if count >= last or count == 0:
            return threshold
        last, threshold = count, higher


@cached_njit(**_KERNEL)
def _raised(point, radius, threshold):
    """How many entries lie above a threshold, and the bound that they give."""
    # Two loops of one sum each, by index: otherwise the compiler does not vectorise them.
    count = 0
    for j in range(point.size):
        count += point[j] > threshold
    total = -radius
    for j in range(point.size):
        total += max(point[j] - threshold, 0.0)
    return count, threshold + total / max(count, 1)


@cached_njit(**_KERNEL)
def project_simplex_rows(points, radius, out):
    """Project each row of ``points`` on the simplex of the given radius."""
    for row in range(points.shape[0]):
        threshold = _simplex_threshold(points[row], radius)
        total = 0.0
        for j in range(points.shape[1]):
            value = max(points[row, j] - threshold, 0.0)
            out[row, j] = value
            total += value
        if total == 0.0:  # the radius is below the precision of the entries: all of it goes to the largest
            out[row, np.argmax(points[row])] = total = radius
        # One relative correction reduces the error of the sum from n roundings to one; zeros stay zero.
        scale = radius / total
        for j in range(points.shape[1]):
            out[row, j] *= scale


@cached_njit(**_KERNEL)
def product_without_zeros(codes, atoms, out):
    """``out[row] = codes[row] @ atoms``, skipping the zeros of the codes."""
    n = atoms.shape[0]
    support, weight = np.empty(n + 8, np.intp), np.empty(n + 8, atoms.dtype)
    for row in range(codes.shape[0]):
        count = _nonzero(codes[row], support)
        for i in range(count):
            weight[i] = codes[row, support[i]]
        _weighted_sum(atoms, support, weight, count, out[row])


@cached_njit(**_KERNEL)
def _nonzero(point, found):
    """Write the indices of the non-zero entries to ``found``; return their number."""
    count, whole = 0, point.size - point.size % 8
    for first in range(0, whole, 8):  # most groups of eight hold none, which one vector operation shows
        some = False
        for j in range(first, first + 8):
            some |= point[j] != 0.0
        if some:
            for j in range(first, first + 8):
                found[count] = j
                count += point[j] != 0.0
    for j in range(whole, point.size):
        found[count] = j
        count += point[j] != 0.0
    return count


@cached_njit(**_KERNEL)
def _weighted_sum(atoms, support, weight, count, out):
    """Weighted sum of some atoms, eight at a time; ``support`` and ``weight`` have room for seven more."""
    out[:] = 0.0
    support[count : count + 7] = 0
    weight[count : count + 7] = 0.0
    for i in range(0, count, 8):
        w0, w1, w2, w3 = weight[i], weight[i + 1], weight[i + 2], weight[i + 3]
        w4, w5, w6, w7 = weight[i + 4], weight[i + 5], weight[i + 6], weight[i + 7]
        a0, a1, a2, a3 = atoms[support[i]], atoms[support[i + 1]], atoms[support[i + 2]], atoms[support[i + 3]]
        a4, a5, a6, a7 = atoms[support[i + 4]], atoms[support[i + 5]], atoms[support[i + 6]], atoms[support[i + 7]]
        for k in range(out.size):
            out[k] += w0 * a0[k] + w1 * a1[k] + w2 * a2[k] + w3 * a3[k]
            out[k] += w4 * a4[k] + w5 * a5[k] + w6 * a6[k] + w7 * a7[k]


@cached_njit(**_KERNEL)
def class_dots(left, right, bounds, out):
    """``out[:, i] = left_iᵀright_i`` for each class i."""
    for row in range(left.shape[0]):
        for k in range(bounds.size - 1):
            total = 0.0
            for j in range(bounds[k], bounds[k + 1]):
                total += left[row, j] * right[row, j]
            out[row, k] = total


# Queries that `class_forms` processes at once: their entries fill the lanes of a vector.
_LANES = 16


@cached_njit(**_KERNEL)
def class_forms(codes, gram_blocks, starts, bounds, out):
    """``out[:, i] = c_iᵀ(X_iᵀX_i)c_i`` for each class i, reading half of each symmetric block."""
    n_rows, largest = len(codes), np.diff(bounds).max()
    part = np.zeros((largest, _LANES), codes.dtype)
    inner, total = np.empty(_LANES, codes.dtype), np.empty(_LANES, codes.dtype)
    for first in range(0, n_rows, _LANES):
        width = min(_LANES, n_rows - first)
        for k in range(bounds.size - 1):
            size, gram = bounds[k + 1] - bounds[k], gram_blocks[starts[k] : starts[k + 1]]
            for lane in range(width):
                for i in range(size):
                    part[i, lane] = codes[first + lane, bounds[k] + i]
            total[:] = 0.0
            for i in range(size):
                diagonal = gram[i * size + i]
                for lane in range(_LANES):
                    inner[lane] = diagonal * part[i, lane]
                for j in range(i):
                    twice = 2 * gram[i * size + j]
                    for lane in range(_LANES):
                        inner[lane] += twice * part[j, lane]
                for lane in range(_LANES):
                    total[lane] += part[i, lane] * inner[lane]
            for lane in range(width):
                out[first + lane, k] = total[lane]


@cached_njit(**_KERNEL)
def sparse_class_squares(indptr, indices, values, targets, atoms, labels, squares):
    """``squares[:, i] = ‖t − X_i c_i‖²`` from CSR codes with sorted indices."""
    misfit = np.empty(targets.shape[1])
    for row in range(targets.shape[0]):
        base = 0.0
        for k in range(targets.shape[1]):
            base += float(targets[row, k]) ** 2
        squares[row] = base
        i = indptr[row]
        while i < indptr[row + 1]:
            label, square = labels[indices[i]], 0.0
            for k in range(targets.shape[1]):
                misfit[k] = targets[row, k]
            while i < indptr[row + 1] and labels[indices[i]] == label:
                atom, weight = atoms[indices[i]], float(values[i])
                for k in range(targets.shape[1]):
                    misfit[k] -= weight * atom[k]
                i += 1
            for k in range(targets.shape[1]):
                square += misfit[k] * misfit[k]
            squares[row, label] = square


@cached_njit(**_KERNEL)
def sparse_class_misfits(indptr, indices, values, base, cross, gram, labels, scale, squares):
    """``squares[:, i] = ‖t‖² − 2s·k_iᵀc_i + c_iᵀK_ii c_i`` from CSR codes with sorted indices; ``base`` is ‖t‖²."""
    for row in range(base.size):
        squares[row] = base[row]
        i = indptr[row]
        while i < indptr[row + 1]:
            label, square, last = labels[indices[i]], base[row], i
            while last < indptr[row + 1] and labels[indices[last]] == label:
                atom, pull = indices[last], -2.0 * scale * float(cross[row, indices[last]])
                for j in range(i, last):
                    pull += 2.0 * float(values[j]) * float(gram[atom, indices[j]])
                square += float(values[last]) * (pull + float(values[last]) * float(gram[atom, atom]))
                last += 1
            squares[row, label] = max(square, 0.0)
            i = last
