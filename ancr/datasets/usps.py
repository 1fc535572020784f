"""USPS digits in the form of *The Elements of Statistical Learning*."""

import numpy as np
from sklearn.utils import Bunch

from ancr._core.files import PathLike
from ancr._core.locations import find_data
from ancr.datasets._bunch import dataset_bunch
from ancr.datasets.registry import dataset_info
from ancr.datasets.splits import per_class_split


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
    target = rows[:, 0].astype(int)
    train = np.arange(len(train_rows))
    if n_per_class is not None:
        train, _ = per_class_split(target, n_per_class, seed, pool=train)
    return dataset_bunch(
        info,
        (rows[:, 1:] + 1.0) / 2.0,
        target,
        [str(digit) for digit in range(10)],
        train=train,
        test=np.arange(len(train_rows), len(rows)),
        image_shape=(16, 16),
    )
