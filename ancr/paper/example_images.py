"""Example images of a data set of photographs, for the report."""

import os
from pathlib import Path

import numpy as np

from ancr._core.locations import DataNotFoundError, data_homes
from ancr.datasets.registry import DatasetInfo, find_tree
from ancr.features.images import square_picture
from ancr.samples.image_folders import IMAGE_SUFFIXES


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
    try:
        tree = _images_in(find_tree(info, data_home))
    except DataNotFoundError:
        return []
    return [(square_picture(path), _readable(path.parent.name)) for path in _spread(tree, most)]


def _images_in(folder: Path) -> list[Path]:
    return sorted(path for path in Path(folder).rglob("*") if path.suffix.lower() in IMAGE_SUFFIXES)


def _spread(items: list[Path], most: int) -> list[Path]:
    """At most ``most`` items, evenly spaced over the list."""
    return [items[i] for i in np.unique(np.linspace(0, len(items) - 1, min(most, len(items))).astype(int))]


def _readable(stem: str) -> str:
    """``001.Black_footed_Albatross`` → ``Black footed Albatross``."""
    return stem.split(".")[-1].replace("_", " ")
