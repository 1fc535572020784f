"""What the exact solver treats as zero, as converged and as independent, on the host and on a device alike."""

from __future__ import annotations

import numpy as np

from ancr.axes.problem import Problem
from ancr.dictionary.atoms import BaseDictionary

# A pivot below this share of the diagonal means that the atom depends on those in use.
DEPENDENT = 1e-13
# Share of the gap tolerance that pricing aims for, which leaves the rest to rounding.
SHARE_OF_GAP = 0.01


def eta_of(diagonal: np.ndarray, sums_to_one: bool) -> float:
    """The constant to add to every entry of H on Σc = 1.

    It changes nothing there, but makes affinely independent atoms linearly independent. The smallest diagonal entry
    that rounding leaves is about the right size.
    """
    if not sums_to_one:
        return 0.0
    highest = float(diagonal.max())
    tall = diagonal[diagonal > np.sqrt(np.finfo(float).eps) * highest]
    return float(tall.min(initial=highest or 1.0))


def roundings(dictionary: BaseDictionary) -> float:
    """Pulls cannot be certified better than this many units in the last place of the terms they are made of."""
    return float(dictionary.n_features + dictionary.n_atoms + 16)


def followed_reach(problem: Problem) -> float:
    """What ‖y‖² adds to the objective that a solver follows; zero where only ‖y − x̄‖² is at hand and none is."""
    is_known = problem.has_origin or problem.dictionary.has_coordinates
    return problem.quadratic.reach(problem.dictionary) if is_known else 0.0


def shortest(diagonal: np.ndarray) -> float:
    """√H_jj of the shortest atom that is not zero; one if all are."""
    return float(np.sqrt(diagonal[diagonal > 0.0].min(initial=np.inf))) if (diagonal > 0.0).any() else 1.0


def largest_of_rows(linear: np.ndarray) -> np.ndarray:
    """max |b| of each query over the atoms that it may use."""
    lowest = linear.min(axis=1)
    if not (lowest > -np.inf).all():
        return np.where(linear > -np.inf, np.abs(linear), 0.0).max(axis=1)
    return np.maximum(linear.max(axis=1), -lowest)
