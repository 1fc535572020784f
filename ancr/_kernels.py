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
def simplex_threshold(point, radius, guess):
    """θ such that Σ max(point − θ, 0) = radius, by Newton's iteration from below.

    For every set S of entries (Σ_S point − radius)/|S| is a lower bound of θ, and θ itself for the entries above it.
    So each step takes the entries above the last bound. They only become fewer, and the iteration is finite.

    Any ``guess`` will do for the first set; one near θ saves steps.
    """
    threshold, last, guessed, safe = guess, point.size + 1, True, False
    while True:
        count, higher = _raised(point, radius, threshold)
        if count == 0 and not safe:
            # The guess is above all entries, or so far below that its bound rounds to more than they are.
            largest = point[0]
            for j in range(point.size):
                largest = max(largest, point[j])
            threshold, guessed, safe = largest - radius, False, True  # no entry of the projection exceeds the radius
        elif guessed:
            threshold, guessed = higher, False
        elif count >= last or count == 0:
            return threshold
        else:
            last, threshold = count, higher


@njit(**_LEAF)
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


@njit(**_LEAF)
def project_simplex_rows(points, radius, out):
    """Project every row of ``points`` on the simplex of the given radius."""
    for row in range(points.shape[0]):
        threshold = simplex_threshold(points[row], radius, np.inf)
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
def admm_step(on_simplex, push, fresh, shifted, threshold, previous, change):
    """End of a c-step, then the z- and δ-steps of Algorithm 1; `ancr.solvers.admm` derives them.

    Takes ``fresh``, which lacks push·(z − s/2) to be the new c, and leaves the new c in it, the new s = c − δ/ρ in
    ``shifted`` and the projection's threshold in ``threshold``. Where ``change`` has room for it, it gets
    max(‖z−c‖, ‖z−z_prev‖, ‖c−c_prev‖), with c_prev in ``previous``.
    """
    n, watched = fresh.shape[1], change.size > 0
    z_previous = np.empty(n, fresh.dtype)
    # A copy of s that fills whole vectors: what is left over for a loop without them costs as much as the rest.
    padded = np.full(-(-n // 32) * 32, -np.inf, fresh.dtype)
    for row in range(fresh.shape[0]):
        new, s, limit = fresh[row], shifted[row], threshold[row]
        if watched:
            for j in range(n):
                z_previous[j] = max(s[j] - limit, 0.0)
        for j in range(n):
            z = max(s[j] - limit, 0.0)
            c = new[j] + push * (z - 0.5 * s[j])
            new[j] = c
            s[j] = padded[j] = c + (s[j] - z)
        guess = limit if limit < np.inf else 0.0
        threshold[row] = simplex_threshold(padded, 1.0, guess) if on_simplex else 0.0
        if watched:
            change[row] = _change(new, previous[row], s, threshold[row], z_previous)


@njit(**_LEAF)
def _change(codes, previous, shifted, threshold, z_previous):
    """max(‖z−c‖, ‖z−z_prev‖, ‖c−c_prev‖) of one query."""
    apart, z_moved, c_moved = 0.0, 0.0, 0.0
    for j in range(codes.size):
        z = max(shifted[j] - threshold, 0.0)
        apart += (z - codes[j]) ** 2
        z_moved += (z - z_previous[j]) ** 2
        c_moved += (codes[j] - previous[j]) ** 2
    return np.sqrt(max(apart, z_moved, c_moved))


@njit(**_LEAF)
def sparse_image(shifted, threshold, atoms, out):
    """``out[row] = Σ_j z_j·atoms[j]`` for z = max(shifted − threshold, 0), skipping the zeros of z."""
    n = atoms.shape[0]
    support, weight = np.empty(n + 8, np.intp), np.empty(n + 8, atoms.dtype)
    for row in range(shifted.shape[0]):
        count = _above(shifted[row], threshold[row], support)
        for i in range(count):
            weight[i] = shifted[row, support[i]] - threshold[row]
        _image(atoms, support, weight, count, out[row])


@njit(**_LEAF)
def follow(target, answer, image, shifted_image, vector, stay, diagonal, shift):
    """After a c-step: Xs ← Xs + Xc − Xz, where Xc = diagonal·(t − shift·v), and V ← stay·V + diagonal·v."""
    for row in range(target.shape[0]):
        t, v, xz, xs, total = target[row], answer[row], image[row], shifted_image[row], vector[row]
        for k in range(t.size):
            xs[k] += diagonal * (t[k] - shift * v[k]) - xz[k]
            total[k] = stay * total[k] + diagonal * v[k]


@njit(**_LEAF)
def screened_step(
    products, scale, error, atoms, vector, rest, keep, gain, threshold, rho, target, shifted_image, image, right
):
    """z-step on the simplex, from ``scale·products``, which are XᵀV up to ``error``; `ancr.solvers.admm_screened`.

    With s = XᵀV + Z and Z in ``rest``: leaves the projection's threshold in ``threshold``, which held a guess, Xz in
    ``image``, keep·Z + gain·z in ``rest`` and t − ρX(z − s/2) in ``right``. Returns how many entries were in doubt.
    """
    n, doubts = atoms.shape[0], 0
    # Filled up to whole vectors: what is left over for a loop without them costs as much as the rest.
    s, few = np.full(-(-n // 32) * 32, -np.inf), np.empty(n + 32)
    support, weight = np.empty(n + 8, np.intp), np.empty(n + 8, atoms.dtype)
    for row in range(products.shape[0]):
        product, z, xz, xs = products[row], rest[row], image[row], shifted_image[row]
        for j in range(n):
            s[j] = scale[row] * product[j] + z[j]
        guess = simplex_threshold(s, 1.0, threshold[row])
        # The threshold moves by no more than the entries do, so no other entry lies above the true one.
        count = _above(s[:n], guess - 2.0 * error[row], support)
        if error[row] > 0.0:
            _dots(atoms, support, count, vector[row], few)
            for i in range(count):
                few[i] += z[support[i]]
        else:
            for i in range(count):
                few[i] = s[support[i]]
        full = max(-(-count // 32), 1) * 32
        few[count:full] = -np.inf
        threshold[row] = simplex_threshold(few[:full], 1.0, guess)
        for j in range(n):
            z[j] *= keep
        kept = 0
        for i in range(count):
            excess = few[i] - threshold[row]
            support[kept], weight[kept] = support[i], excess
            kept += excess > 0.0
        for i in range(kept):
            z[support[i]] += gain * weight[i]
        _image(atoms, support, weight, kept, xz)
        for k in range(xz.size):
            right[row, k] = target[row, k] - rho * (xz[k] - 0.5 * xs[k])
        doubts += count
    return doubts


@njit(**_LEAF)
def _above(point, threshold, found):
    """Indices of the entries above the threshold; returns how many there are."""
    count, whole = 0, point.size - point.size % 8
    for first in range(0, whole, 8):  # most stretches of eight hold none, and a vector tells
        some = False
        for j in range(first, first + 8):
            some |= point[j] > threshold
        if some:
            for j in range(first, first + 8):
                found[count] = j
                count += point[j] > threshold
    for j in range(whole, point.size):
        found[count] = j
        count += point[j] > threshold
    return count


@njit(**_LEAF)
def _dots(atoms, support, count, vector, out):
    """Products of some atoms with a vector, four at a time; ``support`` and ``out`` have room for three more."""
    support[count : count + 3] = 0
    for i in range(0, count, 4):
        a0, a1, a2, a3 = atoms[support[i]], atoms[support[i + 1]], atoms[support[i + 2]], atoms[support[i + 3]]
        t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
        for k in range(vector.size):
            value = vector[k]
            t0 += a0[k] * value
            t1 += a1[k] * value
            t2 += a2[k] * value
            t3 += a3[k] * value
        out[i], out[i + 1], out[i + 2], out[i + 3] = t0, t1, t2, t3


@njit(**_LEAF)
def _image(atoms, support, weight, count, out):
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


@njit(**{**_LEAF, "fastmath": _FAST - {"arcp"}})  # the reciprocal of a subnormal number is infinite
def to_unit_length(rows, units, lengths):
    """Rows at unit length in ``units``, zero for those that are zero, and their lengths, whatever their scale."""
    for row in range(rows.shape[0]):
        source, unit, square, scale = rows[row], units[row], 0.0, 1.0
        for k in range(source.size):
            square += source[k] * source[k]
        if 1e-280 < square < 1e280:
            factor = 1.0 / np.sqrt(square)
            for k in range(source.size):
                unit[k] = factor * source[k]
        else:  # squares overflow, vanish, or are zero
            scale, square = 0.0, 0.0
            for k in range(source.size):
                scale = max(scale, abs(source[k]))
            scale = scale if scale > 0.0 else 1.0
            for k in range(source.size):
                square += (source[k] / scale) ** 2
            for k in range(source.size):
                unit[k] = source[k] / scale / max(np.sqrt(square), 1.0)
        lengths[row] = scale * np.sqrt(square)


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
def class_dots(left, right, bounds, out):
    """``out[:, i] = left_iᵀright_i`` of every class i."""
    for row in range(left.shape[0]):
        for k in range(bounds.size - 1):
            total = 0.0
            for j in range(bounds[k], bounds[k + 1]):
                total += left[row, j] * right[row, j]
            out[row, k] = total


@njit(**_LEAF)
def class_grams(atoms, bounds, starts, out):
    """X_iᵀX_i of every class i, row by row from ``out[starts[i]]`` on."""
    for k in range(bounds.size - 1):
        size = bounds[k + 1] - bounds[k]
        gram = out[starts[k] : starts[k + 1]].reshape(size, size)
        for i in range(size):
            for j in range(i + 1):
                total = 0.0
                for feature in range(atoms.shape[1]):
                    total += atoms[bounds[k] + i, feature] * atoms[bounds[k] + j, feature]
                gram[i, j] = gram[j, i] = total


# Queries that `class_forms` works on at once: their entries fill the lanes of a vector.
_LANES = 16


@njit(**_LEAF)
def class_forms(codes, gram_blocks, starts, bounds, out):
    """``out[:, i] = c_iᵀ(X_iᵀX_i)c_i`` of every class i, by half of the symmetric blocks."""
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


@njit(**_LEAF)
def nearest_class(targets, codes, error, vectors, rest, forms, atoms, bounds, rounding, reach, tie, most, out):
    """``out[row]`` is the class of least ‖t − X_i c_i‖, −1 if ``tie`` separates it from another, or ``most`` do not do.

    Entries of ``codes`` may be off by ``error``; then ``atoms·vectors + rest`` has them exactly. ``forms`` holds
    ‖X_i c_i‖² of the codes given, good to ``rounding``·‖c‖², and ``reach``·error bounds what the error adds to it.

    No residual is below |‖t‖ − ‖X_i c_i‖|, which rules out nearly all classes. Those that are left are computed as they
    are defined. Classes without atoms do not count.
    """
    n_classes = bounds.size - 1
    least, part = np.empty(n_classes), np.empty(np.diff(bounds).max())
    misfit = np.empty(targets.shape[1])
    for row in range(targets.shape[0]):
        target, code, exact = targets[row], codes[row], error[row] == 0.0
        square, slack = 0.0, 0.0
        for k in range(target.size):
            square += float(target[k]) ** 2
        for j in range(code.size):
            slack += float(code[j]) ** 2
        # A root is off by no more than the error's root.
        length, slack = np.sqrt(square), np.sqrt(rounding * slack) + reach * error[row]
        for k in range(n_classes):
            least[k] = max(abs(length - np.sqrt(max(forms[row, k], 0.0))) - slack, 0.0) ** 2
        for k in range(n_classes):
            if bounds[k + 1] == bounds[k]:
                least[k] = np.inf
        favourite, best, smallest, close, span = np.argmin(least), -1, np.inf, False, 0.0
        looked_at = 0
        for turn in range(n_classes):
            k = favourite if turn == 0 else turn - (turn <= favourite)
            margin = tie * (square + max(span, forms[row, k]))
            if least[k] < np.inf and least[k] <= smallest + margin:
                looked_at += 1
                if looked_at > most:
                    close = True
                    break
                first, last = bounds[k], bounds[k + 1]
                for j in range(first, last):
                    part[j - first] = code[j] if exact else rest[row, j] + _dot(atoms[j], vectors[row])
                value = _misfit(target, part, atoms[first:last], misfit)
                if abs(value - smallest) <= margin:
                    close = True
                elif value < smallest:
                    close = False
                if value < smallest:
                    smallest, best, span = value, k, forms[row, k]
        out[row] = -1 if close else best


@njit(**_LEAF)
def _dot(left, right):
    total = 0.0
    for k in range(left.size):
        total += left[k] * right[k]
    return total


@njit(**_LEAF)
def _misfit(target, code, atoms, misfit):
    """‖t − Xc‖² over a few atoms."""
    for k in range(misfit.size):
        misfit[k] = target[k]
    for j in range(len(atoms)):
        weight, atom = code[j], atoms[j]
        for k in range(misfit.size):
            misfit[k] -= weight * atom[k]
    return _dot(misfit, misfit)


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
