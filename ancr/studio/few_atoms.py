r"""A query coded over all labelled samples by a problem that holds only those that matter.

The optimum on the simplex uses some dozens of thousands of samples. So a query is coded over the samples nearest to
it, and every other sample is *priced* (`ancr.solvers.working_set.pricing`): with b the inner products with the query, K
the kernel and c the code, sample j could lower the objective only if

    b_j − (Kc)_j > cᵀ(b − Kc − λc).

No matrix of all pairs is needed, so a new label or another λ, width or power costs no more than a query.
"""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from ancr._core.arrays import is_single
from ancr.axes.quadratics import ridge
from ancr.axes.sets import named_set
from ancr.axes.spaces import named_space
from ancr.classifiers.base import BaseRepresentationClassifier
from ancr.classifiers.representation import Features
from ancr.dictionary.coordinates import Dictionary
from ancr.solvers.choice import accepts, find_solver
from ancr.solvers.working_set.pricing import Candidates, settle
from ancr.studio.actions import ActionError
from ancr.studio.labelled import Labelled

_FIRST, _MORE, _ROUNDS = 80, 48, 12
# With wide codes the problem is no longer small; a slider must not be stuck there.
_MOST = 700
_TOO_MANY = (
    "At these settings nearly every labelled sample has a part in the answer, which takes too long to follow a slider. "
    "Choose a smaller width κ or a smaller λ."
)
# Enough to ask what a classifier is.
TWO_ATOMS = Dictionary.build(np.eye(2), np.arange(2))
# Differences in pricing below this share of the largest inner product are rounding: in double and in single precision.
_ROUNDING = (1e-12, 3e-6)


def applies_to(classifier: BaseRepresentationClassifier) -> bool:
    """Whether codes are sparse optima, and decisions independent of samples that a code does not use."""
    problem = classifier.problem(TWO_ATOMS)
    kind = problem.constraint
    on_the_simplex = kind.plain and kind.sums_to_one and kind.nonnegative and problem.relaxation is None
    return (
        on_the_simplex
        and problem.quadratic == ridge(classifier.alpha)
        and classifier.class_weight is None
        and not classifier.make_rule().learns
        and named_space(classifier.space).follows_products
        and accepts(classifier.solver, problem)
        and find_solver(classifier.solver, problem).is_exact
    )


class FewAtoms(Candidates):
    """A query with the labelled samples that it holds: at first the nearest, then those that pull at its code.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        All labelled samples after power, and at unit norm if the space has that.
    squares : ndarray of shape (n,)
        Their squared norms.
    labelled : Labelled
        Their classes.
    query : ndarray of shape (d,)
        The query as the rows are.
    cross : ndarray of shape (n,)
        Its inner products with the rows.
    banned : ndarray of int
        Rows that must not be used.
    classifier : BaseRepresentationClassifier
        With the settings to answer with.
    near : ndarray of int
        Rows to begin with, besides the nearest: those that mattered at other settings.
    mean : ndarray of shape (d,) or None
        The mean of all rows that may be used, about which rules measure where nothing fixes an origin.

    Attributes
    ----------
    chosen : ndarray of int
        The rows held; once it is settled, every one that the code can use.
    """

    def __init__(
        self,
        rows: np.ndarray,
        squares: np.ndarray,
        labelled: Labelled,
        query: np.ndarray,
        cross: np.ndarray,
        banned: np.ndarray,
        classifier: BaseRepresentationClassifier,
        near: np.ndarray,
        mean: np.ndarray | None = None,
    ) -> None:
        super().__init__(query, ridge(classifier.alpha), named_set(classifier.constraint))
        self._classifier = clone(classifier).set_params(space__power=1.0)  # the rows have theirs
        self._cross = self._classifier.space.of_products(cross, squares, query @ query)
        self._rows, self._squares, self._labelled, self._banned, self._rounds = rows, squares, labelled, banned, 0
        self._mean = mean
        open_cross = self._cross.copy()
        open_cross[banned] = -np.inf
        self._hold(self._start(open_cross, near))
        settle([self], lambda queries: [query.joining() for query in queries])

    def _start(self, cross: np.ndarray, near: np.ndarray) -> np.ndarray:
        """The nearest rows, and the nearest of each class, without which a class could not be compared."""
        codes, usable = self._labelled.codes, np.isfinite(cross)
        of_class = np.full(len(self._labelled.classes), -np.inf, cross.dtype)
        np.maximum.at(of_class, codes, cross)
        nearest = np.flatnonzero(usable & (cross == of_class[codes]))[::-1]
        firsts = np.full(len(of_class), -1)
        firsts[codes[nearest]] = nearest  # of equal ones, the last written
        wanted = 10 if len(near) else _FIRST
        order = np.argpartition(-cross, wanted)[:wanted] if wanted < len(cross) else np.arange(len(cross))
        return np.unique(np.concatenate([order[usable[order]], firsts[firsts >= 0], near[usable[near]]]))

    def _hold(self, chosen: np.ndarray) -> None:
        """Solve over some rows; they are valid samples already, so nothing is checked again."""
        self.chosen, rows = chosen, self._rows[chosen]
        self._space = self._classifier.space.prepare(rows)
        self._dictionary = self._space.dictionary(rows, self._labelled.classes[self._labelled.codes[chosen]])
        if self._mean is not None and isinstance(self._dictionary, Dictionary):
            self._dictionary.held["centred"] = self._dictionary.about(self._mean)
        self.optimise(self._dictionary)

    def joining(self) -> np.ndarray:
        """Rows outside that pull harder than those in use, at most so many as may join in a round."""
        used = np.flatnonzero(self.code)
        chosen = self.chosen[used]
        code, held = self.code[used].astype(self._rows.dtype), self._rows[chosen]
        if self._space.is_linear:  # one product with the combination, instead of one with each row
            pull = self._cross - code @ held @ self._rows.T
        else:
            squares = self._squares
            pull = self._cross - code @ self._space.of_products(held @ self._rows.T, squares[chosen][:, None], squares)
        pull[self._banned] = pull[self.chosen] = -np.inf
        rounding = _ROUNDING[is_single(self._rows.dtype)] * max(1.0, float(np.abs(self._cross).max()))
        harder = np.flatnonzero(pull > self.level + rounding)
        if len(harder) <= _MORE:
            return harder
        return harder[np.argpartition(-pull[harder], _MORE)[:_MORE]]

    def update(self, found: np.ndarray) -> None:
        """Take more rows, unless there are none or this has gone on for long."""
        self._rounds += 1
        self.is_open = len(found) > 0 and self._rounds < _ROUNDS
        if self.is_open:
            if len(self.chosen) + len(found) > _MOST:
                raise ActionError(_TOO_MANY)
            self._hold(np.concatenate([self.chosen, found]))

    def classifier(self) -> BaseRepresentationClassifier:
        """The classifier of the rows held."""
        return self._classifier.learn(self._space, self._dictionary, Features(self._rows.shape[1]))
