"""What the columns of a table are: numbers, yes or no, dates, categories, texts, or nothing to learn from."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from pathlib import PurePath

import numpy as np

from ancr._core.messages import shown
from ancr.samples.sentence_vectors import fingerprint, located

KINDS = ("number", "yes/no", "date", "category", "text", "left out")
# What a user may ask a column to be; a text may name the model that makes its vectors, as in "text:FOLDER".
ASKED = ("number", "yes/no", "date", "category", "text", "drop", "id", "group")
# Why a column is left out, by what it was asked to be.
_LEFT_OUT = {"drop": "as asked", "id": "identifier", "group": "group"}
_YES = frozenset({"yes", "y", "true", "t", "on", "ja", "j", "oui", "si", "sí", "sim"})
_NO = frozenset({"no", "n", "false", "f", "off", "nein", "non", "não", "nao"})
# Besides ISO 8601, which has no format. The order decides where several fit: the American one before the others.
_DATES = ("%d.%m.%Y", "%Y/%m/%d", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y", "%d %b %Y", "%b %d, %Y")
_TIMES = ("", " %H:%M", " %H:%M:%S")
_FORMS = ("", *(day + time for day in _DATES for time in _TIMES))
_MIXED_DATES, _LOOKED_AT = "dates that are not written alike", 100
# Texts say something in several words, and most differ; names of rows nearly all differ.
_WORDS_OF_A_TEXT, _DIFFERENT_TEXTS, _DIFFERENT_NAMES, FEW_ROWS = 3.0, 0.5, 0.95, 20
# From this share of gaps on, that a value is missing is a column of its own.
_FREQUENT = 0.05
_EPOCH = datetime(1970, 1, 1)
_CALLED_ID = re.compile(r"(?:^|[^a-z])(?:id|uuid|guid)$|^(?:index|row|row_?(?:number|id|nr)|case_?(?:number|nr))$")


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    name : str
        Its name.
    kind : {"number", "yes/no", "date", "category", "text", "left out"}
        What it is.
    why : str
        Why it is left out: ``"constant"``, ``"empty"``, ``"identifier"``, ``"as asked"`` …
    form : str
        How dates are written, for `datetime.strptime`; empty for ISO 8601.
    gaps : bool
        Whether so many values are missing that this is a column of its own.
    model, digest : str
        Of a text: the sentence-transformers model that makes its vectors, and the hash of its files; empty for TF-IDF.
    """

    name: str
    kind: str = "number"
    why: str = ""
    form: str = ""
    gaps: bool = False
    model: str = ""
    digest: str = ""

    @staticmethod
    def is_written(data: Mapping[str, object]) -> bool:
        """Whether plain data, of a file that anybody may have written, is a column."""
        kinds: dict[str, type] = {entry.name: bool if entry.name == "gaps" else str for entry in fields(Column)}
        fits = all(name in kinds and isinstance(value, kinds[name]) for name, value in data.items())
        return fits and "name" in data and data.get("kind", "number") in KINDS

    def to_data(self) -> dict[str, object]:
        """The column as plain data; without a model it has no entries for one."""
        return {key: value for key, value in asdict(self).items() if value or key not in ("model", "digest")}

    @property
    def is_used(self) -> bool:
        """Whether a classifier sees it."""
        return self.kind != "left out"

    @property
    def named(self) -> str:
        """Its name, for people, with that of its model."""
        return f"{self.name} by {PurePath(self.model).name}" if self.model else self.name

    @property
    def asked(self) -> str:
        """What a user would ask for to get this column."""
        if not self.is_used:
            return "drop"
        return f"{self.kind}:{self.model}" if self.model else self.kind

    def numbers(self, cells: np.ndarray) -> np.ndarray:
        """Cells of a number, a yes/no or a date as numbers: 1 for yes, days since 1970; NaN for gaps."""
        if self.kind == "number":
            return cells.astype(np.float64)
        if self.kind == "yes/no":
            return np.array([_truth(word) for word in cells], dtype=np.float64)
        days = [np.nan if word is None else _days(word, self.form) for word in cells]
        for word, day in zip(cells, days, strict=True):
            if day is None:
                raise ValueError(f"column {self.name!r}: {shown(str(word))} is not a date like those trained on")
        return np.array(days, dtype=np.float64)


def columns_of(rows: np.ndarray, names: Sequence[str], asked: Mapping[str, str] | None = None) -> tuple[Column, ...]:
    """What the columns of raw rows are.

    Parameters
    ----------
    rows : ndarray of shape (n_samples, n_columns)
        As `ancr.samples.raw_columns` makes them.
    names : sequence of str
        Names of the columns.
    asked : mapping or None
        What the user wants some columns to be: one of `ASKED`.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.samples.column_kinds import columns_of
    >>> rows = np.array([[1.0, "yes", "2024-05-01", "x"], [2.5, "no", "2024-06-12", "x"]], dtype=object)
    >>> [column.kind for column in columns_of(rows, ["size", "paid", "day", "unit"])]
    ['number', 'yes/no', 'date', 'left out']
    """
    asked = asked or {}
    found = [_column(name, rows[:, place], asked.get(name, "")) for place, name in enumerate(names)]
    used = [place for place, column in enumerate(found) if column.is_used]
    doubtful = [place for place, column in enumerate(found) if column.kind == "category" or column.why == "identifier"]
    if not asked and used in ([], doubtful) and len(doubtful) == 1:  # what else could there be to learn from?
        place = doubtful[0]
        words = [word for word in rows[:, place] if isinstance(word, str)]
        if words and len(set(words)) >= _DIFFERENT_TEXTS * len(words):
            found[place] = Column(names[place], "text")
    return tuple(found)


def base_kind(asked: str) -> str:
    """What a column is to be, without the model that a text may name."""
    kind, colon, model = asked.partition(":")
    return kind if kind == "text" and (model or not colon) else asked


def _column(name: str, cells: np.ndarray, asked: str) -> Column:
    if asked != base_kind(asked):
        model = located(asked.partition(":")[2])
        return Column(name, "text", model=model, digest=fingerprint(model))
    if asked in _LEFT_OUT:
        return Column(name, "left out", _LEFT_OUT[asked])
    is_number = len(cells) == 0 or isinstance(cells[0], float)
    missing = np.isnan(cells.astype(float)) if is_number else np.array([cell is None for cell in cells])
    present, gaps = cells[~missing], bool(missing.mean() >= _FREQUENT) if len(cells) else False
    if asked:
        form = _date_form(set(present)) if asked == "date" else ""
        if form is None:
            raise ValueError(f"column {name!r} cannot be read as dates: {_why_no_dates(present.tolist())}")
        return Column(name, asked, form=form, gaps=gaps)
    if len(cells) and not len(present):
        return Column(name, "left out", "empty")
    if len(cells) > 1 and len(present) == len(cells) and (present == present[0]).all():
        return Column(name, "left out", "constant")
    if is_number:
        kind = ("left out", "identifier") if is_identifier(name, present.astype(float)) else ("number", "")
        return Column(name, *kind, gaps=gaps)
    return _words_column(name, present.tolist(), gaps)


def _words_column(name: str, words: list[str], gaps: bool) -> Column:
    different = set(words)
    if len(different) == 2 and None not in map(_truth_or_none, different) and len({*map(_truth, different)}) == 2:
        return Column(name, "yes/no", gaps=gaps)
    form = _date_form(different)
    if form is not None:
        return Column(name, "date", form=form, gaps=gaps)
    if _best_date_form(words) is not None:  # neither categories nor names of rows
        return Column(name, "left out", _MIXED_DATES)
    share = len(different) / len(words)
    if share >= _DIFFERENT_TEXTS and _mean_words(words) >= _WORDS_OF_A_TEXT:
        return Column(name, "text")
    if is_identifier(name, words):
        return Column(name, "left out", "identifier")
    return Column(name, "category")


def is_identifier(name: str, values: Sequence[str] | np.ndarray) -> bool:
    """Whether a column names rows and says nothing about them, by its name and its values, without gaps.

    Whole numbers that are all different are identifiers if the column is called one (``id``, ``PassengerId``,
    ``row_number``), or if they count the rows. Texts are if nearly all are different.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.samples.column_kinds import is_identifier
    >>> is_identifier("patient_id", np.array([17.0, 4.0, 9.0])), is_identifier("age", np.array([17.0, 4.0, 9.0]))
    (True, False)
    """
    called = bool(_CALLED_ID.search(re.sub(r"(?<=[a-z])I[dD]$", "_id", name).lower()))
    if not isinstance(values, np.ndarray):
        return len(values) >= (2 if called else FEW_ROWS) and len(set(values)) >= _DIFFERENT_NAMES * len(values)
    counts = len(values) >= FEW_ROWS and bool((np.diff(values) == 1).all())
    return _are_numbers_of_rows(values) and (called or counts)


def numbers_samples(values: np.ndarray) -> bool:
    """Whether a column numbers the samples: whole numbers, no two alike, in order or without gaps.

    Of such columns `is_identifier` leaves out those that count the rows one by one or have the name of an identifier;
    the others may be measurements, and a user is asked.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)
        The column in the order of the file; NaN for a missing value.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.samples.column_kinds import numbers_samples
    >>> shuffled = np.random.default_rng(0).permutation(50)
    >>> numbers_samples(shuffled), numbers_samples(100 + 3 * np.arange(50)), numbers_samples(7 * shuffled)
    (True, True, False)
    """
    if len(values) < FEW_ROWS or not _are_numbers_of_rows(values):
        return False
    return rises(values) or bool(np.ptp(values) == len(values) - 1)


def _are_numbers_of_rows(values: np.ndarray) -> bool:
    """Whether all are whole numbers, and no two alike."""
    return bool((values == np.rint(values)).all()) and len(np.unique(values)) == len(values)


def rises(values: np.ndarray) -> bool:
    """Whether a column rises or falls through the whole file."""
    steps = np.diff(values)
    return bool((steps >= 0).all() or (steps <= 0).all())


def _mean_words(texts: Sequence[str]) -> float:
    """Words of a text on average; where a language has no spaces, twenty letters make one."""
    return float(np.mean([max(len(text.split()), len(text) / 20) for text in texts]))


def _truth(word: str | None) -> float:
    known = _truth_or_none(word)
    return np.nan if known is None else known


def _truth_or_none(word: str | None) -> float | None:
    """1 for yes, 0 for no, None for any other word."""
    text = "" if word is None else str(word).casefold()
    return 1.0 if text in _YES else 0.0 if text in _NO else None


def _date_form(words: set[str]) -> str | None:
    """The first format in which all words are dates: empty for ISO 8601; None if there is none."""
    return next((form for form in _FORMS if all(_days(word, form) is not None for word in words)), None)


def _best_date_form(words: Sequence[str]) -> str | None:
    """The format of most dates, where most of the first words are dates, but not all of one format; otherwise None."""
    some = list(dict.fromkeys(words))[:_LOOKED_AT]
    dates = {form: {word for word in some if _days(word, form) is not None} for form in _FORMS}
    return max(_FORMS, key=lambda form: len(dates[form])) if 2 * len(set().union(*dates.values())) > len(some) else None


def _why_no_dates(words: Sequence[str]) -> str:
    form = _best_date_form(words)
    if form is None:
        return f"{shown(str(words[0]))} is no date that is known"
    (date, *_), (stray, *_) = ([word for word in words if (_days(word, form) is None) == odd] for odd in (False, True))
    return f"{shown(stray)} is not written like {shown(date)}; write all dates alike, or leave cells empty"


def _days(word: str, form: str) -> float | None:
    """Days since 1970, or None if the word is no date of this form."""
    try:
        day = datetime.strptime(word, form) if form else datetime.fromisoformat(word)
    except (TypeError, ValueError):
        return None
    return (day.replace(tzinfo=None) - _EPOCH).total_seconds() / 86400.0
