"""Which samples to label next: unsure ones, far from each other and from the labelled."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits

from ancr import ANCRClassifier, Space, next_to_label


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return ANCRClassifier(alpha=0.1).fit(X[:40], y[:40]), X[40:640]


@pytest.mark.parametrize("strategy", ["auto", "margin", "far", "random"])
@pytest.mark.parametrize("space", [{}, {"space": "rbf"}], ids=["linear", "rbf"])
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


@pytest.mark.parametrize("normalize", [True, False])
def test_auto_makes_unsure_samples_best_represented_one_by_one(normalize):
    X, y = load_digits(return_X_y=True)
    clf = ANCRClassifier(alpha=0.1, space=Space(normalize=normalize)).fit(X[:20], y[:20])
    rows = X / np.linalg.norm(X, axis=1, keepdims=True) if normalize else X
    labelled, pool = rows[:20], rows[20:220]
    # Without unit norm the origin is anywhere, and only the spread says how long a sample is.
    ridge = 0.1 * np.mean(((labelled - (0.0 if normalize else labelled.mean(axis=0))) ** 2).sum(axis=1))

    top = np.sort(clf.decision_function(X[20:220]), axis=1)
    margins = top[:, -1] - top[:, -2]
    weights, candidates = np.exp(-margins / np.median(margins)), np.argsort(margins)[: 6 * 7].tolist()

    def cost(atoms):
        codes = np.linalg.solve(atoms @ atoms.T + ridge * np.eye(len(atoms)), atoms @ pool.T)
        return weights @ (((pool.T - atoms.T @ codes) ** 2).sum(axis=0) + ridge * (codes**2).sum(axis=0))

    expected = []
    for _ in range(7):
        left = [row for row in candidates if row not in expected]
        expected.append(min(left, key=lambda row: cost(np.vstack([labelled, pool[row]]))))
        labelled = np.vstack([labelled, pool[expected[-1]]])
    np.testing.assert_array_equal(next_to_label(clf, X[20:220], 7), expected)


@pytest.mark.parametrize("scale", [1e-140, 1e-30, 1e30, 1e140])
def test_the_scale_of_the_samples_does_not_matter(scale):
    X, y = load_digits(return_X_y=True)
    first, second = (
        next_to_label(
            ANCRClassifier(alpha=0.1 * s * s, space=Space(normalize=False)).fit(s * X[:20], y[:20]), s * X[20:220], 7
        )
        for s in (1.0, scale)
    )
    np.testing.assert_array_equal(first, second)


def test_an_offset_does_not_bring_copies():
    X, y = load_digits(return_X_y=True)
    pool = np.tile(X[20:80], (8, 1))
    warnings.simplefilter("ignore", UserWarning)  # copies are equally unsure
    for offset in (0.0, 10.0, 1000.0):
        clf = ANCRClassifier(alpha=0.1, space=Space(normalize=False)).fit(X[:20] + offset, y[:20])
        rows = next_to_label(clf, pool + offset, 6)
        assert len(set(rows % 60)) >= 5  # of the 36 least sure ones, five are no copies


def test_samples_of_one_class_alone():
    X, y = load_digits(return_X_y=True)
    clf = ANCRClassifier().partial_fit(X[y == 3][:5], y[y == 3][:5], classes=np.arange(10))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.filterwarnings("ignore", "200 samples are as good", UserWarning)
        assert len(set(next_to_label(clf, X[:200], 9))) == 9


def test_a_callable_sees_the_pool_as_it_is(digits):
    clf, pool = digits
    rows = next_to_label(clf, pool, 3, labelled=[599], strategy=lambda estimator, samples: np.arange(len(samples)))
    assert rows.tolist() == [598, 597, 596]


def test_auto_tells_of_samples_that_are_equally_unsure(digits):
    clf, pool = digits
    same = np.repeat(pool[:1], 50, axis=0)
    with pytest.warns(UserWarning, match="50 samples are as good as the last one considered"):
        next_to_label(clf, same, 2)


def test_equal_samples_and_zeros_in_the_pool_are_chosen_once_each(digits):
    clf, pool = digits
    same = np.vstack([np.repeat(pool[:1], 10, axis=0), np.zeros((5, 64))])
    assert sorted(next_to_label(clf, same, 15).tolist()) == list(range(15))


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
        ({"n": 2, "labelled": [[0, 1]]}, "labelled must hold rows of the pool"),
        ({"n": 2, "labelled": 5}, "labelled must hold rows of the pool"),
        ({"n": 2, "labelled": [True, False]}, "labelled must hold rows of the pool, 0 to 599, or one bool for each"),
        ({"n": 2, "labelled": [[0], [1, 2]]}, "labelled: "),
        ({"n": 2, "strategy": ["auto"]}, "strategy must be one of"),
        ({"n": 2, "strategy": lambda estimator, samples: np.ones(1)}, "strategy must return one number per sample"),
        ({"n": 2, "strategy": lambda estimator, samples: np.full(600, np.nan)}, "strategy must return .* got NaN"),
        ({"n": 2, "strategy": lambda estimator, samples: ["a"] * 600}, "strategy: could not convert string"),
        ({"n": 2, "random_state": -1}, "random_state must be a whole number of at least 0, got -1"),
        ({"n": 2, "random_state": "a"}, "random_state must be a whole number of at least 0, got 'a'"),
    ],
)
def test_bad_arguments_are_named(digits, arguments, match):
    with pytest.raises(ValueError, match=match):
        next_to_label(*digits, **arguments)


@pytest.mark.parametrize("strategy", ["auto", "margin", "far", "random", lambda estimator, samples: np.ones(1)])
def test_the_pool_has_the_columns_of_the_training_samples(digits, strategy):
    clf, pool = digits
    for wrong in (pool[:, :3], pool[0]):
        with pytest.raises(ValueError, match=r"^pool: [^\n]*(has 3 features|Expected 2D array)[^\n]*$"):
            next_to_label(clf, wrong, 2, strategy=strategy)


def test_the_pool_has_the_names_of_the_columns():
    pd = pytest.importorskip("pandas")
    X, y = load_digits(return_X_y=True)
    frame = pd.DataFrame(X[:100], columns=[f"pixel {i}" for i in range(64)])
    clf = ANCRClassifier(alpha=0.1).fit(frame[:40], y[:40])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = next_to_label(clf, frame[40:], 5)
    np.testing.assert_array_equal(rows, next_to_label(ANCRClassifier(alpha=0.1).fit(X[:40], y[:40]), X[40:100], 5))
    with pytest.raises(ValueError, match=r"^pool: [^\n]*feature names[^\n]*$"):
        next_to_label(clf, frame[frame.columns[::-1]], 5)


def test_inner_products_have_no_distances_within_the_pool(digits):
    X, y = load_digits(return_X_y=True)
    clf = ANCRClassifier(alpha=0.1, space="precomputed").fit(X[:40] @ X[:40].T, y[:40])
    with pytest.raises(ValueError, match="strategy='far' needs distances within the pool"):
        next_to_label(clf, X[40:60] @ X[:40].T, 5, strategy="far")
    assert len(next_to_label(clf, X[40:60] @ X[:40].T, 5)) == 5


def test_an_estimator_that_is_not_ours_is_refused(digits):
    with pytest.raises(ValueError, match="estimator must be a fitted classifier of ancr"):
        next_to_label(object(), digits[1], 2)
