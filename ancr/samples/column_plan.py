"""How the columns of samples are prepared, and the spaces in which prepared columns are searched."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from ancr.axes.spaces import Space

# Samples of standardized columns keep their norms, which say how far a sample is from the mean of all. The widths are
# multiples of what scikit-learn calls "scale".
SPACES_OF_COLUMNS = [
    Space(normalize=False),
    *(Space("rbf", gamma=gamma, normalize=False) for gamma in (0.125, 0.25, 0.5, 1.0, 2.0)),
]


class StandardColumns(StandardScaler):
    """Columns with zero mean and the same variance 1/d: the squared norm of a sample is 1 on average.

    So λ and the width of a kernel mean the same for any number of columns. Samples at unit norm do not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.samples.column_plan import StandardColumns
    >>> samples = np.random.default_rng(0).random((50, 4)) * [1, 10, 100, 1000]
    >>> float(np.square(StandardColumns().fit_transform(samples)).sum(axis=1).mean().round(6))
    1.0
    """

    def transform(self, X: np.ndarray, copy: bool | None = None) -> np.ndarray:
        """Scale the columns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        copy : bool or None
            As for ``StandardScaler``.
        """
        return super().transform(X, copy) / self.n_features_in_**0.5


@dataclass(frozen=True)
class ColumnPlan:
    """What is done with columns before a classifier sees them: learned on training samples, applied to all samples.

    Attributes
    ----------
    columns : tuple of str
        Names of the columns; empty where they have none, as the pixels of images.
    standardize : bool
        Whether columns are scaled to zero mean and the same variance.
    reason : str
        What is done and why, for people.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.samples.column_plan import ColumnPlan
    >>> people = np.array([[170.0, 0.1], [180.0, 0.4], [190.0, 0.1]])
    >>> plan = ColumnPlan.of(people, ("height", "share"))
    >>> plan.standardize, plan.to_data()
    (True, {'columns': ['height', 'share'], 'standardize': True})
    >>> plan.fit(people)(people).mean(axis=0).round(12).tolist()
    [0.0, 0.0]
    """

    columns: tuple[str, ...] = ()
    standardize: bool = False
    reason: str = ""

    @classmethod
    def of(
        cls,
        vectors: np.ndarray,
        columns: tuple[str, ...],
        standardize: bool | None = None,
        options: tuple[str, str] = ("--standardize", "--no-standardize"),
    ) -> "ColumnPlan":
        """The plan for samples.

        Parameters
        ----------
        vectors : ndarray of shape (n_samples, n_features)
            Samples.
        columns : tuple of str
            Names of their columns. Columns without a name have one unit.
        standardize : bool or None
            What the user asked for; None scales columns with names, unless they share one range.
        options : tuple of str
            How a user asks for columns that are scaled, and for columns as they are.
        """
        if standardize is not None or not columns:
            reason = "columns are standardized" if standardize else "values are used as they are"
            return cls(columns, bool(standardize), reason)
        if not share_one_range(vectors):
            why = f"because their ranges differ ({options[1]} uses them as they are)"
            return cls(columns, True, f"columns are standardized, {why}")
        shared = f"columns share the range {vectors.min():g} to {vectors.max():g} and are used as they are"
        return cls(columns, False, f"{shared} ({options[0]} scales them)")

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> "ColumnPlan":
        """The plan that `to_data` wrote."""
        return cls(tuple(data["columns"]), data["standardize"])

    def to_data(self) -> dict[str, Any]:
        """The plan as names and flags, for the header of a model file."""
        return {"columns": list(self.columns), "standardize": self.standardize}

    @property
    def spaces(self) -> dict[str, Any]:
        """Parameters of a search over settings that fit these columns; none where its defaults do."""
        return {"spaces": SPACES_OF_COLUMNS} if self.columns and self.standardize else {}

    def pipeline(self, classifier: BaseEstimator) -> Pipeline:
        """A classifier behind the preparation of its columns, which is always the first step."""
        return Pipeline([("columns", self._transformer() or "passthrough"), ("classifier", classifier)])

    def fit(self, vectors: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """A function that prepares samples, as learned from these; no samples at all are fine for it."""
        transformer = self._transformer()
        if transformer is None:
            return lambda rows: rows
        fitted = transformer.fit(vectors)
        return lambda rows: fitted.transform(rows) if len(rows) else rows

    def _transformer(self) -> StandardColumns | None:
        return StandardColumns() if self.standardize else None


def share_one_range(samples: np.ndarray) -> bool:
    """Whether columns have one unit, as pixels do and most features of networks.

    At least half of those that are not constant cover at least half of the range of the whole table, and zero lies in
    it.
    """
    low, high = samples.min(axis=0), samples.max(axis=0)
    spread, whole = (high - low)[high > low], high.max() - low.min()
    if len(spread) < 2 or not low.min() <= 0 <= high.max():
        return False
    return bool(np.mean(spread >= whole / 2) >= 0.5)
