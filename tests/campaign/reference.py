"""An independent reference in long double: least squares over a set, by an active-set method on QR factors.

Every problem of the family is min ‖t − Ac‖² + Σμ_j|c_j| + Σq_j·c_j for a matrix A with one column per atom, in which
the ridge and the class terms are further rows. Where Σc = 1, columns and target are taken about the atoms' mean. The
reference is judged by its own lower bound: ``Reference.gap`` bounds its value minus the minimum, so a problem on which
the reference fails is known to be undecided.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ancr.axes.quadratics import QUADRATICS
from ancr.axes.sets import SETS, named_set

REAL = np.longdouble
EPS = np.finfo(REAL).eps
DOUBLE = np.finfo(float).eps
# A column that the others represent to this accuracy is one of their span: 1e4 roundings, 4 digits beyond double's.
DEPENDENT = 1e4 * EPS


@dataclass(frozen=True)
class Reference:
    """The optimum of one query.

    Attributes
    ----------
    value : longdouble
        Objective at a code in the set, so never less than the minimum.
    gap : longdouble
        Bound on ``value`` minus the minimum.
    condition : float
        Condition number of the problem at its optimum, see `condition_number`.
    rank_is_numerical : bool
        Whether singular values of all atoms lie below the rounding of the largest, and are not zero.
    """

    value: REAL
    gap: REAL
    condition: float
    rank_is_numerical: bool = False


class LeastSquares:
    """min ‖t − Ac‖² + Σμ_j|c_j| + Σq_j·c_j over one of the four sets, for a query at a time.

    Parameters
    ----------
    atoms : ndarray of shape (n_atoms, n_features)
    settings : dict
        Arguments of `ancr.solve`; without a relaxation. ``sample_weight`` divides what atoms pay, ``paid`` are prices
        of atoms, and ``classes`` has those that ``labels`` lack, too: their terms are constants.
    dtype : dtype or None
        The precision given, if it is not that of the atoms.
    centre : ndarray or None
        The origin on Σc = 1 without class terms; None means the mean atom.
    """

    is_relaxed = False

    def __init__(self, atoms, settings, dtype=None, centre=None):
        self.settings, self.dtype = settings, dtype or atoms.dtype
        self.digits, self.tiny = 30 if self.dtype == np.float32 else 1, np.finfo(self.dtype).tiny
        self.given = atoms = atoms.astype(REAL)
        self.labels = settings.get("labels", np.zeros(len(atoms), int))
        self.classes = settings.get("classes", np.unique(self.labels))
        self.weights = QUADRATICS[settings["quadratic"]](settings["alpha"], settings["beta"], len(self.classes))
        self.set = named_set(settings["constraint"])
        share = 1 / np.asarray(settings.get("sample_weight", np.ones(len(atoms))), REAL)
        self.ridges, self.ridge = REAL(self.weights.ridge) * share, REAL(self.weights.ridge) * share.min()
        self.paid = np.asarray(settings.get("paid", np.zeros(len(atoms))), REAL)
        self.is_priced = "paid" in settings
        self.centre = np.zeros(atoms.shape[1], REAL)
        if self.is_centred:
            self.centre = atoms.mean(axis=0) if centre is None else centre.astype(REAL)
        self.atoms = atoms - self.centre
        self.absolute = REAL(self.weights.absolute) * share
        self.columns = self._columns()
        self.lengths = np.sqrt(np.sum(self.columns**2, axis=0))

    @property
    def is_centred(self):
        """Whether the origin does not matter, so that atoms and queries are taken about the atoms' mean."""
        return self.set.sums_to_one and not self.weights.blocks and not self.is_relaxed

    def _columns(self):
        weights = self.weights
        rows = [np.sqrt(REAL(weights.gram)) * self.atoms.T] if weights.gram else []
        if weights.blocks:
            rows += [np.sqrt(REAL(weights.blocks)) * self.atoms.T * (self.labels == k) for k in self.classes]
        if weights.ridge:
            rows.append(np.diag(np.sqrt(self.ridges)))
        return np.vstack(rows)

    def target(self, query):
        """t of a query."""
        weights, query = self.weights, query.astype(REAL) - self.centre
        parts = [REAL(weights.target) / np.sqrt(REAL(weights.gram)) * query] if weights.gram else []
        if weights.blocks:
            aim = 0.0 if weights.gram else REAL(weights.target) / np.sqrt(REAL(weights.blocks))
            parts += [aim * query] * len(self.classes)
        return np.concatenate([*parts, np.zeros(len(self.columns) - sum(map(len, parts)), REAL)])

    def size(self, query):
        """‖y − centre‖², to which errors are relative; where class terms or a relaxation forbid a centre, ‖y‖²."""
        return np.sum((query.astype(REAL) - self.centre) ** 2)

    def objective(self, target, code):
        """‖t − Ac‖² + Σμ_j|c_j| + Σq_j·c_j."""
        return np.sum((target - self.columns @ code) ** 2) + np.sum(self.absolute * np.abs(code)) + self.paid @ code

    def repaired(self, code):
        """The code moved into the set, and how far outside it was, relative to Σ|c_j| where that exceeds one."""
        inside = np.maximum(code, 0) if self.set.nonnegative else code
        violation = np.max(inside - code, initial=0)
        if self.set.sums_to_one:
            total = np.sum(inside)
            violation = max(violation, np.abs(total - 1))
            if not self.set.nonnegative:
                inside = inside + (1 - total) / len(inside)
            else:
                inside = inside / total if total > 0 else np.full_like(inside, REAL(1) / len(inside))
        return inside, violation / max(1, np.sum(np.abs(code)))

    def value_in_double(self, query, start):
        """The optimum for atoms of the numerical rank, which differ from those given by the rounding of each."""
        reduced, centre, basis = self._of_numerical_rank
        part = (query.astype(REAL) - centre) @ basis
        # What lies outside the span of these atoms is the same for every code.
        outside = self._constant_square(query.astype(REAL) - centre) - reduced._constant_square(part)
        return reduced.solve(part, start).value + outside

    def _constant_square(self, query):
        """The objective of the zero code, for a query that needs no centre."""
        weights, square = self.weights, np.sum(query**2)
        parts = REAL(weights.target) ** 2 / REAL(weights.gram) * square if weights.gram else 0
        if weights.blocks and not weights.gram:
            parts = len(self.classes) * REAL(weights.target) ** 2 / REAL(weights.blocks) * square
        return parts

    @cached_property
    def _of_numerical_rank(self):
        """The same problem in coordinates of the span, the centre and the basis of that."""
        centre = self.given.mean(axis=0) if self.is_centred else np.zeros(self.given.shape[1], REAL)
        atoms = self.given - centre
        lengths = np.sqrt(np.sum(atoms**2, axis=1, keepdims=True))
        lengths[lengths <= 8 * DOUBLE * np.max(np.abs(self.given), initial=0)] = np.inf
        _, values, right = np.linalg.svd((atoms / lengths).astype(float), full_matrices=False)
        kept = values > 4 * DOUBLE * np.sqrt(atoms.size) * values[0]
        basis = orthonormal(right[kept].T.astype(REAL))[0]
        near = np.where(np.isfinite(lengths), atoms @ basis, 0)
        return type(self)(near, self.settings, self.dtype), centre, basis

    def solve(self, query, start):
        """The optimum of a query, from the support of a code."""
        target = self.target(query)
        start = self.repaired(np.where(np.isfinite(start), start, 0).astype(REAL))[0]
        if self.absolute.any() and not self.set.nonnegative:
            return self._solve_signed(target, start)
        each = self.absolute + self.paid
        code, support = _ActiveSet(self.columns, target, each, self.set).run(start)
        if self.is_priced and not self.set.nonnegative:
            gap = self._gap_by_ridge(target, code)
        else:
            gap = lower_bound_gap(self.columns, target, code, each, self.set, self.ridges)
        condition = self._condition(target, code, support)
        # Large weights that cancel cost digits even here; the value is to be one that the code does not exceed.
        rounding = 64 * EPS * (np.sqrt(np.sum(target**2)) + np.sum(np.abs(code) * self.lengths))
        value = (np.sqrt(np.sum((target - self.columns @ code) ** 2)) + rounding) ** 2 + each @ code
        return Reference(value, gap, condition, self.rank_is_numerical)

    def _gap_by_ridge(self, target, code):
        """‖p‖²/λ with the pulls p, on Σc = 1 less their mean; infinite without a ridge."""
        pull = self.columns.T @ (target - self.columns @ code) - self.paid / 2
        pull = pull - pull.mean() if self.set.sums_to_one else pull
        return pull @ pull / self.ridge if self.ridge else REAL(np.inf)

    @cached_property
    def rank_is_numerical(self):
        """Whether rounding decides how many directions the atoms have, on the sets whose bounds depend on it."""
        if (self.set.nonnegative and self.set.sums_to_one) or self.absolute.any() or not np.any(self.given):
            return False
        ridge_counts = self.ridge > DOUBLE * np.max(np.sum(self.atoms**2, axis=1))
        # With class terms the origin stays, but on Σc = 1 codes still move between atoms alone.
        about_mean = self.given - self.given.mean(axis=0)
        for atoms in [self.given] * (not self.is_centred) + [about_mean] * self.set.sums_to_one:
            values = np.linalg.svd((atoms / np.max(np.abs(self.given))).astype(float), compute_uv=False)
            if not ridge_counts and np.any(values <= 4 * DOUBLE * np.sqrt(atoms.size) * values[0]):
                return True
        return False

    def _solve_signed(self, target, start):
        """‖c‖₁ on the free set: c = c⁺ − c⁻ with both non-negative."""
        doubled = np.hstack([self.columns, -self.columns])
        parts = np.concatenate([np.maximum(start, 0), np.maximum(-start, 0)])
        each, ridges = np.tile(self.absolute, 2), np.tile(self.ridges, 2)
        code, support = _ActiveSet(doubled, target, each, SETS["nonnegative"]).run(parts)
        gap = lower_bound_gap(doubled, target, code, each, SETS["nonnegative"], ridges)
        code = code[: len(start)] - code[len(start) :]
        return Reference(self.objective(target, code), gap, self._condition(target, code, support % len(start)))

    def _underflows(self, code):
        """Whether entries that matter are too small for the precision given."""
        share = np.abs(code) * self.lengths
        return bool(np.any((np.abs(code) < self.tiny) & (share > 1e-6 * np.max(share))))

    def _condition(self, target, code, support):
        if self._underflows(code) or (self.rank_is_numerical and not self.set.nonnegative):
            return np.inf
        if self.weights.ridge and not self.set.nonnegative and len(support) < len(code):
            return np.inf  # the ridge is lost in rounding, but should make H definite
        linear = not (self.set.has_inequalities or self.absolute.any())
        support = np.arange(len(code)) if linear else support
        reach = np.max(self.lengths, initial=0) if self.set.nonnegative and self.set.sums_to_one else 0
        reach = max(reach, np.sum(np.abs(code) * self.lengths))
        size, total = np.sqrt(np.sum(target**2)), np.sum(np.abs(code)) if self.set.sums_to_one else 0
        plane = self.set.sums_to_one and not self.weights.blocks  # class terms depend on the origin
        reach = max(reach, total * size)
        number = condition_number(self.columns[:, support], plane, reach, size, self.digits, dependent=linear)
        used = self.lengths[np.abs(code) > 0]
        if not (linear or self.set.sums_to_one) and len(used) and np.min(used) > 0:
            # A pull of the longest atom is rounded by more than the shortest one in use can gain.
            number = max(number, float(min((np.max(self.lengths) / np.min(used)) ** 2, REAL(1e300))))
        if self.absolute.any():  # pulls that cancel to half the ℓ1 weight
            number = max(number, float((2 * np.max(np.abs(target @ self.columns)) / self.absolute.min()) ** 4))
        return number


class RelaxedLeastSquares(LeastSquares):
    """min ‖y − Xc‖² + λ‖c‖² + γ/2·‖c − z‖² with z in the set, as a problem in z alone.

    With μ = λ + γ/2, LLᵀ = XXᵀ + μI and w = 2λ/γ it is γ/2/(1 + w) times ‖(1 + w)L⁻¹y − L⁻¹Xz‖² + w‖z‖²; the value is
    computed from c and z as the problem states it, and compared with that.
    """

    is_relaxed = True  # c need not sum to one, so there is no centre

    def __init__(self, atoms, settings, dtype=None):
        self.half = REAL(settings["relaxation"]) / 2
        super().__init__(atoms, settings, dtype)

    def _columns(self):
        ridge = REAL(self.weights.ridge)
        self.share = 1 + ridge / self.half
        self.factor = cholesky(
            self.atoms.T @ self.atoms + (ridge + self.half) * np.eye(self.atoms.shape[1], dtype=REAL)
        )
        self.whitened = forward(self.factor, self.atoms.T)
        weight = np.sqrt(self.half / self.share)
        return np.vstack(
            [weight * self.whitened, weight * np.sqrt(ridge / self.half) * np.eye(len(self.atoms), dtype=REAL)]
        )

    def target(self, query):
        """t of a query."""
        white = forward(self.factor, query.astype(REAL)[:, None])[:, 0]
        return np.concatenate([np.sqrt(self.half / self.share) * self.share * white, np.zeros(len(self.atoms), REAL)])

    def pair_objective(self, query, code, member):
        """The objective at (c, z), written out."""
        misfit = np.sum((query.astype(REAL) - code @ self.atoms) ** 2)
        return misfit + REAL(self.weights.ridge) * np.sum(code**2) + self.half * np.sum((code - member) ** 2)

    def solve(self, query, start):
        """The optimum of a query, with the value of the best pair (c, z)."""
        target = self.target(query)
        start = self.repaired(np.where(np.isfinite(start), start, 0).astype(REAL))[0]
        member, support = _ActiveSet(self.columns, target, self.absolute, self.set).run(start)
        gap = lower_bound_gap(self.columns, target, member, self.absolute, self.set, self.ridges / self.share)
        code = self._near(target, member)
        value = self.pair_objective(query, code, member)
        # In exact arithmetic the value exceeds that of the problem in z by what no z can change.
        constant = self._constant(query, target)
        gap = gap + np.abs(value - constant - self.objective(target, member))
        # In rounding c and z differ, at this price.
        rounding = np.sqrt(self.half + REAL(self.weights.ridge)) * np.sum(np.abs(code) + member)
        spread = condition_number(self.columns[:, :0], False, rounding, np.sqrt(self.size(query)))
        # c moves by a rounding of z times this.
        amplified = max(1, np.max(np.sum(self.atoms**2, axis=1)) / (self.half + REAL(self.weights.ridge)))
        number = float(min(max(spread, self._condition(target, member, support)) * amplified, REAL(1e300)))
        return Reference(value, gap, number)

    def _near(self, target, member):
        """The best c for a z."""
        white = (target - self.columns @ member)[: self.atoms.shape[1]]
        residual = backward(self.factor, white / np.sqrt(self.half / self.share))  # K⁻¹((1 + w)y − Xz)
        return (member + self.atoms @ residual) / self.share

    def _constant(self, query, target):
        """f(c, z) less ‖t − Az‖²: the same for all z, taken at z = 0, where c is the ridge code for μ."""
        query = query.astype(REAL)
        residual = backward(self.factor, forward(self.factor, query[:, None])[:, 0])
        code = self.atoms @ residual
        return self.pair_objective(query, code, np.zeros_like(code)) - np.sum(target**2)


class _ActiveSet:
    """Lawson and Hanson's method, on the orthant or on the simplex; on the other sets its first step is the answer."""

    def __init__(self, columns, target, absolute, constraint):
        self.columns, self.target, self.price, self.set = columns, target, absolute / 2, constraint
        self.lengths = np.sqrt(np.sum(columns**2, axis=0))

    def run(self, code):
        """(code, support) at the optimum, from a code in the set; after 3n + 50 rounds, the best found."""
        if not self.set.nonnegative:
            return self._minimiser(np.arange(len(code)), len(code))
        support = np.flatnonzero(code > 0)
        for _ in range(3 * len(code) + 50):
            code, support = self._descend(code, support)
            entering = self._entering(code, support)
            if entering is None:
                break
            support = np.append(support, entering)
        return code, support

    def _descend(self, code, support):
        """To the minimiser on a part of the support on which it is positive."""
        while len(support):
            aim, _ = self._minimiser(support, len(code))
            blocking = support[aim[support] <= 0]
            if not len(blocking):
                return aim, support
            steps = code[blocking] / np.maximum(code[blocking] - aim[blocking], np.finfo(REAL).tiny)
            code = code + min(steps.min(), 1) * (aim - code)
            code[blocking[steps.argmin()]] = 0
            support = support[code[support] > 0] if len(support) > 1 else support[:0]
            code = np.where(np.isin(np.arange(len(code)), support), code, 0)
        return code, support

    def _entering(self, code, support):
        """The atom that pulls hardest for its length, beyond rounding; None at the optimum."""
        residual = self.target - self.columns @ code
        pull = self.columns.T @ residual - self.price
        level = pull @ code if self.set.sums_to_one else 0
        rounding = 64 * EPS * self.lengths * (np.sqrt(np.sum(self.target**2)) + np.sum(code * self.lengths))
        excess = pull - level - rounding - (np.max(rounding[support], initial=0) if self.set.sums_to_one else 0)
        excess[support] = 0
        weighted = excess / np.where(self.lengths > 0, self.lengths, 1)
        best = int(weighted.argmax())
        return best if excess[best] > 0 else None

    def _minimiser(self, support, size):
        """The minimiser on a support without inequalities, and the atoms that are independent there."""
        code, columns, target = np.zeros(size, REAL), self.columns[:, support], self.target
        if self.set.sums_to_one:  # differences from the shortest column
            base = int(self.lengths[support].argmin())
            others = np.delete(np.arange(len(support)), base)
            differences, prices = columns[:, others] - columns[:, [base]], self.price[support]
            part, kept = least_squares(differences, target - columns[:, base], prices[others] - prices[base])
            code[support[others]] = part
            code[support[base]] = 1 - part.sum()
            return code, np.append(support[others][kept], support[base])
        part, kept = least_squares(columns, target, self.price[support])
        code[support] = part
        return code, support[kept]


def least_squares(columns, target, price):
    """(c, kept): argmin ‖t − Ac‖² + 2·Σprice_j·c_j by Gram–Schmidt, twice for each column, and one step of refinement.

    Columns that depend on those before them get zero.
    """
    basis, triangle, kept = orthonormal(columns)
    code = np.zeros(columns.shape[1], REAL)
    if not len(kept):
        return code, kept
    prices = price[kept]
    code[kept] = backward(triangle.T, basis.T @ target - forward(triangle.T, prices[:, None])[:, 0])
    for _ in range(2):
        residual = target - columns @ code
        step = basis.T @ residual - forward(triangle.T, prices[:, None])[:, 0]
        code[kept] += backward(triangle.T, step)
    return code, kept


def orthonormal(columns):
    """(Q, R, kept): A[:, kept] = QR, columns that depend on earlier ones left out."""
    rows, size = columns.shape
    basis, triangle = np.zeros((rows, min(rows, size)), REAL), np.zeros((min(rows, size),) * 2, REAL)
    kept = []
    for j in range(size):
        vector, k = columns[:, j], len(kept)
        length = np.sqrt(vector @ vector)
        if k == rows or length == 0:
            continue
        parts = basis[:, :k].T @ vector
        vector = vector - basis[:, :k] @ parts
        again = basis[:, :k].T @ vector
        vector = vector - basis[:, :k] @ again
        rest = np.sqrt(vector @ vector)
        if rest <= DEPENDENT * length:
            continue
        triangle[:k, k], triangle[k, k], basis[:, k] = parts + again, rest, vector / rest
        kept.append(j)
    rank = len(kept)
    return basis[:, :rank], triangle[:rank, :rank], np.array(kept, int)


def cholesky(matrix):
    """L with LLᵀ = matrix."""
    lower, left = np.zeros_like(matrix), matrix.copy()
    for k in range(len(matrix)):
        lower[k:, k] = left[k:, k] / np.sqrt(left[k, k])
        left[k + 1 :, k + 1 :] -= np.outer(lower[k + 1 :, k], lower[k + 1 :, k])
    return lower


def forward(lower, right):
    """L⁻¹B, column by column of L."""
    out = right.copy()
    for k in range(len(lower)):
        out[k] /= lower[k, k]
        out[k + 1 :] -= np.multiply.outer(lower[k + 1 :, k], out[k])
    return out


def backward(lower, right):
    """L⁻ᵀb."""
    out = right.copy()
    for k in range(len(lower) - 1, -1, -1):
        out[k] /= lower[k, k]
        out[:k] -= lower[k, :k] * out[k]
    return out


def lower_bound_gap(columns, target, code, absolute, constraint, ridges):
    """Bound on f(c) − f* for a code in its set; ``absolute`` are prices of non-negative entries.

    On the simplex 2(max p − pᵀc) for the pulls p. On the orthant the least of f itself, the bound of strong convexity
    and the change of f that the pulls left over can make: with p_j ≤ η‖a_j‖‖r‖ the code is optimal for columns that
    differ from the given ones by η of their length, and η at most a thousand roundings is taken as exact.
    On the free and affine sets ‖QQᵀr‖², with Q a basis of the columns or of their differences.
    """
    residual = target - columns @ code
    pull = columns.T @ residual
    square, lengths = residual @ residual, np.sqrt(np.sum(columns**2, axis=0))
    reach = np.sqrt(target @ target) + np.sum(np.abs(code) * lengths)
    rounding = 64 * EPS**2 * reach**2
    if not constraint.nonnegative:
        span = columns[:, 1:] - columns[:, :1] if constraint.sums_to_one else columns
        return np.sum((orthonormal(span)[0].T @ residual) ** 2) + rounding
    pull = pull - absolute / 2
    if constraint.sums_to_one:
        return max(2 * (pull.max() - pull @ code), 0) + rounding
    slack = 2 * np.abs(pull @ code)
    limit = 1000 * EPS * lengths * reach
    bounds = [square + absolute @ code if (absolute >= 0).all() else REAL(np.inf)]
    if (pull <= limit).all():
        bounds.append(slack + 2 * 1000 * EPS * np.sqrt(square) * np.sum(code * lengths))
    if ridges.all():
        step = np.maximum(pull / ridges, -code)
        bounds.append(np.sum(2 * pull * step - ridges * step**2))
    return min(bounds) + rounding


def condition_number(columns, sums_to_one, reach, size, digits=1, dependent=False):
    """The larger of cond(AᵀA) on the support and 1e6·(reach/‖t‖)², how much longer than the sum its terms are, squared.

    ``dependent`` atoms have singular values that count as zero, those below the rounding of the largest. At 1e12 the
    first number leaves a code four digits, and the second leaves a gap ten digits of ‖t‖². In single precision the
    first counts 900 times.
    """
    if size == 0:
        return np.inf
    if sums_to_one:
        columns = columns[:, 1:] - columns[:, :1] if columns.shape[1] > 1 else columns[:, :0]
    largest = np.sqrt(np.max(np.sum(columns**2, axis=0), initial=0))
    kappa = 1.0
    if columns.shape[1] and largest > 0:
        values = np.linalg.svd((columns / largest).astype(float), compute_uv=False)
        # The atoms in use are independent where there are inequalities; elsewhere the code of least norm uses all.
        kept = values[values > 8 * DOUBLE * values[0]] if dependent else values
        kappa = values[0] / kept[-1] if kept[-1] > 0 and (dependent or len(values) == columns.shape[1]) else np.inf
    return float(min(max(digits * kappa, 1000 * reach / size) ** 2, REAL(1e300)))
