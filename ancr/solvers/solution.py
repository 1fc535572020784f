"""A problem, and a solution that certifies itself against it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ancr._arrays import concat, is_foreign, namespace
from ancr.dictionary import Dictionary
from ancr.quadratics import Quadratic
from ancr.sets import Free
from ancr.solvers.two_parts import TwoParts

# An array of any library that follows the array API standard.
Array = Any


@dataclass(frozen=True)
class Problem:
    """The first two axes over a dictionary: min cᵀHc − 2bᵀc over a set, for any query.

    With a ``relaxation`` γ the code may leave the set, at the price γ/2·dist².
    """

    dictionary: Dictionary
    quadratic: Quadratic
    constraint: Free
    relaxation: float | None = None

    @property
    def kind(self) -> str:
        """The set, or ``"l1"`` where an ℓ1 term makes it matter: what a solver must be able to handle."""
        name = self.constraint.name
        if not self.quadratic.absolute or name == "simplex":  # where Σ|c| = 1 anyway
            return name
        return "l1 affine" if name == "affine" else "l1"

    def scale(self, queries: Array, codes: Any) -> Array:
        """Size of the terms of each query's objective, to which a gap is compared.

        ‖y‖² + (Σ|c_j|·√H_jj)², an upper bound of every term. On the simplex, where a code cannot shrink with its
        query, √ε times the longest atom's square counts too: rounding hides what is smaller.
        """
        xp, leaves = self.dictionary.xp, self.dictionary.leaves
        lengths = xp.sqrt(self.quadratic.diagonal(self.dictionary))
        span = abs(codes) @ lengths
        if self.constraint.name == "simplex":
            span = span + float(np.finfo(float).eps) ** 0.25 * xp.max(lengths)
        return self.quadratic.reach(self.dictionary) * leaves.row_dots(queries, queries) + span**2


@dataclass(frozen=True)
class Solution:
    """Codes of a batch of queries, with what is needed to judge them. All arrays are of the atoms' library.

    Attributes
    ----------
    held : array, CSR array or TwoParts
        The codes as the solver left them; `sorted_codes` has them whole.
    n_iter : array of shape (n_queries,)
        Iterations spent on each query.
    converged : array of bool of shape (n_queries,)
        Whether the solver's stopping test was met; for the exact solver, that it found no atom to improve with. False
        for ADMM with a fixed number of iterations, which makes no test.
    history : array of shape (n_iterations, n_queries) or None
        Objective after each iteration, where it was asked for. A query that stopped keeps its last value.
    """

    held: Any
    n_iter: Array
    converged: Array
    problem: Problem
    queries: Array
    history: Array | None = None

    @cached_property
    def sorted_codes(self) -> Any:
        """One code a row, columns as the dictionary sorts its atoms; `codes` has them in the order given."""
        return self.held.whole() if isinstance(self.held, TwoParts) else self.held

    def settled(self) -> Solution:
        """The same with whole codes, for who keeps it."""
        return replace(self, held=self.sorted_codes) if isinstance(self.held, TwoParts) else self

    @cached_property
    def codes(self) -> Any:
        """One code a row, columns in the order of the atoms given; CSR where NumPy's are sparse."""
        return self.problem.dictionary.in_given_order(self.sorted_codes)

    @property
    def sorted_members(self) -> Any:
        """The points of the set that the codes are near: the codes themselves, without a relaxation."""
        return self.sorted_codes

    def _by_block(self, function: Callable[[Array, Any], Array]) -> Array:
        row_bytes = 3 * self.problem.dictionary.n_atoms * 8
        return concat(
            self.problem.dictionary.leaves.map_rows(
                lambda block: function(self.queries[block, :], self.sorted_codes[block, :]), self.queries, row_bytes
            )
        )

    @cached_property
    def objective(self) -> Array:
        """The objective at each code; for ridge ‖y − Xc‖² + λ‖c‖². Computed from the problem."""
        quadratic, dictionary = self.problem.quadratic, self.problem.dictionary
        return self._by_block(lambda queries, codes: quadratic.objective(dictionary, queries, codes))

    @cached_property
    def violation(self) -> Array:
        """How far each code lies outside its set, in the largest violated constraint."""
        return self.problem.constraint.violation(in_double(self.sorted_codes))

    @cached_property
    def gap(self) -> Array:
        """Upper bound on f(c) − f*, relative to the scale of the problem's terms; see ``docs/exact.md``.

        Computed from the problem in double precision, whatever the solver did. It bounds the suboptimality of a
        code that lies in its set; `violation` says whether it does.
        """
        from ancr.solvers.certificate import relative_gap

        return self._by_block(relative_gap(self.problem))

    def verify(self, tol: float | None = None, feasibility: float | None = None) -> Array:
        """Which queries are certified: inside their set to ``feasibility`` and with a gap of at most ``tol``.

        By default 1e-12 and 1e-8, in float32 1e-5 and 1e-6.
        """
        single = self.problem.dictionary.is_single
        tol = (1e-6 if single else 1e-8) if tol is None else tol
        feasibility = (1e-5 if single else 1e-12) if feasibility is None else feasibility
        return (self.violation <= feasibility) & (self.gap <= tol)


def concatenate(parts: Sequence[Solution]) -> Solution:
    """Join the solutions of consecutive chunks of queries."""
    first = parts[0]
    if len(parts) == 1:
        return first
    joined = {field.name: _join([getattr(part, field.name) for part in parts]) for field in fields(first)[1:]}
    joined["held"] = _join([part.sorted_codes for part in parts])
    if first.history is not None:
        joined["history"] = _join_histories([part.history for part in parts])
    return type(first)(**joined)


def _join(values: Sequence[Any]) -> Any:
    first = values[0]
    if isinstance(first, Solution):
        return concatenate(values)
    if sparse.issparse(first):
        return sparse.vstack(values)
    return concat(values) if getattr(first, "ndim", 0) else first


def _join_histories(histories: Sequence[Any]) -> Array:
    longest = max(history.shape[0] for history in histories)
    xp = namespace(histories[0])
    padded = [concat([history, *[history[-1:, :]] * (longest - history.shape[0])]) for history in histories]
    return xp.concat(padded, axis=1)


def in_double(codes: Any) -> Any:
    """Codes, CSR or of any library, in double precision."""
    if is_foreign(codes):
        return namespace(codes).astype(codes, namespace(codes).float64)
    return codes.astype(np.float64)
