"""Numba leaves of the exact solver: one query at a time, small dense algebra in double precision.

The *pull* of an atom is its entry of b − Hc: how much the objective wants more of it. At the optimum no atom pulls
harder than −ν (simplex), 0 (orthant) or the ℓ1 weight (signed codes), and the atoms in use pull exactly that hard.

In order: the problem and the desk, the small problem on a support, the look at all atoms, the two entries. They share
a file because numba's cache on disk notices a change only in the file of the entry that it keeps.
"""

from collections import namedtuple

import numpy as np
from numba import njit

from ancr._kernels import BORROWING, simplex_threshold

_FAST = {"nogil": True, "error_model": "numpy", "fastmath": {"nnan", "reassoc", "contract", "nsz", "arcp"}}
# What Python calls is cached on disk; what only kernels call needs no wrapper, which saves a fifth of the compile time,
# and only borrows its arrays: counting who holds the twenty of a desk, at every call, took a third of the run time.
_ENTRY = {**_FAST, "cache": True}
_INNER = {**_FAST, "no_cpython_wrapper": True, "no_cfunc_wrapper": True, **BORROWING}

FINISHED, UNFINISHED, NEEDS_ROOM = 0, 1, 2
# A pivot below this share of the diagonal means that the atom depends on those in use.
_DEPENDENT = 1e-13
# Atoms whose hardest pull is noted together.
_RUN = 64
# With a tolerance above this the factor's accuracy will do.
_COARSE = 1e-5
# Rounds that no query needs unless it is held up by rounding.
_MANY = 200
# Atoms to begin with, at most.
_FIRST = 32

# Steps of a correlation of one in ``pricing``: all that two bytes hold, but for room for rounding in the matrix.
STEPS = 32_000

# The problem. ``matrix`` is H without the ridge. ``pricing`` holds its correlations H_ij / √(H_ii·H_jj) in whole
# steps: two bytes an entry, and a look at all atoms is a matter of bytes. Both are empty where they would not fit;
# then entries come from ``atoms``, weighted by ``weights[0]``, and by ``weights[1]`` on top within a class. ``kappa``
# is added to every entry of H on the simplex, where it changes nothing but makes affinely independent atoms linearly
# independent. ``lengths`` are √H_jj, ``norms`` the same without the ridge, ``longest`` and ``largest_norm`` the
# largest. ``shift`` is half the ℓ1 weight; ``signed`` lets codes be negative. ``tol`` is the relative gap to reach.
#
# A query's ``aim`` is target·y, so that b = Xᵀ·aim; empty where b is known to the last digit from the start. Else b is
# off by up to its ``blur``, and a priced pull by up to a ``band``, times the norm of the atom.
Form = namedtuple(
    "Form",
    "matrix pricing atoms weights labels lengths longest norms largest_norm ridge kappa shift on_simplex signed tol",
)

# What a query works on. ``support[:size]`` are the atoms in use, with ``sign`` and ``code`` > 0. ``factor`` is the
# Cholesky factor L of their block of H, ``ahead`` = L⁻¹b and ``ones`` = L⁻¹1, all in the order of ``support``.
# ``linear`` is b, to the last digit where ``known``: for atoms that were in use or in doubt. ``row`` is where a row of
# H is read to; ``weight`` and ``mix`` are what pricing adds up. ``banned[0]`` is an atom that this query must not use,
# −1 for none, and ``tilt[0]`` = τ adds τ·bbᵀ to its H: what leaving one sample out makes of the relaxed problem.
Desk = namedtuple(
    "Desk",
    "support sign code target factor ahead ones keep kept_support kept_sign kept_code pull hardest scratch row "
    "weight mix linear known banned tilt",
)


def make_desk(room, n_atoms):
    """Scratch for supports of up to ``room`` atoms; `_price` reads up to eight more, with weight zero."""
    return Desk(
        support=np.empty(room + 8, np.int64),
        sign=np.empty(room),
        code=np.empty(room),
        target=np.empty(room),
        factor=np.empty((room + 1, room)),
        ahead=np.empty(room),
        ones=np.empty(room),
        keep=np.empty(room + 1, np.bool_),
        kept_support=np.empty(room, np.int64),
        kept_sign=np.empty(room),
        kept_code=np.empty(room),
        pull=np.empty(n_atoms),
        hardest=np.empty(-(-n_atoms // _RUN)),
        scratch=np.empty(n_atoms),
        row=np.empty(room + 1),
        weight=np.empty(room + 8, np.float32),
        mix=np.empty(n_atoms, np.float32),
        linear=np.empty(n_atoms),
        known=np.empty(n_atoms, np.bool_),
        banned=np.full(1, -1, np.int64),
        tilt=np.zeros(1),
    )


@njit(**_INNER)
def _lay_out(linear, scale, desk):
    """Begin with b as it is known; return max |b|."""
    largest = 0.0
    for j in range(linear.size):
        desk.linear[j], desk.known[j] = scale * linear[j], False
        largest = max(largest, abs(desk.linear[j]))
    return largest


@njit(**_INNER)
def _make_exact(form, aim, desk, first, last):
    """b of the atoms ``support[first:last]`` to the last digit, where it comes from a product in single precision."""
    if aim.size == 0:
        return
    for i in range(first, last, 4):  # four at a time: waiting for their numbers to arrive is what takes long
        j0, j1 = desk.support[i], desk.support[min(i + 1, last - 1)]
        j2, j3 = desk.support[min(i + 2, last - 1)], desk.support[min(i + 3, last - 1)]
        b0, b1, b2, b3 = 0.0, 0.0, 0.0, 0.0
        for k in range(aim.size):
            b0 += form.atoms[j0, k] * aim[k]
            b1 += form.atoms[j1, k] * aim[k]
            b2 += form.atoms[j2, k] * aim[k]
            b3 += form.atoms[j3, k] * aim[k]
        desk.linear[j0], desk.linear[j1], desk.linear[j2], desk.linear[j3] = b0, b1, b2, b3
        desk.known[j0] = desk.known[j1] = desk.known[j2] = desk.known[j3] = True


@njit(**_INNER)
def _read_row(form, linear, desk, atom, size):
    """Put H without the ridge, between ``atom`` and the first ``size`` atoms in use, into ``desk.row``."""
    row, support = desk.row, desk.support
    if form.matrix.shape[0] > 0:
        entries = form.matrix[atom]
        for j in range(size):
            row[j] = entries[support[j]]
        if desk.tilt[0] != 0.0:
            own = desk.tilt[0] * linear[atom]
            for j in range(size):
                row[j] += own * linear[support[j]]
        return
    mine = form.atoms[atom]
    for j in range(size):
        total, other = 0.0, form.atoms[support[j]]
        for k in range(mine.size):
            total += float(mine[k]) * float(other[k])
        same = form.labels[atom] == form.labels[support[j]]
        row[j] = total * (form.weights[0] + (form.weights[1] if same else 0.0))


@njit(**_INNER)
def _extend(form, linear, desk, factored, size):
    """Factor rows ``factored:size``, leaving out atoms that depend on those before; return the new size."""
    kept = factored
    for i in range(factored, size):
        atom, sign = desk.support[i], desk.sign[i]
        row = desk.factor[kept]
        b, one, square = sign * linear[atom], 1.0, 0.0
        desk.support[kept] = atom  # `i` itself, or a place that an atom left out has made free
        _read_row(form, linear, desk, atom, kept + 1)
        for j in range(kept):
            other = desk.factor[j]
            inner = sign * desk.sign[j] * desk.row[j] + form.kappa
            for k in range(j):
                inner -= row[k] * other[k]
            inner /= other[j]
            row[j] = inner
            b -= inner * desk.ahead[j]
            one -= inner * desk.ones[j]
            square += inner * inner
        diagonal = desk.row[kept] + form.kappa + form.ridge
        if diagonal - square > _DEPENDENT * diagonal:
            pivot = np.sqrt(diagonal - square)
            row[kept], desk.ahead[kept], desk.ones[kept] = pivot, b / pivot, one / pivot
            desk.support[kept], desk.sign[kept], desk.code[kept] = atom, sign, desk.code[i]
            kept += 1
    return kept


@njit(**_INNER)
def _minimise(form, desk, size):
    """Put the minimiser on the support, free of sign, into ``target``; return (limit, objective).

    (H + κ)c = b + ν1, hence c = L⁻ᵀ(L⁻¹b + ν·L⁻¹1), with ν = −shift on the orthant and Σc = 1 on the simplex. The
    limit is how hard the atoms in use pull, and so how hard any atom may: b − Hc = κ − ν on the support.
    """
    cross, square = 0.0, 0.0
    for i in range(size):
        cross += desk.ahead[i] * desk.ones[i]
        square += desk.ones[i] * desk.ones[i]
    nu = (1.0 - cross) / square if form.on_simplex and size > 0 else -form.shift
    value = nu if form.on_simplex else 0.0
    for i in range(size):
        half = desk.ahead[i] + nu * desk.ones[i]
        value -= half * (desk.ahead[i] if form.on_simplex else half)
        desk.target[i] = half
    for i in range(size - 1, -1, -1):
        row = desk.factor[i]
        desk.target[i] /= row[i]
        last = desk.target[i]
        for k in range(i):
            desk.target[k] -= last * row[k]
    return form.kappa - nu, value


@njit(**_INNER)
def _unfactor(desk, p, size):
    """Take row ``p`` out of the ``size`` rows of the factor: rows move up, Givens rotations make it lower again."""
    factor, ahead, ones = desk.factor, desk.ahead, desk.ones
    for i in range(p, size - 1):
        for k in range(i + 2):
            factor[i, k] = factor[i + 1, k]
    for k in range(p, size - 1):
        a, b = factor[k, k], factor[k, k + 1]
        length = np.sqrt(a * a + b * b)
        c, s = a / length, b / length
        for i in range(k, size - 1):
            left, right = factor[i, k], factor[i, k + 1]
            factor[i, k], factor[i, k + 1] = c * left + s * right, c * right - s * left
        ahead[k], ahead[k + 1] = c * ahead[k] + s * ahead[k + 1], c * ahead[k + 1] - s * ahead[k]
        ones[k], ones[k + 1] = c * ones[k] + s * ones[k + 1], c * ones[k + 1] - s * ones[k]


@njit(**_INNER)
def _drop(desk, factored, size):
    """Remove the entries not marked in ``keep``; return (new size, rows of the factor that stand).

    A few are rotated out of the factor; many leave it standing only as far as the first of them.
    """
    left, first, gone = 0, size, 0
    for i in range(size):
        if desk.keep[i]:
            desk.support[left], desk.sign[left], desk.code[left] = desk.support[i], desk.sign[i], desk.code[i]
            left += 1
        else:
            first, gone = min(first, i), gone + (i < factored)
    if gone > 4:
        return left, first
    for i in range(factored - 1, -1, -1):
        if not desk.keep[i]:
            _unfactor(desk, i, factored)
            factored -= 1
    return left, factored


@njit(**_INNER)
def _exchange(form, linear, desk, factored, size):
    """Solve on the support and drop what turns negative, all at once, until nothing does.

    Return (size, limit, objective, rows of the factor that stood throughout).
    """
    stood = factored
    while True:
        size = _extend(form, linear, desk, factored, size)
        limit, value = _minimise(form, desk, size)
        for i in range(size):
            desk.keep[i] = desk.target[i] > 0.0
            desk.code[i] = desk.target[i]
        first = size
        for i in range(size - 1, -1, -1):
            first = first if desk.keep[i] else i
        if first == size:
            return size, limit, value, stood
        stood = min(stood, first)
        size, factored = _drop(desk, size, size)


@njit(**_INNER)
def _swap_in(desk, size, newcomer, sign):
    """Trade a newcomer that depends on the support for the first atom that the trade empties.

    x_new = Σ a_i x_i, so c_new = τ, c_i − τ·a_i represents the same point. Only the ℓ1 problem asks for it: there
    such an atom can be cheaper. Return the position that it empties, −1 if there is none.
    """
    a = desk.target
    for i in range(size):
        a[i] = desk.factor[size, i]  # L⁻¹·H_new, left there by `_extend`
    for i in range(size - 1, -1, -1):
        a[i] /= desk.factor[i, i]
        for k in range(i):
            a[k] -= a[i] * desk.factor[i, k]
    step, blocking = np.inf, -1
    for i in range(size):
        if a[i] > 1e-12 and desk.code[i] < step * a[i]:
            step, blocking = desk.code[i] / a[i], i
    if blocking >= 0:
        for i in range(size):
            desk.code[i] = max(desk.code[i] - step * a[i], 0.0)
            desk.keep[i] = i != blocking
        desk.keep[size] = True
        desk.support[size], desk.sign[size], desk.code[size] = newcomer, sign, step
    return blocking


@njit(**_INNER)
def _careful_step(form, linear, desk, factored, size):
    """Take in the one atom at ``size − 1`` and go to the minimiser, stopping at every bound on the way.

    The textbook active-set step: the objective never rises. Return (size, limit, objective, whether it moved).
    """
    newcomer, sign = desk.support[size - 1], desk.sign[size - 1]
    while True:
        before = size
        size = _extend(form, linear, desk, factored, size)
        limit, value = _minimise(form, desk, size)
        if size < before:
            if size != before - 1 or _swap_in(desk, size, newcomer, sign) < 0:
                return size, limit, value, False
            size, factored = _drop(desk, size, before)
            continue
        step, blocking = 1.0, -1
        for i in range(size):
            if desk.target[i] <= 0.0:
                share = desk.code[i] / (desk.code[i] - desk.target[i]) if desk.code[i] > 0.0 else 0.0
                if share <= step:
                    step, blocking = share, i
        for i in range(size):
            desk.code[i] += step * (desk.target[i] - desk.code[i])
            desk.keep[i] = i != blocking
        if blocking < 0 or desk.support[blocking] == newcomer:
            return size, limit, value, blocking < 0
        size, factored = _drop(desk, size, size)


@njit(**_INNER)
def _polish(form, linear, desk, size, limit):
    """Iterative refinement on the support: takes code and limit from the factor's accuracy to the data's.

    Return the limit and how far the code moved, relative to its largest entry.
    """
    misfit, moved = desk.target, 0.0
    for _ in range(2):
        missing, level = 1.0, 0.0
        for i in range(size):
            atom, sign = desk.support[i], desk.sign[i]
            pull = sign * linear[atom] - form.ridge * desk.code[i]
            _read_row(form, linear, desk, atom, size)
            for j in range(size):
                pull -= desk.code[j] * sign * desk.sign[j] * desk.row[j]
            misfit[i] = pull
            missing -= desk.code[i]
            level += desk.code[i] * pull
        limit = level / (1.0 - missing) if form.on_simplex else form.shift
        cross, square = 0.0, 0.0
        for i in range(size):  # L⁻¹·misfit
            row = desk.factor[i]
            misfit[i] -= limit
            for k in range(i):
                misfit[i] -= row[k] * misfit[k]
            misfit[i] /= row[i]
            cross += misfit[i] * desk.ones[i]
            square += desk.ones[i] * desk.ones[i]
        change = (missing - cross) / square if form.on_simplex else 0.0
        for i in range(size - 1, -1, -1):  # L⁻ᵀ
            row = desk.factor[i]
            misfit[i] = (misfit[i] + change * desk.ones[i]) / row[i]
            for k in range(i):
                misfit[k] -= misfit[i] * row[k]
        largest, step = 1e-300, 0.0
        for i in range(size):
            largest, step = max(largest, desk.code[i]), max(step, abs(misfit[i]))
        if step > 1e-3 * largest:
            break  # rounding, blown up by atoms that all but depend on each other
        for i in range(size):
            desk.code[i] = max(desk.code[i] + misfit[i], 0.0)
        moved = max(moved, step / largest)
        limit += form.kappa * missing - change  # all atoms in use pull so hard now
        if step < 1e-9 * largest:
            break  # the next step would be as much smaller again
    return limit, moved


@njit(**_INNER)
def _keep_copy(desk, size):
    for i in range(size):
        desk.kept_support[i], desk.kept_sign[i], desk.kept_code[i] = (
            desk.support[i],
            desk.sign[i],
            desk.code[i],
        )


@njit(**_INNER)
def _restore_copy(desk, size):
    for i in range(size):
        desk.support[i], desk.sign[i], desk.code[i] = (
            desk.kept_support[i],
            desk.kept_sign[i],
            desk.kept_code[i],
        )


@njit(**_INNER)
def _level(linear, desk, size):
    """1 − τ·bᵀc: the tilt only scales b in b − Hc."""
    level = 0.0
    if desk.tilt[0] != 0.0:
        for i in range(size):
            level += desk.sign[i] * desk.code[i] * linear[desk.support[i]]
    return 1.0 - desk.tilt[0] * level


@njit(**_INNER)
def _span(lengths, desk, size):
    """Σ c_j √H_jj, which bounds √(cᵀHc)."""
    span = 0.0
    for i in range(size):
        span += desk.code[i] * lengths[desk.support[i]]
    return span


@njit(**_INNER)
def _price(form, linear, desk, size):
    """Pull of all atoms, less the ridge, through ``size`` rows of correlations, eight at a time.

    With weights c_i √H_ii that are made to sum to one, no number here depends on the scale of the data.
    """
    weight, support, mix, n = desk.weight, desk.support, desk.mix, linear.size
    span = _span(form.norms, desk, size)
    share = 1.0 / span if span > 0.0 else 0.0
    for i in range(size):
        weight[i] = share * desk.sign[i] * desk.code[i] * form.norms[support[i]]
    for i in range(size, size + 8):
        weight[i], support[i] = 0.0, 0
    for i in range(0, max(size, 1), 8):
        w0, w1, w2, w3 = weight[i], weight[i + 1], weight[i + 2], weight[i + 3]
        w4, w5, w6, w7 = weight[i + 4], weight[i + 5], weight[i + 6], weight[i + 7]
        r0, r1 = form.pricing[support[i]], form.pricing[support[i + 1]]
        r2, r3 = form.pricing[support[i + 2]], form.pricing[support[i + 3]]
        r4, r5 = form.pricing[support[i + 4]], form.pricing[support[i + 5]]
        r6, r7 = form.pricing[support[i + 6]], form.pricing[support[i + 7]]
        for j in range(n):
            first = w0 * np.float32(r0[j]) + w1 * np.float32(r1[j]) + w2 * np.float32(r2[j]) + w3 * np.float32(r3[j])
            last = w4 * np.float32(r4[j]) + w5 * np.float32(r5[j]) + w6 * np.float32(r6[j]) + w7 * np.float32(r7[j])
            mix[j] = first + last if i == 0 else mix[j] + (first + last)
    level, step = _level(linear, desk, size), span / STEPS
    for j in range(n):
        desk.pull[j] = level * linear[j] - step * form.norms[j] * mix[j]


@njit(**_INNER)
def _strength(form, pull):
    """How hard an atom pulls, in either direction where codes are signed; −inf for one that is not to be asked."""
    return abs(pull) if form.signed and pull != -np.inf else pull


@njit(**_INNER)
def _largest_excess(form, desk, size, limit):
    """The hardest pull beyond the limit, over all atoms outside the support.

    Leaves the hardest pull of every run of ``_RUN`` atoms in ``desk.hardest``, for `_admit` to skip most runs.
    """
    pull, n = desk.pull, desk.pull.size
    for i in range(size):  # atoms in use pull as they should, up to the ridge that pricing leaves out
        pull[desk.support[i]] = -np.inf
    if desk.banned[0] >= 0:
        pull[desk.banned[0]] = -np.inf
    excess = -np.inf
    for run in range(desk.hardest.size):
        hardest = -np.inf
        for j in range(run * _RUN, min((run + 1) * _RUN, n)):
            hardest = max(hardest, _strength(form, pull[j]))
        desk.hardest[run] = hardest
        excess = max(excess, hardest - limit)
    return excess


@njit(**_INNER)
def _settle(form, linear, aim, blur, desk, size, limit, excess):
    """Where rounding could hide an excess, or invent one, redo those pulls in double.

    It can be ``blur`` in b, and in the matrix half a step an entry and a thousandth for every addition in single
    precision: half a unit in the last place of a number below 2¹⁵.
    """
    band = blur + (0.6 + 1e-3 * size) / STEPS * _span(form.norms, desk, size)
    if excess > 8.0 * band * form.largest_norm:
        return excess  # surely there, and near enough to what it is
    pull, excess = desk.pull, -np.inf
    for run in range(desk.hardest.size):
        if desk.hardest[run] - limit > -band * form.largest_norm:
            desk.hardest[run] = -np.inf
            for j in range(run * _RUN, min((run + 1) * _RUN, pull.size)):
                if _strength(form, pull[j]) - limit > -band * form.norms[j]:
                    if not desk.known[j]:
                        desk.support[size] = j
                        _make_exact(form, aim, desk, size, size + 1)
                    _read_row(form, linear, desk, j, size)
                    pull[j] = linear[j]
                    for i in range(size):
                        pull[j] -= desk.sign[i] * desk.code[i] * desk.row[i]
                desk.hardest[run] = max(desk.hardest[run], _strength(form, pull[j]))
            excess = max(excess, desk.hardest[run] - limit)
    return excess


@njit(**_INNER)
def _allowance(form, largest, desk, size, square, rounds):
    """Excess that can be left: a hundredth of what the tolerance on the gap allows, never below rounding.

    A query that is still running after ``_MANY`` rounds has met rounding in its data: a quarter then, which is safe.

    The gap is at most 2·excess·Σc, compared with ‖y‖² + (Σ c_j √H_jj)²; ``square`` is ‖y‖², ``largest`` max |b|.
    """
    total, span = 0.0, _span(form.lengths, desk, size)
    for i in range(size):
        total += desk.code[i]
    span += 1.2e-4 * form.longest if form.on_simplex else 0.0
    rounding = 32.0 * 2.2e-16 * (largest + span * form.longest) + 4.0 * 2.2e-16 * form.kappa
    wanted = (square + span * span) / total if total > 0.0 else largest
    return max((0.01 if rounds < _MANY else 0.25) * form.tol * wanted, rounding)


@njit(**_INNER)
def _admit(form, aim, desk, size, limit, excess, share, most):
    """Append up to ``most`` atoms whose excess is at least ``share`` of the largest, the hardest pulls first.

    Return the new size, −1 for no room.
    """
    pull, found, count = desk.pull, desk.scratch, 0
    least = share * excess
    for run in range(desk.hardest.size):
        if desk.hardest[run] - limit >= least:
            for j in range(run * _RUN, min((run + 1) * _RUN, pull.size)):
                found[count] = j  # branchless: written always, counted only when above
                count += _strength(form, pull[j]) - limit >= least
    while count > most:
        # Too many: ask for more of each. Ties at the very top are cut off where they stand.
        share = 0.5 * (1.0 + share)
        least, above = share * excess, 0
        for i in range(count):
            j = int(found[i])
            found[above] = j
            above += _strength(form, pull[j]) - limit >= least
        count = min(above, most) if share > 1.0 - 1e-6 else above
    if size + count > desk.target.size:
        return -1
    for i in range(count):
        j = int(found[i])
        desk.support[size + i], desk.code[size + i] = j, 0.0
        desk.sign[size + i] = -1.0 if form.signed and pull[j] < 0 else 1.0
    _make_exact(form, aim, desk, size, size + count)
    return size + count


@njit(**_INNER)
def start(form, linear, aim, desk):
    """Atoms to begin with: the largest b, above a simplex threshold; return their number, −1 for no room.

    A strong ridge spreads the code over many atoms, about those of the threshold of radius λ. Otherwise at most
    ``_FIRST`` will do, above the threshold of the hardest pulls of every run, which is quicker to find.
    """
    for j in range(linear.size):
        desk.pull[j] = linear[j]
    largest = _largest_excess(form, desk, 0, 0.0)
    if not form.on_simplex and largest <= form.shift:
        return 0
    strong = form.ridge > 0.25 * largest and not form.signed
    values = desk.pull if strong else desk.hardest
    radius = form.ridge + abs(largest) / 8.0 + 1e-300
    threshold = simplex_threshold(values, radius, largest - radius)
    threshold = min(threshold if form.on_simplex else max(threshold, form.shift), largest)
    most = linear.size if strong else min(_FIRST, desk.target.size)
    return _admit(form, aim, desk, 0, threshold, largest - threshold, 0.0, most)


@njit(**_INNER)
def _improve(form, linear, aim, desk, size, limit, value, excess, careful):
    """One round: admit atoms, exchange, and fall back on the careful step where that did not lower the objective.

    Return (size, limit, objective, careful from now on, whether it moved); size −1 for no room. The factor of the
    support must stand when it is called, and stands when it returns.
    """
    before = stood = size
    while True:
        most = 1 if careful else max(16, before if form.ridge > 0.0 else before // 4)
        size = _admit(form, aim, desk, before, limit, excess, 1.0 if careful else 0.1, most)
        if size < 0:
            return size, limit, value, careful, True
        if careful:
            size, limit, new_value, moved = _careful_step(form, linear, desk, stood, size)
            return size, limit, new_value, not new_value < value, moved
        _keep_copy(desk, before)
        size, new_limit, new_value, stood = _exchange(form, linear, desk, before, size)
        if new_value < value:
            return size, new_limit, new_value, False, True
        _restore_copy(desk, before)
        careful = True


@njit(**_ENTRY)
def solve_with_matrix(
    form, desk, linear, scale, aims, blur, squares, todo, banned, tilt, max_rounds, support, code, found
):
    """Solve the queries ``todo`` of a block to the end, pricing through rows of the matrix.

    b of query q is ``scale[q]·linear[q]``, up to ``blur[q]`` times an atom's norm where ``aims[q]`` has the vector
    whose product with an atom is the exact entry. ``found[q]`` receives (size, status, rounds) of query q,
    ``support[q]`` and ``code[q]`` its signed code. A query whose size is not zero begins with the support it has.
    """
    b = desk.linear
    for q in todo:
        aim = aims[q]
        desk.banned[0], desk.tilt[0] = banned[q], tilt[q]
        largest = _lay_out(linear[q], scale[q], desk)
        if found[q, 0] > 0:
            size = _take_up(desk, int(found[q, 0]), support[q], code[q])
            _make_exact(form, aim, desk, 0, size)
        else:
            size = start(form, b, aim, desk)
        limit, value, rounds, polished = 0.0, 0.0, 0, 0
        excess, careful, moved = np.inf, False, True
        status = NEEDS_ROOM if size < 0 else UNFINISHED
        if size >= 0:
            size, limit, value, _ = _exchange(form, b, desk, 0, size)
        while status == UNFINISHED and rounds < max_rounds:
            rounds += 1
            if careful and excess < 1e-6 * largest:
                # So close to the end the factor's accuracy may be all that is missing.
                limit, _ = _polish(form, b, desk, size, limit)
            _price(form, b, desk, size)
            excess = _largest_excess(form, desk, size, limit)
            excess = _settle(form, b, aim, blur[q], desk, size, limit, excess)
            if excess <= _allowance(form, largest, desk, size, squares[q], rounds):
                if form.tol > _COARSE:
                    status = FINISHED
                    break
                limit, shift = _polish(form, b, desk, size, limit)
                # A code that moved is priced once more, but not for ever.
                polished += 1
                status = FINISHED if shift < 1e-7 or polished > 3 else UNFINISHED
            elif not moved:
                if excess <= _allowance(form, largest, desk, size, squares[q], _MANY):
                    status = FINISHED
                break
            else:
                size, limit, value, careful, moved = _improve(form, b, aim, desk, size, limit, value, excess, careful)
                status = NEEDS_ROOM if size < 0 else UNFINISHED
        found[q, 0], found[q, 1], found[q, 2] = max(size, 0), status, rounds
        _store(desk, size, support[q], code[q])


@njit(**_INNER)
def _largest_size(values):
    """max |values|; loops compile in a tenth of the time of NumPy's expressions."""
    largest = 0.0
    for value in values:
        largest = max(largest, abs(value))
    return largest


@njit(**_INNER)
def _store(desk, size, support, code):
    """Write the signed code in the order of the atoms: by insertion, which costs nothing beside the factor."""
    for i in range(size):
        atom, j = desk.support[i], i
        while j > 0 and support[j - 1] > atom:
            support[j], code[j] = support[j - 1], code[j - 1]
            j -= 1
        support[j], code[j] = atom, desk.sign[i] * desk.code[i]


@njit(**_INNER)
def _take_up(desk, size, support, code):
    """Read what `_store` wrote; return the size."""
    for i in range(size):
        desk.support[i], desk.sign[i], desk.code[i] = support[i], -1.0 if code[i] < 0.0 else 1.0, abs(code[i])
    return size


@njit(**_INNER)
def _refine(form, query, residual, desk, size, limit, band):
    """Compute pulls within ``band`` norms of the limit again in double precision, from the atoms."""
    atoms, pull = form.atoms, desk.pull
    for k in range(query.size):
        residual[k] = query[k]
    for i in range(size):
        weight = form.weights[0] * desk.sign[i] * desk.code[i]
        for k in range(query.size):
            residual[k] -= weight * atoms[desk.support[i], k]
    for j in range(pull.size):
        if abs(_strength(form, pull[j]) - limit) <= band * form.norms[j]:
            total = 0.0
            for k in range(query.size):
                total += float(atoms[j, k]) * residual[k]
            pull[j] = total


@njit(**_ENTRY)
def advance_without_matrix(
    form, desk, queries, linear, squares, pull, scale, band, todo, max_rounds, support, code, found
):
    """One round for the queries ``todo``, whose pulls under their present codes are the rows of ``pull``, scaled.

    With no round behind it a query is started. The caller prices all queries at once, by a matrix product, in
    between; ``band`` bounds that product's error for an atom of unit norm, zero where double precision needs no
    refinement. Of these arrays, and of queries and b, row i belongs to query ``todo[i]``.
    """
    residual = np.empty(queries.shape[1])
    for row in range(todo.size):
        q, aim = todo[row], band[:0]  # b needs no looking up
        b, size, rounds, excess = linear[row], int(found[q, 0]), int(found[q, 2]), np.inf
        if rounds == 0:
            size = start(form, b, aim, desk)
            if size >= 0:
                size, _, _, _ = _exchange(form, b, desk, 0, size)
            status = NEEDS_ROOM if size < 0 else UNFINISHED
        else:
            size = _extend(form, b, desk, 0, _take_up(desk, size, support[q], code[q]))
            limit, value = _minimise(form, desk, size)
            limit, _ = _polish(form, b, desk, size, limit)
            for j in range(pull.shape[1]):
                desk.pull[j] = scale[row] * pull[row, j]
            if band[row] > 0.0:
                _refine(form, queries[row], residual, desk, size, limit, band[row])
            excess = _largest_excess(form, desk, size, limit)
            allowed = _allowance(form, _largest_size(b), desk, size, squares[q], rounds)
            status = FINISHED if excess <= allowed else UNFINISHED
            if status == UNFINISHED:
                careful = found[q, 3] > 0.0
                size, limit, value, careful, moved = _improve(form, b, aim, desk, size, limit, value, excess, careful)
                found[q, 3] = careful
                status = NEEDS_ROOM if size < 0 else UNFINISHED
                if not moved:
                    good = excess <= _allowance(form, _largest_size(b), desk, size, squares[q], _MANY)
                    status, rounds = (FINISHED, rounds) if good else (status, max_rounds)
        if status == NEEDS_ROOM:
            rounds = -1  # begun again, with more room
        found[q, 0], found[q, 1], found[q, 2] = max(size, 0), status, rounds + 1
        _store(desk, size, support[q], code[q])
