"""AR faces as the authors of ANCR published them."""

import numpy as np
from sklearn.utils import Bunch

from ancr._core.files import PathLike
from ancr._core.locations import find_data
from ancr.datasets._bunch import dataset_bunch
from ancr.datasets.registry import dataset_info
from ancr.samples.array_files import check_arrays, read_mat


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
    return dataset_bunch(
        info,
        np.concatenate([train, test]).astype(np.float64),
        people - 1,
        [f"person {number}" for number in range(1, people.max() + 1)],
        train=np.arange(len(train)),
        test=np.arange(len(train), len(train) + len(test)),
        image_shape=(60, 43),
    )
