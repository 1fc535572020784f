"""A table of pandas or polars to labels in one object, and explanations in the user's columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from ancr._core.messages import shown_cells
from ancr.classifiers.explanation import Explanation
from ancr.samples.column_plan import TableColumns, chooses_spaces
from ancr.samples.raw_columns import frame_rows
from ancr.samples.sample_set import shown_cell
from ancr.selection.cross_validation import ANCRClassifierCV

_SHOWN = 3  # columns in which a query is least like its witnesses


@dataclass(frozen=True)
class Unlike:
    """A column in which a query differs from the samples that decided.

    Attributes
    ----------
    column : str
        Its name.
    value : str
        The query's value.
    witnesses : str
        Their values: from the lowest to the highest number, or the words in the order of their weights.
    share : float
        Its share of the squared distance between the query and the mean of the witnesses, by their weights.
    """

    column: str
    value: str
    witnesses: str
    share: float

    def __str__(self) -> str:
        return f"{self.column} {self.value or '–'} (witnesses {self.witnesses or '–'})"


@dataclass(frozen=True)
class RowExplanation:
    """Why a row of a table got its label: the rows of the training table that decided, in the user's columns.

    Attributes
    ----------
    label : object
        The predicted class.
    why : Explanation
        Positions, weights and classes of the witnesses.
    rows : list of dict
        Their values, by column, as they were given.
    unlike : list of Unlike
        The columns in which the query is least like them, the first one most.

    Examples
    --------
    >>> import pandas as pd
    >>> import ancr
    >>> pets = pd.DataFrame({"kg": [4.1, 3.8, 30.5, 25.0], "coat": ["long", "short", "short", "long"]})
    >>> pipeline = ancr.table_pipeline(ancr.ANCRClassifier()).fit(pets, ["cat", "cat", "dog", "dog"])
    >>> why = pipeline.explain(pd.DataFrame({"kg": [27.0], "coat": ["short"]}))[0]
    >>> str(why.label), why.rows[0]["coat"]
    ('dog', 'short')
    """

    label: object
    why: Explanation
    rows: list[dict[str, Any]]
    unlike: list[Unlike]

    def __str__(self) -> str:
        lines = [f"{self.label}, because of"]
        for place, label, weight, row in zip(
            self.why.indices, self.why.labels, self.why.weights, self.rows, strict=True
        ):
            cells = [(name, shown_cell(value)) for name, value in row.items()]
            lines.append(f"  row {place + 1}, {label}, weight {weight:+.3f}: {shown_cells(cells)}")
        return "\n".join([*lines, *(f"  unlike in {each}, {each.share:.0%}" for each in self.unlike)])


class TablePipeline(Pipeline):
    """Columns of a table, then a classifier: a scikit-learn pipeline that explains itself in the table's columns.

    Made by `table_pipeline`.

    Examples
    --------
    >>> import ancr
    >>> pipeline = ancr.table_pipeline(ancr.ANCRClassifier())
    >>> pipeline = pipeline.fit([[4.1, 1], [3.8, 0], [30.5, 1], [25.0, 0]], list("ccdd"))
    >>> pipeline.predict([[27.0, 1]]).tolist()
    ['d']
    """

    def fit(self, X: Any, y: Any = None, **params: Any) -> "TablePipeline":
        """Prepare the columns and train the classifier; a search without spaces gets those that suit the columns.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
            The table.
        y : array-like of shape (n_samples,)
            Labels.
        **params
            As for `sklearn.pipeline.Pipeline`.
        """
        before = [(step, dict(vars(step))) for _, step in self.steps if hasattr(step, "__dict__")]
        try:
            return self._fit_steps(X, y, params)
        except BaseException:  # columns of this table before a classifier of the last one would answer wrongly
            for step, state in before:
                vars(step).clear()
                vars(step).update(state)
            raise

    def _fit_steps(self, X: Any, y: Any, params: dict[str, Any]) -> "TablePipeline":
        search = self[-1]
        if not chooses_spaces(search):
            return super().fit(X, y, **params)
        spaces = self[0].decided(X, y).spaces
        try:
            search.set_params(**spaces)
            return super().fit(X, y, **params)
        finally:
            search.set_params(spaces=None)

    def explain(self, X: Any, top: int = 5) -> list[RowExplanation]:
        """Explanations of predictions.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
            The table.
        top : int
            Witnesses of each row.
        """
        columns, prepared = self[0], self[:-1].transform(X)
        found = self[-1].explain(prepared, top=top)
        names = columns.plan_.names
        read = list(columns.plan_.kinds) if hasattr(X, "columns") else names
        _, queries = frame_rows(X, read, columns.plan_.kinds)
        unlike = unlike_columns(columns, prepared, dict(zip(read, queries.T, strict=True)), found)
        return [
            RowExplanation(why.label, why, [dict(zip(names, columns.rows_[i], strict=True)) for i in why.indices], each)
            for why, each in zip(found, unlike, strict=True)
        ]


def table_pipeline(
    classifier: BaseEstimator | None = None,
    *,
    kinds: Mapping[str, str] | None = None,
    standardize: bool | None = None,
) -> TablePipeline:
    """A classifier for tables as people have them: units, gaps, categories, dates, texts.

    Parameters
    ----------
    classifier : estimator or None, default=None
        Any classifier of scikit-learn's kind; None means `ancr.ANCRClassifierCV`, which chooses its settings.
    kinds : dict or None, default=None
        What some columns are: ``"number"``, ``"yes/no"``, ``"date"``, ``"category"``, ``"text"``, ``"text:MODEL"`` or
        ``"drop"``, by name; the others are recognised. MODEL is the folder of a sentence-transformers model, or its
        name in the cache of Hugging Face (``pip install sentence-transformers``); nothing is downloaded.
    standardize : bool or None, default=None
        Whether every column counts the same; None leaves it to the training samples where all columns are numbers.

    Returns
    -------
    TablePipeline
        With ``fit``, ``predict``, ``predict_proba`` and ``explain``. ``pipeline["columns"].plan_.reason`` says in a
        line what was done with which columns.

    Examples
    --------
    >>> import pandas as pd
    >>> import ancr
    >>> pets = pd.DataFrame(
    ...     {"kg": [4.1, 3.8, None, 30.5, 25.0, 28.0], "coat": ["long", "short", "long", "short", "short", "long"]}
    ... )
    >>> pipeline = ancr.table_pipeline(ancr.ANCRClassifier()).fit(pets, ["cat", "cat", "cat", "dog", "dog", "dog"])
    >>> pipeline.predict(pd.DataFrame({"coat": ["curly"], "kg": [27.0]})).tolist()
    ['dog']
    """
    columns = TableColumns(kinds, standardize)
    return TablePipeline(
        [("columns", columns), ("classifier", ANCRClassifierCV() if classifier is None else classifier)]
    )


def unlike_columns(
    columns: TableColumns,
    prepared: np.ndarray,
    cells: Mapping[str, np.ndarray],
    found: Sequence[Explanation],
    rows: np.ndarray | None = None,
) -> list[list[Unlike]]:
    """The columns in which queries are least like their witnesses; none where a table has one column.

    Parameters
    ----------
    columns : TableColumns
        Fitted on the training rows.
    prepared : ndarray of shape (n_queries, n_features)
        Queries as the classifier saw them.
    cells : mapping
        Values of the queries by column.
    found : sequence of Explanation
        Their witnesses, as positions among the rows.
    rows : ndarray or None
        Rows of the table, before preparation; None means those that the columns were fitted on.
    """
    rows = columns.rows_ if rows is None else rows
    if len(columns.plan_.used) < 2:
        return [[] for _ in found]
    named = np.unique(np.concatenate([why.indices for why in found]))
    training = columns.transform(rows[named])
    answers: list[list[Unlike]] = []
    for number, why in enumerate(found):
        weights = np.abs(np.asarray(why.weights, float))
        if not len(weights) or not weights.sum():
            answers.append([])
            continue
        centre = weights @ training[np.searchsorted(named, why.indices)] / weights.sum()
        gaps = np.bincount(columns.sources_, np.square(prepared[number] - centre), len(columns.plan_.columns))
        shares = gaps / (gaps.sum() or 1.0)
        order = [place for place in np.argsort(-gaps, kind="stable")[:_SHOWN] if gaps[place]]
        names = columns.plan_.names
        answers.append(
            [
                Unlike(
                    names[place],
                    shown_cell(cells[names[place]][number]),
                    _values_said(rows[why.indices, place]),
                    float(shares[place]),
                )
                for place in order
            ]
        )
    return answers


def _values_said(values: np.ndarray) -> str:
    """The values of witnesses in a column: a range of numbers, or words."""
    if isinstance(values[0], float | np.floating):
        known = values[~np.isnan(values.astype(float))].astype(float)
        low, high = (shown_cell(end) for end in (known.min(), known.max())) if len(known) else ("", "")
        return low if low == high else f"{low} to {high}"
    return ", ".join(dict.fromkeys(shown_cell(value) or "–" for value in values))
