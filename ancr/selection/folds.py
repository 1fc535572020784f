"""Folds in which settings are scored: the user's, stratified ones that keep groups together, or parts of each class."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils.validation import has_fit_parameter

from ancr._core.arrays import Array, is_non_numpy, take_rows, to_numpy, unit_rows
from ancr._core.messages import naming

Fold = tuple[np.ndarray, np.ndarray]
# What `cv` may be besides what scikit-learn takes, and into how many parts it divides each class.
CLUSTERS, PARTS = "clusters", 3


@dataclass(frozen=True)
class Splits:
    """The folds of training samples, given by the numbers of those to divide.

    Attributes
    ----------
    cv : object
        The user's ``cv``; None means five stratified folds, fewer where classes or groups are few, and ``"clusters"``
        parts of each class that lie together.
    X, y, groups : array
        All training samples.
    used : ndarray of int
        Those of some weight; a splitter of the user sees all samples.
    """

    cv: Any
    X: Array
    y: np.ndarray
    groups: np.ndarray | None
    used: np.ndarray

    def __call__(self, rows: np.ndarray) -> list[Fold]:
        """Folds of some of the used samples; those of a user's splitter divide all of them."""
        if self.cv is None:
            return self._stratified(self.used[rows])
        return self._clusters(self.used[rows]) if isinstance(self.cv, str) else self._of_the_user

    def _clusters(self, chosen: np.ndarray) -> list[Fold]:
        """Fold k holds out part k of each class."""
        parts = parts_of_classes(to_numpy(take_rows(self.X, chosen)), self.y[chosen])
        if not parts.any():
            raise ValueError(f"cv={CLUSTERS!r} divides classes, but every class in y has one sample")
        return [(np.flatnonzero(parts != part), np.flatnonzero(parts == part)) for part in np.unique(parts)]

    def _stratified(self, chosen: np.ndarray) -> list[Fold]:
        groups = None if self.groups is None else self.groups[chosen]
        kind = StratifiedKFold if groups is None else StratifiedGroupKFold
        # Five folds, or as many as the largest class has samples and as there are groups.
        most = int(np.unique(self.y[chosen], return_counts=True)[1].max())
        most = most if groups is None else min(most, len(np.unique(groups)))
        splitter = kind(min(5, max(2, most)), shuffle=True, random_state=0)
        return list(splitter.split(chosen[:, None], self.y[chosen], groups))

    @cached_property
    def _of_the_user(self) -> list[Fold]:
        """Drawn once: the same for all settings, even if the splitter draws others each time."""
        n_samples = len(self.y)
        # A splitter wants samples to count them; those on a device stay there.
        X = np.arange(n_samples)[:, None] if is_non_numpy(self.X) else self.X
        drawn = check_cv(self.cv, self.y, classifier=True).split(X, self.y, self.groups)
        position = np.full(n_samples, -1)
        position[self.used] = np.arange(len(self.used))
        return [_among(position, *fold) for fold in _checked_folds(drawn, n_samples)]


def groups_for(estimator: Any, groups: np.ndarray | None) -> dict[str, np.ndarray]:
    """``{"groups": groups}`` for a search that divides its samples into folds; empty for others, and for one group."""
    if groups is None or len(np.unique(groups)) < 2:
        return {}
    takes = isinstance(estimator, GridSearchCV) or has_fit_parameter(estimator, "groups")
    return {"groups": groups} if takes else {}


def parts_of_classes(samples: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The part of its class that each sample belongs to: a third along the direction in which the class varies most.

    Samples that are nearly the same lie next to each other in every direction, so nearly all of them share a part. A
    class of fewer samples than parts has one in each of the first parts.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.selection.folds import parts_of_classes
    >>> angles = np.array([0.0, 0.5, 1.0, 0.01, 0.51, 1.01])
    >>> samples = np.column_stack([np.cos(angles), np.sin(angles)])
    >>> parts = parts_of_classes(samples, np.zeros(6, int))
    >>> bool((parts[:3] == parts[3:]).all()), np.bincount(parts).tolist()
    (True, [2, 2, 2])
    """
    parts = np.zeros(len(labels), int)
    for label in np.unique(labels):
        own = np.flatnonzero(labels == label)
        rows = unit_rows(samples[own].astype(float))
        with np.errstate(all="ignore"):  # copies of one sample vary in no direction
            along = PCA(1, random_state=0).fit_transform(rows)[:, 0] if len(own) > 1 else np.zeros(1)
        for part, some in enumerate(np.array_split(np.argsort(along, kind="stable"), PARTS)):
            parts[own[some]] = part
    return parts


def _among(position: np.ndarray, train: np.ndarray, test: np.ndarray) -> Fold:
    """A fold in the numbers of the used samples."""
    train, test = position[train], position[test]
    return train[train >= 0], test[test >= 0]


def _checked_folds(drawn: Iterable[Any], n_samples: int) -> list[Fold]:
    """The folds of a user's ``cv`` as pairs of row numbers."""
    with naming("cv"):
        folds = [(train, test) for train, test in drawn]
    if not folds:
        raise ValueError("cv gives no folds; an iterator is empty once it was used: pass a list")
    return [(_rows_of_part(train, n_samples), _rows_of_part(test, n_samples)) for train, test in folds]


def _rows_of_part(part: Any, n_samples: int) -> np.ndarray:
    """One part of a fold, given as row numbers or as one bool for each sample."""
    with naming("cv"):
        rows = np.asarray(to_numpy(part))
    if rows.dtype == bool and rows.shape == (n_samples,):
        rows = np.flatnonzero(rows)
    if rows.ndim != 1 or not rows.size or rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= n_samples:
        raise ValueError(f"cv: each part of a fold must hold at least one of the rows 0 to {n_samples - 1}")
    return rows
