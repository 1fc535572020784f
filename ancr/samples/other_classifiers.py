"""Classifiers of scikit-learn in a model file: written by skops, read with trusted types alone."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.neighbors import KNeighborsClassifier

from ancr._core.messages import one_line
from ancr.axes.spaces import signed_power
from ancr.classifiers.explanation import Explanation
from ancr.classifiers.settings import chosen
from ancr.samples.sample_set import encoded
from ancr.selection.folds import groups_for

# What a file may hold beside the types that skops knows to be safe: data structures of scikit-learn, and our own steps.
_TRUSTED = frozenset(
    {
        f"{__name__}.Boosting",
        f"{__name__}.Neighbours",
        f"{__name__}.SignedPower",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.metrics._dist_metrics.EuclideanDistance",
        "sklearn.metrics._dist_metrics.EuclideanDistance32",
        "sklearn.metrics._dist_metrics.EuclideanDistance64",
        "sklearn.neighbors._ball_tree.BallTree",
        "sklearn.neighbors._kd_tree.KDTree",
        "sklearn.tree._tree.Tree",
    }
)


# More columns than this are many for boosting. Then a split looks at so many, whose values fall into so many bins.
_MANY_COLUMNS, _COLUMNS_PER_SPLIT, _BINS = 256, 100, 31


class SignedPower(TransformerMixin, BaseEstimator):
    """sign(x)·|x|^p, as a step of a pipeline.

    Parameters
    ----------
    power : float, default=1.0
        The exponent p.
    """

    def __init__(self, power: float = 1.0) -> None:
        self.power = power

    def fit(self, X: np.ndarray, y: np.ndarray | None = None) -> "SignedPower":
        """Nothing to learn."""
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        """The powers, entry by entry."""
        return signed_power(X, self.power)


class Neighbours(ClassifierMixin, BaseEstimator):
    """The k nearest neighbours, or all samples where there are fewer: small parts of a learning curve.

    Parameters
    ----------
    n_neighbors : int, default=5
        k.
    """

    def __init__(self, n_neighbors: int = 5) -> None:
        self.n_neighbors = n_neighbors

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Neighbours":
        """Keep the samples."""
        self.neighbours_ = KNeighborsClassifier(min(self.n_neighbors, len(X))).fit(X, y)
        self.classes_ = self.neighbours_.classes_
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The most frequent label among the neighbours."""
        return self.neighbours_.predict(X)

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Shares of the classes among the neighbours."""
        return self.neighbours_.predict_proba(X)


class Boosting(ClassifierMixin, BaseEstimator):
    """Gradient boosting: 100 rounds of trees, in `sklearn.ensemble.HistGradientBoostingClassifier`.

    With more than 256 columns each split looks at 100 of them, drawn anew, whose values are in 31 bins: a tenth of the
    time or less, and on columns that say alike no worse.

    Parameters
    ----------
    max_leaf_nodes : int, default=31
        Leaves of a tree.
    """

    def __init__(self, max_leaf_nodes: int = 31) -> None:
        self.max_leaf_nodes = max_leaf_nodes

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Boosting":
        """Grow the trees."""
        many = X.shape[1] > _MANY_COLUMNS
        fewer = {"max_features": _COLUMNS_PER_SPLIT / X.shape[1], "max_bins": _BINS} if many else {}
        trees = HistGradientBoostingClassifier(
            max_iter=100, max_leaf_nodes=self.max_leaf_nodes, random_state=0, **fewer
        )
        self.boosting_ = trees.fit(X, y)
        self.classes_ = self.boosting_.classes_
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The most probable labels."""
        return self.boosting_.predict(X)

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Probabilities of the classes."""
        return self.boosting_.predict_proba(X)


class OtherClassifier(ClassifierMixin, BaseEstimator):
    """A classifier of scikit-learn that answers as the models of this package do, but names no training samples.

    Parameters
    ----------
    method : str
        Its name.
    estimator : classifier or None
        The classifier or search to fit.
    saved : bytes or None
        The fitted classifier as skops wrote it; `fit` then reads it instead.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from ancr.samples.other_classifiers import OtherClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> fitted = OtherClassifier("kNN", KNeighborsClassifier()).fit(X, y.astype(str))
    >>> decisions, probabilities, reasons = fitted.judge(X[:1])
    >>> str(reasons[0].label), len(reasons[0].indices)
    ('0', 0)
    """

    def __init__(self, method: str = "", estimator: Any = None, saved: bytes | None = None) -> None:
        self.method, self.estimator, self.saved = method, estimator, saved

    def fit(self, X: np.ndarray, y: Any, groups: np.ndarray | None = None) -> "OtherClassifier":
        """Fit the classifier on class numbers in the order of a comparison, so that ties fall alike."""
        self.classes_, target = encoded(np.asarray(y).tolist())
        if self.saved is not None:
            self.estimator_ = _read(self.saved)
        else:
            new = clone(self.estimator)
            self.estimator_ = chosen(new.fit(X, target, **groups_for(new, groups)))
        return self

    @property
    def best_estimator_(self) -> "OtherClassifier":
        """The same classifier with what it learned, to be written to a file."""
        return type(self)(self.method, saved=_written(self.estimator_))

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Labels."""
        return self.classes_[self.estimator_.predict(X)]

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Probabilities; not a number where the classifier has none."""
        if not hasattr(self.estimator_, "predict_proba"):
            return np.full((len(X), len(self.classes_)), np.nan)
        return self.estimator_.predict_proba(X)

    def judge(self, X: np.ndarray, top: int = 5) -> tuple[np.ndarray, np.ndarray, list[Explanation]]:
        """Decision values, probabilities and labels, as `RepresentationClassifier.judge`, without training samples."""
        chances = self.predict_proba(X)
        decisions = self.estimator_.decision_function(X) if hasattr(self.estimator_, "decision_function") else chances
        if decisions.ndim == 1:
            decisions = np.stack([-decisions / 2.0, decisions / 2.0], axis=1)
        none = np.array([], int)
        return decisions, chances, [Explanation(label, none, none, none, none) for label in self.predict(X)]


def _written(fitted: Any) -> bytes:
    return _skops().dumps(fitted)


def _read(saved: bytes) -> Any:
    """The classifier that skops wrote.

    Raises
    ------
    ValueError
        In one line, for a type that is not trusted, and for what this scikit-learn cannot read.
    """
    skops = _skops()
    try:
        unknown = sorted(set(skops.get_untrusted_types(data=saved)) - _TRUSTED)
        if not unknown:
            return skops.loads(saved, trusted=sorted(_TRUSTED))
    except Exception as error:  # zipfile, json, skops and scikit-learn raise many kinds
        raise ValueError(f"the classifier in the file cannot be read: {one_line(error)}; train it again") from error
    raise ValueError(f"the classifier in the file is of a type that is not trusted: {unknown[0]}")


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError("models of scikit-learn's classifiers are kept by skops: pip install skops") from error
    return skops.io
