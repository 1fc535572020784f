"""The fourth axis: how a code is found. All solvers, the package's own and a user's, share one interface.

A solver is made from its options alone; `prepare` returns a copy that is ready for a problem:

    solver = ADMM(rho=0.1, max_iter=5).prepare(problem)
    solution = solver.solve(queries)

A new solver is a subclass of `Solver`, passed as an object wherever ``solver`` takes a name.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import replace
from threading import get_ident
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ancr._core.arrays import BLOCK_ROWS, Array, map_rows, namespace
from ancr._core.axis import AxisObject
from ancr._core.threads import jobs
from ancr.axes.problem import Problem
from ancr.certificate.solution import OverSomeAtoms, Solution
from ancr.certificate.tolerances import Tolerances, not_certified
from ancr.dictionary.atoms import BaseDictionary
from ancr.dictionary.products import Queries
from ancr.dictionary.terms import Terms, patterns

# Seconds of work after which a solver can be interrupted.
PIECE = 0.1


def stop_if_asked() -> None:
    """Raise in a helper whose caller has been interrupted; to be called between pieces of long work."""
    job = jobs.get(get_ident())
    if job is not None and job.is_stopped:
        raise KeyboardInterrupt


def pieces(rows: np.ndarray, first: int = 16) -> Iterator[np.ndarray]:
    """Some rows at a time, as many as take about a tenth of a second, judged by how long the last ones took."""
    start, size = 0, first
    while start < len(rows):
        stop_if_asked()
        began = perf_counter()
        yield rows[start : start + size]
        start += size
        size = max(1, min(int(size * PIECE / max(perf_counter() - began, 1e-6)), 32 * size))


class Solver(AxisObject, ABC):
    """The interface of every solver.

    Attributes
    ----------
    name : str
        Name used in messages.
    options : tuple of str
        Names of the constructor's parameters that a classifier or `ancr.solve` passes on.
    block_rows : int
        Maximum number of queries per block.
    on_coordinates : bool
        Whether it reads the coordinates of the atoms; if not, inner products are enough for it.
    is_exact : bool
        Whether it returns the optimum itself, so that leave-one-out may find it in a quicker way.
    relaxes : bool
        Whether it solves problems with a relaxation; if not, it solves those without.
    takes_prices : bool
        Whether it takes b from `Quadratic.linear`, which knows what queries pay for atoms.
    leaves_out : bool
        Whether it keeps to the atoms that a query may use, for which `Quadratic.linear` is not −∞. For a solver that
        does not, queries that may use the same atoms are solved over these alone.
    problem : Problem
        The problem that it is prepared for; set by `prepare`.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr import RepresentationClassifier
    >>> from ancr.certificate.solution import Solution
    >>> from ancr.solvers import Solver
    >>> class Equal(Solver):
    ...     name = "equal"
    ...     def refuses(self, problem):
    ...         return None
    ...     def solve_block(self, queries, history=False):
    ...         codes = np.full((len(queries), self.problem.dictionary.n_atoms), 1.0 / self.problem.dictionary.n_atoms)
    ...         return Solution(codes, np.ones(len(queries), int), np.zeros(len(queries), bool), self.problem, queries)
    >>> X = np.array([[1.0, 0.1], [0.9, 0.2], [0.1, 1.0], [0.2, 0.9]])
    >>> RepresentationClassifier(solver=Equal()).fit(X, [0, 0, 1, 1]).predict([[1.0, 0.0]])
    array([0])
    """

    name: ClassVar[str] = "a solver"
    options: ClassVar[tuple[str, ...]] = ()
    block_rows: ClassVar[int] = BLOCK_ROWS
    on_coordinates: ClassVar[bool] = False
    is_exact: ClassVar[bool] = False
    relaxes: ClassVar[bool] = False
    takes_prices: ClassVar[bool] = False
    leaves_out: ClassVar[bool] = False
    problem: Problem
    unprepared: Any

    @abstractmethod
    def refuses(self, problem: Problem) -> str | None:
        """Why it cannot solve a problem, as the end of a sentence; None if it can.

        Whether the problem has a relaxation has been checked against ``relaxes`` already.
        """

    def objection(self, problem: Problem) -> str | None:
        """As `refuses`, after checking ``relaxes``."""
        if self.relaxes != (problem.relaxation is not None):
            return "it is for relaxed problems" if self.relaxes else "it has no relaxation"
        if self.on_coordinates and not problem.dictionary.has_coordinates:
            return "it needs coordinates, and this kernel gives inner products alone; n_landmarks gives coordinates"
        return self.refuses(problem)

    def prepare(self, problem: Problem) -> Any:
        """A copy of this solver that is ready for the queries of a problem."""
        found, fewest = problem.dictionary.n_atoms, problem.constraint.fewest_atoms
        if found < fewest:
            raise ValueError(f"constraint={problem.constraint!r} needs at least {fewest} atoms, got {found}")
        prepared = copy(self)
        prepared.problem, prepared.unprepared = problem, self
        prepared.set_up()
        return prepared

    def along_path(self, dictionary: BaseDictionary) -> Any:
        """A solver to prepare for many problems over one dictionary, which may share what they have in common."""
        return self

    def set_up(self) -> None:
        """Compute what all queries of ``self.problem`` share."""

    def warm_up(self, queries: Queries, total: int = 1) -> None:
        """Compile, in the calling thread, what ``total`` queries need and is not compiled yet."""

    @abstractmethod
    def solve_block(self, queries: Queries, history: bool = False) -> Solution:
        """Code a block of queries; ``history`` keeps the objective after each iteration, where there are iterations.

        ``queries`` has the rows, and computes their products with the atoms once for all that ask.
        """

    def solve(self, rows: Array, history: bool = False) -> Solution:
        """Code queries that are given as rows, all in one block."""
        return self._coded(Queries.of(self.problem.dictionary, rows), history)

    def _coded(self, queries: Queries, history: bool) -> Solution:
        """A block that is coded; a solver that records no iterations has its objective as the history."""
        apart = queries.terms is not None and queries.terms.excluded is not None and not self.leaves_out
        solution = self._over_atoms_left(queries) if apart else self.solve_block(queries, history)
        unrecorded = history and solution.history is None
        return replace(solution, history=solution.objective[None, :]) if unrecorded else solution

    def _over_atoms_left(self, queries: Queries) -> Solution:
        """Queries coded over the atoms that they may use, for each set of such atoms by itself."""
        parts, asked = [], self.problem.asked(queries)
        for rows, kept in patterns(queries.terms):
            if len(kept):  # without atoms there is one code
                part = self.unprepared.prepare(self.problem.over(kept))
                solution = part.solve_block(asked.take(rows).over(part.problem.dictionary, kept))
                parts.append(OverSomeAtoms(rows, kept, solution))
        kind = type(parts[0].solution) if parts else Solution
        return kind.over_all_atoms(parts, self.problem, queries)

    def objection_to(self, terms: Terms | None) -> str | None:
        """Why it cannot take what queries ask for, as the end of a sentence; None if it can."""
        if terms is None or terms.prices is None:
            return None
        if self.problem.has_l1_term:
            return "prices do not go with quadratic='l1', which is a price itself"
        return None if self.takes_prices else "it takes no prices"

    def warning(self, unmet: int, total: int) -> str | None:
        """What to tell a user when ``unmet`` > 0 of ``total`` queries did not converge; None for nothing."""
        return None

    def map(
        self,
        rows: Array,
        then: Callable[[Solution], Any],
        first: Callable[[Array], Array] | None = None,
        history: bool = False,
        terms: Terms | None = None,
    ) -> list[Any]:
        """Code queries block by block, in parallel, and hand each block's solution to ``then(solution)``.

        ``first``, if given, transforms a block's rows before they are coded, and ``terms`` are what queries ask for
        beside their samples. ``solution.queries`` is the block with its
        products, which end with it: no queries × atoms array outlives a block unless ``then`` keeps it. Queries that
        did not converge are reported by one `ConvergenceWarning` for all blocks.
        """
        dictionary, unmet = self.problem.dictionary, []

        def queries(block: slice) -> Queries:
            own = None if terms is None else terms.take(block)
            return Queries.of(dictionary, rows[block, :] if first is None else first(rows[block, :]), terms=own)

        def work(block: slice) -> Any:
            solution = self._coded(queries(block), history)
            result = then(solution)
            solution.queries.release()
            # Last, because work that ran out of memory is repeated.
            unmet.append(int(namespace(solution.converged).count_nonzero(~solution.converged)))
            return result

        self.warm_up(queries(slice(0, 1)), rows.shape[0])
        # A solver holds about five such rows at once.
        results = map_rows(work, rows, 5 * dictionary.n_atoms * dictionary.itemsize, self.block_rows)
        if (total := sum(unmet)) and (message := self.warning(total, rows.shape[0])):
            warnings.warn(message, ConvergenceWarning, stacklevel=3)
        return results


class ExactSolver(Solver):
    """A solver of the optimum by iteration, which reports queries whose gap is not below a tolerance.

    Parameters
    ----------
    tol : float or None
        Relative gap a query must reach to count as converged; None means 1e-8, in float32 1e-6.
    """

    name = "exact"
    options: ClassVar[tuple[str, ...]] = ("tol",)
    is_exact = True

    def __init__(self, tol: float | None = None) -> None:
        self.tol: Any = tol

    def set_up(self) -> None:
        """Choose the tolerance, where none is given."""
        self.tol = Tolerances.of(self.problem.dictionary).gap if self.tol is None else self.tol

    def warning(self, unmet: int, total: int) -> str | None:
        """Report queries that could not be certified."""
        return not_certified(unmet, total, self.tol)
