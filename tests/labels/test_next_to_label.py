"""Which samples to label next: unsure ones, far from each other and from the labelled."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from ancr import ANCRClassifier, next_to_label


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return ANCRClassifier(alpha=0.1).fit(X[:40], y[:40]), X[40:640]


@pytest.mark.parametrize("strategy", ["auto", "margin", "far", "random"])
@pytest.mark.parametrize("space", [{}, {"kernel": "rbf"}], ids=["linear", "rbf"])
def test_rows_of_the_pool_once_each_and_the_same_for_a_seed(digits, strategy, space):
    X, y = load_digits(return_X_y=True)
    clf = ANCRClassifier(alpha=0.1, **space).fit(X[:40], y[:40])
    rows = next_to_label(clf, digits[1], 15, strategy=strategy, labelled=[0, 1, 2])
    assert len(set(rows.tolist())) == 15
    assert not {0, 1, 2} & set(rows.tolist())
    np.testing.assert_array_equal(rows, next_to_label(clf, digits[1], 15, strategy=strategy, labelled=[0, 1, 2]))


def test_margin_takes_the_least_sure(digits):
    clf, pool = digits
    top = np.sort(clf.decision_function(pool), axis=1)
    margins = top[:, -1] - top[:, -2]
    assert set(next_to_label(clf, pool, 9, strategy="margin")) == set(np.argsort(margins)[:9])


def test_auto_is_unsure_and_spread_out(digits):
    clf, pool = digits
    unit = pool / np.linalg.norm(pool, axis=1, keepdims=True)

    def least_distance(rows):
        apart = np.linalg.norm(unit[rows][:, None] - unit[rows], axis=2)
        return apart[np.triu_indices(len(rows), 1)].min()

    top = np.sort(clf.decision_function(pool), axis=1)
    unsure = set(np.argsort(top[:, -1] - top[:, -2])[: 6 * 12])
    auto = next_to_label(clf, pool, 12)
    assert set(auto) <= unsure
    assert least_distance(auto) > least_distance(next_to_label(clf, pool, 12, strategy="margin"))


def test_a_copy_of_a_labelled_sample_comes_last(digits):
    clf, pool = digits
    doubled = np.vstack([pool[:20], pool[:1]])
    rows = next_to_label(clf, doubled, 20, strategy="far", labelled=[20])
    assert rows[-1] == 0


def test_a_callable_ties_and_a_small_pool(digits):
    clf, pool = digits
    assert next_to_label(clf, pool, 3, strategy=lambda estimator, samples: samples[:, 20] * 1e6 + samples.sum(axis=1))[
        0
    ] == np.argmax(pool[:, 20] * 1e6 + pool.sum(axis=1))
    with pytest.warns(UserWarning, match="600 samples are as good as the last one chosen"):
        next_to_label(clf, pool, 3, strategy=lambda estimator, samples: np.ones(len(samples)))
    assert len(next_to_label(clf, pool[:4], 10)) == 4
    assert not len(next_to_label(clf, pool[:2], 10, labelled=[True, True]))


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"n": 0}, "n must be a whole number"),
        ({"n": 2, "strategy": "best"}, "strategy must be one of"),
        ({"n": 2, "labelled": [900]}, "labelled must hold rows of the pool"),
        ({"n": 2, "strategy": lambda estimator, samples: np.ones(1)}, "strategy must return one number per sample"),
    ],
)
def test_bad_arguments_are_named(digits, arguments, match):
    with pytest.raises(ValueError, match=match):
        next_to_label(*digits, **arguments)


def test_an_estimator_that_is_not_ours_is_refused(digits):
    with pytest.raises(ValueError, match="estimator must be a fitted classifier of ancr"):
        next_to_label(object(), digits[1], 2)
