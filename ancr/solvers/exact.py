r"""The optimum on the orthant and on the simplex, by a working set that is priced over all atoms.

For a query, min cᵀHc − 2bᵀc over c ≥ 0 (and Σc = 1):

1. the support starts with the atoms of largest b;
2. the problem on the support is solved exactly (Cholesky), atoms that turn negative are dropped at once, until none;
3. *pricing*: b − Hc over all atoms. An atom outside the support that pulls harder than those in it joins; if there
   is none the optimum is found. Back to 2, keeping the rows of the factor before the first change.

Where a round fails to lower the objective, it is taken back and a textbook active-set step with a ratio test is made
instead, so the method is finite. ``docs/exact.md`` derives it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from ancr._parallel import map_blocks, read_only
from ancr.solvers.estimate import Estimate
from ancr.solvers.solution import Problem, Solution

# A Gram matrix above this many bytes is not kept: pricing then goes through the atoms, for all queries at once.
GRAM_BUDGET = 2**30
# Atoms a support has room for at first; a query that needs more is begun again with twice the room.
FIRST_ROOM = 96
# From here on b and pulls are estimated before they are made exact.
ENOUGH_ATOMS = 1000


class Exact:
    """Working-set solver for the non-negative and simplex sets and for the ℓ1 problem, at every alpha ≥ 0.

    Parameters
    ----------
    problem : Problem
        What to solve.
    tol : float or None
        Relative gap a query must reach to count as converged; None means 1e-8, in float32 1e-6.
    gram_budget : int
        Bytes that H may take; two bytes an entry come on top. Above it the same solver runs without H.
    """

    name = "exact"
    accepts = ("nonnegative", "simplex", "l1")
    options = ("tol", "gram_budget")
    # Queries of a block, at most: one product an atom, then each by itself, so that large blocks cost no cache.
    block_rows = 1024

    def __init__(self, problem: Problem, tol: float | None = None, gram_budget: int = GRAM_BUDGET) -> None:
        from ancr.solvers._kernels import Form

        self.problem = problem
        dictionary, quadratic = problem.dictionary, problem.quadratic
        single = dictionary.dtype == np.float32
        self.tol = (1e-6 if single else 1e-8) if tol is None else tol
        squares = np.einsum("ij,ij->i", dictionary.atoms, dictionary.atoms, dtype=np.float64)
        norms = np.sqrt((quadratic.gram + quadratic.blocks) * squares)
        diagonal = norms**2 + quadratic.ridge
        # Without a ridge above its rounding, H in single precision would call dependent atoms independent.
        in_double = single and quadratic.ridge <= 1e-5 * diagonal.max()
        self.keeps_matrix = dictionary.n_atoms**2 * (8 if in_double else dictionary.itemsize) <= gram_budget
        if in_double and self.keeps_matrix:
            dictionary = replace(dictionary, atoms=dictionary.atoms.astype(np.float64))
        # What H and b are made from; the problem's own dictionary, but for that.
        self.source = dictionary
        on_simplex = problem.constraint.name == "simplex"
        positive = diagonal[diagonal > np.sqrt(np.finfo(float).eps) * diagonal.max()]
        nothing = np.empty((0, 0), dictionary.dtype)
        matrix = self._matrix() if self.keeps_matrix else nothing
        # Few atoms leave little to gain from a cheaper product, and without H class terms need products of their own.
        gains = dictionary.n_atoms >= ENOUGH_ATOMS and (self.keeps_matrix or not quadratic.blocks)
        self._estimate = Estimate(dictionary) if gains and matrix.dtype == np.float64 else None
        # Errors are told for atoms whose norm in H is one.
        self._unit = 1.0 / np.sqrt(quadratic.gram + quadratic.blocks)
        self.form = Form(
            matrix=matrix,
            pricing=_correlations(matrix, norms),
            atoms=nothing if self.keeps_matrix and self._estimate is None else dictionary.atoms,
            weights=np.array([quadratic.gram, quadratic.blocks], float),
            labels=dictionary.labels,
            lengths=np.sqrt(diagonal),
            longest=float(np.sqrt(diagonal.max())),
            norms=norms,
            largest_norm=float(norms.max()),
            ridge=float(quadratic.ridge),
            kappa=float(positive.min(initial=diagonal.max() or 1.0)) if on_simplex else 0.0,
            shift=0.0 if on_simplex else quadratic.absolute / 2.0,
            on_simplex=on_simplex,
            signed=problem.constraint.name == "free",
            tol=self.tol,
        )

    def _matrix(self) -> np.ndarray:
        """H without the ridge: the Gram matrix itself wherever that is what it is."""
        quadratic, dictionary = self.problem.quadratic, self.source
        if quadratic.gram == 1.0 and not quadratic.blocks:
            return dictionary.gram
        return quadratic.matrix(dictionary, shift=-quadratic.ridge)

    def warning(self, unmet: int, total: int) -> str | None:
        """What to tell a user about queries that could not be certified."""
        if not unmet:
            return None
        return f"{unmet} of {total} queries could not be certified optimal to tol={self.tol:g}"

    def solve(self, queries: np.ndarray, history: bool = False) -> Solution:
        """Code a block of queries."""
        solution = self.solution(self.run(queries, whole_b=False))
        return replace(solution, history=solution.objective[None]) if history else solution

    def warm_up(self, queries: np.ndarray) -> None:
        """Compile in the calling thread what is not compiled yet, on one query.

        All threads would wait for it anyway, and in a thread with a memory of its own it takes a fifth longer.
        """
        from ancr.solvers import _kernels

        kernel = _kernels.solve_with_matrix if self.keeps_matrix else _kernels.advance_without_matrix
        if not kernel.signatures:
            self.solve(queries[:1])

    def run(self, queries: np.ndarray, whole_b: bool = True) -> _Run:
        """Take a block of queries to the optimum; with ``whole_b``, where H is kept, b is exact for all atoms."""
        exactly = self._estimate is None or (whole_b and self.keeps_matrix)
        run = _Run(self, queries, estimate=None if exactly else self._estimated)
        run.to_the_end()
        return run

    def _estimated(self, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        assert self._estimate is not None
        products, scale, error = self._estimate(vectors)
        return products, scale, self._unit * error

    def solution(self, run: _Run) -> Solution:
        """What a finished run found."""
        return Solution(run.codes(), run.found[:, 2].astype(int), run.finished(), self.problem, run.queries)


def _correlations(matrix: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """H_ij / √(H_ii·H_jj) in whole steps; zero for atoms of no length."""
    from ancr.solvers._kernels import STEPS

    correlations = np.empty(matrix.shape, np.int16)
    # In the matrix's own precision, where atoms shorter than this are lost in the rounding of the others.
    scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 1e-30 * lengths.max(initial=0.0))
    scale = scale.astype(matrix.dtype)

    def fill(rows: slice) -> None:
        block = matrix[rows] * scale[rows, None]
        block *= matrix.dtype.type(STEPS) * scale
        correlations[rows] = np.clip(np.rint(block, out=block), -32767, 32767, out=block)

    map_blocks(fill, len(matrix), block_rows=64)
    return correlations


class _Run:
    """One block of queries on its way to the optimum.

    Parameters
    ----------
    solver : Exact
        The solver.
    queries : ndarray of shape (n_queries, n_features)
        The queries.
    linear : ndarray of shape (n_queries, n_atoms) or None
        b of every query, where it is known; computed otherwise.
    estimate : callable or None
        What to use for b where H is kept, for pulls where it is not.
    """

    def __init__(
        self,
        solver: Exact,
        queries: np.ndarray,
        linear: np.ndarray | None = None,
        estimate: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]] | None = None,
    ) -> None:
        from ancr.solvers import _kernels

        self._kernels, self._keeps_matrix, self._estimate = _kernels, solver.keeps_matrix, estimate
        self.problem, self.queries = solver.problem, queries
        self.form = type(solver.form)(*(read_only(x) if isinstance(x, np.ndarray) else x for x in solver.form))
        quadratic = self.problem.quadratic
        rows = len(queries)
        self.scale, self.blur, self.aims = np.ones(rows), np.zeros(rows), np.empty((rows, 0))
        if linear is not None:
            self.linear = linear
        elif estimate is not None and solver.keeps_matrix:
            self.aims = quadratic.target * queries.astype(np.float64, copy=False)
            self.linear, self.scale, self.blur = estimate(self.aims)
        else:
            self.linear = quadratic.linear(solver.source, queries.astype(solver.source.dtype, copy=False))
        reach = quadratic.reach(self.problem.dictionary)
        self.squares = reach * np.einsum("ij,ij->i", queries, queries, dtype=float)
        self.max_rounds = 1000 + self.problem.dictionary.n_atoms
        self.banned, self.tilt = np.full(len(queries), -1), np.zeros(len(queries))
        # size, status, rounds, whether only careful steps are left
        self.found = np.zeros((len(queries), 4))
        self.support, self.code = np.empty((len(queries), 0), np.int64), np.empty((len(queries), 0))

    def to_the_end(self) -> None:
        """Solve every query, with more room for those that need it."""
        todo, room, n = np.arange(len(self.queries)), FIRST_ROOM, self.problem.dictionary.n_atoms
        while len(todo):
            self.make_room(max(self.support.shape[1], min(n, room)))
            (self.with_matrix if self._keeps_matrix else self.without_matrix)(todo)
            todo = todo[self.found[todo, 1] == self._kernels.NEEDS_ROOM]
            room *= 2

    def finished(self) -> np.ndarray:
        """Which queries reached the optimum."""
        return self.found[:, 1] == self._kernels.FINISHED

    def begin_with(self, codes: sparse.csr_array) -> None:
        """Start every query from the support of a code of its own, with the matrix only."""
        self.found[:, 0] = np.diff(codes.indptr)
        self.make_room(int(self.found[:, 0].max(initial=0)) + FIRST_ROOM // 2)
        used = np.arange(self.support.shape[1]) < self.found[:, :1]
        self.support[used], self.code[used] = codes.indices, codes.data

    def make_room(self, room: int) -> None:
        """Let supports grow to ``room`` atoms."""
        rows, known = self.support.shape
        if room > known:
            support, code = np.zeros((rows, room), np.int64), np.zeros((rows, room))
            support[:, :known], code[:, :known] = self.support, self.code
            self.support, self.code = support, code

    def with_matrix(self, todo: np.ndarray) -> None:
        """Take every query to the end, pricing through rows of H."""
        self._kernels.solve_with_matrix(
            self.form, self._desk(), self.linear, self.scale, self.aims, self.blur, self.squares, todo, self.banned,
            self.tilt, self.max_rounds, self.support, self.code, self.found,
        )  # fmt: skip

    def _desk(self) -> Any:
        return self._kernels.make_desk(self.support.shape[1], self.linear.shape[1])

    def without_matrix(self, todo: np.ndarray) -> None:
        """Price all unfinished queries by one matrix product a round, through the atoms."""
        self.found[todo, 2] = 0.0
        desk, target = self._desk(), self.problem.quadratic.target
        pulls = self.linear[todo], np.ones(len(todo)), np.zeros(len(todo))
        while len(todo):
            self._kernels.advance_without_matrix(
                self.form, desk, target * self.queries[todo], self.linear[todo], self.squares, *pulls, todo,
                self.max_rounds, self.support, self.code, self.found,
            )  # fmt: skip
            unfinished = self.found[todo, 1] == self._kernels.UNFINISHED
            todo = todo[unfinished & (self.found[todo, 2] < self.max_rounds)]
            if len(todo):
                pulls = self._pulls(todo)

    def _pulls(self, todo: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pulls under the present codes, by what to multiply them, and their error for an atom of unit norm."""
        dictionary, quadratic = self.problem.dictionary, self.problem.quadratic
        queries, codes = self.queries[todo], self.codes(todo)
        if self._estimate is not None:
            return self._estimate(quadratic.target * queries - quadratic.gram * (codes @ dictionary.atoms))
        pull, band = quadratic.pull(dictionary, queries, codes, ridge=False), np.zeros(len(todo))
        if pull.dtype == np.float32 and not quadratic.blocks:
            # More than products of n-vectors in single precision lose.
            band = 1e-4 * np.abs(self.linear[todo]).max(axis=1) / (self.form.largest_norm or 1.0)
        return pull, np.ones(len(todo)), band.astype(float)

    def codes(self, rows: np.ndarray | slice = slice(None)) -> sparse.csr_array:
        """Codes of some queries, on the simplex with their sums made exact."""
        size, code = self.found[rows, 0].astype(np.int64), self.code[rows]
        used = np.arange(code.shape[1]) < size[:, None]
        if self.form.on_simplex:
            code = code / np.where(used, code, 0.0).sum(axis=1, keepdims=True)
        indptr = np.concatenate([[0], np.cumsum(size)])
        values = code[used].astype(self.queries.dtype)
        shape = (len(size), self.problem.dictionary.n_atoms)
        return sparse.csr_array((values, self.support[rows][used], indptr), shape=shape)
