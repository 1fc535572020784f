r"""Each training sample judged by all others: decision values, the samples that speak for and against its label.

Two opinions are asked about each label: that of the chosen setting, and that of a smooth one. The setting that
classifies best is not always the one that finds wrong labels best. Where classes are hard to tell apart, a strong
ridge, whose codes spread over whole classes, sees better that a label is far off; where they are easy, it sees nothing
that the chosen setting does not. So the decision values of both are added,

    d = a₁d₁ + a₂d₂,    a = argmin −Σ log softmax(d)_given,    a ≥ 0,

with weights for which they predict the given labels best: a convex problem in two numbers. As for one temperature, the
log loss is safe here, because it chooses two scales and not between settings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.base import clone

from ancr._core.arrays import Array, dense, to_numpy
from ancr.axes.problem import Problem
from ancr.dictionary.atoms import BaseDictionary
from ancr.dictionary.derived import reweighted
from ancr.dictionary.products import Queries
from ancr.selection.temperature import fit_temperature
from ancr.solvers.leave_one_out import LeaveOneOut

# Witnesses that are kept for each sample, on either side.
WITNESSES = 5


@dataclass(frozen=True)
class Witnesses:
    """Samples that a code uses, the largest weights first; −1 and weight 0 where there are fewer.

    Attributes
    ----------
    indices : ndarray of shape (n_samples, n_witnesses)
        Rows of the samples given.
    weights : ndarray of the same shape
        Their weights, above zero.
    """

    indices: np.ndarray
    weights: np.ndarray

    def of(self, sample: int) -> list[tuple[int, float]]:
        """``(sample, weight)`` of the witnesses of one sample."""
        pairs = zip(self.indices[sample].tolist(), self.weights[sample].tolist(), strict=True)
        return [(index, weight) for index, weight in pairs if index >= 0]


@dataclass(frozen=True)
class HeldOut:
    """What the others say about each sample, in the order given.

    Attributes
    ----------
    decisions : ndarray of shape (n_samples, n_classes)
        Decision values without the sample itself, larger is better: all opinions in one.
    opinions : list of ndarray of shape (n_samples, n_classes)
        Decision values of the classifier, and of a smooth setting where there is one.
    speaks_for, speaks_against : Witnesses
        Samples in its code with the same label, and those with another.
    misfits : ndarray of shape (n_samples,)
        ‖y − Xc‖²/‖y‖²: the share of a sample that no others represent.
    judged : ndarray of bool of shape (n_samples,)
        False for a sample whose class has no other, and for one of weight zero.
    """

    decisions: np.ndarray
    opinions: list[np.ndarray]
    speaks_for: Witnesses
    speaks_against: Witnesses
    misfits: np.ndarray
    judged: np.ndarray


def _smooth_problem(dictionary: BaseDictionary) -> Problem:
    """Ridge regression on the free set, with λ the mean squared length of the atoms."""
    return Problem.of(dictionary, "ridge", "free", alpha=float(dictionary.xp.mean(dictionary.squares)) or 1.0)


def combined(
    first: np.ndarray, second: np.ndarray, labels: np.ndarray, counted: np.ndarray | None = None
) -> np.ndarray:
    """a₁d₁ + a₂d₂ for all samples.

    Parameters
    ----------
    first, second : ndarray of shape (n_samples, n_classes)
        Decision values.
    labels : ndarray of shape (n_samples,)
        Index of the given class.
    counted : ndarray of bool of shape (n_samples,) or None
        Samples that choose the weights; None for all.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.labels.held_out import combined
    >>> labels = np.array([0, 1, 0, 1, 1, 0])
    >>> useful, useless = np.eye(2)[[0, 1, 0, 1, 0, 0]], np.ones((6, 2))
    >>> combined(useful, useless, labels).argmax(axis=1).tolist()
    [0, 1, 0, 1, 0, 0]
    """
    used = np.arange(len(labels)) if counted is None else np.flatnonzero(counted)
    scales = [fit_temperature(values[used], labels[used])[0] for values in (first, second)]
    scaled = [values[used] / scale for values, scale in zip((first, second), scales, strict=True)]
    labels, rows = labels[used], np.arange(len(used))

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        logs = log_softmax(weights[0] * scaled[0] + weights[1] * scaled[1], axis=1)
        shares = np.exp(logs)
        shares[rows, labels] -= 1.0
        slopes = [float(np.einsum("ij,ij->", shares, values)) / len(labels) for values in scaled]
        return -float(logs[rows, labels].mean()), np.array(slopes)

    weights = minimize(loss, [1.0, 0.0], jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * 2).x
    return weights[0] * first / scales[0] + weights[1] * second / scales[1]


def can_leave_out(classifier: Any) -> str | None:
    """Why the samples of a fitted classifier cannot be left out without a refit; None if they can."""
    problem = classifier.solver_.problem
    if classifier.used_rule.learns:
        return f"its rule {classifier.used_rule.name!r} learns from all samples"
    if not classifier.solver_.is_exact or not LeaveOneOut.accepts(problem):
        return "its solver is not exact, or without inequalities it has no ridge (alpha)"
    return None


def leave_each_out(classifier: Any, weights: np.ndarray | None = None) -> HeldOut:
    """Judge each training sample of a fitted classifier by all others, without a refit.

    Parameters
    ----------
    classifier : BaseRepresentationClassifier
        Fitted; see `can_leave_out`.
    weights : ndarray of shape (n_atoms,) or None
        Factors of the atoms' weights, in the dictionary's order.
    """
    problem = classifier.solver_.problem if weights is None else _weighted(classifier.solver_.problem, weights)
    dictionary = problem.dictionary
    smooth = np.concatenate(LeaveOneOut(dictionary).map(_smooth_problem(dictionary), partial(_scores, classifier)))
    squares = np.maximum(to_numpy(dictionary.squares), 1e-300)

    def judge(rows: slice, c: Any, z: Any) -> tuple[np.ndarray, ...]:
        codes = z if classifier.code == "z" else c
        misfits = Queries.of_atoms(dictionary, rows).misfits(codes)
        shares = np.asarray(to_numpy(misfits), float) / squares[rows]
        return _scores(classifier, rows, codes, codes), *_witnesses(dictionary, rows, codes), shares

    parts = LeaveOneOut(dictionary).map(problem, judge)
    sharp, *witnesses, misfits = (np.concatenate(part) for part in zip(*parts, strict=True))
    alone = np.diff(dictionary.bounds)[dictionary.labels] == 1
    decisions = sharp.copy() if alone.all() else combined(sharp, smooth, dictionary.labels, ~alone)
    decisions[alone, dictionary.labels[alone]] = decisions[alone].min(axis=1)
    return _in_given_order(dictionary, decisions, [sharp, smooth], witnesses, misfits, ~alone)


def _scores(classifier: Any, rows: slice, c: Any, z: Any) -> np.ndarray:
    """Decision values of the classifier's rule for atoms whose codes over the others are known."""
    scores = classifier.scores_of_codes(Queries.of_atoms(classifier.dictionary_, rows), c)
    return np.asarray(to_numpy(scores), float)


def _weighted(problem: Problem, weights: np.ndarray) -> Problem:
    """The problem with atoms of other weights."""
    before = problem.dictionary.weights
    both = weights if before is None else before * weights
    return replace(
        problem, dictionary=reweighted(problem.dictionary, both), quadratic=problem.quadratic.priced(weights)
    )


def _witnesses(dictionary: BaseDictionary, rows: slice, codes: Any) -> tuple[np.ndarray, ...]:
    """Positions and weights of those for the label of each row, then of those against it."""
    weights = to_numpy(dense(codes))
    own = dictionary.labels[rows][:, None] == dictionary.labels
    return (*_largest(np.where(own, weights, 0.0)), *_largest(np.where(own, 0.0, weights)))


def _largest(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    count = min(WITNESSES, weights.shape[1])
    columns = np.argpartition(-weights, count - 1, axis=1)[:, :count]
    values = np.take_along_axis(weights, columns, axis=1)
    order = np.argsort(-values, axis=1, kind="stable")
    columns, values = np.take_along_axis(columns, order, axis=1), np.take_along_axis(values, order, axis=1)
    return np.where(values > 0.0, columns, -1), np.maximum(values, 0.0)


def _in_given_order(
    dictionary: BaseDictionary,
    decisions: np.ndarray,
    opinions: list[np.ndarray],
    witnesses: list[np.ndarray],
    misfits: np.ndarray,
    judged: np.ndarray,
) -> HeldOut:
    def given(values: np.ndarray, missing: Any = 0.0) -> np.ndarray:
        full = np.full((dictionary.n_samples, *values.shape[1:]), missing, values.dtype)
        full[dictionary.order] = values
        return full

    names = np.append(dictionary.order, -1)  # the last entry is for "none"
    places_for, weights_for, places_against, weights_against = witnesses
    return HeldOut(
        given(decisions),
        [given(values) for values in opinions],
        Witnesses(given(names[places_for], -1), given(weights_for)),
        Witnesses(given(names[places_against], -1), given(weights_against)),
        given(misfits),
        given(judged, False),
    )


def _misfits_and_codes(solution: Any) -> tuple[np.ndarray, np.ndarray]:
    squares = np.maximum(to_numpy(solution.queries.squares), 1e-300)
    misfits = to_numpy(solution.queries.misfits(solution.sorted_codes)) / squares
    return misfits, to_numpy(dense(solution.codes))


def judge_in_folds(classifier: Any, X: Array, y: np.ndarray, folds: list[Any], part: Callable[..., Array]) -> HeldOut:
    """Judge each sample by a classifier that was fitted without its fold, where groups must stay together.

    Parameters
    ----------
    classifier : BaseRepresentationClassifier
        Cloned and fitted for each fold.
    X, y : array
        Samples, of any library, and their labels.
    folds : list
        ``(train, test)`` row numbers.
    part : callable
        ``part(X, rows, columns)``: some of the samples, as `ancr.axes.spaces.Space.part`.
    """
    n, classes = len(y), np.unique(y)
    decisions, misfits, judged = np.zeros((n, len(classes))), np.zeros(n), np.zeros(n, bool)
    kept = [np.full((n, WITNESSES), missing, type(missing)) for missing in (-1, 0.0, -1, 0.0)]
    for train, test in folds:
        fitted = clone(classifier).fit(part(X, train, train), y[train])
        queries = part(X, test, train)
        values = to_numpy(fitted.judge(queries, top=1)[0])
        solved = zip(*fitted.map_solutions("audit", queries, _misfits_and_codes), strict=True)
        misfits[test], codes = (np.concatenate(parts) for parts in solved)
        decisions[test] = values.min(axis=1, keepdims=True)  # a class missing from the training part comes last
        known = to_numpy(fitted.classes_)
        decisions[np.ix_(test, np.searchsorted(classes, known))] = values
        judged[test] = np.isin(y[test], known)
        own = y[test][:, None] == y[train]
        for place, weights in enumerate((np.where(own, codes, 0.0), np.where(own, 0.0, codes))):
            columns, sizes = _largest(weights)
            kept[2 * place][test, : columns.shape[1]] = np.where(columns >= 0, train[columns], -1)
            kept[2 * place + 1][test, : sizes.shape[1]] = sizes
    return HeldOut(decisions, [decisions], Witnesses(*kept[:2]), Witnesses(*kept[2:]), misfits, judged)
