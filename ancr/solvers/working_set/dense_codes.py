r"""Codes that use many atoms: the minimiser on a large support by LAPACK, and Newton steps from support to support.

A strong ridge over atoms that lie close together spreads a code over most of them, up to all. A working set that grows
from a few atoms then costs n³ per query. Here a query starts from the *whole* set: the minimiser without inequalities
is one matrix product for all queries, and where it has no negative entry it is the optimum. Elsewhere atoms with a
negative entry leave, atoms that pull harder than those in use join, and the minimiser on that support is computed
again, until nothing changes: a semismooth Newton method, which ends after a few steps where the ridge is strong. It has
no proof of convergence; queries that do not settle go to the working set.

On a support S the system H_SS c = b costs d³ and not |S|³ if there are fewer features than atoms,

    (P + AAᵀ)⁻¹ = P⁻¹ − P⁻¹A(I + AᵀP⁻¹A)⁻¹AᵀP⁻¹,

with P the prices and A the atoms, as rows. AᵀP⁻¹A of the support is that of all atoms less that of the atoms left out,
if these are fewer. Without coordinates the inverse of H on a support follows from that on all atoms in the same way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky

from ancr._core.arrays import in_double
from ancr._core.psd import inverse_of_factor, psd_inverse
from ancr._core.threads import aside
from ancr.axes.problem import Problem
from ancr.dictionary.atoms import BaseDictionary
from ancr.solvers.contract import stop_if_asked

# Newton steps before a query is left to the working set.
_MOST_STEPS = 40
# The ridge is strong if the Gram matrix about the mean, by its Frobenius norm, is at most this many times as large:
# entries of the code of an average query then vary by this many times their mean.
_STRONG = 8.0
# Where a larger share of the minimiser on all atoms is negative, the code is not expected to be dense.
_FEW_NEGATIVE = 0.25
# Queries that are worked on at once: they stay in a core's cache. The first few show whether codes are dense at all.
_ROWS, _FIRST_ROWS = 64, 8
# Sums of codes that are farther from one are corrected once more.
_MOST_OFF = 1e-13

# H_SS⁻¹ times the columns of a matrix.
Solve = Callable[[np.ndarray], np.ndarray]


class System(ABC):
    """H of a problem, with the systems on its supports.

    Parameters
    ----------
    problem : Problem
        In standard form, with a ridge.
    """

    def __init__(self, problem: Problem) -> None:
        dictionary, quadratic = problem.dictionary.in_double, problem.quadratic
        self.prices = np.broadcast_to(np.asarray(quadratic.prices, float), (dictionary.n_atoms,))
        self.set_up(dictionary, problem)

    @abstractmethod
    def set_up(self, dictionary: BaseDictionary, problem: Problem) -> None:
        """Take what is needed of the problem, in double precision."""

    @abstractmethod
    def on(self, used: np.ndarray) -> Solve:
        """The solution of systems on the atoms marked in ``used``."""

    @abstractmethod
    def on_all(self, right: np.ndarray) -> np.ndarray:
        """H⁻¹r for each row r."""

    @abstractmethod
    def image(self, codes: np.ndarray) -> np.ndarray:
        """Hc for each row c."""


class ThroughFeatures(System):
    """By the atoms' coordinates, without H."""

    def set_up(self, dictionary: BaseDictionary, problem: Problem) -> None:
        """A, whose rows are √gram times the atoms."""
        self._atoms = np.sqrt(problem.quadratic.gram) * dictionary.coordinates

    @cached_property
    def _scatter(self) -> np.ndarray:
        """AᵀP⁻¹A of all atoms."""
        return self._atoms.T @ (self._atoms / self.prices[:, None])

    @cached_property
    def _operator(self) -> np.ndarray:
        """(I + AᵀP⁻¹A)⁻¹AᵀP⁻¹ of all atoms."""
        return cho_solve(_factored(_plus_identity(self._scatter)), (self._atoms / self.prices[:, None]).T)

    def on(self, used: np.ndarray) -> Solve:
        """In as many dimensions as there are features or atoms in use, whichever are fewer."""
        atoms, prices = self._atoms[used], self.prices[used]
        if len(atoms) <= atoms.shape[1]:
            matrix = atoms @ atoms.T
            matrix[np.diag_indices_from(matrix)] += prices
            factor = _factored(matrix)
            return lambda right: cho_solve(factor, right, check_finite=False)
        if 2 * len(atoms) > len(used):
            out = self._atoms[~used]
            scatter = self._scatter - out.T @ (out / self.prices[~used, None])
        else:
            scatter = atoms.T @ (atoms / prices[:, None])
        return _woodbury(atoms, prices, _factored(_plus_identity(scatter)))

    def on_all(self, right: np.ndarray) -> np.ndarray:
        """By the operator that all queries share."""
        scaled = right / self.prices
        scaled -= (scaled @ self._atoms) @ self._operator
        return scaled

    def image(self, codes: np.ndarray) -> np.ndarray:
        """Hc for each row c."""
        image = self.prices * codes
        image += (codes @ self._atoms) @ self._atoms.T
        return image


class ThroughMatrix(System):
    """By H, for spaces without coordinates and for class terms."""

    def set_up(self, dictionary: BaseDictionary, problem: Problem) -> None:
        """H."""
        self._matrix = problem.quadratic.matrix(dictionary)
        self._ridge = problem.quadratic.ridge

    @cached_property
    def _factor(self) -> np.ndarray | None:
        """H = LLᵀ, a third of the work of the inverse; None where rounding leaves none, or the inverse is there."""
        try:
            return aside(lambda: cholesky(self._matrix, lower=True, check_finite=False), len(self._matrix) ** 3 / 3.0)
        except LinAlgError:
            return None

    @cached_property
    def _inverse(self) -> np.ndarray:
        factor = self._factor
        inverse = psd_inverse(self._matrix, self._ridge) if factor is None else inverse_of_factor(factor)
        self._factor = None
        return inverse

    def on(self, used: np.ndarray) -> Solve:
        """From the inverse on all atoms, if few are left out; otherwise by a factor of the support's own."""
        left_out = np.flatnonzero(~used)
        if 4 * len(left_out) > len(used):
            factor = _factored(self._matrix[np.ix_(used, used)])
            return lambda right: cho_solve(factor, right, check_finite=False)
        inside, across = self._inverse[np.ix_(used, used)], self._inverse[np.ix_(left_out, used)]
        own = _factored(self._inverse[np.ix_(left_out, left_out)])

        def solve(right: np.ndarray) -> np.ndarray:
            return inside @ right - across.T @ cho_solve(own, across @ right, check_finite=False)

        return solve

    def on_all(self, right: np.ndarray) -> np.ndarray:
        """H⁻¹r for each row r; for a few, which may be the only ones, without the inverse."""
        if len(right) <= _FIRST_ROWS and (factor := self._factor) is not None:
            return cho_solve((factor, True), right.T, check_finite=False).T
        return right @ self._inverse

    def image(self, codes: np.ndarray) -> np.ndarray:
        """Hc for each row c."""
        return codes @ self._matrix


def _plus_identity(matrix: np.ndarray) -> np.ndarray:
    matrix = matrix.copy()
    matrix[np.diag_indices_from(matrix)] += 1.0
    return matrix


def _factored(matrix: np.ndarray) -> Any:
    return aside(lambda: cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False), len(matrix) ** 3 / 3.0)


def _woodbury(atoms: np.ndarray, prices: np.ndarray, factor: Any) -> Solve:
    def solve(right: np.ndarray) -> np.ndarray:
        scaled = right / prices[:, None]
        scaled -= (atoms @ cho_solve(factor, atoms.T @ scaled, check_finite=False)) / prices[:, None]
        return scaled

    return solve


def system_of(problem: Problem) -> System | None:
    """The system of a problem whose codes may be dense; None where there is no ridge or codes have signs."""
    if not problem.quadratic.ridge or not problem.constraint.nonnegative:
        return None
    dictionary = problem.dictionary
    thin = dictionary.has_coordinates and dictionary.n_features < dictionary.n_atoms and not problem.quadratic.blocks
    return (ThroughFeatures if thin else ThroughMatrix)(problem)


def is_strong(problem: Problem) -> bool:
    """Whether the ridge spreads the codes of most queries over most atoms, as far as is quickly told.

    The affine code of a query is 1/n plus x̄ᵀȳ/λ at most, about the mean atom. For a query like the atoms, the latter
    has a mean square of ‖K̄‖²/(nλ)², with ‖K̄‖ the Frobenius norm of the Gram matrix about the mean. Atoms far from the
    origin may hide the ridge in the rounding of H, which then has no factor.
    """
    dictionary, quadratic = problem.dictionary, problem.quadratic
    lost = 4.0 * np.finfo(float).eps * dictionary.n_atoms * dictionary.dimension * float(dictionary.squares.max())
    if quadratic.ridge <= quadratic.gram * lost or quadratic.blocks or not problem.constraint.nonnegative:
        return False
    limit = _STRONG * quadratic.ridge / quadratic.gram
    trace = float(dictionary.squares.sum()) - dictionary.n_atoms * dictionary.squared_mean
    rank = min(dictionary.n_atoms, dictionary.dimension)
    if trace > limit * np.sqrt(rank):  # the norm is not below this
        return False
    return trace <= limit or _norm_about_mean(dictionary) <= limit


def _norm_about_mean(dictionary: BaseDictionary) -> float:
    """The Frobenius norm of the Gram matrix about the mean atom."""
    if dictionary.has_coordinates and dictionary.n_features < dictionary.n_atoms:
        return float(np.linalg.norm(dictionary.located.spread))
    gram = in_double(dictionary.gram)
    means = gram.mean(axis=0)
    # ‖PKP‖² for the projection P on Σ = 0, without a copy of K.
    squares = float(np.einsum("ij,ij->", gram, gram)) - 2.0 * len(gram) * float(means @ means)
    return max(squares + (len(gram) * float(means.mean())) ** 2, 0.0) ** 0.5


class DenseCodes:
    """The optimum of queries whose codes use many atoms.

    Parameters
    ----------
    system : System
        H.
    sums_to_one : bool
        Whether codes sum to one.
    """

    def __init__(self, system: System, sums_to_one: bool) -> None:
        self.system, self._sums_to_one = system, sums_to_one

    @cached_property
    def _ones(self) -> np.ndarray:
        """H⁻¹1."""
        return self.system.on_all(np.ones((1, len(self.system.prices))))[0]

    def __call__(
        self, linear: np.ndarray, banned: np.ndarray, starts: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Codes of a block of queries, how far each is from meeting the conditions of an optimum, and Newton steps.

        Parameters
        ----------
        linear : ndarray of shape (n_queries, n_atoms)
            b of each query; −∞ for an atom that it must not use.
        banned : ndarray of shape (n_queries,)
            An atom that each query must not use; −1 for none.
        starts : ndarray of bool of shape (n_queries, n_atoms) or None
            Supports to start from; None for the whole set.
        """
        usable = linear > -np.inf
        own = np.flatnonzero(banned >= 0)
        usable[own, banned[own]] = False
        all_usable = usable.all(axis=1)
        linear = linear if all_usable.all() else np.where(usable, linear, 0.0)
        steps = np.ones(len(linear), int)
        if starts is None:
            codes, pulls, levels = self._on_all(linear)
            excess = np.maximum(pulls.max(axis=1) - levels, levels - pulls.min(axis=1))
            positive = codes.min(axis=1) > 0.0
            done = all_usable & positive
            if not positive.all():
                sparse_ones = (codes <= 0.0).mean(axis=1) > _FEW_NEGATIVE  # quicker from a few atoms than from all
                excess[sparse_ones] = np.inf
                done |= sparse_ones
        else:
            codes, excess, done = np.zeros_like(linear), np.full(len(linear), np.inf), np.zeros(len(linear), bool)
        for i in np.flatnonzero(~done):
            used = (codes[i] > 0.0 if starts is None else starts[i]) & usable[i]
            codes[i], excess[i], steps[i] = self._newton(linear[i], used, usable[i])
        return codes, excess, steps

    def _on_all(self, linear: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The minimisers on all atoms for rows b, their pulls b − Hc, and the pull that all atoms should have."""
        codes, level = self.system.on_all(linear), np.zeros(len(linear))
        if self._sums_to_one:
            level = (codes.sum(axis=1) - 1.0) / self._ones.sum()
            codes -= level[:, None] * self._ones
            off = codes.sum(axis=1) - 1.0
            if np.abs(off).max(initial=0.0) > _MOST_OFF:  # what cancelled was long beside the ridge
                level += off / self._ones.sum()
                codes -= (off / self._ones.sum())[:, None] * self._ones
        return codes, linear - self.system.image(codes), level

    def _newton(self, linear: np.ndarray, used: np.ndarray, allowed: np.ndarray) -> tuple[np.ndarray, float, int]:
        """Code, excess and steps of one query; an infinite excess if it does not settle."""
        noise = 32.0 * np.finfo(float).eps * float(np.abs(linear).max())
        for step in range(1, _MOST_STEPS + 1):
            stop_if_asked()
            try:
                code, pull, level = self._on_support(linear, used)
            except LinAlgError:
                break
            over = np.where(used, -code, pull - level - noise)
            if not (over[allowed] > 0.0).any():
                excess = np.where(used, np.abs(pull - level), np.where(allowed, pull - level, 0.0))
                return code, float(excess.max()), step
            used = np.where(used, code > 0.0, over > 0.0) & allowed
        return np.zeros_like(linear), np.inf, step

    def _on_support(self, linear: np.ndarray, used: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """The minimiser on a support, the pulls of all atoms under it, and the pull that those in use should have."""
        solve, size = self.system.on(used), int(used.sum())
        ones = solve(np.ones((size, 1)))[:, 0] if self._sums_to_one else np.zeros(size)
        code, level = np.zeros_like(linear), 0.0
        for _ in range(2):  # the second time it is refined: from the accuracy of the factor to that of the data
            pull = linear - self.system.image(code[None])[0]
            change = solve((pull[used] - level)[:, None])[:, 0]
            if self._sums_to_one:
                shift = (1.0 - code.sum() - change.sum()) / ones.sum()
                change, level = change + shift * ones, level - shift
            code[used] += change
        return code, linear - self.system.image(code[None])[0], level


def left_over(todo: np.ndarray, solve: Callable[[np.ndarray], np.ndarray], whole: bool) -> np.ndarray:
    """Which of the queries ``todo`` are not solved as dense codes by ``solve(rows)``, which returns whether each is.

    From the whole set, where none of the first few is solved, a strong ridge comes with codes of few atoms: the others
    are not tried.
    """
    left, start, size = [todo[:0]], 0, _FIRST_ROWS if whole else _ROWS
    while start < len(todo):
        stop_if_asked()
        rows = todo[start : start + size]
        solved = solve(rows)
        left.append(rows[~solved])
        start, size = start + size, _ROWS
        if whole and not solved.any():
            break
    return np.concatenate([*left, todo[start:]])


def joined(parts: Sequence[np.ndarray | sparse.csr_array]) -> sparse.csr_array:
    """Blocks of codes, those without a zero as arrays, as one CSR array."""
    if any(map(sparse.issparse, parts)):
        blocks = [part if sparse.issparse(part) else _as_sparse(part) for part in parts]
        return sparse.csr_array(sparse.vstack(blocks, format="csr"))
    return _as_sparse(np.concatenate(parts))


def _as_sparse(codes: np.ndarray) -> sparse.csr_array:
    """Codes without a zero as CSR, which takes no copy of them."""
    rows, n = codes.shape
    kind = sparse.get_index_dtype(maxval=codes.size)
    indices = np.tile(np.arange(n, dtype=kind), rows)
    return sparse.csr_array((codes.ravel(), indices, np.arange(rows + 1, dtype=kind) * n), shape=codes.shape)
