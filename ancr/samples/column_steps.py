"""What is learned about columns of one kind: steps of scikit-learn, and three of its size that it lacks."""

from collections.abc import Iterable

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from ancr.samples.sentence_vectors import SentenceVectors

# Values so many times the middle 80 % beyond them are strays; fewer samples of a category than this say nothing alone.
_STRAY, _RARE, _MOST_CATEGORIES = 3.0, 3, 100
# Dimensions of texts: as many as there are texts, up to this. On other training texts of BANKING77 and HWU64, 256 lose
# 0.1 and 2.7 points by logistic regression, 0.2 and 1.1 by ANCR-CV; 512 at most 0.3 (benchmarks/texts.py --within).
_TEXT_DIMENSIONS = 1024


def number_steps(standardize: bool) -> Pipeline:
    """Gaps get the median; to standardize, strays are drawn in first, then columns get zero mean and unit variance."""
    filled = SimpleImputer(strategy="median", keep_empty_features=True)
    return make_pipeline(WithoutStrays(), filled, StandardScaler()) if standardize else make_pipeline(filled)


def category_steps(standardize: bool, count: int) -> Pipeline:
    """One column per category; rare ones together, where those unknown at training go, too, and gaps on their own.

    Of ``count`` rows fewer than 60, fewer make a category rare.
    """
    one_hot = OneHotEncoder(
        min_frequency=max(1, min(_RARE, count // 20)),
        max_categories=_MOST_CATEGORIES,
        handle_unknown="infrequent_if_exist",
        sparse_output=False,
    )
    return make_pipeline(one_hot, *_shares(standardize))


def gap_steps(standardize: bool) -> Pipeline:
    """1 where a value is missing."""
    return make_pipeline(FunctionTransformer(np.isnan), FunctionTransformer(_as_float), *_shares(standardize))


def _shares(standardize: bool) -> list["OneShare"]:
    return [OneShare()] if standardize else []


def _as_float(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float64)


def text_steps(standardize: bool, model: str = "", digest: str = "") -> Pipeline:
    """TF-IDF of words and of their parts along the directions of most weight, sparse before; or vectors of a model."""
    texts = FunctionTransformer(_without_gaps)
    if model:
        return make_pipeline(texts, SentenceVectors(model, digest), *_shares(standardize))
    words = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2))
    parts = TfidfVectorizer(sublinear_tf=True, analyzer="char_wb", ngram_range=(3, 5))
    union = FeatureUnion([("words", words), ("parts", parts)])
    return make_pipeline(texts, union, FewDimensions(), *_shares(standardize))


def _without_gaps(texts: Iterable[str | None]) -> list[str]:
    """Texts in a list; one without letters and digits, or missing, has a word of its own: no vocabulary is empty."""
    return [text if text and any(map(str.isalnum, text)) else "__" for text in texts]


class WithoutStrays(TransformerMixin, BaseEstimator):
    """Draw in values far beyond the middle of their column, such as 10⁹ in one cell.

    A value may lie three times the distance of the 10 % and the 90 % quantile beyond them. Where these are equal, the
    values other than the most frequent one tell the distance.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.samples.column_steps import WithoutStrays
    >>> column = np.append(np.arange(20.0), 1e9)[:, None]
    >>> float(WithoutStrays().fit_transform(column).max())
    66.0
    """

    def fit(self, X: np.ndarray, y: object = None) -> "WithoutStrays":
        """Learn the limits.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Numbers; NaN where one is missing.
        y : None
            Not used.
        """
        self.limits_ = np.array([_limits(column[~np.isnan(column)]) for column in X.T]).T
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Draw values in to the limits.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Numbers.
        """
        return np.clip(X, *self.limits_)


def _limits(values: np.ndarray) -> tuple[float, float]:
    if len(values) < 5:  # which of four values would be the stray?
        return -np.inf, np.inf
    low, high = np.quantile(values, [0.1, 0.9], method="inverted_cdf")
    if low == high:
        others = values[values != low]
        if len(others) < 5:
            return -np.inf, np.inf
        few, many = np.quantile(others, [0.1, 0.9], method="inverted_cdf")
        low, high = min(low, few), max(high, many)
    return low - _STRAY * (high - low), high + _STRAY * (high - low)


class OneShare(TransformerMixin, BaseEstimator):
    """Centre columns that stand for one column of a table, and give them the variance of one together."""

    def fit(self, X: np.ndarray, y: object = None) -> "OneShare":
        """Learn means and variance.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Columns that belong together.
        y : None
            Not used.
        """
        self.mean_, total = X.mean(axis=0), float(X.var(axis=0).sum())
        self.scale_ = total**0.5 if total > 0.0 else 1.0
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Centre and scale.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Columns that belong together.
        """
        return (X - self.mean_) / self.scale_


class FewDimensions(TransformerMixin, BaseEstimator):
    """Truncated SVD of a sparse matrix, into as many dimensions as its samples allow, at most 1,024."""

    def fit(self, X: sparse.csr_matrix, y: object = None) -> "FewDimensions":
        """Find the directions; the same ones for the same samples.

        Parameters
        ----------
        X : sparse matrix of shape (n_samples, n_features)
            Weights of words.
        y : None
            Not used.
        """
        size = max(1, min(_TEXT_DIMENSIONS, X.shape[0], X.shape[1] - 1))
        self.svd_ = TruncatedSVD(size, random_state=0).fit(X)
        return self

    def transform(self, X: sparse.csr_matrix) -> np.ndarray:
        """Coordinates along the directions.

        Parameters
        ----------
        X : sparse matrix of shape (n_samples, n_features)
            Weights of words.
        """
        return self.svd_.transform(X)
