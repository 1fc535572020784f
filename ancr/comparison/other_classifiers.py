"""Classifiers from outside the family, each tuned in the same inner folds over a grid of a few points.

A comparison is fair if every method may choose its settings on the training part, and honest about time if no grid is
so long that its method looks slow. Grids have at most twelve points.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.svm import SVC

from ancr.axes.spaces import Space, signed_power, usual_spaces
from ancr.comparison.method import Method


class InnerFolds(BaseEstimator):
    """Stratified folds of a training part: five, or as many as its smallest class has samples.

    Parameters
    ----------
    most : int, default=5
        Folds where every class has enough samples.
    """

    def __init__(self, most: int = 5) -> None:
        self.most = most

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of folds for the labels ``y``."""
        return max(2, min(self.most, int(np.unique(y, return_counts=True)[1].min())))

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield training and test rows of each fold."""
        return StratifiedKFold(self.get_n_splits(X, y)).split(X, y)


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


def rivals(spaces: Sequence[Mapping[str, Any]] | None) -> dict[str, Method]:
    """``{name: Method}`` of softmax, support vector machines, nearest neighbours, forest and boosting.

    Parameters
    ----------
    spaces : list of dict or None
        Parameters of the spaces that ANCR searches, None for the usual ones; powers and widths are searched alike.
    """
    given = usual_spaces() if spaces is None else [Space(**one) for one in spaces]
    unit = all(space.normalize for space in given)
    powers = list(dict.fromkeys(space.power for space in given))
    widths = list(dict.fromkeys(space.gamma for space in given if not space.is_linear))
    search = partial(partial, grid_search, unit=unit)
    trees = partial(partial, grid_search, unit=False)  # a tree does not care about the length of a sample
    costs = [0.1, 1.0, 10.0, 100.0]
    return {
        "Softmax": Method(search(partial(LogisticRegression, max_iter=1000)), {"C": costs}),
        "SVM": Method(search(partial(SVC, kernel="linear")), {"C": costs}),
        "RBF SVM": Method(search(SVC), {"C": costs[1:], "gamma": widths[-4:]}),
        "kNN": Method(search(KNeighborsClassifier), {"n_neighbors": [1, 3, 5, 10], "power": powers}),
        "Random forest": Method(
            trees(partial(RandomForestClassifier, n_estimators=200, random_state=0)), {"min_samples_leaf": [1, 3]}
        ),
        "Gradient boosting": Method(
            trees(partial(HistGradientBoostingClassifier, max_iter=100, random_state=0)), {"max_leaf_nodes": [7, 31]}
        ),
    }


def grid_search(
    estimator: Callable[[], Any], unit: bool = True, power: list[float] | None = None, **grid: Any
) -> GridSearchCV:
    """Grid search by accuracy in `InnerFolds`; ``unit`` scales samples to unit norm, after a power if there are some.

    Parameters
    ----------
    estimator : callable
        Makes the classifier.
    unit : bool
        Scale samples to unit norm.
    power : list of float or None
        Powers to choose from.
    **grid
        Lists of values of the classifier's parameters.
    """
    steps = [SignedPower()] if power else []
    pipeline = make_pipeline(*steps, *([Normalizer()] if unit else []), estimator())
    last = pipeline.steps[-1][0]
    searched = {f"{last}__{name}": values for name, values in grid.items()}
    if power:
        searched["signedpower__power"] = power
    return GridSearchCV(pipeline, searched, cv=InnerFolds())
