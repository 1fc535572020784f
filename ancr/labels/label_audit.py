"""`audit_labels`: settings chosen on the labels as they are, then the audit at these."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.utils import check_consistent_length

from ancr._core.arrays import Array
from ancr._core.checks import check_labels
from ancr._core.messages import naming
from ancr.classifiers.representation import BaseRepresentationClassifier, RepresentationClassifier
from ancr.dictionary.atoms import check_samples
from ancr.labels.audit import LabelAudit, audit_fitted, errors_of, make_audit
from ancr.labels.held_out import judge_in_folds
from ancr.selection.cross_validation import ANCRClassifierCV, RepresentationClassifierCV


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
        A classifier of this package, not fitted. None means `ANCRClassifierCV`, which chooses settings by the Brier
        score of held-out samples: it is bounded, so that wrong labels, on which good settings are sure and contradict,
        do not decide, as they do with a log loss.
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
    if not isinstance(estimator, BaseRepresentationClassifier):
        raise ValueError(f"estimator must be a classifier of ancr, got {type(estimator).__name__}")
    X, y = check_samples(X), check_labels(y)
    check_consistent_length(range(X.shape[0]), y)
    if groups is None:
        return audit_fitted(clone(estimator).fit(X, y), y)
    return _audit_groups(estimator, X, y, check_labels(groups, "groups"))


def _audit_groups(estimator: Any, X: Array, y: np.ndarray, groups: np.ndarray) -> LabelAudit:
    with naming("groups"):
        check_consistent_length(y, groups)
    classes, given = np.unique(y, return_inverse=True)
    folds = _folds_of_groups(given, groups)
    searches = isinstance(estimator, RepresentationClassifierCV)
    fitted = clone(estimator).fit(X, y, groups=groups) if searches else clone(estimator).fit(X, y)
    chosen = RepresentationClassifier(**fitted.best_params_) if searches else estimator
    if not fitted.dictionary_.knows_lengths:
        raise ValueError("groups: kernel='precomputed' has no k(y, y) of samples held out; give a callable kernel")
    judgement = judge_in_folds(chosen, X, y, folds, fitted.space_.part)
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
