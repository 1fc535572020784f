"""What counts as solved, defined once for solvers on the host and on a device and for `Solution.verify`."""

from __future__ import annotations

from dataclasses import dataclass

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


def rounding_of(dictionary: BaseDictionary) -> float:
    """The share of what the best single atom leaves below which an objective is rounding.

    Inner products hold squares, and codes in single precision leave more of any objective: a gap stays relative to the
    distance from the centre.
    """
    return 1e-12 if dictionary.has_coordinates and not dictionary.is_single else 1e-2


def not_certified(unmet: int, total: int, tol: float) -> str:
    """The warning about queries that could not be certified."""
    return f"{unmet} of {total} queries could not be certified optimal to tol={tol:g}"
