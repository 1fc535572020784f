r"""The working-set loop and its pricing step, described once for every kind of machine.

For a query y the optimum of min cᵀHc − 2bᵀc over c ≥ 0 (and Σc = 1) uses few of the atoms. So only a *working set* of
them takes part in the algebra, and all others are looked at in one way:

1. **Solve** over the working set, exactly; atoms that turn negative are dropped until none does.
2. **Price** all atoms: p = b − Hc, the *pull* of each, is half the rate at which the objective falls as its weight
   grows. At the optimum no atom pulls harder than the *level* of those in use: pᵀc on Σc = 1, zero on the orthant (plus
   half the weight of an ℓ1 term).
3. **Add** the atoms that pull hardest above the level, and go back to 1. If there are none, the optimum over the
   working set is the optimum over all atoms, and the hardest pull bounds the gap of a code that is not there yet.

Each round lowers the objective or ends the loop, and there are finitely many working sets, so that it is finite.
Implementations differ in where the atoms are and what a pull costs there:

- `host` and `host_kernels`: one query at a time, through rows of H kept as small integers, or, where H does not fit,
  all queries at once through the atoms;
- `device`: all queries in lock-step, through H or the atoms, in the precision of the atoms and at last in double;
- `Candidates`, here: atoms that are elsewhere. A query holds the few that it has been sent, whoever prices the others:
  workers next to files (`ancr.distributed.shards`) or one product with all labelled samples (`ancr.studio.few_atoms`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from ancr.axes.problem import Problem
from ancr.axes.quadratics import Quadratic
from ancr.axes.sets import Set
from ancr.dictionary.atoms import BaseDictionary
from ancr.solvers.working_set.host import HostWorkingSet

Query = TypeVar("Query", bound="Candidates")


class Candidates(ABC):
    """One query with the atoms that it holds, and the optimum over them.

    Parameters
    ----------
    query : ndarray of shape (n_features,)
        The query.
    quadratic : Quadratic
        Without class blocks.
    constraint : Set
        The simplex, or with a ridge the non-negative set.
    tol : float or None
        Relative gap of the optimum over the atoms held, as for `HostWorkingSet`.

    Attributes
    ----------
    code, pull : ndarray
        Weights of the atoms held and their pulls, in the order in which they were given.
    level : float
        Only atoms that pull harder can lower the objective; −∞ before anything is solved.
    is_open : bool
        Whether atoms are still to be priced.
    """

    def __init__(self, query: np.ndarray, quadratic: Quadratic, constraint: Set, tol: float | None = None) -> None:
        self.query, self.quadratic, self.constraint = query, quadratic, constraint
        self._solver = HostWorkingSet(tol)
        self.code, self.pull, self.level, self.is_open = np.empty(0), np.empty(0), -np.inf, True

    @abstractmethod
    def update(self, found: Any) -> None:
        """Take the atoms that pricing has found, and close or solve again."""

    def optimise(self, dictionary: BaseDictionary) -> Problem:
        """Solve over the atoms held; return the problem."""
        problem, query = Problem(dictionary, self.quadratic, self.constraint), self.query[None]
        solution = self._solver.prepare(problem).solve(query)
        code, pull = solution.sorted_codes, self.quadratic.pull(solution.queries, solution.sorted_codes)
        self.code, self.pull = code.toarray()[0][dictionary.position], pull[0][dictionary.position]
        self.level = float(self.code @ self.pull) if self.constraint.sums_to_one else 0.0
        return problem


def settle(queries: Sequence[Query], price: Callable[[list[Query]], Iterable[Any]]) -> None:
    """Price all atoms for the queries that are open, hand each what was found, and go on until none is open."""
    while active := [query for query in queries if query.is_open]:
        for query, found in zip(active, price(active), strict=True):
            query.update(found)
