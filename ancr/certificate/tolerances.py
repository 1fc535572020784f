"""What counts as solved, defined once for solvers on the host and on a device and for `Solution.verify`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ancr.axes.problem import Problem
from ancr.dictionary.atoms import BaseDictionary


@dataclass(frozen=True)
class Tolerances:
    """Default tolerances for one precision.

    Attributes
    ----------
    gap : float
        Relative duality gap of an exact solution.
    feasibility : float
        Violation of a constraint.
    admm : float
        Change of an ADMM iterate.
    """

    gap: float
    feasibility: float
    admm: float

    @classmethod
    def of(cls, dictionary: BaseDictionary) -> Tolerances:
        """The tolerances for a dictionary's precision."""
        return _SINGLE if dictionary.is_single else _DOUBLE


_DOUBLE = Tolerances(gap=1e-8, feasibility=1e-12, admm=1e-5)
_SINGLE = Tolerances(gap=1e-6, feasibility=1e-5, admm=1e-4)


class Rounding(NamedTuple):
    """Which objectives are rounding, as shares of two squares.

    Attributes
    ----------
    of_nearest : float
        Of what the best single atom leaves.
    of_distance : float
        Of ‖y − centre‖².
    """

    of_nearest: float
    of_distance: float


def rounding_of(problem: Problem) -> Rounding:
    """Below which shares an objective is rounding.

    A ridge keeps every objective above zero, so that in double precision none is. Without one the optimum may be zero.
    Inner products hold squares, and codes in single precision leave more of any objective: there a gap is relative to
    what the best single atom leaves, and never to less than what the last digit of such codes leaves.
    """
    dictionary = problem.dictionary
    if not dictionary.has_coordinates or dictionary.is_single:
        return Rounding(1e-2, 1e-2 * 2.0**-24)
    return Rounding(0.0, 0.0) if problem.quadratic.ridge else Rounding(1e-12, 0.0)


def not_certified(unmet: int, total: int, tol: float) -> str:
    """The warning about queries that could not be certified."""
    return f"{unmet} of {total} queries could not be certified optimal to tol={tol:g}"
