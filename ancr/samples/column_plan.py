"""How the columns of samples are prepared, and the spaces in which prepared columns are searched."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ancr._core.messages import counted, joined
from ancr.axes.spaces import Space
from ancr.samples.column_kinds import ASKED, Column, base_kind, columns_of
from ancr.samples.column_steps import category_steps, gap_steps, number_steps, text_steps
from ancr.samples.raw_columns import frame_rows
from ancr.samples.table_files import some

# Samples of standardized columns keep their norms, which say how far a sample is from the mean of all. The widths are
# multiples of what scikit-learn calls "scale".
SPACES_OF_COLUMNS = [
    Space(normalize=False),
    *(Space("rbf", gamma=gamma, normalize=False) for gamma in (0.125, 0.25, 0.5, 1.0, 2.0)),
]
_NUMBERS = ("number", "yes/no", "date")
# Samples whose neighbours tell whether to standardize; of more, a random part.
_MOST_ASKED = 2000
_SHOWN_NAMES = 6
_KINDS_IN_WORDS = {"number": None, "yes/no": "yes/no", "date": None, "category": "categories", "text": None}


@dataclass(frozen=True)
class ColumnPlan:
    """What is done with columns before a classifier sees them: learned on training samples, applied to all samples.

    Attributes
    ----------
    columns : tuple of Column
        The columns and what they are; empty where they have no names, as the pixels of images.
    standardize : bool or None
        Whether every column counts the same: numbers at zero mean and unit variance, categories and texts with the
        variance of one number. None leaves it to the training samples.
    is_likely : bool
        What to do where the training samples do not tell.
    reason : str
        What is done and why, for people.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.samples.column_plan import ColumnPlan
    >>> people = np.array([[170.0, 0.1], [180.0, np.nan], [190.0, 0.4]])
    >>> plan = ColumnPlan.of(people, ("height", "share"), standardize=True)
    >>> [column.kind for column in plan.columns], plan.names
    (['number', 'number'], ('height', 'share'))
    >>> plan.fit(people)(people).mean(axis=0).round(12).tolist()
    [0.0, 0.0, 0.0]
    """

    columns: tuple[Column, ...] = ()
    standardize: bool | None = False
    is_likely: bool = True
    reason: str = ""

    @classmethod
    def of(
        cls,
        rows: np.ndarray,
        names: Sequence[str],
        standardize: bool | None = None,
        asked: Mapping[str, str] | None = None,
    ) -> "ColumnPlan":
        """The plan for samples.

        Parameters
        ----------
        rows : ndarray of shape (n_samples, n_columns)
            Samples, as `ancr.samples.raw_columns` reads them.
        names : sequence of str
            Names of their columns. Columns without a name have one unit.
        standardize : bool or None
            What the user asked for.
        asked : mapping or None
            What the user wants some columns to be.
        """
        if not len(names):
            return cls((), bool(standardize))
        if not asked and share_one_range(rows):  # pixels: none is left out, not even a constant one
            return cls(tuple(map(Column, names)), standardize, False)
        return cls(columns_of(rows, names, asked), standardize)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> "ColumnPlan":
        """The plan that `to_data` wrote."""
        return cls(tuple(Column(**column) for column in data["columns"]), data["standardize"])

    def to_data(self) -> dict[str, Any]:
        """The plan as names and flags, for the header of a model file."""
        return {"columns": [column.to_data() for column in self.columns], "standardize": self.standardize}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns, those left out included."""
        return tuple(column.name for column in self.columns)

    @property
    def identifiers(self) -> tuple[str, ...]:
        """Names of the columns that are left out because they name the rows."""
        return tuple(column.name for column in self.columns if column.why == "identifier")

    @property
    def kinds(self) -> dict[str, str]:
        """``{name: kind}`` of the columns that are used."""
        return {column.name: column.kind for column in self.columns if column.is_used}

    @property
    def read_as(self) -> dict[str, str]:
        """``{name: kind}`` of all columns: cells of one that is left out need not be of any kind."""
        return {column.name: column.kind for column in self.columns}

    @property
    def asked(self) -> dict[str, str]:
        """``{name: kind}`` that a user would give to get these columns, ``"drop"`` for those left out."""
        return {column.name: column.asked for column in self.columns}

    @property
    def used(self) -> list[int]:
        """Places of the columns that are used."""
        return [place for place, column in enumerate(self.columns) if column.is_used]

    @property
    def text(self) -> int | None:
        """The place of the only column that is used, if that is a text."""
        return self.used[0] if list(self.kinds.values()) == ["text"] else None

    @property
    def prepares(self) -> bool:
        """Whether samples without gaps are changed."""
        plain = all(column.kind == "number" for column in self.columns)
        return bool(self.columns) and (self.standardize is not False or not plain)

    @property
    def spaces(self) -> dict[str, Any]:
        """Parameters of a search over settings that fit these columns; none where its defaults do."""
        return {"spaces": SPACES_OF_COLUMNS} if self.columns and self.standardize else {}

    def suited(self, classifier: BaseEstimator) -> BaseEstimator:
        """A classifier; if it is a search that was given no spaces, one in spaces that fit these columns."""
        return clone(classifier).set_params(**self.spaces) if chooses_spaces(classifier) else classifier

    def of_used(self) -> "ColumnPlan":
        """The plan for rows that have the used columns alone."""
        return replace(self, columns=tuple(column for column in self.columns if column.is_used))

    def settled(
        self,
        rows: np.ndarray,
        labels: np.ndarray | None = None,
        options: tuple[str, str] = ("standardize=True", "standardize=False"),
    ) -> "ColumnPlan":
        """The plan in which training samples have decided whether to standardize, and that says what is done.

        Parameters
        ----------
        rows : ndarray of shape (n_samples, n_columns)
            Training samples.
        labels : ndarray or None
            Their classes; without them nothing can be measured.
        options : tuple of str
            How a user asks for standardized columns, and for columns as they are.
        """
        if self.standardize is not None:
            return replace(self, reason=self.described())
        kinds = set(self.kinds.values())
        if not kinds <= set(_NUMBERS) or labels is None or len(np.unique(labels)) < 2:
            decided = replace(self, standardize=self.text is None and (self.is_likely or not kinds <= set(_NUMBERS)))
            return replace(decided, reason=decided.described())
        right = [self._right(each, rows, labels) for each in (False, True)]
        gain = np.count_nonzero(right[1]) - np.count_nonzero(right[0])
        doubt = np.count_nonzero(right[0] != right[1]) ** 0.5  # one standard error of the gain
        decided = replace(self, standardize=bool(gain > -doubt if self.is_likely else gain > doubt))
        plain, scaled = (f"{100 * np.mean(each):.1f} %" for each in right)
        why = f"nearest neighbours are right for {scaled} of the samples with standardizing, {plain} without"
        option = options[decided.standardize is True]
        return replace(decided, reason=decided.described(f"({why}; override with {option})"))

    def _right(self, standardize: bool, rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Which samples have the class of their nearest neighbour; of many samples, a random part answers."""
        if len(rows) > _MOST_ASKED:
            part = np.random.default_rng(0).permutation(len(rows))[:_MOST_ASKED]
            rows, labels = rows[part], labels[part]
        prepared = TableColumns(plan=replace(self, standardize=standardize)).fit_transform(rows)
        nearest = NearestNeighbors(n_neighbors=1).fit(prepared).kneighbors(return_distance=False)[:, 0]
        return np.asarray(labels)[nearest] == np.asarray(labels)

    @property
    def left_out(self) -> str:
        """Which columns are left out and why; empty if none is."""
        out = [f"{column.name} ({column.why})" for column in self.columns if not column.is_used]
        return f"left out: {', '.join(out[:_SHOWN_NAMES])}{' …' if len(out) > _SHOWN_NAMES else ''}" if out else ""

    def described(self, why: str = "") -> str:
        """What is done with which columns, in one line."""
        parts = []
        for kind, many in _KINDS_IN_WORDS.items():
            named = [column.named for column in self.columns if column.kind == kind]
            shown = f" ({', '.join(named)})" if len(named) <= _SHOWN_NAMES and kind != "number" else ""
            parts += [f"{counted(len(named), kind, many)}{shown}"] if named else []
        done = "columns are standardized" if self.standardize else "values are used as they are"
        if self.standardize is None:
            done = "each training part decides whether columns are standardized"
        return "; ".join(filter(None, [joined(parts) if parts else "", self.left_out, f"{done} {why}".strip()]))

    def pipeline(self, classifier: BaseEstimator) -> Pipeline:
        """A classifier behind the preparation of its columns, which is always the first step."""
        return Pipeline([("columns", self._transformer() or "passthrough"), ("classifier", classifier)])

    def fit(self, rows: np.ndarray, labels: np.ndarray | None = None) -> Callable[[np.ndarray], np.ndarray]:
        """A function that prepares samples, as learned from these; no samples at all are fine for it."""
        transformer = self._transformer()
        if transformer is None:
            return lambda rows: rows
        fitted = transformer.fit(rows, labels)
        return lambda rows: fitted.transform(rows) if len(rows) else rows

    def _transformer(self) -> "TableColumns | None":
        return TableColumns(plan=self) if self.columns or self.standardize else None


def chooses_spaces(classifier: BaseEstimator) -> bool:
    """Whether a classifier is a search over spaces that nobody has named."""
    return getattr(classifier, "spaces", ()) is None


class TableColumns(TransformerMixin, BaseEstimator):
    """Columns of a table as numbers that a classifier can compare.

    Numbers: gaps get the median, and where gaps are frequent they are a column of their own. Yes and no are 1 and 0,
    dates are days. Categories are one column each, rare ones together, which is where those go that training did not
    know. Texts are TF-IDF weights of words and of parts of words, along at most 1,024 directions, or the
    vectors of a sentence-transformers model that is on the machine. Constant and empty
    columns and identifiers are left out.

    Standardized, every column of the table counts the same: numbers far beyond all others are drawn in, a number has
    zero mean and variance 1/d for d columns, and so have a category or a text with all their columns together. The
    squared norm of a sample is 1 on average, so λ and the width of a kernel mean the same for any table.

    Parameters
    ----------
    kinds : dict or None, default=None
        What some columns are: ``"number"``, ``"yes/no"``, ``"date"``, ``"category"``, ``"text"``, ``"text:MODEL"`` or
        ``"drop"`` by name; the others are recognised. MODEL is the folder of a sentence-transformers model, or its name
        in the cache of Hugging Face; nothing is downloaded.
    standardize : bool or None, default=None
        Whether every column counts the same. None asks the training samples, if all columns are numbers: whether
        nearest neighbours are right more often.
    plan : ColumnPlan or None, default=None
        A plan that is ready, in place of the other two.

    Attributes
    ----------
    plan_ : ColumnPlan
        What was decided; ``plan_.reason`` says it in a line.
    sources_ : ndarray of int
        For each column of the result, which column of the table it comes from.
    rows_ : ndarray
        The training samples before preparation.

    Examples
    --------
    >>> import pandas as pd
    >>> from ancr.samples.column_plan import TableColumns
    >>> pets = pd.DataFrame({"weight": [4.2, None, 30.0, 25.5], "coat": ["long", "short", "short", "long"]})
    >>> columns = TableColumns().fit(pets)
    >>> columns.plan_.reason
    '1 number and 1 category (coat); columns are standardized'
    >>> columns.transform(pets).shape
    (4, 4)
    """

    def __init__(
        self,
        kinds: Mapping[str, str] | None = None,
        standardize: bool | None = None,
        plan: ColumnPlan | None = None,
    ) -> None:
        self.kinds = kinds
        self.standardize = standardize
        self.plan = plan

    def fit(self, X: Any, y: Any = None) -> "TableColumns":
        """Decide what the columns are, and learn how to prepare them.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
            The table: of pandas, of polars, or an array.
        y : array-like or None
            Labels, which decide whether to standardize.
        """
        names, rows, self.plan_ = self._read(X, y)
        self.rows_, self.n_features_in_ = rows, rows.shape[1]
        self.feature_names_in_ = np.array(names, dtype=object)
        self._blocks = self._make_blocks(rows)
        prepared = [step.fit(cells).transform(cells) for step, cells in self._pairs(rows)]
        widths = [block.shape[1] for block in prepared]
        origins = [np.array(places) for _, places in self._blocks]
        self.sources_ = np.concatenate(
            [np.resize(places, width) for places, width in zip(origins, widths, strict=True)]
        )
        return self

    def decided(self, X: Any, y: Any = None) -> ColumnPlan:
        """The plan that `fit` would decide on, without learning how to prepare the columns.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
            The table.
        y : array-like or None
            Labels, which decide whether to standardize.
        """
        return self._read(X, y)[2]

    def _read(self, X: Any, y: Any) -> tuple[Sequence[str], np.ndarray, ColumnPlan]:
        """Names of the columns, rows, and what is done with them."""
        plan = self.plan
        if plan is None:
            names, rows = frame_rows(X, kinds=checked_kinds(self.kinds or {}, getattr(X, "columns", None)))
            plan = ColumnPlan.of(rows, names, self.standardize, self.kinds)
        else:
            names, rows = frame_rows(X, plan.names or None, plan.read_as)
            plan = plan if plan.columns else replace(plan, columns=tuple(map(Column, names)))
        if not plan.used:
            raise ValueError(f"no column is left to learn from: {plan.described()}")
        if y is not None:
            check_consistent_length(rows, y)
        return names, rows, plan.settled(rows, y) if plan.standardize is None else plan

    def transform(self, X: Any) -> np.ndarray:
        """Prepare samples; columns of a frame are found by name, in any order.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
            The table.
        """
        check_is_fitted(self)
        names = [name for name in self.plan_.kinds] if hasattr(X, "columns") else self.plan_.names
        _, rows = frame_rows(X, names, self.plan_.read_as)
        if len(names) < len(self.plan_.columns):  # a frame, of which only what is used was read
            whole = np.empty((len(rows), len(self.plan_.columns)), dtype=object)
            whole[:, self.plan_.used] = rows
            rows = whole
        prepared = np.hstack([step.transform(cells) for step, cells in self._pairs(rows)])
        return prepared / len(self.plan_.used) ** 0.5 if self.plan_.standardize else prepared

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the prepared columns: that of their column in the table, numbered where there are several.

        Parameters
        ----------
        input_features : None
            Not used.
        """
        check_is_fitted(self)
        places = self.sources_.tolist()
        numbers = [places[: end + 1].count(place) for end, place in enumerate(places)]
        names = [
            self.plan_.names[place] + (f"_{number}" if places.count(place) > 1 else "")
            for place, number in zip(places, numbers, strict=True)
        ]
        return np.array(names, dtype=object)

    def _make_blocks(self, rows: np.ndarray) -> list[tuple[Any, list[int]]]:
        """Steps, not fitted, with the places of their columns."""
        columns, standardize = self.plan_.columns, bool(self.plan_.standardize)
        numbers = [place for place in self.plan_.used if columns[place].kind in _NUMBERS]
        blocks: list[tuple[Any, list[int]]] = [(number_steps(standardize), numbers)] if numbers else []
        blocks += [(gap_steps(standardize), [place]) for place in numbers if columns[place].gaps]
        for place in (place for place in self.plan_.used if columns[place].kind not in _NUMBERS):
            column = columns[place]
            is_text, pinned = column.kind == "text", (column.model, column.digest)
            step = text_steps(standardize, *pinned) if is_text else category_steps(standardize, len(rows))
            blocks.append((step, [place]))
        return blocks

    def _pairs(self, rows: np.ndarray) -> list[tuple[Any, Any]]:
        """Each step with the cells that it takes."""
        return [(step, self._cells(rows, places)) for step, places in self._blocks]

    def _cells(self, rows: np.ndarray, places: list[int]) -> np.ndarray:
        columns = [self.plan_.columns[place] for place in places]
        if columns[0].kind == "text":
            return rows[:, places[0]]
        if columns[0].kind == "category":
            return rows[:, places]
        if rows.dtype.kind == "f":
            return rows[:, places]
        return np.column_stack([c.numbers(rows[:, place]) for c, place in zip(columns, places, strict=True)])


def checked_kinds(kinds: Mapping[str, str], names: Sequence[str] | None) -> Mapping[str, str]:
    """What a user wants columns to be.

    Raises
    ------
    ValueError
        In one line, for a kind that is unknown and for a column that is not there; ``names`` is None where columns
        have none.
    """
    known = None if names is None else [str(name) for name in names]
    for name, kind in kinds.items():
        if base_kind(kind) not in ASKED:
            raise ValueError(f"column {name!r} cannot be {kind!r}; choose from {', '.join(ASKED)}, text:MODEL")
        if known is not None and name not in known:
            raise ValueError(f"there is no column {name!r}; there are {some(known)}")
    return kinds


def share_one_range(rows: np.ndarray) -> bool:
    """Whether columns have one unit, as pixels do and most features of networks.

    At least half of those that are not constant cover at least half of the range of the whole table, and zero lies in
    it; no value is missing.
    """
    if rows.dtype.kind != "f" or not len(rows) or np.isnan(rows).any():
        return False
    low, high = rows.min(axis=0), rows.max(axis=0)
    spread, whole = (high - low)[high > low], high.max() - low.min()
    if len(spread) < 2 or not low.min() <= 0 <= high.max():
        return False
    return bool(np.mean(spread >= whole / 2) >= 0.5)
