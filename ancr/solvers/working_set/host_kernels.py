"""Numba kernels of the exact solver: one query at a time, small dense algebra in double precision.

The *pull* of an atom is its entry of b − Hc, half the rate at which the objective falls as the atom's weight grows. At
the optimum no atom pulls harder than −ν (simplex), 0 (orthant) or half the ℓ1 weight (signed codes), and the atoms in
use pull exactly that hard.

In order: the problem and the workspace, the small problem on a support, pricing, the two entry points. They share
a file because of numba's cache, see `ancr._core.array_kernels`.
"""

from collections import namedtuple

import numpy as np
from numba import njit
from numba.core.options import DefaultOptions

from ancr._core.compiling import cached_njit

_FAST = {"nogil": True, "error_model": "numpy", "fastmath": {"nnan", "reassoc", "contract", "nsz", "arcp"}}
# No reference counting, for functions that neither make nor keep arrays. Numba has no public option for it.
_BORROWING = {"_nrt": False} if hasattr(DefaultOptions, "_nrt") else {}
# Functions called from Python are cached on disk. Those called only by kernels need no wrapper, which saves a fifth of
# the compile time, and only borrow their arrays: counting references to the twenty arrays of a workspace, at every
# call, took a third of the run time.
_INNER = {**_FAST, "no_cpython_wrapper": True, "no_cfunc_wrapper": True, **_BORROWING}

FINISHED, UNFINISHED, NEEDS_CAPACITY, DOUBTFUL, STALLED = range(5)
# Positions in ``Program.numbers``.
GRAM, BLOCKS, DEPENDENT, SHARE_OF_GAP, ROUNDINGS, SHORTEST, RIDGE, REACH, FLOOR = range(9)
# Atoms per run; the hardest pull of each run is kept.
_RUN = 64
# With a tolerance above this, the accuracy of the factor is enough.
_COARSE = 1e-5
# A query that needs this many rounds is held up by rounding.
_MANY = 200
# Newcomers may always drive out this many atoms.
_FEW = 16
# Maximum number of atoms to start with.
_FIRST = 32

# The integer that stands for a correlation of one in ``pricing``: two bytes' range, less a margin for rounding.
STEPS = 32_000

# The problem. ``matrix`` is H without what atoms pay for c_j², their ``prices``; ``numbers[RIDGE]`` is the least price.
# ``pricing`` holds its correlations H_ij / √(H_ii·H_jj) as integers: two bytes per entry, since pricing is limited by
# memory bandwidth. Both are empty if they would not fit; then entries come from ``atoms``, weighted by
# ``numbers[GRAM]``, plus ``numbers[BLOCKS]`` within a class. ``eta`` is added to every entry of H on Σc = 1, see
# `tolerances`. ``lengths`` are √H_jj, ``norms`` those without prices, ``longest`` and ``largest_norm`` the largest.
# ``shift`` is half the ℓ1 weight; ``signed`` lets codes be negative. ``tol`` is the relative gap to reach. The other
# ``numbers`` are constants of `tolerances`: numba would freeze imported values, and separate fields make the kernels
# slower, by 8 % for four of them.
#
# A query's ``scaled_query`` is target·y, so that b = Xᵀ·scaled_query; it is empty if b is known to the last digit.
# Otherwise b is off by up to ``linear_error``, and a priced pull by up to ``pull_error``, times the norm of the atom.
Program = namedtuple(
    "Program",
    "matrix pricing atoms numbers labels lengths longest norms largest_norm prices eta shift sums_to_one signed tol",
)

# The working arrays of a query. ``support[:size]`` are the atoms in use, with ``sign`` and ``code`` > 0. ``factor`` is
# the Cholesky factor L of their block of H, ``ahead`` = L⁻¹b and ``ones`` = L⁻¹1, all in the order of ``support``.
# ``linear`` is b, to the last digit where ``known``: for atoms that were in use or in doubt. ``row`` receives a row of
# H; ``weight`` and ``mix`` are the weights and sums of pricing. ``banned[0]`` is an atom that this query must not use,
# −1 for none, and ``rank_one[0]`` = τ is a rank-one update τ·bbᵀ of its H: the effect of leaving one sample out on the
# relaxed problem.
Workspace = namedtuple(
    "Workspace",
    "support sign code target factor ahead ones keep kept_support kept_sign kept_code pull hardest scratch row "
    "weight mix linear known banned rank_one",
)


# The queries of a block, one in each row. b is ``scale·linear``, up to ``linear_error`` times an atom's norm.
Queries = namedtuple("Queries", "linear scale scaled_queries linear_error squares banned rank_one")

# Pulls under the current codes, the factors to multiply them by, and their error for an atom of unit norm.
Pulls = namedtuple("Pulls", "pull scale error")

# What is found for each query: its ``support``, its signed ``code``, and in ``found`` (size, status, rounds, how many
# atoms may join in the next round).
Codes = namedtuple("Codes", "support code found")


def make_workspace(capacity, n_atoms):
    """Scratch for supports of up to ``capacity`` atoms; `_price` reads up to eight more, with weight zero."""
    return Workspace(
        support=np.empty(capacity + 8, np.int64),
        sign=np.empty(capacity),
        code=np.empty(capacity),
        target=np.empty(capacity),
        factor=np.empty((capacity + 1, capacity)),
        ahead=np.empty(capacity),
        ones=np.empty(capacity),
        keep=np.empty(capacity + 1, np.bool_),
        kept_support=np.empty(capacity, np.int64),
        kept_sign=np.empty(capacity),
        kept_code=np.empty(capacity),
        pull=np.empty(n_atoms),
        hardest=np.empty(-(-n_atoms // _RUN)),
        scratch=np.empty(n_atoms),
        row=np.empty(capacity + 1),
        weight=np.empty(capacity + 8, np.float32),
        mix=np.empty(n_atoms, np.float32),
        linear=np.empty(n_atoms),
        known=np.empty(n_atoms, np.bool_),
        banned=np.full(1, -1, np.int64),
        rank_one=np.zeros(1),
    )


@njit(**_INNER)
def _load_linear(linear, scale, work):
    """Load b as far as it is known; return max |b|."""
    largest = 0.0
    for j in range(linear.size):
        work.linear[j], work.known[j] = scale * linear[j], False
        if work.linear[j] > -np.inf:  # an atom that this query may not use has no pull
            largest = max(largest, abs(work.linear[j]))
    return largest


@njit(**_INNER)
def _make_linear_exact(program, scaled_query, work, first, last):
    """Make b exact for the atoms ``support[first:last]``, if it comes from a product in single precision."""
    if scaled_query.size == 0:
        return
    for i in range(first, last, 4):  # four at a time: memory latency takes most of the time
        j0, j1 = work.support[i], work.support[min(i + 1, last - 1)]
        j2, j3 = work.support[min(i + 2, last - 1)], work.support[min(i + 3, last - 1)]
        b0, b1, b2, b3 = 0.0, 0.0, 0.0, 0.0
        for k in range(scaled_query.size):
            b0 += program.atoms[j0, k] * scaled_query[k]
            b1 += program.atoms[j1, k] * scaled_query[k]
            b2 += program.atoms[j2, k] * scaled_query[k]
            b3 += program.atoms[j3, k] * scaled_query[k]
        work.linear[j0], work.linear[j1], work.linear[j2], work.linear[j3] = b0, b1, b2, b3
        work.known[j0] = work.known[j1] = work.known[j2] = work.known[j3] = True


@njit(**_INNER)
def _read_row(program, linear, work, atom, size):
    """Write H without the ridge, between ``atom`` and the first ``size`` atoms in use, to ``work.row``."""
    row, support = work.row, work.support
    if program.matrix.shape[0] > 0:
        entries = program.matrix[atom]
        for j in range(size):
            row[j] = entries[support[j]]
        if work.rank_one[0] != 0.0:
            own = work.rank_one[0] * linear[atom]
            for j in range(size):
                row[j] += own * linear[support[j]]
        return
    mine = program.atoms[atom]
    for j in range(size):
        total, other = 0.0, program.atoms[support[j]]
        for k in range(mine.size):
            total += float(mine[k]) * float(other[k])
        same = program.labels[atom] == program.labels[support[j]]
        row[j] = total * (program.numbers[GRAM] + (program.numbers[BLOCKS] if same else 0.0))


@njit(**_INNER)
def _extend(program, linear, work, factored, size):
    """Factor rows ``factored:size``, leaving out atoms that depend on those before them; return the new size."""
    kept = factored
    for i in range(factored, size):
        atom, sign = work.support[i], work.sign[i]
        row = work.factor[kept]
        b, one, square = sign * linear[atom], 1.0, 0.0
        work.support[kept] = atom  # position `i`, or one freed by an atom that was left out
        _read_row(program, linear, work, atom, kept + 1)
        for j in range(kept):
            other = work.factor[j]
            inner = sign * work.sign[j] * work.row[j] + program.eta
            for k in range(j):
                inner -= row[k] * other[k]
            inner /= other[j]
            row[j] = inner
            b -= inner * work.ahead[j]
            one -= inner * work.ones[j]
            square += inner * inner
        diagonal = work.row[kept] + program.eta + program.prices[atom]
        if diagonal - square > program.numbers[DEPENDENT] * diagonal:
            pivot = np.sqrt(diagonal - square)
            row[kept], work.ahead[kept], work.ones[kept] = pivot, b / pivot, one / pivot
            work.support[kept], work.sign[kept], work.code[kept] = atom, sign, work.code[i]
            kept += 1
    return kept


@njit(**_INNER)
def _minimise(program, work, size):
    """Write the minimiser on the support, without sign constraints, to ``target``; return (limit, objective).

    (H + η)c = b + ν1, hence c = L⁻ᵀ(L⁻¹b + ν·L⁻¹1), with ν = −shift on the orthant and Σc = 1 on the simplex. The
    limit is how hard the atoms in use pull, and so how hard any atom may: b − Hc = η − ν on the support.
    """
    cross, square = 0.0, 0.0
    for i in range(size):
        cross += work.ahead[i] * work.ones[i]
        square += work.ones[i] * work.ones[i]
    nu = (1.0 - cross) / square if program.sums_to_one and size > 0 else -program.shift
    value = nu if program.sums_to_one else 0.0
    for i in range(size):
        half = work.ahead[i] + nu * work.ones[i]
        value -= half * (work.ahead[i] if program.sums_to_one else half)
        work.target[i] = half
    for i in range(size - 1, -1, -1):
        row = work.factor[i]
        work.target[i] /= row[i]
        last = work.target[i]
        for k in range(i):
            work.target[k] -= last * row[k]
    return program.eta - nu, value


@njit(**_INNER)
def _remove_row(work, p, size):
    """Take row ``p`` out of the ``size`` rows of the factor: rows move up, Givens rotations restore the triangle.

    Row by row, since the rows lie apart in memory: each goes through the rotations of the rows above it and adds its
    own. The rotations are kept in ``target`` and ``row``.
    """
    factor, ahead, ones, cosine, sine = work.factor, work.ahead, work.ones, work.target, work.row
    for i in range(p, size - 1):
        old, new = factor[i + 1], factor[i]
        for k in range(p):
            new[k] = old[k]
        carried = old[p]
        for k in range(p, i):
            right = old[k + 1]
            new[k] = cosine[k] * carried + sine[k] * right
            carried = cosine[k] * right - sine[k] * carried
        length = np.sqrt(carried * carried + old[i + 1] * old[i + 1])
        c, s = carried / length, old[i + 1] / length
        new[i], cosine[i], sine[i] = length, c, s
        ahead[i], ahead[i + 1] = c * ahead[i] + s * ahead[i + 1], c * ahead[i + 1] - s * ahead[i]
        ones[i], ones[i + 1] = c * ones[i] + s * ones[i + 1], c * ones[i + 1] - s * ones[i]


@njit(**_INNER)
def _drop(work, factored, size):
    """Remove the entries not marked in ``keep``; return (new size, valid rows of the factor).

    They are rotated out of the factor if they are few. Otherwise, if it is less work to factor again the rows from the
    first of them on, only the rows before it remain valid.
    """
    left, first, gone, rotating = 0, size, 0, 0.0
    for i in range(size):
        if work.keep[i]:
            work.support[left], work.sign[left], work.code[left] = work.support[i], work.sign[i], work.code[i]
            left += 1
        else:
            first, gone = min(first, i), gone + (i < factored)
            rotating += 2.0 * max(factored - i, 0) ** 2
    if gone > 4 and rotating > (float(left) ** 3 - float(first) ** 3) / 6.0:
        return left, first
    for i in range(factored - 1, -1, -1):
        if not work.keep[i]:
            _remove_row(work, i, factored)
            factored -= 1
    return left, factored


@njit(**_INNER)
def _exchange(program, linear, work, factored, size, room):
    """Solve on the support and drop atoms that turn negative, all at once, until none does.

    If more than ``room`` of the atoms that are factored already would have to go, it gives up before it takes their
    factor apart, and returns an infinite objective.

    Return (size, limit, objective, rows of the factor that stayed valid throughout).
    """
    stood = factored
    while True:
        size = _extend(program, linear, work, factored, size)
        limit, value = _minimise(program, work, size)
        driven_out = 0
        for i in range(stood):
            driven_out += work.target[i] <= 0.0
        if driven_out > room:
            return size, limit, np.inf, stood
        kept = best = 0
        for i in range(size):
            work.keep[i] = work.target[i] > 0.0
            work.code[i] = work.target[i]
            kept += work.keep[i]
            best = i if work.target[i] > work.target[best] else best
        if kept == 0 and program.sums_to_one:  # Σc = 1 is lost in the rounding of prices that are far larger than H
            work.keep[best] = True
        first = size
        for i in range(size - 1, -1, -1):
            first = first if work.keep[i] else i
        if first == size:
            return size, limit, value, stood
        stood = min(stood, first)
        size, factored = _drop(work, size, size)


@njit(**_INNER)
def _swap_in(work, size, newcomer, sign):
    """Exchange a newcomer that depends on the support for the first atom whose weight reaches zero.

    x_new = Σ a_i x_i, so c_new = t, c_i − t·a_i represents the same point. Only the ℓ1 problem needs this: there
    such an atom can cost less. Return the position of the atom removed, −1 if there is none.
    """
    a = work.target
    for i in range(size):
        a[i] = work.factor[size, i]  # L⁻¹·H_new, left there by `_extend`
    for i in range(size - 1, -1, -1):
        a[i] /= work.factor[i, i]
        for k in range(i):
            a[k] -= a[i] * work.factor[i, k]
    step, blocking = np.inf, -1
    for i in range(size):
        if a[i] > 1e-12 and work.code[i] < step * a[i]:
            step, blocking = work.code[i] / a[i], i
    if blocking >= 0:
        for i in range(size):
            work.code[i] = max(work.code[i] - step * a[i], 0.0)
            work.keep[i] = i != blocking
        work.keep[size] = True
        work.support[size], work.sign[size], work.code[size] = newcomer, sign, step
    return blocking


@njit(**_INNER)
def _active_set_step(program, linear, work, factored, size):
    """Admit the one atom at ``size − 1`` and move to the minimiser, stopping at each bound on the way.

    The textbook active-set step: the objective never rises. Return (size, limit, objective, whether it moved).
    """
    newcomer, sign = work.support[size - 1], work.sign[size - 1]
    while True:
        before = size
        size = _extend(program, linear, work, factored, size)
        limit, value = _minimise(program, work, size)
        if size < before:
            if size != before - 1 or _swap_in(work, size, newcomer, sign) < 0:
                return size, limit, value, False
            size, factored = _drop(work, size, before)
            continue
        step, blocking = 1.0, -1
        for i in range(size):
            if work.target[i] <= 0.0:
                share = work.code[i] / (work.code[i] - work.target[i]) if work.code[i] > 0.0 else 0.0
                if share <= step:
                    step, blocking = share, i
        for i in range(size):
            work.code[i] += step * (work.target[i] - work.code[i])
            work.keep[i] = i != blocking
        if blocking < 0 or work.support[blocking] == newcomer:
            return size, limit, value, blocking < 0
        size, factored = _drop(work, size, size)


@njit(**_INNER)
def _polish(program, linear, work, size, limit):
    """Iterative refinement on the support: brings code and limit from the factor's accuracy to the data's.

    Return the limit and how far the code moved, relative to its largest entry.
    """
    misfit, moved = work.target, 0.0
    for _ in range(2):
        missing, level = 1.0, 0.0
        for i in range(size):
            atom, sign = work.support[i], work.sign[i]
            pull = sign * linear[atom] - program.prices[atom] * work.code[i]
            _read_row(program, linear, work, atom, size)
            for j in range(size):
                pull -= work.code[j] * sign * work.sign[j] * work.row[j]
            misfit[i] = pull
            missing -= work.code[i]
            level += work.code[i] * pull
        limit = level / (1.0 - missing) if program.sums_to_one else program.shift
        cross, square = 0.0, 0.0
        for i in range(size):  # L⁻¹·misfit
            row = work.factor[i]
            misfit[i] -= limit
            for k in range(i):
                misfit[i] -= row[k] * misfit[k]
            misfit[i] /= row[i]
            cross += misfit[i] * work.ones[i]
            square += work.ones[i] * work.ones[i]
        change = (missing - cross) / square if program.sums_to_one else 0.0
        for i in range(size - 1, -1, -1):  # L⁻ᵀ
            row = work.factor[i]
            misfit[i] = (misfit[i] + change * work.ones[i]) / row[i]
            for k in range(i):
                misfit[k] -= misfit[i] * row[k]
        largest, step, least = 1e-300, 0.0, 0.0
        for i in range(size):
            largest, step = max(largest, work.code[i]), max(step, abs(misfit[i]))
            least = min(least, work.code[i] + misfit[i])
        if step > 1e-3 * largest or least < 0.0:
            break  # rounding, amplified by nearly dependent atoms
        for i in range(size):
            work.code[i] += misfit[i]
        moved = max(moved, step / largest)
        limit += program.eta * missing - change  # the pull of all atoms in use now
        if step < 1e-9 * largest:
            break  # the next step would shrink by as much again
    return limit, moved


@njit(**_INNER)
def _save_support(work, size):
    for i in range(size):
        work.kept_support[i], work.kept_sign[i], work.kept_code[i] = work.support[i], work.sign[i], work.code[i]


@njit(**_INNER)
def _restore_support(work, size):
    for i in range(size):
        work.support[i], work.sign[i], work.code[i] = work.kept_support[i], work.kept_sign[i], work.kept_code[i]


@njit(**_INNER)
def _level(linear, work, size):
    """1 − τ·bᵀc: the rank-one update only scales b in b − Hc."""
    level = 0.0
    if work.rank_one[0] != 0.0:
        for i in range(size):
            level += work.sign[i] * work.code[i] * linear[work.support[i]]
    return 1.0 - work.rank_one[0] * level


@njit(**_INNER)
def _span(lengths, work, size):
    """Σ c_j √H_jj, which bounds √(cᵀHc)."""
    span = 0.0
    for i in range(size):
        span += work.code[i] * lengths[work.support[i]]
    return span


@njit(**_INNER)
def _price(program, linear, work, size):
    """Pulls of all atoms, without the ridge, through ``size`` rows of correlations, eight at a time.

    The weights c_i √H_ii are scaled to sum to one, so that no number here depends on the scale of the data.
    """
    weight, support, mix, n = work.weight, work.support, work.mix, linear.size
    span = _span(program.norms, work, size)
    share = 1.0 / span if span > 0.0 else 0.0
    for i in range(size):
        weight[i] = share * work.sign[i] * work.code[i] * program.norms[support[i]]
    for i in range(size, size + 8):
        weight[i], support[i] = 0.0, 0
    for i in range(0, max(size, 1), 8):
        w0, w1, w2, w3 = weight[i], weight[i + 1], weight[i + 2], weight[i + 3]
        w4, w5, w6, w7 = weight[i + 4], weight[i + 5], weight[i + 6], weight[i + 7]
        r0, r1 = program.pricing[support[i]], program.pricing[support[i + 1]]
        r2, r3 = program.pricing[support[i + 2]], program.pricing[support[i + 3]]
        r4, r5 = program.pricing[support[i + 4]], program.pricing[support[i + 5]]
        r6, r7 = program.pricing[support[i + 6]], program.pricing[support[i + 7]]
        for j in range(n):
            first = w0 * np.float32(r0[j]) + w1 * np.float32(r1[j]) + w2 * np.float32(r2[j]) + w3 * np.float32(r3[j])
            last = w4 * np.float32(r4[j]) + w5 * np.float32(r5[j]) + w6 * np.float32(r6[j]) + w7 * np.float32(r7[j])
            mix[j] = first + last if i == 0 else mix[j] + (first + last)
    level, step = _level(linear, work, size), span / STEPS
    for j in range(n):
        work.pull[j] = level * linear[j] - step * program.norms[j] * mix[j]


@njit(**_INNER)
def _strength(program, pull):
    """How hard an atom pulls, in either direction if codes are signed; −inf for an excluded atom."""
    return abs(pull) if program.signed and pull != -np.inf else pull


@njit(**_INNER)
def _largest_excess(program, work, size, limit):
    """The hardest pull beyond the limit, over all atoms outside the support.

    Stores the hardest pull of each run of ``_RUN`` atoms in ``work.hardest``, so that `_admit` can skip most runs.
    """
    pull, n = work.pull, work.pull.size
    for i in range(size):  # atoms in use are at the limit, up to the ridge that pricing leaves out
        pull[work.support[i]] = -np.inf
    if work.banned[0] >= 0:
        pull[work.banned[0]] = -np.inf
    excess = -np.inf
    for run in range(work.hardest.size):
        hardest = -np.inf
        for j in range(run * _RUN, min((run + 1) * _RUN, n)):
            hardest = max(hardest, _strength(program, pull[j]))
        work.hardest[run] = hardest
        excess = max(excess, hardest - limit)
    return excess


@njit(**_INNER)
def _recheck(program, linear, scaled_query, linear_error, work, size, limit, excess):
    """Recompute in double precision the pulls in which rounding could hide an excess or produce a false one.

    The error is up to ``linear_error`` in b and, in the matrix, half a step per entry and a thousandth per addition in
    single precision: half a unit in the last place of a number below 2¹⁵.
    """
    pull_error = linear_error + (0.6 + 1e-3 * size) / STEPS * _span(program.norms, work, size)
    if excess > 8.0 * pull_error * program.largest_norm:
        return excess  # certainly an excess, and accurate enough
    pull, excess = work.pull, -np.inf
    for run in range(work.hardest.size):
        if work.hardest[run] - limit > -pull_error * program.largest_norm:
            work.hardest[run] = -np.inf
            for j in range(run * _RUN, min((run + 1) * _RUN, pull.size)):
                if _strength(program, pull[j]) - limit > -pull_error * program.norms[j]:
                    if not work.known[j]:
                        work.support[size] = j
                        _make_linear_exact(program, scaled_query, work, size, size + 1)
                    _read_row(program, linear, work, j, size)
                    pull[j] = linear[j]
                    for i in range(size):
                        pull[j] -= work.sign[i] * work.code[i] * work.row[i]
                work.hardest[run] = max(work.hardest[run], _strength(program, pull[j]))
            excess = max(excess, work.hardest[run] - limit)
    return excess


@njit(**_INNER)
def _allowance(program, largest, work, size, square, value, rounds):
    """Excess that may remain: a hundredth of what the gap tolerance allows, never below rounding.

    A query still running after ``_MANY`` rounds is held up by rounding in its data: it gets a quarter, which is safe.

    The gap is at most 2·excess·Σc, compared with ‖y‖², which is ``square``, or with a hundred times the objective, if
    that is less and known: ``value`` and what the square adds to it. ``largest`` is max |b|. On the orthant
    the Σc of the optimum counts, which short atoms can make as large as ‖y‖ over their length. Return also whether
    rounding is so large that the certificate has to decide.
    """
    total, span = 0.0, _span(program.lengths, work, size)
    for i in range(size):
        total += work.code[i]
    if not program.sums_to_one:
        total = max(total, np.sqrt(square) / program.numbers[SHORTEST])
    unit = 2.2e-16 * (largest + span * program.longest)
    if program.numbers[REACH] > 0.0 and work.rank_one[0] == 0.0:
        objective = program.numbers[REACH] * square + value - (program.eta if program.sums_to_one else 0.0)
        square = min(square, 100.0 * max(objective, program.numbers[FLOOR] * square))
    wanted = (square / total if total > 0.0 else largest) * program.tol
    allowed = (program.numbers[SHARE_OF_GAP] if rounds < _MANY else 0.25) * wanted
    return max(allowed, 32.0 * unit + 8.8e-16 * program.eta), program.numbers[ROUNDINGS] * unit > 0.25 * wanted


@njit(**_INNER)
def _admit(program, scaled_query, work, size, limit, excess, share, most):
    """Append up to ``most`` atoms whose excess is at least ``share`` of the largest, the hardest pulls first.

    Return the new size, −1 if there is no room.
    """
    pull, found, count = work.pull, work.scratch, 0
    least = share * excess
    for run in range(work.hardest.size):
        if work.hardest[run] - limit >= least:
            for j in range(run * _RUN, min((run + 1) * _RUN, pull.size)):
                found[count] = j  # branchless: always written, counted only if above
                count += _strength(program, pull[j]) - limit >= least
    while count > most:
        # Too many: raise the share. Ties at the very top are cut off in index order.
        share = 0.5 * (1.0 + share)
        least, above = share * excess, 0
        for i in range(count):
            j = int(found[i])
            found[above] = j
            above += _strength(program, pull[j]) - limit >= least
        count = min(above, most) if share > 1.0 - 1e-6 else above
    if size + count > work.target.size:
        return -1
    for i in range(count):
        j = int(found[i])
        work.support[size + i], work.code[size + i] = j, 0.0
        work.sign[size + i] = -1.0 if program.signed and pull[j] < 0 else 1.0
    _make_linear_exact(program, scaled_query, work, size, size + count)
    return size + count


@njit(**_INNER)
def _threshold(values, radius, largest):
    """θ such that Σ max(values − θ, 0) = radius, by Newton's iteration from below."""
    threshold, last = largest - radius, values.size + 1
    while True:
        # Two loops of one sum each: otherwise the compiler does not vectorise them.
        count, total = 0, -radius
        for j in range(values.size):
            count += values[j] > threshold
        for j in range(values.size):
            total += max(values[j] - threshold, 0.0)
        if count == 0 or count >= last:
            return threshold
        last, threshold = count, threshold + total / count


@njit(**_INNER)
def _first_support(program, linear, scaled_query, work):
    """Start with the atoms of largest b, above a simplex threshold; return their number, −1 if there is no room.

    On Σc = 1 the nearest atoms are those of largest b − H_jj/2, wherever the origin is.
    A strong ridge spreads the code over many atoms, roughly those above the threshold of radius λ. Otherwise at most
    ``_FIRST`` are enough, above the threshold of the hardest pulls of all runs, which is quicker to find.
    """
    for j in range(linear.size):
        work.pull[j] = linear[j] - (0.5 * program.norms[j] * program.norms[j] if program.sums_to_one else 0.0)
    largest = _largest_excess(program, work, np.int64(0), 0.0)
    if not program.sums_to_one and largest <= program.shift:
        return 0
    strong = program.numbers[RIDGE] > 0.25 * largest and not program.signed
    values = work.pull if strong else work.hardest
    size = program.largest_norm * program.largest_norm if program.sums_to_one else abs(largest)
    radius = program.numbers[RIDGE] + size / 8.0 + 1e-300
    threshold = _threshold(values, radius, largest)
    threshold = min(threshold if program.sums_to_one else max(threshold, program.shift), largest)
    most = linear.size if strong else min(_FIRST, work.target.size)
    return _admit(program, scaled_query, work, np.int64(0), threshold, largest - threshold, 0.0, most)


@njit(**_INNER)
def _improve(program, linear, scaled_query, work, size, limit, value, excess, most):
    """One round: admit up to ``most`` atoms and exchange; fewer and fewer until that lowers the objective.

    One atom alone joins by the active-set step. Return (size, limit, objective, how many may join in the next round,
    whether it moved); size −1 if there is no room. The factor of the support must be valid on entry, and is valid on
    return.
    """
    before = stood = size
    most = min(most, max(16, before if program.numbers[RIDGE] > 0.0 else before // 4))
    while True:
        size = _admit(program, scaled_query, work, before, limit, excess, 0.1 if most > 1 else 1.0, most)
        if size < 0:
            return size, limit, value, most, True
        if most == 1:
            size, limit, new_value, moved = _active_set_step(program, linear, work, stood, size)
            return size, limit, new_value, 2 if new_value < value else 1, moved
        admitted = size - before
        room = max(admitted, _FEW)
        _save_support(work, before)
        size, new_limit, new_value, stood = _exchange(program, linear, work, stood, size, room)
        if new_value < value:
            return size, new_limit, new_value, 2 * most, True
        _restore_support(work, before)
        most = max(min(most, admitted) // 4, 1)


@cached_njit(**_FAST)
def solve_with_matrix(program, work, queries, todo, max_rounds, codes):
    """Solve the queries ``todo`` of a block to the end, pricing through rows of the matrix.

    ``scaled_queries[q]``, if not empty, is the vector whose product with an atom is the exact entry of b. A query whose
    size is not zero starts from its support.
    """
    linear, scale, scaled_queries, linear_error, squares, banned, rank_one = queries
    support, code, found = codes
    b = work.linear
    for q in todo:
        scaled_query = scaled_queries[q]
        work.banned[0], work.rank_one[0] = banned[q], rank_one[q]
        largest = _load_linear(linear[q], scale[q], work)
        if found[q, 0] > 0:
            size = _load_support(work, int(found[q, 0]), support[q], code[q])
            _make_linear_exact(program, scaled_query, work, np.int64(0), size)
        else:
            size = _first_support(program, b, scaled_query, work)
        limit, value, rounds, polished, reached = 0.0, 0.0, int(found[q, 2]), 0, 0
        excess, most, moved = np.inf, linear.shape[1], True
        status = NEEDS_CAPACITY if size < 0 else UNFINISHED
        if size >= 0:
            size, limit, value, _ = _exchange(program, b, work, np.int64(0), size, np.int64(0))
        while status == UNFINISHED and rounds < max_rounds:
            rounds += 1
            if most == 1 and excess < 1e-6 * largest:
                # This close to the optimum, only the factor's accuracy may be missing.
                limit, _ = _polish(program, b, work, size, limit)
            _price(program, b, work, size)
            excess = _largest_excess(program, work, size, limit)
            excess = _recheck(program, b, scaled_query, linear_error[q], work, size, limit, excess)
            allowed, doubtful = _allowance(program, largest, work, size, squares[q], value, rounds)
            done = DOUBTFUL if doubtful else FINISHED
            if excess <= allowed:
                if program.tol > _COARSE:
                    status = done
                    break
                limit, shift = _polish(program, b, work, size, limit)
                # A code that moved is priced again, but not indefinitely.
                polished += 1
                status = done if shift < 1e-7 or polished > 3 else UNFINISHED
            elif not moved:
                allowed, _ = _allowance(program, largest, work, size, squares[q], value, np.int64(_MANY))
                status = done if excess <= allowed else STALLED
            else:
                reached = size
                size, limit, value, most, moved = _improve(
                    program, b, scaled_query, work, size, limit, value, excess, most
                )
                status = NEEDS_CAPACITY if size < 0 else UNFINISHED
        size = reached if size < 0 else size  # with more capacity it goes on from here
        found[q, 0], found[q, 1], found[q, 2] = size, status, rounds
        _store(work, size, support[q], code[q])


@njit(**_INNER)
def _largest_size(values):
    """max |values| above −∞; loops compile in a tenth of the time of NumPy's expressions."""
    largest = 0.0
    for value in values:
        if value > -np.inf:
            largest = max(largest, abs(value))
    return largest


@njit(**_INNER)
def _store(work, size, support, code):
    """Write the signed code in the order of the atoms: by insertion sort, which costs little next to the factor."""
    for i in range(size):
        atom, j = work.support[i], i
        while j > 0 and support[j - 1] > atom:
            support[j], code[j] = support[j - 1], code[j - 1]
            j -= 1
        support[j], code[j] = atom, work.sign[i] * work.code[i]


@njit(**_INNER)
def _load_support(work, size, support, code):
    """Read what `_store` wrote; return the size."""
    for i in range(size):
        work.support[i], work.sign[i], work.code[i] = support[i], -1.0 if code[i] < 0.0 else 1.0, abs(code[i])
    return size


@njit(**_INNER)
def _refine(program, query, residual, work, size, limit, pull_error):
    """Recompute pulls within ``pull_error`` norms of the limit in double precision, from the atoms."""
    atoms, pull = program.atoms, work.pull
    for k in range(query.size):
        residual[k] = query[k]
    for i in range(size):
        weight = program.numbers[GRAM] * work.sign[i] * work.code[i]
        for k in range(query.size):
            residual[k] -= weight * atoms[work.support[i], k]
    for j in range(pull.size):
        if abs(_strength(program, pull[j]) - limit) <= pull_error * program.norms[j]:
            total = 0.0
            for k in range(query.size):
                total += float(atoms[j, k]) * residual[k]
            pull[j] = total


@cached_njit(**_FAST)
def advance_without_matrix(program, work, queries, pulls, todo, max_rounds, codes):
    """One round for the queries ``todo``, where row i of ``pulls`` belongs to query ``todo[i]``.

    The first round starts a query, from its support if that has a size. Between rounds the caller prices all queries
    at once, by a matrix product; its error is zero if double precision needs no refinement.
    """
    pull, scale, pull_error = pulls
    support, code, found = codes
    residual = np.empty(queries.scaled_queries.shape[1])
    for row in range(todo.size):
        q, scaled_query = todo[row], pull_error[:0]  # b is exact already
        b, size, rounds, excess = queries.linear[q], int(found[q, 0]), int(found[q, 2]), np.inf
        if rounds == 0:
            begun = _load_support(work, size, support[q], code[q])
            size = begun if begun > 0 else _first_support(program, b, scaled_query, work)
            if size >= 0:
                size, _, _, _ = _exchange(program, b, work, np.int64(0), size, np.int64(0))
            status = NEEDS_CAPACITY if size < 0 else UNFINISHED
        else:
            size = _extend(program, b, work, np.int64(0), _load_support(work, size, support[q], code[q]))
            limit, value = _minimise(program, work, size)
            limit, _ = _polish(program, b, work, size, limit)
            for j in range(pull.shape[1]):
                work.pull[j] = scale[row] * pull[row, j]
            if pull_error[row] > 0.0:
                _refine(program, queries.scaled_queries[q], residual, work, size, limit, pull_error[row])
            excess = _largest_excess(program, work, size, limit)
            allowed, doubtful = _allowance(program, _largest_size(b), work, size, queries.squares[q], value, rounds)
            done = DOUBTFUL if doubtful else FINISHED
            status = done if excess <= allowed else UNFINISHED
            if status == UNFINISHED:
                most = int(found[q, 3]) if found[q, 3] > 0.0 else b.size
                size, limit, value, most, moved = _improve(
                    program, b, scaled_query, work, size, limit, value, excess, most
                )
                found[q, 3] = most
                status = NEEDS_CAPACITY if size < 0 else UNFINISHED
                if not moved:
                    allowed, _ = _allowance(
                        program, _largest_size(b), work, size, queries.squares[q], value, np.int64(_MANY)
                    )
                    status = done if excess <= allowed else STALLED
        if status == NEEDS_CAPACITY:
            rounds = -1  # to be restarted, with more capacity
        found[q, 0], found[q, 1], found[q, 2] = max(size, 0), status, rounds + 1
        _store(work, size, support[q], code[q])
