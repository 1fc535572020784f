"""Stanford 40 Actions."""

import numpy as np
from sklearn.utils import Bunch

from ancr._core.files import PathLike
from ancr.datasets._bunch import image_bunch
from ancr.datasets._features import load_features
from ancr.datasets.inventory import find_tree
from ancr.datasets.registry import DatasetInfo, dataset_info
from ancr.datasets.splits import per_class_split


def load_stanford40(
    data_home: PathLike | None = None,
    *,
    features: str | None = None,
    split: str = "official",
    n_per_class: int = 100,
    seed: int = 0,
) -> Bunch:
    """Stanford 40 Actions: 9532 images of 40 actions, 100 training images per class.

    Parameters
    ----------
    data_home : path-like or None
        Folder that holds ``stanford40/``; None searches ``ANCR_DATA``, then the folder for fetched data.
    features : str or None
        Name of stored features, such as ``"efficientnet_lite0"``; None gives image paths.
    split : {"official", "random"}
        The published lists (4000 and 5532 images), or ``n_per_class`` images drawn from each class.
    n_per_class, seed : int
        Training images per class and seed of the random split.

    Returns
    -------
    Bunch
        ``data`` (features, or paths), ``filenames``, ``target``, ``target_names``, ``train_indices``,
        ``test_indices``, ``image_shape``, ``licence``, ``citation``, ``DESCR``.
    """
    if split not in ("official", "random"):
        raise ValueError(f"split={split!r}, but expected 'official' or 'random'")
    info = dataset_info("stanford40")
    bunch = load_features(info, features, data_home) if features else _load_images(info, data_home)
    if split == "random":
        bunch.train_indices, bunch.test_indices = per_class_split(bunch.target, n_per_class, seed)
    return bunch


def _load_images(info: DatasetInfo, data_home: PathLike | None) -> Bunch:
    root = find_tree(info, data_home)
    lines = (root / "ImageSplits" / "actions.txt").read_text().splitlines()
    # the first line is a header
    actions = [line.split()[0] for line in lines[1:] if line.strip()]
    paths, target, is_train = [], [], []
    for label, action in enumerate(actions):
        for part in ("train", "test"):
            names = (root / "ImageSplits" / f"{action}_{part}.txt").read_text().split()
            paths += [root / "JPEGImages" / name for name in names]
            target += [label] * len(names)
            is_train += [part == "train"] * len(names)
    return image_bunch(info, paths, np.array(target), actions, is_train)
