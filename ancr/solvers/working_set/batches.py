"""Unfinished queries of the lock-step solver, all with working sets of one padded size."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ancr._core.arrays import Array, concat, device, like, namespace, row_dots, to_numpy
from ancr.solvers.working_set.gathering import combine, gather, put

# The arrays of a batch that live on the device.
_ON_DEVICE = ("queries", "linear", "square", "scale", "support", "code")


@dataclass(frozen=True)
class Batch:
    """Unfinished queries: working sets with their codes, atoms in use first.

    Working sets may grow to ``capacity`` atoms. ``rows`` (positions among the queries), ``count`` (atoms in use) and
    ``rounds`` are NumPy arrays, the rest lives on the device. ``square`` is ‖y − centre‖², and ``scale`` what a gap is
    relative to: that or, where it is less and known, a hundred objectives. Where H is kept, ``linear`` is b, less half
    the ℓ1 price, in double precision, and ``queries`` has no columns; where it is not, the other way round. ``support``
    beyond the atoms in use is padding.
    """

    capacity: int
    rows: np.ndarray
    count: np.ndarray
    rounds: np.ndarray
    queries: Array
    linear: Array
    square: Array
    scale: Array
    support: Array
    code: Array

    @property
    def size(self) -> int:
        """Number of queries."""
        return len(self.rows)

    def take(self, which: np.ndarray) -> Batch:
        """Some of the queries."""
        if len(which) == self.size:
            return self
        xp, there = namespace(self.code), like(which, self.code)
        moved = (xp.take(getattr(self, name), there, axis=0) for name in _ON_DEVICE)
        return Batch(self.capacity, self.rows[which], self.count[which], self.rounds[which], *moved)

    def resized(self, width: int) -> Batch:
        """Working sets of another size, which the atoms in use must fit into."""
        xp, missing = namespace(self.code), width - self.code.shape[1]
        if missing <= 0:
            return replace(self, support=self.support[:, :width], code=self.code[:, :width])
        support, code = (
            xp.concat([array, xp.zeros((self.size, missing), dtype=array.dtype, device=device(array))], axis=1)
            for array in (self.support, self.code)
        )
        return replace(self, support=support, code=code)

    def with_code(self, code: Array) -> Batch:
        """The same working sets with new codes, packed so that the atoms in use come first."""
        xp = namespace(code)
        used = xp.astype(code > 0.0, xp.int64)
        order = xp.argsort(used, axis=1, descending=True)
        count = to_numpy(xp.sum(used, axis=1))
        return replace(
            self, support=gather(self.support, order), code=gather(code, order), count=count, rounds=self.rounds + 1
        )

    def scaled_by(self, pull: Array, reach: float, floor: float) -> Batch:
        """The same with the scales of gaps, from the pulls p of the atoms in use: f(c) = ‖y‖² − cᵀ(b + p).

        ``reach`` is what ‖y‖² adds to the objective, and ``floor`` the share of it that rounding hides.
        """
        xp = namespace(self.code)
        value = reach * self.square - row_dots(self.code, gather(self.linear, self.support) + pull)
        return replace(self, scale=xp.minimum(self.square, 100.0 * xp.maximum(value, floor * self.square)))

    def combined(self, rows: Array) -> Array:
        """Σ c_j · row j over the atoms in use, for each query, in the precision of the rows."""
        width = int(self.count.max())
        code = namespace(rows).astype(self.code[:, :width], rows.dtype, copy=False)
        return combine(rows, self.support[:, :width], code)

    def dense(self, n_atoms: int, dtype: object) -> Array:
        """Codes over all atoms."""
        xp = namespace(self.code)
        empty = xp.zeros((self.size, n_atoms), dtype=dtype, device=device(self.code))
        return put(empty, *with_harmless_padding(self.code > 0.0, self.support, xp.astype(self.code, dtype)))

    def split(self, mask: np.ndarray) -> tuple[Batch, Batch]:
        """The queries where a mask holds, and the others."""
        return self.take(np.flatnonzero(mask)), self.take(np.flatnonzero(~mask))


def join(batches: list[Batch]) -> Batch:
    """Join batches into one, as wide as the widest."""
    widest = max(batch.code.shape[1] for batch in batches)
    batches = [batch.resized(widest) for batch in batches]
    host = (np.concatenate([getattr(batch, name) for batch in batches]) for name in ("rows", "count", "rounds"))
    there = (concat([getattr(batch, name) for batch in batches]) for name in _ON_DEVICE)
    return Batch(batches[0].capacity, *host, *there)


@dataclass(frozen=True)
class Prices:
    """The result of pricing, for each query: pulls, the limit they may reach, the excess, and the allowed excess."""

    pull: Array
    limit: Array
    excess: Array
    allowance: Array

    def take(self, which: Array) -> Prices:
        """Those of some of the queries."""
        xp = namespace(self.pull)
        return Prices(*(xp.take(a, which, axis=0) for a in (self.pull, self.limit, self.excess, self.allowance)))


@dataclass(frozen=True)
class Answer:
    """Dense codes of some of the queries."""

    rows: np.ndarray
    codes: Array
    n_iter: np.ndarray
    converged: np.ndarray
    doubt: np.ndarray


def reorder(parts: list[tuple[np.ndarray, Array]]) -> Array:
    """Rows of several parts, back in their original order."""
    parts = [(rows, array) for rows, array in parts if len(rows)]
    rows, joined = np.concatenate([rows for rows, _ in parts]), concat([array for _, array in parts])
    if np.all(rows[1:] > rows[:-1]):
        return joined
    return namespace(joined).take(joined, like(np.argsort(rows), joined), axis=0)


def with_harmless_padding(used: Array, support: Array, values: Array) -> tuple[Array, Array]:
    """Columns and entries to write; padding repeats the first entry."""
    xp = namespace(values)
    return xp.where(used, support, support[:, :1]), xp.where(used, values, values[:, :1])
