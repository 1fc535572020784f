r"""What is known about H before any query comes: its curvature, the directions that rounding hides, its products.

    H = gram·XᵀX + blocks·blockdiag(X_iᵀX_i) + diag(prices)

All of it is computed from the problem in standard form and in double precision.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial

import numpy as np
from scipy.linalg import qr, svdvals
from scipy.sparse.linalg import LinearOperator, cg

from ancr._core.arrays import Array, to_numpy
from ancr._core.psd import about_mean, definite_on_plane, psd_solver
from ancr.axes.problem import Problem
from ancr.certificate.tolerances import Tolerances, rounding_of
from ancr.dictionary.atoms import BaseDictionary
from ancr.dictionary.coordinates import Dictionary
from ancr.dictionary.derived import checked, in_long
from ancr.dictionary.psd_checks import eigenvalues_of

EPS = float(np.finfo(float).eps)
# A curvature that proves nothing.
_NONE = float(np.finfo(float).tiny)
# The most atoms for which H is factored to improve on a first bound.
_MOST_ATOMS = 10_000

# He and eᵀHe for some direction e; (None, 0) where none is found.
Direction = tuple[Array | None, float]


class Hessian:
    """H of a problem, as the bounds on the gap need it.

    Parameters
    ----------
    problem : Problem
        The problem as given.

    Attributes
    ----------
    form : StandardForm
        The problem in standard form, in double precision.
    rounding : Rounding
        Which objectives are rounding in the precision given.
    tolerances : Tolerances
        What certifies a code in it.
    """

    def __init__(self, problem: Problem) -> None:
        quadratic = problem.quadratic
        weight = quadratic.gram + quadratic.blocks
        dictionary, taken = checked(problem.dictionary.in_double, quadratic.ridge / weight)
        quadratic = replace(quadratic, ridge=quadratic.ridge - weight * taken)
        given = replace(problem, dictionary=dictionary, quadratic=quadratic)
        self.form, self._given, self._has_ridge = given.standard_form, dictionary, quadratic.ridge > 0.0
        self.problem, self._on_plane = self.form.problem, problem.constraint.sums_to_one
        self.rounding, self.tolerances = rounding_of(problem), Tolerances.of(problem.dictionary)

    @property
    def dictionary(self) -> BaseDictionary:
        """The atoms, in double precision."""
        return self.problem.dictionary

    @cached_property
    def long_dictionary(self) -> Dictionary:
        """The atoms in the longest numbers of the machine, from the same origin; for NumPy atoms with coordinates.

        They are made from those given: differences to the origin that were rounded before would stay so.
        """
        long, origin, units = in_long(self._given.located), self.dictionary.origin, self.form.factor
        long = long if units == 1.0 else long.scaled(units)
        return long if origin is None else long.about(origin)

    @cached_property
    def ridge_is_lost(self) -> bool:
        """Whether the ridge is below the rounding of H, so that it cannot make H definite."""
        # What was checked has eigenvalues above zero up to this rounding alone.
        share = EPS if self.dictionary.is_certain else 16.0 * self.dictionary.n_atoms * EPS
        return self.problem.quadratic.ridge <= share * float(self.dictionary.xp.max(self.problem.lengths)) ** 2

    @cached_property
    def atom_lengths(self) -> Array:
        """√H_jj of each atom without the ridge: zero for a zero atom, whose pull is never positive."""
        quadratic = self.problem.quadratic
        return self.dictionary.xp.sqrt((quadratic.gram + quadratic.blocks) * self.dictionary.squares)

    def times(self, codes: np.ndarray) -> np.ndarray:
        """He for each row e."""
        return to_numpy(self.problem.quadratic.times_codes(self.dictionary, self.dictionary.like(codes)))

    def unit_rows(self, atoms: np.ndarray) -> np.ndarray:
        """He for the unit vectors of some atoms, each divided by the length of its atom."""
        unit = np.zeros((len(atoms), self.dictionary.n_atoms))
        unit[np.arange(len(atoms)), atoms] = 1.0 / to_numpy(self.atom_lengths)[atoms]
        return self.times(unit)

    @cached_property
    def newton(self) -> Callable[[np.ndarray], np.ndarray] | None:
        """Function for H⁻¹p, approximately; on Σc = 1 for steps that keep the sum. None if H would be too large."""
        n = self.dictionary.n_atoms
        if n > _MOST_ATOMS:
            return None
        matrix = self.times(np.eye(n))
        matrix = definite_on_plane(matrix) if self._on_plane else matrix
        return partial(_steps, psd_solver(matrix, self.problem.quadratic.ridge), self._on_plane)

    @cached_property
    def interior_direction(self) -> Direction:
        """He and eᵀHe for some e with (He)_j ≥ ‖x_j‖; (None, 0) if none is found.

        Pulls have rounding errors in proportion to the length of their atom. Equal weights will do where atoms lie on
        one side of the origin, as non-negative data does. Otherwise the system is solved by conjugate gradients; with a
        ridge there is a bound that needs no e.
        """
        lengths, n = to_numpy(self.atom_lengths), self.dictionary.n_atoms
        present, inverse = lengths > 0.0, _divided(np.ones(len(lengths)), lengths)

        def scaled(weights: np.ndarray) -> np.ndarray:
            return inverse * self.times((inverse * weights)[None, :])[0]

        weights = present / max(present.sum(), 1)
        with np.errstate(all="ignore"):  # where there is no e, whatever comes out is refused below
            image = scaled(weights) - self._image_rounding(weights)
            if not self.problem.quadratic.ridge and image[present].min(initial=np.inf) <= 0.0:
                weights, _ = cg(LinearOperator((n, n), scaled, dtype=np.float64), 1.0 * present, maxiter=200)
                image = scaled(weights) - self._image_rounding(weights)
        if not present.any():
            return self.dictionary.like(image), 0.0
        least = float(image[present].min())
        if not least > 1e-12 * np.abs(image).max():
            return None, 0.0
        image = lengths * (image / least)
        return self.dictionary.like(image), self._form(weights / least, image)

    def own_direction(self, tight: np.ndarray) -> Direction:
        """He and eᵀHe for an e over some atoms only, with (He)_j = ‖x_j‖ on them as nearly as can be."""
        rows, lengths = self.unit_rows(tight), to_numpy(self.atom_lengths)
        weights = np.linalg.lstsq(rows[:, tight] / lengths[tight], np.ones(len(tight)), rcond=1e-13)[0]
        image = weights @ rows - self._image_rounding(weights) * lengths
        return self.dictionary.like(image), self._form(weights, image, tight)

    def _image_rounding(self, weights: np.ndarray) -> float:
        """What rounding can do to (He)_j/‖x_j‖ for an e with these weights e_i‖x_i‖."""
        steps = self.dictionary.dimension + self.dictionary.n_atoms + 16
        return (steps * EPS + self.dictionary.own_rounding) * float(np.abs(weights).sum())

    def _form(self, weights: np.ndarray, image: np.ndarray, atoms: np.ndarray | slice = slice(None)) -> float:
        """The most that eᵀHe can be, with weights e_i‖x_i‖ over some atoms, and He less its rounding.

        By Cauchy and Schwarz it is not below (He)_j²/H_jj, whatever rounding has left of it.
        """
        own = _divided(image[atoms], to_numpy(self.atom_lengths)[atoms])
        raised = float(weights @ own) + 2.0 * self._image_rounding(weights) * float(np.abs(weights).sum())
        least = _divided(image, to_numpy(self.problem.lengths))
        return max(raised, float(least.max(initial=0.0)) ** 2)

    @cached_property
    def curvature(self) -> float:
        """A lower bound on the positive eigenvalues of H or, if the set asks for Σc = 1, of H restricted to Σc = 0.

        Singular values of X below the rounding of the largest count as zero, and a ridge below their squares is none.
        """
        if not self.ridge_is_lost:
            return self.problem.quadratic.ridge
        values, rounding = self._eigenvalues
        positive = values[values > rounding]
        if self._may_lack_directions:
            return _NONE
        if not len(positive):
            return np.inf  # no two codes differ
        # A singular value is known up to the root of the rounding of its square, which may be most of a small one.
        return max(float(np.sqrt(positive.min()) - np.sqrt(rounding)) ** 2, _NONE)

    @property
    def _may_lack_directions(self) -> bool:
        """Whether atoms with prices of their own lack a direction, which these may lift by any amount."""
        if self.problem.quadratic.surcharges is None:
            return False
        return not self.has_all_directions

    @cached_property
    def _eigenvalues(self) -> tuple[np.ndarray, float]:
        """Eigenvalues of H without the ridge, on the plane Σc = 0 if the set asks for Σc = 1, and their rounding."""
        dictionary, quadratic = self.dictionary, self.problem.quadratic
        if quadratic.blocks and dictionary.has_coordinates:
            # Singular values of the stacked squares are as accurate as the atoms are; eigenvalues of H are not.
            values = svdvals(about_mean(self.stacked) if self._on_plane else self.stacked) ** 2
            # There is no centre here, so differences are as accurate as the atoms, not as themselves.
            return values, 64.0 * EPS**2 * float(np.sum(self.stacked**2))
        if quadratic.blocks:
            matrix = to_numpy(quadratic.matrix(dictionary, prices=False))
            return eigenvalues_of(matrix, self._on_plane, dictionary.own_rounding)
        values, rounding = dictionary.eigenvalues(self._on_plane)
        return quadratic.gram * values, quadratic.gram * rounding

    @cached_property
    def has_all_directions(self) -> bool:
        """Whether H without the ridge is above its rounding in every direction that a code can move in."""
        values, rounding = self._eigenvalues
        return int((values > rounding).sum()) == self.dictionary.n_atoms - self._on_plane

    @cached_property
    def lost_share(self) -> float:
        """The share of f(c) that directions lost in rounding could still gain.

        A singular value σ gains at most 2σ²/(σ² + λ) of the misfit. Without a ridge, directions that are lost beside
        the longest atom, but not beside the atoms that span them, could gain all of it. Directions that are lost even
        so belong to the rounding of the atoms: the code is optimal for atoms that differ from those given by as much.
        """
        if not self.ridge_is_lost:
            return 0.0
        if self._may_lack_directions:
            return 1.0
        values, rounding = self._eigenvalues
        rank, ridge = int((values > rounding).sum()), self.problem.quadratic.ridge
        if self._has_ridge:  # in safe units it may have vanished
            lost, most = min(1.0, float(2.0 * rounding / ridge)) if ridge else 1.0, self._most_directions
        else:
            # With class terms atoms have a rank in each class as well, and rounding may change any of these. Inner
            # products hold squares, in which a direction is lost long before it belongs to the rounding of the atoms.
            lenient = self.dictionary.has_coordinates and not self.problem.quadratic.blocks
            lost, most = 1.0, self._rank_of_units if lenient else self._most_directions
        if rank < most:
            return lost
        # Singular values are known up to their rounding, which may be most of the smallest that are left.
        known = rank and self.dictionary.has_coordinates
        return min(lost, float(2.0 * rounding / values[values > rounding].min())) if known else 0.0

    @cached_property
    def _rank_of_units(self) -> int:
        """The numerical rank of the atoms, each at unit length."""
        lengths = to_numpy(self.atom_lengths)
        # About the mean, atoms that were equal differ by a rounding of what they were.
        least = 8.0 * EPS * self._given.longest * self.dictionary.units if self._on_plane else 0.0
        lengths = np.where(lengths > least, lengths, np.inf)
        # About their mean once more: a centre that is rounded would leave a direction that Σc = 0 does not have.
        rows = (about_mean(self.stacked) if self._on_plane else self.stacked) / lengths[:, None]
        values = svdvals(rows) ** 2
        return int((values > 16.0 * EPS**2 * float(values[0]) * rows.shape[1] * len(values)).sum())

    @property
    def _most_directions(self) -> int:
        """The most directions that the atoms can have: atoms that are equal, or zero, add none."""
        dictionary, by_class = self.dictionary, bool(self.problem.quadratic.blocks)
        if not dictionary.has_coordinates:
            zero = to_numpy(dictionary.squares) == 0.0
            # With class terms equal atoms of two classes are two directions.
            distinct = int((~zero).sum()) if by_class else dictionary.n_distinct
            return distinct + bool(zero.any()) - 1 if self._on_plane else distinct
        atoms = to_numpy(dictionary.coordinates)
        parts = [atoms[block] for block in dictionary.blocks] if by_class else [atoms]
        counts = [len(np.unique(part[(part != 0.0).any(axis=1)], axis=0)) for part in parts]
        directions = sum(
            min(count, int((part != 0.0).any(axis=0).sum())) for count, part in zip(counts, parts, strict=True)
        )
        if not self._on_plane:
            return directions
        # Between n points there are n − 1 directions; the origin is one of the points if there is a zero atom. None of
        # them changes a constant feature.
        constant = bool(((atoms == atoms[:1]) & (atoms != 0.0)).all(axis=0).any())
        return min(directions - constant, sum(counts) + bool((atoms == 0.0).all(axis=1).any()) - 1)

    @cached_property
    def stacked(self) -> np.ndarray:
        """A row for each atom of a matrix A with AAᵀ = gram·XᵀX + blocks·blockdiag(X_iᵀX_i); needs coordinates."""
        atoms, quadratic = to_numpy(self.dictionary.coordinates), self.problem.quadratic
        parts = [np.sqrt(quadratic.gram) * atoms] if quadratic.gram else []
        for block in self.dictionary.blocks if quadratic.blocks else []:
            own = qr(atoms[block].T, mode="r")[0].T if block.stop > block.start else np.zeros((0, 0))
            part = np.zeros((len(atoms), own.shape[1]))
            part[block] = np.sqrt(quadratic.blocks) * own
            parts.append(part)
        return np.hstack(parts)


def _steps(solve: Callable[[np.ndarray], np.ndarray], on_plane: bool, pull: np.ndarray) -> np.ndarray:
    """H⁻¹p for each row p, on the plane of Σ = 0 if asked for."""
    return about_mean(solve(about_mean(pull.T))).T if on_plane else solve(pull.T).T


def _divided(values: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Values over lengths; zero for a zero atom."""
    return np.divide(values, lengths, out=np.zeros_like(lengths), where=lengths > 0.0)
