"""Problems of the campaign in coordinates: of a kernel, without atoms that are left out, with what queries pay.

A kernel is computed by its formula in long double, and the rows of a pivoted Cholesky factor of the inner products of
all atoms and queries are their coordinates.
"""

from dataclasses import dataclass

import numpy as np

from ancr import Locality
from ancr._core.arrays import to_numpy
from ancr.axes.sets import CappedSimplex, named_set
from ancr.axes.spaces import named_space
from tests.campaign.reference import REAL, LeastSquares, Reference, RelaxedLeastSquares


@dataclass(frozen=True)
class WrittenOut:
    """A problem in coordinates.

    Attributes
    ----------
    atoms, queries : ndarray
        As the solver sees them; in a kernel coordinates in long double.
    settings : dict
        Arguments of `ancr.solve`, with weights of atoms as ``sample_weight``.
    dtype : dtype
        The precision given.
    has_coordinates : bool
        Whether the solver has them, too.
    is_given_rounded : bool
        Whether inner products were given, each rounded.
    """

    atoms: np.ndarray
    queries: np.ndarray
    settings: dict
    dtype: np.dtype
    has_coordinates: bool = True
    is_given_rounded: bool = False

    @classmethod
    def of(cls, problem, library):
        """The problem as the solver sees it, its rows rounded as those of the solver are."""
        settings, dtype = dict(problem.settings), problem.atoms.dtype
        if problem.sample_weight is not None:
            settings["sample_weight"] = problem.sample_weight
        if problem.samples is not None:
            return cls(*problem.samples, settings, dtype, False, True)
        scale = np.sqrt(settings.get("feature_weight", np.ones(problem.atoms.shape[1]))).astype(dtype)
        atoms, queries = (library(rows * scale) for rows in (problem.atoms, problem.queries))
        space = named_space(settings["space"], normalize=False).prepare(atoms)
        atoms, queries = (to_numpy(space.rows(rows)) for rows in (atoms, queries))
        if space.is_linear:
            return cls(atoms, queries, settings, dtype)
        # Equal samples have equal coordinates: apart by a rounding, they would span a direction of their own.
        distinct, places = np.unique(np.vstack([atoms, queries]), axis=0, return_inverse=True)
        rows = coordinates(_kernel(space, distinct.astype(REAL)))[places.reshape(-1)]
        return cls(rows[: len(atoms)], rows[len(atoms) :], settings, dtype, False)

    def usable(self, row):
        """The atoms that a query may use."""
        mask = self.settings.get("exclude")
        return np.arange(len(self.atoms)) if mask is None else np.flatnonzero(~mask[row])

    def reference(self, row, relaxed):
        """The problem of one query over the atoms that it may use."""
        kept = self.usable(row)
        settings = self.settings | {"classes": np.unique(self.settings.get("labels", [0]))}
        settings |= {name: settings[name][kept] for name in ("labels", "sample_weight") if name in settings}
        prices = self._prices(row, kept)
        if prices is not None:
            settings["paid"] = prices - prices.min() if self._sums_to_one else prices
        kind = CappedLeastSquares if isinstance(settings["constraint"], CappedSimplex) else LeastSquares
        return (RelaxedLeastSquares if relaxed else kind)(self.atoms[kept], settings, self.dtype)

    @property
    def _sums_to_one(self):
        return named_set(self.settings["constraint"]).sums_to_one

    def _prices(self, row, kept):
        prices = self.settings.get("prices")
        if isinstance(prices, Locality):
            atoms, query = self.atoms[kept].astype(REAL), self.queries[row].astype(REAL)
            # Where a constant does not matter, beyond the first atom: (x − x₀)ᵀ(x + x₀ − 2y). Of a query far away even
            # long double would leave nothing of the difference of two squares.
            far = (atoms - atoms[0]) * (atoms + atoms[0] - 2 * query) if self._sums_to_one else (atoms - query) ** 2
            return REAL(prices.weight) * np.sum(far, axis=1)
        return None if prices is None else prices[row][kept].astype(REAL)


def _kernel(space, rows):
    """k of all rows with each other in long double."""
    if space.kernel == "poly":
        return (REAL(space.gamma_) * (rows @ rows.T) + REAL(space.coef0)) ** space.degree
    apart = np.sum((rows[:, None, :] - rows[None, :, :]) ** 2, axis=2)
    return np.exp(-REAL(space.gamma_) * apart)


def coordinates(gram):
    """Rows whose inner products are a positive semi-definite matrix: its Cholesky factor with pivots, at unit length.

    Queries may be far longer than atoms, which must not be lost beside them.
    """
    lengths = np.sqrt(np.diag(gram))
    gram = gram / np.maximum(np.multiply.outer(lengths, lengths), np.finfo(REAL).tiny)
    left, columns, order = np.array(np.diag(gram)), [], []
    floor = 16 * len(gram) * np.finfo(REAL).eps
    while left.max(initial=0) > floor and len(columns) < len(gram):
        pivot = int(left.argmax())
        known = sum((column * column[pivot] for column in columns), np.zeros(len(gram), REAL))
        column = (gram[:, pivot] - known) / np.sqrt(left[pivot])
        column[order] = 0
        column[pivot] = np.sqrt(left[pivot])
        columns.append(column)
        order.append(pivot)
        left = left - column**2
        left[order] = 0
    return lengths[:, None] * np.stack(columns, axis=1) if columns else np.zeros((len(gram), 1), REAL)


class CappedLeastSquares(LeastSquares):
    """The same on 0 ≤ c ≤ cap, Σc = 1, by Frank and Wolfe's method with away steps from the code given.

    It need not reach the optimum: its bound says how far it came.
    """

    def repaired(self, code):
        """The code moved into the set, over its own atoms, and how far outside it was."""
        inside = self.set.project(np.where(code > 0, code, -2)[None])[0]
        return inside / inside.sum(), np.max(np.abs(inside - code), initial=0) / max(1, np.sum(np.abs(code)))

    def solve(self, query, start):
        """The best code found, and its bound."""
        target = self.target(query)
        code = self.repaired(np.where(np.isfinite(start), start, 0).astype(REAL))[0]
        for _ in range(300):
            pull = self.columns.T @ (target - self.columns @ code) - self.paid / 2
            best, worst = self._exchanged(code, pull)
            if best is None or not pull[best] > pull[worst]:
                break
            direction = self.columns[:, best] - self.columns[:, worst]
            step = (pull[best] - pull[worst]) / max(direction @ direction, np.finfo(REAL).tiny)
            step = min(step, code[worst], self.set.highest - code[best])
            code[best], code[worst] = code[best] + step, code[worst] - step
        pull = self.columns.T @ (target - self.columns @ code) - self.paid / 2
        gap = 2 * (self.set.support(pull[None])[0] - pull @ code)
        return Reference(self.objective(target, code), max(gap, 0), np.inf)

    def _exchanged(self, code, pull):
        """The atom that pulls hardest below the cap, and that in use that pulls least."""
        below, used = code < self.set.highest, code > 0
        if not below.any() or not used.any():
            return None, None
        return int(np.where(below, pull, -np.inf).argmax()), int(np.where(used, pull, np.inf).argmin())
