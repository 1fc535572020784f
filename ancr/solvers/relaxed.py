r"""A relaxed constraint: min ‖y − Xc‖² + λ‖c‖² + γ/2·dist²(c, set), solved to the optimum.

With z the point of the set nearest to c, the problem is one in (c, z). For a given z the best c is

    c = (A + γ/2·I)⁻¹(Xᵀy + γ/2·z),    A = XᵀX + λI,

and what remains for z is again a ridge problem *on the set*, of whitened atoms and queries. With μ = λ + γ/2,
w = 2λ/γ and ŷ = (XXᵀ + μI)^(−1/2)·y, X̂ likewise,

    γ/2/(1 + w) · ( ‖(1 + w)ŷ − X̂z‖² + w‖z‖² ),    z in the set.

So the exact solver solves it unchanged, certificate included, and c follows from the last pricing: c = z + p/(1 + w),
where p = b − Hz is the pull of each atom. ``docs/background/choosing.md`` derives it.

Where atoms have weights and pay λ_j, let μ_j = λ_j + γ/2, μ the least of them and D_jj = √(μ/μ_j). The same holds with
ŷ = (XD²Xᵀ + μI)^(−1/2)·y, atoms X̂ = (XD²Xᵀ + μI)^(−1/2)·XD² and prices D_jj²·2λ_j/γ for z_j².
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ancr._core.arrays import Array, concat, in_double, read_only, row_squares, row_sums
from ancr._core.budgets import DENSE_CODES_AT_ONCE, LARGEST_H_ON_HOST
from ancr.axes.problem import Problem
from ancr.axes.quadratics import Quadratic, relaxed
from ancr.certificate.gap import Certificate
from ancr.certificate.solution import OverSomeAtoms, Solution, spread
from ancr.dictionary.atoms import BaseDictionary
from ancr.dictionary.derived import rescaled
from ancr.dictionary.products import Queries
from ancr.solvers.capped import Capped
from ancr.solvers.contract import ExactSolver
from ancr.solvers.whitening import spectrum, whitening
from ancr.solvers.working_set.device import DeviceWorkingSet
from ancr.solvers.working_set.host import HostWorkingSet, Run, refuses

# Without coordinates, a relaxation above this many times the longest atom's square leaves nothing of K in I − μM.
_HARD = 1e12


class Relaxed(ExactSolver):
    """Exact solver of the relaxed problem, for the non-negative set and simplices.

    Parameters
    ----------
    tol : float or None
        As for `HostWorkingSet`.
    code : {"c", "z"} or None
        Which of the two to return: c, near the set, or z, in it. None means c.
    gram_budget : int
        As for `HostWorkingSet`.
    """

    options = ("tol", "code")
    block_rows = HostWorkingSet.block_rows
    relaxes = True

    _spectrum: Any = None  # shared along a path of μ

    def __init__(self, tol: float | None = None, code: str | None = None, gram_budget: int = LARGEST_H_ON_HOST) -> None:
        super().__init__(tol)
        self.code, self.gram_budget = code, gram_budget

    def refuses(self, problem: Problem) -> str | None:
        """It relaxes inequalities, so the set must have some."""
        if not problem.constraint.has_inequalities:
            return "relaxation applies to sets with inequalities; on the others leave relaxation=None"
        if problem.quadratic.blocks or problem.quadratic.absolute:
            return "relaxation requires a quadratic without class terms and without an ℓ1 term"
        assert problem.relaxation is not None
        least = min(problem.relaxation, problem.standard_form.problem.relaxation or 0.0)
        if problem.quadratic.largest_price > 1e15 * problem.relaxation or least < 1e-150:
            pays = f"λ / weight = {problem.quadratic.largest_price:g}"
            return f"relaxation={problem.relaxation:g} is too small relative to {pays}; use constraint='free'"
        dictionary = problem.dictionary
        if not dictionary.has_coordinates and problem.relaxation > _HARD * dictionary.longest**2 > 0.0:
            text = f"relaxation={problem.relaxation:g} is so large beside inner products of {dictionary.longest**2:g}"
            return f"{text} that they are lost in rounding: leave relaxation=None, which is the same constraint"
        return None if problem.constraint.highest < float("inf") else refuses(problem)

    def along_path(self, dictionary: BaseDictionary) -> Relaxed:
        """One eigendecomposition for every μ, where there are coordinates."""
        sharing = copy(self)
        sharing._spectrum = spectrum(dictionary)
        return sharing

    def set_up(self) -> None:
        """Whiten the atoms and prepare the exact solver over them."""
        super().set_up()
        form = self.problem.standard_form
        problem = form.problem
        factors = factors_of(problem)
        if self._spectrum is None or form.factor != 1.0 or factors is not None:
            given = problem.dictionary if factors is None else rescaled(problem.dictionary, factors)
            whiten = whitening(given, shift(problem))
        else:
            whiten = self._spectrum(shift(problem))
        self._form, self._whiten = form, whiten
        inner = inner_problem(problem, whiten.dictionary)
        there = inner.dictionary.is_non_numpy
        exact: Any = DeviceWorkingSet(self.tol) if there else HostWorkingSet(self.tol, self.gram_budget)
        exact = exact if inner.constraint.plain else Capped(self.tol)
        self._exact = exact.prepare(inner)
        # Then a run has priced all atoms with H, and c follows without another product with the atoms.
        self._holds_pulls = not there and inner.constraint.plain and self._exact.keeps_matrix

    def warm_up(self, queries: Queries, total: int = 1) -> None:
        """As for the exact solver."""
        self._exact.warm_up(self._whitened(queries), total)

    def _whitened(self, queries: Queries) -> Queries:
        moved, dictionary = self._form.queries(queries), self._exact.problem.dictionary
        if not dictionary.has_coordinates:
            return moved.seen_by(dictionary)
        return Queries.of(dictionary, self._whiten(moved.rows))

    def solve_block(self, queries: Queries, history: bool = False) -> Solution:
        """Code a block of queries."""
        inner, codes = self._solved(self._whitened(queries))
        inner.queries.release()
        xp = self.problem.dictionary.xp
        finite = xp.isfinite(row_sums(codes))  # c can exceed the range of single precision
        converged, in_set = inner.converged & finite, self.code == "z"
        solution = RelaxedSolution(codes, inner.n_iter, converged, self.problem, queries, inner=inner, in_set=in_set)
        if bool(xp.all(converged)):
            return solution
        # The problem in z has an origin of its own, beside which the objective may be rounding.
        return replace(solution, converged=converged | (finite & (solution.gap <= self.tol)))

    def _solved(self, whitened: Queries) -> tuple[Solution, Any]:
        """The solution in z, and the codes that were asked for."""
        if self._holds_pulls:
            run = self._exact.run(whitened)
            inner = run.solution()
            return inner, inner.sorted_codes if self.code == "z" else from_last_pricing(run, inner.sorted_codes)
        inner = self._exact.solve_block(whitened)
        return inner, inner.sorted_codes if self.code == "z" else near_the_set(inner)


def shift(problem: Problem) -> float:
    """μ = λ + γ/2."""
    return problem.quadratic.ridge + _half_price(problem)


def factors_of(problem: Problem) -> np.ndarray | None:
    """D of a problem whose atoms pay different prices λ_j: √(μ/μ_j), with μ_j = λ_j + γ/2 and μ the least of them."""
    if problem.quadratic.surcharges is None:
        return None
    return np.sqrt(shift(problem) / (problem.quadratic.prices + _half_price(problem)))


def inner_problem(problem: Problem, whitened: BaseDictionary) -> Problem:
    """The problem in z, over whitened atoms."""
    assert problem.relaxation is not None
    quadratic, factors = relaxed(problem.quadratic.ridge, problem.relaxation), factors_of(problem)
    if factors is not None:
        prices = factors**2 * problem.quadratic.prices / _half_price(problem)
        quadratic = replace(quadratic, ridge=float(prices.min()), surcharges=prices - prices.min())
        whitened = rescaled(whitened, factors)
    # c is made of the pulls of the atoms, which depend on the origin.
    return Problem(whitened, quadratic, problem.constraint, fixed_origin=True)


def _half_price(problem: Problem) -> float:
    assert problem.relaxation is not None
    return problem.relaxation / 2.0


def near_the_set(inner: Solution) -> Array:
    """The c = z + p/(1 + w) that belongs to the z of a whitened problem."""
    quadratic, z = inner.problem.quadratic, inner.sorted_codes
    codes = quadratic.pull(inner.queries, z)
    codes /= quadratic.target
    return _add(codes, z)


def from_last_pricing(run: Run, z: sparse.csr_array) -> np.ndarray:
    """The same from a run that holds b, with H in memory: n·s products for s atoms in use instead of n·d."""
    from ancr.solvers.sparse_kernels import subtract_image

    quadratic, codes = run.problem.quadratic, np.empty_like(run.linear)
    arrays = (z.indptr, z.indices, z.data, run.program.matrix, run.linear, run.rank_one)
    target = quadratic.target * run.problem.dictionary.units**2  # pulls are in the units of the standard form
    subtract_image(*map(read_only, arrays), target, codes)
    codes[_entries(z)] += _share_of_own(quadratic, target, z)
    return codes


def _share_of_own(quadratic: Quadratic, target: float, z: sparse.csr_array) -> np.ndarray:
    """z_j less what atom j pays for it, over the target."""
    prices = quadratic.prices if quadratic.surcharges is None else quadratic.prices[z.indices]
    return z.data * (1.0 - prices / target)


def _add(codes: Array, members: Any, sign: float = 1.0) -> Array:
    """codes ± members, dense or CSR, in place."""
    if sparse.issparse(members):
        codes[_entries(members)] += sign * members.data
    else:
        codes += sign * members
    return codes


def _entries(codes: sparse.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the stored entries, including zeros."""
    return np.repeat(np.arange(codes.shape[0]), np.diff(codes.indptr)), codes.indices


@dataclass(frozen=True, repr=False)
class RelaxedSolution(Solution):
    """A solution of the relaxed problem; ``inner`` is that of the whitened problem in z, which certifies it.

    ``in_set`` says whether its codes are z, in the set, and not c, near it. ``near`` is c where ``inner`` does not tell
    it: over atoms of which queries may use some, each in a whitened problem of its own.
    """

    inner: Any = None
    in_set: bool = False
    near: Any = None

    @cached_property
    def objective(self) -> Array:
        """‖y − Xc‖² + λ‖c‖² + γ/2·‖c − z‖²."""
        return self._in_blocks(self._objective)

    @cached_property
    def _in_double(self) -> Problem:
        return replace(self.problem, dictionary=self.problem.dictionary.in_double)

    def _in_blocks(self, function: Callable[[Queries, Array, Any], Array]) -> Array:
        """``function(queries, c, z)`` on blocks whose dense codes fit in memory."""
        size, total = max(1, DENSE_CODES_AT_ONCE // self.problem.dictionary.n_atoms), len(self.queries)
        blocks = [slice(start, min(start + size, total)) for start in range(0, total, size)]
        return concat([function(self.queries.take(block), *self._pair(block)) for block in blocks])

    def _pair(self, block: slice) -> tuple[Array, Any]:
        """c and z of a block; c is not kept where z was asked for."""
        inner, kept = self.inner.rows(block), self.sorted_codes if self.near is None else self.near
        codes = near_the_set(inner) if self.in_set and self.near is None else kept[block, :]
        return self.problem.dictionary.xp.asarray(in_double(codes), copy=True), in_double(inner.sorted_codes)

    def _objective(self, queries: Queries, codes: Array, members: Any) -> Array:
        value = self._in_double.objective(queries.in_double, codes)
        apart = _add(codes, members, -1.0)
        return value + _half_price(self.problem) * row_squares(apart)

    @property
    def proof(self) -> Solution:
        """The same solution with its sparse codes z in place of c: c follows from them."""
        return replace(self, sorted_codes=self.inner.sorted_codes, in_set=True)

    @cached_property
    def gap(self) -> Array:
        """Upper bound on the relaxed objective minus its minimum, relative to the larger of ‖y‖² and itself."""
        certificate = Certificate(self.problem)
        return self._in_blocks(lambda queries, codes, members: certificate(queries, codes))

    @property
    def violation(self) -> Array:
        """How far each z lies outside its set."""
        return self.inner.violation

    @property
    def sorted_members(self) -> Any:
        """The point z of the set nearest to each code."""
        return self.inner.sorted_codes

    @classmethod
    def _joined(cls, parts: Sequence[RelaxedSolution], rows: Any) -> dict[str, Any]:
        inner = Solution.join([part.inner for part in parts])
        near = None if parts[0].near is None else concat([part.near for part in parts])
        return {**super()._joined(parts, rows), "inner": inner, "in_set": parts[0].in_set, "near": near}

    @classmethod
    def _spread(cls, parts: Sequence[OverSomeAtoms], problem: Problem, queries: Queries) -> dict[str, Any]:
        known = super()._spread(parts, problem, queries)
        pairs = [part.solution._pair(slice(0, len(part.rows))) for part in parts]
        near, members = (spread(parts, codes, problem, queries) for codes in zip(*pairs, strict=True))
        within = Solution(**{**known, "sorted_codes": members, "problem": replace(problem, relaxation=None)})
        return {**known, "inner": within, "in_set": parts[0].solution.in_set, "near": near}

    def rows(self, chosen: Any) -> Solution:
        """The solution of some of the queries."""
        some: Any = super().rows(chosen)
        return replace(some, inner=self.inner.rows(chosen))
