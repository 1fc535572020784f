"""A grown dictionary equals the dictionary that one fit to all samples would have built."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import ancr
from ancr import Dictionary
from ancr._core.arrays import unit_rows
from ancr.dictionary import gram
from ancr.solvers import HostWorkingSet
from tests.test_sklearn_api import INSTANCES

WIDE, TALL = (60, 80), (120, 12)


def stream(shape, seed=0):
    """Samples whose later part has a new class that sorts before the others, and queries."""
    rng = np.random.default_rng(seed)
    n, d = shape
    labels = rng.choice(["m", "p", "z"], n)
    labels[n // 2 :: 5] = "a"
    labels[:2] = "m", "z"
    centres = dict(zip("ampz", 2.0 + rng.standard_normal((4, d)), strict=True))
    X = np.array([centres[label] for label in labels]) + rng.standard_normal((n, d))
    return X, labels, rng.standard_normal((9, d)) + centres["a"]


def grown(classifier, X, y, steps=10):
    clf = clone(classifier)
    for part in np.array_split(np.arange(len(X)), steps):
        clf.partial_fit(X[part], y[part])
    return clf


def misfit(clf, Q):
    """‖y − Xc‖ of each query."""
    image = clf.codes(Q)[:, clf.dictionary_.order] @ clf.dictionary_.atoms
    return np.linalg.norm(Q / np.linalg.norm(Q, axis=1, keepdims=True) - image, axis=1)


@pytest.mark.parametrize("shape", [WIDE, TALL], ids=["more features", "more atoms"])
@pytest.mark.parametrize(
    "classifier", [*INSTANCES, ancr.ANCRClassifier(relaxation=0.1)], ids=lambda c: type(c).__name__
)
def test_ten_steps_equal_one_fit(classifier, shape):
    X, y, Q = stream(shape)
    whole, clf = clone(classifier).fit(X, y), grown(classifier, X, y)
    np.testing.assert_array_equal(clf.classes_, ["a", "m", "p", "z"])
    np.testing.assert_array_equal(clf.dictionary_.atoms, whole.dictionary_.atoms)
    np.testing.assert_array_equal(clf.dictionary_.order, whole.dictionary_.order)
    np.testing.assert_array_equal(clf.dictionary_.bounds, whole.dictionary_.bounds)
    if not hasattr(clf, "alpha"):  # without a ridge the code is unique only if the query is not represented exactly
        Q = Q[misfit(whole, Q) > 1e-3]
        assert len(Q)
    np.testing.assert_allclose(clf.residuals(Q), whole.residuals(Q), atol=1e-10, rtol=0)
    np.testing.assert_array_equal(clf.predict(Q), whole.predict(Q))


def test_codes_keep_the_order_given():
    X, y, Q = stream(TALL)
    clf = grown(ancr.ANCRClassifier(), X, y)
    codes = clf.codes(Q).toarray()
    atoms = X / np.linalg.norm(X, axis=1, keepdims=True)
    own = codes * (y == "a")
    queries = Q / np.linalg.norm(Q, axis=1, keepdims=True)
    expected = np.linalg.norm(queries - own @ atoms, axis=1)
    np.testing.assert_allclose(clf.residuals(Q)[:, 0], expected, atol=1e-12)


def test_only_products_with_new_atoms_are_computed():
    X, y, _ = stream(TALL)
    old = Dictionary.build(X[:100], y[:100])
    old.gram[:] = np.arange(100 * 100).reshape(100, 100)  # values that no product would give
    new = gram.extended(old, unit_rows(X[100:]), y[100:])
    kept, added = new.position[:100], new.position[100:]
    np.testing.assert_array_equal(new.gram[np.ix_(kept, kept)], old.gram[np.ix_(old.position, old.position)])
    np.testing.assert_allclose(new.gram[added], new.atoms[added] @ new.atoms.T, atol=1e-14)
    np.testing.assert_array_equal(new.gram[:, added], new.gram[added].T)


@pytest.mark.parametrize(
    ("classifier", "matrix"), [(ancr.ANCRClassifier, "gram_of"), (ancr.CRCClassifier, "scatter_of")]
)
def test_calls_without_a_query_in_between_are_caught_up_in_one_step(classifier, matrix, monkeypatch):
    X, y, Q = stream(TALL)
    clf = classifier().fit(X[:80], y[:80])
    sizes, plain = [], getattr(gram, matrix)
    monkeypatch.setattr(gram, matrix, lambda rows: sizes.append(len(rows)) or plain(rows))
    for start in range(80, 120, 10):
        clf.partial_fit(X[start : start + 10], y[start : start + 10])
    assert sizes == []
    residuals = clf.residuals(Q)
    clf.predict(Q)
    assert sizes == [40]
    np.testing.assert_allclose(residuals, classifier().fit(X, y).residuals(Q), atol=1e-10)


def test_settings_are_those_of_the_last_call():
    X, y, Q = stream(TALL)
    clf = ancr.CRCClassifier(alpha=0.1).fit(X[:70], y[:70]).partial_fit(X[70:], y[70:])
    clf.set_params(alpha=10.0, space__normalize=False)
    whole = ancr.CRCClassifier(alpha=0.1).fit(X, y)
    np.testing.assert_allclose(clf.residuals(Q), whole.residuals(Q), atol=1e-10)


def test_a_gram_over_the_budget_is_not_carried_along(monkeypatch):
    X, y, Q = stream(TALL)
    monkeypatch.setattr(HostWorkingSet.__init__, "__defaults__", (None, 100 * 100 * 8))
    clf = ancr.ANCRClassifier().partial_fit(X[:100], y[:100])
    assert "gram" in clf.dictionary_.centred.held
    clf.partial_fit(X[100:], y[100:]).predict(Q)
    assert not clf.solver_.keeps_matrix
    assert clf.dictionary_.growth is None
    np.testing.assert_allclose(clf.residuals(Q), ancr.ANCRClassifier().fit(X, y).residuals(Q), atol=1e-10)


def test_spread_does_not_cancel_far_from_the_origin():
    rng = np.random.default_rng(0)
    X = 1e6 + rng.standard_normal((60, 5))
    first = Dictionary.build(X[:25], normalize=False)
    assert first.spread.shape == (5, 5)
    centred = X - X.mean(axis=0)
    spread = gram.extended(first, X[25:], np.zeros(35, int)).spread
    np.testing.assert_allclose(spread, centred.T @ centred, rtol=1e-7, atol=1e-6)


def test_fit_starts_over_and_partial_fit_continues():
    X, y, Q = stream(TALL)
    clf = ancr.CRCClassifier().fit(X[:70], y[:70]).partial_fit(X[70:], y[70:])
    np.testing.assert_allclose(clf.residuals(Q), ancr.CRCClassifier().fit(X, y).residuals(Q), atol=1e-10)
    clf.partial_fit(X, y).fit(X[:70], y[:70])
    assert clf.dictionary_.n_atoms == clf.solver_.problem.dictionary.n_atoms == clf.codes(Q).shape[1] == 70
    assert vars(clf).keys() == vars(ancr.CRCClassifier().fit(X, y)).keys()  # nothing postponed is left over


def test_classes_named_ahead():
    X, y, Q = stream(TALL)
    only = y == "z"
    clf = ancr.NCRClassifier().partial_fit(X[only], y[only], classes=["a", "m", "p", "z"])
    assert clf.classes_.tolist() == ["a", "m", "p", "z"]
    assert set(clf.predict(-Q)) == {"z"}  # −Q is represented so badly that an empty class has a smaller residual
    np.testing.assert_array_equal(clf.predict_proba(Q), [[0, 0, 0, 1]] * len(Q))
    assert {e.label for e in clf.explain(-Q)} == {"z"}
    rest = ~only
    clf.partial_fit(X[rest], y[rest])
    whole = ancr.NCRClassifier().fit(np.concatenate([X[only], X[rest]]), np.concatenate([y[only], y[rest]]))
    np.testing.assert_allclose(clf.residuals(Q), whole.residuals(Q), atol=1e-10)


def test_precision_of_the_first_call_stays():
    X, y, Q = stream(TALL)
    clf = ancr.ANCRClassifier().partial_fit(X[:50].astype(np.float32), y[:50]).partial_fit(X[50:], y[50:])
    assert clf.residuals(Q).dtype == clf.dictionary_.dtype == np.float32


@pytest.mark.filterwarnings("error")
def test_a_batch_may_be_a_single_sample():
    X, y, Q = stream(TALL)
    clf = ancr.ANCRClassifier().fit(X[:-3], y[:-3])
    for i in range(len(X) - 3, len(X)):
        clf.partial_fit(X[i : i + 1], y[i : i + 1])
    np.testing.assert_allclose(clf.residuals(Q), ancr.ANCRClassifier().fit(X, y).residuals(Q), atol=1e-10)


def test_grown_classifier_pickles():
    X, y, Q = stream(TALL)
    clf = grown(ancr.ACRClassifier(), X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(clf)).residuals(Q), clf.residuals(Q))


def test_bad_batches_are_named_and_change_nothing():
    X, y, Q = stream(TALL)
    with pytest.raises(ValueError, match="at least two classes, got one class"):
        ancr.ANCRClassifier().partial_fit(X[:5], ["m"] * 5)
    clf = ancr.ANCRClassifier().partial_fit(X, y)
    before = clf.residuals(Q)
    with pytest.raises(ValueError, match="classes must list every label of y"):
        clf.partial_fit(X, y, classes=["a", "m"])
    with pytest.raises(ValueError, match="labels must be of the kind seen before"):
        clf.partial_fit(X, np.arange(len(X)) % 3)
    with pytest.raises(ValueError, match="features"):
        clf.partial_fit(X[:, :3], y)
    with pytest.raises(ValueError, match="NaN"):
        clf.partial_fit(np.full_like(X, np.nan), y)
    np.testing.assert_array_equal(clf.residuals(Q), before)


def test_a_fit_that_fails_leaves_the_one_before():
    X, y, Q = stream(TALL)
    clf = ancr.ANCRClassifier().fit(X, y)
    before = clf.decision_function(Q)
    with pytest.raises(ValueError, match="at least two classes"):
        clf.fit(X[:, :3], ["m"] * len(X))
    assert clf.n_features_in_ == X.shape[1]
    np.testing.assert_array_equal(clf.decision_function(Q), before)
    with pytest.raises(ValueError, match="solver='closed_form' cannot be combined with constraint='simplex'"):
        clf.set_params(solver="closed_form").partial_fit(X[:5], y[:5])
    np.testing.assert_array_equal(clf.decision_function(Q), before)
    np.testing.assert_array_equal(clf.set_params(solver="exact").partial_fit(X[:5], y[:5]).codes(Q).shape, (9, 125))


def test_names_of_features_are_those_of_the_last_fit():
    pd = pytest.importorskip("pandas")
    X, y, _ = stream(TALL)
    clf = ancr.CRCClassifier().fit(pd.DataFrame(X).add_prefix("x"), y)
    assert clf.feature_names_in_[0] == "x0"
    assert not hasattr(clf.fit(X, y), "feature_names_in_")
