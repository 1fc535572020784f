"""The optimum on a simplex with a cap, 0 ≤ c ≤ u and Σc = 1.

A query whose code on the plain simplex keeps to the cap has it here, too. The others start from the nearest code of
the set and descend. With p = b − Hc the pull of each atom, c is optimal if some level θ has p_j = θ for atoms between
their bounds, p_j ≤ θ for those at zero and p_j ≥ θ for those at the cap. A round takes the atoms between their bounds
and all that contradict this, goes to the best code over them whatever the bounds, and projects it on the set.

A round that does not lower the objective is undone and replaced by a textbook active-set step: the two atoms that
contradict the most join, and the way to the best code ends at the first bound that it meets, where that atom leaves.
After some rounds all are of that kind, so that the method is finite. The certificate takes no part in it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from ancr._core.arrays import dense, to_numpy
from ancr._core.psd import about_mean, definite_on_plane
from ancr.axes.problem import Problem
from ancr.axes.sets import SETS
from ancr.certificate.solution import Solution
from ancr.certificate.tolerances import Tolerances
from ancr.dictionary.derived import on_host
from ancr.dictionary.products import Queries
from ancr.solvers.contract import ExactSolver, stop_if_asked
from ancr.solvers.working_set.first_answers import FirstAnswers
from ancr.solvers.working_set.host import HostWorkingSet, refuses
from ancr.solvers.working_set.layout import max_rounds

_EPS = float(np.finfo(float).eps)
# Rounds after which all are textbook steps.
_BLOCK_ROUNDS = 40
# The share of the cap within which an entry is at a bound: a projection leaves some a rounding away from it.
_AT_BOUND = 1e-13
# Marks an atom that stays at its bound in a projection, and the most that any other entry counts there.
_AWAY, _FAR = 1e6, 1e5


class Capped(ExactSolver):
    """Exact codes on a simplex with a cap, in double precision on the host.

    Parameters
    ----------
    tol : float or None
        Relative gap a query must reach to count as converged; None means 1e-8, in float32 1e-6.

    Examples
    --------
    >>> from ancr import CappedSimplex, solve
    >>> solution = solve([[0.0], [1.0], [3.0]], [[0.2]], alpha=1e-3, constraint=CappedSimplex(0.5))
    >>> solution.toarray().round(3), solution.verify()
    (array([[0.5, 0.5, 0. ]]), array([ True]))
    """

    block_rows = HostWorkingSet.block_rows
    takes_prices = leaves_out = True

    def refuses(self, problem: Problem) -> str | None:
        """It supports simplices with a cap, without an ℓ1 term."""
        if problem.constraint.highest == float("inf"):
            return refuses(problem) or "it is for a simplex with a cap"
        return "with a cap it has no ℓ1 term of different prices" if problem.has_l1_term else None

    def set_up(self) -> None:
        """Prepare the problem on the plain simplex."""
        super().set_up()
        double = self.problem.dictionary.in_double
        self._here = on_host(double) if double.is_non_numpy else double
        given = replace(self.problem, dictionary=self._here)
        tol = min(self.tol, Tolerances.of(self._here).gap)
        self._form = given.standard_form
        self._plain = FirstAnswers(tol).prepare(replace(given, constraint=SETS["simplex"]))

    def warm_up(self, queries: Queries, total: int = 1) -> None:
        """As on the plain simplex."""
        self._plain.warm_up(self._on_host(queries), total)

    def _on_host(self, queries: Queries) -> Queries:
        double = self.problem.asked(queries.in_double)
        return double.on_host(self._here) if double.dictionary.is_non_numpy else double.seen_by(self._here)

    def solve_block(self, queries: Queries, history: bool = False) -> Solution:
        """Code a block of queries."""
        here = self._on_host(queries)
        plain = self._plain.solve_block(here)
        codes, n_iter, converged = to_numpy(dense(plain.sorted_codes)), plain.n_iter, plain.converged
        above = np.flatnonzero(codes.max(axis=1) > self.problem.constraint.highest)
        if len(above):
            descent = _Descent(self._form.problem, self._form.queries(here.take(above)), self._plain.keeps_matrix)
            codes[above], rounds = descent.from_codes(codes[above])
            n_iter[above] += rounds
        here.release()
        dictionary = self.problem.dictionary
        own = dictionary.xp.astype(dictionary.like(codes), dictionary.dtype, copy=False)
        own = own if dictionary.is_non_numpy else sparse.csr_array(own)
        solution = Solution(own, dictionary.like(n_iter), dictionary.like(converged), self.problem, queries)
        if len(above):
            converged[above] = to_numpy(solution.rows(above).gap <= self.tol)
        return replace(solution, converged=dictionary.like(converged))


class _Descent:
    """Rounds for a block of queries in standard form.

    Parameters
    ----------
    problem : Problem
        In standard form, on the host.
    queries : Queries
        The queries.
    keeps_matrix : bool
        Whether the Gram matrix of all atoms may be held.
    """

    def __init__(self, problem: Problem, queries: Queries, keeps_matrix: bool) -> None:
        self._problem, self._queries, self._keeps_matrix = problem, queries, keeps_matrix
        self._cap, shape = problem.constraint.highest, (len(queries), problem.dictionary.n_atoms)
        self._low, self._high = self._cap * _AT_BOUND, self._cap * (1.0 - _AT_BOUND)
        self._barred = np.zeros(shape, bool) if queries.excluded is None else queries.excluded
        # What rounding does to pulls, at least.
        size = np.sqrt(queries.squares) + problem.lengths.max()
        self._noise = _EPS * size[:, None] * problem.lengths

    def from_codes(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The optimal codes, and the number of rounds for each."""
        codes = self._problem.constraint.project(np.where(self._barred, -_AWAY, codes))
        pulls, rounds = self._pull(np.arange(len(codes)), codes), np.zeros(len(codes), int)
        careful, todo = np.zeros(len(codes), bool), np.arange(len(codes))
        for number in range(max_rounds(self._problem)):
            stop_if_asked()
            careful[todo] |= number >= _BLOCK_ROUNDS
            step = [self._exchange if careful[row] else self._leap for row in todo]
            trials = np.stack([way(row, codes[row], pulls[row]) for row, way in zip(todo.tolist(), step, strict=True)])
            found = self._problem.constraint.project(trials)
            new, moved = self._pull(todo, found), found - codes[todo]
            # f falls by tᵀ(p + p′) along a step t; the difference of two objectives would be rounding.
            gain = np.einsum("ij,ij->i", moved, pulls[todo] + new)
            better = gain > np.einsum("ij,ij->i", np.abs(moved), self._noise[todo])
            kept, ended = todo[better], ~better & careful[todo]
            codes[kept], pulls[kept] = found[better], new[better]
            rounds[todo] += 1
            careful[todo] = ~better
            todo = todo[~ended]
            if not len(todo):
                break
        return codes, rounds

    def _pull(self, rows: np.ndarray, codes: np.ndarray) -> np.ndarray:
        return self._problem.quadratic.pull(self._queries.take(rows), codes)

    def _matrix(self, atoms: np.ndarray) -> np.ndarray:
        """H of some atoms."""
        dictionary, quadratic = self._problem.dictionary, self._problem.quadratic
        own = None if self._keeps_matrix else dictionary.coordinates[atoms]
        products = dictionary.gram[np.ix_(atoms, atoms)] if own is None else own @ own.T
        labels = dictionary.labels[atoms]
        matrix = products * (quadratic.gram + quadratic.blocks * (labels[:, None] == labels))
        matrix[np.diag_indices_from(matrix)] += quadratic.of_atoms(atoms).prices
        return matrix

    def _ends(self, row: int, code: np.ndarray, pull: np.ndarray) -> tuple[int, int]:
        """The atom that pulls hardest below the cap, and the one that pulls least above zero."""
        rising = np.where((code < self._high) & ~self._barred[row], pull, -np.inf)
        return int(rising.argmax()), int(np.where(code > self._low, pull, np.inf).argmin())

    def _at_bounds(self, code: np.ndarray) -> np.ndarray:
        """The code with atoms at their bounds marked to stay there."""
        return np.where(code <= self._low, -_AWAY, np.where(code >= self._high, _AWAY, code))

    def _leap(self, row: int, code: np.ndarray, pull: np.ndarray) -> np.ndarray:
        """The best code over the atoms between their bounds and all that contradict the level of these."""
        between = (code > self._low) & (code < self._high)
        level = pull[between].mean() if between.any() else pull[list(self._ends(row, code, pull))].mean()
        rising = (code <= self._low) & (pull > level + self._noise[row]) & ~self._barred[row]
        atoms = np.flatnonzero(between | rising | ((code >= self._high) & (pull < level - self._noise[row])))
        trial = self._at_bounds(code)
        if len(atoms):
            step = _best_step(self._matrix(atoms), pull[atoms], self._noise[row][atoms])
            trial[atoms] = np.clip(code[atoms] + step, -_FAR, _FAR)
        return trial

    def _exchange(self, row: int, code: np.ndarray, pull: np.ndarray) -> np.ndarray:
        """A textbook step: two atoms join, and those that meet a bound on the way to the best code leave."""
        joined = (code > self._low) & (code < self._high)
        joined[list(self._ends(row, code, pull))] = True
        atoms, trial = np.flatnonzero(joined), self._at_bounds(code)
        matrix, own, pull = self._matrix(atoms), code[atoms], pull[atoms]
        while len(atoms) > 1:
            step = _best_step(matrix, pull, self._noise[row][atoms])
            with np.errstate(divide="ignore", invalid="ignore"):
                room = np.where(step > 0.0, (self._cap - own) / step, np.where(step < 0.0, -own / step, np.inf))
            share = min(1.0, float(room.min()))
            own, pull = own + share * step, pull - share * (matrix @ step)
            met = room <= share if share < 1.0 else np.zeros(len(atoms), bool)
            trial[atoms] = np.where(met, np.where(step > 0.0, _AWAY, -_AWAY), own)
            if not met.any():
                break
            atoms, own, pull, matrix = atoms[~met], own[~met], pull[~met], matrix[np.ix_(~met, ~met)]
        return trial


def _best_step(matrix: np.ndarray, pull: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """The step t with Σt = 0 and the least tᵀHt − 2pᵀt; past every bound along directions without curvature."""
    pull = about_mean(pull)
    try:
        factor = cho_factor(definite_on_plane(matrix), lower=True)
    except LinAlgError:
        return _flat_step(matrix, pull, noise)
    pivots = np.diag(factor[0])
    if not pivots.min() > 1e-7 * pivots.max():
        return _flat_step(matrix, pull, noise)
    return about_mean(cho_solve(factor, pull))


def _flat_step(matrix: np.ndarray, pull: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """The same by eigenvalues, where some are zero up to rounding."""
    values, vectors = eigh(about_mean(about_mean(matrix).T))
    curved = values > 4.0 * len(pull) * _EPS * values.max(initial=0.0)
    parts = vectors[:, curved].T @ pull
    step, flat = vectors[:, curved] @ (parts / values[curved]), about_mean(pull - vectors[:, curved] @ parts)
    # Only prices pull where there is no curvature, and rounding.
    if np.abs(flat).max() > 64.0 * noise.max():
        step += flat * (2.0 / np.abs(flat).max())
    return about_mean(step)
