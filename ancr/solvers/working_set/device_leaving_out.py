r"""The lock-step solver for queries that are atoms, each coded over all the others.

Query i must not use its own atom and, in a relaxed problem, sees H_i = H + τ_i·b_i b_iᵀ; `ancr.solvers.leave_one_out`
says why.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from ancr._core.arrays import Array, like, row_dots, take_rows, to_numpy
from ancr.certificate.solution import Solution
from ancr.dictionary.atoms import BaseDictionary
from ancr.dictionary.products import Queries
from ancr.solvers.working_set.batches import Answer, Batch, Prices
from ancr.solvers.working_set.device import DeviceWorkingSet
from ancr.solvers.working_set.gathering import gather
from ancr.solvers.working_set.host import Run

# The pull of an atom that must not be used: finite, since padding multiplies it by zero.
_BANNED = -1e30


class DeviceLeavingOut(DeviceWorkingSet):
    """`DeviceWorkingSet` over a `ProductsDictionary` whose queries are atoms, each coded without itself."""

    _own: np.ndarray
    _rank_one: Any

    def without_own(self, queries: Queries, own: np.ndarray, rank_one: Array) -> Solution:
        """Code queries, each without the atom ``own`` and with τ = ``rank_one``.

        Parameters
        ----------
        queries : Queries
            Of the `ancr.dictionary.derived.ProductsDictionary`.
        own : ndarray of int of shape (n_queries,)
            Position of each query among the atoms.
        rank_one : array of shape (n_queries,)
            τ of each query.
        """
        run = copy(self)
        run._own, run._rank_one, run._reach = own, rank_one, 0.0  # what τ adds to the objective is not followed
        return run.solve_block(queries)

    def _own_of(self, batch: Batch) -> Array:
        return like(self._own[batch.rows], batch.support)[:, None]

    def _rank_one_of(self, batch: Batch, dtype: Any) -> Array:
        xp = self._work.dictionary.xp
        return xp.astype(take_rows(self._rank_one, batch.rows), dtype, copy=False)

    def _pull(self, dictionary: BaseDictionary, batch: Batch) -> Array:
        xp, pull = dictionary.xp, super()._pull(dictionary, batch)
        if batch.count.any():
            near = gather(batch.linear, batch.support)
            level = self._rank_one_of(batch, near.dtype) * row_dots(near, batch.code)
            pull -= xp.astype(level[:, None] * batch.linear, pull.dtype, copy=False)
        columns = like(np.arange(dictionary.n_atoms), batch.support)
        return xp.where(columns[None, :] == self._own_of(batch), xp.full_like(pull, _BANNED), pull)

    def _admit(self, batch: Batch, prices: Prices) -> tuple[Batch, Array, Array]:
        batch, allowed, pull = super()._admit(batch, prices)
        return batch, allowed & (batch.support != self._own_of(batch)), pull

    def _blocks(self, batch: Batch) -> Array:
        near = gather(batch.linear, batch.support)
        rank_one = self._rank_one_of(batch, near.dtype)
        return super()._blocks(batch) + rank_one[:, None, None] * near[:, :, None] * near[:, None, :]

    def _in_doubt(self, batch: Batch) -> np.ndarray:
        return np.zeros(batch.size, bool)  # what rounding leaves is good enough to compare settings

    def _on_host(self, batch: Batch, queries: Queries) -> Answer:
        self.handed_over += batch.size
        there = queries.take(batch.rows).on_host(self._host.problem.dictionary)
        linear = np.ascontiguousarray(self._work.quadratic.target * there.cross)
        run = Run(self._host, there, linear, squares=there.squares)
        run.banned, run.rank_one = self._own[batch.rows], to_numpy(take_rows(self._rank_one, batch.rows))
        run.to_the_end()
        xp, double = self._work.dictionary.xp, like(run.codes().toarray(), queries.rows)
        codes, rounds = xp.astype(double, self._work.dictionary.dtype, copy=False), run.found[:, 2].astype(int)
        met = run.finished() | run.in_doubt()
        return Answer(batch.rows, codes, batch.rounds + rounds, met, np.zeros(batch.size, bool))
