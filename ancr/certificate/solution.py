"""Solutions: codes that can be certified against their problem."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ancr._core.arrays import Array, concat, dense, in_double, map_rows, row_sums, take_rows, to_numpy
from ancr.axes.problem import Problem
from ancr.certificate.gap import Certificate
from ancr.certificate.tolerances import Tolerances
from ancr.dictionary.products import Queries
from ancr.dictionary.terms import Terms, misuse


@dataclass(frozen=True, repr=False)
class Solution:
    """Codes of a batch of queries, with what is needed to judge them. All arrays belong to the atoms' library.

    Attributes
    ----------
    sorted_codes : array or CSR array of shape (n_queries, n_atoms)
        One code per row, columns in the dictionary's order; `codes` has them in the order given.
    n_iter : array of shape (n_queries,)
        Iterations spent on each query.
    converged : array of bool of shape (n_queries,)
        Whether the solver's stopping test was met; for the exact solver, whether no atom can improve the code. False
        for ADMM with a fixed number of iterations, which makes no test.
    problem : Problem
        The problem that was solved.
    queries : Queries
        The queries that were coded, as ``queries.rows``, with the products that are known.
    history : array of shape (n_iterations, n_queries) or None
        Objective after each iteration, if requested. A query that stopped keeps its last value.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ancr import solve
    >>> X, _ = load_iris(return_X_y=True)
    >>> solution = solve(X[::2], X[1::2], alpha=1e-3, constraint="simplex")
    >>> solution
    Solution(75 queries over 75 atoms, 75 converged)
    >>> solution.codes.shape, bool(solution.verify().all())
    ((75, 75), True)
    """

    sorted_codes: Any
    n_iter: Array
    converged: Array
    problem: Problem
    queries: Queries
    history: Array | None = None

    def __repr__(self) -> str:
        queries, atoms = self.sorted_codes.shape
        return f"{type(self).__name__}({queries} queries over {atoms} atoms, {int(self.converged.sum())} converged)"

    def to_frame(self) -> Any:
        """One row per query as a pandas ``DataFrame``: objective, gap, whether certified, atoms used, iterations.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from ancr import solve
        >>> X, _ = load_iris(return_X_y=True)
        >>> list(solve(X[::2], X[1::2]).to_frame().columns)
        ['objective', 'gap', 'certified', 'atoms', 'n_iter', 'converged']
        """
        try:
            import pandas as pd  # type: ignore[import-untyped, unused-ignore]
        except ImportError as error:
            raise ImportError("to_frame needs pandas: pip install pandas") from error
        columns = {
            "objective": self.objective,
            "gap": self.gap,
            "certified": self.verify(),
            "atoms": row_sums(abs(self.sorted_members) > 0),
            "n_iter": self.n_iter,
            "converged": self.converged,
        }
        return pd.DataFrame({name: to_numpy(values) for name, values in columns.items()})

    def _repr_html_(self) -> str:
        queries, atoms = self.sorted_codes.shape
        certified, worst = int(self.verify().sum()), float(self.gap.max())
        used = float(to_numpy(row_sums(abs(self.sorted_members) > 0)).mean())
        return (
            f"<table><caption>{queries} queries over {atoms} atoms</caption><tbody>"
            f"<tr><th>certified</th><td>{certified} of {queries}</td></tr>"
            f"<tr><th>largest relative gap</th><td>{worst:.1e}</td></tr>"
            f"<tr><th>atoms per code (mean)</th><td>{used:.1f}</td></tr>"
            f"<tr><th>iterations (mean)</th><td>{float(to_numpy(self.n_iter).mean()):.1f}</td></tr></tbody></table>"
        )

    @cached_property
    def codes(self) -> Any:
        """One code per row, columns in the order of the atoms given; sparse NumPy codes are CSR."""
        return self.problem.dictionary.in_given_order(self.sorted_codes)

    def toarray(self) -> np.ndarray:
        """The codes as a dense NumPy array, whatever they are held as."""
        return to_numpy(dense(self.codes))

    def tocsr(self) -> sparse.csr_array:
        """The codes as a CSR array, whatever they are held as."""
        return self.codes if sparse.issparse(self.codes) else sparse.csr_array(to_numpy(self.codes))

    @property
    def sorted_members(self) -> Any:
        """The nearest points of the set; without a relaxation, the codes themselves."""
        return self.sorted_codes

    @property
    def members(self) -> Any:
        """The nearest points of the set, columns in the order given."""
        return self.problem.dictionary.in_given_order(self.sorted_members)

    @property
    def proof(self) -> Solution:
        """The solution whose gap and violation certify this one: itself, without a relaxation."""
        return self

    def _by_block(self, function: Callable[[Queries, Any], Array]) -> Array:
        row_bytes = 3 * self.problem.dictionary.n_atoms * 8

        def work(block: slice) -> Array:
            return function(self.queries.take(block), self.sorted_codes[block, :])

        return concat(map_rows(work, self.queries.rows, row_bytes))

    @cached_property
    def objective(self) -> Array:
        """The objective at each code; for ridge ‖y − Xc‖² + λ‖c‖². Computed from the problem."""
        return self._by_block(self.problem.objective)

    @cached_property
    def violation(self) -> Array:
        """How far each code lies outside its set, in the largest violated constraint; atoms left out count as such."""
        violation = self.problem.constraint.violation(in_double(self.sorted_codes))
        terms = self.queries.terms
        if terms is None or terms.excluded is None:
            return violation
        return self.problem.dictionary.xp.maximum(violation, in_double(misuse(terms, self.sorted_codes)))

    @cached_property
    def gap(self) -> Array:
        """Upper bound on f(c) − f*, relative to ‖y − centre‖² or, if less, to 100·f(c); see ``docs/exact.md``.

        Computed from the problem in double precision, independently of the solver. It bounds the suboptimality of a
        code that lies in its set; `violation` says whether it does.
        """
        return self._by_block(Certificate(self.problem))

    def verify(self, tol: float | None = None, feasibility: float | None = None) -> Array:
        """Which queries are certified: inside their set to ``feasibility`` and with a gap of at most ``tol``.

        Feasibility is relative to Σ|c| where that exceeds one.
        By default 1e-12 and 1e-8, in float32 1e-5 and 1e-6.
        """
        for name, value in (("tol", tol), ("feasibility", feasibility)):
            if value is not None and (not isinstance(value, Real) or not value >= 0.0):
                raise ValueError(f"{name} must be a number of at least 0 or None, got {value!r}")
        default = Tolerances.of(self.problem.dictionary)
        tol = default.gap if tol is None else tol
        feasibility = default.feasibility if feasibility is None else feasibility
        size = self.problem.dictionary.xp.clip(row_sums(abs(in_double(self.sorted_members))), 1.0, None)
        allowed = self.problem.dictionary.xp.clip(feasibility * size, None, 1e-3)  # a sum of one is not lost entirely
        return (self.violation <= allowed) & (self.gap <= tol)

    def rows(self, chosen: Any) -> Solution:
        """The solution of some of the queries."""
        taken = {name: take_rows(getattr(self, name), chosen) for name in ("sorted_codes", "n_iter", "converged")}
        history = None if self.history is None else take_rows(self.history.T, chosen).T
        return replace(self, **taken, queries=self.queries.take(chosen), history=history)

    @classmethod
    def join(cls, parts: Sequence[Solution], rows: Array | None = None) -> Solution:
        """The solutions of consecutive blocks of queries as one; ``rows``, if at hand, are those of all of them."""
        return parts[0] if len(parts) == 1 else cls(**cls._joined(parts, rows))

    @classmethod
    def _joined(cls, parts: Sequence[Any], rows: Array | None) -> dict[str, Any]:
        names = ("sorted_codes", "n_iter", "converged")
        joined = {name: concat([getattr(part, name) for part in parts]) for name in names}
        histories = [part.history for part in parts if part.history is not None]
        rows = concat([part.queries.rows for part in parts]) if rows is None else rows
        terms = Terms.join([part.queries.terms for part in parts])
        joined["queries"] = Queries.of(parts[0].queries.dictionary, rows, terms=terms)
        return {**joined, "problem": parts[0].problem, "history": _side_by_side(histories) if histories else None}

    @classmethod
    def over_all_atoms(cls, parts: Sequence[OverSomeAtoms], problem: Problem, queries: Queries) -> Solution:
        """Solutions of some of the queries each, over the atoms that these may use, as one; others have a zero code."""
        return cls(**cls._spread(parts, problem, queries))

    @classmethod
    def _spread(cls, parts: Sequence[OverSomeAtoms], problem: Problem, queries: Queries) -> dict[str, Any]:
        n_iter, converged = np.ones(len(queries), int), np.ones(len(queries), bool)
        for part in parts:
            n_iter[part.rows], converged[part.rows] = map(to_numpy, (part.solution.n_iter, part.solution.converged))
        dictionary = problem.dictionary
        codes = spread(parts, [part.solution.sorted_codes for part in parts], problem, queries)
        known = {"n_iter": dictionary.like(n_iter), "converged": dictionary.like(converged)}
        return {"sorted_codes": codes, **known, "problem": problem, "queries": queries}


class OverSomeAtoms(NamedTuple):
    """A solution of the queries ``rows`` over the atoms ``kept``."""

    rows: np.ndarray
    kept: np.ndarray
    solution: Any


def spread(parts: Sequence[OverSomeAtoms], codes: Sequence[Any], problem: Problem, queries: Queries) -> Array:
    """Codes of parts in their rows and columns of one array, in the library and precision of the dictionary."""
    dictionary, wide = problem.dictionary, np.zeros((len(queries), problem.dictionary.n_atoms))
    for part, own in zip(parts, codes, strict=True):
        wide[np.ix_(part.rows, part.kept)] = to_numpy(dense(own))
    return dictionary.xp.astype(dictionary.like(wide), dictionary.dtype, copy=False)


def _side_by_side(histories: Sequence[Array]) -> Array:
    """Histories as columns; a block that took fewer iterations keeps its last values."""
    longest = max(history.shape[0] for history in histories)
    padded = [concat([history, *[history[-1:, :]] * (longest - history.shape[0])]) for history in histories]
    return concat([history.T for history in padded]).T
