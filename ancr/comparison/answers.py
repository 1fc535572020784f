"""What a method answered on each test sample, in one file per cell: for confusion, calibration and hard samples."""

import zipfile
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from ancr._core.files import atomic_path
from ancr.comparison.split_sources import Split

_HARD, _WITNESSES = 12, 4


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
