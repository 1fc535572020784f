r"""Upper bounds on f(c) − f* for codes that lie in their set, from the pulls p = b − Hc, minus half the gradient of f.

Which bound applies follows from what the set says about itself:

| set | bound |
|---|---|
| any, through its `support` | 2(max pᵀv − pᵀc) over the points v of the set |
| no negative entries, with a ridge λ | Σ 2q_j t_j − λt_j², the most that any c + t ≥ 0 can gain |
| plain, without inequalities | ‖p‖²/σ, with σ the curvature of H |
| plain, c ≥ 0 alone | from a dual point: along a direction e with He > 0, or on a face of the cone |

A relaxation and an ℓ1 term have bounds of their own. ``docs/exact.md`` derives all of them. They include what rounding
can do, so that none is below the truth.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ancr._core.arrays import Array, dense, like, namespace, row_dots, to_numpy
from ancr.axes.problem import Problem
from ancr.certificate.faces import face_bound, newton_step, step_on_support
from ancr.certificate.hessian import EPS
from ancr.certificate.rounding import BoundContext, lengths_of

# An atom is tight if its pull is this close to zero, and so many at most are looked at.
_TIGHT, _MOST_TIGHT = (1e-12, 1e-9, 1e-6), 1000
# The most steps to better codes for one bound.
_MOST_STEPS = 5


def bound_on_gap(context: BoundContext) -> Array:
    """Upper bound on f(c) − f* for each query; infinite, or not a number, where nothing can be proved."""
    return context.of_given(_first_bound(context))


def _first_bound(context: BoundContext) -> Array:
    """The bound for queries whose residuals are those that were computed."""
    problem, constraint = context.problem, context.problem.constraint
    is_cone = constraint.plain and constraint.nonnegative and not constraint.sums_to_one
    if context.is_priced and (problem.relaxation is not None or problem.has_l1_term):
        return context.dictionary.xp.full_like(context.value, float("inf"))  # their dual points know of no prices
    if problem.relaxation is not None:
        return relaxed_orthant_bound(context) if is_cone else relaxed_bound(context)
    if problem.has_l1_term:
        return l1_bound(context)
    if is_cone:
        return orthant_bound(context)
    return supported_bound(context) if constraint.has_inequalities else equality_bound(context)


def supported_bound(context: BoundContext) -> Array:
    """2(max pᵀv − pᵀc) or, with a ridge and without negative entries, what strong convexity leaves, if that is less.

    By convexity f(c) − f* ≤ ⟨∇f, c⟩ − min ⟨∇f, v⟩ over the points v of the set.
    """
    bounds, constraint = _by_corners(context), context.problem.constraint
    if not (constraint.sums_to_one and (constraint.plain or constraint.highest < float("inf"))):
        return bounds
    # Where pulls cancel, a code may be better than its pulls can prove. Few need this.
    return _improved(context, bounds, partial(_on_better_support, bound=_by_corners), context.tolerated)


def _by_corners(context: BoundContext) -> Array:
    constraint, level = context.problem.constraint, row_dots(context.codes, context.pull)
    bound = 2.0 * (constraint.support(context.raised_pull) - level + context.code_slack)
    if context.hessian.ridge_is_lost or not constraint.nonnegative:
        return bound
    pull = context.pull - level[:, None] if constraint.sums_to_one else context.pull
    return _smaller(bound, _by_strong_convexity(context, pull))


def bound_with_atoms_elsewhere(
    problem: Problem, code: np.ndarray, pull: np.ndarray, hardest: float, surplus: float
) -> float:
    """Bound for one query over all atoms, from those that it holds and what is known about the others.

    Simplex: 2(max p − pᵀc). Orthant with a ridge: an atom elsewhere with a positive pull adds p_j²/λ, the others
    nothing.

    Parameters
    ----------
    problem : Problem
        The problem over the atoms held.
    code, pull : ndarray
        Weights and pulls of the atoms held.
    hardest, surplus : float
        The hardest pull and, on the orthant, Σp_j² over the positive pulls of the atoms elsewhere.
    """
    if problem.constraint.sums_to_one:
        return max(2.0 * (max(float(pull.max()), hardest) - float(code @ pull)), 0.0)
    ridge = problem.quadratic.ridge
    step = np.maximum(pull / ridge, -code)
    return float((2.0 * pull * step - ridge * step**2).sum()) + surplus / ridge


def equality_bound(context: BoundContext) -> Array:
    """‖p‖²/σ, on Σc = 1 for p less its mean; where that is poor, the same for better codes plus the way to them."""
    bounds, xp, newton = _by_curvature(context), context.dictionary.xp, context.hessian.newton
    if newton is None or bool(xp.all(bounds <= context.good)):
        return bounds
    better, fall = context.moved(context.dictionary.like(newton(to_numpy(context.pull))))
    improved = better.of_given(_by_curvature(better)) + fall
    return xp.where(improved < bounds, improved, bounds)  # a step that overflowed is no improvement


def orthant_bound(context: BoundContext) -> Array:
    """The least of several bounds for c ≥ 0.

    Every w with Hw ≥ b gives f* ≥ −wᵀHw. If some e has He > 0, then w = c + εe is such a w, with ε the largest
    p_j/(He)_j, and f(c) + wᵀHw = −2pᵀc + 2ε·eᵀHc + ε²·eᵀHe. With prices b need not lie in the range of H, on which
    the other bounds without a ridge rest.
    """
    if not context.hessian.ridge_is_lost:
        # The digits of a code in single precision are more than a weak ridge can prove, but a code beside it has more.
        improve = partial(_on_better_support, bound=_lifted_with_ridge)
        return _improved(context, _lifted_with_ridge(context), improve, context.tolerated)
    bounds = _lifted(context, *context.hessian.interior_direction)
    if context.is_priced:
        return _improved(context, bounds, partial(_by_tight_atoms, _lifted_on))
    bounds = _smaller(bounds, _by_curvature(context))  # codes that interpolate leave no pull
    bounds = _improved(context, bounds, partial(_by_tight_atoms, _on_a_face))
    return _improved(context, bounds, partial(_on_better_support, bound=_lifted_or_on_a_face))


def _lifted_with_ridge(context: BoundContext) -> Array:
    bounds = _lifted(context, *context.hessian.interior_direction)
    return _smaller(bounds, _by_strong_convexity(context, context.pull))


def l1_bound(context: BoundContext) -> Array:
    """f(c) less the dual objective at the residual, scaled until no atom pulls harder than half the ℓ1 weight.

    With all squares of the objective stacked into one, ‖r‖², its gradient over the atoms is −2p and rᵀXc = pᵀc. The
    residual scaled by s is a dual point, and the difference is (1 − s)²‖r‖² + ω‖c‖₁ − 2s·pᵀc, with ω the ℓ1 weight.
    """
    quadratic, xp = context.quadratic, context.dictionary.xp
    signed = not context.problem.constraint.nonnegative
    pulls = (xp.abs(context.pull) if signed else context.pull) + context.slack
    hardest = xp.max(pulls / quadratic.multiples_like(pulls), axis=1)
    shrink = xp.clip(quadratic.absolute / 2.0 / xp.clip(hardest, float(np.finfo(float).tiny), None), None, 1.0)
    if context.dictionary.knows_lengths:
        squares = context.at_most(quadratic.squares(context.queries, context.codes))
    else:  # ‖r‖² of a residual in the span of the atoms
        length = lengths_of(context.pull) + lengths_of(context.slack)
        squares = length**2 / context.hessian.curvature if not context.hessian.lost_share else float("inf")
    price = quadratic.absolute_price(context.codes)
    inner = row_dots(context.codes, context.pull) - context.code_slack
    return (1.0 - shrink) ** 2 * squares + price - 2.0 * shrink * inner


def relaxed_bound(context: BoundContext) -> Array:
    """The bound by `support` where the code may leave the set at the price g·‖c − z‖², g = γ/2, with z in the set.

    With v the pull at c and r = y − Xc, 2rᵀy − ‖r‖² − λ‖c‖² − 2·max vᵀs − ‖v‖²/g over the points s of the set
    bounds the optimum from below. The objective less that is ‖v − g(c − z)‖²/g + 2(max vᵀs − vᵀz).
    """
    price, members = context.price, context.members
    uneven = _unevenness(context, context.pull)
    level = row_dots(members, context.pull) - row_dots(abs(members), context.slack)
    # The point z is rounded, too: by little beside g, but not beside λ.
    rounded = 4.0 * EPS * price * (lengths_of(context.codes) + lengths_of(members))
    corner = context.problem.constraint.support(context.raised_pull)
    return _least(context, uneven**2 / price + 2.0 * (corner - level), uneven + rounded)


def relaxed_orthant_bound(context: BoundContext) -> Array:
    """‖v₋ − g(c − z)‖²/g − 2v₋ᵀz + ‖v₊‖²/λ: the positive part v₊ of the pull must be paid for by the ridge.

    Without one, v − εHe ≤ 0 takes the place of v₋ and ε²·eᵀHe that of the last term, with He > 0. Where that is poor,
    the bound for better codes plus the way to them.
    """
    bounds = _first_relaxed(context)
    if context.dictionary.n_atoms > _MOST_TIGHT:
        return bounds

    def improve(one: BoundContext, good: float) -> float:
        better, fall = one.moved(newton_step(one))
        return float((better.of_given(_first_relaxed(better)) + fall)[0])

    return _improved(context, bounds, improve)


def _first_relaxed(context: BoundContext) -> Array:
    xp, ridge = namespace(context.pull), context.quadratic.prices_like(context.pull)
    bounds = _lifted_near(context, *context.hessian.interior_direction)
    if context.hessian.ridge_is_lost:
        apart = context.price * lengths_of(context.codes - context.members) ** 2
        bounds = _smaller(bounds, _by_curvature(context) + apart)
        return _improved(context, bounds, partial(_by_tight_atoms, _near_a_face))
    paid = xp.sum(xp.clip(context.raised_pull, 0.0, None) ** 2 / ridge, axis=1)
    bounds = _smaller(bounds, _near(context, xp.clip(context.pull, None, 0.0)) + paid)
    return _least(context, bounds, _unevenness(context, context.pull))


# --- what they are made of


def _smaller(one: Array, other: Array) -> Array:
    """The smaller of two bounds; what is not a number is no bound."""
    return namespace(one).where(one <= other, one, other)


def _least(context: BoundContext, bound: Array, slope: Array) -> Array:
    """The smaller of a relaxed bound and ‖∇f/2‖²/λ, by strong convexity: dist² to the set only makes f steeper."""
    return bound if context.hessian.ridge_is_lost else _smaller(bound, _square_over(slope, context.quadratic.ridge))


def _by_curvature(context: BoundContext) -> Array:
    """‖p‖²/σ, on Σc = 1 for p less its mean: no set allows less than no inequalities at all.

    Without a ridge this needs a pull in the range of H, which prices may leave unless that is everything.
    """
    pull, hessian = context.pull, context.hessian
    if context.is_priced and hessian.ridge_is_lost and not hessian.has_all_directions:
        return namespace(pull).full_like(pull[:, 0], float("inf"))
    if context.problem.constraint.sums_to_one:
        pull = pull - namespace(pull).mean(pull, axis=1, keepdims=True)
    length = lengths_of(pull) + lengths_of(context.slack)
    return _square_over(length, context.hessian.curvature) + context.lost_price


def _square_over(length: Array, price: float) -> Array:
    """l²/σ; of lengths below 1e-154 the square itself would be zero, and a bound of zero certifies anything."""
    return length / price * length


def _by_strong_convexity(context: BoundContext, pull: Array) -> Array:
    """Σ 2p_j t_j − λt_j² with t_j = max(p_j/λ, −c_j), the most that c + t ≥ 0 can gain; needs a ridge λ."""
    xp, ridge = namespace(pull), context.quadratic.prices_like(pull)
    hard = xp.abs(pull) + context.slack
    step = hard / ridge
    step = xp.where(pull + context.slack < 0.0, xp.minimum(step, abs(dense(context.codes))), step)
    return xp.sum((2.0 * hard - ridge * step) * step, axis=1)  # in this order nothing overflows


def _lifted(context: BoundContext, image: Array | None, square: float) -> Array:
    """The bound from He and eᵀHe; infinite without such an e, unless no atom pulls."""
    loose, xp = 2.0 * (context.code_slack - row_dots(context.codes, context.pull)), namespace(context.pull)
    if image is None:
        return xp.where(xp.max(context.raised_pull, axis=1) <= 0.0, loose, float("inf"))
    excess = _excess(context, image)
    with np.errstate(invalid="ignore"):  # where there is no ε, the bound is not a number, and no bound
        return loose + 2.0 * excess * (context.codes @ image) + excess**2 * square


def _lifted_near(context: BoundContext, image: Array | None, square: float) -> Array:
    """The same for a relaxed problem."""
    if image is None:
        none, xp = context.raised_pull <= 0.0, namespace(context.pull)
        return xp.where(xp.all(none, axis=1), _near(context, context.pull), float("inf"))
    excess = _excess(context, image)
    with np.errstate(invalid="ignore"):
        return _near(context, context.pull - excess[:, None] * image) + excess**2 * square


def _near(context: BoundContext, below: Array) -> Array:
    """‖v − g(c − z)‖²/g − 2vᵀz for some v ≤ 0 in place of the pull."""
    level = row_dots(context.members, below) - row_dots(context.members, context.slack)
    return _square_over(_unevenness(context, below), context.price) - 2.0 * level


def _unevenness(context: BoundContext, pull: Array) -> Array:
    """‖v − g(c − z)‖ at most: half the slope of the relaxed objective."""
    return lengths_of(pull - context.price * (context.codes - context.members)) + lengths_of(context.slack)


def _excess(context: BoundContext, image: Array) -> Array:
    """The least ε with p ≤ ε·He; a zero atom has no pull, and infinity says that there is none."""
    xp, raised = namespace(context.pull), context.raised_pull
    share = xp.where(image > 0.0, 1.0 / xp.where(image > 0.0, image, 1.0), 0.0)
    excess = xp.clip(xp.max(raised * share, axis=1), 0.0, None)
    absent = (context.hessian.atom_lengths == 0.0) & (raised <= 0.0)
    met = xp.all((raised <= excess[:, None] * image * (1.0 + 1e-12)) | absent, axis=1)
    return xp.where(met, excess, float("inf"))


def _improved(
    context: BoundContext, bounds: Array, improve: Callable[[BoundContext, float], float], enough: Array | None = None
) -> Array:
    """Bounds with those that are not good enough replaced by ``improve(query, good)``, where that is less.

    ``good`` is the bound that is good ``enough`` for a query.
    """
    good, improved = to_numpy(context.good if enough is None else enough), np.array(to_numpy(bounds))
    for row in np.flatnonzero(~((improved <= good) | to_numpy(context.is_refuted))).tolist():
        improved[row] = np.fmin(improved[row], improve(context.row(row), good[row]))
    return like(improved, context.pull)


def _by_tight_atoms(bound: Callable[[BoundContext, np.ndarray], float], one: BoundContext, good: float) -> float:
    """The least of the bounds of one query by its tight atoms: those in use and those whose pull is close to zero."""
    lengths, raised = to_numpy(one.hessian.atom_lengths), to_numpy(one.raised_pull)[0]
    used, size, least = to_numpy(dense(one.codes))[0] > 0.0, float(one.queries.squares[0]) ** 0.5, np.inf
    for share in _TIGHT:
        tight = np.flatnonzero(((raised > -share * lengths * size) | used) & (lengths > 0.0))
        if 0 < len(tight) <= _MOST_TIGHT and not least <= good:
            least = np.fmin(least, bound(one, tight))
    return least


def _lifted_on(one: BoundContext, tight: np.ndarray) -> float:
    return float(_lifted(one, *one.hessian.own_direction(tight))[0])


def _on_a_face(one: BoundContext, tight: np.ndarray) -> float:
    return np.fmin(_lifted_on(one, tight), face_bound(one, tight))


def _near_a_face(one: BoundContext, tight: np.ndarray) -> float:
    return float(_lifted_near(one, *one.hessian.own_direction(tight))[0])


def _lifted_or_on_a_face(one: BoundContext) -> Array:
    return _improved(one, _lifted(one, None, 0.0), partial(_by_tight_atoms, _on_a_face))


def _on_better_support(one: BoundContext, good: float, bound: Callable[[BoundContext], Array]) -> float:
    """The bound for better codes on the same support plus the way to them, where atoms in use pull unequally.

    They do in codes in single precision, and where the solver's pulls cancel.
    """
    least, way = np.inf, 0.0
    for _ in range(_MOST_STEPS):
        step = step_on_support(one)
        if step is None:
            break
        one, fall = one.moved(step)
        way += float(fall[0])
        found = float(one.of_given(bound(one))[0]) + way
        pays, least = found < 0.5 * least, float(np.fmin(least, found))
        if least <= good or not pays:
            break
    return least
