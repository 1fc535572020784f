"""PCA as in papers on face recognition: a centred basis, uncentred data."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.utils.validation import check_is_fitted, validate_data


class Eigenfaces(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Project *uncentred* samples on the leading principal axes of the centred training samples.

    The public code for the paper's AR numbers does this; with centred data the numbers differ.

    Parameters
    ----------
    n_components : int, default=100
        Number of axes.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The axes, leading first.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.features import Eigenfaces
    >>> Eigenfaces(n_components=2).fit_transform(np.eye(4)).shape
    (4, 2)
    """

    def __init__(self, n_components: int = 100) -> None:
        self.n_components = n_components

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the axes of the training samples."""
        X = validate_data(self, X, dtype=[np.float64, np.float32])
        self.components_ = PCA(self.n_components, svd_solver="full").fit(X).components_
        self._n_features_out = len(self.components_)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates of samples on the axes, without subtracting a mean."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return X @ self.components_.T
