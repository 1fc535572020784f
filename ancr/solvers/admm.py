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

import numpy as np
from scipy import sparse

from ancr.solvers._factor import psd_inverse
from ancr.solvers.solution import Problem, Solution

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
        self.tol = (1e-4 if problem.dictionary.dtype == np.float32 else 1e-5) if tol is None else tol
        narrow = problem.dictionary.n_features < problem.dictionary.n_atoms
        through = _ThroughFeatures if narrow and not problem.quadratic.blocks else _ThroughAtoms
        self._c_step: _ThroughFeatures | _ThroughAtoms = through(problem, rho)

    def warning(self, unmet: int, total: int) -> str | None:
        """What to tell a user about queries that did not converge; nothing when the count was fixed."""
        if not unmet or self.fixed_count:
            return None
        return (
            f"ADMM did not reach tol={self.tol:g} within max_iter={self.max_iter} for {unmet} of {total} queries. "
            "Raise max_iter, or leave tol=None and give max_iter to run a fixed number of iterations on purpose."
        )

    def solve(self, queries: np.ndarray, history: bool = False) -> Solution:
        """Code a block of queries."""
        from ancr._kernels import admm_step

        shape, dtype = (len(queries), self.problem.dictionary.n_atoms), queries.dtype
        on_simplex = self.problem.constraint.name == "simplex"
        result = np.empty(shape, dtype)
        n_iter = np.full(len(queries), self.max_iter)
        converged = np.zeros(len(queries), bool)
        values: list[np.ndarray] = []

        # 1. State of the queries still running. An infinite threshold makes the first z zero.
        active = np.arange(len(queries))
        codes, shifted = np.zeros(shape, dtype), np.zeros(shape, dtype)
        threshold = np.full(len(queries), np.inf, dtype)
        own = self._c_step.begin(queries)
        for iteration in range(1, self.max_iter + 1):
            # 2. The c-step is a matrix product for all queries, the z- and δ-steps are fused row by row.
            fresh = self._c_step.advance(own, shifted, threshold)
            change = np.empty(len(active), dtype)
            admm_step(on_simplex, self.rho, self._c_step.diagonal, fresh, codes, shifted, threshold, change)
            if history:
                iterate = self._iterate(codes, shifted, threshold)
                values.append(self._objective_now(queries, active, iterate, values))
            # 3. A query that meets the tolerance keeps the iterate it met it with and leaves the batch.
            met = change < self.tol
            last = iteration == self.max_iter
            leaves = np.full(len(active), last) if self.fixed_count else met | last
            if leaves.any():
                gone, stays = active[leaves], ~leaves
                result[gone] = self._iterate(codes[leaves], shifted[leaves], threshold[leaves])
                n_iter[gone], converged[gone] = iteration, met[leaves]
                if not stays.any():
                    break
                active, threshold, codes, shifted = (a[stays] for a in (active, threshold, codes, shifted))
                own = [array[stays] for array in own]
        stored = sparse.csr_array(result) if self.code == "z" else result
        return Solution(stored, n_iter, converged, self.problem, queries, np.array(values) if history else None)

    def _iterate(self, codes: np.ndarray, shifted: np.ndarray, threshold: np.ndarray) -> np.ndarray:
        """The iterate asked for: c, or z with its sum made exact."""
        if self.code == "c":
            return codes
        z = np.maximum(shifted - threshold[:, None], 0.0)
        if self.problem.constraint.name == "simplex":
            z /= z.sum(axis=1, keepdims=True)
        return z

    def _objective_now(
        self, queries: np.ndarray, active: np.ndarray, iterate: np.ndarray, values: list[np.ndarray]
    ) -> np.ndarray:
        """Objective of every query; one that left the batch keeps its last value."""
        now = values[-1].copy() if values else np.empty(len(queries), queries.dtype)
        now[active] = self.problem.quadratic.objective(self.problem.dictionary, queries[active], iterate)
        return now


class _ThroughAtoms:
    """c-step with one n × n inverse, for n ≤ d or class blocks in H: c = A⁻¹b + A⁻¹w, A = H + ρ/2·I."""

    diagonal = 0.0

    def __init__(self, problem: Problem, rho: float) -> None:
        dictionary, quadratic = problem.dictionary, problem.quadratic
        matrix = quadratic.matrix(dictionary, shift=rho / 2).astype(np.float64, copy=False)
        self._inverse = psd_inverse(matrix, quadratic.ridge + rho / 2).astype(dictionary.dtype, copy=False)
        self._operator = quadratic.target * (dictionary.atoms.T @ self._inverse)
        self._rho = rho

    def begin(self, queries: np.ndarray) -> list[np.ndarray]:
        """A⁻¹b: what the c-step needs to know of each query."""
        return [queries @ self._operator]

    def advance(self, own: list[np.ndarray], shifted: np.ndarray, threshold: np.ndarray) -> np.ndarray:
        """A⁻¹b + A⁻¹w."""
        push = np.maximum(shifted - threshold[:, None], 0.0)
        push -= 0.5 * shifted
        push *= self._rho
        fresh = push @ self._inverse
        fresh += own[0]
        return fresh


class _ThroughFeatures:
    """c-step with one d × d inverse: c = (w + Xᵀv)/μ, of which `admm_step` adds w/μ."""

    def __init__(self, problem: Problem, rho: float) -> None:
        quadratic, self._atoms = problem.quadratic, problem.dictionary.atoms
        self._rho = rho
        self.diagonal = 1.0 / (quadratic.ridge + rho / 2)
        self._shift = 1.0 / (self.diagonal * quadratic.gram)
        self._target = quadratic.target * self._shift
        side = problem.dictionary.scatter.copy()
        side[np.diag_indices_from(side)] += self._shift
        self._inverse = psd_inverse(side, self._shift).astype(self._atoms.dtype, copy=False)

    def begin(self, queries: np.ndarray) -> list[np.ndarray]:
        """The queries, weighted, and Xs = 0: what the c-step needs to know of each query."""
        return [self._target * queries, np.zeros_like(queries)]

    def advance(self, own: list[np.ndarray], shifted: np.ndarray, threshold: np.ndarray) -> np.ndarray:
        """Xᵀv/μ, after bringing Xs up to date."""
        from ancr._kernels import sparse_image

        queries, shifted_image = own
        z_image = np.empty_like(queries)
        sparse_image(shifted, threshold, self._atoms, z_image)
        v = queries - self._rho * (z_image - 0.5 * shifted_image)
        v = v @ self._inverse
        shifted_image += self.diagonal * (queries - self._shift * v) - z_image
        v *= self.diagonal
        return v @ self._atoms.T
