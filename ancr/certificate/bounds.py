r"""Upper bounds on f(c) − f*, computed from the problem alone, independently of any solver.

With f(c) = cᵀHc − 2bᵀc, the pull p = b − Hc is minus half the gradient. Each set bounds the gap in its own way, see
`ancr.axes.sets`; ``docs/exact.md`` derives the bounds. For an ℓ1 term the dual point is the usual one: the residual r,
scaled until |Xᵀr| ≤ λ/2. All bounds include what rounding can do to them, so that none is below the truth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh, qr, svdvals
from scipy.sparse import issparse
from scipy.sparse.linalg import LinearOperator, cg

from ancr._core.arrays import Array, dense, in_double, row_dots, row_squares, to_numpy
from ancr._core.psd import psd_solver
from ancr.axes.problem import Problem
from ancr.axes.quadratics import Quadratic
from ancr.dictionary.atoms import BaseDictionary, about_mean
from ancr.dictionary.inner_products import eigenvalues_of

_EPS = float(np.finfo(float).eps)
# A curvature that proves nothing.
_NONE = float(np.finfo(float).tiny)
# The most atoms for which H is factored to improve on a first bound.
_MOST_ATOMS = 10_000
# The most atoms of a support that is solved again for a bound.
_MOST_USED = 1000


class Certificate:
    """The relative gap of a problem as a function of (queries, codes), in double precision."""

    def __init__(self, problem: Problem) -> None:
        quadratic = problem.quadratic
        weight = quadratic.gram + quadratic.blocks
        dictionary, taken = problem.dictionary.in_double.checked(quadratic.ridge / weight)
        quadratic = replace(quadratic, ridge=quadratic.ridge - weight * taken)
        self._given = replace(problem, dictionary=dictionary, quadratic=quadratic)

    @property
    def problem(self) -> Problem:
        """The problem in its standard form, in double precision."""
        return self._given.standard_form.problem

    def __call__(self, queries: Array, codes: Any) -> Array:
        """Bound on f(c) − f* for each query, relative to the larger of ‖y − centre‖² and f(c)."""
        form, xp = self._given.standard_form, self.problem.dictionary.xp
        queries, codes = in_double(queries), in_double(codes)
        if not self.problem.dictionary.is_convex:  # all bounds rest on convexity
            return xp.full_like(queries[:, 0], float("inf"))
        if self.problem.relaxation is None:  # codes in single precision sum to one up to their last digit
            codes = self.problem.constraint.mended(codes)
        look = Look(self, *self._at_length_one(form.queries(queries), codes))
        if self.problem.relaxation is not None:
            bound = self.problem.constraint.relaxed_bound(look)
        elif self.problem.has_l1_term:
            bound = _l1_bound(look)
        else:
            bound = self.problem.constraint.bound(look)
        bound = xp.where(self.problem.dictionary.are_of_no_space(look.queries), float("inf"), bound)
        scale = form.size(look.queries)
        if self.problem.dictionary.knows_lengths:  # the objective is a sum of squares and bounds the gap itself
            scale, most = xp.maximum(scale, look.value), look.at_most(look.value)
            bound = xp.where(bound <= most, bound, most)  # what is not a number is no bound
        # A zero query over zero atoms has scale zero; its gap is zero.
        gap = xp.clip(bound, 0.0, None) / xp.where(scale > 0.0, scale, xp.ones_like(scale))
        return xp.where(gap >= 0.0, gap, float("inf"))  # what is not a number proves nothing

    def _at_length_one(self, queries: Array, codes: Any) -> tuple[Array, Any]:
        """Queries and codes divided by a power of two, where squares of a query would overflow or vanish.

        On a cone the code is proportional to the query, and the relative gap stays the same.
        """
        problem, xp = self.problem, self.problem.dictionary.xp
        cone = not (problem.constraint.sums_to_one or problem.has_l1_term or problem.relaxation is not None)
        if not (cone and problem.dictionary.has_coordinates):
            return queries, codes
        largest = xp.max(xp.abs(queries), axis=1)
        if bool(xp.all(((largest > 1e-60) & (largest < 1e60)) | (largest == 0.0))):
            return queries, codes
        share = 2.0 ** -xp.round(xp.log2(xp.where(largest > 0.0, largest, 1.0)))[:, None]
        return queries * share, codes.multiply(share).tocsr() if issparse(codes) else codes * share

    @cached_property
    def curvature(self) -> float:
        """A lower bound on the positive eigenvalues of H or, if the set asks for Σc = 1, of H restricted to Σc = 0.

        Singular values of X below the rounding of the largest count as zero, and a ridge below their squares is none.
        """
        problem = self.problem
        if not self.ridge_is_lost:
            return problem.quadratic.ridge
        if problem.quadratic.surcharges is not None:  # they may lift a direction that XᵀX has not, by any small amount
            return _NONE
        values, rounding = self._eigenvalues
        positive = values[values > rounding]
        return float(positive.min()) if len(positive) else np.inf  # no two codes differ

    @cached_property
    def _eigenvalues(self) -> tuple[np.ndarray, float]:
        """Eigenvalues of H without the ridge, on the plane Σc = 0 if the set asks for Σc = 1, and their rounding."""
        dictionary, quadratic, on_plane = (
            self.problem.dictionary,
            self.problem.quadratic,
            self.problem.constraint.sums_to_one,
        )
        if quadratic.blocks and dictionary.has_coordinates:
            # Singular values of the stacked squares are as accurate as the atoms are; eigenvalues of H are not.
            stacked = self._stacked
            values = svdvals(about_mean(stacked) if on_plane else stacked) ** 2
            # There is no centre here, so differences are as accurate as the atoms, not as themselves.
            return values, 64.0 * _EPS**2 * float(np.sum(stacked**2))
        if quadratic.blocks:
            matrix = to_numpy(quadratic.matrix(dictionary, prices=False))
            return eigenvalues_of(matrix, on_plane, dictionary.own_rounding)
        values, rounding = dictionary.eigenvalues(on_plane)
        return quadratic.gram * values, quadratic.gram * rounding

    @cached_property
    def lost_share(self) -> float:
        """The share of f(c) that directions lost in rounding could still gain.

        A singular value σ gains at most 2σ²/(σ² + λ) of the misfit. Without a ridge, directions that are lost beside
        the longest atom, but not beside the atoms that span them, could gain all of it. Directions that are lost even
        so belong to the rounding of the atoms: the code is optimal for atoms that differ from those given by as much.
        """
        if not self.ridge_is_lost:
            return 0.0
        if self.problem.quadratic.surcharges is not None:
            return 1.0
        values, rounding = self._eigenvalues
        rank, ridge = int((values > rounding).sum()), self.problem.quadratic.ridge
        if ridge:
            return min(1.0, float(2.0 * rounding / ridge)) if rank < self._most_directions else 0.0
        # With class terms atoms have a rank in each class as well, and rounding may change any of these. Inner products
        # hold squares, in which a direction is lost long before it belongs to the rounding of the atoms.
        lenient = self.problem.dictionary.has_coordinates and not self.problem.quadratic.blocks
        most = self._rank_of_units if lenient else self._most_directions
        return 1.0 if rank < most else 0.0

    @cached_property
    def _rank_of_units(self) -> int:
        """The numerical rank of the atoms, each at unit length."""
        dictionary, on_plane = self.problem.dictionary, self.problem.constraint.sums_to_one
        lengths, given = to_numpy(self.atom_lengths), self._given.dictionary
        # About the mean, atoms that were equal differ by a rounding of what they were.
        least = 8.0 * _EPS * given.longest * dictionary.units if on_plane else 0.0
        lengths = np.where(lengths > least, lengths, np.inf)
        # About their mean once more: a centre that is rounded would leave a direction that Σc = 0 does not have.
        rows = (about_mean(self._stacked) if on_plane else self._stacked) / lengths[:, None]
        values = svdvals(rows) ** 2
        return int((values > 16.0 * _EPS**2 * float(values[0]) * rows.shape[1] * len(values)).sum())

    @cached_property
    def _stacked(self) -> np.ndarray:
        """A row for each atom of a matrix A with AAᵀ = H, without the ridge."""
        dictionary = self.problem.dictionary
        return _stacked(to_numpy(dictionary.coordinates), dictionary.blocks, self.problem.quadratic)

    @property
    def _most_directions(self) -> int:
        """The most directions that the atoms can have: atoms that are equal, or zero, add none."""
        dictionary, on_plane = self.problem.dictionary, self.problem.constraint.sums_to_one
        if not dictionary.has_coordinates:
            zero = to_numpy(dictionary.squares) == 0.0
            # With class terms equal atoms of two classes are two directions.
            distinct = int((~zero).sum()) if self.problem.quadratic.blocks else dictionary.n_distinct
            return distinct + bool(zero.any()) - 1 if on_plane else distinct
        atoms = to_numpy(dictionary.coordinates)
        parts = [atoms[block] for block in dictionary.blocks] if self.problem.quadratic.blocks else [atoms]
        distinct = [np.unique(part[(part != 0.0).any(axis=1)], axis=0) for part in parts]
        directions = sum(min(len(part), dictionary.dimension) for part in distinct)
        if not on_plane:
            return directions
        # Between n points there are n − 1 directions; the origin is one of the points if there is a zero atom.
        points = sum(map(len, distinct)) + bool((atoms == 0.0).all(axis=1).any())
        return min(directions, points - 1)

    @cached_property
    def _newton(self) -> Callable[[np.ndarray], np.ndarray] | None:
        """Function for H⁻¹p, approximately; on Σc = 1 for steps that keep the sum. None if H would be too large."""
        n, on_plane = self.problem.dictionary.n_atoms, self.problem.constraint.sums_to_one
        if n > _MOST_ATOMS:
            return None
        matrix = self._times_h(np.eye(n))
        if on_plane:
            matrix = about_mean(about_mean(matrix).T)
            matrix += (float(np.trace(matrix)) / n or 1.0) / n
        solve = psd_solver(matrix, self.problem.quadratic.ridge)
        return partial(_steps, solve, on_plane)

    def improved(self, look: Look) -> tuple[Look, Array] | None:
        """Better codes, and by how much at most f falls on the way there: tᵀ(p + p′) for a step t, as p′ = p − Ht.

        For sets without inequalities. A bound for the better codes, plus that, is a bound for the codes given; it does
        not suffer if H is ill-conditioned.
        """
        if self._newton is None:
            return None
        return self._moved(look, self.problem.dictionary.like(self._newton(to_numpy(look.pull))))

    def _moved(self, look: Look, step: Array) -> tuple[Look, Array]:
        better = look.with_codes(dense(look.codes) + step)
        return better, look.fall_to(better)

    @cached_property
    def ridge_is_lost(self) -> bool:
        """Whether the ridge is below the rounding of H, so that it cannot make H definite."""
        dictionary = self.problem.dictionary
        # What was checked has eigenvalues above zero up to this rounding alone.
        share = _EPS if dictionary.is_certain else 16.0 * dictionary.n_atoms * _EPS
        return self.problem.quadratic.ridge <= share * float(dictionary.xp.max(self.problem.lengths)) ** 2

    def improved_on_support(self, look: Look) -> tuple[Look, Array] | None:
        """The same for one query of the orthant, over the atoms that its code uses; None if one would turn negative."""
        code = to_numpy(dense(look.codes))[0]
        used = np.flatnonzero((code > 0.0) & (to_numpy(self.atom_lengths) > 0.0))
        if not 0 < len(used) <= _MOST_USED:
            return None
        unit, lengths = np.zeros((len(used), len(code))), to_numpy(self.atom_lengths)[used]
        unit[np.arange(len(used)), used] = 1.0 / lengths
        matrix = self._times_h(unit)[:, used] / lengths
        step = np.zeros_like(code)
        step[used] = np.linalg.lstsq(matrix, to_numpy(look.pull)[0, used] / lengths, rcond=1e-14)[0] / lengths
        if (code + step < 0.0).any():
            return None
        return self._moved(look, look.dictionary.like(step[None, :]))

    @cached_property
    def atom_lengths(self) -> Array:
        """√H_jj of each atom without the ridge: zero for a zero atom, whose pull is never positive."""
        quadratic, dictionary = self.problem.quadratic, self.problem.dictionary
        return dictionary.xp.sqrt((quadratic.gram + quadratic.blocks) * dictionary.squares)

    @cached_property
    def interior_direction(self) -> tuple[Array | None, float]:
        """He and eᵀHe for some e with (He)_j ≥ ‖x_j‖; (None, 0) if none is found.

        Pulls have rounding errors in proportion to the length of their atom. Equal weights will do where atoms lie on
        one side of the origin, as non-negative data does. Otherwise the system is solved by conjugate gradients; with a
        ridge the set has a bound that needs no e.
        """
        dictionary, lengths = self.problem.dictionary, to_numpy(self.atom_lengths)
        inverse = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0.0)

        def scaled(weights: np.ndarray) -> np.ndarray:
            return inverse * self._times_h((inverse * weights)[None, :])[0]

        present = lengths > 0.0
        weights = present / max(present.sum(), 1)
        image = scaled(weights) - self._image_rounding(weights)
        if not self.problem.quadratic.ridge and image[present].min(initial=np.inf) <= 0.0:
            system = LinearOperator((dictionary.n_atoms,) * 2, scaled, dtype=np.float64)
            with np.errstate(all="ignore"):  # where there is no e, whatever comes out is told below
                weights, _ = cg(system, 1.0 * present, maxiter=200)
                image = scaled(weights) - self._image_rounding(weights)
        if not present.any():
            return dictionary.like(image), 0.0
        least = float(image[present].min())
        if not least > 1e-12 * np.abs(image).max():
            return None, 0.0
        return dictionary.like(lengths * (image / least)), self._form(weights / least, lengths * (image / least))

    def _image_rounding(self, weights: np.ndarray) -> float:
        """What rounding can do to (He)_j/‖x_j‖ for an e with these weights e_i‖x_i‖."""
        dictionary = self.problem.dictionary
        steps = dictionary.dimension + dictionary.n_atoms + 16
        return (steps * _EPS + dictionary.own_rounding) * float(np.abs(weights).sum())

    def _form(self, weights: np.ndarray, image: np.ndarray, atoms: Any = slice(None)) -> float:
        """The most that eᵀHe can be, with weights e_i‖x_i‖ over some atoms, and He less its rounding.

        By Cauchy and Schwarz it is not below (He)_j²/H_jj, whatever rounding has left of it.
        """
        lengths = to_numpy(self.atom_lengths)[atoms]
        own = np.divide(image[atoms], lengths, out=np.zeros_like(lengths), where=lengths > 0.0)
        raised = float(weights @ own) + 2.0 * self._image_rounding(weights) * float(np.abs(weights).sum())
        full = to_numpy(self.problem.lengths)
        least = np.divide(image, full, out=np.zeros_like(full), where=full > 0.0)
        return max(raised, float(least.max(initial=0.0)) ** 2)

    def own_direction(self, tight: np.ndarray) -> tuple[np.ndarray, float]:
        """He and eᵀHe for an e over some atoms only, with (He)_j = ‖x_j‖ on them as nearly as can be."""
        unit = np.zeros((len(tight), self.problem.dictionary.n_atoms))
        unit[np.arange(len(tight)), tight] = 1.0 / to_numpy(self.atom_lengths)[tight]
        rows = self._times_h(unit)
        correlations = rows[:, tight] / to_numpy(self.atom_lengths)[tight]
        weights = np.linalg.lstsq(correlations, np.ones(len(tight)), rcond=1e-13)[0]
        rounding, lengths = self._image_rounding(weights), to_numpy(self.atom_lengths)
        image = weights @ rows - rounding * lengths
        return image, self._form(weights, image, tight)

    def face_bound(self, look: Look, tight: np.ndarray) -> float:
        """Bound on the gap of one query of the orthant whose code uses tight atoms only; infinite if it proves nothing.

        With r the residual and P the projection on the span of the tight atoms, r″ = r − Pr pulls at none of them. If
        it pulls at no other atom either, it is a dual point, and f(c) − f* ≤ ‖Pr‖², less than ‖p‖²/σ over these atoms.
        """
        prices, code = self.problem.quadratic.prices, to_numpy(dense(look.codes))[0]
        lengths, rounding = to_numpy(self.atom_lengths), float(look.rounding[0])
        others = np.setdiff1d(np.arange(len(code)), tight)
        pull = (to_numpy(look.pull)[0] + prices * code)[tight] / lengths[tight]  # without the ridge
        least = self._least_of_units(tight)
        if not least:
            return np.inf
        projected = (np.linalg.norm(pull) + np.sqrt(len(tight)) * rounding) / np.sqrt(least)
        pulled = (to_numpy(look.raised_pull)[0] + prices * code)[others]
        if (np.abs(code[others]) > 0.0).any() or (pulled + lengths[others] * projected > 0.0).any():
            return np.inf
        return float(projected**2 + np.sum(prices * code**2))

    def _least_of_units(self, atoms: np.ndarray) -> float:
        """The smallest positive eigenvalue of H over some atoms, each at unit length; 0 if rounding may hide one."""
        lengths = to_numpy(self.atom_lengths)[atoms]
        if self.problem.dictionary.has_coordinates:
            rows = self._stacked[atoms] / lengths[:, None]
            values, rounding = svdvals(rows) ** 2, 16.0 * _EPS**2 * rows.shape[1]
        else:
            unit = np.zeros((len(atoms), self.problem.dictionary.n_atoms))
            unit[np.arange(len(atoms)), atoms] = 1.0 / lengths
            values, rounding = eigvalsh(self._times_h(unit)[:, atoms] / lengths), _EPS
            if not values[0] > len(values) * rounding * values[-1]:
                return 0.0
        return float(values[values > len(values) * rounding * values.max()].min())

    def newton_code(self, look: Look) -> np.ndarray:
        """The minimiser for one query of the relaxed orthant, if the entries that are negative stay so.

        There the objective is ‖y − Xc‖² + λ‖c‖² + γ/2·Σc_j² over those entries.
        """
        n, code = self.problem.dictionary.n_atoms, to_numpy(look.codes)
        price = np.where(code[0] < 0.0, (self.problem.relaxation or 0.0) / 2.0, 0.0)
        slope = to_numpy(look.pull) - price * code
        matrix = self._times_h(np.eye(n))
        step = np.linalg.lstsq(matrix + np.diag(price), slope[0], rcond=1e-15)[0]
        return code + step

    def _times_h(self, codes: np.ndarray) -> np.ndarray:
        """He for each row e."""
        dictionary = self.problem.dictionary
        return -to_numpy(self.problem.quadratic.pull(dictionary, None, dictionary.like(codes)))


@dataclass(frozen=True)
class Look:
    """A block of queries with their codes, as the bound of a set needs them.

    Attributes
    ----------
    certificate : Certificate
        What is known about the problem independently of the query.
    queries, codes : array
        In double precision and standard form; codes dense or CSR.
    """

    certificate: Certificate
    queries: Array
    codes: Any

    @property
    def problem(self) -> Problem:
        """The problem in standard form."""
        return self.certificate.problem

    @property
    def dictionary(self) -> BaseDictionary:
        """The atoms, in double precision."""
        return self.problem.dictionary

    @property
    def quadratic(self) -> Quadratic:
        """H and b."""
        return self.problem.quadratic

    @cached_property
    def pull(self) -> Array:
        """p = b − Hc for all atoms."""
        return self.quadratic.pull(self.dictionary, self.queries, self.codes)

    @cached_property
    def span(self) -> Array:
        """Σ|c_j|·√H_jj of each code, which bounds √(cᵀHc)."""
        return abs(self.codes) @ self.problem.lengths

    @cached_property
    def rounding(self) -> Array:
        """What rounding can do to the pull of an atom with H_jj = 1.

        Sums of d and of n products are off by at most (d + n)·u times the sum of their absolute values, which for
        p_j is at most √H_jj times the lengths of the query and of the code. A code that sums to one does so up to the
        last digit, in any of its entries.
        """
        steps, xp = self.dictionary.dimension + self.dictionary.n_atoms + 16, self.dictionary.xp
        of_the_sum = _EPS * float(xp.max(self.problem.lengths)) if self.problem.constraint.sums_to_one else 0.0
        share = steps * _EPS / 2.0 + self.dictionary.value_rounding(self.queries)
        return share * self._terms + of_the_sum

    @cached_property
    def _terms(self) -> Array:
        """Length of the query and of the code: what pulls and misfits are made of."""
        reach = self.quadratic.reach(self.dictionary)
        return self.dictionary.xp.sqrt(reach * self.dictionary.squared_norms(self.queries)) + self.span

    @cached_property
    def members(self) -> Array:
        """The point of the set nearest to each code."""
        return self.problem.constraint.project(self.codes)

    @cached_property
    def value(self) -> Array:
        """The objective without the constant that no code can reach, the price of a relaxation included."""
        value = self.quadratic.excess(self.dictionary, self.queries, self.codes)
        if self.problem.relaxation is None:
            return value
        return value + self.problem.relaxation / 2.0 * row_squares(self.codes - self.members)

    def at_most(self, value: Array) -> Array:
        """The largest that an objective can be, which without coordinates is a difference of large terms."""
        if self.dictionary.has_coordinates:
            return (self.dictionary.xp.sqrt(value) + self.rounding) ** 2
        return value + 2.0 * self.rounding * self._terms

    @cached_property
    def slack(self) -> Array:
        """What rounding can do to each pull."""
        slack = self.rounding[:, None] * self.certificate.atom_lengths
        prices = self.quadratic.prices_like(slack)
        return slack + 2.0 * _EPS * prices * abs(dense(self.codes)) if self.quadratic.largest_price else slack

    @cached_property
    def raised_pull(self) -> Array:
        """The largest that each pull can be."""
        return self.pull + self.slack

    @property
    def code_slack(self) -> Array:
        """What rounding can do to pᵀc."""
        return self.rounding * self.span

    @property
    def lost_price(self) -> Array | float:
        """2λ‖c‖² where the ridge is lost in rounding, for c and what is lost with it, and what lost directions gain."""
        if not self.certificate.ridge_is_lost:
            return 0.0
        share = self.certificate.lost_share
        price = 2.0 * self.quadratic.ridge * row_squares(self.codes) if self.quadratic.ridge else 0.0
        if not share:
            return price
        return price + (share * self.at_most(self.value) if self.dictionary.knows_lengths else float("inf"))

    def fall_to(self, better: Look) -> Array:
        """By how much at most f falls to other codes: tᵀ(p + p′) for the step t, and what the relaxation costs less.

        A difference of two objectives would be one of large numbers, which contain the square of the query.
        """
        step, pull = dense(better.codes) - dense(self.codes), self.pull + better.pull
        if self.problem.constraint.sums_to_one and self.problem.relaxation is None:
            # Steps sum to zero, up to the rounding of codes, which must not count.
            pull = pull - self.dictionary.xp.mean(pull, axis=1, keepdims=True)
        fall = row_dots(step, pull) + row_dots(abs(step), self.slack + better.slack)
        if self.problem.relaxation is None:
            return fall
        price = self.problem.relaxation / 2.0
        before, after = dense(self.codes - self.members), dense(better.codes - better.members)
        rounding = 4.0 * _EPS * (_lengths(dense(self.codes)) + _lengths(dense(better.codes)))
        return (
            fall
            + price * row_dots(before - after, before + after)
            + price * rounding * (_lengths(before) + _lengths(after) + rounding)
        )

    def with_codes(self, codes: Array) -> Look:
        """The same queries with other codes."""
        return Look(self.certificate, self.queries, codes)

    def row(self, row: int) -> Look:
        """The same for one query."""
        one = slice(row, row + 1)
        return Look(self.certificate, self.queries[one, :], self.codes[one, :])


def _lengths(rows: Array) -> Array:
    return row_squares(rows) ** 0.5


def _stacked(atoms: np.ndarray, blocks: list[slice], quadratic: Quadratic) -> np.ndarray:
    """A row for each atom of a matrix A with AAᵀ = gram·XᵀX + blocks·blockdiag(X_iᵀX_i)."""
    parts = [np.sqrt(quadratic.gram) * atoms] if quadratic.gram else []
    for block in blocks if quadratic.blocks else []:
        own = qr(atoms[block].T, mode="r")[0].T if block.stop > block.start else np.zeros((0, 0))
        part = np.zeros((len(atoms), own.shape[1]))
        part[block] = np.sqrt(quadratic.blocks) * own
        parts.append(part)
    return np.hstack(parts)


def _steps(solve: Callable[[np.ndarray], np.ndarray], on_plane: bool, pull: np.ndarray) -> np.ndarray:
    """H⁻¹p for each row p, on the plane of Σ = 0 if asked for."""
    return about_mean(solve(about_mean(pull.T))).T if on_plane else solve(pull.T).T


def _l1_bound(look: Look) -> Array:
    """f(c) less the dual objective at the residual, scaled until no atom pulls harder than half the ℓ1 weight.

    With all squares of the objective stacked into one, ‖r‖², its gradient over the atoms is −2p and rᵀXc = pᵀc. The
    residual scaled by s is a dual point, and the difference is (1 − s)²‖r‖² + μ‖c‖₁ − 2s·pᵀc.
    """
    quadratic, xp = look.quadratic, look.dictionary.xp
    signed = not look.problem.constraint.nonnegative
    pulls = (xp.abs(look.pull) if signed else look.pull) + look.slack
    hardest = xp.max(pulls / quadratic.multiples_like(pulls), axis=1)
    shrink = xp.clip(quadratic.absolute / 2.0 / xp.clip(hardest, float(np.finfo(float).tiny), None), None, 1.0)
    if look.dictionary.knows_lengths:
        squares = quadratic.squares(look.dictionary, look.queries, look.codes)
    else:  # ‖r‖² of a residual in the span of the atoms
        length = _lengths(look.pull) + _lengths(look.slack)
        squares = length**2 / look.certificate.curvature if not look.certificate.lost_share else float("inf")
    price = quadratic.absolute_price(look.codes)
    inner = row_dots(look.codes, look.pull) - look.code_slack
    return (1.0 - shrink) ** 2 * squares + price - 2.0 * shrink * inner
