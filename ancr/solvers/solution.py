"""A problem, and a solution that certifies itself against it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ancr._parallel import map_blocks
from ancr.dictionary import Dictionary
from ancr.quadratics import Quadratic
from ancr.sets import Free


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

    def scale(self, queries: np.ndarray, codes: Any) -> np.ndarray:
        """Size of the terms of each query's objective, to which a gap is compared.

        ‖y‖² + (Σ|c_j|·√H_jj)², an upper bound of every term. On the simplex, where a code cannot shrink with its
        query, √ε times the longest atom's square counts too: rounding hides what is smaller.
        """
        quadratic, lengths = self.quadratic, np.sqrt(self.quadratic.diagonal(self.dictionary))
        span = abs(codes) @ lengths
        if self.constraint.name == "simplex":
            span = span + np.finfo(float).eps ** 0.25 * lengths.max()
        return quadratic.reach(self.dictionary) * (queries**2).sum(axis=1) + span**2


@dataclass(frozen=True)
class Solution:
    """Codes of a batch of queries, with what is needed to judge them.

    Attributes
    ----------
    sorted_codes : ndarray or CSR array of shape (n_queries, n_atoms)
        One code a row, columns as the dictionary sorts its atoms; `codes` has them in the order given.
    n_iter : ndarray of shape (n_queries,)
        Iterations spent on each query.
    converged : ndarray of bool of shape (n_queries,)
        Whether the solver's stopping test was met; for the exact solver, that it found no atom to improve with.
    history : ndarray of shape (n_iterations, n_queries) or None
        Objective after each iteration, where it was asked for. A query that stopped keeps its last value.
    """

    sorted_codes: Any
    n_iter: np.ndarray
    converged: np.ndarray
    problem: Problem
    queries: np.ndarray
    history: np.ndarray | None = None

    @cached_property
    def codes(self) -> Any:
        """One code a row, columns in the order of the atoms given; CSR where the set makes codes sparse."""
        return self.problem.dictionary.in_given_order(self.sorted_codes)

    @property
    def sorted_members(self) -> Any:
        """The points of the set that the codes are near: the codes themselves, without a relaxation."""
        return self.sorted_codes

    def _by_block(self, function: Callable[[np.ndarray, Any], np.ndarray]) -> np.ndarray:
        row_bytes = 3 * self.problem.dictionary.n_atoms * 8
        parts = map_blocks(
            lambda block: function(self.queries[block], self.sorted_codes[block]),
            len(self.queries),
            row_bytes,
        )
        return np.concatenate(parts)

    @cached_property
    def objective(self) -> np.ndarray:
        """The objective at each code; for ridge ‖y − Xc‖² + λ‖c‖². Computed from the problem."""
        quadratic, dictionary = self.problem.quadratic, self.problem.dictionary
        return self._by_block(lambda queries, codes: quadratic.objective(dictionary, queries, codes))

    @cached_property
    def violation(self) -> np.ndarray:
        """How far each code lies outside its set, in the largest violated constraint."""
        return self.problem.constraint.violation(self.sorted_codes.astype(np.float64))

    @cached_property
    def gap(self) -> np.ndarray:
        """Upper bound on f(c) − f*, relative to the scale of the problem's terms; see ``docs/exact.md``.

        Computed from the problem in double precision, whatever the solver did. It bounds the suboptimality of a
        code that lies in its set; `violation` says whether it does.
        """
        from ancr.solvers.certificate import relative_gap

        return self._by_block(relative_gap(self.problem))

    def verify(self, tol: float | None = None, feasibility: float | None = None) -> np.ndarray:
        """Which queries are certified: inside their set to ``feasibility`` and with a gap of at most ``tol``.

        By default 1e-12 and 1e-8, in float32 1e-5 and 1e-6.
        """
        single = self.problem.dictionary.dtype == np.float32
        tol = (1e-6 if single else 1e-8) if tol is None else tol
        feasibility = (1e-5 if single else 1e-12) if feasibility is None else feasibility
        return (self.violation <= feasibility) & (self.gap <= tol)


def concatenate(parts: Sequence[Solution]) -> Solution:
    """Join the solutions of consecutive chunks of queries."""
    first = parts[0]
    if len(parts) == 1:
        return first
    joined = {field.name: _join([getattr(part, field.name) for part in parts]) for field in fields(first)}
    if first.history is not None:
        joined["history"] = _join_histories([part.history for part in parts])
    return type(first)(**joined)


def _join(values: Sequence[Any]) -> Any:
    first = values[0]
    if isinstance(first, Solution):
        return concatenate(values)
    if sparse.issparse(first):
        return sparse.vstack(values)
    return np.concatenate(values) if isinstance(first, np.ndarray) and first.ndim else first


def _join_histories(histories: Sequence[Any]) -> np.ndarray:
    longest = max(len(history) for history in histories)
    padded = [
        np.concatenate([history, np.repeat(history[-1:], longest - len(history), axis=0)]) for history in histories
    ]
    return np.concatenate(padded, axis=1)
