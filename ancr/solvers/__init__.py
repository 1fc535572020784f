"""The third axis: how a code is found. A solver declares the sets it can keep a code on."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, StrOptions, validate_parameter_constraints

from ancr._arrays import RIDGE_FAMILY, check_rows, check_same_kind, is_foreign, namespace, needs_numpy
from ancr._parallel import BLOCK_ROWS
from ancr.dictionary import Dictionary
from ancr.quadratics import QUADRATICS
from ancr.sets import SETS
from ancr.solvers.admm import ADMM
from ancr.solvers.closed_form import ClosedForm
from ancr.solvers.exact import Exact
from ancr.solvers.exact_batched import ExactBatched
from ancr.solvers.l1 import InteriorPoint
from ancr.solvers.omp import SparseAugmented
from ancr.solvers.relaxed import Relaxed
from ancr.solvers.solution import Problem, Solution, concatenate

__all__ = [
    "ADMM",
    "SOLVERS",
    "ClosedForm",
    "Exact",
    "ExactBatched",
    "InteriorPoint",
    "Problem",
    "Relaxed",
    "Solution",
    "SparseAugmented",
    "concatenate",
    "make_solver",
    "solve",
    "solve_blocks",
]

Solver = ClosedForm | ADMM | Exact | ExactBatched | Relaxed | InteriorPoint | SparseAugmented
# What a user can ask for by name; the others belong to one method or parameter each.
SOLVERS: dict[str, type[ClosedForm | ADMM | Exact]] = {"exact": Exact, "closed_form": ClosedForm, "admm": ADMM}

_POSITIVE = Interval(Real, 0, None, closed="neither")

# What the settings of the first three axes may be; the classifiers check theirs against the same table.
PARAMETER_CONSTRAINTS = {
    "quadratic": [StrOptions(set(QUADRATICS))],
    "constraint": [StrOptions(set(SETS))],
    "alpha": [Interval(Real, 0, None, closed="left")],
    "gamma": [Interval(Real, 0, None, closed="left")],
    "solver": [StrOptions(set(SOLVERS))],
    "rho": [_POSITIVE],
    "max_iter": [Interval(Integral, 1, None, closed="left"), None],
    "tol": [_POSITIVE, None],
    "code": [StrOptions({"c", "z"}), None],
    "relaxation": [Interval(Real, 0, None, closed="right"), None],
    "gap": [_POSITIVE, None],
    "n_nonzero": [Interval(Integral, 1, None, closed="left")],
}


def make_solver(name: str, problem: Problem, **options: Any) -> Solver:
    """The named solver, prepared for a problem; options it does not know are left out.

    Raises
    ------
    ValueError
        If the solver does not exist or cannot keep a code on the problem's set.
    """
    if name not in SOLVERS:
        raise ValueError(f"solver must be one of {sorted(SOLVERS)}, got {name!r}")
    if problem.relaxation is not None:
        _check_relaxation(name, problem)
        return Relaxed(problem, **{key: value for key, value in options.items() if key in Relaxed.options})
    # On the free and affine sets the closed form is the exact solution.
    solver: Any = ClosedForm if name == "exact" and problem.kind in ClosedForm.accepts else SOLVERS[name]
    if problem.kind not in solver.accepts:
        if problem.kind == "l1 affine":
            raise ValueError("quadratic='l1' goes with constraint in ['free', 'nonnegative', 'simplex'], not 'affine'")
        able = [known for known, other in SOLVERS.items() if problem.kind in other.accepts]
        wanted = f"constraint={problem.constraint.name!r}"
        wanted += " and quadratic='l1'" if problem.kind == "l1" else ""
        raise ValueError(
            f"solver={name!r} cannot be combined with {wanted}: it accepts constraint in "
            f"{[kind for kind in solver.accepts if kind in SETS]}. For {wanted} use solver in {able}."
        )
    if solver is Exact and is_foreign(problem.dictionary.atoms):
        solver = _exact_elsewhere(problem)
    return solver(problem, **{key: value for key, value in options.items() if key in solver.options})


def finite(relaxation: float | None) -> float | None:
    """γ, with None for the hard constraint that an infinite one is."""
    return None if relaxation is None or np.isinf(relaxation) else relaxation


def _check_relaxation(name: str, problem: Problem) -> None:
    if problem.constraint.name not in Relaxed.accepts:
        raise ValueError(
            f"relaxation bends constraint in {list(Relaxed.accepts)}; constraint={problem.constraint.name!r} "
            "has nothing to bend: leave relaxation=None"
        )
    if name != "exact":
        raise ValueError(f"relaxation needs solver='exact', got solver={name!r}")
    needs_numpy(problem.dictionary.atoms, "relaxation")
    if problem.quadratic.blocks or problem.quadratic.absolute:
        raise ValueError("relaxation goes with quadratic in ['ridge', 'least_squares'] only")


def _exact_elsewhere(problem: Problem) -> type[ExactBatched]:
    """The exact solver for arrays that are not NumPy's."""
    if problem.kind not in ExactBatched.accepts:
        needs_numpy(problem.dictionary.atoms, "quadratic='l1' (SRCClassifier)", RIDGE_FAMILY)
    return ExactBatched


def solve_blocks(
    solver: Solver,
    queries: np.ndarray,
    then: Callable[[np.ndarray, Solution], Any],
    first: Callable[[np.ndarray], np.ndarray] | None = None,
    **options: Any,
) -> list[Any]:
    """Code queries block by block, in parallel, and hand each block's solution to ``then(queries, solution)``.

    ``first``, where given, turns a block's queries into those to code. No queries × atoms array outlives its block
    unless ``then`` keeps it. Queries that did not converge are reported by one `ConvergenceWarning` for all blocks.
    """
    unmet = []

    def work(block: slice) -> Any:
        rows = queries[block, :] if first is None else first(queries[block, :])
        solution = solver.solve(rows, **options)
        unmet.append(int(namespace(queries).count_nonzero(~solution.converged)))
        return then(rows, solution)

    if isinstance(solver, Exact):
        solver.warm_up(queries)
    # A solver holds about five such rows at once.
    dictionary = solver.problem.dictionary
    row_bytes = 5 * dictionary.n_atoms * dictionary.itemsize
    results = dictionary.leaves.map_rows(work, queries, row_bytes, getattr(solver, "block_rows", BLOCK_ROWS))
    if message := solver.warning(sum(unmet), queries.shape[0]):
        warnings.warn(message, ConvergenceWarning, stacklevel=3)
    return results


def solve(
    atoms: Any,
    queries: Any,
    *,
    alpha: float = 1e-3,
    constraint: str = "simplex",
    solver: str = "exact",
    quadratic: str = "ridge",
    gamma: float = 1e-3,
    labels: Any = None,
    relaxation: float | None = None,
    rho: float = 1.0,
    max_iter: int | None = None,
    tol: float | None = None,
    code: str | None = None,
    history: bool = False,
) -> Solution:
    """Code queries over atoms: min ‖y − Xc‖² + λ‖c‖² over a set, for every query y.

    Parameters
    ----------
    atoms : array-like of shape (n_atoms, n_features)
        Rows are atoms, used as given: nothing is rescaled. Arrays of other libraries are computed on where they live,
        and the solution's are of the same kind.
    queries : array-like of shape (n_queries, n_features)
        Rows are queries, used as given.
    alpha : float, default=1e-3
        The paper's λ ≥ 0.
    constraint : {"free", "affine", "nonnegative", "simplex"}, default="simplex"
        Where a code may live.
    solver : {"exact", "closed_form", "admm"}, default="exact"
        How it is found. ``"exact"`` serves every set and returns the optimum; ``"admm"`` is the paper's Algorithm 1
        for the non-negative and simplex sets; ``"closed_form"`` is what ``"exact"`` uses on the free and affine sets.
    quadratic : {"ridge", "least_squares", "l1", "subspace", "probabilistic", "competitive"}, default="ridge"
        ``"least_squares"`` drops the ridge, whatever ``alpha``; ``"l1"`` has λ‖c‖₁ in its place, for the free set
        (SRC's problem) and the non-negative one. The last three have terms of the classes, see
        `RepresentationClassifier`.
    gamma : float, default=1e-3
        Weight γ of the class terms of ``"probabilistic"`` and ``"competitive"``.
    labels : array-like of shape (n_atoms,) or None
        Classes of the atoms, for quadratics that use them.
    relaxation : float or None, default=None
        γ > 0 lets a code leave the non-negative or simplex set at the price γ/2·dist²; None, or infinity, does not.
    code : {"c", "z"} or None, default=None
        Of the two codes of ADMM and of a relaxed problem: c, only near the set, or z, in it. None means c for a
        relaxed problem and z for ADMM.
    rho, max_iter
        ADMM's settings, see `ancr.solvers.ADMM`.
    tol : float or None
        Tolerance. Exact: the relative gap a query must reach to count as converged, by default 1e-8, in float32
        1e-6. ADMM: see there.
    history : bool, default=False
        Keep the objective after each iteration.

    Returns
    -------
    Solution
        ``codes``, ``objective``, ``gap``, ``n_iter``, ``converged``: one entry a query.

    Examples
    --------
    >>> from ancr import solve
    >>> s = solve([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [[0.2, 0.0]], alpha=0.1)
    >>> s.codes.toarray().round(3)
    array([[0.591, 0.409, 0.   ]])
    >>> s.verify()
    array([ True])
    """
    given = {
        "alpha": alpha, "gamma": gamma, "constraint": constraint, "solver": solver, "quadratic": quadratic,
        "rho": rho, "max_iter": max_iter, "tol": tol, "code": code, "relaxation": relaxation,
    }  # fmt: skip
    validate_parameter_constraints(PARAMETER_CONSTRAINTS, given, caller_name="solve")
    dictionary = Dictionary.build(atoms, labels, normalize=False, name="atoms")
    if labels is None and quadratic in ("subspace", "probabilistic", "competitive"):
        raise ValueError(f"quadratic={quadratic!r} has terms of the classes: labels must say the class of every atom")
    check_same_kind(queries, dictionary.atoms)
    if is_foreign(queries):
        queries = check_rows(queries, "queries", dictionary.dtype)
    else:
        queries = check_array(queries, dtype=dictionary.dtype, order="C", input_name="queries")
    if queries.shape[1] != dictionary.n_features:
        raise ValueError(f"queries must have the {dictionary.n_features} features of the atoms, got {queries.shape[1]}")
    weights = QUADRATICS[quadratic](alpha, gamma, dictionary.n_classes)
    problem = Problem(dictionary, weights, SETS[constraint], finite(relaxation))
    options = {"rho": rho, "max_iter": max_iter, "tol": tol, "code": code}
    prepared = make_solver(solver, problem, **options)
    parts = solve_blocks(prepared, queries, lambda rows, solution: solution.settled(), history=history)
    return concatenate(parts)
