"""Caltech-UCSD Birds-200-2011."""

from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from ancr._core.files import PathLike
from ancr.datasets._bunch import image_bunch
from ancr.datasets._features import load_features
from ancr.datasets.inventory import find_tree
from ancr.datasets.registry import dataset_info


def load_cub200(data_home: PathLike | None = None, *, features: str | None = None) -> Bunch:
    """CUB-200-2011: 11788 images of 200 birds, 5994 for training and 5794 for testing.

    Parameters
    ----------
    data_home : path-like or None
        Folder that holds ``cub200_2011/``; None searches ``ANCR_DATA``, then the folder for fetched data.
    features : str or None
        Name of stored features, such as ``"efficientnet_lite0"``; None gives image paths.

    Returns
    -------
    Bunch
        ``data`` (features, or paths), ``filenames``, ``target``, ``target_names``, ``train_indices``,
        ``test_indices``, ``image_shape``, ``licence``, ``citation``, ``DESCR``.
    """
    info = dataset_info("cub200")
    if features:
        return load_features(info, features, data_home)
    root = find_tree(info, data_home)
    names = _column(root / "images.txt")
    target = np.array([int(label) for label in _column(root / "image_class_labels.txt").values()]) - 1
    is_train = [flag == "1" for flag in _column(root / "train_test_split.txt").values()]
    paths = [root / "images" / name for name in names.values()]
    return image_bunch(info, paths, target, list(_column(root / "classes.txt").values()), is_train)


def _column(path: Path) -> dict[int, str]:
    """``{id: value}`` of a file of lines ``id value``, sorted by id, so that all files have the same order."""
    pairs = (line.split(maxsplit=1) for line in path.read_text().splitlines() if line.strip())
    return dict(sorted((int(key), value) for key, value in pairs))
