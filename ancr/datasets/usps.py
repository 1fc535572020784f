"""USPS digits in the form of *The Elements of Statistical Learning*."""

import numpy as np
from sklearn.utils import Bunch

from ancr.datasets._locate import find_data


def load_usps(data_home=None):
    """USPS digits, 16 × 16: 7291 to train on, 2007 to test on, pixels scaled to [0, 1].

    Parameters
    ----------
    data_home : path-like or None
        Folder that holds ``usps/zip.train.gz`` and ``usps/zip.test.gz``; None looks in ``ANCR_DATA``, then in
        ``../shared/data``.

    Returns
    -------
    Bunch
        ``data`` (9298, 256), ``target``, ``train_indices``, ``test_indices``, ``image_shape``.
    """
    train, test = (np.loadtxt(find_data(f"usps/zip.{part}.gz", data_home)) for part in ("train", "test"))
    rows = np.concatenate([train, test])
    return Bunch(
        data=(rows[:, 1:] + 1.0) / 2.0,
        target=rows[:, 0].astype(int),
        train_indices=np.arange(len(train)),
        test_indices=np.arange(len(train), len(rows)),
        image_shape=(16, 16),
    )
