"""What the cells are made from: a data set, its features, its settings, and the split of every draw."""

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from typing import ClassVar

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from ancr import datasets
from ancr.datasets import per_class_split


@dataclass(frozen=True)
class Split:
    """Training samples with labels, and queries with the truth about them."""

    X: np.ndarray
    y: np.ndarray
    queries: np.ndarray
    truth: np.ndarray


class Source:
    """A data set as the experiments see it.

    A subclass has ``name`` and ``title``, its ``settings`` in the order of the paper's columns, the one that
    figures use (``typical``), the number of ``draws`` the paper makes, and `_load` and `_split`.

    Parameters
    ----------
    data_home : path-like or None
        Where data sets are looked for.
    """

    features = "pixels"
    random = True
    # Of samples, labels and split, where a name does not tell them.
    digest = ""

    def __init__(self, data_home=None):
        self.data_home = data_home
        self._lock = Lock()

    @property
    def bunch(self):
        """The data set, read once, also when several threads ask at the same time."""
        with self._lock:
            return self._bunch

    @cached_property
    def _bunch(self):
        return self._load()

    def split(self, setting, draw):
        """The `Split` of a setting and draw; the draw is its seed."""
        bunch, (train, test) = self.bunch, self.indices(setting, draw)
        data = self._columns(bunch.data, setting)
        return Split(data[train], bunch.target[train], data[test], bunch.target[test])

    def indices(self, setting, draw):
        """Training and test rows of the data set."""
        return self.bunch.train_indices, self.bunch.test_indices

    def _columns(self, data, setting):
        return data

    def images(self):
        """``(image, class name)`` of a few samples to show; none where a data set holds no pictures."""
        if self.bunch.image_shape is None:
            return []
        return [(self.picture(row), name) for row, name in self._firsts()]

    def _firsts(self):
        """Row and name of the first sample of every class, ten at most."""
        target, names = self.bunch.target, self.bunch.target_names
        return [(np.flatnonzero(target == label)[0], str(names[label])) for label in np.unique(target)[:10]]

    def picture(self, row):
        """Sample ``row`` as an image."""
        return self.bunch.data[row].reshape(self.bunch.image_shape)


class Digits(Source):
    """scikit-learn's digits under the paper's USPS protocol: N a class to train on, the rest to test on."""

    name, title = "digits", "Digits (scikit-learn)"
    settings, typical, draws = ("N=10", "N=20", "N=50", "N=100"), "N=50", 5

    def _load(self):
        return datasets.load_digits()

    def indices(self, setting, draw):
        """N of every class drawn at random, and all others."""
        return per_class_split(self.bunch.target, number_in(setting), draw)


class Faces(Source):
    """AR: 700 images of the first session against 699 of the second, on the leading eigenfaces."""

    name, title, features = "ar", "AR faces", "eigenfaces"
    settings, typical, draws, random = ("dim=54", "dim=120", "dim=300"), "dim=120", 1, False

    def _load(self):
        from ancr.features import Eigenfaces

        bunch = datasets.load_ar(self.data_home)
        bunch.pixels = bunch.data
        bunch.data = Eigenfaces(300).fit(bunch.data[bunch.train_indices]).transform(bunch.data)
        return bunch

    def _columns(self, data, setting):
        return data[:, : number_in(setting)]

    def picture(self, row):
        """Sample ``row`` as an image; MATLAB stores columns one after the other."""
        return self.bunch.pixels[row].reshape(self.bunch.image_shape, order="F")


class Usps(Source):
    """USPS: N of every class drawn from the training part, all 2007 images of the test part."""

    name, title = "usps", "USPS digits"
    settings, typical, draws = ("N=50", "N=100", "N=200", "N=300"), "N=50", 10

    def _load(self):
        return datasets.load_usps(self.data_home)

    def indices(self, setting, draw):
        """N of every class from the training part, and the whole test part."""
        bunch = self.bunch
        train, _ = per_class_split(bunch.target, number_in(setting), draw, pool=bunch.train_indices)
        return train, bunch.test_indices


class StoredFeatures(Source):
    """One of the four large sets, on deep features that lie on disk, with its official split.

    Parameters
    ----------
    name : {"stanford40", "cub", "cars", "aircraft"}
        Which one.
    stored : str
        Name of the features.
    data_home : path-like or None
        Where data sets are looked for.
    """

    settings, typical, draws, random = ("official",), "official", 1, False
    _LOADERS: ClassVar = {
        "stanford40": ("Stanford 40", datasets.load_stanford40),
        "cub": ("CUB-200-2011", datasets.load_cub200),
        "aircraft": ("FGVC-Aircraft", datasets.load_aircraft),
        "cars": ("Stanford Cars", datasets.load_cars),
    }

    def __init__(self, name, stored, data_home=None):
        super().__init__(data_home)
        self.name, self.stored = name, stored
        self.title, self._loader = self._LOADERS[name]

    def _load(self):
        return self._loader(self.data_home, features=self.stored)

    @property
    def features(self):
        """The label every result on these features must carry."""
        return self.bunch.features

    def images(self):
        """Pictures from a folder ``sample_images`` beside the features, or from the data set's own tree."""
        from ancr.experiments.pictures import beside_features

        return beside_features(self.name, self.data_home)


class Own(Source):
    """A user's vectors, by stratified folds, or by the split that came with them.

    Parameters
    ----------
    own : OwnData
        The vectors.
    folds : int or None
        Number of folds; None for the split of the data, or else 5.
    standardize : bool or None
        Bring columns to zero mean and unit variance, as the training part has them; None for tables whose columns
        have units.
    """

    def __init__(self, own, folds=None, standardize=None):
        super().__init__()
        self._bunch, self._pictures = own.bunch, own.pictures
        self.name = self.title = own.bunch.name
        self._standardize = own.has_units if standardize is None else standardize
        self.features = own.features + (", standardized" if self._standardize else "")
        self._folds = folds or (5 if own.bunch.train_indices is None else None)
        self.settings = (f"{self._folds} folds",) if self._folds else ("given split",)
        self.typical, self.draws, self.random = self.settings[0], self._folds or 1, False
        self._check_folds()

    @cached_property
    def digest(self):
        """Two files of one name are two data sets: what was computed on the first says nothing of the second."""
        bunch, state = self.bunch, hashlib.sha256()
        for part in (bunch.data, bunch.target, bunch.target_names, bunch.train_indices, bunch.test_indices):
            part = np.asarray([] if part is None else part)
            part = part.astype("U") if part.dtype.kind == "O" else part
            state.update(f"{part.dtype.str}{part.shape}".encode())
            state.update(np.ascontiguousarray(part).tobytes())
        return state.hexdigest()[:16]

    def _check_folds(self):
        counts = np.bincount(self.bunch.target)
        rarest = int(np.argmin(np.where(counts > 0, counts, counts.max() + 1)))
        if self._folds and counts[rarest] < self._folds:
            name = str(self.bunch.target_names[rarest])
            raise ValueError(f"--folds {self._folds}, but class {name!r} has only {counts[rarest]} samples")

    def indices(self, setting, draw):
        """Fold number ``draw`` as the test part; or the given split."""
        if not self._folds:
            return super().indices(setting, draw)
        folds = StratifiedKFold(self._folds, shuffle=True, random_state=0)
        return list(folds.split(self.bunch.data, self.bunch.target))[draw]

    def split(self, setting, draw):
        """The `Split` of a fold, scaled by its training part where wanted."""
        split = super().split(setting, draw)
        if not self._standardize:
            return split
        scaler = StandardScaler().fit(split.X)
        return replace(split, X=scaler.transform(split.X), queries=scaler.transform(split.queries))

    def images(self):
        """The first picture of every class, ten at most; none where the data came as vectors."""
        from ancr.experiments.pictures import read_picture

        if not len(self._pictures):
            return []
        return [(read_picture(self._pictures[row]), name) for row, name in self._firsts()]


NAMES = ("digits", "ar", "usps", *StoredFeatures._LOADERS)


def source(name, features=None, data_home=None):
    """The source of a name of the paper's sets, or ``"digits"``."""
    small = {kind.name: kind for kind in (Digits, Faces, Usps)}
    if name in small:
        return small[name](data_home)
    return StoredFeatures(name, features or "efficientnet_lite0", data_home)


def number_in(setting):
    """54 of ``"dim=54"``."""
    return int(setting.partition("=")[2])
