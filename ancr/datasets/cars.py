"""Stanford Cars."""

from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from ancr._core.files import PathLike
from ancr._core.messages import one_line
from ancr.datasets._bunch import image_bunch
from ancr.datasets._features import load_features
from ancr.datasets.inventory import find_tree
from ancr.datasets.registry import dataset_info
from ancr.samples.array_files import check_arrays, read_mat


def load_cars(data_home: PathLike | None = None, *, features: str | None = None) -> Bunch:
    """Stanford Cars: 16185 images of 196 models, 8144 for training and 8041 for testing.

    No public link works any more; the folder tree is the one that ``torchvision.datasets.StanfordCars`` reads.

    Parameters
    ----------
    data_home : path-like or None
        Folder that holds ``stanford_cars/``; None searches ``ANCR_DATA``, then the folder for fetched data.
    features : str or None
        Name of stored features, such as ``"efficientnet_lite0"``; None gives image paths.

    Returns
    -------
    Bunch
        ``data`` (features, or paths), ``filenames``, ``target``, ``target_names``, ``train_indices``,
        ``test_indices``, ``image_shape``, ``licence``, ``citation``, ``DESCR``.

    Examples
    --------
    >>> from ancr.datasets import load_cars
    >>> bunch = load_cars(features="efficientnet_lite0")  # doctest: +SKIP
    >>> bunch.data.shape, bunch.target_names[:3]  # doctest: +SKIP
    """
    info = dataset_info("cars")
    if features:
        return load_features(info, features, data_home)
    root = find_tree(info, data_home)
    names = _variable(root / "devkit" / "cars_meta.mat", "class_names")
    train = _annotations(root / "devkit" / "cars_train_annos.mat", root / "cars_train")
    test = _annotations(root / "cars_test_annos_withlabels.mat", root / "cars_test")
    paths, target = zip(*train, *test, strict=True)
    is_train = np.arange(len(paths)) < len(train)
    return image_bunch(info, list(paths), np.array(target), names.tolist(), is_train)


def _annotations(path: Path, folder: Path) -> list[tuple[Path, int]]:
    """``(image path, label)`` of each annotated image; labels start at 0."""
    rows = _variable(path, "annotations")
    try:
        return [(folder / str(row["fname"]), int(row["class"]) - 1) for row in rows]
    except (TypeError, ValueError, IndexError) as error:
        raise ValueError(f"{path}: annotations must have the fields fname and class: {one_line(error)}") from error


def _variable(path: Path, name: str) -> np.ndarray:
    content = read_mat(path, squeeze=True)
    check_arrays(path, content, [name])
    return np.atleast_1d(content[name])
