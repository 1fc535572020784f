"""The third axis: the set that a code must lie in. A set describes its codes, projects on itself and bounds the gap.

A new set is a subclass of `Set`, passed as an object wherever ``constraint`` takes a name. Solvers, classifiers and
the certificate read its attributes, never its name.
"""

from abc import ABC, abstractmethod
from numbers import Real

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from ancr._core import arrays
from ancr._core.arrays import (
    concat,
    dense,
    is_non_numpy,
    is_single,
    like,
    map_rows,
    namespace,
    row_dots,
    row_sums,
    to_numpy,
)
from ancr._core.axis import AxisObject
from ancr._core.messages import naming

# An orthant's bound above this share of ‖y‖² is worth more effort; an atom is tight if its pull is this close to zero.
_GOOD, _TIGHT, _MOST_TIGHT = 1e-10, (1e-12, 1e-9, 1e-6), 1000


def project_simplex(points, radius=1.0):
    """Euclidean projection of each row on the simplex {c ≥ 0, Σc = radius}.

    The projection is max(v − θ, 0) for the unique θ that makes the sum right. θ is found by Newton's iteration on
    Σ max(v − θ, 0) = radius (Huang et al., 2015), a few vectorised passes over each row.

    Parameters
    ----------
    points : array-like of shape (n_rows, n) or (n,)
        Points to project, an array of any library. float32 stays float32.
    radius : float, default=1.0
        Sum of each projected row, > 0, within the range of the points' precision.

    Returns
    -------
    array of the shape of ``points``

    Examples
    --------
    >>> from ancr import project_simplex
    >>> project_simplex([[0.25, 0.75], [2.0, 0.0], [1.0, 1.0]])
    array([[0.25, 0.75],
           [1.  , 0.  ],
           [0.5 , 0.5 ]])
    """
    with naming("points"):
        points = _check_points(points)
    radius = _check_radius(radius, points.dtype)
    if points.ndim not in (1, 2) or points.shape[-1] == 0:
        raise ValueError(f"points must be one row or rows of at least one number, got shape {tuple(points.shape)}")
    rows = points if points.ndim == 2 else points[None, :]
    if not rows.shape[0]:
        return points
    parts = map_rows(lambda block: _project_at_any_scale(rows[block, :], radius), rows, rows.shape[1] * 40)
    return namespace(points).reshape(concat(parts), tuple(points.shape))


def _project_at_any_scale(rows, radius):
    """The projection of (v − max v)/radius on the unit simplex, times the radius: nothing overflows or cancels.

    Entries more than the radius below the largest become zero, however far below they are.
    """
    xp = namespace(rows)
    with np.errstate(over="ignore"):
        below = rows - xp.max(rows, axis=1, keepdims=True)
        below /= radius
    projected = arrays.project_simplex(xp.clip(below, -1.0, None))
    projected *= radius
    return projected


def _check_radius(radius, dtype):
    """The radius as a float; raises if it is no positive number that the points' precision can hold."""
    with naming("radius"):
        value = float(radius) if isinstance(radius, Real) or getattr(radius, "ndim", None) == 0 else float("nan")
    bounds = np.finfo(np.float32 if is_single(dtype) else np.float64)
    if not float(bounds.tiny) <= value <= float(bounds.max):
        raise ValueError(f"radius must be a positive finite number within the range of {dtype}, got {radius!r}")
    return value


def _check_points(points):
    if is_non_numpy(points):
        xp = namespace(points)
        if not bool(xp.all(xp.isfinite(points))):
            raise ValueError("Input points contains NaN or infinity.")
        return points if is_single(points.dtype) else xp.astype(points, xp.float64)
    return check_array(
        points,
        dtype=[np.float64, np.float32],
        ensure_2d=False,
        ensure_min_samples=0,
        ensure_min_features=0,
        input_name="points",
    )


class Set(AxisObject, ABC):
    """A convex set that codes must lie in.

    Attributes
    ----------
    name : str
        Name used in messages.
    sums_to_one : bool
        Whether the entries of each code sum to one.
    nonnegative : bool
        Whether no entry is negative.
    plain : bool
        Whether these two attributes describe the set completely. Solvers for the four plain sets rely on it.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr import RepresentationClassifier
    >>> from ancr.axes.sets import Set
    >>> class Box(Set):
    ...     name, nonnegative = "box", True
    ...     def project(self, points):
    ...         return np.clip(points, 0.0, 0.2)
    >>> clf = RepresentationClassifier(constraint=Box(), solver="admm", max_iter=50)
    >>> X = np.array([[1.0, 0.1], [0.9, 0.2], [0.1, 1.0], [0.2, 0.9]])
    >>> clf.fit(X, [0, 0, 1, 1]).predict([[1.0, 0.0], [0.0, 1.0]])
    array([0, 1])
    """

    name = "a set"
    sums_to_one = False
    nonnegative = False
    plain = False

    @property
    def has_inequalities(self):
        """Whether codes can lie on a boundary of the set; if not, they are an affine function of the query."""
        return self.nonnegative or not self.plain

    @abstractmethod
    def project(self, points):
        """The nearest point of the set, for each row."""

    def violation(self, codes):
        """Distance from feasibility in the most violated constraint, for each row.

        The two words say it for a plain set; for any other it is the largest entry of c less its projection.
        """
        sums = row_sums(codes)
        xp = namespace(sums)
        if not self.plain:
            codes = dense(codes)
            return xp.max(xp.abs(codes - self.project(codes)), axis=1)
        worst = xp.abs(sums - 1.0) if self.sums_to_one else xp.zeros_like(sums)
        if self.nonnegative:
            lowest = codes.min(axis=1).toarray().ravel() if sparse.issparse(codes) else xp.min(codes, axis=1)
            worst = xp.maximum(worst, -lowest)
        return worst

    def mended(self, codes):
        """Codes that lie in the set up to the rounding of their sum, with that put right."""
        return codes

    def support(self, pull):
        """max of pᵀv over the points v of the set, for each row p; `bound` needs it for a bounded set."""
        return namespace(pull).full_like(pull[:, 0], float("inf"))

    def bound(self, look):
        """Upper bound on f(c) − f* for each code c that lies in the set.

        By convexity f(c) − f* ≤ ⟨∇f, c⟩ − min ⟨∇f, v⟩ = 2(max pᵀv − pᵀc) over the points v of the set, with
        p = b − Hc. A set that is not bounded needs a bound of its own.

        Parameters
        ----------
        look : ancr.certificate.bounds.Look
            The problem and a block of its queries with their codes and pulls p.
        """
        return 2.0 * (self.support(look.raised_pull) - row_dots(look.codes, look.pull) + look.code_slack)

    def relaxed_bound(self, look):
        """The same where the code may leave the set at the price g·‖c − z‖², g = γ/2, with z in the set.

        With v the pull at c and r = y − Xc, 2rᵀy − ‖r‖² − λ‖c‖² − 2·max vᵀs − ‖v‖²/g over the points s of the set
        bounds the optimum from below. The objective less that is ‖v − g(c − z)‖²/g + 2(max vᵀs − vᵀz).
        """
        price, members = look.problem.relaxation / 2.0, look.members
        uneven = _length(look.pull - price * (look.codes - members)) + _length(look.slack)
        level = row_dots(members, look.pull) - row_dots(abs(members), look.slack)
        # The point z is rounded, too: by little beside g, but not beside λ.
        rounded = 4.0 * float(np.finfo(float).eps) * price * (_length(look.codes) + _length(members))
        return _least(look, uneven**2 / price + 2.0 * (self.support(look.raised_pull) - level), uneven + rounded)


def _least(look, bound, slope):
    """The smaller of a relaxed bound and ‖∇f/2‖²/λ, by strong convexity: dist² to the set only makes f steeper."""
    if look.certificate.ridge_is_lost:
        return bound
    return _smaller(bound, slope**2 / look.quadratic.ridge)


def _smaller(one, other):
    """The smaller of two bounds; what is not a number is no bound."""
    return namespace(one).where(one <= other, one, other)


def _length(rows):
    return row_dots(rows, rows) ** 0.5


def _without_constraint(look):
    """‖p‖²/σ: no set allows less than no set at all."""
    return (_length(look.pull) + _length(look.slack)) ** 2 / look.certificate.curvature + look.lost_price


def _with_better_codes(look, first_bound):
    """A set without inequalities: the bound for better codes plus the way to them, where a first bound is not good."""
    bounds, xp = first_bound(look), look.dictionary.xp
    if bool(xp.all(bounds <= _GOOD * look.dictionary.squared_norms(look.queries))):
        return bounds
    found = look.certificate.improved(look)
    if found is None:
        return bounds
    better, fall = found
    improved = first_bound(better) + fall
    return xp.where(improved < bounds, improved, bounds)  # a step that overflowed is no improvement


def _by_strong_convexity(look, pull):
    """Σ 2p_j t_j − λt_j² with t_j = max(p_j/λ, −c_j), the most that c + t ≥ 0 can gain; needs a ridge λ."""
    xp, ridge = namespace(pull), look.quadratic.prices_like(pull)
    hard = xp.abs(pull) + look.slack
    step = hard / ridge
    step = xp.where(pull + look.slack < 0.0, xp.minimum(step, abs(dense(look.codes))), step)
    return xp.sum((2.0 * hard - ridge * step) * step, axis=1)  # in this order nothing overflows


class Free(Set):
    """No constraint: CRC, ProCRC, CCRC.

    The bound is ‖p‖²/σ, with σ the smallest positive eigenvalue of H.
    """

    name = "free"
    plain = True

    def project(self, points):
        """Return the points themselves."""
        return points

    def bound(self, look):
        """‖p‖²/σ, or that of better codes and the way to them."""
        return _with_better_codes(look, _without_constraint)


class Affine(Set):
    """Σc = 1: ACR.

    Only differences between pulls matter, so the mean is subtracted from p and from H.
    """

    name = "affine"
    sums_to_one = plain = True

    def project(self, points):
        """Shift each row so that it sums to one."""
        return points + ((1.0 - row_sums(points)) / points.shape[1])[:, None]

    def mended(self, codes):
        """Shift each row so that it sums to one."""
        return self.project(codes)

    def bound(self, look):
        """‖p − mean p‖²/σ, or that of better codes and the way to them."""
        return _with_better_codes(look, self._first_bound)

    def _first_bound(self, look):
        pull = look.pull - namespace(look.pull).mean(look.pull, axis=1, keepdims=True)
        return (_length(pull) + _length(look.slack)) ** 2 / look.certificate.curvature + look.lost_price


class NonNegative(Set):
    """c ≥ 0: NRC, NCR."""

    name = "nonnegative"
    nonnegative = plain = True

    def project(self, points):
        """Clip at zero."""
        return namespace(points).clip(points, 0.0, None)

    def mended(self, codes):
        """Clip at zero."""
        return codes.maximum(0.0) if sparse.issparse(codes) else self.project(codes)

    def bound(self, look):
        """The least of two bounds; ``docs/exact.md`` derives them.

        Every w with Hw ≥ b gives f* ≥ −wᵀHw. If some e has He > 0, then w = c + εe is such a w, with ε the largest
        p_j/(He)_j, and f(c) + wᵀHw = −2pᵀc + 2ε·eᵀHc + ε²·eᵀHe. With a ridge λ, strong convexity gives
        Σ 2p_j t_j − λt_j², t_j = max(p_j/λ, −c_j).
        """
        lifted = self._lifted(look, *look.certificate.interior_direction)
        if not look.certificate.ridge_is_lost:
            return _smaller(lifted, _by_strong_convexity(look, look.pull))
        lifted = _smaller(lifted, _without_constraint(look))  # codes that interpolate leave no pull
        bounds = self._by_tight_atoms(look, lifted, self._on_a_face)
        return self._with_better_supports(look, bounds)

    def _with_better_supports(self, look, bounds):
        """Codes in single precision pull a little at their own atoms: better ones on the same support do not."""
        square, improved = to_numpy(look.dictionary.squared_norms(look.queries)), np.array(to_numpy(bounds))
        for row in np.flatnonzero(~(improved <= _GOOD * square)).tolist():
            found = look.certificate.improved_on_support(look.row(row))
            if found is not None:
                better, fall = found
                first = self._by_tight_atoms(better, self._lifted(better, None, 0.0), self._on_a_face)
                improved[row] = np.fmin(improved[row], float((first + fall)[0]))
        return like(improved, look.pull)

    def _lifted(self, look, image, square):
        """The bound from He and eᵀHe; infinite without such an e."""
        loose, xp = 2.0 * (look.code_slack - row_dots(look.codes, look.pull)), namespace(look.pull)
        if image is None:  # and none is needed where no atom pulls
            return xp.where(xp.max(look.raised_pull, axis=1) <= 0.0, loose, float("inf"))
        excess = self._excess(look, image)
        with np.errstate(invalid="ignore"):  # where there is no ε, the bound is not a number, and no bound
            return loose + 2.0 * excess * (look.codes @ image) + excess**2 * square

    def _excess(self, look, image):
        """The least ε with p ≤ ε·He; a zero atom has no pull, and infinity says that there is none."""
        xp = namespace(look.pull)
        share = xp.where(image > 0.0, 1.0 / xp.where(image > 0.0, image, 1.0), 0.0)
        excess = xp.clip(xp.max(look.raised_pull * share, axis=1), 0.0, None)
        absent = (look.certificate.atom_lengths == 0.0) & (look.raised_pull <= 0.0)
        met = xp.all((look.raised_pull <= excess[:, None] * image * (1.0 + 1e-12)) | absent, axis=1)
        return xp.where(met, excess, float("inf"))

    def _on_a_face(self, one, tight):
        image, form = one.certificate.own_direction(tight)
        return np.fmin(float(self._lifted(one, like(image, one.pull), form)[0]), one.certificate.face_bound(one, tight))

    def _by_tight_atoms(self, look, bounds, improve):
        """Bounds that are not good enough, improved for each query by itself, from the atoms that pull at all."""
        square, raised = to_numpy(look.dictionary.squared_norms(look.queries)), to_numpy(look.raised_pull)
        lengths, improved = to_numpy(look.certificate.atom_lengths), np.array(to_numpy(bounds))
        used = to_numpy(dense(look.codes)) > 0.0
        for row in np.flatnonzero(~(improved <= _GOOD * square)).tolist():
            for share in _TIGHT:
                pulling = raised[row] > -share * lengths * square[row] ** 0.5
                tight = np.flatnonzero((pulling | used[row]) & (lengths > 0.0))
                if 0 < len(tight) <= _MOST_TIGHT and not improved[row] <= _GOOD * square[row]:
                    improved[row] = np.fmin(improved[row], improve(look.row(row), tight))
        return like(improved, look.pull)

    def relaxed_bound(self, look):
        """‖v₋ − g(c − z)‖²/g − 2v₋ᵀz + ‖v₊‖²/λ: the positive part v₊ of the pull must be paid for by the ridge.

        Without one, v − εHe ≤ 0 takes the place of v₋ and ε²·eᵀHe that of the last term, with He > 0.
        """
        bounds = self._first_relaxed_bound(look)
        square = look.dictionary.squared_norms(look.queries)
        poor = np.flatnonzero(~to_numpy(bounds <= _GOOD * square)) if look.dictionary.n_atoms <= _MOST_TIGHT else []
        improved = np.array(to_numpy(bounds))
        for row in map(int, poor):
            given = look.row(row)
            better = given.with_codes(like(look.certificate.newton_code(given), look.pull))
            way = given.fall_to(better)
            improved[row] = np.fmin(improved[row], float((self._first_relaxed_bound(better) + way)[0]))
        return like(improved, look.pull)

    def _first_relaxed_bound(self, look):
        xp, ridge = namespace(look.pull), look.quadratic.prices_like(look.pull)

        def improve(one, tight):
            image, form = one.certificate.own_direction(tight)
            return float(self._lifted_near(one, like(image, one.pull), form)[0])

        bounds = self._lifted_near(look, *look.certificate.interior_direction)
        if look.certificate.ridge_is_lost:
            apart = look.problem.relaxation / 2.0 * _length(look.codes - look.members) ** 2
            bounds = _smaller(bounds, _without_constraint(look) + apart)
            return self._by_tight_atoms(look, bounds, improve)
        paid = xp.sum(xp.clip(look.raised_pull, 0.0, None) ** 2 / ridge, axis=1)
        bounds = _smaller(bounds, self._near(look, xp.clip(look.pull, None, 0.0)) + paid)
        price = look.problem.relaxation / 2.0
        return _least(look, bounds, _length(look.pull - price * (look.codes - look.members)) + _length(look.slack))

    def _lifted_near(self, look, image, square):
        if image is None:  # and none is needed where no atom pulls
            none, xp = look.raised_pull <= 0.0, namespace(look.pull)
            return xp.where(xp.all(none, axis=1), self._near(look, look.pull), float("inf"))
        excess = self._excess(look, image)
        with np.errstate(invalid="ignore"):
            return self._near(look, look.pull - excess[:, None] * image) + excess**2 * square

    def _near(self, look, below):
        price, members = look.problem.relaxation / 2.0, look.members
        uneven = _length(below - price * (look.codes - members)) + _length(look.slack)
        return uneven**2 / price - 2.0 * (row_dots(members, below) - row_dots(members, look.slack))


class Simplex(Set):
    """c ≥ 0 and Σc = 1: ANCR."""

    name = "simplex"
    sums_to_one = nonnegative = plain = True

    def project(self, points):
        """Row-wise `project_simplex`, for input that is already validated."""
        return arrays.project_simplex(points)

    def mended(self, codes):
        """Clip at zero, and divide each row by its sum, where that is nearly one."""
        codes = codes.maximum(0.0) if sparse.issparse(codes) else namespace(codes).clip(codes, 0.0, None)
        sums = row_sums(codes)
        xp = namespace(sums)
        share = xp.where(xp.abs(sums - 1.0) < 1e-3, 1.0 / xp.where(sums > 0.0, sums, 1.0), 1.0)[:, None]
        return codes.multiply(share).tocsr() if sparse.issparse(codes) else codes * share

    def support(self, pull):
        """max p: the best point of a simplex is one of its corners."""
        return namespace(pull).max(pull, axis=1)

    def bound(self, look):
        """2(max p − pᵀc) or, with a ridge, the bound of the orthant on pulls relative to pᵀc, if that is less."""
        corner = super().bound(look)
        if look.certificate.ridge_is_lost:
            return corner
        level = row_dots(look.codes, look.pull)
        return _smaller(corner, _by_strong_convexity(look, look.pull - level[:, None]))


SETS = {kind.name: kind() for kind in (Free, Affine, NonNegative, Simplex)}


def asks_for_unit_sum(constraint):
    """Whether a set, by name or as an object, asks for Σc = 1; False for anything else, which validation reports."""
    known = SETS.get(constraint) if isinstance(constraint, str) else constraint
    return getattr(known, "sums_to_one", False)


def named_set(constraint):
    """The set with this name; a set is returned unchanged."""
    if isinstance(constraint, str) and constraint not in SETS:
        raise ValueError(f"constraint must be one of {sorted(SETS)} or a Set, got {constraint!r}")
    return SETS[constraint] if isinstance(constraint, str) else constraint
