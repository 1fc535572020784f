"""The grid of a search: lists of settings, and which of their combinations can be solved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils._param_validation import make_constraint

from ancr._core.arrays import Array
from ancr.axes.rules import named_rule
from ancr.axes.spaces import Space, named_space, usual_spaces
from ancr.classifiers.base import BaseRepresentationClassifier
from ancr.classifiers.representation import NAMED
from ancr.classifiers.sparse_samples import check_rotated, needs_features
from ancr.dictionary.atoms import BaseDictionary
from ancr.selection.scoring import Candidate, candidates
from ancr.solvers.choice import find_solver, settled_solver
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
# What the class of a template may fix and make a method of its own.
_FIXED = ("quadratic", "constraint", "rule")
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
        _check_template(template, lists)
        spaces = [named_space(space) for space in lists["spaces"]]
        if len({space.is_pairwise for space in spaces}) > 1:
            raise ValueError("spaces: 'precomputed' takes inner products in place of samples, so it must be alone")
        solver = settled_solver(template.solver, **template.solver_options)
        return cls(**{**lists, "spaces": spaces}, solver=solver, code=template.code)

    def rotated(self, usual: bool) -> Grid:
        """The grid for samples in other coordinates than their features: of the usual spaces those that it suits."""
        if usual:
            return replace(self, spaces=[space for space in self.spaces if not needs_features(space)])
        for space in self.spaces:
            check_rotated(space)
        return self

    def candidates(self, X: Array, y: np.ndarray) -> dict[Space, list[Candidate]]:
        """The settings in each space, after checking that every one can be solved."""
        return self._in_each_space(lambda space: self._candidates(space, X, y))

    def _in_each_space(self, found: Callable[[Space], list[Candidate]]) -> dict[Space, list[Candidate]]:
        """Candidates of each space; what can be solved depends on whether it has coordinates."""
        known = {kind: found(space) for kind, space in _one_of_each_kind(self.spaces).items()}
        return {space: [replace(one, space=space) for one in known[space.has_coordinates]] for space in self.spaces}

    def _candidates(self, space: Space, X: Array, y: np.ndarray) -> list[Candidate]:
        dictionary = _one_of_each_class(space, X, y)
        lists = (self.quadratics, self.constraints, self.betas, self.alphas, self.relaxations)
        found = candidates(dictionary, self.solver, *lists, space)
        for one in found:
            find_solver(self.solver, one.problem(dictionary))
        return found

    def screeners(self, X: Array, y: np.ndarray) -> dict[Space, list[Candidate]]:
        """Ridge regression on the free set in each space."""
        lists = (("ridge",), ("free",), self.betas[:1], SCREENING_ALPHAS, (None,))
        return self._in_each_space(lambda space: candidates(_one_of_each_class(space, X, y), "exact", *lists, space))

    def needs_no_refit(self, settings: dict[Space, list[Candidate]], X: Array, y: np.ndarray) -> bool:
        """Whether each sample can be coded over the others without a refit, under all settings."""
        if any(named_rule(rule).learns for rule in self.rules):
            return False
        few = [(space, settings[space]) for space in _one_of_each_kind(settings).values()]
        return all(self._leaves_one_out(_one_of_each_class(space, X, y), own) for space, own in few)

    def _leaves_one_out(self, dictionary: BaseDictionary, settings: list[Candidate]) -> bool:
        problems = (one.problem(dictionary) for one in settings)
        return all(LeaveOneOut.accepts(one) and find_solver(self.solver, one).is_exact for one in problems)


def _check_template(template: BaseRepresentationClassifier, lists: dict[str, Sequence[Any]]) -> None:
    """Raise if a search would ignore what a template is: what its class fixes, or a parameter that is not a default."""
    kind, given = type(template).__name__, template.get_params(deep=False)
    usual = type(template)().get_params(deep=False)
    if template.temperature != usual["temperature"]:
        raise ValueError(f"estimator: temperature={template.temperature!r} would be ignored: a search learns it")
    for name, single in LISTS.items():
        named, value = NAMED.get(single, _unchanged), getattr(template, single)
        is_set = repr(value) != repr(usual[single]) if single in given else single in _FIXED
        if is_set and repr(named(value)) not in {repr(named(one)) for one in lists[name]}:
            raise ValueError(f"estimator: {single}={value!r} of {kind} would be ignored: it is not among {name}")


def _unchanged(value: Any) -> Any:
    return value


def _one_of_each_kind(spaces: Iterable[Space]) -> dict[bool, Space]:
    """A space with coordinates and one without, as far as there are such."""
    return {space.has_coordinates: space for space in spaces}


def _one_of_each_class(space: Space, X: Array, y: np.ndarray) -> BaseDictionary:
    """A dictionary of one sample per class: enough to ask which settings can be solved."""
    rows = np.unique(y, return_index=True)[1]
    part = space.part(X, rows, rows)
    return space.prepare(part).dictionary(part, y[rows])
