r"""Atoms in files, too many for one machine: the work done next to each file, and the work done for each query.

The exact solver needs all atoms only to *price* them: one product of the query's residual with each atom. So a
dictionary can stay where it is stored:

1. next to a file, `price` streams its atoms in chunks and returns, for each query, the atoms that pull hardest among
   those that the query does not hold yet, with their pulls and vectors;
2. for each query, a `ShardedQuery` holds the atoms received so far and solves the small problem over them.

`ancr.solvers.working_set.pricing` describes the loop of the two. A query is finished when the certificate, which needs
the hardest pull over *all* atoms, is within tolerance. Nothing here depends on Dask.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import hypot, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ancr.axes.quadratics import Quadratic
from ancr.axes.sets import Set
from ancr.axes.spaces import Space
from ancr.certificate.bounds import bound_with_atoms_elsewhere
from ancr.dictionary.coordinates import Dictionary
from ancr.dictionary.products import Queries
from ancr.solvers.working_set.pricing import Candidates
from ancr.solvers.working_set.thresholds import SHARE_OF_GAP

# Atoms priced together: with 256 float32 features a chunk takes a few MB, and so do its products with 500 queries.
CHUNK_ROWS = 4096


@dataclass(frozen=True)
class Shard:
    """A file of atoms and one of labels, read in place.

    Attributes
    ----------
    path : str
        ``.npy`` (memory-mapped), ``.zarr`` or ``.parquet``; rows are samples.
    labels : str or ndarray
        ``.npy`` file of labels or the labels themselves; for parquet, the name of their column.
    space : Space
        Where rows live, prepared: its power, lift and unit norm are applied as they are read.
    origin : ndarray or None
        A point that is subtracted from rows as they are read.
    device : str or None
        The PyTorch device on which pulls are computed, such as ``"cuda"``; None computes them with NumPy.
    """

    path: str
    labels: str | np.ndarray
    space: Space
    origin: np.ndarray | None = None
    device: str | None = None

    def products(self, residuals: np.ndarray, atoms: np.ndarray) -> np.ndarray:
        """Inner products of residuals and atoms, as rows, in the precision of the atoms.

        On a device they are computed in double precision: a bound on their rounding is part of the certificate, and a
        user may have let the library multiply numbers in single precision with fewer digits (TF32).
        """
        residuals = residuals.astype(atoms.dtype)
        if self.device is None:
            return residuals @ atoms.T
        import torch

        left, right = (torch.as_tensor(rows, device=self.device).double() for rows in (residuals, atoms))
        return (left @ right.T).cpu().numpy().astype(atoms.dtype, copy=False)

    def chunks(self) -> Iterator[tuple[int, np.ndarray]]:
        """Consecutive blocks of rows of the dictionary, each with the position of its first row."""
        for start, samples in self._samples():
            rows = self.space.rows(samples)
            # In double precision: atoms must be moved by exactly what queries are moved by.
            yield start, rows if self.origin is None else rows - self.origin

    def _samples(self) -> Iterator[tuple[int, np.ndarray]]:
        """Consecutive blocks of samples as the file has them, float32 or float64."""
        start = 0
        for rows in _READERS[_suffix(self.path)](self):
            if rows.dtype.kind not in "biuf":
                raise ValueError(f"{self.path} must hold numbers, got {rows.dtype}")
            rows = np.ascontiguousarray(rows, np.float32 if rows.dtype == np.float32 else np.float64)
            if not np.isfinite(rows).all():
                raise ValueError(f"{self.path} contains NaN or infinity, in rows {start} to {start + len(rows)}")
            yield start, rows
            start += len(rows)

    def lengths(self) -> tuple[int, float]:
        """Number of samples, and their root mean square length, which a lift depends on."""
        n_rows, root = 0, 0.0
        for start, samples in self._samples():
            root = joint_length([(n_rows, root), (len(samples), self.space.length_of(samples))])
            n_rows = start + len(samples)
        return n_rows, root

    def read_labels(self) -> np.ndarray:
        """Labels of all rows."""
        if _suffix(self.path) == ".parquet":
            from pyarrow import parquet

            if self.labels not in (names := parquet.read_schema(self.path).names):
                raise ValueError(f"labels must name a column of {self.path}, got {self.labels!r}; it has {names}")
            return parquet.read_table(self.path, columns=[self.labels])[self.labels].to_numpy()
        return np.load(self.labels) if isinstance(self.labels, str) else np.asarray(self.labels)

    def describe(self) -> "Description":
        """Read everything once and return shape, classes and the longest atom; errors name the file."""
        labels = self.read_labels()
        n_rows, longest, n_features, total = 0, 0.0, 0, np.zeros(1)
        for start, rows in self.chunks():
            total = total + rows.sum(axis=0, dtype=float)
            lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=float))
            n_rows, longest = start + len(rows), max(longest, float(lengths.max(initial=0.0)))
            n_features = rows.shape[1] - bool(self.space.lift)
        if not n_rows:
            raise ValueError(f"{self.path} holds no rows")
        if labels.shape != (n_rows,):
            raise ValueError(f"labels of {self.path} must be one per row, {n_rows} in all, got {labels.shape}")
        return Description(n_rows, n_features, longest, np.unique(labels), total)


def joint_length(parts: Sequence[tuple[int, float]]) -> float:
    """The root mean square length of samples that come in parts, from the number and length of each.

    Examples
    --------
    >>> from ancr.distributed.shards import joint_length
    >>> round(joint_length([(2, 3.0), (2, 4.0)]) ** 2, 6)
    12.5
    """
    total = sum(number for number, _ in parts)
    return hypot(*(length * sqrt(number / total) for number, length in parts)) if total else 0.0


@dataclass(frozen=True)
class Description:
    """What the client needs to know about a shard."""

    n_rows: int
    n_features: int
    longest: float
    classes: np.ndarray
    total: np.ndarray


def _suffix(path: str) -> str:
    suffix = Path(path).suffix
    if suffix not in _READERS:
        raise ValueError(f"shards must be files that end in {sorted(_READERS)}, got {path!r}")
    return suffix


def _slices(array: Any) -> Iterator[np.ndarray]:
    if array.ndim != 2:
        raise ValueError(f"a shard must hold rows of atoms, got an array of shape {array.shape}")
    for start in range(0, array.shape[0], CHUNK_ROWS):
        yield np.asarray(array[start : start + CHUNK_ROWS])


def _read_npy(shard: Shard) -> Iterator[np.ndarray]:
    return _slices(np.load(shard.path, mmap_mode="r"))


def _read_zarr(shard: Shard) -> Iterator[np.ndarray]:
    import zarr

    return _slices(zarr.open_array(str(shard.path), mode="r"))


def _read_parquet(shard: Shard) -> Iterator[np.ndarray]:
    from pyarrow import parquet

    file = parquet.ParquetFile(shard.path)
    columns = [name for name in file.schema_arrow.names if name != shard.labels]
    for batch in file.iter_batches(CHUNK_ROWS, columns=columns):
        yield np.column_stack([column.to_numpy(zero_copy_only=False) for column in batch.columns])


_READERS: dict[str, Callable[[Shard], Iterator[np.ndarray]]] = {
    ".npy": _read_npy,
    ".zarr": _read_zarr,
    ".parquet": _read_parquet,
}


@dataclass(frozen=True)
class Question:
    """What a shard needs to know about a block of queries to price its atoms.

    Attributes
    ----------
    residuals : ndarray of shape (n_queries, n_features)
        Residual of each query, weighted as in the quadratic: the pull of an atom x outside the code is x·residual.
    levels : ndarray of shape (n_queries,)
        Only pulls above this level are returned; −∞ asks for the hardest pulls in any case.
    known : list of ndarray
        Rows of this shard that each query already holds.
    """

    residuals: np.ndarray
    levels: np.ndarray
    known: list[np.ndarray]


@dataclass
class ShardAnswer:
    """A shard's answer for one query: its hardest pulls above the level, largest first.

    ``surplus`` is Σ (pull − level)² over all atoms above the level, infinite if some were left out.
    """

    rows: np.ndarray
    pulls: np.ndarray
    vectors: np.ndarray
    labels: np.ndarray = field(default_factory=lambda: np.empty(0))
    surplus: float = 0.0

    @property
    def hardest(self) -> float:
        """The hardest pull among atoms that the query does not hold; −∞ if none is above the level."""
        return self.pulls[0] if len(self.pulls) else -np.inf

    def take(self, rows: np.ndarray, pulls: np.ndarray, vectors: np.ndarray, level: float, most: int) -> None:
        """Add more atoms above the level, and keep the ``most`` hardest pulls."""
        above = pulls > level
        pulls = np.concatenate([self.pulls, pulls[above]])
        order = np.argsort(-pulls, kind="stable")[:most]
        self.surplus += np.inf if len(pulls) > len(order) else ((pulls[len(self.pulls) :] - level) ** 2).sum()
        self.rows = np.concatenate([self.rows, rows[above]])[order]
        self.vectors = np.concatenate([self.vectors, vectors[above]])[order]
        self.pulls = pulls[order]


def price(shard: Shard, longest: float, question: Question, most: int = 32) -> list[ShardAnswer]:
    """The hardest pulls of a shard's atoms, one `ShardAnswer` per query.

    Products are computed in the precision of the file. Pulls within rounding error of a level are recomputed in double
    precision, so if a shard returns no atom, it has none above the level, even in single precision.
    """
    residuals, floor = question.residuals, question.levels.copy()
    n_queries, n_features = residuals.shape
    nothing = np.empty((0, n_features), np.float32)
    answers = [ShardAnswer(np.empty(0, np.int64), np.empty(0), nothing) for _ in range(n_queries)]
    query_of, row_of = _flatten(question.known)
    for start, atoms in shard.chunks():
        # |fl(x·r) − x·r| ≤ (d + 2)·ε·‖x‖‖r‖, counting r's own rounding.
        error = (n_features + 2) * np.finfo(atoms.dtype).eps * longest * np.linalg.norm(residuals, axis=1)
        pulls = shard.products(residuals, atoms)
        here = slice(*np.searchsorted(row_of, [start, start + len(atoms)]))
        pulls[query_of[here], row_of[here] - start] = -np.inf
        _raise_floor(floor, pulls, error, most)
        for q in np.flatnonzero((pulls > (floor - error)[:, None]).any(axis=1)):
            near = np.flatnonzero(pulls[q] > floor[q] - error[q])
            vectors = atoms[near]
            pull = vectors.astype(np.float64) @ residuals[q]
            answers[q].take(near + start, pull, vectors, question.levels[q], most)
            if floor[q] > question.levels[q]:
                answers[q].surplus = np.inf
            if len(answers[q].pulls) == most:
                floor[q] = max(floor[q], answers[q].pulls[-1])
    labels = shard.read_labels()
    for answer in answers:
        answer.labels = labels[answer.rows]
    return answers


def _raise_floor(floor: np.ndarray, pulls: np.ndarray, error: np.ndarray, most: int) -> None:
    """If more atoms than can be kept lie above a query's floor, raise the floor to the smallest pull kept."""
    crowded = np.flatnonzero((pulls > floor[:, None]).sum(axis=1) > most)
    if len(crowded):
        least = np.partition(pulls[crowded], -most, axis=1)[:, -most]
        floor[crowded] = np.maximum(floor[crowded], least - error[crowded])


def _flatten(known: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Pairs (query, row), sorted by row."""
    query = np.repeat(np.arange(len(known)), [len(rows) for rows in known])
    row = np.concatenate([*known, np.empty(0, np.int64)])
    order = np.argsort(row, kind="stable")
    return query[order], row[order]


class ShardedQuery(Candidates):
    """One query with the atoms that shards have sent, and the optimum over them.

    Parameters
    ----------
    query : ndarray of shape (n_features,)
        The query, in double precision.
    classes : ndarray
        All classes of the sharded dictionary.
    quadratic : Quadratic
        Without class blocks.
    constraint : Set
        The simplex, or with a ridge the non-negative set.
    tol : float
        Relative gap to reach over all atoms.
    """

    def __init__(
        self, query: np.ndarray, classes: np.ndarray, quadratic: Quadratic, constraint: Set, tol: float
    ) -> None:
        # Solving to a hundredth of the tolerance leaves the rest of it for the atoms outside.
        super().__init__(query, quadratic, constraint, SHARE_OF_GAP * tol)
        self.classes, self.tol = classes, tol
        self.shard, self.row, self.labels = np.empty(0, np.int64), np.empty(0, np.int64), classes[:0]
        self.vectors, self.residual = np.empty((0, len(query)), np.float32), quadratic.target * query
        self.gap, self.rounds = np.inf, 0

    @property
    def certified(self) -> bool:
        """Whether no atom of any shard can lower the objective by more than the tolerance."""
        return self.gap <= self.tol

    def update(self, answers: Sequence[ShardAnswer]) -> None:
        """Bound the gap of the current code by one answer per shard; if it is too large, solve over more atoms."""
        if self.rounds:
            outside = max(answer.hardest for answer in answers), sum(answer.surplus for answer in answers)
            self.gap = bound_with_atoms_elsewhere(self._problem, self.code, self.pull, *outside) / self._scale
        self.rounds += 1
        self.is_open = not self.certified and any(len(answer.rows) for answer in answers)
        if self.is_open:
            self._admit(answers)
            self._solve()

    def _admit(self, answers: Sequence[ShardAnswer]) -> None:
        shards = [np.full(len(answer.rows), number) for number, answer in enumerate(answers)]
        self.shard = np.concatenate([self.shard, *shards])
        self.row = np.concatenate([self.row, *(answer.rows for answer in answers)])
        self.vectors = np.concatenate([self.vectors, *(answer.vectors for answer in answers)])
        self.labels = np.concatenate([self.labels, *(answer.labels.astype(self.classes.dtype) for answer in answers)])

    def _solve(self) -> None:
        self._problem = self.optimise(self._dictionary(slice(None)))
        dictionary = self._problem.dictionary
        query, code = Queries.of(dictionary, self.query[None]), self.code[dictionary.order][None]
        self.residual = self.quadratic.target * self.query - self.quadratic.gram * (self.code @ self.vectors)
        self.objective = self._problem.objective(query, code)[0]
        self._scale = self._problem.scale(query, code)[0] or 1.0

    def per_class(self, rule: Callable[..., np.ndarray]) -> np.ndarray:
        """Values of a rule, one per class. Atoms with zero weight do not affect them."""
        used = np.flatnonzero(self.code)
        used = used if len(used) else np.arange(1)  # a code of zeros still has residuals
        dictionary = self._dictionary(used)
        weights = self.code[used][dictionary.order]
        return rule(Queries.of(dictionary, self.query[None]), sparse.csr_array(weights[None]))[0]

    def _dictionary(self, chosen: slice | np.ndarray) -> Dictionary:
        """Some of the atoms held. Always in double precision: the certificate is, and these problems are small."""
        atoms = self.vectors[chosen].astype(np.float64)
        return Dictionary.build(atoms, self.labels[chosen], normalize=False, classes=self.classes)
