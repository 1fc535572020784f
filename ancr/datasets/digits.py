"""The digits that ship with scikit-learn; no download needed."""

from sklearn import datasets
from sklearn.utils import Bunch

from ancr.datasets._bunch import dataset_bunch
from ancr.datasets.registry import dataset_info


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
        dataset_info("digits"),
        content.data / 16.0,
        content.target,
        content.target_names,
        image_shape=(8, 8),
    )
