"""What every classifier of the family answers besides labels: decision values, probabilities, codes, explanations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from numbers import Integral
from typing import Any

from sklearn.metrics import accuracy_score

from ancr._core.arrays import Array, concat, to_numpy
from ancr.axes.rules import class_residuals
from ancr.certificate.solution import Solution
from ancr.classifiers.explanation import Explanation, explain_block
from ancr.classifiers.probabilities import Temperatures, named_temperatures
from ancr.classifiers.representation import CodingClassifier


@dataclass(kw_only=True, eq=False, repr=False)
class BaseRepresentationClassifier(CodingClassifier):
    """What all classifiers of the family share.

    A subclass is a dataclass: its fields are the parameters that a user may choose, in addition to those of this
    class, and its other class attributes fix what the method fixes. So a parameter is declared once.
    """

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy: the share of queries whose label is predicted correctly.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries.
        y : array-like of shape (n_queries,)
            Their true labels.
        sample_weight : array-like of shape (n_queries,) or None
            Weights of the queries.

        Returns
        -------
        float
        """
        truth, predicted, weight = (to_numpy(values) for values in (y, self.predict(X), sample_weight))
        return accuracy_score(truth, predicted, sample_weight=weight)

    def decision_function(self, X: Any) -> Array:
        """Decision values of the rule; larger is better.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        array of shape (n_queries,) for two classes, else (n_queries, n_classes)
            For two classes, the value of ``classes_[1]`` minus that of ``classes_[0]``.
        """
        values = self._decisions("decision_function", X)
        return values[:, 1] - values[:, 0] if values.shape[1] == 2 else values

    def class_decisions(self, X: Any) -> Array:
        """Decision values of the rule, one per class for two classes too; larger is better.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        array of shape (n_queries, n_classes)
        """
        return self._decisions("class_decisions", X)

    @property
    def temperatures(self) -> Temperatures:
        """What turns decision values into probabilities."""
        return named_temperatures(self.temperature)

    def predict_proba(self, X: Any) -> Array:
        """Softmax of the decision values over ``temperature``, or its mean over several.

        A ranking of the classes scaled to sum to one. It is *not* calibrated: at a given temperature, 0.9 does
        not mean that nine out of ten such queries are right. Those that a search learns are.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        array of shape (n_queries, n_classes)
        """
        return self.temperatures.probabilities(self._decisions("predict_proba", X))

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithm of `predict_proba`, finite where probabilities are too small for their precision.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        array of shape (n_queries, n_classes)

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_iris
        >>> from ancr import ANCRClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = ANCRClassifier().fit(X[::2], y[::2])
        >>> bool(np.allclose(np.exp(clf.predict_log_proba(X[:4])), clf.predict_proba(X[:4])))
        True
        """
        return self.temperatures.log_probabilities(self._decisions("predict_log_proba", X))

    def residuals(self, X: Any) -> Array:
        """Class residuals r_i = ‖y − X_i c_i‖, which do not depend on the rule.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries; with ``normalize=True`` y is the query at unit norm. With ``normalize=False`` and Σc = 1 nothing
            fixes an origin: samples and queries are then measured from the mean training sample.

        Returns
        -------
        array of shape (n_queries, n_classes)
            Columns in the order of ``classes_``.
        """
        return concat(self.map_solutions("residuals", X, self.residuals_of))

    def residuals_of(self, solution: Solution) -> Array:
        """Class residuals of coded queries."""
        seen = self.seen_by_rule(solution.queries)
        return class_residuals(seen, solution.sorted_codes) / seen.dictionary.units

    def codes(self, X: Any) -> Any:
        """Codes of the queries.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        array or CSR array of shape (n_queries, n_train)
            Columns in the order of the samples given to `fit`; NumPy codes are CSR where the set makes them sparse,
            codes of other libraries are dense.
        """
        return concat(self.map_solutions("codes", X, lambda solution: solution.codes))

    def explain(self, X: Any, top: int = 5) -> list[Explanation]:
        """The training samples that decided each query.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries.
        top : int, default=5
            Samples to show for each query; fewer where the code uses fewer.

        Returns
        -------
        list of Explanation
            One per query, with ``indices``, ``weights``, ``labels`` and ``shares`` of its strongest samples.
        """
        return list(chain.from_iterable(self.map_solutions("explain", X, self._explainer(top))))

    def _explainer(self, top: int) -> Callable[[Solution], list[Explanation]]:
        if not isinstance(top, Integral) or top < 1:
            raise ValueError(f"top must be a positive integer, got {top!r}")

        def explain(solution: Solution) -> list[Explanation]:
            labels = to_numpy(self.labels(self.winners(solution)))
            return explain_block(self.seen_by_rule(solution.queries), solution.sorted_codes, labels, top)

        return explain

    def judge(self, X: Any, top: int = 5) -> tuple[Array, Array, list[Explanation]]:
        """Decision values, probabilities and explanations together, from coding each query once.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries.
        top : int, default=5
            Samples to show for each query, as in `explain`.

        Returns
        -------
        decisions : array of shape (n_queries, n_classes)
            Decision values of the rule, one per class for two classes too.
        probabilities : array of shape (n_queries, n_classes)
            As by `predict_proba`.
        explanations : list of Explanation
            As by `explain`.
        """
        explain = self._explainer(top)

        def both(solution: Solution) -> tuple[Array, list[Explanation]]:
            return self.decide(solution), explain(solution)

        decisions, explanations = zip(*self.map_solutions("judge", X, both), strict=True)
        decisions = concat(decisions)
        return decisions, self.temperatures.probabilities(decisions), list(chain.from_iterable(explanations))
