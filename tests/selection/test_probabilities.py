"""Probabilities that survive a perfect leave-one-out: what n right answers of n can say, and no more."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from ancr import ANCRClassifier, ANCRClassifierCV, audit_labels
from ancr.classifiers.probabilities import Temperatures
from ancr.classifiers.settings import from_data, is_same, to_data
from ancr.model_selection import RejectOption
from ancr.samples.column_plan import ColumnPlan
from ancr.samples.model_file import Model
from ancr.selection.temperature import fit_temperature, likely_temperatures


@pytest.fixture(scope="module")
def separable():
    """Sixty samples of two classes, each recognised by the others, while two in a hundred queries are not."""
    X, y = make_classification(
        2000, 10, n_informative=5, n_redundant=0, n_clusters_per_class=2, class_sep=3.0, flip_y=0.0, random_state=0
    )
    X, queries, y, truth = train_test_split(X, y, train_size=60, stratify=y, random_state=0)
    plan = ColumnPlan.of(X, tuple(f"column {j}" for j in range(10)), standardize=True)
    return X, y, queries, truth, plan


@pytest.fixture(scope="module")
def fitted(separable):
    X, y, _, _, plan = separable
    return plan.pipeline(plan.suited(ANCRClassifierCV())).fit(X, y)


def test_no_answer_is_certain_though_every_held_out_one_was_right(separable, fitted):
    X, y, queries, truth, _ = separable
    assert fitted[-1].best_score_ == 1.0
    chances = fitted.predict_proba(queries)
    wrong = chances.argmax(axis=1) != truth
    assert wrong.any()
    assert chances.max() < 0.999
    rival = LogisticRegression().fit(fitted[:-1].transform(X), y)
    assert log_loss(truth, chances) < 2.0 * log_loss(truth, rival.predict_proba(fitted[:-1].transform(queries)))
    np.testing.assert_allclose(np.exp(fitted.predict_log_proba(queries)), chances, rtol=1e-6)


def test_errors_are_not_called_sure(separable, fitted):
    _, _, queries, truth, _ = separable
    clf = RejectOption(fitted[-1]).fit(fitted[:-1].transform(separable[0]), separable[1])
    rows = fitted[:-1].transform(queries)
    sure, wrong = clf.confidence(rows), fitted.predict(queries) != truth
    assert sure[wrong].max() < 0.995
    assert sure[wrong].mean() < sure[~wrong].mean()


@pytest.mark.parametrize("draw", range(3))
def test_wine_with_sixty_samples(draw):
    X, y = load_wine(return_X_y=True)
    X, queries, y, truth = train_test_split(X, y, train_size=60, stratify=y, random_state=draw)
    plan = ColumnPlan.of(X, tuple(f"column {j}" for j in range(13)), standardize=True)
    chances = plan.pipeline(plan.suited(ANCRClassifierCV())).fit(X, y).predict_proba(queries)
    assert chances.max() < 0.999
    assert log_loss(truth, chances) < 0.25


def test_more_right_answers_say_more():
    labels = np.arange(6000) % 3
    perfect = np.eye(3)[labels]
    sure = [likely_temperatures(perfect[:n], labels[:n]).probabilities(perfect[:1]).max() for n in (6, 60, 600, 6000)]
    assert np.all(np.diff(sure) > 0.0)
    assert sure[0] < 0.9 < sure[1] < 0.99 < sure[2] < sure[3] < 1.0 - 1e-5


def test_with_many_samples_the_prior_is_forgotten():
    random = np.random.default_rng(0)
    decisions = random.normal(size=(20000, 4))
    for temperature in (0.2, 2.0):
        chances = Temperatures((temperature,), (1.0,)).probabilities(decisions)
        labels = (chances.cumsum(axis=1) < random.uniform(size=(20000, 1))).sum(axis=1)
        found = likely_temperatures(decisions, labels).probabilities(decisions)
        np.testing.assert_allclose(found, chances, atol=0.02)
        assert fit_temperature(decisions, labels)[0] == pytest.approx(temperature, rel=0.05)


def test_probabilities_do_not_depend_on_the_unit_of_decision_values():
    random = np.random.default_rng(0)
    labels = np.arange(90) % 3
    decisions = np.eye(3)[labels] + 0.4 * random.normal(size=(90, 3))
    small, large = (likely_temperatures(scale * decisions, labels) for scale in (1e-3, 1e3))
    np.testing.assert_allclose(small.probabilities(1e-3 * decisions), large.probabilities(1e3 * decisions), rtol=1e-9)


def test_samples_alone_in_their_class_say_nothing():
    labels = np.append(np.arange(40) % 2, [2, 3])
    decisions = np.eye(4)[labels]
    decisions[40:] = [1.0, 0.0, 0.0, 0.0]  # held out, they cannot be recognised
    with_them, without = (likely_temperatures(decisions[rows], labels[rows]) for rows in (slice(None), slice(40)))
    np.testing.assert_allclose(with_them.probabilities(decisions[:2]), without.probabilities(decisions[:2]), atol=0.01)
    nobody = likely_temperatures(decisions[-2:], labels[-2:])  # the prior alone
    assert 0.3 < nobody.probabilities(decisions[:1]).max() < 0.9


def test_what_was_learned_survives_copies_and_files(separable, fitted, tmp_path):
    X, y, queries, _, plan = separable
    best = fitted[-1].best_estimator_
    expected = fitted.predict_proba(queries)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict_proba(queries), expected)
    assert is_same(clone(best), best)
    assert is_same(from_data(to_data(best)), best)
    model = Model(fitted[-1], X, np.array([str(label) for label in y]), np.arange(60).astype(str), plan=plan)
    model.settled(model.build()).save(tmp_path / "model.npz")
    np.testing.assert_allclose(Model.load(tmp_path / "model.npz").build().predict_proba(queries), expected, atol=1e-12)


@pytest.mark.parametrize(
    ("values", "weights"), [((0.1, -1.0), (0.5, 0.5)), ((0.1,), (0.5, 0.5)), ((0.1,), (0.0,)), ((), ())]
)
def test_bad_temperatures_are_named(values, weights):
    clf = ANCRClassifier(temperature=Temperatures(values, weights)).fit(np.eye(4), [0, 0, 1, 1])
    with pytest.raises(ValueError, match="temperature must have"):
        clf.predict_proba(np.eye(4))


def test_an_audit_of_clean_labels_is_not_certain_of_them(separable):
    X, y, _, _, plan = separable
    audit = audit_labels(plan.fit(X)(X), y, estimator=plan.suited(ANCRClassifierCV()))
    # None of sixty is above the level that seven in ten wrong labels reach: up to six in a hundred would fit that.
    assert audit.n_errors.low == 0.0
    assert audit.n_errors.high > 4.0
    assert audit.probability.max() < 1.0
