"""Data sets of small grey images of one size, as vectors of pixels: scikit-learn's digits, AR faces, USPS digits."""

import numpy as np
from sklearn import datasets
from sklearn.utils import Bunch

from ancr._core.files import PathLike
from ancr._core.locations import find_data
from ancr.datasets.bunches import dataset_bunch, per_class_split
from ancr.datasets.registry import dataset_info
from ancr.samples.array_files import check_arrays, read_mat


def load_digits() -> Bunch:
    """1797 digits of 8 × 8 pixels in [0, 1], without an official split.

    Returns
    -------
    Bunch
        ``data`` (1797, 64), ``target``, ``target_names``, ``image_shape``, ``licence``, ``citation``,
        ``DESCR``; ``train_indices`` and ``test_indices`` are None.

    Examples
    --------
    >>> from ancr.datasets import load_digits
    >>> load_digits().data.shape
    (1797, 64)
    """
    content = datasets.load_digits()
    return dataset_bunch(
        dataset_info("digits"), content.data / 16.0, content.target, content.target_names, image_shape=(8, 8)
    )


def load_ar(data_home: PathLike | None = None) -> Bunch:
    """AR faces, 60 × 43 crops of 100 people: session 1 for training (700), session 2 for testing (699).

    Parameters
    ----------
    data_home : path-like or None
        Folder that holds ``ar/AR_DAT.mat``; None searches ``ANCR_DATA``, then the folder for fetched data.

    Returns
    -------
    Bunch
        ``data`` (1399, 2580) in [0, 255], each image stored column by column as in MATLAB;
        ``target``, ``target_names``, ``train_indices``, ``test_indices``, ``image_shape``, ``licence``,
        ``citation``, ``DESCR``.

    Examples
    --------
    >>> from ancr.datasets import load_ar
    >>> bunch = load_ar()  # doctest: +SKIP
    >>> bunch.data.shape, bunch.target_names[:3]  # doctest: +SKIP
    """
    info = dataset_info("ar")
    path = find_data("ar/AR_DAT.mat", data_home, info.how_to_get)
    content = read_mat(path)
    check_arrays(path, content, ("NewTrain_DAT", "NewTest_DAT", "trainlabels", "testlabels"))
    train, test = content["NewTrain_DAT"].T, content["NewTest_DAT"].T
    people = np.concatenate([content["trainlabels"].ravel(), content["testlabels"].ravel()]).astype(int)
    if train.shape[1:] != (60 * 43,) or test.shape[1:] != (60 * 43,) or len(people) != len(train) + len(test):
        raise ValueError(f"{path} must hold images of 60 × 43 pixels, one per column, and a label for each")
    images = np.concatenate([train, test]).astype(np.float64)
    names = [f"person {number}" for number in range(1, people.max() + 1)]
    return dataset_bunch(info, images, people - 1, names, np.arange(len(images)) < len(train), (60, 43))


def load_usps(data_home: PathLike | None = None, *, n_per_class: int | None = None, seed: int = 0) -> Bunch:
    """USPS digits, 16 × 16: 7291 for training, 2007 for testing, pixels scaled to [0, 1].

    Parameters
    ----------
    data_home : path-like or None
        Folder that holds ``usps/zip.train.gz`` and ``usps/zip.test.gz``; None searches
        ``ANCR_DATA``, then the folder for fetched data.
    n_per_class : int or None
        Draw this many samples per class from the training part, as the paper does; None keeps all 7291. The
        test part is always complete.
    seed : int
        Seed of the draw.

    Returns
    -------
    Bunch
        ``data`` (9298, 256), ``target``, ``target_names``, ``train_indices``, ``test_indices``,
        ``image_shape``, ``licence``, ``citation``, ``DESCR``.

    Examples
    --------
    >>> from ancr.datasets import load_usps
    >>> bunch = load_usps()  # doctest: +SKIP
    >>> bunch.data.shape, bunch.target_names[:3]  # doctest: +SKIP
    """
    info = dataset_info("usps")
    parts = [find_data(f"usps/zip.{part}.gz", data_home, info.how_to_get) for part in ("train", "test")]
    train_rows, test_rows = map(np.loadtxt, parts)
    rows = np.concatenate([train_rows, test_rows])
    target, is_train = rows[:, 0].astype(int), np.arange(len(rows)) < len(train_rows)
    bunch = dataset_bunch(info, (rows[:, 1:] + 1.0) / 2.0, target, [str(n) for n in range(10)], is_train, (16, 16))
    if n_per_class is not None:
        bunch.train_indices, _ = per_class_split(target, n_per_class, seed, pool=bunch.train_indices)
    return bunch
