"""An audit of labels: which are suspicious, what they should be, and who says so."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from html import escape
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import has_fit_parameter

from ancr._core.arrays import Array, to_numpy
from ancr._core.checks import check_labels, hinting_at_tables
from ancr._core.messages import naming, shown_chance
from ancr.classifiers.base import BaseRepresentationClassifier
from ancr.classifiers.representation import chosen_classifier
from ancr.dictionary.atoms import check_samples
from ancr.labels.errors import SYSTEMATIC, ErrorCount, Errors, if_all_are_right, repetition
from ancr.labels.held_out import HeldOut, Witnesses, can_leave_out, judge_in_folds, leave_each_out
from ancr.labels.neighbours import NEAR, Pair, leaks, near_duplicates
from ancr.labels.suspicion import by_patterns, evidence_against, odds_against
from ancr.selection.best_of_search import BestOfSearch
from ancr.selection.cross_validation import ANCRClassifierCV
from ancr.selection.temperature import fit_temperature

if TYPE_CHECKING:
    from ancr.labels.audit_display import AuditDisplay

# The least that a suspicious sample keeps of its weight: at zero it could not be judged again.
_LEAST_WEIGHT = 1e-3
# Samples in a short table.
_SHOWN = 10


@dataclass(frozen=True, eq=False)
class LabelAudit:
    """What all other samples say about the label of each.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,)
        The labels given.
    classes : ndarray of shape (n_classes,)
        Sorted labels.
    score : ndarray of shape (n_samples,)
        Log-odds against the given label, larger is more suspicious, see `ancr.labels.suspicion`;
        not a number for a sample that cannot be judged: one whose class has no other, and one of weight zero.
    probability : ndarray of shape (n_samples,)
        Calibrated probability that the given label is right, above 0 and below 1 however clear the case; not a number
        for a sample that cannot be judged.
    suggested : ndarray of shape (n_samples,)
        The label that the other samples suggest.
    speaks_for, speaks_against : Witnesses
        For each sample those that represent it and have its label, and those that have another, with their weights.
    n_errors : ErrorCount
        How many labels are wrong: ``estimate``, ``low`` and ``high``.
    misfit : ndarray of shape (n_samples,)
        Share of a sample's squared length that no others represent.
    precisions : ndarray of shape (n_samples,)
        Expected share of wrong labels among those at least as suspicious.
    classifier : BaseRepresentationClassifier
        What judged; its space measures duplicates and leaks.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ancr import ANCRClassifier, audit_labels
    >>> X, y = load_iris(return_X_y=True)
    >>> y[7] = 2
    >>> audit = audit_labels(X, y, estimator=ANCRClassifier(space="rbf", alpha=0.1))
    >>> int(audit.ranking[0]), int(audit.suggested[7])
    (7, 0)
    """

    labels: np.ndarray
    classes: np.ndarray
    score: np.ndarray
    probability: np.ndarray
    suggested: np.ndarray
    speaks_for: Witnesses
    speaks_against: Witnesses
    n_errors: ErrorCount
    misfit: np.ndarray
    precisions: np.ndarray
    classifier: Any

    @cached_property
    def ranking(self) -> np.ndarray:
        """Samples, the most suspicious first; those that cannot be judged come last."""
        return np.argsort(-self.score, kind="stable")

    @property
    def cannot_be_judged(self) -> np.ndarray:
        """Samples whose class has no other sample, or whose weight is zero."""
        return np.flatnonzero(np.isnan(self.score))

    @property
    def summary(self) -> str:
        """How many labels there are, how many may be wrong, and how many cannot be judged, in one line."""
        unjudged = len(self.cannot_be_judged)
        return f"{len(self.labels)} labels, about {self.n_errors} wrong" + (
            f", {unjudged} cannot be judged" if unjudged else ""
        )

    def _shown(self, i: int) -> str:
        """The probability of a label, as tables show it."""
        return "cannot be judged" if np.isnan(self.probability[i]) else shown_chance(self.probability[i])

    @property
    def confusion(self) -> np.ndarray:
        """How often each label given (row) meets each label suggested (column), in the order of ``classes``."""
        table = np.zeros((len(self.classes),) * 2, int)
        np.add.at(table, tuple(np.searchsorted(self.classes, one) for one in (self.labels, self.suggested)), 1)
        return table

    def is_error(self, precision: float = 0.9) -> np.ndarray:
        """Which labels to call wrong, as many as possible so that this share of them is expected to be.

        Parameters
        ----------
        precision : float, default=0.9
            Between 0 and 1. Higher means fewer and surer.

        Returns
        -------
        ndarray of bool of shape (n_samples,)
            A label that is also the suggested one is never called wrong.
        """
        if not isinstance(precision, Real) or not 0.0 < precision <= 1.0:
            raise ValueError(f"precision must be above 0 and at most 1, got {precision!r}")
        return (self.precisions >= precision) & (self.suggested != self.labels) & np.isfinite(self.score)

    @cached_property
    def duplicates(self) -> list[Pair]:
        """Pairs of samples that are nearly the same, the nearest first."""
        return near_duplicates(self.classifier.dictionary_)

    @property
    def outliers(self) -> np.ndarray:
        """Samples that no others represent, the strangest first: misfits beyond three times the usual spread."""
        low, high = np.percentile(self.misfit, [25, 75])
        strange = np.flatnonzero(self.misfit > high + 3.0 * (high - low))
        return strange[np.argsort(-self.misfit[strange], kind="stable")]

    def leaks(self, X: Any, near: float = NEAR) -> list[Pair]:
        """Rows of another set, such as a test set, that are nearly the same as a sample of this one.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The other set.
        near : float
            Share of the usual distance to the nearest sample below which two count as the same.

        Returns
        -------
        list of Pair
            ``first`` is a sample of the audit, ``second`` a row of X, with their ``distance``; the nearest first.
        """
        return leaks(self.classifier, X, near)

    def to_frame(self) -> Any:
        """A pandas frame with one row per sample, the most suspicious first; the index is the sample."""
        import pandas as pd

        columns = {
            "label": self.labels,
            "suggested": self.suggested,
            "score": self.score,
            "probability": self.probability,
            "misfit": self.misfit,
            "speaks_against": [[index for index, _ in self.speaks_against.of(i)] for i in range(len(self.labels))],
            "speaks_for": [[index for index, _ in self.speaks_for.of(i)] for i in range(len(self.labels))],
        }
        return pd.DataFrame(columns).loc[self.ranking]

    def __str__(self) -> str:
        lines = [self.summary]
        for i in self.ranking[:_SHOWN]:
            judged = not np.isnan(self.probability[i])
            chance = f"right with probability {self._shown(i)}" if judged else self._shown(i)
            lines.append(f"  sample {i:>6}  {self.labels[i]!s:<12} → {self.suggested[i]!s:<12} {chance}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<LabelAudit of {self.summary}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{i}</td><td>{escape(str(self.labels[i]))}</td><td>{escape(str(self.suggested[i]))}</td>"
            f"<td>{self._shown(i)}</td></tr>"
            for i in self.ranking[:_SHOWN]
        )
        head = "<tr><th>sample</th><th>label</th><th>suggested</th><th>probability of the label</th></tr>"
        return f"<p>{escape(self.summary)}</p><table>{head}{rows}</table>"

    def plot(self, *, images: Any = None, top: int = 10, ax: Any = None) -> AuditDisplay:
        """Draw the most suspicious samples, each with those that speak against its label.

        Parameters
        ----------
        images : array-like of shape (n_samples, height, width) or (n_samples, height, width, 3), or None
            An image of each sample; None draws the probabilities of the labels in order instead.
        top : int, default=10
            Samples to draw.
        ax : matplotlib Axes or None
            Where to draw probabilities; images have axes of their own.

        Returns
        -------
        AuditDisplay
            With ``figure_`` and ``axes_``; a notebook shows the figure.
        """
        from ancr.labels.audit_display import AuditDisplay

        return AuditDisplay(self, images, top).plot(ax)


def audit_labels(X: Any, y: Any, *, estimator: Any = None, groups: Any = None) -> LabelAudit:
    """Find the labels that are probably wrong: each sample is judged by all others.

    A sample is coded over all others, without a refit, and its given label is compared with those that they suggest.
    Then suspicious samples lose weight, and all are judged once more.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples; those of other libraries than NumPy are judged on their device, and the audit holds NumPy arrays.
    y : array-like of shape (n_samples,)
        Their labels, some of them wrong.
    estimator : classifier or None, default=None
        A classifier or a search of this package; it is cloned and fitted. None means `ANCRClassifierCV`, which chooses
        settings by the Brier score of held-out samples: it is bounded, so that wrong labels, on which good settings are
        sure and contradict, do not decide, as they do with a log loss.
    groups : array-like of shape (n_samples,) or None, default=None
        Samples of one group (a session, a patient) do not judge each other: they are held out together, in five folds
        or as many as there are groups, each with a fit of its own, and judged once.

    Returns
    -------
    LabelAudit
        ``ranking``, ``score``, ``probability``, ``suggested``, the witnesses, ``n_errors`` and more.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from ancr import ANCRClassifier, audit_labels
    >>> X, y = load_digits(return_X_y=True)
    >>> X, y = X[:400], y[:400]
    >>> y[[10, 20, 30]] = (y[[10, 20, 30]] + 1) % 10
    >>> audit = audit_labels(X, y, estimator=ANCRClassifier(alpha=0.1))
    >>> sorted(audit.ranking[:3].tolist())
    [10, 20, 30]
    """
    estimator = ANCRClassifierCV() if estimator is None else estimator
    if not isinstance(estimator, (BaseRepresentationClassifier, BestOfSearch)):
        raise ValueError(f"estimator must be a classifier of ancr, got {type(estimator).__name__}")
    with hinting_at_tables():
        samples, y = check_samples(X), check_labels(y)
    check_consistent_length(range(samples.shape[0]), y)
    if groups is None:
        return audit_fitted(clone(estimator).fit(X, y), y)  # a frame has names of columns, which warnings use
    return _audit_groups(estimator, X, samples, y, check_labels(groups, "groups"))


def _audit_groups(estimator: Any, given_X: Any, X: Array, y: np.ndarray, groups: np.ndarray) -> LabelAudit:
    with naming("groups"):
        check_consistent_length(y, groups)
    classes, given = np.unique(y, return_inverse=True)
    folds = _folds_of_groups(given, groups)
    searches = {"groups": groups} if has_fit_parameter(estimator, "groups") else {}
    fitted = chosen_classifier(clone(estimator).fit(given_X, y, **searches))
    if not fitted.dictionary_.knows_lengths:
        raise ValueError("groups: space='precomputed' has no k(y, y) of samples held out; give a callable kernel")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the columns of X differ in scale", UserWarning)  # said by the first fit
        judgement = judge_in_folds(fitted, X, y, folds, fitted.space_.part)
    found = errors_of(judgement, given)
    return make_audit(judgement, y, fitted, first=found, last=found, classes=classes)


def _folds_of_groups(given: np.ndarray, groups: np.ndarray) -> list[Any]:
    """Five folds, or as many as there are groups; raises if they leave no label to judge."""
    number = len(np.unique(groups))
    if number < 2:
        raise ValueError("groups must hold at least two groups, got one")
    splitter = StratifiedGroupKFold(min(5, number), shuffle=True, random_state=0)
    folds = list(splitter.split(given, given, groups))
    if not any(np.isin(given[test], given[train]).any() for train, test in folds):
        raise ValueError("groups: every class lies in one group, so that no label can be judged by another group")
    if any(len(np.unique(given[train])) < 2 for train, _ in folds):
        raise ValueError("groups: without one of the folds a single class is left; more groups are needed")
    return folds


def audit_fitted(classifier: Any, labels: np.ndarray, rounds: int = 2) -> LabelAudit:
    """Audit the training samples of a fitted classifier: each judged by all others, without a refit.

    Parameters
    ----------
    classifier : BaseRepresentationClassifier or a search
        Fitted.
    labels : ndarray of shape (n_samples,)
        The labels it was fitted on, those of samples of weight zero among them.
    rounds : int
        Times that samples are judged; after the first, each has the weight that its label is right.
    """
    classifier = chosen_classifier(classifier)
    if reason := can_leave_out(classifier):
        raise ValueError(f"estimator: samples cannot be left out without a refit, because {reason}")
    dictionary = classifier.dictionary_
    given = np.full(dictionary.n_samples, -1)
    given[dictionary.order] = dictionary.labels
    judgement = leave_each_out(classifier)
    first = found = errors_of(judgement, given)
    for _ in range(rounds - 1):
        trusted = np.ones(dictionary.n_samples)
        trusted[judgement.judged] = 1.0 - found.probability()
        trusted = np.maximum(trusted, _LEAST_WEIGHT)
        judgement = leave_each_out(classifier, trusted[dictionary.order])
        found = errors_of(judgement, given, trusted)
    return make_audit(judgement, labels, classifier, first, found)


def errors_of(judgement: HeldOut, given: np.ndarray, trusted: np.ndarray | None = None) -> Errors:
    """What the samples that could be judged say about how many labels are wrong.

    ``trusted`` is how likely an earlier round found each label to be right.

    Errors at random are told best by `evidence_against`, errors that repeat each other by `odds_against`; which of the
    two they are is seen from the most suspicious.
    """
    judged = judgement.judged
    if not judged.any():
        raise ValueError("y: every class has one sample, so that no label can be judged by others")
    decisions, labels = judgement.decisions[judged], given[judged]
    suggested = decisions.argmax(axis=1)
    expected = if_all_are_right(decisions, labels)
    errors = Errors(odds_against(decisions, fit_temperature(decisions, labels)[0]), labels, suggested, expected)
    if repetition(errors.probability(), suggested, labels, decisions.shape[1]) > SYSTEMATIC:
        return errors
    opinions = [values[judged] for values in judgement.opinions]
    trusted = None if trusted is None else trusted[judged]
    against = evidence_against([*opinions, by_patterns(opinions[-1], labels)], labels, trusted)
    return Errors(against, labels, suggested, expected)


def make_audit(
    judgement: HeldOut, labels: np.ndarray, classifier: Any, first: Errors, last: Errors, classes: Any = None
) -> LabelAudit:
    """An audit from the last judgement of labels, and what two rounds said.

    ``classes`` are those that the judgement compares; None means those of the classifier.

    Later rounds rank better, but with the weights of suspicious samples gone, they count too few of them: so the first
    one counts and the last one ranks.
    """
    judged = judgement.judged
    last.share = first.share
    number, classes = len(labels), to_numpy(classifier.classes_) if classes is None else classes
    score, probability, precisions = np.full(number, np.nan), np.full(number, np.nan), np.zeros(number)
    score[judged], precisions[judged] = last.scores, last.precision()
    probability[judged] = np.maximum(1.0 - last.probability(), 0.5 / (judged.sum() + 1.0))  # n labels tell no less
    return LabelAudit(
        labels,
        np.unique(labels),
        score,
        probability,
        np.where(judged, classes[judgement.decisions.argmax(axis=1)], labels),
        judgement.speaks_for,
        judgement.speaks_against,
        first.count,
        judgement.misfits,
        precisions,
        classifier,
    )
