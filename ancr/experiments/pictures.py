"""Images to look at: what the example figure shows of a data set of photographs."""

from pathlib import Path

import numpy as np

from ancr.datasets import DataNotFoundError, dataset_info
from ancr.datasets._locate import data_homes, find_tree
from ancr.datasets.folder import IMAGE_SUFFIXES

# What the experiments call a set where the registry has a longer name.
_REGISTERED = {"cub": "cub200"}
# Long file names of the sets end in numbers and start with one; a caption needs neither.
_SIDE = 160


def read_picture(path):
    """An image as an array, cut to a square and made small enough for a report."""
    from PIL import Image, ImageOps

    with Image.open(path) as image:
        return np.asarray(ImageOps.fit(image.convert("RGB"), (_SIDE, _SIDE)))


def beside_features(name, data_home=None, most=10):
    """``(image, class name)`` of photographs that lie beside stored features, or in the set's own tree.

    Parameters
    ----------
    name : str
        ``"stanford40"``, ``"cub"``, ``"cars"`` or ``"aircraft"``.
    data_home : path-like or None
        Where data sets are looked for.
    most : int
        Pictures at most.
    """
    info = dataset_info(_REGISTERED.get(name, name))
    for home in data_homes(data_home):
        samples = _images_in(home / info.folder / "sample_images")
        if samples:
            return [(read_picture(path), _readable(path.stem)) for path in _spread(samples, most)]
    try:
        tree = _images_in(find_tree(info, data_home))
    except DataNotFoundError:
        return []
    return [(read_picture(path), _readable(path.parent.name)) for path in _spread(tree, most)]


def _images_in(folder):
    return sorted(path for path in Path(folder).rglob("*") if path.suffix.lower() in IMAGE_SUFFIXES)


def _spread(items, most):
    """At most ``most`` of them, evenly over the list."""
    return [items[i] for i in np.unique(np.linspace(0, len(items) - 1, min(most, len(items))).astype(int))]


def _readable(stem):
    """``001.Black_footed_Albatross`` → ``Black footed Albatross``."""
    return stem.split(".")[-1].replace("_", " ")
