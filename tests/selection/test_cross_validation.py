"""Settings chosen on the training set: what is scored, what is chosen, and compatibility with scikit-learn."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GroupKFold, LeaveOneOut, StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from ancr import (
    ANCRClassifier,
    ANCRClassifierCV,
    CROCClassifier,
    NSCClassifier,
    RepresentationClassifier,
    RepresentationClassifierCV,
    Space,
)
from ancr.datasets import per_class_split
from ancr.model_selection import RejectOption, Search
from tests.array_libraries import without_dispatch
from tests.grids import spaces_with
from tests.marks import WEIGHT_CHECKS

# One space, one set and one rule: a plain grid.
LINEAR = {"spaces": ("linear",), "constraints": ("simplex",), "rules": ("res",)}
SMALL = {"alphas": (1e-2, 1e-1), "relaxations": (0.3, None), **LINEAR}
SPACES = {"spaces": spaces_with(1.0), "alphas": (1e-2, 1e-1), "relaxations": (0.3, None)}


def calibration_error(probabilities, right, bins=15):
    """Expected calibration error: the difference between confidence and accuracy, averaged over bins of confidence."""
    number = np.minimum((probabilities * bins).astype(int), bins - 1)
    apart = np.abs(np.bincount(number, probabilities - right, minlength=bins))
    return float(apart.sum() / len(right))


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    mixed = np.random.default_rng(0).permutation(len(y))  # in the given order the last digits are by other writers
    X, y = X[mixed], y[mixed]
    return X[:300], y[:300], X[300:900], y[300:900]


def copies_are_answers(estimator):
    """A sample of weight two is held out once, its two copies twice, each with the other in reach: more is known."""
    reason = "copies are held out one by one, and probabilities rest on the number of samples held out"
    return {**without_dispatch(), **dict.fromkeys(WEIGHT_CHECKS, reason)}


@parametrize_with_checks(
    [RepresentationClassifierCV(**SMALL, search="full")], expected_failed_checks=copies_are_answers
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.all
@parametrize_with_checks([ANCRClassifierCV(**SPACES)], expected_failed_checks=copies_are_answers)
def test_scikit_learn_checks_of_a_screened_search(estimator, check):
    check(estimator)


@pytest.mark.parametrize("relaxation", [0.3, None])
@pytest.mark.parametrize("alpha", [1e-2, 1e-1])
def test_leave_one_out_scores_are_those_of_refits(alpha, relaxation):
    X, y = load_iris(return_X_y=True)
    X, y = X[::3], y[::3]
    chosen = ANCRClassifierCV(**{**SMALL, "alphas": [alpha], "relaxations": [relaxation]}, scoring="accuracy").fit(X, y)
    right = [
        ANCRClassifier(alpha=alpha, relaxation=relaxation).fit(X[keep], y[keep]).predict(X[~keep])[0] == y[~keep][0]
        for keep in (np.arange(len(y)) != i for i in range(len(y)))
    ]
    assert chosen.best_score_ == np.mean(right)
    assert chosen.cv_results_["mean_test_score"][0] == np.mean(right)


def test_folds_score_as_refits_in_them(digits):
    X, y, *_ = digits
    folds = StratifiedKFold(3)
    chosen = ANCRClassifierCV(cv=folds, scoring="accuracy", **SMALL).fit(X, y)
    for settings, score in zip(chosen.cv_results_["params"], chosen.cv_results_["mean_test_score"], strict=True):
        clf = ANCRClassifier(alpha=settings["alpha"], relaxation=settings["relaxation"])
        right = sum((clf.fit(X[a], y[a]).predict(X[b]) == y[b]).sum() for a, b in folds.split(X, y))
        assert abs(score * len(y) - right) <= 1  # ties within the tolerance of the search


@pytest.mark.parametrize("cv", [None, 3])
@pytest.mark.parametrize("relaxation", [0.3, None])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_without_unit_norm_it_is_the_classifier_of_its_settings(kernel, relaxation, cv):
    X, y = load_iris(return_X_y=True)
    X += 50.0
    one = {"spaces": [Space(kernel, normalize=False)], "constraints": ["simplex"], "rules": ["res"], "alphas": [0.1]}
    chosen = RepresentationClassifierCV(**one, relaxations=[relaxation], cv=cv).fit(X[::3], y[::3])
    same = RepresentationClassifier(**chosen.best_params_).fit(X[::3], y[::3])
    np.testing.assert_allclose(chosen.decision_function(X), same.decision_function(X), atol=1e-10)
    if cv is None:
        rest = [np.arange(len(X[::3])) != i for i in range(len(X[::3]))]
        refits = (clone(same).fit(X[::3][keep], y[::3][keep]).predict(X[::3][~keep]) for keep in rest)
        right = np.mean([label[0] == truth for label, truth in zip(refits, y[::3], strict=True)])
        assert abs(chosen.best_score_ - right) <= 1 / len(rest)  # a tie within the tolerance of the search


def test_a_splitter_is_asked_once():
    X, y = load_iris(return_X_y=True)
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    asked = []

    class Drawing(StratifiedKFold):
        def split(self, X, y, groups=None):
            asked.append(1)
            return super().split(X, y, groups)

    small = {**SPACES, "search": Search(one_standard_error=True)}
    ANCRClassifierCV(cv=Drawing(3, shuffle=True), **small).fit(X, y)
    assert len(asked) == 1
    once = ANCRClassifierCV(cv=iter(folds), **small).fit(X, y)
    again = ANCRClassifierCV(cv=folds, **small).fit(X, y)
    assert once.best_params_ == again.best_params_
    assert once.best_score_ == again.best_score_


def test_the_chosen_setting_predicts(digits):
    X, y, queries, _ = digits
    chosen = ANCRClassifierCV(**SMALL).fit(X, y)
    best = RepresentationClassifier(**chosen.best_params_).fit(X, y)
    np.testing.assert_array_equal(chosen.predict(queries), best.predict(queries))
    np.testing.assert_allclose(chosen.decision_function(queries), best.decision_function(queries))
    assert chosen.best_estimator_.alpha == chosen.best_params_["alpha"]
    results = chosen.cv_results_
    assert len(results["params"]) == 4
    assert results["rank_test_score"][chosen.best_index_] == 1
    assert results["mean_test_score"].max() == -results["brier"][chosen.best_index_]
    assert chosen.solver_.solve(queries / np.linalg.norm(queries, axis=1, keepdims=True)).verify().all()


def test_the_order_of_samples_does_not_matter(digits):
    X, y, queries, _ = digits
    shuffle = np.random.default_rng(0).permutation(len(y))
    one, other = ANCRClassifierCV(**SMALL).fit(X, y), ANCRClassifierCV(**SMALL).fit(X[shuffle], y[shuffle])
    assert one.best_params_ == other.best_params_
    np.testing.assert_array_equal(one.predict(queries), other.predict(queries))


def test_every_axis_can_be_searched(digits):
    X, y, queries, truth = digits
    clf = RepresentationClassifierCV(
        quadratics=["ridge", "probabilistic", "least_squares"],
        constraints=["free", "affine", "nonnegative", "simplex"],
        alphas=[1e-2, 1.0],
        betas=[1e-3, 1e-2],
        relaxations=[1.0, None],
        rules=["res", "reg", "pro", "label"],
        spaces=["linear"],
        cv=3,
    )
    clf.fit(X, y)
    settings = clf.cv_results_["params"]
    assert len({tuple(sorted(map(str, one.items()))) for one in settings}) == len(settings)
    assert set(clf.cv_results_["stage"]) == {"grid"}
    assert not any(one["relaxation"] and one["constraint"] in ("free", "affine") for one in settings)
    assert not any(one["alpha"] for one in settings if one["quadratic"] == "least_squares")
    assert clf.score(queries, truth) > 0.9


def test_one_standard_error_takes_the_sparsest_that_is_not_clearly_worse(digits):
    X, y, *_ = digits
    grid = {**LINEAR, "alphas": (1e-4, 1e-3, 1e-2, 1e-1), "relaxations": (0.1, 1.0, 10.0, None), "scoring": "accuracy"}
    best, sparse = (
        ANCRClassifierCV(search=Search(one_standard_error=flag), **grid).fit(X, y) for flag in (False, True)
    )
    results, top = sparse.cv_results_, best.best_index_
    close = results["mean_test_score"] >= results["mean_test_score"][top] - results["standard_error"][top]
    assert close[sparse.best_index_]
    assert results["atoms_used"][sparse.best_index_] == results["atoms_used"][close].min()


def test_groups_and_splitters(digits):
    X, y, *_ = digits
    groups = np.arange(len(y)) % 5
    grouped = ANCRClassifierCV(cv=GroupKFold(5), **SMALL).fit(X, y, groups=groups)
    assert grouped.best_score_ > 0.8
    one_out = ANCRClassifierCV(cv=LeaveOneOut(), **SMALL).fit(X, y)
    assert one_out.best_params_ == ANCRClassifierCV(**SMALL).fit(X, y).best_params_
    with pytest.raises(ValueError, match="groups"):
        ANCRClassifierCV(cv=GroupKFold(5), **SMALL).fit(X, y)
    with pytest.raises(ValueError, match="inconsistent"):
        ANCRClassifierCV(cv=GroupKFold(5), **SMALL).fit(X, y, groups=groups[:-1])


def test_a_class_that_a_fold_lacks():
    X, y = load_iris(return_X_y=True)
    groups = y.copy()  # every fold lacks the class it is tested on
    clf = ANCRClassifierCV(cv=GroupKFold(3), **SMALL).fit(X, y, groups=groups)
    assert clf.best_score_ == 0.0
    assert np.isfinite(clf.cv_results_["log_loss"]).all()


def test_probabilities_follow_the_temperature_learned(digits):
    X, y, queries, truth = digits
    clf = ANCRClassifierCV(**SMALL).fit(X, y)
    probabilities = clf.predict_proba(queries)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    right = probabilities.argmax(axis=1) == truth
    assert calibration_error(probabilities.max(axis=1), right) < 0.05


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"alphas": []}, "alphas must hold at least one value"),
        ({"alphas": [-1.0]}, "every value of alphas"),
        ({"relaxations": [0.0]}, "every value of relaxations"),
        ({"rules": ["nearest"]}, "every value of rules"),
        ({"scoring": "f1"}, "scoring"),
        ({"spaces": ["cosine"]}, "every value of spaces"),
        ({"spaces": [Space("rbf", gamma=0.0)]}, "'gamma' parameter of Space"),
        ({"spaces": []}, "spaces must hold at least one value"),
        ({"search": "some"}, "search"),
        ({"spaces": ["linear", "precomputed"]}, "'precomputed' takes inner products"),
        ({"search": Search("some")}, "'how' parameter of Search"),
        ({"estimator": 3}, "estimator"),
    ],
)
def test_bad_grids_are_named(digits, params, message):
    X, y, *_ = digits
    with pytest.raises(ValueError, match=message):
        ANCRClassifierCV(**params).fit(X, y)


@pytest.mark.parametrize("params", [{"spaces": 3}, {"spaces": [None]}, {"constraints": 3}, {"constraints": [3]}])
def test_tags_of_bad_grids_wait_for_validation(params):
    assert not ANCRClassifierCV(**params).__sklearn_tags__().input_tags.pairwise


def test_a_fold_may_be_given_as_bools(digits):
    X, y = digits[0][:60], digits[1][:60]
    rows, bools = np.arange(60), np.arange(60) < 40
    settings = {"spaces": ["linear"], "alphas": [0.1], "relaxations": [None]}
    as_bools = ANCRClassifierCV(cv=[(bools, ~bools)], **settings).fit(X, y)
    as_rows = ANCRClassifierCV(cv=[(rows[:40], rows[40:])], **settings).fit(X, y)
    assert as_bools.best_score_ == as_rows.best_score_


def test_it_clones_and_has_no_partial_fit(digits):
    X, y, *_ = digits
    clf = ANCRClassifierCV(**SMALL).fit(X, y)
    assert clone(clf).get_params() == clf.get_params()
    assert not hasattr(clf, "partial_fit")


def test_usps_is_calibrated_and_reaches_the_requested_precision(usps):
    """Expected calibration error below 0.03; requested precision within a point, over five draws together."""
    queries, truth = usps.data[usps.test_indices], usps.target[usps.test_indices]
    kept, right, errors = 0, 0, []
    for seed in range(5):
        train, _ = per_class_split(usps.target, 100, seed, pool=usps.train_indices)
        grid = {**LINEAR, "alphas": (1e-2,), "relaxations": (10.0, None)}
        clf = ANCRClassifierCV(**grid).fit(usps.data[train], usps.target[train])
        probabilities = clf.predict_proba(queries)
        errors.append(calibration_error(probabilities.max(axis=1), clf.classes_[probabilities.argmax(axis=1)] == truth))
        answers = RejectOption(FrozenEstimator(clf), precision=0.95).fit(None, None).predict(queries)
        kept, right = kept + np.sum(answers != -1), right + np.sum(answers == truth)
    assert max(errors) < 0.03
    assert right / kept > 0.95 - 0.01


@pytest.mark.parametrize("alpha", [1e-8, 1e-6, 1e-3])
@pytest.mark.parametrize("constraint", ["free", "affine", "simplex"])
@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_scores_do_not_depend_on_the_precision_of_the_search(alpha, constraint, offset):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.standard_normal((60, 10)) + 2.0 * np.eye(10)[y] + offset
    params = {**LINEAR, "constraints": [constraint], "alphas": [alpha], "relaxations": [None], "scoring": "accuracy"}
    quick = RepresentationClassifierCV(**params).fit(X, y)
    clf = RepresentationClassifier(constraint=constraint, alpha=alpha)
    right = [clf.fit(X[keep], y[keep]).predict(X[~keep])[0] == y[~keep][0] for keep in ~np.eye(60, dtype=bool)]
    assert abs(quick.best_score_ - np.mean(right)) <= 1 / 60


def test_a_class_of_one_sample_is_never_right_without_it():
    X = np.array([[1.0, 0.0], [np.cos(0.05), np.sin(0.05)], [0.0, 1.0]])
    clf = RepresentationClassifierCV(constraints=["free"], alphas=[1e-4], rules=["res", "pro"]).fit(X, [0, 1, 2])
    assert clf.best_score_ == 0.0


def test_groups_without_a_splitter_are_kept_together(digits):
    X, y, *_ = digits
    groups = np.arange(len(y)) // 2
    paired = np.repeat(X[::2], 2, axis=0), np.repeat(y[::2], 2)  # every sample twice, both in one group
    seen = ANCRClassifierCV(**SMALL).fit(*paired).best_score_
    unseen = ANCRClassifierCV(**SMALL).fit(*paired, groups=groups).best_score_
    assert seen == 1.0 > unseen


def test_it_answers_as_the_classifier_that_it_holds(digits):
    X, y, queries, truth = digits
    clf = ANCRClassifierCV(**SMALL).fit(X, y)
    best = clf.best_estimator_
    assert not isinstance(clf, type(best).__mro__[1])
    for method in (
        "predict",
        "predict_proba",
        "predict_log_proba",
        "decision_function",
        "class_decisions",
        "residuals",
    ):
        np.testing.assert_array_equal(getattr(clf, method)(queries), getattr(best, method)(queries))
    assert clf.score(queries, truth) == best.score(queries, truth)
    assert [one.indices.tolist() for one in clf.explain(queries[:3])] == [
        one.indices.tolist() for one in best.explain(queries[:3])
    ]


def test_the_template_gives_what_is_not_searched(digits):
    X, y, *_ = digits
    template = ANCRClassifier(class_weight="balanced", tol=1e-7, code="z")
    clf = ANCRClassifierCV(template, **SMALL).fit(X[:100], y[:100])
    assert (clf.best_estimator_.tol, clf.best_estimator_.code) == (1e-7, "z")
    assert clf.best_estimator_.class_weight == "balanced"
    assert set(clf.best_params_) == {"space", "quadratic", "constraint", "beta", "alpha", "relaxation", "rule"}
    assert clone(clf).set_params(estimator__tol=1e-6).estimator.tol == 1e-6


def test_a_search_over_one_setting_is_the_template():
    X, y = load_iris(return_X_y=True)
    template = ANCRClassifier(solver="admm", rho=1e-2, max_iter=5, code="c")
    one = {**LINEAR, "alphas": [1e-4], "relaxations": [None]}
    clf = RepresentationClassifierCV(template, **one).fit(X[::2], y[::2])
    same = clone(template).set_params(alpha=1e-4).fit(X[::2], y[::2])
    np.testing.assert_array_equal(clf.decision_function(X), same.decision_function(X))


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (NSCClassifier(), "quadratic='subspace' of NSCClassifier would be ignored: it is not among quadratics"),
        (CROCClassifier(), r"rule=Mixed\(\) of CROCClassifier would be ignored: it is not among rules"),
        (ANCRClassifier(alpha=0.3), "alpha=0.3 of ANCRClassifier would be ignored: it is not among alphas"),
        (ANCRClassifier(space="rbf"), "space='rbf' of ANCRClassifier would be ignored: it is not among spaces"),
        (ANCRClassifier(temperature=1.0), "temperature=1.0 would be ignored: a search learns it"),
    ],
)
def test_a_template_that_would_be_ignored_is_refused(template, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        ANCRClassifierCV(template, **{**SMALL, "constraints": ("free", "simplex")}).fit(X, y)


def test_lists_are_given_by_name():
    with pytest.raises(TypeError, match="positional"):
        RepresentationClassifierCV(None, ["ridge"])


def test_inner_products_are_searched_with_the_defaults():
    X, y = load_iris(return_X_y=True)
    clf = RepresentationClassifierCV(spaces=["precomputed"]).fit(X @ X.T, y)
    assert clf.predict((X @ X.T)[:3]).shape == (3,)
