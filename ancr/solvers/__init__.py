"""Solvers, and `solve`, which codes queries over atoms without a classifier."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.utils import check_array, check_consistent_length
from sklearn.utils._param_validation import validate_parameter_constraints

from ancr._core.arrays import check_same_kind, is_non_numpy
from ancr._core.checks import check_labels, check_rows
from ancr._core.messages import naming
from ancr.axes.problem import Problem
from ancr.axes.quadratics import Quadratic
from ancr.axes.sets import Set
from ancr.axes.spaces import SPACE_CONSTRAINTS, SpaceLike, named_space
from ancr.certificate.solution import Solution
from ancr.dictionary.atoms import check_samples
from ancr.solvers.admm import ADMM
from ancr.solvers.choice import PARAMETER_CONSTRAINTS, SOLVERS, make_solver
from ancr.solvers.closed_form import ClosedForm
from ancr.solvers.contract import Solver
from ancr.solvers.interior_point import InteriorPoint
from ancr.solvers.relaxed import Relaxed
from ancr.solvers.sparse_augmented import SparseAugmented
from ancr.solvers.working_set.device import DeviceWorkingSet
from ancr.solvers.working_set.host import HostWorkingSet

__all__ = [
    "ADMM", "PARAMETER_CONSTRAINTS", "SOLVERS", "ClosedForm", "DeviceWorkingSet", "HostWorkingSet", "InteriorPoint",
    "Problem", "Relaxed", "Solution", "Solver", "SparseAugmented", "make_solver", "solve",
]  # fmt: skip


def solve(
    atoms: Any,
    queries: Any,
    *,
    alpha: float = 1e-3,
    constraint: str | Set = "simplex",
    solver: str | Solver = "exact",
    space: SpaceLike = "linear",
    quadratic: str | Callable[..., Quadratic] = "ridge",
    beta: float = 1e-3,
    labels: Any = None,
    relaxation: float | None = None,
    tol: float | None = None,
    history: bool = False,
) -> Solution:
    """Code queries over atoms: min ‖y − Xc‖² + λ‖c‖² over a set, for each query y.

    Parameters
    ----------
    atoms : array-like of shape (n_atoms, n_features)
        Rows are atoms, used as given unless ``space`` asks otherwise. Arrays of other libraries are processed on their
        device, and the solution's arrays are of the same kind.
    queries : array-like of shape (n_queries, n_features)
        Rows are queries, used as given.
    alpha : float, default=1e-3
        The paper's λ ≥ 0.
    constraint : {"free", "affine", "nonnegative", "simplex"} or Set, default="simplex"
        The set that a code must lie in.
    solver : {"exact", "closed_form", "admm", "interior_point"} or Solver, default="exact"
        How the code is found. ``"exact"`` supports the plain sets and returns the optimum; ``"admm"`` is the paper's
        Algorithm 1 for sets with inequalities; ``"closed_form"`` is what ``"exact"`` uses on the free and affine sets;
        ``"interior_point"`` is for SRC's problem. An object has options of its own, such as
        ``ADMM(rho=0.1, max_iter=5, code="c")`` and ``Relaxed(code="z")`` of `ancr.solvers`.
    space : {"linear", "rbf", "poly", "precomputed"}, callable or Space, default="linear"
        Where atoms and queries live: a kernel, by name or as a function, of atoms and queries as they are given; or a
        `Space`, which may scale them first.
    quadratic : {"ridge", "least_squares", "l1", "subspace", "probabilistic", "competitive"} or callable
        ``"least_squares"`` drops the ridge and ignores ``alpha``; ``"l1"`` replaces it by λ‖c‖₁, for the free set
        (SRC's problem) and the non-negative one. The last three have class terms, see `RepresentationClassifier`.
    beta : float, default=1e-3
        Weight β of the class terms of ``"probabilistic"`` and ``"competitive"``.
    labels : array-like of shape (n_atoms,) or None
        Classes of the atoms, for quadratics that use them.
    relaxation : float or None, default=None
        γ > 0 lets a code leave the non-negative or simplex set at the price γ/2·dist²; None or infinity does not.
    tol : float or None
        Tolerance. Exact: the relative gap a query must reach to count as converged, by default 1e-8, in float32
        1e-6. ADMM: see `ancr.solvers.ADMM`. For solvers given by name; an object has its own.
    history : bool, default=False
        Keep the objective after each iteration.

    Returns
    -------
    Solution
        ``codes``, ``objective``, ``gap``, ``n_iter``, ``converged``: one entry per query.

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
        "alpha": alpha, "beta": beta, "constraint": constraint, "solver": solver, "quadratic": quadratic,
        "space": space, "tol": tol, "relaxation": relaxation, "history": history,
    }  # fmt: skip
    constraints = {**PARAMETER_CONSTRAINTS, "space": SPACE_CONSTRAINTS, "history": ["boolean"]}
    validate_parameter_constraints(constraints, given, caller_name="solve")
    where = named_space(space, normalize=False)
    with naming("atoms"):
        atoms = check_samples(atoms, "atoms")
    if labels is not None:
        with naming("labels"):
            check_consistent_length(check_labels(labels, "labels"), atoms)
    where = where.prepare(atoms, "atoms")
    dictionary = where.dictionary(atoms, labels)
    problem = Problem.of(dictionary, quadratic, constraint, alpha=alpha, beta=beta, relaxation=relaxation)
    if labels is None and problem.quadratic.blocks:
        raise ValueError(f"quadratic={quadratic!r} has class terms: labels must give the class of each atom")
    with naming("queries"):
        queries = _check_queries(queries, atoms)
    prepared = make_solver(solver, problem, tol=tol)
    parts = prepared.map(queries, lambda solution: solution, where.to_rows, history=history)
    return type(parts[0]).join(parts)


def _check_queries(queries: Any, atoms: Any) -> Any:
    check_same_kind(queries, atoms)
    if is_non_numpy(queries):
        queries = check_rows(queries, "queries", atoms.dtype)
    else:
        queries = check_array(queries, dtype=atoms.dtype, order="C", input_name="queries")
    if queries.shape[1] != atoms.shape[1]:
        raise ValueError(f"queries must have the {atoms.shape[1]} features of the atoms, got {queries.shape[1]}")
    return queries
