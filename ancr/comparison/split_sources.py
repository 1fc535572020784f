"""The data that experiments run on: a data set, its features, its settings, and the split of each draw."""

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock

import numpy as np
from sklearn.model_selection import StratifiedKFold

from ancr._core.column_scales import dominant_column
from ancr._core.messages import counted
from ancr.comparison.protocols import methods_for
from ancr.features.images import square_picture
from ancr.samples.sample_set import Samples


@dataclass(frozen=True)
class Split:
    """Training samples with labels, and queries with their true labels."""

    X: np.ndarray
    y: np.ndarray
    queries: np.ndarray
    truth: np.ndarray


class SplitSource:
    """A data set with its settings and splits.

    A subclass has ``name`` and ``title``, its ``settings`` in the order of the paper's columns, the one that
    figures use (``typical``), the number of ``draws`` in the paper, and `load` and `indices`.

    Parameters
    ----------
    data_home : path-like or None
        Folder that holds the data sets.
    """

    features = "pixels"
    random = True
    # Identify samples, labels and split of data that its name does not identify.
    digest = origin = ""

    def __init__(self, data_home=None):
        # What a search over spaces is told about the data, as parameters of `ancr.RepresentationClassifierCV`.
        self.spaces = {}
        self.data_home = data_home
        self._lock = Lock()

    @property
    def bunch(self):
        """The data set, read only once even if several threads need it at the same time."""
        with self._lock:
            return self._bunch

    @cached_property
    def _bunch(self):
        return self.load()

    def split(self, setting, draw):
        """The `Split` of a setting and draw; the draw is the seed."""
        bunch, (train, test) = self.bunch, self.indices(setting, draw)
        data = self._columns(bunch.data, setting)
        return Split(data[train], bunch.target[train], data[test], bunch.target[test])

    def indices(self, setting, draw):
        """Row numbers of the training and of the test samples."""
        return self.bunch.train_indices, self.bunch.test_indices

    def _columns(self, data, setting):
        return data

    def methods(self, setting, protocol):
        """``{name: Method}`` to run at a setting under a protocol."""
        return methods_for(protocol, self.spaces)

    def images(self):
        """``(image, class name)`` of a few samples to show; an empty list if the data set holds no images."""
        if self.bunch.image_shape is None:
            return []
        return [(self.picture(row), name) for row, name in self._first_of_each_class()]

    def _first_of_each_class(self):
        """Row and class name of the first sample of each class, for at most ten classes."""
        target, names = self.bunch.target, self.bunch.target_names
        return [(np.flatnonzero(target == label)[0], str(names[label])) for label in np.unique(target)[:10]]

    def picture(self, row):
        """Sample ``row`` as an image."""
        return self.bunch.data[row].reshape(self.bunch.image_shape)


class UserSource(SplitSource):
    """A user's own data, split into stratified folds or by its own split.

    Parameters
    ----------
    samples : Samples
        Samples that have a label.
    folds : int or None
        Number of folds; None uses the data's own split if there is one, otherwise 5 folds.
    standardize : bool or None
        Scale each column to zero mean and unit variance on the training part; None does so for tables whose columns
        have units.
    repeats : int
        How often the samples are divided into folds, each time anew.
    """

    def __init__(self, samples: Samples, folds=None, standardize=None, repeats=1):
        super().__init__()
        self._samples, self._bunch = samples, samples.bunch()
        self.name = self.title = samples.name
        self.origin, self.label, self.plan = samples.origin, samples.label, samples.plan(standardize)
        self.spaces = self.plan.spaces
        self.features = samples.features + (", standardized" if self.plan.standardize else "")
        self._folds = folds or (5 if samples.is_train is None else None)
        self.repeats = repeats if self._folds else None  # a given split cannot be repeated
        often = f", {repeats} times" if repeats > 1 else ""
        self.settings = (f"{self._folds} folds{often}",) if self._folds else ("given split",)
        self.typical, self.draws, self.random = (
            self.settings[0],
            (self._folds or 1) * (repeats if self._folds else 1),
            False,
        )
        self._check_folds()

    @cached_property
    def digest(self):
        """Digest of samples, labels and split: two files of the same name may hold different data."""
        bunch, state = self.bunch, hashlib.sha256()
        for part in (bunch.data, bunch.target, bunch.target_names, bunch.train_indices, bunch.test_indices):
            part = np.asarray([] if part is None else part)
            part = part.astype("U") if part.dtype.kind == "O" else part
            state.update(f"{part.dtype.str}{part.shape}".encode())
            state.update(np.ascontiguousarray(part).tobytes())
        return state.hexdigest()[:16]

    @cached_property
    def warning(self):
        """That one column decides nearly alone, and what to do about it; empty where it is not so."""
        column = None if self.plan.standardize or self.has_pictures else dominant_column(self.bunch.data)
        if column is None:
            return ""
        which = self.plan.columns[column] if self.plan.columns else column
        option = "--standardize" if self.origin else "standardize=True"
        return (
            "The columns of the data differ in scale by orders of magnitude, so that column "
            f"{which} decides nearly alone; if they have different units, scale them with {option}."
        )

    def _check_folds(self):
        if not self._folds:
            self._check_split()
        counts = np.bincount(self.bunch.target)
        rarest = int(np.argmin(np.where(counts > 0, counts, counts.max() + 1)))
        if self._folds and counts[rarest] < self._folds:
            name = str(self.bunch.target_names[rarest])
            raise ValueError(f"folds {self._folds}, but class {name!r} has only {counted(counts[rarest], 'sample')}")

    def _check_split(self):
        train, test = self.bunch.train_indices, self.bunch.test_indices
        classes = len(np.unique(self.bunch.target[train]))
        if classes < 2 or not len(test):
            raise ValueError(
                f"is_train of {self.name} marks {counted(len(train), 'sample')} of "
                f"{counted(classes, 'class', 'classes')} and leaves {len(test)} for testing; mark samples of two "
                "classes or more, or choose --folds"
            )

    def indices(self, setting, draw):
        """Fold number ``draw`` as the test part, or the given split; a setting may keep a part of the training part."""
        train, test = self._whole_indices(setting, draw)
        kept = learning_share(setting)
        return (train if kept is None else _stratified_part(train, self.bunch.target, kept, draw)), test

    def _whole_indices(self, setting, draw):
        if not self._folds:
            return super().indices(setting, draw)
        repeat, fold = divmod(draw, self._folds)
        folds = StratifiedKFold(self._folds, shuffle=True, random_state=repeat)
        return list(folds.split(self.bunch.data, self.bunch.target))[fold]

    def split(self, setting, draw):
        """The `Split` of a fold, its columns prepared as its training part asks for."""
        split = super().split(setting, draw)
        prepare = self.plan.fit(split.X)
        return replace(split, X=prepare(split.X), queries=prepare(split.queries))

    def images(self):
        """The first image of each class, for at most ten classes; an empty list for tables."""
        if not self.has_pictures:
            return []
        return [(self.picture(row), name) for row, name in self._first_of_each_class()]

    @property
    def has_pictures(self):
        """Whether samples are images."""
        return bool(self._samples.image_paths) or self._samples.image_shape is not None

    def picture(self, row):
        """Sample ``row`` as an image."""
        paths = self._samples.image_paths
        return square_picture(paths[row]) if paths else super().picture(row)

    def sample_name(self, row):
        """What the user calls a sample: its file, or its row."""
        return str(self._samples.names[row])


_KEPT = " of the training part"


def learning_setting(setting, share):
    """The setting whose training parts are cut down to a share of their samples, for a learning curve."""
    return f"{setting}, {share:.0%}{_KEPT}"


def learning_share(setting):
    """The share that `learning_setting` wrote into a setting; None for a whole training part."""
    if not setting.endswith(_KEPT):
        return None
    return int(setting.removesuffix(_KEPT).rpartition(", ")[2].rstrip("%")) / 100


def _stratified_part(rows, target, share, seed):
    """A share of the rows, drawn class by class; at least two of each class that has two."""
    rng, kept = np.random.default_rng(seed), []
    for label in np.unique(target[rows]):
        members = rng.permutation(rows[target[rows] == label])
        kept.append(members[: max(round(share * len(members)), min(2, len(members)))])
    return np.sort(np.concatenate(kept))
