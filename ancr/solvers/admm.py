r"""The paper's Algorithm 1, batched over queries.

One iteration, from z = c = δ = 0:

    c ← (H + ρ/2·I)⁻¹ (b + (ρz + δ)/2)
    z ← projection of s = c − δ/ρ on the set
    δ ← δ + ρ(z − c)

Two observations make it cheap. First, δ + ρ(z − c) = ρ(z − s), so s and z say everything: w = (ρz + δ)/2 is
ρ(z − s/2), and the next s is c + s − z. On both sets z = max(s − θ, 0) with one threshold θ a query, so z is never
stored either. Second, for H = XᵀX + λI and d < n the c-step goes through d: with μ = λ + ρ/2 and K = XXᵀ + μI,

    v = K⁻¹(μy − Xw),      c = (w + Xᵀv)/μ,      Xc = y − v.

Xs follows s by the same recursion, in d numbers instead of n, so the one product that an iteration needs besides
Xᵀv is Xz, and z is sparse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ancr._arrays import add_to_diagonal, concat, device, is_foreign, leaves, like, namespace, to_numpy
from ancr.solvers.admm_screened import Screened
from ancr.solvers.solution import Array, Problem, Solution

# Used where neither `tol` nor `max_iter` is given.
DEFAULT_MAX_ITER = 10_000


class ADMM:
    """Algorithm 1 for the non-negative and simplex sets.

    Parameters
    ----------
    problem : Problem
        What to solve.
    rho : float
        Penalty ρ. It changes the path, not the limit.
    max_iter : int or None
        Given *alone*, the iteration count is fixed on purpose: exactly that many are run, and nothing warns.
    tol : float or None
        Stop a query when max(‖z−c‖, ‖z−z_prev‖, ‖c−c_prev‖) < tol. Given (or with ``max_iter`` None, when it is
        1e-5, in float32 1e-4), a query that has not met it after ``max_iter`` iterations (10000 where
        None) is reported by a `ConvergenceWarning`.
    code : {"z", "c"}
        Which iterate is returned: z lies in the set, c (the paper's choice) only near it.
    """

    name = "admm"
    accepts = ("nonnegative", "simplex")
    options = ("rho", "max_iter", "tol", "code")

    def __init__(
        self,
        problem: Problem,
        rho: float = 1.0,
        max_iter: int | None = None,
        tol: float | None = None,
        code: str | None = "z",
    ) -> None:
        self.problem = problem
        self.rho = float(rho)
        self.code = code or "z"
        self.fixed_count = max_iter is not None and tol is None
        self.max_iter = DEFAULT_MAX_ITER if max_iter is None else max_iter
        self.tol = (1e-4 if problem.dictionary.is_single else 1e-5) if tol is None else tol
        narrow = problem.dictionary.n_features < problem.dictionary.n_atoms
        through = ThroughFeatures if narrow and not problem.quadratic.blocks else _ThroughAtoms
        self._c_step: ThroughFeatures | _ThroughAtoms = through(problem, rho)
        # On the orthant half of the entries are positive, and there is nothing to screen.
        sparse_enough = problem.constraint.name == "simplex" and not is_foreign(problem.dictionary.atoms)
        self._screened = None
        if self.fixed_count and sparse_enough and isinstance(self._c_step, ThroughFeatures):
            self._screened = Screened(problem.dictionary, self._c_step)

    def warning(self, unmet: int, total: int) -> str | None:
        """What to tell a user about queries that did not converge; nothing when the count was fixed."""
        if not unmet or self.fixed_count:
            return None
        return (
            f"ADMM did not reach tol={self.tol:g} within max_iter={self.max_iter} for {unmet} of {total} queries. "
            "Raise max_iter, or leave tol=None and give max_iter to run a fixed number of iterations on purpose."
        )

    def solve(self, queries: Array, history: bool = False) -> Solution:
        """Code a block of queries."""
        if self._screened is not None and not history:
            held = self._screened.codes(queries, self.max_iter, self.code)
            n_iter, untested = np.full(len(queries), self.max_iter), np.zeros(len(queries), bool)
            return Solution(self._stored(held), n_iter, untested, self.problem, queries)
        dictionary, on_simplex = self.problem.dictionary, self.problem.constraint.name == "simplex"
        xp, admm_step = dictionary.xp, dictionary.leaves.admm_step
        parts: list[_Part] = []
        values: list[np.ndarray] = []

        # 1. State of the queries still running. An infinite threshold makes the first z zero.
        active = np.arange(queries.shape[0])
        shape, kind = (queries.shape[0], dictionary.n_atoms), {"dtype": queries.dtype, "device": device(queries)}
        shifted, threshold = xp.zeros(shape, **kind), xp.full(shape[0], xp.inf, **kind)
        # A fixed count stops for nothing, so nobody asks how far the last iteration moved.
        codes = None if self.fixed_count else xp.zeros(shape, **kind)
        met = xp.zeros(shape[0], dtype=xp.bool, device=kind["device"])
        own = self._c_step.begin(queries)
        for iteration in range(1, self.max_iter + 1):
            # 2. The c-step is a matrix product for all queries, the z- and δ-steps are fused row by row.
            fresh = self._c_step.advance(own, None if iteration == 1 else (shifted, threshold))
            previous = None if self.fixed_count else codes
            codes, shifted, threshold, change = admm_step(
                on_simplex, self._c_step.push, fresh, shifted, threshold, previous
            )
            if history:
                iterate = self._iterate(codes, shifted, threshold)
                values.append(self._objective_now(queries, active, iterate, values))
            # 3. A query that meets the tolerance keeps the iterate it met it with and leaves the batch.
            met = met if change is None else change < self.tol
            if iteration == self.max_iter:
                parts.append(_Part(active, self._iterate(codes, shifted, threshold), met, iteration))
                break
            ready = to_numpy(met)
            if ready.any():
                gone = like(np.flatnonzero(ready), queries)
                iterate = self._iterate(*(xp.take(a, gone, axis=0) for a in (codes, shifted, threshold)))
                parts.append(_Part(active[ready], iterate, xp.take(met, gone, axis=0), iteration))
                if ready.all():
                    break
                stays = like(np.flatnonzero(~ready), queries)
                active = active[~ready]
                codes, shifted, threshold = (xp.take(a, stays, axis=0) for a in (codes, shifted, threshold))
                own = [xp.take(array, stays, axis=0) for array in own]
        return self._solution(queries, parts, np.array(values) if history else None)

    def _solution(self, queries: Array, parts: list[_Part], history: np.ndarray | None) -> Solution:
        """The parts of the batch, in the order of the queries."""
        codes, converged = concat([part.codes for part in parts]), concat([part.converged for part in parts])
        n_iter = np.repeat([part.n_iter for part in parts], [len(part.rows) for part in parts])
        if len(parts) > 1:
            back = np.argsort(np.concatenate([part.rows for part in parts]))
            n_iter, place = n_iter[back], like(back, queries)
            codes, converged = (namespace(queries).take(a, place, axis=0) for a in (codes, converged))
        history = None if history is None else like(history, queries)
        return Solution(self._stored(codes), like(n_iter, queries), converged, self.problem, queries, history)

    def _stored(self, codes: Any) -> Any:
        """NumPy's z as CSR."""
        return sparse.csr_array(codes) if self.code == "z" and not is_foreign(codes) else codes

    def _iterate(self, codes: Array, shifted: Array, threshold: Array) -> Array:
        """The iterate asked for: c, or z with its sum made exact."""
        if self.code == "c":
            return codes
        xp = namespace(shifted)
        z = xp.clip(shifted - threshold[:, None], 0.0, None)
        if self.problem.constraint.name == "simplex":
            z /= xp.sum(z, axis=1, keepdims=True)
        return z

    def _objective_now(
        self, queries: Array, active: np.ndarray, iterate: Array, values: list[np.ndarray]
    ) -> np.ndarray:
        """Objective of every query; one that left the batch keeps its last value."""
        rows = namespace(queries).take(queries, like(active, queries), axis=0)
        objective = to_numpy(self.problem.quadratic.objective(self.problem.dictionary, rows, iterate))
        now = values[-1].copy() if values else np.empty(queries.shape[0], objective.dtype)
        now[active] = objective
        return now


@dataclass(frozen=True)
class _Part:
    """Queries that left the batch together."""

    rows: np.ndarray
    codes: Array
    converged: Array
    n_iter: int


class _ThroughAtoms:
    """c-step with one n × n inverse, for n ≤ d or class blocks in H: c = A⁻¹b + A⁻¹w, A = H + ρ/2·I."""

    push = 0.0

    def __init__(self, problem: Problem, rho: float) -> None:
        dictionary, quadratic = problem.dictionary, problem.quadratic
        xp, psd_inverse = dictionary.xp, dictionary.leaves.psd_inverse
        matrix = xp.astype(quadratic.matrix(dictionary, shift=rho / 2), xp.float64, copy=False)
        self._inverse = xp.astype(psd_inverse(matrix, quadratic.ridge + rho / 2), dictionary.dtype, copy=False)
        self._operator = quadratic.target * (dictionary.atoms.T @ self._inverse)
        self._rho = rho

    def begin(self, queries: Array) -> list[Array]:
        """A⁻¹b: what the c-step needs to know of each query."""
        return [queries @ self._operator]

    def advance(self, own: list[Array], now: tuple[Array, Array] | None) -> Array:
        """A⁻¹b + A⁻¹w, with w = 0 at first."""
        if now is None:
            return namespace(own[0]).asarray(own[0], copy=True)  # the caller writes into what it gets
        shifted, threshold = now
        push = namespace(shifted).clip(shifted - threshold[:, None], 0.0, None)
        push -= 0.5 * shifted
        push *= self._rho
        fresh = push @ self._inverse
        fresh += own[0]
        return fresh


class ThroughFeatures:
    """c-step with one d × d inverse: c = (w + Xᵀv)/μ, of which `admm_step` adds w/μ."""

    def __init__(self, problem: Problem, rho: float) -> None:
        quadratic, self.atoms = problem.quadratic, problem.dictionary.atoms
        self.rho = rho
        self.diagonal = 1.0 / (quadratic.ridge + rho / 2)
        self.push = self.diagonal * rho
        self.shift = 1.0 / (self.diagonal * quadratic.gram)
        self.target = quadratic.target * self.shift
        xp, psd_inverse = problem.dictionary.xp, problem.dictionary.leaves.psd_inverse
        side = add_to_diagonal(xp.asarray(problem.dictionary.scatter, copy=True), self.shift)
        self.inverse = xp.astype(psd_inverse(side, self.shift), self.atoms.dtype, copy=False)

    def begin(self, queries: Array) -> list[Array]:
        """The queries, weighted, and Xs = 0: what the c-step needs to know of each query."""
        return [self.target * queries, namespace(queries).zeros_like(queries)]

    def advance(self, own: list[Array], now: tuple[Array, Array] | None) -> Array:
        """Xᵀv/μ, after bringing Xs up to date."""
        queries, shifted_image = own
        if now is None:
            v = queries @ self.inverse
            own[1] = self.diagonal * (queries - self.shift * v)
        else:
            image = leaves(self.atoms).image_of_positive(*now, self.atoms)
            v = (queries - self.rho * (image - 0.5 * shifted_image)) @ self.inverse
            own[1] += self.diagonal * (queries - self.shift * v) - image
        v *= self.diagonal
        return v @ self.atoms.T
