"""The digits that ship with scikit-learn: nothing to download."""

from sklearn import datasets
from sklearn.utils import Bunch


def load_digits():
    """1797 digits of 8 × 8 pixels in [0, 1], no official split.

    Returns
    -------
    Bunch
        ``data`` (1797, 64), ``target``, ``image_shape``.
    """
    content = datasets.load_digits()
    return Bunch(data=content.data / 16.0, target=content.target, image_shape=(8, 8))
