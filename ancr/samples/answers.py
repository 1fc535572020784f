"""What a trained model says of samples: a label, how sure it is, and the training samples that decided."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ancr._core.messages import counted, shown, shown_cells
from ancr.classifiers.explanation import Explanation
from ancr.samples.array_files import as_float, check_finite
from ancr.samples.model_file import Model
from ancr.samples.raw_columns import as_matrix, read_columns
from ancr.samples.sample_set import shown_cell
from ancr.samples.table_files import Chunk, some


@dataclass(frozen=True)
class Answer:
    """What a model says of one sample.

    Attributes
    ----------
    label : str
        Its class.
    probabilities : ndarray
        Of each class, in the order of `Answers.classes`; not a number if the classifier has none.
    margin : float
        By how much the decision value of the class exceeds that of the second best.
    why : Explanation
        The training samples that decided.
    """

    label: str
    probabilities: np.ndarray
    margin: float
    why: Explanation

    @property
    def probability(self) -> float | None:
        """Of the label; None if the classifier has no probabilities."""
        return None if np.isnan(self.probabilities[0]) else float(self.probabilities.max())


class Score:
    """How many answers there are, and how many are right where labels are known, as a sentence.

    Examples
    --------
    >>> from ancr.samples.answers import Score
    >>> score = Score()
    >>> for predicted, given in (("cat", "cat"), ("cat", "dog"), ("dog", None)):
    ...     score.add(predicted, given, copied=False)
    >>> str(score)
    '3 samples; 1 of 2 known labels are right (50.0%)'
    """

    def __init__(self) -> None:
        self._samples = 0
        self._known, self._right = Counter[bool](), Counter[bool]()  # of samples that training had, and of others

    def add(self, predicted: str, given: str | None, copied: bool) -> None:
        """Count an answer; ``copied`` says whether the sample has the very values of a training sample."""
        self._samples += 1
        self._known[copied] += given is not None
        self._right[copied] += predicted == given

    def __str__(self) -> str:
        text, known, copied = counted(self._samples, "sample"), self._known.total(), self._known[True]
        if not known:
            return text
        right = self._right.total()
        text += f"; {right} of {known} known labels are right ({right / known:.1%})"
        if copied == known:
            return f"{text}, but the model was trained on these samples: this says nothing about new ones"
        if copied:
            right, known = self._right[False], self._known[False]
            text += f"; without {copied} that equal a training sample, {right} of {known} ({right / known:.1%})"
        return text


class Answers:
    """Answers of a trained model, one home for the command line and the server.

    Parameters
    ----------
    model : Model
        The model; it is fitted here.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ancr import ANCRClassifier
    >>> from ancr.samples.answers import Answers
    >>> from ancr.samples.model_file import Model
    >>> X, y = load_iris(return_X_y=True)
    >>> names = [f"row {i + 1}" for i in range(len(X))]
    >>> answers = Answers(Model(ANCRClassifier(alpha=1e-2), X, y.astype(str), names, "array"))
    >>> [answer] = answers.of(answers.rows([[5.1, 3.5, 1.4, 0.2]]), top=1)
    >>> answer.label, len(answer.why.indices)
    ('0', 1)
    """

    def __init__(self, model: Model) -> None:
        self.model, self.pipeline = model, model.build()
        self.classes = [str(name) for name in self.pipeline[-1].classes_]

    def prepared(self, vectors: np.ndarray) -> Any:
        """Samples as the classifier takes them."""
        return self.pipeline[:-1].transform(vectors)

    def of(self, vectors: np.ndarray, top: int) -> Iterator[Answer]:
        """The answers for samples before any preparation, with ``top`` training samples for each."""
        return self.of_prepared(self.prepared(vectors), top)

    def of_prepared(self, prepared: Any, top: int) -> Iterator[Answer]:
        """The answers for samples that have been prepared."""
        decisions, *found = self.pipeline[-1].judge(prepared, top=top)
        for order, chances, why in zip(np.sort(decisions, axis=1), *found, strict=True):
            yield Answer(str(why.label), chances, float(order[-1] - order[-2]), why)

    def rows(self, rows: Sequence[Any]) -> np.ndarray:
        """Samples from plain data: lists of values in the order of training, or names with values for a table.

        Raises
        ------
        ValueError
            In one line, for a row that the model cannot take.
        """
        kinds = self.model.plan.kinds if self.model.features == "table" else {}
        if not kinds:
            return _vectors(rows, self.model.samples.shape[1])
        cells = [_cells(row, number, list(kinds)) for number, row in enumerate(rows, 1)]
        columns = {name: [row[place] for row in cells] for place, name in enumerate(kinds)}
        read = read_columns([Chunk(Path("rows"), 1, columns)], list(kinds), kinds)
        return as_matrix([column.values() for column in read])

    def trained_on(self, vectors: np.ndarray) -> list[bool]:
        """Whether samples before any preparation have the very values of a training sample."""
        samples = self.model.samples
        return [key in self._training_keys for key in _keys(vectors.astype(samples.dtype, copy=False))]

    @cached_property
    def _training_keys(self) -> set[int]:
        return set(_keys(self.model.samples))

    def called(self, index: int) -> str:
        """The name of a training sample."""
        return str(self.model.names[index])

    def described(self, values: bool) -> Callable[[int], str]:
        """Function for what a training sample is called: its name, with its text, or with all values if asked for."""
        model, columns = self.model, list(self.model.plan.kinds)
        if not columns or not (values or model.plan.text is not None):
            return self.called

        @cache
        def described(index: int) -> str:
            cells = [(name, shown_cell(value)) for name, value in zip(columns, model.samples[index], strict=True)]
            return f"{self.called(index)}: {shown_cells(cells, most=len(cells), longest=2000)}"

        return described


def _keys(rows: np.ndarray) -> list[int]:
    """A number for each row, equal for equal rows; gaps are equal."""
    if rows.dtype.kind == "O":
        return [hash(tuple(None if cell != cell else cell for cell in row)) for row in rows]
    return [hash(row.tobytes()) for row in np.ascontiguousarray(rows + 0.0)]  # -0.0 becomes 0.0


def _vectors(rows: Sequence[Any], width: int) -> np.ndarray:
    """Rows of numbers as a matrix of the width that the model was trained on."""
    for number, row in enumerate(rows, 1):
        if not isinstance(row, list):
            raise ValueError(f"row {number} is {shown(str(row))}, but expected a list of {width} numbers")
        if len(row) != width:
            raise ValueError(f"row {number} has {len(row)} values, but the model was trained on {width}")
        for place, value in enumerate(row):
            if not isinstance(value, int | float) or isinstance(value, bool):
                raise ValueError(f"row {number}, place {place}: {shown(str(value))} is not a number")
    vectors = as_float(np.array(rows, dtype=np.float64))
    check_finite("rows", vectors)
    return vectors


def _cells(row: Any, number: int, names: Sequence[str]) -> list[Any]:
    """The cells of a row of a table in the order of the columns."""
    if isinstance(row, dict):
        if missing := [name for name in names if name not in row]:
            raise ValueError(f"row {number} lacks the columns {some(missing, 5)}; null stands for a missing value")
        row = [row[name] for name in names]
    if not isinstance(row, list):
        raise ValueError(f"row {number} is {shown(str(row))}, but expected names with values, or a list of values")
    if len(row) != len(names):
        raise ValueError(f"row {number} has {len(row)} values, but the model was trained on {len(names)} columns")
    for name, value in zip(names, row, strict=True):
        if not isinstance(value, str | int | float | None):
            raise ValueError(f"row {number}, column {shown(name)}: {shown(str(value))} is neither a number nor a text")
    return row
