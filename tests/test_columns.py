"""Columns of different scales: one warning with the remedy, and none where scales differ by nature."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ancr import ANCRClassifier, ANCRClassifierCV, CRCClassifier
from ancr._core.column_scales import dominant_column
from ancr.datasets import DataNotFoundError, load_ar, load_cars, load_cub200, load_stanford40, load_usps
from tests.array_libraries import BACKENDS, converter


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
@pytest.mark.parametrize("clf", [CRCClassifier(), ANCRClassifierCV(alphas=[1e-2, 1e-1])], ids=["CRC", "ANCR-CV"])
def test_one_warning_with_the_remedy(load, clf):
    X, y = load(return_X_y=True, as_frame=True)
    with pytest.warns(UserWarning, match=r"scale by orders of magnitude.*make_pipeline\(StandardScaler") as caught:
        clf.fit(X[::2], y[::2])
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert repr(X.columns[X.abs().max().argmax()]) in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        make_pipeline(StandardScaler(), clf).fit(X[::2], y[::2])


def test_no_warning_for_pixels_and_constant_columns():
    X, y = load_digits(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        ANCRClassifier().fit(X[:300], y[:300])
        CRCClassifier().fit(np.column_stack([X[:300], np.full(300, 1e6)]), y[:300])
        CRCClassifier().fit(*load_iris(return_X_y=True))


@pytest.mark.parametrize(
    ("load", "options"),
    [
        (load_usps, {}),
        (load_ar, {}),
        (load_stanford40, {"features": "efficientnet_lite0"}),
        (load_cub200, {"features": "efficientnet_lite0"}),
        (load_cars, {"features": "efficientnet_lite0"}),
    ],
)
def test_no_column_of_images_and_deep_features_dominates(load, options):
    try:
        bunch = load(**options)
    except DataNotFoundError as error:
        pytest.skip(str(error).splitlines()[0])
    assert dominant_column(bunch.data[bunch.train_indices]) is None


def test_what_dominates():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 6))
    assert dominant_column(X) is None
    assert dominant_column(X * [1, 1, 1e3, 1, 1, 1]) == 2
    assert dominant_column(X[:, :2] * [1e-4, 1]) == 1
    assert dominant_column(X + 2000 * np.eye(6)[4]) == 4
    assert dominant_column(X + 2000) is None
    assert dominant_column(np.ones((5, 3))) is None
    counts = rng.poisson(np.geomspace(50, 1e-3, 200), (300, 200))
    assert dominant_column(counts) is None


@pytest.mark.parametrize("library", BACKENDS)
def test_arrays_of_every_library(library):
    X = np.random.default_rng(0).standard_normal((50, 6)) * [1, 1, 1e3, 1, 1, 1]
    assert dominant_column(converter(library)(X)) == 2
