r"""The optimum on the orthant and on the simplex for all queries in lock-step, on the device of the atoms.

The loop that `ancr.solvers.working_set.pricing` describes, in a form that suits an accelerator: each query has a
working set W of the same padded size m, and a round is the same few operations for all unfinished queries: pricing, in
which a code with few entries makes Hc a sum of a few rows of H; admission of the atoms that pull hardest; and the
exchange (`ancr.solvers.working_set.exchange`), which computes increments on the current code, so that every round is a
step of iterative refinement.

A round that does not lower the objective is replaced by the textbook active-set step. Queries that stall even then are
handed to `HostWorkingSet`. Queries that outgrow m wait for the next capacity, twice as large.

The small systems are always in double precision, and so are the pulls on a working set where H is kept. Pricing first
runs in the precision of the atoms; the last rounds, which yield the certificate, run in double precision, so they are
exact even if a library computes single-precision products in TF32.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np

from ancr._core.arrays import Array, device, like, namespace, row_dots, take_rows, to_numpy
from ancr._core.budgets import LARGEST_H_ON_DEVICE, working_bytes
from ancr.axes.problem import Problem
from ancr.certificate.solution import Solution
from ancr.certificate.tolerances import rounding_of
from ancr.dictionary.atoms import BaseDictionary
from ancr.dictionary.derived import on_host
from ancr.dictionary.products import Queries
from ancr.dictionary.terms import Terms
from ancr.solvers.contract import ExactSolver
from ancr.solvers.working_set.batches import Answer, Batch, Prices, join, reorder, with_harmless_padding
from ancr.solvers.working_set.exchange import exchange
from ancr.solvers.working_set.gathering import gather, largest, put
from ancr.solvers.working_set.host import HostWorkingSet, refuses
from ancr.solvers.working_set.thresholds import SHARE_OF_GAP, eta_of, followed_reach, roundings, shortest

# Sizes of working sets, a third of each for atoms that join in a round. Queries that outgrow the last go to the host.
CAPACITIES = (96, 192, 384, 768, 1536, 3072)
# Maximum number of rounds at one capacity and precision; a query that needs more has stalled.
MAX_ROUNDS = 60
# The last queries of a search, up to this share, go on with those that are to be confirmed: a round of a few queries
# takes as long to launch as one of thousands.
FEW = 0.1
# An atom joins if its excess is at least this share of the largest.
SHARE = 0.1


class DeviceWorkingSet(ExactSolver):
    """Lock-step working sets for the non-negative and simplex sets, on arrays of any library.

    Parameters
    ----------
    tol : float or None
        Relative gap a query must reach to count as converged; None means 1e-8, in float32 1e-6.
    matrix_budget : int
        Bytes that H, in double precision, may take.

    Attributes
    ----------
    rounds : int
        Pricing rounds, over all calls of `solve`.
    handed_over : int
        Queries that had to be solved on the host, over all calls of `solve`.
    """

    takes_prices = True

    def __init__(self, tol: float | None = None, matrix_budget: int = LARGEST_H_ON_DEVICE) -> None:
        super().__init__(tol)
        self.matrix_budget = matrix_budget

    def refuses(self, problem: Problem) -> str | None:
        """It supports arrays other than NumPy's and plain sets with inequalities, without an ℓ1 term."""
        if not problem.dictionary.is_non_numpy:
            return "it is for arrays of libraries other than NumPy"
        if problem.has_l1_term and (not problem.constraint.nonnegative or problem.quadratic.multiples is not None):
            return "it has an ℓ1 term on the non-negative set alone, the same for all atoms"
        return refuses(problem)

    def objection_to(self, terms: Terms | None) -> str | None:
        """Prices are part of b, which is kept only where H is."""
        priced = terms is not None and terms.prices is not None
        alone = priced and self._matrix is None
        return "prices on a device need H, which does not fit" if alone else super().objection_to(terms)

    def set_up(self) -> None:
        """Compute H and the lengths of the atoms in double precision."""
        super().set_up()
        # Everything but the solution is about the problem in standard form.
        self._form = self.problem.standard_form
        problem = self._work = self._form.problem
        dictionary, quadratic = problem.dictionary, problem.quadratic
        self.rounds = self.handed_over = 0
        self.sums_to_one = problem.constraint.sums_to_one
        self._double = dictionary.in_double
        diagonal = to_numpy(quadratic.diagonal(dictionary))
        self._longest, self._shortest = float(np.sqrt(diagonal.max())), shortest(diagonal)
        self._eta = eta_of(diagonal, self.sums_to_one)
        self._reach, self._floor = followed_reach(problem), rounding_of(self.problem).of_nearest
        self._half_absolute = quadratic.absolute / 2.0 if problem.has_l1_term else 0.0
        keeps_matrix = dictionary.n_atoms**2 * 8 <= self.matrix_budget or not dictionary.has_coordinates
        self._matrix = quadratic.matrix(self._double, prices=False) if keeps_matrix else None
        if keeps_matrix:  # by whether it is in single precision
            single = dictionary.xp.astype(self._matrix, dictionary.dtype) if dictionary.is_single else self._matrix
            self._matrices = {False: self._matrix, True: single}

    def solve_block(self, queries: Queries, history: bool = False) -> Solution:
        """Code a block of queries."""
        finished: list[Batch] = []
        stalled: list[Batch] = []
        moved = self._form.queries(queries)
        waiting = [self._begin(moved)]
        # Equal atoms without a ridge are told apart by prices alone: there is nothing to do in lock-step.
        for capacity in CAPACITIES if self._longest or not self.sums_to_one else ():
            outgrown: list[Batch] = []
            for batch in self._parts(waiting, capacity):
                self._run(batch, finished, outgrown, stalled)
            waiting = outgrown
        # Products with queries that are very far away overflow; the sequential solver brings those nearer.
        pairs = [self._by_sanity(batch) for batch in finished]
        answers = [self._answer(batch) for batch, _ in pairs if batch.size]
        stalled += [batch for _, batch in pairs if batch.size]
        if stalled or waiting:
            answers.append(self._on_host(join(stalled + waiting), moved))
        return self._solution(self._with_products(queries, moved), answers)

    # --- batches

    def _begin(self, queries: Queries) -> Batch:
        """A batch with no atoms in use yet."""
        needed, double = queries.rows, queries.in_double
        xp, n, where = namespace(needed), len(queries), device(needed)
        support, code = (xp.zeros((n, 1), dtype=dtype, device=where) for dtype in (xp.int64, xp.float64))
        linear, none = code[:, :0], np.zeros(n, np.int64)
        if self._matrix is not None:
            linear = self._less_absolute(self._work.quadratic.linear(double))
            needed = needed[:, :0]
        square = self._form.size(double)
        return Batch(CAPACITIES[0], np.arange(n), none, none, needed, linear, square, square, support, code)

    def _parts(self, batches: list[Batch], capacity: int) -> Iterator[Batch]:
        """Batches whose blocks of H, including scratch space, stay within `working_bytes`."""
        if not batches:
            return
        whole = replace(join(batches), capacity=capacity)
        most = max(1, working_bytes(whole.code) // (4 * 8 * capacity**2))
        for part in np.array_split(np.arange(whole.size), -(-whole.size // most)):
            yield whole.take(part)

    def _run(self, batch: Batch, finished: list[Batch], outgrown: list[Batch], stalled: list[Batch]) -> None:
        """Advance a batch until each of its queries is finished, needs more capacity, or stalls."""
        searching = self._work.dictionary.is_single
        # Search in the precision of the atoms, then confirm in double precision.
        for dictionary in (self._work.dictionary, self._double) if searching else (self._double,):
            ready: list[Batch] = []
            few = FEW * batch.size if dictionary.is_single else 0
            for _ in range(MAX_ROUNDS):
                batch = self._round(dictionary, batch, ready, outgrown, stalled)
                if batch.size <= few:
                    ready.extend([batch] if batch.size else [])
                    break
            else:
                stalled.append(batch)
            if not ready:
                return
            batch = join(ready)
        finished.append(batch)

    def _round(
        self,
        dictionary: BaseDictionary,
        batch: Batch,
        ready: list[Batch],
        outgrown: list[Batch],
        stalled: list[Batch],
    ) -> Batch:
        """Price, release finished queries, admit and exchange for the rest; return the queries that go on."""
        self.rounds += 1
        batch, prices = self._price(dictionary, batch)
        done = to_numpy(prices.excess <= prices.allowance)
        full = ~done & (batch.count > batch.capacity - batch.capacity // 3)
        for mask, home in ((done, ready), (full, outgrown)):
            if mask.any():
                home.append(batch.take(np.flatnonzero(mask)))
        goes_on = np.flatnonzero(~done & ~full)
        if len(goes_on) < batch.size:
            batch, prices = batch.take(goes_on), prices.take(like(goes_on, batch.code))
        if not batch.size:
            return batch
        batch, allowed, pull = self._admit(batch, prices)
        blocks = self._blocks(batch)
        if self._matrix is not None:
            pull = self._sharp_pull(blocks, batch)
        code, fell = exchange(blocks, batch, allowed, pull, self.sums_to_one)
        moved = to_numpy(fell)
        if not moved.all():
            batch, still = batch.split(moved)
            stalled.append(still)
            code = take_rows(code, np.flatnonzero(moved))
        return batch.with_code(code)

    # --- pricing

    def _price(self, dictionary: BaseDictionary, batch: Batch) -> tuple[Batch, Prices]:
        """Price all atoms; return the batch with the scale of its gaps, too."""
        xp, quadratic = dictionary.xp, self._work.quadratic
        used = batch.code > 0.0
        started = bool(batch.count.any())
        if self._matrix is None:
            pull = self._less_absolute(self._pull_from_features(dictionary, batch))
        else:
            pull = self._pull(dictionary, batch)
        own = xp.astype(gather(pull, batch.support), xp.float64) - quadratic.prices_of(batch.support) * batch.code
        if quadratic.ridge and started:
            pull = put(pull, *with_harmless_padding(used, batch.support, xp.astype(own, pull.dtype)))
        limit = xp.sum(batch.code * own, axis=1) if self.sums_to_one else xp.zeros_like(batch.code[:, 0])
        uneven = xp.max(xp.where(used, xp.abs(own - limit[:, None]), xp.zeros_like(own)), axis=1)
        excess = xp.maximum(xp.astype(xp.max(pull, axis=1), xp.float64) - limit, uneven)
        if self._reach and self._matrix is not None:
            batch = batch.scaled_by(own, self._reach, self._floor)
        allowance = self._allowance(dictionary, batch)
        if self.sums_to_one:  # where Σc = 1 does not hold yet, nothing is optimal
            begun = xp.any(used, axis=1)
            excess = xp.where(begun, excess, xp.full_like(excess, xp.inf))
            limit = xp.where(begun, limit, xp.full_like(limit, -xp.inf))
        return batch, Prices(pull, limit, excess, allowance)

    def _pull(self, dictionary: BaseDictionary, batch: Batch) -> Array:
        """b − Hc, without what atoms pay for c_j², from the rows of H that the codes use."""
        pull = dictionary.xp.astype(batch.linear, dictionary.dtype)
        if batch.count.any():
            pull -= batch.combined(self._matrices[dictionary.is_single])
        return pull

    def _less_absolute(self, pull: Array) -> Array:
        """Pulls less half the weight of Σc, which the ℓ1 term is on the orthant."""
        return pull - self._half_absolute if self._half_absolute else pull

    def _pull_from_features(self, dictionary: BaseDictionary, batch: Batch) -> Array:
        """The same through the features, without H."""
        quadratic = self._work.quadratic
        queries = Queries.of(dictionary, dictionary.xp.astype(batch.queries, dictionary.dtype, copy=False))
        if not batch.count.any():
            return quadratic.linear(queries)
        if quadratic.blocks:
            return quadratic.pull(queries, batch.dense(dictionary.n_atoms, dictionary.dtype), prices=False)
        image = batch.combined(dictionary.coordinates)
        return (quadratic.target * queries.rows - quadratic.gram * image) @ dictionary.coordinates.T

    def _allowance(self, dictionary: BaseDictionary, batch: Batch) -> Array:
        """Excess that may remain: a hundredth of what the gap tolerance allows, never below rounding."""
        wanted, unit = self._wanted(batch)
        rounding = float(dictionary.xp.finfo(dictionary.dtype).eps) * (32.0 * unit + 4.0 * self._eta)
        return dictionary.xp.maximum(SHARE_OF_GAP * wanted, rounding)

    def _in_doubt(self, batch: Batch) -> np.ndarray:
        """Queries for which rounding is so large that the certificate has to decide."""
        wanted, unit = self._wanted(batch)
        return to_numpy(roundings(self._double) * 2.2e-16 * unit > 0.25 * wanted)

    def _wanted(self, batch: Batch) -> tuple[Array, Array]:
        """The excess that the gap tolerance allows, and the size of the terms that a pull is made of.

        The gap is at most 2·excess·Σc, compared with its scale.
        """
        xp, square = namespace(batch.code), batch.square
        lengths = xp.reshape(xp.take(self._work.lengths, xp.reshape(batch.support, (-1,))), tuple(batch.support.shape))
        total = xp.sum(batch.code, axis=1)
        if not self._work.constraint.sums_to_one:  # short atoms can make the Σc of the optimum this large
            total = xp.maximum(total, xp.sqrt(square) / self._shortest)
        reachable = xp.sqrt(square) * self._longest
        some = total > 0.0
        wanted = xp.where(some, batch.scale / xp.where(some, total, xp.ones_like(total)), reachable)
        return self.tol * wanted, reachable + row_dots(batch.code, lengths) * self._longest

    # --- working sets

    def _admit(self, batch: Batch, prices: Prices) -> tuple[Batch, Array, Array]:
        """Admit the atoms that pull hardest; return the batch, the atoms allowed, and their pulls beyond the limit."""
        xp, most = namespace(batch.code), min(batch.capacity // 3, self._work.dictionary.n_atoms)
        pull, newcomers = largest(prices.pull, most)
        beyond = xp.astype(pull, xp.float64) - prices.limit[:, None]
        joins = beyond > xp.clip(SHARE * xp.max(beyond, axis=1, keepdims=True), 0.0, None)
        joins = joins | xp.isinf(prices.limit)[:, None]
        old = batch.resized(int(batch.count.max()))
        used = old.code > 0.0
        known = xp.any((newcomers[:, :, None] == old.support[:, None, :]) & used[:, None, :], axis=2)
        support = xp.concat([old.support, newcomers], axis=1)
        own = xp.astype(gather(prices.pull, support), xp.float64)
        limit = xp.where(xp.isinf(prices.limit), xp.zeros_like(prices.limit), prices.limit)
        batch = replace(old.resized(support.shape[1]), support=support)
        return batch, xp.concat([used, joins & ~known], axis=1), own - limit[:, None]

    def _blocks(self, batch: Batch) -> Array:
        """H + η on each working set, in double precision."""
        support = batch.support
        xp, quadratic, dictionary = namespace(support), self._work.quadratic, self._double
        size, capacity = support.shape
        if self._matrix is not None:
            pairs = support[:, :, None] * dictionary.n_atoms + support[:, None, :]
            flat = xp.take(xp.reshape(self._matrix, (-1,)), xp.reshape(pairs, (-1,)))
            blocks = xp.reshape(flat, (size, capacity, capacity))
        else:
            flat = xp.reshape(support, (-1,))
            atoms = xp.reshape(xp.take(dictionary.coordinates, flat, axis=0), (size, capacity, -1))
            blocks, weight = atoms @ xp.matrix_transpose(atoms), quadratic.gram
            if quadratic.blocks:
                labels = xp.reshape(xp.take(like(dictionary.labels, support), flat), (size, capacity))
                same = xp.astype(labels[:, :, None] == labels[:, None, :], blocks.dtype)
                weight = quadratic.gram + quadratic.blocks * same
            blocks = weight * blocks
        identity = xp.eye(capacity, dtype=blocks.dtype, device=device(blocks))
        prices = quadratic.prices_of(support)
        return blocks + (self._eta + (prices if isinstance(prices, float) else prices[:, :, None]) * identity)

    def _sharp_pull(self, blocks: Array, batch: Batch) -> Array:
        """The pulls on the working sets in double precision, so that a search in single ends at their exact minimum.

        η adds the same number to all pulls where Σc = 1; it goes with the limit.
        """
        pull = gather(batch.linear, batch.support) - (blocks @ batch.code[:, :, None])[:, :, 0]
        return pull - row_dots(batch.code, pull)[:, None] if self.sums_to_one else pull

    # --- answers

    def _by_sanity(self, batch: Batch) -> tuple[Batch, Batch]:
        """The queries of a batch whose codes are finite, and on the simplex not zero, and the others."""
        xp = namespace(batch.code)
        sums = xp.sum(batch.code, axis=1)
        sane = to_numpy(xp.isfinite(sums) & ((sums > 0.0) | (not self.sums_to_one)))
        return batch.split(sane)

    def _answer(self, batch: Batch) -> Answer:
        """Dense codes of finished queries; on the simplex, normalised to sum to one."""
        xp, code = namespace(batch.code), batch.code
        if self.sums_to_one:
            code = code / xp.sum(code, axis=1, keepdims=True)
        dictionary = self._work.dictionary
        codes = replace(batch, code=code).dense(dictionary.n_atoms, dictionary.dtype)
        return Answer(batch.rows, codes, batch.rounds, np.ones(batch.size, bool), self._in_doubt(batch))

    def _on_host(self, batch: Batch, queries: Queries) -> Answer:
        """Solve those of the queries that stalled by the sequential solver."""
        self.handed_over += batch.size
        solution = self._host.solve_block(queries.take(batch.rows).on_host(self._host.problem.dictionary))
        codes = like(solution.sorted_codes.toarray(), queries.rows)
        settled = np.zeros(batch.size, bool)  # the host has asked the certificate already
        return Answer(batch.rows, codes, batch.rounds + solution.n_iter, solution.converged, settled)

    @cached_property
    def _host(self) -> HostWorkingSet:
        return HostWorkingSet(self.tol).prepare(replace(self._work, dictionary=on_host(self._work.dictionary)))

    def _solution(self, queries: Queries, answers: list[Answer]) -> Solution:
        back = np.argsort(np.concatenate([answer.rows for answer in answers]))
        codes = reorder([(answer.rows, answer.codes) for answer in answers])
        n_iter = np.concatenate([answer.n_iter for answer in answers])[back]
        converged = np.concatenate([answer.converged for answer in answers])[back]
        outcome = codes, like(n_iter, queries.rows), like(converged, queries.rows)
        solution = Solution(*outcome, self.problem, queries)
        doubt = np.flatnonzero(np.concatenate([answer.doubt for answer in answers])[back])
        if not len(doubt):
            return solution
        converged[doubt] = to_numpy(solution.rows(doubt).gap <= self.tol)
        return replace(solution, converged=like(converged, queries.rows))

    def _with_products(self, queries: Queries, moved: Queries) -> Queries:
        """The queries given, knowing the inner products that all rounds have used: rules need them again."""
        if self._matrix is None or self._form.factor != 1.0:
            return queries
        cross = moved.cross_as_given(moved.in_double.cross, self._form.query_scale)
        return queries.knowing_cross(namespace(cross).astype(cross, self.problem.dictionary.dtype, copy=False))
