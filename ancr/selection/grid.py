"""The grid of a search: lists of settings, and which of their combinations can be solved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils._param_validation import make_constraint

from ancr._core.arrays import Array
from ancr.axes.rules import named_rule
from ancr.axes.spaces import Space, named_space, usual_spaces
from ancr.classifiers.base import BaseRepresentationClassifier
from ancr.dictionary.atoms import BaseDictionary
from ancr.selection.scoring import Candidate, candidates
from ancr.solvers.choice import find_solver
from ancr.solvers.leave_one_out import LeaveOneOut

# The lists of a grid, and the parameter of the classifier whose values each holds.
LISTS = {
    "spaces": "space",
    "quadratics": "quadratic",
    "constraints": "constraint",
    "betas": "beta",
    "alphas": "alpha",
    "relaxations": "relaxation",
    "rules": "rule",
}
# λ of the ridge regression that screens.
SCREENING_ALPHAS = (1e-3, 1e-2, 1e-1, 1.0)


@dataclass(frozen=True)
class Grid:
    """Lists of settings, and the solver and code that all of them share."""

    spaces: list[Space]
    quadratics: Sequence[Any]
    constraints: Sequence[Any]
    betas: Sequence[float]
    alphas: Sequence[float]
    relaxations: Sequence[float | None]
    rules: Sequence[Any]
    solver: Any
    code: str | None

    @classmethod
    def of(cls, search: Any, template: BaseRepresentationClassifier) -> Grid:
        """The grid of a search, after checking each entry as the classifier would."""
        lists = {name: getattr(search, name) for name in LISTS}
        lists["spaces"] = usual_spaces() if lists["spaces"] is None else lists["spaces"]
        for name, single in LISTS.items():
            if not len(lists[name]):
                raise ValueError(f"{name} must hold at least one value")
            allowed = [make_constraint(one) for one in BaseRepresentationClassifier._parameter_constraints[single]]
            for value in lists[name]:
                if not any(constraint.is_satisfied_by(value) for constraint in allowed):
                    raise ValueError(f"every value of {name} must be {' or '.join(map(str, allowed))}, got {value!r}")
        spaces = [named_space(space) for space in lists["spaces"]]
        if len({space.is_pairwise for space in spaces}) > 1:
            raise ValueError("spaces: 'precomputed' takes inner products in place of samples, so it must be alone")
        return cls(**{**lists, "spaces": spaces}, solver=template.solver, code=template.code)

    def candidates(self, space: Space, X: Array, y: np.ndarray) -> list[Candidate]:
        """The settings in a space, after checking that every one can be solved."""
        dictionary = _one_of_each_class(space, X, y)
        lists = (self.quadratics, self.constraints, self.betas, self.alphas, self.relaxations)
        found = candidates(dictionary, self.solver, *lists, space)
        for one in found:
            find_solver(self.solver, one.problem(dictionary))
        return found

    def screeners(self, space: Space, X: Array, y: np.ndarray) -> list[Candidate]:
        """Ridge regression on the free set."""
        lists = (("ridge",), ("free",), self.betas[:1], SCREENING_ALPHAS, (None,))
        return candidates(_one_of_each_class(space, X, y), "exact", *lists, space)

    def needs_no_refit(self, settings: list[Candidate], X: Array, y: np.ndarray) -> bool:
        """Whether each sample can be coded over the others without a refit, under settings of one space."""
        if any(named_rule(rule).learns for rule in self.rules):
            return False
        dictionary = _one_of_each_class(settings[0].space, X, y)
        problems = [one.problem(dictionary) for one in settings]
        return all(LeaveOneOut.accepts(one) and find_solver(self.solver, one).is_exact for one in problems)


def _one_of_each_class(space: Space, X: Array, y: np.ndarray) -> BaseDictionary:
    """A dictionary of one sample per class: enough to ask which settings can be solved."""
    rows = np.unique(y, return_index=True)[1]
    part = space.part(X, rows, rows)
    return space.prepare(part).dictionary(part, y[rows])
