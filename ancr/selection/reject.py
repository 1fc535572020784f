"""Answers withheld where they cannot be trusted."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import check_is_fitted

from ancr._core.arrays import Array, concat, like, to_numpy
from ancr.certificate.solution import Solution
from ancr.selection.calibration import Trust
from ancr.selection.cross_validation import ANCRClassifierCV


@dataclass(eq=False, repr=False)
class RejectOption(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """A search whose answers are withheld where they are not sure enough.

    The confidence of an answer is the probability of its class. Of the held-out samples, which the search keeps, those
    above a threshold are accepted, and the share of right ones among them has an interval of 95 %
    (``trust_.interval``). The threshold is the lowest, of a few that are looked at, for which that interval lies above
    ``precision``. Few samples do not support a high precision, however many of them are right, and then every answer is
    withheld: 0.9 takes 36 accepted samples without an error, 0.95 takes 72. Without a rejected query its labels are
    those of the search.

    Parameters
    ----------
    estimator : RepresentationClassifierCV or None, default=None
        The search; None means `ANCRClassifierCV`. One that is fitted already is passed as ``FrozenEstimator(search)``
        (`sklearn.frozen`).
    precision : float, default=0.95
        Share of accepted answers that are right, as far as queries are like the training samples.
    reject_label : number, str or None, default=None
        What stands in place of a withheld label; None means −1 for numbers, or one less than the smallest label where
        that is negative, and ``"rejected"`` for strings.

    Attributes
    ----------
    estimator_ : RepresentationClassifierCV
        The fitted search.
    trust_ : Trust
        What was learned: ``trust_.threshold``, ``trust_.coverage``, the share of held-out samples accepted, and
        ``trust_.interval``, that of the share of right answers among them.
    reject_label_ : number or str
        The label that stands for no answer.
    classes_ : array of shape (n_classes,)
        Labels.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from ancr.model_selection import RejectOption
    >>> from sklearn.model_selection import train_test_split
    >>> X, y = load_digits(return_X_y=True)
    >>> X, queries, y, truth = train_test_split(X, y, train_size=400, random_state=0)
    >>> clf = RejectOption(precision=0.98).fit(X, y)
    >>> answers = clf.predict(queries)
    >>> accepted = answers != clf.reject_label_
    >>> bool(accepted.all()), bool((answers == truth)[accepted].mean() >= 0.98)
    (False, True)
    >>> few = RejectOption(precision=0.98).fit(X[:60], y[:60])  # 60 samples cannot support that
    >>> float(few.trust_.coverage)
    0.0
    """

    estimator: Any = None
    _: KW_ONLY
    precision: float = 0.95
    reject_label: Any = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "precision": [Interval(Real, 0, 1, closed="right")],
        "reject_label": [Integral, Real, str, None],
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Any:
        """Fit the search, and learn how far its answers can be trusted.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the samples, for the search.
        **fit_params : dict
            ``groups``, for the search.

        Returns
        -------
        self
        """
        self._validate_params()
        fit_params |= {} if sample_weight is None else {"sample_weight": sample_weight}
        fitted = clone(ANCRClassifierCV() if self.estimator is None else self.estimator).fit(X, y, **fit_params)
        if not hasattr(fitted, "held_out_"):
            raise ValueError(f"estimator must be a search of ancr, which holds samples out, got {self.estimator!r}")
        label, held = self._missing_label(fitted.classes_), fitted.held_out_
        temperatures = fitted.best_estimator_.temperatures
        self.trust_ = Trust.learn(held.decisions, held.labels, temperatures, self.precision)
        self.estimator_, self.reject_label_, self.classes_ = fitted, label, fitted.classes_
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    @property
    def n_features_in_(self) -> int:
        """Number of features seen by `fit`."""
        return self.estimator_.n_features_in_

    @property
    def feature_names_in_(self) -> Any:
        """Names of the features, if X had string names."""
        return self.estimator_.feature_names_in_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(ANCRClassifierCV() if self.estimator is None else self.estimator)
        tags.input_tags.pairwise, tags.array_api_support = inner.input_tags.pairwise, inner.array_api_support
        return tags

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, rejected or not, as the search gives them.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        array of shape (n_queries, n_classes)
        """
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    def _missing_label(self, classes: Any) -> Any:
        """The label that stands for no answer."""
        missing, classes = self.reject_label, to_numpy(classes)
        if missing is None:
            missing = "rejected" if classes.dtype.kind in "OUS" else min(-1, int(classes.min()) - 1)
        if np.isin(missing, classes):
            raise ValueError(f"reject_label must not be one of the labels in y; {missing!r} is, choose another")
        return missing

    def predict(self, X: Any) -> Any:
        """Label of the class that represents each query best, or ``reject_label_`` where it cannot be trusted.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        array of shape (n_queries,)
        """
        winners, sure = self._judged("predict", X)
        if np.isinf(self.trust_.threshold):
            warnings.warn(self._why_nothing(), UserWarning, stacklevel=2)
        labels = to_numpy(self.classes_)[to_numpy(winners)]
        both = np.result_type(labels.dtype, np.asarray(self.reject_label_).dtype)
        # Numbers stay numbers; otherwise labels and the reject label keep their own types.
        numbers = labels.dtype.kind in "iuf" and both.kind in "if"
        labels = labels.astype(both if numbers else object)
        labels[to_numpy(sure) < self.trust_.threshold] = self.reject_label_
        return like(labels, winners) if numbers else labels

    def _why_nothing(self) -> str:
        """Why every answer is withheld."""
        right = self.estimator_.held_out_.right
        return (
            f"the {len(right)} held-out samples, {int(right.sum())} of them recognised, do not support "
            f"precision={self.trust_.precision:g} at any threshold: every answer is withheld. "
            "Give more labelled samples or ask for a lower precision."
        )

    def confidence(self, X: Any) -> Array:
        """Probability that an answer is right: that of its class, as by the search's `predict_proba`.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        array of shape (n_queries,)
        """
        return self._judged("confidence", X)[1]

    def _judged(self, method: str, X: Any) -> tuple[Array, Array]:
        """The winning class of each query and its confidence, from the decision values that `predict` compares."""
        check_is_fitted(self)
        best = self.estimator_.best_estimator_

        def judge(solution: Solution) -> tuple[Array, Array]:
            return best.winners(solution), best.decide(solution)

        winners, decisions = (concat(part) for part in zip(*best.map_solutions(method, X, judge), strict=True))
        return winners, self.trust_.confidence(decisions)
