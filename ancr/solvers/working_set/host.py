r"""The optimum on the orthant and on the simplex, by a working-set method that prices all atoms.

`ancr.solvers.working_set.pricing` describes the loop. Here the support starts with the atoms of largest b, the problem
on it is solved by a Cholesky factor, of which the rows before the first change are kept, and queries are solved one by
one to the end.

If a round fails to lower the objective, it is undone and replaced by a textbook active-set step with a ratio test, so
the method is finite. ``docs/exact.md`` derives it. Where the ridge is strong, and for supports above
``LARGEST_SUPPORT``, `dense_codes` is tried first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from threading import Lock
from typing import Any

import numpy as np
from scipy import sparse

from ancr._core.arrays import in_double, read_only, row_sums
from ancr._core.budgets import LARGEST_H_ON_HOST
from ancr._core.threads import LONG, aside
from ancr.axes.problem import Problem
from ancr.certificate.solution import Solution
from ancr.dictionary.atoms import BaseDictionary
from ancr.dictionary.derived import rescaled
from ancr.dictionary.products import Queries
from ancr.solvers.about_query import about_queries
from ancr.solvers.contract import ExactSolver, pieces
from ancr.solvers.working_set.dense_codes import DenseCodes, is_strong, joined, left_over, system_of
from ancr.solvers.working_set.layout import exceeds_rounding, laid_out, max_rounds
from ancr.solvers.working_set.pivoting import FEW_ATOMS, MANY_QUERIES, find_codes
from ancr.solvers.working_set.thresholds import SHARE_OF_GAP, largest_of_rows, roundings, shortest

# Atoms that a support can hold at first; a query that needs more starts again with twice the capacity.
FIRST_CAPACITY = 96
# Supports larger than this are solved as dense codes, where there is a ridge.
LARGEST_SUPPORT = 384
# Queries this many times as long as the longest atom have the code of a query at that distance.
_FAR = 1e8
# Above it, sums of squares overflow.
_LARGEST_SQUARE = 1e304
# From this many atoms on, b and pulls are computed in single precision before they are made exact.
ENOUGH_ATOMS = 1000
# Features summed in one product: the error of a sum grows with its length.
FEATURES_AT_ONCE = 512


def refuses(problem: Problem) -> str | None:
    """Why the working-set method cannot solve a problem, on host or device; None if it can."""
    constraint = problem.constraint
    if not constraint.plain:
        return "it is for the four plain sets"
    if problem.has_l1_term:
        return "quadratic='l1' does not go with Σc = 1 alone" if constraint.sums_to_one else None
    return None if constraint.nonnegative else "it is for sets with inequalities"


# Threads that need the problem laid out wait for the first of them.
_LAYING_OUT = Lock()


class HostWorkingSet(ExactSolver):
    """Working-set solver for the non-negative and simplex sets and for the ℓ1 problem, at every alpha ≥ 0.

    Parameters
    ----------
    tol : float or None
        Relative gap a query must reach to count as converged; None means 1e-8, in float32 1e-6.
    gram_budget : int
        Bytes that H may take; two bytes per entry come on top. Above this budget the solver runs without H.
    """

    # Large blocks do not hurt the cache: after one product with all atoms, queries are solved one by one.
    block_rows = 1024
    takes_prices = leaves_out = True

    def __init__(self, tol: float | None = None, gram_budget: int = LARGEST_H_ON_HOST) -> None:
        super().__init__(tol)
        self.gram_budget = gram_budget

    def refuses(self, problem: Problem) -> str | None:
        """It supports NumPy arrays and plain sets with inequalities."""
        if problem.dictionary.is_non_numpy:
            return "it runs on NumPy arrays only; convert the samples to NumPy"
        return refuses(problem)

    def set_up(self) -> None:
        """Reduce the problem to one ℓ1 price, choose its precision, and lay it out for the kernels."""
        super().set_up()
        # The problem that is solved and that H and b are computed from.
        form = self._in_enough_precision(self._with_one_price()).standard_form
        self.form, self.query_scale, self.least = form.problem, form.query_scale, form.least
        self.keeps_origin, self.source = form.keeps_origin, form.problem.dictionary
        self.weight = self.form.quadratic.gram + self.form.quadratic.blocks
        self.longest = float(np.sqrt(self.form.quadratic.diagonal(self.source).max()))
        self.max_rounds = max_rounds(self.form)
        self.shift = self.form.quadratic.absolute / 2.0 if self.form.has_l1_term else 0.0
        # What starts from the whole set may never need H as the kernels do: then it is laid out when it does.
        self.starts_whole, self._laid = is_strong(self.form), None
        _ = self.dense if self.starts_whole else self.program

    @property
    def program(self) -> Any:
        """The problem as the kernels take it, laid out on first use."""
        with _LAYING_OUT:
            if self._laid is None:
                matrix = self._matrix() if self.keeps_matrix else np.empty((0, 0), self.source.dtype)
                self._products = SingleProducts(self.source) if self._gains_from_single(matrix) else None
                self._laid = laid_out(self.form, matrix, self.tol, self.keeps_matrix and self._products is None)
            return self._laid

    @cached_property
    def dense(self) -> DenseCodes | None:
        """The solver for codes that use many atoms; None where there is no ridge or codes have signs."""
        system = system_of(self.form)
        return None if system is None else DenseCodes(system, self.form.constraint.sums_to_one)

    def _with_one_price(self) -> Problem:
        """The problem over atoms divided by their multiples, which have one ℓ1 price."""
        problem, self._multiples = self.problem, self.problem.quadratic.multiples
        if self._multiples is None:
            return problem
        dictionary = rescaled(problem.dictionary, 1.0 / self._multiples)
        return replace(problem, dictionary=dictionary, quadratic=problem.quadratic.without_multiples())

    def _in_enough_precision(self, problem: Problem) -> Problem:
        """The problem in double precision, if H is kept and single precision would not do; decides whether it is."""
        dictionary = problem.dictionary
        # Unless the ridge exceeds rounding, dependent atoms would look independent in a single-precision H.
        in_double = dictionary.is_single and not exceeds_rounding(problem.standard_form.problem)
        size = dictionary.n_atoms**2 * (8 if in_double else dictionary.itemsize)
        # Without coordinates there is no other way; the space has made sure that the matrix fits.
        self.keeps_matrix = size <= self.gram_budget or not dictionary.has_coordinates
        return replace(problem, dictionary=dictionary.in_double) if in_double and self.keeps_matrix else problem

    def _gains_from_single(self, matrix: np.ndarray) -> bool:
        """Whether products in single precision pay: not with few atoms, nor for class terms without H."""
        enough = self.source.n_atoms >= ENOUGH_ATOMS and (self.keeps_matrix or not self.form.quadratic.blocks)
        return enough and matrix.dtype == np.float64 and self.source.has_coordinates

    def given(self, codes: sparse.csr_array) -> sparse.csr_array:
        """Codes over the atoms as given."""
        if self._multiples is not None:
            codes.data /= self._multiples[codes.indices].astype(codes.dtype)
        return codes

    @property
    def per_query(self) -> np.ndarray | float:
        """What an atom of the problem that is solved is, as a multiple of the query that is the same sample."""
        return 1.0 if self._multiples is None else 1.0 / self._multiples

    def _matrix(self) -> np.ndarray:
        """H without the ridge; the dictionary's Gram matrix itself if the two are equal."""
        quadratic, dictionary = self.form.quadratic, self.source
        if quadratic.gram == 1.0 and not quadratic.blocks:
            return dictionary.gram
        return quadratic.matrix(dictionary, prices=False)

    def warm_up(self, queries: Queries, total: int = 1) -> None:
        """Compile, in the calling thread, what is not compiled yet, by solving one query.

        All threads would wait for it anyway, and compiling in another thread takes a fifth longer.
        """
        from ancr.solvers.working_set import host_kernels

        kernel = host_kernels.solve_with_matrix if self.keeps_matrix else host_kernels.advance_without_matrix
        if not (kernel.overloads or self.starts_whole):
            self.run(queries, exact_linear=False)

    def solve_block(self, queries: Queries, history: bool = False) -> Solution:
        """Code a block of queries."""
        return self.run(queries, exact_linear=False).solution()

    def run(self, queries: Queries, exact_linear: bool = True) -> Run:
        """Solve a block of queries to the optimum.

        With ``exact_linear``, if H is kept, b is exact for all atoms, not only for those that matter.
        """
        exactly = self.starts_whole or self._products is None or (exact_linear and self.keeps_matrix)
        run = Run(self, queries, products=None if exactly or queries.terms is not None else self._in_single)
        run.to_the_end()
        return run

    def _in_single(self, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        assert self._products is not None
        products, scale, error = self._products(vectors)
        return products, scale, error / np.sqrt(self.weight)  # for an atom whose norm in H is one


class SingleProducts:
    """Products of all atoms with double-precision vectors, in single precision: half the cost, and a known error.

    A solver needs them to the last digit for the atoms that it uses, and recomputes those of others that are in doubt.

    Parameters
    ----------
    dictionary : BaseDictionary
        Atoms in double precision.
    """

    def __init__(self, dictionary: BaseDictionary) -> None:
        atoms, self._longest = dictionary.coordinates, dictionary.longest or 1.0
        self._atoms = np.empty(atoms.shape, np.float32)
        np.divide(atoms, self._longest, out=self._atoms, casting="same_kind")
        # Rounding error of the sum within a block of features and over all blocks.
        d = atoms.shape[1]
        self._error = (min(d, FEATURES_AT_ONCE) + d / FEATURES_AT_ONCE + 4) * 2.0**-24

    def __call__(self, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Products with unit vectors, the factors to multiply them by, and the error for an atom of unit norm."""
        units, lengths = _to_unit_length(vectors)
        # All numbers are finite; some builds of BLAS set the flag for vector lanes that they do not use.
        with np.errstate(invalid="ignore"):
            products = units[:, :FEATURES_AT_ONCE] @ self._atoms[:, :FEATURES_AT_ONCE].T
            for start in range(FEATURES_AT_ONCE, vectors.shape[1], FEATURES_AT_ONCE):
                block = slice(start, start + FEATURES_AT_ONCE)
                products += units[:, block] @ self._atoms[:, block].T
        return products, lengths * self._longest, lengths * self._error


def _to_unit_length(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows at unit length in single precision (zero rows stay zero) and their lengths, at any scale."""
    largest = np.abs(vectors).max(axis=1)
    scaled = vectors / np.where(largest > 0.0, largest, 1.0)[:, None]  # squares neither overflow nor vanish
    norms = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
    scaled /= np.maximum(norms, 1.0)[:, None]
    return scaled.astype(np.float32), largest * norms


class Run:
    """The solution of one block of queries, in progress.

    Parameters
    ----------
    solver : HostWorkingSet
        The solver.
    queries : Queries
        The queries, with their products.
    linear : ndarray of shape (n_queries, n_atoms) or None
        b of each query, if known; computed otherwise.
    products : callable or None
        Products with all atoms in single precision, used for b if H is kept and for pulls if not.
    squares : ndarray of shape (n_queries,) or None
        ‖y‖² of each query, if known; computed otherwise.
    """

    def __init__(
        self,
        solver: HostWorkingSet,
        queries: Queries,
        linear: np.ndarray | None = None,
        products: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]] | None = None,
        squares: np.ndarray | None = None,
    ) -> None:
        from ancr.solvers.working_set import host_kernels

        self._kernels, self._keeps_matrix, self._products = host_kernels, solver.keeps_matrix, products
        self._solver, self._given = solver, queries
        self.problem = solver.form
        asked = queries if queries.terms is None else solver.form.asked(queries)
        self.queries: Any = asked.seen_by(solver.source, solver.query_scale)  # from here on all is in standard form
        if squares is None:
            squares = self.queries.squared_distances_to_mean if solver.keeps_origin else self.queries.squares
        self._squares = squares.astype(float, copy=False)
        if solver.source.has_coordinates and self._squares.max(initial=0.0) > (_FAR * solver.longest) ** 2:
            self._draw_nearer()
        self._linear_is_given = linear is not None
        self._linear = None if linear is None else (linear, *_exact(len(queries)))
        self.squares = np.maximum(self._squares, solver.least)
        self.max_rounds = solver.max_rounds
        self.banned, self.rank_one = np.full(len(queries), -1), np.zeros(len(queries))
        # size, status, rounds, whether only active-set steps are left
        self.found = np.zeros((len(queries), 4))
        self.support, self.code = np.empty((len(queries), 0), np.int64), np.empty((len(queries), 0))
        # Rows, and their codes; as an array where all entries are in use.
        self._dense: list[tuple[np.ndarray, np.ndarray | sparse.csr_array]] = []

    @property
    def linear(self) -> np.ndarray:
        """b of each query, to be multiplied by ``_products_of_queries[1]``."""
        return self._products_of_queries[0]

    @property
    def _products_of_queries(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """b of each query, what to multiply it by, its error, and the queries if it is not exact; on first use."""
        if self._linear is None:
            quadratic, rows = self.problem.quadratic, len(self.queries)
            if self._products is not None and self._keeps_matrix:
                scaled = quadratic.target * self.queries.rows
                self._linear = (*self._products(scaled), scaled)
            else:
                self._linear = (quadratic.linear(self.queries), *_exact(rows))
        return self._linear

    @cached_property
    def program(self) -> Any:
        """The problem, read-only."""
        program = self._solver.program
        return type(program)(*(read_only(x) if isinstance(x, np.ndarray) else x for x in program))

    def _draw_nearer(self) -> None:
        """Bring queries that are very far away nearer, where the code does not change.

        On Σc = 1 the length of such a query no longer matters beside its direction.
        """
        if not (self._squares < _LARGEST_SQUARE).all():
            raise ValueError("queries must be at most 1e150 times as long as the atoms; rescale them")
        if self.problem.fixed_origin:
            raise ValueError("queries must be at most 1e8 times as long as the atoms with a relaxation; rescale them")
        if self.problem.constraint.sums_to_one and self._solver.longest:  # beside equal atoms only prices matter
            nearer = np.minimum(_FAR * self._solver.longest / np.sqrt(np.maximum(self._squares, 1e-300)), 1.0)
            self.queries, self._squares = self.queries.times(nearer), self._squares * nearer**2

    def to_the_end(self) -> None:
        """Solve each query, with more capacity for those that need it."""
        if (terms := self._given.terms) and terms.start is not None:
            self.begin_with(terms.start)
        todo, capacity, n = np.arange(len(self.queries)), FIRST_CAPACITY, self.problem.dictionary.n_atoms
        if self.problem.constraint.sums_to_one and not self._solver.longest:  # equal atoms differ by prices alone
            self.reserve(1)
            self.support[:, 0], self.code[:, 0] = self.linear.argmax(axis=1), 1.0
            self.found[:, :3], todo = (1.0, self._kernels.FINISHED, 1.0), todo[:0]
        if self._solver.starts_whole:
            todo = self._left_by_dense_codes(todo, whole=True)
        self.reserve(min(n, capacity))
        if n <= FEW_ATOMS and len(todo) >= MANY_QUERIES and self._keeps_matrix and self._is_plain:
            todo = find_codes(self.program, self.linear, self.squares, todo, self._found)
        while len(todo):
            self.reserve(min(n, capacity))
            (self.with_matrix if self._keeps_matrix else self.without_matrix)(todo)
            todo = todo[self.found[todo, 1] == self._kernels.NEEDS_CAPACITY]
            capacity *= 2
            if LARGEST_SUPPORT < capacity <= 2 * LARGEST_SUPPORT and len(todo):
                todo = self._left_by_dense_codes(todo, whole=False)

    def _left_by_dense_codes(self, todo: np.ndarray, whole: bool) -> np.ndarray:
        """Solve queries as dense codes, from the whole set or from their supports; return those left to the kernels."""
        dense = self._solver.dense
        if dense is None:
            return todo
        left = [todo[self.rank_one[todo] != 0.0]]
        todo = todo[self.rank_one[todo] == 0.0]
        return np.concatenate([*left, left_over(todo, lambda rows: self._solve_dense(dense, rows, whole), whole)])

    def _solve_dense(self, dense: DenseCodes, rows: np.ndarray, whole: bool) -> np.ndarray:
        """Solve some queries as dense codes; return which of them are solved."""
        linear, starts = self._exact_linear(rows), None
        if not whole:
            starts = np.zeros(linear.shape, bool)
            for i, q in enumerate(rows):
                starts[i, self.support[q, : int(self.found[q, 0])]] = True
        codes, excess, steps = dense(linear, self.banned[rows], starts)
        enough, in_doubt = self._allowance(linear, codes, self.squares[rows])
        solved = excess <= enough
        status = np.where(in_doubt, self._kernels.DOUBTFUL, self._kernels.FINISHED)
        self.found[rows[solved], 1:3] = np.column_stack([status, steps])[solved]
        if solved.any():
            codes = codes if solved.all() else codes[solved]
            self._dense.append((rows[solved], codes if codes.all() else sparse.csr_array(codes)))
        return solved

    def _exact_linear(self, rows: np.ndarray) -> np.ndarray:
        """b of some queries to the last digit of double precision, less the ℓ1 price."""
        if self._linear_is_given:
            linear = in_double(self.linear[rows])
        else:
            linear = self.problem.quadratic.linear(self.queries.take(rows).in_double)
        return linear - self._solver.shift if self._solver.shift else linear

    def _allowance(self, linear: np.ndarray, codes: np.ndarray, squares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The excess that dense codes may leave, as in the kernels, and whether rounding leaves a query in doubt."""
        norms, total = np.sqrt(self._solver.weight * self._solver.source.squares), codes.sum(axis=1)
        if not self.problem.constraint.sums_to_one:
            total = np.maximum(total, np.sqrt(squares) / shortest(self.problem.lengths**2))
        # A dense code has small entries: what atoms pay for them is a small part of a pull.
        paid = self._solver.form.quadratic.largest_price * codes.max(axis=1)
        terms = largest_of_rows(linear) + (codes @ norms) * norms.max() + paid
        unit, wanted = np.finfo(float).eps * terms, self._solver.tol * squares / np.where(total > 0.0, total, 1.0)
        return np.maximum(SHARE_OF_GAP * wanted, 32.0 * unit), roundings(self._solver.source) * unit > 0.25 * wanted

    @property
    def _is_plain(self) -> bool:
        return self.problem.constraint.nonnegative and not self.rank_one.any() and bool((self.banned < 0).all())

    def finished(self) -> np.ndarray:
        """Which queries reached the optimum."""
        return self.found[:, 1] == self._kernels.FINISHED

    def in_doubt(self) -> np.ndarray:
        """Which queries have reached what rounding allows, which may not be enough."""
        return self.found[:, 1] == self._kernels.DOUBTFUL

    def begin_with(self, codes: sparse.csr_array) -> None:
        """Start each query from the support of its row in ``codes``."""
        self.found[:, 0] = np.diff(codes.indptr)
        self.reserve(int(self.found[:, 0].max(initial=0)) + FIRST_CAPACITY // 2)
        used = np.arange(self.support.shape[1]) < self.found[:, :1]
        self.support[used], self.code[used] = codes.indices, codes.data

    def reserve(self, capacity: int) -> None:
        """Let supports grow to ``capacity`` atoms."""
        rows, known = self.support.shape
        if capacity > known:
            more = np.zeros((rows, capacity - known))
            self.support, self.code = np.hstack([self.support, more.astype(np.int64)]), np.hstack([self.code, more])

    def with_matrix(self, todo: np.ndarray) -> None:
        """Solve each query to the end, pricing through rows of H."""
        queries, work, found = self._queries(self._products_of_queries[3]), self._workspace(), self._found
        for some in pieces(todo):
            solve = partial(self._kernels.solve_with_matrix, self.program, work, queries, some, self.max_rounds, found)
            self._called(solve, len(some))

    def _called(self, kernel: Callable[[], None], queries: int) -> None:
        """Call a kernel, aside if it may take long: if so many queries fill their capacity."""
        flops = queries * float(self.support.shape[1]) ** 3
        kernel() if flops < LONG else aside(kernel, flops)

    def _queries(self, scaled: np.ndarray) -> Any:
        linear, scale, error, _ = self._products_of_queries
        return self._kernels.Queries(linear, scale, scaled, error, self.squares, self.banned, self.rank_one)

    @property
    def _found(self) -> Any:
        return self._kernels.Codes(self.support, self.code, self.found)

    def _workspace(self) -> Any:
        return self._kernels.make_workspace(self.support.shape[1], self.linear.shape[1])

    def without_matrix(self, todo: np.ndarray) -> None:
        """Price all unfinished queries by one matrix product per round, through the atoms."""
        self.found[todo, 2] = 0.0
        work, queries = self._workspace(), self._queries(self.problem.quadratic.target * self.queries.rows)
        pulls = self._kernels.Pulls(self.linear[todo], np.ones(len(todo)), np.zeros(len(todo)))
        while len(todo):
            for rows in pieces(np.arange(len(todo)), first=64):
                part = self._kernels.Pulls(*(values[rows[0] : rows[-1] + 1] for values in pulls))
                given = self.program, work, queries, part, todo[rows], self.max_rounds, self._found
                self._called(partial(self._kernels.advance_without_matrix, *given), len(rows))
            unfinished = self.found[todo, 1] == self._kernels.UNFINISHED
            todo = todo[unfinished & (self.found[todo, 2] < self.max_rounds)]
            if len(todo):
                pulls = self._kernels.Pulls(*self._pulls(todo))

    def _pulls(self, todo: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pulls under the current codes, the factors to multiply them by, and their error for an atom of unit norm."""
        quadratic, codes = self.problem.quadratic, self.codes(todo)
        queries = self.queries.take(todo)
        if self._products is not None:
            image = codes @ self.problem.dictionary.coordinates
            return self._products(quadratic.target * queries.rows - quadratic.gram * image)
        pull, error = quadratic.pull(queries, codes, prices=False), np.zeros(len(todo))
        if pull.dtype == np.float32 and not quadratic.blocks:
            # An upper bound on the rounding error of such products in single precision.
            error = 1e-4 * largest_of_rows(self.linear[todo]) / (self.program.largest_norm or 1.0)
        return pull, np.ones(len(todo)), error.astype(float)

    def codes(self, rows: np.ndarray | slice = slice(None)) -> sparse.csr_array:
        """Codes of some queries; on the simplex, normalised to sum to one."""
        if not self._dense:
            return self._from_supports(rows)
        found, parts = zip(*self._dense, strict=True)
        places = np.concatenate(found)
        left = np.setdiff1d(np.arange(len(self.queries)), places)
        codes = joined([*parts, self._from_supports(left)] if len(left) else parts)
        places = np.concatenate([places, left])
        codes = codes.astype(self._given.rows.dtype, copy=False)
        codes = codes if (np.diff(places) > 0).all() else codes[np.argsort(places)]
        return codes if isinstance(rows, slice) and rows == slice(None) else codes[rows]

    def _from_supports(self, rows: np.ndarray | slice) -> sparse.csr_array:
        size, code = self.found[rows, 0].astype(np.int64), self.code[rows]
        used = np.arange(code.shape[1]) < size[:, None]
        if self.problem.constraint.sums_to_one:
            code = code / np.where(used, code, 0.0).sum(axis=1, keepdims=True)
        indptr = np.concatenate([[0], np.cumsum(size)])
        values = code[used].astype(self._given.rows.dtype)
        shape = (len(size), self.problem.dictionary.n_atoms)
        return sparse.csr_array((values, self.support[rows][used], indptr), shape=shape)

    def solution(self) -> Solution:
        """The solution of a finished run; the certificate decides about queries that rounding leaves in doubt."""
        problem, rounds, converged = self._solver.problem, self.found[:, 2].astype(int), self.finished()
        codes = self._solver.given(self.codes())
        converged &= np.isfinite(row_sums(codes))  # they can be beyond the range of single precision
        solution = Solution(codes, rounds, converged, problem, self._given)
        if len(doubt := np.flatnonzero(~converged)):
            converged[doubt] = solution.rows(doubt).gap <= self._solver.tol
        if converged.all():
            return solution
        return about_queries(solution, np.flatnonzero(~converged), HostWorkingSet(self._solver.tol, gram_budget=0))


def _exact(rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What goes with a b that is known to the last digit: factors of one, no error, no queries to make it exact."""
    return np.ones(rows), np.zeros(rows), np.empty((rows, 0))
