r"""The paper's Algorithm 1, batched over queries, for any set with a projection.

One iteration, from z = c = δ = 0:

    c ← (H + ρ/2·I)⁻¹ (b + (ρz + δ)/2)
    z ← projection of s = c − δ/ρ on the set
    δ ← δ + ρ(z − c)

Two observations make it cheap. First, δ + ρ(z − c) = ρ(z − s), so s and z are the whole state: w = (ρz + δ)/2 is
ρ(z − s/2), and the next s is c + s − z. Second, for H = XᵀX + λI and d < n the c-step goes through d: with
a = λ + ρ/2 and K = XXᵀ + aI,

    v = K⁻¹(ay − Xw),      c = (w + Xᵀv)/a,      Xc = y − v.

Xs follows s by the same recursion, in d numbers instead of n, so the only product that an iteration needs besides
Xᵀv is Xz, and z is sparse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ancr._core.arrays import (
    Array,
    add_to_diagonal,
    concat,
    device,
    is_non_numpy,
    like,
    namespace,
    product_with_atoms,
    row_squares,
    take_rows,
    to_numpy,
)
from ancr._core.psd import psd_inverse
from ancr.axes.problem import Problem
from ancr.certificate.solution import Solution
from ancr.certificate.tolerances import Tolerances
from ancr.dictionary.products import Queries
from ancr.solvers.contract import Solver, stop_if_asked

# Used where neither `tol` nor `max_iter` is given.
DEFAULT_MAX_ITER = 10_000


class ADMM(Solver):
    """Algorithm 1.

    Parameters
    ----------
    rho : float
        Penalty ρ. It changes the path, not the limit.
    max_iter : int or None
        If given *without* ``tol``, exactly that many iterations are run, without a warning.
    tol : float or None
        Stop a query when max(‖z−c‖, ‖z−z_prev‖, ‖c−c_prev‖) < tol. A query that has not met it after ``max_iter``
        iterations (10000 if None) is reported by a `ConvergenceWarning`. None means 1e-5, in float32 1e-4, if
        ``max_iter`` is None too, and no tolerance otherwise.
    code : {"z", "c"} or None
        Which iterate is returned: z lies in the set, c (the paper's choice) only near it. None means z.
    """

    name = "admm"
    options = ("rho", "max_iter", "tol", "code")
    # Half of the usual, because an iteration goes several times over four arrays of a block.
    block_rows = 192

    def __init__(
        self, rho: float = 1.0, max_iter: int | None = None, tol: float | None = None, code: str | None = None
    ) -> None:
        self.rho, self.tol, self.code = rho, tol, code
        self.max_iter: Any = max_iter

    def refuses(self, problem: Problem) -> str | None:
        """It needs a set to project on, and a differentiable objective."""
        if problem.has_l1_term:
            return "it has no ℓ1 term"
        return None if problem.constraint.has_inequalities else "it is for sets with inequalities"

    def set_up(self) -> None:
        """Invert the c-step's matrix through the smaller side."""
        dictionary = self.problem.dictionary
        self.fixed_count = self.max_iter is not None and self.tol is None
        self.code = self.code or "z"
        if self.max_iter is None:
            self.max_iter = DEFAULT_MAX_ITER
        if self.tol is None:
            self.tol = Tolerances.of(dictionary).admm
        narrow = dictionary.has_coordinates and dictionary.n_features < dictionary.n_atoms
        quadratic = self.problem.quadratic
        even = not quadratic.blocks and quadratic.surcharges is None
        through = _ThroughFeatures if narrow and even else _ThroughAtoms
        self._c_step: _ThroughFeatures | _ThroughAtoms = through(self.problem, self.rho)

    def warning(self, unmet: int, total: int) -> str | None:
        """Report queries that did not converge; nothing if the iteration count was fixed."""
        if self.fixed_count:
            return None
        return (
            f"ADMM did not reach tol={self.tol:g} within max_iter={self.max_iter} for {unmet} of {total} queries. "
            "Raise max_iter, or leave tol=None and give max_iter to run a fixed number of iterations."
        )

    def solve_block(self, queries: Queries, history: bool = False) -> Solution:
        """Code a block of queries."""
        dictionary, project, rows = self.problem.dictionary, self.problem.constraint.project, queries.rows
        xp, parts = namespace(rows), []
        values: list[np.ndarray] = []

        # 1. State of the queries still running: s, z and, to see how far they move, c.
        active = np.arange(len(queries))
        shape, kind = (len(queries), dictionary.n_atoms), {"dtype": rows.dtype, "device": device(rows)}
        s, z, c = (xp.zeros(shape, **kind) for _ in range(3))
        state = self._c_step.begin(queries)
        for iteration in range(1, self.max_iter + 1):
            stop_if_asked()
            # 2. The three steps of Algorithm 1, δ by way of s.
            c_previous, z_previous = c, z
            c = self._c_step.advance(state, s, z, first=iteration == 1)
            s -= z
            s += c
            z = project(s)
            if history:
                values.append(self._objectives(queries, active, c if self.code == "c" else z, values))
            # 3. A query that meets the tolerance keeps the iterate that met it and leaves the batch.
            if self.fixed_count:
                met = np.zeros(len(active), bool)
            else:
                met = to_numpy(_largest_change(xp, z - c, z - z_previous, c - c_previous) < self.tol)
            last = iteration == self.max_iter
            if last or met.any():
                gone = slice(None) if last or met.all() else like(np.flatnonzero(met), rows)
                iterate, leaving = c if self.code == "c" else z, met | last
                parts.append(_Part(active[leaving], take_rows(iterate, gone), met[leaving], iteration))
                if last or met.all():
                    break
                stays = like(np.flatnonzero(~met), rows)
                active, (s, z, c) = active[~met], (take_rows(array, stays) for array in (s, z, c))
                state = [take_rows(array, stays) for array in state]
        return self._solution(queries, parts, np.array(values) if history else None)

    def _solution(self, queries: Queries, parts: list[_Part], history: np.ndarray | None) -> Solution:
        """The parts of the batch, in the order of the queries."""
        codes = concat([part.codes for part in parts])
        if not bool(namespace(codes).all(namespace(codes).isfinite(codes))):
            raise ValueError(
                f"solver='admm': iterates have left the range of {codes.dtype}; rescale the samples and alpha, or use "
                "solver='exact'"
            )
        rows, converged = (np.concatenate([getattr(part, name) for part in parts]) for name in ("rows", "converged"))
        n_iter = np.repeat([part.n_iter for part in parts], [len(part.rows) for part in parts])
        if len(parts) > 1:
            back = np.argsort(rows)
            codes = take_rows(codes, back)
            converged, n_iter = converged[back], n_iter[back]
        if self.code == "z" and not is_non_numpy(codes):
            codes = sparse.csr_array(codes)
        n_iter, converged = like(n_iter, queries.rows), like(converged, queries.rows)
        history = None if history is None else like(history, queries.rows)
        return Solution(codes, n_iter, converged, self.problem, queries, history)

    def _objectives(self, queries: Queries, active: np.ndarray, iterate: Array, values: list[np.ndarray]) -> np.ndarray:
        """Objective of each query; one that left the batch keeps its last value."""
        objective = to_numpy(self.problem.quadratic.objective(queries.take(active), iterate))
        now = values[-1].copy() if values else np.empty(len(queries), objective.dtype)
        now[active] = objective
        return now


@dataclass(frozen=True)
class _Part:
    """Queries that left the batch together."""

    rows: np.ndarray
    codes: Array
    converged: np.ndarray
    n_iter: int


def _largest_change(xp: Array, *changes: Array) -> Array:
    return xp.sqrt(xp.max(xp.stack([row_squares(change) for change in changes]), axis=0))


class _ThroughAtoms:
    """c-step with one n × n inverse, for n ≤ d or class blocks in H: c = A⁻¹b + A⁻¹w, A = H + ρ/2·I."""

    def __init__(self, problem: Problem, rho: float) -> None:
        dictionary, quadratic = problem.dictionary, problem.quadratic
        xp = dictionary.xp
        matrix = xp.astype(quadratic.matrix(dictionary, shift=rho / 2), xp.float64, copy=False)
        self._inverse = xp.astype(psd_inverse(matrix, quadratic.ridge + rho / 2), dictionary.dtype, copy=False)
        # With coordinates one product, of d × n, takes a query there; without, k is first.
        self._has_coordinates = dictionary.has_coordinates
        right = dictionary.coordinates.T @ self._inverse if dictionary.has_coordinates else self._inverse
        self._operator, self._rho = quadratic.target * right, rho

    def begin(self, queries: Queries) -> list[Array]:
        """A⁻¹b: what the c-step needs for each query."""
        return [(queries.rows if self._has_coordinates else queries.cross) @ self._operator]

    def advance(self, state: list[Array], s: Array, z: Array, first: bool) -> Array:
        """A⁻¹b + A⁻¹w, where w = ρ(z − s/2) is zero at first."""
        return state[0] + 0.0 if first else state[0] + (self._rho * (z - 0.5 * s)) @ self._inverse


class _ThroughFeatures:
    """c-step with one d × d inverse: c = (w + Xᵀv)/a."""

    def __init__(self, problem: Problem, rho: float) -> None:
        dictionary, quadratic = problem.dictionary.located, problem.quadratic
        self._atoms, self._rho = dictionary.coordinates, rho
        self._diagonal = 1.0 / (quadratic.ridge + rho / 2)
        self._shift = 1.0 / (self._diagonal * quadratic.gram)
        self._target = quadratic.target * self._shift
        xp = dictionary.xp
        side = add_to_diagonal(xp.asarray(dictionary.scatter, copy=True), self._shift)
        self._inverse = xp.astype(psd_inverse(side, self._shift), dictionary.dtype, copy=False)

    def begin(self, queries: Queries) -> list[Array]:
        """The weighted queries and Xs = 0: what the c-step needs for each query."""
        return [self._target * queries.rows, 0.0 * queries.rows]

    def advance(self, state: list[Array], s: Array, z: Array, first: bool) -> Array:
        """(w + Xᵀv)/a; also updates Xs."""
        target, image_of_s = state
        image = product_with_atoms(z, self._atoms)
        v = (target - self._rho * (image - 0.5 * image_of_s)) @ self._inverse
        state[1] = image_of_s + self._diagonal * (target - self._shift * v) - image
        c = (self._diagonal * v) @ self._atoms.T
        w = -0.5 * s  # in place: a block of these arrays just fits the cache
        w += z
        w *= self._diagonal * self._rho
        c += w
        return c
