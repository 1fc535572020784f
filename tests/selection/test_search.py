"""What is searched, in which order and on which samples: spaces screened, settings refined, leaks of the label."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_circles
from sklearn.frozen import FrozenEstimator
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedKFold

from ancr import ANCRClassifierCV, RepresentationClassifier, RepresentationClassifierCV
from ancr.axes.spaces import Space, usual_spaces
from ancr.model_selection import RejectOption, Search
from ancr.selection import search as searching
from ancr.selection.calibration import brier_losses
from ancr.selection.folds import parts_of_classes
from ancr.selection.search import KEPT_SPACES, LIFTED_SPACES, SCREENED_SAMPLES
from ancr.selection.temperature import likely_temperatures
from tests.grids import spaces_with
from tests.marks import rarely

RBF = Space("rbf", gamma=1.0)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    mixed = np.random.default_rng(0).permutation(len(y))
    X, y = X[mixed], y[mixed]
    return X[:250], y[:250], X[300:900], y[300:900]


def nearly_orthogonal(seed=0):
    """Four classes with a little signal in 300 dimensions of noise, where a narrow kernel leaks the label."""
    rng = np.random.default_rng(seed)
    labels = np.arange(448) % 4
    samples = rng.standard_normal((448, 300)) + 3.2 * np.eye(300)[labels]
    return samples[:48], labels[:48], samples[48:], labels[48:]


LEAKY = {
    "spaces": ["linear", Space("rbf", gamma=0.5), Space("rbf", gamma=4.0)],
    "constraints": ["simplex"],
    "alphas": [1e-2],
    "relaxations": [None, 0.1],
    "search": "full",
}


@pytest.mark.parametrize("seed", [0, *rarely(1, 2)])
def test_a_setting_that_sees_the_label_through_class_size_is_not_chosen(seed):
    X, y, queries, truth = nearly_orthogonal(seed)
    fooled = RepresentationClassifierCV(**LEAKY, rules=["res"]).fit(X, y)
    assert fooled.best_score_ == 1.0
    assert fooled.score(queries, truth) < 0.65
    clf = RepresentationClassifierCV(**LEAKY).fit(X, y)
    assert clf.score(queries, truth) > 0.7
    results = clf.cv_results_
    assert results["rules_apart"].max() > 0.9
    assert results["rules_apart"][clf.best_index_] <= 0.1
    assert results["rank_test_score"][clf.best_index_] == 1
    folds = RepresentationClassifierCV(**LEAKY, cv=StratifiedKFold(12)).fit(X, y)
    assert folds.score(queries, truth) > 0.7


def test_the_default_is_what_the_page_recommends(digits):
    X, y, queries, truth = digits
    clf = ANCRClassifierCV().fit(X, y)
    results = clf.cv_results_
    assert set(spaces_with(0.5, 1.0, 2.0)) <= set(results["param_space"]) <= set(usual_spaces())
    assert set(results["param_rule"]) == {"res", "label"}
    assert set(results["stage"]) == {"screening", "coarse", "fine"}
    # 95.8 here, 96.8 without lifts; on eight draws of 250 samples both score 96.6 on average.
    assert clf.score(queries, truth) > 0.95


def test_every_trial_is_reported_with_its_stage(digits):
    X, y, *_ = digits
    results = ANCRClassifierCV().fit(X, y).cv_results_
    screening = results["stage"] == "screening"
    assert screening.sum() == (8 * 4 + LIFTED_SPACES * 2) * 2
    dropped = np.array(["were searched further" in note for note in results["note"]])
    assert len(_spaces(results, dropped)) == 8 + LIFTED_SPACES * 2 - KEPT_SPACES
    # What was dropped cannot win, whatever it scored.
    assert results["rank_test_score"][dropped].min() > results["rank_test_score"][~dropped].max()
    assert _spaces(results, ~screening) == _spaces(results, screening & ~dropped)
    assert sorted(results["rank_test_score"]) == list(range(1, len(screening) + 1))
    for name in ("brier", "log_loss", "accuracy", "mean_over_rules", "n_samples", "temperature"):
        assert len(results[name]) == len(results["params"])


def _spaces(results, which):
    return set(results["param_space"][which])


def test_screened_and_full_agree_where_ridge_regression_knows_the_space(digits):
    X, y, queries, _ = digits
    grid = {"spaces": spaces_with(0.5, 2.0), "alphas": (1e-3, 1e-2), "relaxations": (0.3, None)}
    screened, full = (ANCRClassifierCV(search=search, **grid).fit(X, y) for search in ("screened", "full"))
    assert len(screened.cv_results_["params"]) < len(full.cv_results_["params"])
    assert set(full.cv_results_["stage"]) == {"grid"}
    assert screened.best_params_ == full.best_params_
    np.testing.assert_array_equal(screened.predict(queries), full.predict(queries))
    again = ANCRClassifierCV(**grid).fit(X, y)
    assert again.best_params_ == screened.best_params_
    np.testing.assert_array_equal(again.cv_results_["brier"], screened.cv_results_["brier"])


def test_a_grid_of_one_space_is_searched_in_full(digits):
    X, y, *_ = digits
    clf = ANCRClassifierCV(spaces=("linear",), alphas=(1e-2, 1e-1), relaxations=(0.3, None)).fit(X, y)
    assert set(clf.cv_results_["stage"]) == {"grid"}
    assert len(clf.cv_results_["params"]) == 2 * (2 * 2 + 2)


@pytest.mark.parametrize("cv", [None, 3])
def test_scores_in_a_space_are_those_of_its_classifier(digits, cv):
    X, y, queries, _ = digits
    clf = ANCRClassifierCV(spaces=spaces_with(1.0), alphas=(1e-2,), relaxations=(0.3,), cv=cv, scoring="brier").fit(
        X, y
    )
    best = RepresentationClassifier(**clf.best_params_).fit(X, y)
    np.testing.assert_array_equal(best.predict(queries), clf.predict(queries))
    np.testing.assert_allclose(best.decision_function(queries), clf.decision_function(queries))
    results = clf.cv_results_
    np.testing.assert_array_equal(results["mean_test_score"], -results["brier"])
    assert clone(clf).get_params() == clf.get_params()
    assert clf.space_ == clf.best_params_["space"]


def test_precomputed_inner_products_score_as_their_kernel(digits):
    X, y, queries, _ = digits
    unit = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (X, queries)]
    grid = {"alphas": (1e-2, 1e-1), "relaxations": (0.3, None)}
    for cv in (None, 3):
        named = ANCRClassifierCV(spaces=(RBF,), cv=cv, **grid).fit(X, y)
        given = ANCRClassifierCV(spaces=("precomputed",), cv=cv, **grid).fit(rbf_kernel(unit[0], gamma=1.0), y)
        np.testing.assert_allclose(given.cv_results_["brier"], named.cv_results_["brier"], atol=1e-3)
        np.testing.assert_array_equal(given.predict(rbf_kernel(unit[1], unit[0], gamma=1.0)), named.predict(queries))
    assert given.__sklearn_tags__().input_tags.pairwise
    assert not named.__sklearn_tags__().input_tags.pairwise


def test_the_fold_judge_does_not_leave_settings_aside():
    """In balanced folds no label leaks, so rules may differ as they like."""
    X, y = load_iris(return_X_y=True)
    clf = ANCRClassifierCV(spaces=("linear",), cv=5).fit(X, y)
    assert clf.cv_results_["rules_apart"][clf.best_index_] >= 0.0
    assert clf.cv_results_["rank_test_score"][clf.best_index_] == 1


def test_large_sets_are_screened_and_searched_on_a_part(monkeypatch):
    X, y = load_digits(return_X_y=True)
    monkeypatch.setattr(searching, "SCREENED_SAMPLES", 120)
    monkeypatch.setattr(searching, "MOST_SAMPLES", 300)
    grid = {"spaces": spaces_with(1.0), "alphas": (1e-3, 1e-2), "relaxations": (None,)}
    clf = ANCRClassifierCV(**grid).fit(X, y)
    results = clf.cv_results_
    sizes = {stage: set(results["n_samples"][results["stage"] == stage]) for stage in set(results["stage"])}
    assert all(abs(size - 120) <= 10 for size in sizes["screening"])
    assert all(abs(size - 150) <= 10 for size in sizes["coarse"])
    assert all(abs(size - 300) <= 10 for size in sizes["fine"])
    assert clf.dictionary_.n_atoms == len(y)
    # Scores on few samples are reported and say where to look, but the setting is chosen by others.
    first = results["stage"] != "fine"
    assert results["rank_test_score"][first].min() > results["rank_test_score"][~first].max()
    grouped = ANCRClassifierCV(**grid).fit(X, y, groups=np.arange(len(y)) // 3)
    assert abs(grouped.cv_results_["n_samples"].max() - 300) <= 10
    assert SCREENED_SAMPLES == 1500


def test_a_kernel_above_the_budget_gets_landmarks():
    rbf, linear = Space(kernel="rbf"), Space()
    assert rbf.within_budget(10_000, 8) is rbf
    assert linear.within_budget(100_000, 8) is linear
    large = rbf.within_budget(100_000, 8)
    assert (large.n_landmarks, large.random_state) == (2000, 0)
    assert Space(kernel="rbf", n_landmarks=50).within_budget(100_000, 8).n_landmarks == 50


def test_landmarks_in_a_grid_are_those_of_kernels(digits):
    X, y, queries, truth = digits
    spaces = spaces_with(1.0, n_landmarks=100, random_state=0)
    clf = ANCRClassifierCV(spaces=spaces, alphas=(1e-2,), relaxations=(0.3,))
    assert clf.fit(X, y).score(queries, truth) > 0.9


def test_the_usual_spaces():
    known = [(space.kernel, space.gamma, space.power, space.lift) for space in usual_spaces()]
    kernels = [("linear", "scale"), ("rbf", 0.5), ("rbf", 1.0), ("rbf", 2.0)]
    assert known == [(*one, power, lift) for lift in (0.0, 1.0, 2.0) for power in (1.0, 0.5) for one in kernels]


def test_lifts_are_screened_where_the_space_is_good_without_one():
    """Two rings: the best spaces at lift 0 are tried at the others, with the λ that did best there."""
    X, y = make_circles(160, noise=0.08, factor=0.5, random_state=0)
    clf = ANCRClassifierCV().fit(X[:100], y[:100])
    assert clf.best_params_["space"].lift > 0.0
    assert clf.score(X[100:], y[100:]) > 0.95
    results = clf.cv_results_
    screening, spaces = results["stage"] == "screening", results["param_space"]
    lifted = screening & np.array([space.lift > 0.0 for space in spaces])
    assert len({space.without_lift for space in spaces[lifted]}) == LIFTED_SPACES
    for space in set(spaces[lifted]):
        own = screening & np.array([one.without_lift == space.without_lift and not one.lift for one in spaces])
        best = np.flatnonzero(own)[np.argmax(results["mean_over_rules"][own])]
        assert set(results["param_alpha"][lifted & (spaces == space)]) == {results["param_alpha"][best]}


def test_clusters_hold_near_copies_out_together():
    """Each class is three clouds: by leave-one-out all is easy, with a cloud held out it is not."""
    rng = np.random.default_rng(0)
    clouds = rng.standard_normal((4, 3, 20))
    X = (clouds[:, :, None] + 0.01 * rng.standard_normal((4, 3, 5, 20))).reshape(60, 20)
    y = np.repeat(np.arange(4), 15)
    parts = parts_of_classes(X, y)
    assert all(len(set(parts[start : start + 5])) == 1 for start in range(0, 60, 5))
    grid = {"spaces": [Space("rbf", gamma=0.5)], "alphas": (1e-2,), "relaxations": (None,)}
    one_out, clusters = (ANCRClassifierCV(cv=cv, **grid).fit(X, y) for cv in (None, "clusters"))
    assert one_out.best_score_ == 1.0
    assert clusters.best_score_ < 0.8
    assert clusters.dictionary_.n_atoms == 60
    assert set(clusters.cv_results_["n_samples"]) == {60}
    single = ANCRClassifierCV(cv="clusters", **grid).fit(X[[0, 15, 30, 1]], y[[0, 15, 30, 1]])
    assert single.classes_.tolist() == [0, 1, 2]
    with (
        pytest.raises(ValueError, match="cv='clusters' divides classes"),
        pytest.warns(UserWarning, match="one sample"),
    ):
        ANCRClassifierCV(cv="clusters", **grid).fit(X[::15], y[::15])
    with pytest.raises(ValueError, match="'cv' parameter"):
        ANCRClassifierCV(cv="cluster").fit(X, y)


@pytest.mark.parametrize("counts", [[50, 20, 3], [30, 1, 30], *rarely([40, 40], [60, 6], [3, 3, 3, 3, 3])])
def test_few_classes_unbalanced_classes_and_few_samples(counts):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(len(counts)), counts)
    X = rng.random((len(y), 12)) + 2.0 * np.eye(12)[y]
    truth = np.arange(100) % len(counts)
    queries = rng.random((100, 12)) + 2.0 * np.eye(12)[truth]
    clf = ANCRClassifierCV().fit(X, y)
    assert clf.score(queries, truth) > 0.9
    assert np.isfinite(clf.cv_results_["brier"]).all()
    assert clf.predict_proba(queries).shape == (100, len(counts))


def test_one_sample_per_class():
    X = np.eye(5) + 0.1
    clf = ANCRClassifierCV().fit(X, list("abcde"))
    assert clf.best_score_ == 0.0
    assert list(clf.predict(X)) == list("abcde")


def test_brier_scores():
    decisions, labels = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]), np.array([0, 2])
    shares = np.exp(decisions / 0.5)
    shares /= shares.sum(axis=1, keepdims=True)
    expected = ((shares - np.eye(3)[labels]) ** 2).sum(axis=1)
    np.testing.assert_allclose(brier_losses(decisions, labels, 0.5), expected)


def test_decision_values_are_those_of_the_setting_chosen(digits):
    """Also where one standard error chooses a setting that was behind while others were tried."""
    X, y, queries, truth = digits
    clf = ANCRClassifierCV(search=Search(one_standard_error=True), spaces=spaces_with(1.0)).fit(X, y)
    held = clf.held_out_
    expected = likely_temperatures(held.decisions, held.labels)
    assert clf.best_estimator_.temperature.get_params() == expected.get_params()
    assert RejectOption(FrozenEstimator(clf)).fit(X, y).predict(queries).shape == truth.shape
    assert clf.cv_results_["accuracy"][clf.best_index_] == clf.best_score_


def test_choice_is_by_setting_first_then_by_rule(digits):
    X, y, *_ = digits
    clf = ANCRClassifierCV(spaces=(RBF,)).fit(X, y)
    results = clf.cv_results_
    allowed = results["rules_apart"] <= 0.1
    assert results["mean_over_rules"][clf.best_index_] == results["mean_over_rules"][allowed].max()
    own = results["mean_over_rules"] == results["mean_over_rules"][clf.best_index_]
    assert results["mean_test_score"][clf.best_index_] == results["mean_test_score"][own].max()


@pytest.mark.parametrize("search", ["screened", "full"])
def test_progress_is_told_step_by_step(search):
    told = []
    X, y = load_iris(return_X_y=True)
    options = {"alphas": (1e-2,), "relaxations": (None,), "search": search}
    ANCRClassifierCV(verbose=lambda done, total: told.append((done, total)), **options).fit(X[::3], y[::3])
    total = {"screened": 8 + 3 + 1, "full": 24}[search]
    assert told == [(done, total) for done in range(1, total + 1)]


def test_one_sample_per_class_is_warned_of():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(UserWarning, match="every class in y has one sample"):
        ANCRClassifierCV().fit(X[::50], y[::50])
