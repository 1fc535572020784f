"""AR faces as the authors of ANCR published them."""

import numpy as np
from scipy.io import loadmat
from sklearn.utils import Bunch

from ancr.datasets._locate import find_data


def load_ar(data_home=None):
    """AR faces, 60 × 43 crops of 100 people: first session to train on (700), second to test on (699).

    Parameters
    ----------
    data_home : path-like or None
        Folder that holds ``ar/AR_DAT.mat``; None looks in ``ANCR_DATA``, then in ``../shared/data``.

    Returns
    -------
    Bunch
        ``data`` (1399, 2580) in [0, 255], ``target``, ``train_indices``, ``test_indices``, ``image_shape``.
    """
    content = loadmat(find_data("ar/AR_DAT.mat", data_home))
    train, test = content["NewTrain_DAT"].T, content["NewTest_DAT"].T
    return Bunch(
        data=np.concatenate([train, test]).astype(np.float64),
        target=np.concatenate([content["trainlabels"].ravel(), content["testlabels"].ravel()]).astype(int),
        train_indices=np.arange(len(train)),
        test_indices=np.arange(len(train), len(train) + len(test)),
        image_shape=(60, 43),
    )
