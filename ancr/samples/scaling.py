"""Columns with units: how they are scaled, and the spaces in which scaled columns are searched."""

from sklearn.preprocessing import StandardScaler

from ancr.axes.spaces import Space

# Samples of standardized columns keep their norms, which say how far a sample is from the mean of all. The widths are
# multiples of what scikit-learn calls "scale".
SPACES_OF_COLUMNS = [
    Space(normalize=False),
    *(Space("rbf", gamma=gamma, normalize=False) for gamma in (0.125, 0.25, 0.5, 1.0, 2.0)),
]


class StandardColumns(StandardScaler):
    """Columns with zero mean and the same variance 1/d: the squared norm of a sample is 1 on average.

    So λ and the width of a kernel mean the same for any number of columns. Samples at unit norm do not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.samples.scaling import StandardColumns
    >>> samples = np.random.default_rng(0).random((50, 4)) * [1, 10, 100, 1000]
    >>> float(np.square(StandardColumns().fit_transform(samples)).sum(axis=1).mean().round(6))
    1.0
    """

    def transform(self, X, copy=None):
        """Scale the columns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        copy : bool or None
            As for ``StandardScaler``.
        """
        return super().transform(X, copy) / self.n_features_in_**0.5
