"""Results on disk.

One line of JSON per cell, appended as soon as the cell is finished and never rewritten; and what its method answered on
each test sample, in one file per cell, for confusion, calibration and hard samples.
"""

import json
import math
import os
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ancr._core.files import atomic_path
from ancr._core.jsonl import JsonLines
from ancr.comparison.split_sources import Split, SplitSource

_HARD, _WITNESSES = 12, 4
_Part = TypeVar("_Part")


class Key(NamedTuple):
    """What identifies an experiment, whatever its result."""

    dataset: str
    features: str
    setting: str
    method: str
    protocol: str
    draw: int


@dataclass(frozen=True)
class Given:
    """What an experiment started from, besides its key.

    Attributes
    ----------
    seed : int
        Seed of everything random.
    params : dict
        Parameters of the classifier.
    before : str
        Preprocessing of the samples; empty if there is none.
    data : str
        Digest of a user's own samples, labels and split; empty for the data sets of the registry.
    origin : str
        Path of a user's own data; empty for the data sets of the registry.
    """

    seed: int
    params: dict[str, Any] = field(hash=False)
    before: str = ""
    data: str = ""
    origin: str = ""


@dataclass(frozen=True)
class Measured:
    """What came out. Accuracy is in percent, times in seconds on one thread.

    Attributes
    ----------
    chosen : dict
        Parameters that the classifier chose itself on the training set.
    certified : float or None
        Share of the test queries whose code is feasible with a duality gap within tolerance; None for methods
        without a certificate.
    """

    accuracy: float
    n_test: int
    fit_s: float
    predict_s: float
    n_train: int = 0
    chosen: dict[str, Any] = field(default_factory=dict, hash=False)
    certified: float | None = None


@dataclass(frozen=True)
class Machine:
    """Versions of Python and of the libraries used; operating system and machine."""

    versions: dict[str, str] = field(default_factory=dict, hash=False)
    platform: str = ""


@dataclass(frozen=True)
class Cell:
    """One method on one split; a line of ``cells.jsonl`` has the fields of its four parts side by side."""

    key: Key
    given: Given
    measured: Measured
    machine: Machine = field(default=Machine())

    def to_line(self) -> dict[str, Any]:
        """All fields by name."""
        return {**self.key._asdict(), **asdict(self.given), **asdict(self.measured), **asdict(self.machine)}

    @classmethod
    def from_line(cls, values: Mapping[str, Any]) -> "Cell":
        """The cell that `to_line` wrote; a later release may add fields, and those are ignored.

        Raises
        ------
        ValueError, TypeError
            If a field is missing or of another type.
        """
        return cls(_part(Key, values), _part(Given, values), _part(Measured, values), _part(Machine, values))


def _part(kind: Callable[..., _Part], values: Mapping[str, Any]) -> _Part:
    known = {name: type_ for name, type_ in kind.__annotations__.items() if name in values}
    for name, type_ in known.items():
        _check_field(name, _KINDS.get(name, type_), values[name])
    return kind(**{name: values[name] for name in known})


def _check_field(name: str, kind: Any, value: Any) -> None:
    """Raise a ValueError if a value is not of the type of its field; a number must be finite."""
    number = isinstance(value, float | int) and not isinstance(value, bool)
    if number and not math.isfinite(value):
        raise ValueError(f"{name} is {value}")
    if not (isinstance(value, kind) or (number and isinstance(float(value), kind))):
        expected = getattr(kind, "__name__", "a number")
        raise ValueError(f"{name} is {str(value)[:40]!r}, but expected {expected}")


# Types that `isinstance` cannot check.
_KINDS: dict[str, Any] = dict.fromkeys(("params", "chosen", "versions"), dict)


class CellFile:
    """An append-only ``cells.jsonl``, read once.

    Each line is written and flushed at once, so a run that is killed loses at most the cells that were running.

    Parameters
    ----------
    path : path-like
        The file; it and its folder are created if they do not exist.

    Attributes
    ----------
    cells : list of Cell
        All cells in the file, in the order in which they finished.

    Raises
    ------
    ValueError
        In one line, if a line of the file is not a cell.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._lines = JsonLines(path)
        self.path = self._lines.path
        self.cells = [self._parse(number, line) for number, line in enumerate(self._lines.lines(), start=1)]

    def _parse(self, number: int, line: bytes) -> Cell:
        try:
            return Cell.from_line(json.loads(line))
        except (ValueError, TypeError, RecursionError) as error:
            reason = str(error).partition("__() ")[2] or error  # without the name of a constructor
            raise ValueError(
                f"{self.path}, line {number} is not a cell: {reason}. Remove that line and run again"
            ) from None

    def append(self, cell: Cell) -> None:
        """Append one cell as one line."""
        self._lines.append([cell.to_line()], sort_keys=True)
        self.cells.append(cell)


def open_results(folder: Path, sources: Sequence[SplitSource]) -> CellFile:
    """The ``cells.jsonl`` of a folder, for results on some sources.

    Raises
    ------
    ValueError
        If the folder holds results on other data, whose report would be replaced.
    """
    file, own = CellFile(folder / "cells.jsonl"), any(each.digest for each in sources)
    # The paper's data sets may share a folder: `reproduce` shows those that it is asked for and keeps all cells.
    others = {
        cell.key.dataset: cell.given.origin
        for cell in file.cells
        if (own or cell.given.data) and not any(_is_of(cell, each) for each in sources)
    }
    if others:
        names = ", ".join(f"{name} ({origin})" if origin else name for name, origin in sorted(others.items()))
        raise ValueError(
            f"{folder} holds results on {names}, and their report would be replaced; choose another folder "
            "with --output"
        )
    return file


def _is_of(cell: Cell, source: SplitSource) -> bool:
    """Whether a cell is on the data of a source: the same file, even if changed, or the same content elsewhere."""
    if cell.key.dataset != source.name or bool(cell.given.data) != bool(source.digest):
        return False
    return cell.given.data == source.digest or cell.given.origin in ("", source.origin)


def seconds(cells: Iterable[Cell]) -> float:
    """Time of all cells, each on one thread."""
    return sum(cell.measured.fit_s + cell.measured.predict_s for cell in cells)


def platforms(cells: Iterable[Cell]) -> list[tuple[str, str]]:
    """Platforms and library versions that computed the cells; several if cells come from several machines."""
    machines = [cell.machine for cell in cells]
    return sorted({(each.platform, ", ".join(f"{n} {v}" for n, v in each.versions.items())) for each in machines})


@dataclass(frozen=True)
class Answers:
    """The answers of one cell. Samples are rows of the data set; labels are class numbers.

    Attributes
    ----------
    rows : ndarray of int
        The test samples.
    predicted : ndarray of int
        Their predicted classes.
    chance : ndarray
        Probability of the predicted class; NaN for a method that gives none.
    chance_of_truth : ndarray
        Probability of the true class.
    hard : ndarray of int
        Positions, among the test samples, of those with the least probability of the true class.
    witnesses : ndarray of int of shape (n_hard, 4)
        Training samples with the largest weights in their codes, -1 where there are fewer; empty for methods that
        cannot explain.
    weights : ndarray of shape (n_hard, 4)
        Their weights.
    """

    rows: np.ndarray
    predicted: np.ndarray
    chance: np.ndarray
    chance_of_truth: np.ndarray
    hard: np.ndarray
    witnesses: np.ndarray
    weights: np.ndarray

    def write(self, path: Path) -> None:
        """Write the answers to a file, completely or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(path) as draft, open(draft, "wb") as file:
            np.savez_compressed(file, **asdict(self))

    @classmethod
    def read(cls, path: Path) -> "Answers | None":
        """The answers in a file; None if there is none, or if it is damaged."""
        try:
            with np.load(path) as file:
                return cls(**{each.name: file[each.name] for each in fields(cls)})
        except (OSError, ValueError, KeyError, zipfile.BadZipFile):
            return None

    @classmethod
    def of(cls, classifier: Any, split: Split, labels: np.ndarray) -> "Answers":
        """The answers of a fitted classifier, which has predicted ``labels`` for the queries of a split."""
        chances = _probabilities(classifier, split.queries)
        if chances is None:
            chance = truth = np.full(len(labels), np.nan)
        else:
            chance = _chance_of(chances, classifier.classes_, labels)
            truth = _chance_of(chances, classifier.classes_, split.truth)
        hard = np.argsort(np.where(np.isnan(truth), labels == split.truth, truth), kind="stable")[:_HARD]
        witnesses, weights = _witnesses(classifier, split.queries[hard], split.train)
        return cls(np.asarray(split.test), labels.astype(np.int64), chance, truth, hard, witnesses, weights)


def _probabilities(classifier: Any, queries: np.ndarray) -> np.ndarray | None:
    try:
        chances = np.asarray(classifier.predict_proba(queries))
    except (AttributeError, NotImplementedError):  # no probabilities, or only on request
        return None
    wanted = len(queries), len(classifier.classes_)
    if chances.shape != wanted or not np.all((chances >= 0.0) & (chances <= 1.0 + 1e-6)):
        name = type(classifier).__name__
        got = f"shape {chances.shape}" if chances.shape != wanted else "others"
        raise ValueError(f"{name}.predict_proba must return numbers from 0 to 1 of shape {wanted}, got {got}")
    return chances


def _chance_of(chances: np.ndarray, classes: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Probability of one label per row; zero for a class that the training part does not have."""
    places = np.clip(np.searchsorted(classes, labels), 0, len(classes) - 1)
    return np.where(np.asarray(classes)[places] == labels, chances[np.arange(len(labels)), places], 0.0)


def _witnesses(classifier: Any, queries: np.ndarray, train: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rows = np.full((len(queries), _WITNESSES), -1)
    weights = np.zeros((len(queries), _WITNESSES))
    if not hasattr(classifier, "explain"):
        return rows[:0], weights[:0]
    for place, why in enumerate(classifier.explain(queries, top=_WITNESSES)):
        rows[place, : len(why.indices)] = np.asarray(train)[why.indices]
        weights[place, : len(why.weights)] = why.weights
    return rows, weights
