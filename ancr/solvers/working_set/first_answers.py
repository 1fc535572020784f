"""The exact solver on the host while its kernels are not compiled: small work does not wait for the compiler.

Compiling takes some ten seconds; the lock-step rounds of `device` need no kernel and code a few thousand queries in
less. So they answer, on NumPy arrays, as long as they have taken less time in this process than compiling would, and
leave-one-out of a first search takes them, too; the first large job compiles, and so does ``ancr warmup``. All codes of
queries are certified here: a block that the lock-step rounds leave above the tolerance goes to the kernels.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from time import thread_time
from typing import Any

import numpy as np
from scipy import sparse

from ancr.axes.problem import Problem
from ancr.certificate.solution import Solution
from ancr.dictionary.products import Queries
from ancr.solvers.working_set.device import DeviceWorkingSet
from ancr.solvers.working_set.host import HostWorkingSet, refuses

# Seconds of processor time in lock-step rounds after which compiling, which takes about twice as long, is worth it.
_WORTH_COMPILING = 10.0
# Seconds that a query usually takes, for any number of atoms and for each of them; what it took counts afterwards.
_PER_QUERY, _PER_ATOM = 1e-4, 2e-6
# Supports of dense codes would outgrow the working sets; kernels without H are for more atoms than small work has.
_MOST_ATOMS = 4000


@cache
def _postponed() -> Any:
    """The time spent without kernels in this process; made on first use, since importing ancr must not load numba."""
    from ancr._core.compiling import Postponed

    return Postponed(_WORTH_COMPILING)


def _kernel() -> Any:
    """The kernel that most time goes into compiling."""
    from ancr.solvers.working_set import host_kernels

    return host_kernels.solve_with_matrix


def can_wait(n_queries: int, n_atoms: int) -> bool:
    """Whether so many queries are left to lock-step rounds: kernels are not compiled, and compiling costs more."""
    seconds = n_queries * (_PER_QUERY + _PER_ATOM * n_atoms)
    return n_atoms <= _MOST_ATOMS and _postponed().is_less(_kernel(), seconds)


@contextmanager
def counted() -> Iterator[None]:
    """Count the time of lock-step rounds."""
    begin = thread_time()
    yield
    _postponed().add(thread_time() - begin)


class FirstAnswers(HostWorkingSet):
    """`HostWorkingSet` that leaves small work to lock-step rounds as long as its kernels are not compiled."""

    def refuses(self, problem: Problem) -> str | None:
        """It is for the time before the kernels are compiled."""
        return super().refuses(problem) or (None if _postponed().is_less(_kernel(), 0.0) else "kernels are compiled")

    def warm_up(self, queries: Queries, total: int = 1) -> None:
        """Compile if the ``total`` queries are worth it and there is anything to compile."""
        if not self._can_wait(queries, total):
            super().warm_up(queries, total)

    def solve_block(self, queries: Queries, history: bool = False) -> Solution:
        """Code a block of queries."""
        if not self._can_wait(queries, len(queries)):
            return super().solve_block(queries, history)
        with counted():
            return self._in_lock_step(queries, history)

    def _can_wait(self, queries: Queries, total: int) -> bool:
        """Whether lock-step rounds take the problem and this many queries, without terms, cost less than compiling."""
        return (
            queries.terms is None
            and can_wait(total, self.problem.dictionary.n_atoms)
            and self.keeps_matrix
            and not self.starts_whole
            and _LockStep().refuses(self.problem) is None
        )

    def _in_lock_step(self, queries: Queries, history: bool) -> Solution:
        solver: Any = _LockStep(self.tol).prepare(self.problem)
        found = solver.solve_block(queries)
        codes = sparse.csr_array(np.asarray(found.sorted_codes))
        solution = Solution(codes, found.n_iter, found.converged, self.problem, queries)
        solution.converged[:] = solution.gap <= self.tol
        if solution.converged.all():
            return solution
        return super().solve_block(queries, history)


class _LockStep(DeviceWorkingSet):
    """Lock-step working sets on NumPy arrays."""

    def refuses(self, problem: Problem) -> str | None:
        """It supports plain sets with inequalities, without an ℓ1 term."""
        return "it has no ℓ1 term here" if problem.has_l1_term else refuses(problem)
