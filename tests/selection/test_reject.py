"""Answers withheld where they cannot be trusted."""

from itertools import product

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from ancr import ANCRClassifier, ANCRClassifierCV, RepresentationClassifierCV, Space, next_to_label
from ancr.axes.rules import RULES
from ancr.axes.sets import SETS
from ancr.model_selection import RejectOption
from ancr.selection.calibration import least_threshold, looks_at, share_interval
from ancr.studio.claims import Claims

SMALL = ANCRClassifierCV(
    spaces=("linear",), constraints=("simplex",), rules=("res",), alphas=(1e-2, 1e-1), relaxations=(0.3, None)
)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    mixed = np.random.default_rng(0).permutation(len(y))
    X, y = X[mixed], y[mixed]
    return X[:300], y[:300], X[300:900], y[300:900]


def accepting_all(search, X, y):
    """A reject option that withholds nothing."""
    clf = RejectOption(FrozenEstimator(search), precision=1e-9).fit(X, y)
    assert clf.predict(X).shape == np.shape(y)
    return clf


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_without_rejection_labels_are_those_of_predict(normalize, kernel):
    """Samples far from the origin, of which one of 89 had another label for every set and rule."""
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X) + 5.0
    space = Space(kernel, gamma=0.1, normalize=normalize) if kernel == "rbf" else Space(normalize=normalize)
    for constraint, rule in product(SETS, RULES):
        grid = {"spaces": [space], "constraints": [constraint], "rules": [rule], "relaxations": [None]}
        search = RepresentationClassifierCV(**grid, alphas=[0.1]).fit(X[::2], y[::2])
        clf = accepting_all(search, X[::2], y[::2])
        accepted = clf.confidence(X[1::2]) >= clf.trust_.threshold
        labels = clf.predict(X[1::2])
        np.testing.assert_array_equal(labels[accepted], search.predict(X[1::2])[accepted])
        winners, _ = clf._judged("predict", X[1::2])
        np.testing.assert_array_equal(search.classes_[winners], search.predict(X[1::2]))


def test_confidence_rests_on_the_decision_values_of_predict():
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X) + 5.0
    grid = {"spaces": [Space(normalize=False)], "constraints": ["simplex"], "rules": ["res"], "relaxations": [None]}
    clf = RejectOption(RepresentationClassifierCV(**grid)).fit(X[::2], y[::2])
    expected = clf.estimator_.predict_proba(X[1::2]).max(axis=1)
    np.testing.assert_allclose(clf.confidence(X[1::2]), expected, atol=1e-9)


@pytest.mark.parametrize("names", [False, True])
def test_the_least_certain_are_left_out(digits, names):
    X, y, queries, truth = digits
    label = np.array([f"class {k}" for k in range(10)]) if names else np.arange(10)
    clf = RejectOption(SMALL, precision=0.95).fit(X, label[y])
    answers = clf.predict(queries)
    kept = answers != ("rejected" if names else -1)
    assert 0.5 < kept.mean() < 1
    np.testing.assert_array_equal(answers[kept], clf.estimator_.predict(queries)[kept])
    confidence = clf.confidence(queries)
    assert confidence[kept].min() >= clf.trust_.threshold > confidence[~kept].max()
    assert (answers[kept] == label[truth][kept]).mean() > clf.estimator_.score(queries, label[truth])


def test_scikit_learn_and_other_functions_take_it_for_its_search():
    X, y = load_iris(return_X_y=True)
    one = {"constraints": ["simplex"], "alphas": [0.1], "relaxations": [None], "rules": ["res"]}
    inner = RejectOption(RepresentationClassifierCV(spaces=["precomputed"], **one), precision=0.5)
    assert get_tags(inner).input_tags.pairwise
    assert np.isfinite(cross_val_score(inner, X @ X.T, y, cv=3)).all()
    assert has_fit_parameter(inner, "sample_weight")
    frame = load_iris(as_frame=True).data
    clf = RejectOption(RepresentationClassifierCV(spaces=["linear"], **one)).fit(frame, y, sample_weight=np.ones(150))
    assert clf.feature_names_in_.tolist() == list(frame.columns)
    np.testing.assert_array_equal(clf.predict_proba(frame), clf.estimator_.predict_proba(frame))
    np.testing.assert_array_equal(next_to_label(clf, X, 3), next_to_label(clf.estimator_, X, 3))


def test_the_reject_label_must_not_be_a_label(digits):
    X, y, queries, _ = digits
    with pytest.raises(ValueError, match="reject_label"):
        RejectOption(SMALL, reject_label=3).fit(X, y)
    assert (RejectOption(SMALL, reject_label=99).fit(X, y).predict(queries) == 99).any()


def test_the_reject_label_beside_other_kinds_of_labels(digits):
    X, y, queries, _ = digits
    answers = RejectOption(SMALL, reject_label="unknown").fit(X, y).predict(queries)
    assert {type(answer) for answer in answers} == {int, str}
    assert RejectOption(SMALL, precision=1.0).fit(X[y < 2], 2 * y[y < 2] - 1).reject_label_ == -2


def test_an_unreachable_precision_warns(digits):
    X, y, queries, _ = digits
    clf = RejectOption(SMALL, precision=1.0).fit(X, y)
    assert clf.trust_.interval == (0.0, 1.0)
    assert clf.trust_.coverage == 0.0
    with pytest.warns(UserWarning, match=r"300 held-out samples, \d+ of them recognised, do not support precision=1 "):
        assert (clf.predict(queries) == -1).all()


def test_few_samples_promise_nothing_however_many_are_right():
    """Sixty of sixty: the share of right answers may still be 0.9."""
    X, y = load_wine(return_X_y=True)
    rows = np.random.default_rng(3).permutation(len(y))[:60]
    X = StandardScaler().fit(X[rows]).transform(X)
    clf = RejectOption(ANCRClassifierCV(spaces=["linear"], alphas=[0.1], rules=["res"])).fit(X[rows], y[rows])
    with pytest.warns(UserWarning, match="every answer is withheld"):
        assert (clf.predict(X) == -1).all()
    lower = RejectOption(FrozenEstimator(clf.estimator_), precision=0.8).fit(None, None)
    low, high = lower.trust_.interval
    assert 0.8 <= low < 0.95
    assert high == pytest.approx(1.0, abs=0.02)
    assert (lower.predict(X) != -1).any()


@pytest.mark.parametrize("n", [60, 300])
def test_the_stated_interval_holds(n):
    """Answers whose confidence is the probability that they are right: 95 of 100 intervals hold the true share."""
    random, kept = np.random.default_rng(n), []
    for _ in range(300):
        confidence = random.beta(4.0, 0.7, n)
        threshold, coverage, (low, high) = least_threshold(confidence, random.uniform(size=n) < confidence, 0.85)
        if coverage:
            fresh = random.beta(4.0, 0.7, 20000)
            kept.append(low <= fresh[fresh >= threshold].mean() <= high)
            assert low >= 0.85
    assert len(kept) > 50
    assert np.mean(kept) >= 0.95


def test_every_look_is_counted_and_none_is_chosen_by_the_answers():
    """A best set among all that are nested would need a count of all of them."""
    random = np.random.default_rng(0)
    confidence = random.uniform(size=300)
    looks, others = (looks_at(confidence, random.uniform(size=300) < share, 0.9) for share in (0.99, 0.7))
    assert [look[:2] for look in looks] == [look[:2] for look in others]
    assert min(look.share for look in looks) * 300 < 70 < 150 < sorted(look.share for look in looks)[-3] * 300 < 300
    right = confidence > 0.2
    for look in looks_at(confidence, right, 0.9):
        inside = confidence >= look.threshold
        expected = share_interval(int(right[inside].sum()), int(inside.sum()), len(looks))
        assert look.interval == expected
        assert look.share == inside.mean()
    claims = Claims.of(confidence, right)
    best = max(look.interval[0] for look in looks_at(confidence, right, 0.95))
    np.testing.assert_array_equal(claims.capped(np.array([1.0, 0.01])), [best, 0.01])
    assert not Claims.of(confidence[:0], right[:0]).capped(np.array([0.9])).any()


def test_bad_parameters_are_named(digits):
    X, y, *_ = digits
    with pytest.raises(ValueError, match="precision"):
        RejectOption(precision=2.0).fit(X, y)
    with pytest.raises(ValueError, match="estimator must be a search of ancr"):
        RejectOption(ANCRClassifier()).fit(X, y)
    with pytest.raises(NotFittedError):
        RejectOption().confidence(np.eye(2))
