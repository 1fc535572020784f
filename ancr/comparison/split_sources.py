"""The data that methods are compared on: its features, its settings, its methods, and the split of each draw."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.utils import Bunch

from ancr._core.column_scales import dominant_column
from ancr._core.messages import counted
from ancr.comparison.protocols import Method, methods_for
from ancr.features.decoding import square_picture
from ancr.samples.column_plan import ColumnPlan
from ancr.samples.doubts import doubts
from ancr.samples.image_vectors import features_options
from ancr.samples.sample_set import Samples

_FOLDS = 5  # unless the user says otherwise


@dataclass(frozen=True)
class Split:
    """Training samples with labels, queries with their true labels, the rows of both, and groups to keep together."""

    X: np.ndarray
    y: np.ndarray
    queries: np.ndarray
    truth: np.ndarray
    train: np.ndarray
    test: np.ndarray
    groups: np.ndarray | None = None


class SplitSource:
    """A data set with its settings and splits.

    A subclass has ``name`` and ``title``, its ``settings`` in the order of the columns of a table, the one that figures
    use (``typical``), the number of ``draws``, and `load` and `indices`.

    Parameters
    ----------
    data_home : path-like or None
        Folder that holds the data sets.
    """

    name: str
    title: str
    settings: tuple[str, ...]
    typical: str
    draws: int
    features = "pixels"
    # Whether there can be more draws than these.
    random = True
    # Identify samples, labels and split of data that its name does not identify.
    digest = origin = ""

    def __init__(self, data_home: str | os.PathLike[str] | None = None) -> None:
        self.data_home = data_home
        self._lock = Lock()

    @property
    def bunch(self) -> Bunch:
        """The data set, read only once even if several threads need it at the same time."""
        with self._lock:
            return self._bunch

    @cached_property
    def _bunch(self) -> Bunch:
        return self.load()

    def load(self) -> Bunch:
        """Read the data set: ``data``, ``target``, ``target_names``, ``image_shape``."""
        raise NotImplementedError(f"{type(self).__name__} does not say how to load {self.name}")

    def split(self, setting: str, draw: int) -> Split:
        """The `Split` of a setting and draw; the draw is the seed."""
        bunch, (train, test) = self.bunch, self.indices(setting, draw)
        data = self._columns(bunch.data, setting)
        return Split(data[train], bunch.target[train], data[test], bunch.target[test], train, test)

    def indices(self, setting: str, draw: int) -> tuple[np.ndarray, np.ndarray]:
        """Row numbers of the training and of the test samples."""
        return self.bunch.train_indices, self.bunch.test_indices

    def _columns(self, data: np.ndarray, setting: str) -> np.ndarray:
        return data

    def methods(self, setting: str, protocol: str, draw: int = 0) -> dict[str, Method]:
        """``{name: Method}`` to run at a setting under a protocol, on the training part of a draw."""
        return methods_for(protocol)

    @property
    def has_pictures(self) -> bool:
        """Whether samples are images."""
        return self.bunch.get("image_shape") is not None

    def images(self) -> list[tuple[np.ndarray, str]]:
        """``(image, class name)`` of the first sample of each class, for at most ten classes; none without images."""
        if not self.has_pictures:
            return []
        labels, rows = np.unique(self.bunch.target, return_index=True)
        named = zip(rows[:10], labels[:10], strict=True)
        return [(self.picture(row), str(self.bunch.target_names[label])) for row, label in named]

    def picture(self, row: int) -> np.ndarray:
        """Sample ``row`` as an image."""
        return self.bunch.data[row].reshape(self.bunch.image_shape)


def _options(samples: Samples, standardize: bool | None, kinds: Mapping[str, str]) -> list[str]:
    """Options of a command that reads the same vectors from the same file."""
    label = ["--label", samples.label] if samples.label else []
    features = features_options(samples.features) if samples.image_paths else []
    columns = [option for name, kind in kinds.items() for option in _column_option(name, kind)]
    asked = [] if standardize is None else [f"--{'' if standardize else 'no-'}standardize"]
    return [*label, *features, *asked, *columns]


def _column_option(name: str, kind: str) -> tuple[str, str]:
    option = {"drop": "--drop", "id": "--id", "group": "--groups"}.get(kind)
    return (option, name) if option else ("--column", f"{name}={kind}")


class UserSource(SplitSource):
    """A user's own data, split into stratified folds or by its own split.

    Parameters
    ----------
    samples : Samples
        Samples that have a label.
    folds : int or None
        Number of folds; None uses the data's own split if there is one, otherwise 5 folds, or as many as the smallest
        class has samples.
    standardize : bool or None
        Scale each column to zero mean and unit variance on the training part; None leaves it to each training part.
    repeats : int
        How often the samples are divided into folds, each time anew.
    kinds : mapping or None
        What the user wants some columns of a table to be.
    groups : ndarray of str or None
        Groups of the samples where no column holds them.
    """

    def __init__(
        self,
        samples: Samples,
        folds: int | None = None,
        standardize: bool | None = None,
        repeats: int = 1,
        kinds: Mapping[str, str] | None = None,
        groups: np.ndarray | None = None,
    ) -> None:
        super().__init__()
        self._samples, self._bunch = samples, samples.bunch()
        self._groups = samples.groups(kinds) if groups is None else groups
        self.name = self.title = samples.name
        self.origin = samples.origin
        self.options, self._asked = _options(samples, standardize, kinds or {}), standardize
        plan = samples.plan(standardize, kinds, settle=False)
        self._folds = folds or (self._usual_folds() if samples.is_train is None else None)
        self.repeats = repeats if self._folds else None  # a given split cannot be repeated
        often = f", {repeats} times" if repeats > 1 else ""
        together = "" if self._groups is None else " of groups"
        self.settings = (f"{self._folds} folds{together}{often}",) if self._folds else ("given split",)
        self.typical, self.random = self.settings[0], False
        self._check_folds()
        self._parts = self._divide(repeats)
        self.draws = len(self._parts)
        self._plans = self._settle(plan)
        self.plan = self._said()
        self.features = samples.features + (", standardized" if self.plan.standardize else "")

    def _settle(self, plan: ColumnPlan) -> list[ColumnPlan]:
        """The plan of each draw, in which its training part has decided what was open."""
        data, target = self.bunch.data, self.bunch.target
        options = ("--standardize", "--no-standardize") if self.origin else ("standardize=True", "standardize=False")
        return [plan.settled(data[train], target[train], options) for train, _ in self._parts]

    def _said(self) -> ColumnPlan:
        """The plan of all draws; where they differ, it says how many standardize."""
        first, often = self._plans[0], sum(bool(plan.standardize) for plan in self._plans)
        if often in (0, len(self._plans)):
            return first
        plan = replace(first, standardize=None)
        return replace(plan, reason=f"{plan.described()}: {often} of {len(self._plans)} do so")

    @cached_property
    def digest(self) -> str:  # type: ignore[override]  # the others have none
        """Digest of samples, labels and split: two files of the same name may hold different data."""
        bunch, state = self.bunch, hashlib.sha256()
        state.update(json.dumps(self.plan.to_data()["columns"]).encode())
        indices, groups = (bunch.train_indices, bunch.test_indices), self._groups
        for part in (bunch.data, bunch.target, bunch.target_names, *indices, *([] if groups is None else [groups])):
            part = np.asarray([] if part is None else part)
            part = part.astype("U") if part.dtype.kind == "O" else part
            state.update(f"{part.dtype.str}{part.shape}".encode())
            state.update(np.ascontiguousarray(part).tobytes())
        return state.hexdigest()[:16]

    @cached_property
    def warnings(self) -> list[str]:
        """What is probably not as the user intended, and what to do about it: one line each."""
        lines = [self._dominance(), *doubts(self._samples, self.plan)]
        name, count = self._rarest()
        if self._folds and count < _FOLDS:
            many = f"class {name!r} has only {counted(count, 'sample')}, so that there are {self._folds} folds"
            lines.append(f"{many}: add samples of it, or leave it out")
        return [line for line in lines if line]

    def _dominance(self) -> str:
        """That one column dominates; empty if none does, or if the samples decided so."""
        data, decided = self.bunch.data, self._asked is None and self.plan.columns
        if decided or self.plan.standardize or self.has_pictures or data.dtype.kind != "f":
            return ""
        column = dominant_column(data)
        if column is None:
            return ""
        which = self.plan.names[column] if self.plan.columns else column
        option = "--standardize" if self.origin else "standardize=True"
        return (
            "The columns of the data differ in scale by orders of magnitude, so that column "
            f"{which} dominates; if they have different units, scale them with {option}."
        )

    def _rarest(self) -> tuple[str, int]:
        """The smallest class, and how many samples it has."""
        counts = np.bincount(self.bunch.target)
        rarest = int(np.argmin(np.where(counts > 0, counts, counts.max() + 1)))
        return str(self.bunch.target_names[rarest]), int(counts[rarest])

    def _usual_folds(self) -> int:
        return max(2, min(_FOLDS, self._rarest()[1], self._fewest_groups()))

    def _fewest_groups(self) -> int:
        """How many groups the class with the fewest has; as many as folds can be without groups."""
        groups, target = self._groups, self.bunch.target
        if groups is None:
            return _FOLDS
        return min(len(np.unique(groups[target == label])) for label in np.unique(target))

    def _check_folds(self) -> None:
        if not self._folds:
            self._check_split()
            return
        if self._fewest_groups() < 2:
            raise ValueError("groups: a class lies in a single group, so that it cannot be trained on and tested")
        (name, count), advice = self._rarest(), "add samples of that class or leave it out"
        if count == 1:
            raise ValueError(f"class {name!r} has only 1 sample, which cannot be trained on and tested: {advice}")
        if count < self._folds:
            fewer = f"choose at most {count} folds, or {advice}"
            raise ValueError(f"folds {self._folds}, but class {name!r} has only {counted(count, 'sample')}: {fewer}")

    def _check_split(self) -> None:
        train, test = self.bunch.train_indices, self.bunch.test_indices
        classes = len(np.unique(self.bunch.target[train]))
        if classes < 2 or not len(test):
            raise ValueError(
                f"is_train of {self.name} marks {counted(len(train), 'sample')} of "
                f"{counted(classes, 'class', 'classes')} and leaves {len(test)} for testing; mark samples of two "
                "classes or more, or choose --folds"
            )

    def indices(self, setting: str, draw: int) -> tuple[np.ndarray, np.ndarray]:
        """Fold number ``draw`` as the test part, or the given split; a setting may keep a part of the training part."""
        train, test = self._parts[draw]
        kept = learning_share(setting)
        return (train if kept is None else _stratified_part(train, self.bunch.target, kept, draw)), test

    def _divide(self, repeats: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Training and test rows of every draw, found once for all methods."""
        bunch = self.bunch
        if not self._folds:
            return [(bunch.train_indices, bunch.test_indices)]
        kind, groups = StratifiedKFold if self._groups is None else StratifiedGroupKFold, self._groups
        folds = [kind(self._folds, shuffle=True, random_state=repeat) for repeat in range(repeats)]
        return [parts for each in folds for parts in each.split(bunch.data, bunch.target, groups)]

    def split(self, setting: str, draw: int) -> Split:
        """The `Split` of a fold, its columns prepared as its training part asks for."""
        split = super().split(setting, draw)
        prepare, groups = self._plans[draw].fit(split.X, split.y), self._groups
        own = None if groups is None else groups[split.train]
        return replace(split, X=prepare(split.X), queries=prepare(split.queries), groups=own)

    def methods(self, setting: str, protocol: str, draw: int = 0) -> dict[str, Method]:
        """``{name: Method}``; a search looks into the spaces that suit the columns of the draw."""
        return methods_for(protocol, self._plans[draw].spaces)

    @property
    def has_pictures(self) -> bool:
        """Whether samples are images."""
        return bool(self._samples.image_paths) or self._samples.image_shape is not None

    def picture(self, row: int) -> np.ndarray:
        """Sample ``row`` as an image."""
        path = self._samples.image_paths[row] if self._samples.image_paths else None
        return super().picture(row) if path is None else square_picture(path)

    def sample_name(self, row: int) -> str:
        """What the user calls a sample: its file, or its row."""
        return str(self._samples.names[row])

    def sample_cells(self, row: int) -> list[tuple[str, str]]:
        """Columns and values of a sample of a table; empty for other data."""
        return self._samples.cells(row)


_KEPT = " of the training part"


def learning_setting(setting: str, share: float) -> str:
    """The setting whose training parts are cut down to a share of their samples, for a learning curve."""
    return f"{setting}, {share:.0%}{_KEPT}"


def learning_share(setting: str) -> float | None:
    """The share that `learning_setting` wrote into a setting; None for a whole training part."""
    if not setting.endswith(_KEPT):
        return None
    return int(setting.removesuffix(_KEPT).rpartition(", ")[2].rstrip("%")) / 100


def _stratified_part(rows: np.ndarray, target: np.ndarray, share: float, seed: int) -> np.ndarray:
    """A share of the rows, drawn class by class; at least two of each class that has two."""
    rng, kept = np.random.default_rng(seed), []
    for label in np.unique(target[rows]):
        members = rng.permutation(rows[target[rows] == label])
        kept.append(members[: max(round(share * len(members)), min(2, len(members)))])
    return np.sort(np.concatenate(kept))
