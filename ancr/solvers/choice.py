"""The choice of a solver for a problem, by name or as an object, with one readable error if none fits."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import Interval, StrOptions, validate_parameter_constraints

from ancr.axes.problem import Problem
from ancr.axes.quadratics import QUADRATICS
from ancr.axes.sets import SETS, Set
from ancr.solvers.absolute import DeviceAbsolute
from ancr.solvers.admm import ADMM
from ancr.solvers.capped import Capped
from ancr.solvers.closed_form import ClosedForm
from ancr.solvers.contract import Solver
from ancr.solvers.interior_point import InteriorPoint
from ancr.solvers.relaxed import Relaxed
from ancr.solvers.working_set.device import DeviceWorkingSet
from ancr.solvers.working_set.first_answers import FirstAnswers
from ancr.solvers.working_set.host import HostWorkingSet

# What each name stands for: the first of these that does not refuse the problem.
SOLVERS: dict[str, tuple[Callable[..., Solver], ...]] = {
    "exact": (ClosedForm, DeviceWorkingSet, DeviceAbsolute, FirstAnswers, HostWorkingSet, Capped, Relaxed),
    "closed_form": (ClosedForm,),
    "admm": (ADMM,),
    "interior_point": (InteriorPoint,),
}

_POSITIVE = Interval(Real, 0, None, closed="neither")

# Valid settings of the first four axes; the classifiers check theirs against the same table.
PARAMETER_CONSTRAINTS: dict[str, list[Any]] = {
    "quadratic": [StrOptions(set(QUADRATICS)), callable],
    "constraint": [StrOptions(set(SETS)), Set],
    "alpha": [Interval(Real, 0, None, closed="left")],
    "beta": [Interval(Real, 0, None, closed="left")],
    "solver": [StrOptions(set(SOLVERS)), Solver],
    "rho": [_POSITIVE],
    "max_iter": [Interval(Integral, 1, None, closed="left"), None],
    "tol": [_POSITIVE, None],
    "code": [StrOptions({"c", "z"}), None],
    "relaxation": [Interval(Real, 0, None, closed="right"), None],
    "n_nonzero": [Interval(Integral, 1, None, closed="left")],
}


def make_solver(solver: str | Solver, problem: Problem, **options: Any) -> Solver:
    """A solver, by name or as an object, prepared for a problem; see `find_solver`."""
    return find_solver(solver, problem, **options).prepare(problem)


def accepts(solver: str | Solver, problem: Problem) -> bool:
    """Whether a solver, by name or as an object, can solve a problem."""
    candidates = _named(solver, {}) if isinstance(solver, str) else [solver]
    return any(candidate.objection(problem) is None for candidate in candidates)


def find_solver(solver: str | Solver, problem: Problem, **options: Any) -> Solver:
    """The solver that a name or an object stands for, for a given problem.

    A named solver takes the options that it declares; an object comes with its own.

    Raises
    ------
    ValueError
        If it refuses the problem; the message gives the reason and the named solvers that accept it.
    """
    candidates = _named(solver, options) if isinstance(solver, str) else [_checked(solver)]
    reasons: list[str] = []
    for candidate in candidates:
        reason = candidate.objection(problem)
        if reason is None:
            return candidate
        # Of several solvers behind a name, the message quotes the last one made for such problems.
        reasons.insert(len(reasons) if candidate.relaxes == (problem.relaxation is not None) else 0, reason)
    raise ValueError(_refusal(solver, problem, reasons))


def _named(name: str, options: dict[str, Any]) -> list[Solver]:
    if name not in SOLVERS:
        raise ValueError(f"solver must be one of {sorted(SOLVERS)}, got {name!r}")
    kinds: Any = SOLVERS[name]
    return [kind(**{key: value for key, value in options.items() if key in kind.options}) for kind in kinds]


def _checked(solver: Solver) -> Solver:
    """A solver given as an object, after checking those of its options that have a name in the table."""
    given = {name: value for name, value in solver.get_params().items() if name in solver.options}
    known = {name: PARAMETER_CONSTRAINTS[name] for name in given if name in PARAMETER_CONSTRAINTS}
    validate_parameter_constraints(known, {name: given[name] for name in known}, caller_name=type(solver).__name__)
    return solver


def settled_solver(solver: str | Solver, **options: Any) -> str | Solver:
    """The solver that a name stands for, with its options; a name of several solvers and an object stay as they are."""
    found = _named(solver, options) if isinstance(solver, str) else [solver]
    return found[0] if len(found) == 1 else solver


def named_solver(solver: str | Solver) -> Solver:
    """The solver that a name stands for, if it is one alone; a solver is returned unchanged."""
    found = settled_solver(solver)
    if isinstance(found, str):
        raise ValueError(f"solver={solver!r} stands for several solvers; pass one as an object to set its own options")
    return found


def _refusal(solver: str | Solver, problem: Problem, reasons: list[str]) -> str:
    """The error message, from the reasons that solvers give."""
    able = [name for name in SOLVERS if accepts(name, problem)]
    settings = [f"constraint={problem.constraint.name!r}"]
    settings += ["quadratic='l1'"] if problem.quadratic.absolute else []
    settings += [f"relaxation={problem.relaxation:g}"] if problem.relaxation is not None else []
    text = f"solver={solver!r} cannot be combined with {' and '.join(settings)}: {reasons[-1]}."
    return f"{text} Use solver in {able}." if able else text
