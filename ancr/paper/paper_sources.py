"""The paper's data sets: settings, draws and methods of each."""

import os
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from ancr import datasets
from ancr._core.locations import data_homes
from ancr.comparison.protocols import Method, certified_optima, published_settings
from ancr.comparison.split_sources import SplitSource
from ancr.datasets import DatasetInfo, dataset_info, per_class_split
from ancr.datasets.registry import found_tree
from ancr.features import Eigenfaces
from ancr.features.decoding import square_picture
from ancr.paper.methods import ar_methods, large_methods, searched, usps_methods
from ancr.samples.image_folders import IMAGE_SUFFIXES


class PaperSource(SplitSource):
    """A data set of the paper; ``own_methods`` are the settings for its tables, where they are known.

    ``is_large`` sets are searched over smaller grids, and ``alpha`` is the paper's λ.
    """

    is_large, alpha = False, 1e-3

    def methods(self, setting: str, protocol: str, draw: int = 0) -> dict[str, Method]:
        """``{name: Method}`` to run at a setting under a protocol, in the order the paper lists them."""
        if protocol == "cv":
            return searched(self.is_large)
        if protocol == "exact":
            return certified_optima(self.alpha)
        return self.as_published(setting)

    def as_published(self, setting: str) -> dict[str, Method]:
        """The settings that give, or come closest to, the paper's numbers."""
        return published_settings()


class Digits(PaperSource):
    """scikit-learn's digits under the paper's USPS protocol: N training samples per class, all others for testing."""

    name, title = "digits", "Digits (scikit-learn)"
    settings, typical, draws = ("N=10", "N=20", "N=50", "N=100"), "N=50", 5

    def load(self) -> Bunch:
        """The digits that ship with scikit-learn."""
        return datasets.load_digits()

    def indices(self, setting: str, draw: int) -> tuple[np.ndarray, np.ndarray]:
        """N samples per class drawn at random, and all others."""
        return per_class_split(self.bunch.target, number_in(setting), draw)


class Faces(PaperSource):
    """AR: 700 training images from session 1 and 699 test images from session 2, on the leading eigenfaces."""

    name, title, features, alpha = "ar", "AR faces", "eigenfaces", 1e-4
    settings, typical, draws, random = ("dim=54", "dim=120", "dim=300"), "dim=120", 1, False

    def load(self) -> Bunch:
        """The faces, projected on 300 eigenfaces."""
        bunch = datasets.load_ar(self.data_home)
        bunch.pixels = bunch.data
        bunch.data = Eigenfaces(300).fit(bunch.data[bunch.train_indices]).transform(bunch.data)
        return bunch

    def as_published(self, setting: str) -> dict[str, Method]:
        """The settings that give the printed rows."""
        return ar_methods(setting)

    def _columns(self, data: np.ndarray, setting: str) -> np.ndarray:
        return data[:, : number_in(setting)]

    def picture(self, row: int) -> np.ndarray:
        """Sample ``row`` as an image; MATLAB stores images column by column."""
        return self.bunch.pixels[row].reshape(self.bunch.image_shape, order="F")


class Usps(PaperSource):
    """USPS: N samples per class drawn from the training part, and all 2007 test images."""

    name, title = "usps", "USPS digits"
    settings, typical, draws = ("N=50", "N=100", "N=200", "N=300"), "N=50", 10

    def load(self) -> Bunch:
        """The digits with their official split."""
        return datasets.load_usps(self.data_home)

    def indices(self, setting: str, draw: int) -> tuple[np.ndarray, np.ndarray]:
        """N samples per class from the training part, and the whole test part."""
        bunch = self.bunch
        train, _ = per_class_split(bunch.target, number_in(setting), draw, pool=bunch.train_indices)
        return train, bunch.test_indices

    def as_published(self, setting: str) -> dict[str, Method]:
        """The settings that came closest to the printed rows."""
        return usps_methods(setting)


class StoredFeatures(PaperSource):
    """One of the four large sets with its official split, on deep features that are stored on disk.

    Parameters
    ----------
    name : {"stanford40", "cub200", "aircraft", "cars"}
        Name of the data set.
    stored : str
        Name of the features.
    data_home : path-like or None
        Folder that holds the data sets.
    """

    settings, typical, draws, random = ("official",), "official", 1, False
    is_large = True

    def __init__(self, name: str, stored: str, data_home: str | os.PathLike[str] | None = None) -> None:
        super().__init__(data_home)
        self._info, self._stored = dataset_info(name), stored
        self.name, self.title = name, self._info.title

    def as_published(self, setting: str) -> dict[str, Method]:
        """The settings of each method's authors, at the paper's λ."""
        return large_methods()

    def load(self) -> Bunch:
        """The stored features."""
        return getattr(datasets, self._info.loader)(self.data_home, features=self._stored)

    @property
    def features(self) -> str:  # type: ignore[override]  # known once they are read
        """Label of the features, shown with every result."""
        return self.bunch.features

    def images(self) -> list[tuple[np.ndarray, str]]:
        """Images from a folder ``sample_images`` beside the features, or from the data set itself."""
        return stored_pictures(self._info, self.data_home)


def paper_source(
    name: str, features: str | None = None, data_home: str | os.PathLike[str] | None = None
) -> PaperSource:
    """The source of a data set by its name in `ancr.datasets.REGISTRY`."""
    small: dict[str, type[PaperSource]] = {kind.name: kind for kind in (Digits, Faces, Usps)}
    if name in small and features is not None:
        raise ValueError(f"--features {features!r} is for the large data sets, but {name} has features of its own")
    if name in small:
        return small[name](data_home)
    return StoredFeatures(name, features or "efficientnet_lite0", data_home)


def number_in(setting: str) -> int:
    """The number in a setting: 54 for ``"dim=54"``."""
    return int(setting.partition("=")[2])


def stored_pictures(
    info: DatasetInfo, data_home: str | os.PathLike[str] | None = None, most: int = 10
) -> list[tuple[np.ndarray, str]]:
    """``(image, class name)`` of photographs in ``sample_images`` beside stored features, or in the data set itself.

    Parameters
    ----------
    info : DatasetInfo
        Registry entry of the data set.
    data_home : path-like or None
        Folder that holds the data sets.
    most : int
        Maximum number of images.
    """
    for home in data_homes(data_home):
        samples = _images_in(home / info.folder / "sample_images")
        if samples:
            return [(square_picture(path), _readable(path.stem)) for path in _spread(samples, most)]
    root = found_tree(info, data_home)
    tree = _images_in(root) if root else []
    return [(square_picture(path), _readable(path.parent.name)) for path in _spread(tree, most)]


def _images_in(folder: Path) -> list[Path]:
    return sorted(path for path in Path(folder).rglob("*") if path.suffix.lower() in IMAGE_SUFFIXES)


def _spread(items: list[Path], most: int) -> list[Path]:
    """At most ``most`` items, evenly spaced over the list."""
    return [items[i] for i in np.unique(np.linspace(0, len(items) - 1, min(most, len(items))).astype(int))]


def _readable(stem: str) -> str:
    """``001.Black_footed_Albatross`` → ``Black footed Albatross``."""
    return stem.split(".")[-1].replace("_", " ")
