"""`prepare` and `solve`: codes of queries over atoms, without a classifier."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils._param_validation import validate_parameter_constraints

from ancr._core.arrays import (
    Array,
    blas_threads_for,
    check_same_kind,
    is_non_numpy,
    like,
    namespace,
    take_rows,
    to_numpy,
)
from ancr._core.budgets import forget_read
from ancr._core.checks import check_labels, check_rows, is_checked
from ancr._core.messages import naming
from ancr.axes.problem import Problem
from ancr.axes.quadratics import Quadratic
from ancr.axes.sets import Set
from ancr.axes.spaces import SPACE_CONSTRAINTS, Space, SpaceLike, named_space
from ancr.certificate.solution import Solution
from ancr.dictionary.atoms import check_samples
from ancr.dictionary.terms import Terms
from ancr.solvers.choice import PARAMETER_CONSTRAINTS, make_solver
from ancr.solvers.contract import Solver


def solve(
    atoms: Any,
    queries: Any,
    *,
    alpha: float = 1e-3,
    constraint: str | Set = "simplex",
    solver: str | Solver = "exact",
    exclude: Any = None,
    prices: Any = None,
    feature_weight: Any = None,
    start: Any = None,
    history: bool = False,
    **family: Any,
) -> Solution:
    """Code queries over atoms: min ‖y − Xc‖² + λ‖c‖² over a set, for each query y.

    The same as ``prepare(atoms, …).solve(queries, …)``; prepare the atoms once where queries come one after the other.

    Parameters
    ----------
    atoms : array-like of shape (n_atoms, n_features)
        Rows are atoms, used as given unless ``space`` asks otherwise. Arrays of other libraries are processed on their
        device, and the solution's arrays are of the same kind.
    queries : array-like of shape (n_queries, n_features)
        Rows are queries, used as given.
    alpha : float, default=1e-3
        The paper's λ ≥ 0.
    constraint : {"free", "affine", "nonnegative", "simplex", "capped_simplex"} or Set, default="simplex"
        The set that a code must lie in; a custom set is solved by ``solver="admm"``.
    solver : {"exact", "closed_form", "admm", "interior_point"} or Solver, default="exact"
        How the code is found, see `prepare`.
    exclude : array-like or None, default=None
        Atoms that single queries may not use, see `Coder.solve`.
    prices : array-like, Locality, callable or None, default=None
        What queries pay for each unit of an atom's weight, see `Coder.solve`.
    feature_weight : array-like of shape (n_features,) or None, default=None
        Weights ≥ 0 of the coordinates in ‖y − Xc‖².
    start : array-like, Solution or None, default=None
        Codes of nearby problems to start from, see `Coder.solve`.
    history : bool, default=False
        Keep the objective after each iteration.
    **family
        The other parameters of `prepare`: ``space``, ``quadratic``, ``beta``, ``labels``, ``relaxation``, ``tol``.

    Returns
    -------
    Solution
        ``codes``, ``objective``, ``gap``, ``n_iter``, ``converged``: one entry per query.

    Examples
    --------
    >>> from ancr import solve
    >>> atoms = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    >>> s = solve(atoms, [[0.2, 0.0]], alpha=0.1)
    >>> s.codes.toarray().round(3)
    array([[0.591, 0.409, 0.   ]])
    >>> s.verify()
    array([ True])
    >>> solve(atoms, [[0.2, 0.0]], alpha=0.1, exclude=[0]).codes.toarray().round(3)
    array([[0.  , 0.75, 0.25]])
    """
    coder = _prepared("solve", atoms, {**_given(alpha, constraint, solver), **family}, feature_weight)
    return coder.solve(queries, exclude=exclude, prices=prices, start=start, history=history)


def prepare(
    atoms: Any,
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
    feature_weight: Any = None,
) -> Coder:
    """Prepare atoms for any number of queries: all that these share is computed once.

    Parameters
    ----------
    atoms : array-like of shape (n_atoms, n_features)
        Rows are atoms, used as given unless ``space`` asks otherwise.
    alpha : float, default=1e-3
        The paper's λ ≥ 0.
    constraint : {"free", "affine", "nonnegative", "simplex", "capped_simplex"} or Set, default="simplex"
        The set that a code must lie in; a custom set is solved by ``solver="admm"``.
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
    feature_weight : array-like of shape (n_features,) or None, default=None
        Weights ≥ 0 of the coordinates in ‖y − Xc‖², and in what a kernel is computed from.

    Returns
    -------
    Coder

    Examples
    --------
    >>> from ancr import prepare
    >>> coder = prepare([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], alpha=0.1)
    >>> coder.solve([[0.2, 0.0]]).codes.toarray().round(3)
    array([[0.591, 0.409, 0.   ]])
    """
    family = {"space": space, "quadratic": quadratic, "beta": beta, "labels": labels}
    family |= {"relaxation": relaxation, "tol": tol}
    return _prepared("prepare", atoms, {**_given(alpha, constraint, solver), **family}, feature_weight)


def _given(alpha: float, constraint: str | Set, solver: str | Solver) -> dict[str, Any]:
    return {"alpha": alpha, "constraint": constraint, "solver": solver}


_DEFAULTS: dict[str, Any] = {
    "space": "linear", "quadratic": "ridge", "beta": 1e-3, "labels": None, "relaxation": None, "tol": None,
}  # fmt: skip


def _prepared(caller: str, atoms: Any, family: dict[str, Any], feature_weight: Any) -> Coder:
    """A coder, for the function that a user called."""
    if unknown := set(family) - set(_DEFAULTS) - {"alpha", "constraint", "solver"}:
        raise TypeError(f"{caller}() got an unexpected keyword argument {sorted(unknown)[0]!r}")
    family = {**_DEFAULTS, **family}
    labels, tol = family.pop("labels"), family["tol"]
    validate_parameter_constraints({**PARAMETER_CONSTRAINTS, "space": SPACE_CONSTRAINTS}, family, caller_name=caller)
    where = named_space(family["space"], normalize=False)
    with naming("atoms"):
        atoms = check_samples(atoms, "atoms")
    if labels is not None:
        with naming("labels"):
            check_consistent_length(check_labels(labels, "labels"), atoms)
    scale = _feature_scale(feature_weight, atoms, where)
    weighted = atoms if scale is None else atoms * scale
    if scale is not None and not bool(namespace(weighted).all(namespace(weighted).isfinite(weighted))):
        raise ValueError(
            f"atoms times the roots of feature_weight are beyond the range of {atoms.dtype}; rescale the atoms"
        )
    where = where.prepare(weighted, "atoms")
    dictionary = where.dictionary(weighted, labels)
    numbers = {name: family[name] for name in ("alpha", "beta", "relaxation")}
    problem = Problem.of(dictionary, family["quadratic"], family["constraint"], **numbers)
    if labels is None and problem.quadratic.blocks:
        raise ValueError(f"quadratic={family['quadratic']!r} has class terms: labels must give the class of each atom")
    n, d = dictionary.n_atoms, dictionary.dimension
    with blas_threads_for(2 * n * d * min(n, d)):
        solver = make_solver(family["solver"], problem, tol=tol)
    return Coder(where, solver, scale, atoms.shape[1])


@dataclass(frozen=True, eq=False)
class Coder:
    """Atoms that are prepared for queries; made by `prepare`.

    Attributes
    ----------
    space : Space
        Where atoms and queries live.
    solver : Solver
        Prepared for ``solver.problem``.
    scale : array of shape (n_features,) or None
        What coordinates are multiplied by: the roots of ``feature_weight``.
    n_features : int
        Features of a query.

    Examples
    --------
    >>> from ancr import prepare
    >>> coder = prepare([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], alpha=0.1)
    >>> coder
    Coder(3 atoms, constraint='simplex')
    >>> coder.solve([[0.2, 0.0]], exclude=[1]).codes.toarray().round(3)
    array([[0.917, 0.   , 0.083]])
    """

    space: Space
    solver: Solver
    scale: Array | None
    n_features: int

    def __repr__(self) -> str:
        problem = self.solver.problem
        return f"Coder({problem.dictionary.n_samples} atoms, constraint={problem.constraint.name!r})"

    def solve(
        self, queries: Any, *, exclude: Any = None, prices: Any = None, start: Any = None, history: bool = False
    ) -> Solution:
        """Code queries over the atoms.

        Parameters
        ----------
        queries : array-like of shape (n_queries, n_features)
            Rows are queries, used as given.
        exclude : array-like or None, default=None
            Atoms that a query may not use: one position for each query, −1 for none; or a mask of shape (n_queries,
            n_atoms), dense or sparse, that is True at such atoms. For placebos, leave-one-out and choices of atoms by
            query.
        prices : array-like, Locality, callable or None, default=None
            What is paid for each unit of an atom's weight, of shape (n_atoms,) or (n_queries, n_atoms): Σ price_j·c_j
            is added to the objective. ``Locality(w)`` is w·‖x_j − y‖². A callable computes them from a block of
            `ancr.dictionary.products.Queries`.
        start : array-like, Solution or None, default=None
            Codes of shape (n_queries, n_atoms), dense or sparse, of problems close to these. The exact solver begins
            with the atoms that they use; what it finds is the same, up to rounding. Other solvers do not use it.
        history : bool, default=False
            Keep the objective after each iteration.

        Returns
        -------
        Solution
        """
        if not isinstance(history, bool | np.bool_):
            raise ValueError(f"history must be True or False, got {history!r}")
        with naming("queries"):
            queries = self._checked(queries)
        terms = _terms(self.solver.problem, queries.shape[0], exclude, prices, start)
        if terms is not None and (reason := self.solver.objection_to(terms)):
            raise ValueError(f"prices cannot be combined with solver={self.solver.name!r} here: {reason}")
        parts = self.map(queries, lambda solution: solution, history=history, terms=terms)
        as_given = self.scale is None and self.space.to_rows is None
        return type(parts[0]).join(parts, queries if as_given else None)

    def blocks(
        self, queries: Any, *, exclude: Any = None, prices: Any = None, start: Any = None, size: int = 2**14
    ) -> Iterator[tuple[slice, Solution]]:
        """Code queries block by block: for more of them than memory holds.

        No more than a block is read, coded or kept at a time, so queries, masks and prices may be memory maps, and
        codes can be written to one, dense or sparse, or counted and forgotten.

        Parameters
        ----------
        queries : array-like of shape (n_queries, n_features)
            Rows are queries, used as given. Anything with a shape that gives rows by a slice.
        exclude, prices, start : array-like, Solution, Locality, callable or None
            As in `solve`, for all queries.
        size : int, default=16384
            Queries in a block.

        Yields
        ------
        rows : slice
            Which queries.
        solution : Solution
            Theirs.

        Examples
        --------
        >>> import numpy as np
        >>> from ancr import prepare
        >>> endmembers, pixels = np.eye(3), np.random.default_rng(0).random((1000, 3))
        >>> shares = np.empty((1000, 3))  # or np.lib.format.open_memmap("shares.npy", "w+", shape=(1000, 3))
        >>> for rows, solution in prepare(endmembers, alpha=1e-3).blocks(pixels, size=256):
        ...     shares[rows] = solution.toarray()
        >>> bool(np.allclose(shares.sum(axis=1), 1.0))
        True
        """
        if not isinstance(size, Integral) or size < 1:
            raise ValueError(f"size must be a whole number of at least 1, got {size!r}")
        queries = queries if hasattr(queries, "shape") else np.asarray(queries)
        start, each = start.codes if isinstance(start, Solution) else start, callable(prices) or np.ndim(prices) < 2
        own = {"exclude": exclude, "start": start, "prices": None if each else prices}
        own = {name: _sliceable(value) for name, value in own.items() if value is not None}
        for name, value in own.items():
            if (n_rows := np.shape(value)[0] if np.ndim(value) else 0) != queries.shape[0]:
                raise ValueError(f"{name} must have a row for each of {queries.shape[0]} queries, got {n_rows}")
        for first in range(0, queries.shape[0], int(size)):
            rows = slice(first, min(first + int(size), queries.shape[0]))
            options = ({"prices": prices} if each else {}) | {name: _part(value, rows) for name, value in own.items()}
            yield rows, self.solve(_part(queries, rows), **options)
            forget_read(queries)

    def map(self, rows: Array, then: Callable[[Solution], Any], **options: Any) -> list[Any]:
        """Results of ``then(solution)`` on each block of checked queries; ``options`` are those of `Solver.map`."""
        to_rows, scale = self.space.to_rows, self.scale
        if scale is None:
            return self.solver.map(rows, then, to_rows, **options)
        return self.solver.map(rows, then, lambda part: (to_rows or (lambda x: x))(part * scale), **options)

    def _checked(self, queries: Any) -> Any:
        atoms = self.solver.problem.dictionary.atoms
        check_same_kind(queries, atoms)
        if is_non_numpy(queries):
            queries = check_rows(queries, "queries", atoms.dtype)
        elif not is_checked(queries, (atoms.dtype,)):
            queries = check_array(queries, dtype=atoms.dtype, order="C", input_name="queries")
        if queries.shape[1] != self.n_features:
            raise ValueError(f"queries must have the {self.n_features} features of the atoms, got {queries.shape[1]}")
        return queries


def _sliceable(values: Any) -> Any:
    """Sparse ones in a format that gives rows by a slice; others as they are."""
    return values.tocsr() if sparse.issparse(values) else values


def _part(values: Any, rows: slice) -> Any:
    """Some rows; the array API standard wants a slice of every axis."""
    return take_rows(values, rows) if is_non_numpy(values) else values[rows]


def _feature_scale(feature_weight: Any, atoms: Any, space: Space) -> Any:
    """The roots of weights of features, in the library and precision of the atoms; None without weights."""
    if feature_weight is None:
        return None
    if space.is_pairwise:
        raise ValueError("feature_weight weighs coordinates; space='precomputed' gives inner products instead")
    with naming("feature_weight"):
        weights = check_array(
            np.asarray(to_numpy(feature_weight)), ensure_2d=False, dtype=np.float64, input_name="feature_weight"
        )
    if weights.shape != (atoms.shape[1],) or (weights < 0.0).any():
        raise ValueError(f"feature_weight must be {atoms.shape[1]} numbers of at least 0, got shape {weights.shape}")
    return namespace(atoms).astype(like(np.sqrt(weights), atoms), atoms.dtype, copy=False)


def _terms(problem: Problem, n_queries: int, exclude: Any, prices: Any, start: Any) -> Terms | None:
    """What queries ask for, with columns in the order of the dictionary; None if nothing."""
    if exclude is None and prices is None and start is None:
        return None
    excluded = None if exclude is None else _excluded(problem, n_queries, exclude)
    known = None if start is None else _start(problem, n_queries, start, excluded)
    return Terms(excluded, None if prices is None else _prices(problem, n_queries, prices), known)


def _excluded(problem: Problem, n_queries: int, exclude: Any) -> sparse.csr_array:
    n = problem.dictionary.n_samples
    if sparse.issparse(exclude):
        mask = sparse.csr_array(exclude).astype(bool)
    else:
        values = np.asarray(to_numpy(exclude))
        mask = sparse.csr_array(values) if values.ndim == 2 and values.dtype == bool else _own_masks(values, n)
    if mask.shape != (n_queries, n):
        raise ValueError(f"exclude must be a position of an atom for each of {n_queries} queries, or a mask of shape "
                         f"({n_queries}, {n}), got {tuple(np.shape(exclude))}")  # fmt: skip
    mask.eliminate_zeros()
    left, fewest = n - np.diff(mask.indptr), problem.constraint.fewest_atoms
    if len(few := np.flatnonzero(left < fewest)):
        found = f"{left[few[0]]} atoms" if left[few[0]] else "without atoms"
        raise ValueError(f"exclude leaves query {few[0]} {found}, and its code must sum to one over at least {fewest}")
    return _in_order(mask, problem)


def _own_masks(positions: np.ndarray, n_atoms: int) -> sparse.csr_array:
    """A mask with one atom in each row, none where the position is −1."""
    known = positions.ndim == 1 and positions.dtype.kind in "iu"
    if not known or (positions < -1).any() or (positions >= n_atoms).any():
        raise ValueError(f"exclude must be a boolean mask or positions of atoms from 0 to {n_atoms - 1}, −1 for none, "
                         f"got {positions.dtype} of shape {positions.shape}")  # fmt: skip
    some = positions >= 0
    indptr = np.concatenate([[0], np.cumsum(some)])
    entries = np.ones(int(some.sum()), bool), positions[some], indptr
    return sparse.csr_array(entries, shape=(len(positions), n_atoms))


def _in_order(matrix: sparse.csr_array, problem: Problem) -> sparse.csr_array:
    """Columns of the atoms given as columns of the dictionary."""
    order = problem.dictionary.order
    return matrix if np.array_equal(order, np.arange(matrix.shape[1])) else sparse.csr_array(matrix[:, order])


def _prices(problem: Problem, n_queries: int, prices: Any) -> Any:
    if callable(prices):
        return prices
    dictionary = problem.dictionary
    with naming("prices"):
        values = check_array(np.asarray(to_numpy(prices)), ensure_2d=False, dtype=np.float64, input_name="prices")
    if values.shape not in ((dictionary.n_samples,), (n_queries, dictionary.n_samples)):
        raise ValueError(f"prices must have shape ({dictionary.n_samples},) or ({n_queries}, {dictionary.n_samples}), "
                         f"got {values.shape}")  # fmt: skip
    if not (problem.constraint.sums_to_one or problem.quadratic.ridge) and (values < 0.0).any():
        raise ValueError("prices must be at least 0 where neither alpha > 0 nor a sum of one limits a code")
    return dictionary.like(values[..., dictionary.order])


def _start(problem: Problem, n_queries: int, start: Any, excluded: sparse.csr_array | None) -> sparse.csr_array:
    """Codes to start from: in the order of the dictionary, of atoms that may be used, inside the set's signs."""
    given = start.codes if isinstance(start, Solution) else start
    with naming("start"):
        codes = sparse.csr_array(
            given if sparse.issparse(given) else np.atleast_2d(np.asarray(to_numpy(given))), dtype=np.float64
        )
    shape = (n_queries, problem.dictionary.n_samples)
    if codes.shape != shape or not np.isfinite(codes.data).all():
        raise ValueError(f"start must be finite codes of shape {shape}, got {codes.shape}")
    codes = _in_order(codes.copy() if codes is given else codes, problem)
    if excluded is not None:
        codes = sparse.csr_array(codes - codes.multiply(excluded))
    if problem.constraint.nonnegative:
        codes.data[codes.data < 0.0] = 0.0
    codes.eliminate_zeros()
    codes.sort_indices()
    return codes
