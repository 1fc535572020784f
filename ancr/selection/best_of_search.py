"""The answers of a search are those of the classifier that it chose."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from ancr._core.arrays import Array
from ancr.axes.spaces import Space
from ancr.classifiers import RepresentationClassifier
from ancr.classifiers.explanation import Explanation
from ancr.dictionary.atoms import BaseDictionary
from ancr.solvers import Solver


class BestOfSearch:
    """Delegates to ``best_estimator_``, as scikit-learn's searches do."""

    best_estimator_: RepresentationClassifier

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")

    @property
    def _best(self) -> RepresentationClassifier:
        check_is_fitted(self)
        return self.best_estimator_

    @property
    def classes_(self) -> Any:
        """Labels."""
        return self.best_estimator_.classes_

    @property
    def n_features_in_(self) -> int:
        """Number of features seen by `fit`."""
        return self.best_estimator_.n_features_in_

    @property
    def feature_names_in_(self) -> Any:
        """Names of the features, if X had string names."""
        return self.best_estimator_.feature_names_in_

    @property
    def dictionary_(self) -> BaseDictionary:
        """Atoms and class blocks."""
        return self.best_estimator_.dictionary_

    @property
    def space_(self) -> Space:
        """Where samples live."""
        return self.best_estimator_.space_

    @property
    def solver_(self) -> Solver:
        """The solver, prepared for the dictionary."""
        return self.best_estimator_.solver_

    def predict(self, X: Any) -> Any:
        """Label of the class that represents each query best, see `RepresentationClassifier.predict`."""
        return self._best.predict(X)

    def predict_proba(self, X: Any) -> Array:
        """Softmax of the decision values, averaged over the temperatures that held-out samples leave likely.

        Calibrated to the extent that queries resemble the training samples, and never 1: n right answers of n do not
        say that the next one is right.
        """
        return self._best.predict_proba(X)

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithm of `predict_proba`."""
        return self._best.predict_log_proba(X)

    def decision_function(self, X: Any) -> Array:
        """Decision values of the rule, see `RepresentationClassifier.decision_function`."""
        return self._best.decision_function(X)

    def class_decisions(self, X: Any) -> Array:
        """Decision values of the rule, one per class for two classes too."""
        return self._best.class_decisions(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy: the share of queries whose label is predicted correctly."""
        return self._best.score(X, y, sample_weight)

    def residuals(self, X: Any) -> Array:
        """Class residuals, see `RepresentationClassifier.residuals`."""
        return self._best.residuals(X)

    def codes(self, X: Any) -> Any:
        """Codes of the queries, see `RepresentationClassifier.codes`."""
        return self._best.codes(X)

    def explain(self, X: Any, top: int = 5) -> list[Explanation]:
        """The training samples that decided each query, see `RepresentationClassifier.explain`."""
        return self._best.explain(X, top)

    def judge(self, X: Any, top: int = 5) -> tuple[Array, Array, list[Explanation]]:
        """Decision values, probabilities and explanations together, see `RepresentationClassifier.judge`."""
        return self._best.judge(X, top)
