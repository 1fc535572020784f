"""FGVC-Aircraft, 2013b."""

import numpy as np
from sklearn.utils import Bunch

from ancr._core.files import PathLike
from ancr.datasets._bunch import image_bunch
from ancr.datasets._features import load_features
from ancr.datasets.inventory import find_tree
from ancr.datasets.registry import dataset_info


def load_aircraft(data_home: PathLike | None = None, *, features: str | None = None) -> Bunch:
    """FGVC-Aircraft: 10000 images of 100 variants, 6667 for training (with validation) and 3333 for testing.

    The folder tree is the one that ``torchvision.datasets.FGVCAircraft`` downloads; reading it does not need torch.

    Parameters
    ----------
    data_home : path-like or None
        Folder that holds ``fgvc_aircraft/`` or ``fgvc-aircraft-2013b/``; None searches
        ``ANCR_DATA``, then the folder for fetched data.
    features : str or None
        Name of stored features; None gives image paths.

    Returns
    -------
    Bunch
        ``data`` (features, or paths), ``filenames``, ``target``, ``target_names``, ``train_indices``,
        ``test_indices``, ``image_shape``, ``licence``, ``citation``, ``DESCR``.

    Examples
    --------
    >>> from ancr.datasets import load_aircraft
    >>> bunch = load_aircraft(features="efficientnet_lite0")  # doctest: +SKIP
    >>> bunch.data.shape, bunch.target_names[:3]  # doctest: +SKIP
    """
    info = dataset_info("aircraft")
    if features:
        return load_features(info, features, data_home)
    folder = find_tree(info, data_home) / "data"
    variants = [line.strip() for line in (folder / "variants.txt").read_text().splitlines() if line.strip()]
    index = {variant: label for label, variant in enumerate(variants)}
    paths, target, is_train = [], [], []
    for part in ("trainval", "test"):
        for line in (folder / f"images_variant_{part}.txt").read_text().splitlines():
            image, variant = line.strip().split(" ", 1)
            paths.append(folder / "images" / f"{image}.jpg")
            target.append(index[variant])
            is_train.append(part == "trainval")
    return image_bunch(info, paths, np.array(target), variants, is_train)
