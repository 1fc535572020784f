"""One problem of the campaign: solved by the package, compared with the reference, and what is wrong with it."""

import time
import traceback
import warnings
from dataclasses import dataclass, field

import numpy as np

from ancr import prepare, solve
from ancr._core.arrays import dense, to_numpy
from ancr.solvers import ADMM, Problem, make_solver
from ancr.solvers.coder import Coder
from tests.campaign.problems import SPACES, make_problem
from tests.campaign.reference import DOUBLE, EPS, REAL, LeastSquares
from tests.campaign.written_out import WrittenOut

# What must be reached, relative to the scale of a gap, on problems whose condition is at most the limit. Codes in
# single precision have seven digits, of which a condition of 1e8 leaves three, enough for 1e-5 of a square.
TOLERANCE = {"float64": 1e-8, "float32": 1e-5}
CONDITION = {"float64": 1e12, "float32": 1e8}
# An objective below these shares of what the best single atom leaves, or of ‖y − centre‖², counts as rounding, and a
# gap is relative to a hundred times that much.
ROUNDING = {"float64": 1e-12, "float32": 1e-2}
OF_DISTANCE = {"float64": 0.0, "float32": 1e-2 * 2.0**-24}
VIOLATION = {"float64": 1e-12, "float32": 1e-5}
# Errors below this share of the tolerance are rounding, with which no bound is compared.
NEGLIGIBLE = 1e-4
# cond(H) beyond which a singular value cannot be told from zero in double precision.
RANK = 1e26


@dataclass
class Outcome:
    """What became of one problem.

    Attributes
    ----------
    index : int
        Its index.
    families : dict
        What it was drawn from.
    counts : dict
        Number of its queries that were solved, certified, undecided and so on.
    error, excess : float
        The largest true error relative to that scale among queries that had to be certified, and the largest ratio
        of a true error to the claimed gap among all that are not negligible.
    refusal : str
        The message of its ValueError, if it was refused.
    failures : list of str
        What is wrong.
    seconds : float
        How long it took.
    """

    index: int
    families: dict
    counts: dict = field(default_factory=dict)
    error: float = 0.0
    excess: float = 0.0
    refusal: str = ""
    failures: list = field(default_factory=list)
    seconds: float = 0.0

    def count(self, what):
        """Add one."""
        self.counts[what] = self.counts.get(what, 0) + 1

    def fail(self, what):
        """Note what is wrong."""
        self.failures.append(what)


def judge(seed, index, spaces=SPACES):
    """Solve a problem and compare it with the reference."""
    start, problem = time.perf_counter(), make_problem(seed, index, spaces)
    outcome = Outcome(index, problem.families)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            solved = _solved(problem)
            _compare(problem, WrittenOut.of(problem, _library(problem.library)), solved, outcome)
    except _Refusal as refusal:
        outcome.refusal = str(refusal)
        outcome.count("refused")
    except ImportError as error:
        outcome.count(f"skipped: {error.name} is not installed")
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        outcome.fail(f"exception: {type(error).__name__}: {error} ({place.filename.rpartition('/')[2]}:{place.lineno})")
    outcome.seconds = time.perf_counter() - start
    return outcome


class _Refusal(Exception):
    """A documented ValueError."""


@dataclass(frozen=True)
class _Solved:
    """What the package says, as NumPy arrays."""

    codes: np.ndarray
    members: np.ndarray
    gap: np.ndarray
    verified: np.ndarray
    converged: np.ndarray
    relaxed: bool = False


def _solved(problem):
    arrays = _library(problem.library)
    try:
        solution = _solution(problem, arrays(problem.atoms), arrays(problem.queries))
    except ValueError as error:
        if not _is_documented(error):
            raise
        raise _Refusal(str(error).splitlines()[0]) from error
    tolerance = TOLERANCE[problem.families["precision"]]
    answers = (solution.codes, solution.members, solution.gap, solution.verify(tol=tolerance), solution.converged)
    # A relaxation so large that no code leaves the set has become the hard constraint.
    return _Solved(*(to_numpy(dense(answer)) for answer in answers), solution.problem.relaxation is not None)


def _solution(problem, atoms, queries):
    """What `ancr.solve` returns; with weights of samples, which classifiers pass on to the same solvers."""
    settings = dict(problem.settings)
    if problem.sample_weight is None:
        return solve(atoms, queries, **settings)
    asked = {name: settings.pop(name) for name in ("exclude", "prices", "start") if name in settings}
    coder = prepare(atoms, **settings)
    rows = atoms if coder.scale is None else atoms * coder.scale
    dictionary = coder.space.dictionary(rows, settings.get("labels"), weights=problem.sample_weight)
    axes = {name: settings[name] for name in ("alpha", "beta", "relaxation")}
    weighted = Problem.of(dictionary, settings["quadratic"], settings["constraint"], **axes)
    solver = make_solver(settings["solver"], weighted)
    return Coder(coder.space, solver, coder.scale, coder.n_features).solve(queries, **asked)


def _is_documented(error):
    """Whether the package or the validation that it calls has raised it, rather than NumPy in the middle of work."""
    place = traceback.extract_tb(error.__traceback__)[-1].filename
    return type(error) is not np.linalg.LinAlgError and ("/ancr/" in place or "/sklearn/utils/" in place)


def _library(name):
    if name == "torch":
        import torch

        return lambda rows: torch.asarray(np.array(rows, order="C"))
    if name == "array_api_strict":
        import array_api_strict

        return array_api_strict.asarray
    return lambda rows: rows


def _compare(problem, written, solved, outcome):
    asks = any(name in problem.settings for name in ("exclude", "prices"))
    shared = None if asks else written.reference(0, solved.relaxed)
    for row in range(len(problem.queries)):
        outcome.count("queries")
        if not np.isfinite(solved.codes[row]).all():
            outcome.count("not finite")
            if solved.converged[row] or solved.verified[row]:
                outcome.fail(f"nan: query {row} is converged or certified")
            continue
        _compare_query(problem, written, shared or written.reference(row, solved.relaxed), solved, row, outcome)


def _compare_query(problem, written, reference, solved, row, outcome):
    precision, query, kept = problem.families["precision"], written.queries[row], written.usable(row)
    tolerance, verified, member = TOLERANCE[precision], bool(solved.verified[row]), solved.members[row].astype(REAL)
    if np.abs(np.delete(member, kept)).any():
        outcome.fail(f"set: query {row} uses atoms that are left out")
    answer = reference.solve(query, member[kept])
    reached, violation = _reached(problem, reference, query, solved.codes[row][kept].astype(REAL), member[kept], solved)
    size, scale = _scales(written, reference, query, reached, precision)
    error = reached - answer.value - _rounding_of_products(written, reference, query, member[kept])
    outcome.count("certified" if verified else "converged, not certified" if solved.converged[row] else "neither")
    if not np.isfinite(answer.value) or not answer.gap <= NEGLIGIBLE * tolerance * size:
        outcome.count("undecided")
    # The reference lies in the set, so an error above the claimed gap proves the claim wrong, however good it is.
    if error > NEGLIGIBLE * tolerance * scale and size > 0 and violation <= VIOLATION[precision]:
        claim = _Claim(reference, query, member[kept], REAL(solved.gap[row]) * scale)
        ratio = claim.ratio(answer, reached, size, NEGLIGIBLE * tolerance * scale)
        outcome.excess = max(outcome.excess, ratio)
        if ratio > 1.01:  # the size that a gap is relative to is rounded, too
            claimed = _of(solved.gap[row] * scale, size)
            outcome.fail(f"bound: query {row} has an error of {_of(error, size)}, but claims {claimed}")
    if verified and violation > VIOLATION[precision]:
        outcome.fail(f"set: query {row} is certified, but violates a constraint by {float(violation):.1e}")
    if _must_be_exact(problem, written, answer, reached, max(size, reference.size(query)), scale, tolerance):
        outcome.count("required")
        outcome.error = max(outcome.error, float(error / scale))
        known = f"query {row}, condition {answer.condition:.0e}, error {_of(error, size)}, gap {solved.gap[row]:.1e}"
        if error > tolerance * scale:
            outcome.fail(f"inexact: {known}")
        elif not verified:
            outcome.fail(f"not certified: {known}")


def _scales(written, reference, query, reached, precision):
    """‖y − centre‖² or the objective, and what a gap is relative to: that or, if less, a hundred objectives.

    Both are those of ``docs/exact.md``. On the simplex the centre is the mean of all atoms, also of those left out.
    """
    sums, row = reference.set.sums_to_one, query.astype(REAL)
    atoms = written.atoms.astype(REAL) if reference.set.nonnegative and not reference.is_relaxed else reference.given
    least = REAL(2.0) ** -64 * (atoms**2).sum(axis=1).max() if sums else REAL(0)
    centre = atoms.mean(axis=0) if reference.is_centred else 0 * row
    size = max(np.sum((row - centre) ** 2), np.abs(reached), least)
    if not written.has_coordinates:  # about the mean of all atoms, or about zero
        size = max(size, reference.size(query), np.sum((row - atoms.mean(axis=0)) ** 2), np.sum(row**2))
        return size, size
    if reference.is_priced and not (reference.set.nonnegative and (reference.paid >= 0).all()):
        return size, size
    floor = REAL(0)
    if precision == "float32" or not reference.weights.ridge:
        alone = np.sum((reference.given - row) ** 2, axis=1) + reference.paid + reference.ridges
        nearest = min(size, alone.min()) if reference.is_centred else size
        floor = max(ROUNDING[precision] * nearest, least, OF_DISTANCE[precision] * size)
    return size, min(size, 100 * max(reached, floor))


def _rounding_of_products(written, reference, query, code):
    """By how much objectives can differ where inner products are given, each rounded."""
    if not written.is_given_rounded:
        return 0
    lengths = np.sqrt(np.sum(reference.given**2, axis=1))
    reach = np.sqrt(np.sum(query.astype(REAL) ** 2)) + np.abs(code) @ lengths
    return 8 * REAL(np.finfo(written.dtype).eps) * reach**2


def _must_be_exact(problem, written, answer, reached, size, scale, tolerance):
    """Whether a query must be solved and certified: of small condition, with coordinates and without prices."""
    precision, is_priced = problem.families["precision"], "prices" in problem.settings
    if isinstance(problem.settings["solver"], ADMM) or not written.has_coordinates or is_priced:
        return False
    # Zero atoms give no unit in which such a query's square could be written down; a scale of zero proves nothing.
    if scale < np.finfo(float).tiny and not np.any(written.atoms):
        return False
    # An objective far below the size costs as many digits as it is smaller.
    lost = answer.condition * max(1.0, float(size / scale)) if scale > 0 else np.inf
    hidden = reached < ROUNDING[precision] * size and scale < ROUNDING[precision] * size
    return lost <= CONDITION[precision] and answer.gap <= NEGLIGIBLE * tolerance * scale and not hidden


@dataclass(frozen=True)
class _Claim:
    """A claimed gap, not relative, for the code of a query."""

    reference: LeastSquares
    query: np.ndarray
    member: np.ndarray
    gap: REAL

    def ratio(self, answer, reached, size, least):
        """The true error over the gap claimed, less what this comparison itself may be off by; 0 below ``least``.

        Where the rank is the numerical one, the truth is the best that can be had with it.
        """
        ratio = self._over(reached - answer.value, size)
        if ratio > 1.0 and (answer.condition > RANK or answer.rank_is_numerical):
            error = reached - self.reference.value_in_double(self.query, self.member)
            # Atoms that differ by their rounding change the objective itself by this.
            error -= 64 * DOUBLE * np.sqrt(reached) * np.sum(np.abs(self.member) * self.reference.lengths)
            ratio = self._over(error, size) if error > least else 0.0
        return ratio

    def _over(self, error, size):
        beyond = error - 64 * EPS * size
        if not beyond > 0:
            return 0.0
        return float(min(beyond / self.gap, REAL(1e300))) if self.gap > 0 else 1e300


def _reached(problem, reference, query, code, member, solved):
    """The objective at the package's code, moved into its set, and how far outside it was."""
    inside, violation = reference.repaired(member)
    if solved.relaxed:
        # A code in the set to the digits of its precision may be moved into it, as without a relaxation.
        apart = reference.pair_objective(query, code, _projected(code, problem.settings["constraint"]))
        moved, outside = reference.repaired(code)
        near = outside <= VIOLATION[problem.families["precision"]]
        return min(apart, reference.pair_objective(query, moved, moved)) if near else apart, violation
    target = reference.target(query)
    values = [reference.objective(target, inside)]
    if violation <= VIOLATION["float64"]:  # a sum that is one in double precision, and not in long double
        values.append(reference.objective(target, member))
    return min(values), violation


def _projected(code, constraint):
    """The point of the set that is nearest to a code."""
    if constraint == "nonnegative":
        return np.maximum(code, 0)
    falling = np.sort(code)[::-1]
    thresholds = (np.cumsum(falling) - 1) / np.arange(1, len(code) + 1)
    last = np.flatnonzero(falling > thresholds)
    return np.maximum(code - thresholds[last[-1] if len(last) else 0], 0)  # none: entries so large that 1 is lost


def _of(error, size):
    return f"{float(error / size):.1e}"
