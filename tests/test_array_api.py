"""Every classifier on arrays of each library gives the answers of the NumPy path, in the library and precision of X."""

import os
import re
import subprocess
import sys
from functools import cache

import numpy as np
import pytest
import scipy
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.utils.fixes import parse_version

from ancr import (
    ACRClassifier,
    ANCRClassifier,
    ANCRClassifierCV,
    CCRCClassifier,
    CRCClassifier,
    CROCClassifier,
    NCRClassifier,
    NRCClassifier,
    NSCClassifier,
    ProCRCClassifier,
    RepresentationClassifier,
    SACRCClassifier,
    SRCClassifier,
    audit_labels,
    next_to_label,
    project_simplex,
    solve,
)
from ancr._core.arrays import to_numpy
from ancr.axes.problem import Problem
from ancr.axes.spaces import Space
from ancr.model_selection import RejectOption
from ancr.solvers.leave_one_out import LeaveOneOut
from tests.array_libraries import converter
from tests.marks import rarely

CLASSIFIERS = [
    CRCClassifier(rule="reg"),
    ACRClassifier(),
    NCRClassifier(),
    NRCClassifier(),
    ANCRClassifier(),
    ANCRClassifier(solver="admm", rho=1e-2, max_iter=5, code="c"),
    ANCRClassifier(solver="admm", rho=1.0, tol=1e-3),
    NRCClassifier(solver="admm", rho=0.1, max_iter=5, code="c"),
    NSCClassifier(),
    ProCRCClassifier(),
    ProCRCClassifier(constraint="simplex", beta=0.1),
    CCRCClassifier(constraint="affine"),
    CROCClassifier(),
    RepresentationClassifier(constraint="simplex", rule="label", space=Space(normalize=False)),
]


def squared_product(left, right):
    """(1 + xᵀy)², a kernel as a function of arrays of any library."""
    return (1.0 + left @ right.T) ** 2


# These run on fewer cases: what differs between cases is in the solvers, and the same there.
IN_SPACES = [
    CRCClassifier(space="rbf", rule="reg"),
    ACRClassifier(space=Space("poly", coef0=1.0)),
    NSCClassifier(space="rbf"),
    ProCRCClassifier(space="rbf", constraint="simplex", beta=0.1),
    ANCRClassifier(space="rbf"),
    ANCRClassifier(space="rbf", solver="admm", rho=0.1, max_iter=5),
    NCRClassifier(space=Space(squared_product, power=0.5, lift=0.5)),
    ANCRClassifier(space=Space(lift=1.0)),
    ANCRClassifier(space=Space("rbf", gamma=2.0, n_landmarks=15, random_state=0)),
    ANCRClassifier(relaxation=0.5),
    ANCRClassifier(relaxation=0.5, space="rbf", code="z"),
    NCRClassifier(relaxation=0.5, space="rbf"),
    SRCClassifier(alpha=1.0),
    SRCClassifier(alpha=0.3, space="rbf"),
    RepresentationClassifier(quadratic="l1", constraint="nonnegative", alpha=0.5, space="rbf"),
    SACRCClassifier(n_nonzero=5),
    SACRCClassifier(n_nonzero=50, space="rbf"),
]
EVERY = CLASSIFIERS + IN_SPACES


def _cases():
    rng = np.random.default_rng(0)
    wide, tall = rng.standard_normal((18, 30)), rng.standard_normal((60, 8))
    zero = tall.copy()
    zero[::7] = 0.0
    return {
        "n < d": (wide, rng.standard_normal((9, 30))),
        "n > d": (tall, rng.standard_normal((40, 8))),
        "non-negative": (np.abs(tall), np.abs(rng.standard_normal((11, 8)))),
        "duplicates": (np.repeat(np.abs(tall[:12]), 4, axis=0), np.abs(rng.standard_normal((7, 8)))),
        "zero rows": (zero, np.vstack([np.zeros((1, 8)), rng.standard_normal((5, 8))])),
        "queries that are atoms": (tall, tall[:6]),
    }


CASES = _cases()
METHODS = ("predict_proba", "residuals", "codes")


def in_numpy(values):
    """Arrays of any library, dense or CSR, as NumPy arrays."""
    return values.toarray() if hasattr(values, "toarray") else np.asarray(to_numpy(values))


@cache
def numpy_answers(number, case, dtype):
    """The results of the NumPy path."""
    samples, queries = (rows.astype(dtype) for rows in CASES[case])
    clf = clone(EVERY[number]).fit(samples, np.arange(len(samples)) % 3)
    answers = {method: getattr(clf, method)(queries) for method in METHODS}
    return {name: in_numpy(values) for name, values in answers.items()}


def name_of(number):
    """What tells a classifier from the others."""
    # Processes that share the tests must agree on their names, and a function's address differs.
    return re.sub(r"<function (\w+) at \w+>", r"\1", " ".join(str(EVERY[number]).split())).replace(" ", "")


# One case in both precisions: the others take the same ways, and NumPy takes them in every other test.
OTHER_CASES = [*((case, "float64") for case in CASES if case != "n < d"), ("non-negative", "float32")]


@pytest.mark.parametrize(("case", "dtype"), [("n < d", "float64"), ("n < d", "float32"), *rarely(*OTHER_CASES)])
@pytest.mark.parametrize("number", range(len(CLASSIFIERS)), ids=name_of)
def test_answers_are_those_of_numpy(arrays, number, case, dtype):
    check_answers(arrays, number, case, dtype)


@pytest.mark.parametrize(("case", "dtype"), [("n < d", "float32"), *rarely(("n > d", "float64"))])
@pytest.mark.parametrize("number", range(len(CLASSIFIERS), len(EVERY)), ids=name_of)
def test_answers_in_other_spaces_are_those_of_numpy(arrays, number, case, dtype):
    check_answers(arrays, number, case, dtype)


def check_answers(arrays, number, case, dtype):
    """Answers on arrays of a library are those of the NumPy path, in the library and precision of X."""
    samples, queries = (arrays(rows.astype(dtype)) for rows in CASES[case])
    truth = np.arange(samples.shape[0]) % 3
    clf = clone(EVERY[number]).fit(samples, arrays(truth))
    expected = numpy_answers(number, case, dtype)
    # Non-negative least squares has many solutions if the atoms' cone is the whole space or atoms are duplicated.
    unique = str(clf) != "NRCClassifier()" or case in ("n < d", "non-negative")
    close = {"atol": 1e-8, "rtol": 1e-6} if dtype == "float64" else {"atol": 5e-3, "rtol": 5e-3}
    for method in METHODS:
        found = getattr(clf, method)(queries)
        found = found.toarray() if hasattr(found, "toarray") else found
        assert type(found) is type(samples)
        assert found.dtype == samples.dtype
        if unique:
            np.testing.assert_allclose(in_numpy(found), expected[method], **close, err_msg=method)
    labels = clf.predict(queries)
    assert type(labels) is type(samples)
    margins = np.sort(expected["predict_proba"], axis=1)
    clear = margins[:, -1] - margins[:, -2] > (1e-6 if dtype == "float64" else 1e-2)
    if unique:
        np.testing.assert_array_equal(in_numpy(labels)[clear], expected["predict_proba"].argmax(axis=1)[clear])


WEIGHTED = [
    CRCClassifier(alpha=0.1, class_weight="balanced"),
    ACRClassifier(alpha=0.1),
    NSCClassifier(alpha=0.1),
    ProCRCClassifier(alpha=0.1, constraint="affine"),
    ANCRClassifier(alpha=0.1, class_weight={0: 2.0, 1: 0.5}),
    NCRClassifier(alpha=0.1),
    ANCRClassifier(alpha=0.1, solver="admm", rho=0.1, max_iter=5),
    ANCRClassifier(alpha=0.1, relaxation=0.5),
    NCRClassifier(alpha=0.1, relaxation=0.5, space="rbf"),
    SRCClassifier(alpha=0.5, space="rbf"),
]


@pytest.mark.parametrize("clf", WEIGHTED, ids=lambda clf: str(clf).replace("\n", ""))
def test_weights_are_those_of_numpy(arrays, clf):
    samples, queries = CASES["n > d"]
    truth, weights = np.arange(60) % 3, np.random.default_rng(2).uniform(0.2, 3.0, 60)
    weights[[3, 9]] = 0.0
    plain = clone(clf).fit(samples, truth, sample_weight=weights)
    moved = clone(clf).fit(arrays(samples), arrays(truth), sample_weight=arrays(weights))
    for method in METHODS:
        found = in_numpy(getattr(moved, method)(arrays(queries)))
        np.testing.assert_allclose(found, in_numpy(getattr(plain, method)(queries)), atol=1e-9, err_msg=method)
    assert in_numpy(moved.codes(arrays(queries)))[:, [3, 9]].max() == 0.0


def test_labels_follow_x_and_classes_follow_y(arrays):
    samples, queries = map(arrays, CASES["n > d"])
    numbers, words = np.arange(60) % 3 + 5, np.array(["a", "b", "c"])[np.arange(60) % 3]
    for truth, kind in ((numbers, type(samples)), (words, np.ndarray)):
        clf = ANCRClassifier().fit(samples, truth)
        labels = clf.predict(queries)
        assert isinstance(clf.classes_, np.ndarray)
        assert type(labels) is kind
        assert set(np.asarray(labels)) <= set(truth) == set(clf.classes_)
        assert clf.score(samples, truth) > 0.9


def test_two_classes(arrays):
    samples, queries = map(arrays, CASES["n > d"])
    clf = ANCRClassifier().fit(samples, arrays(np.arange(60) % 2))
    values = clf.decision_function(queries)
    assert tuple(values.shape) == (40,)
    plain = ANCRClassifier().fit(CASES["n > d"][0], np.arange(60) % 2)
    np.testing.assert_allclose(np.asarray(values), plain.decision_function(CASES["n > d"][1]), atol=1e-9)
    assert clf.score(samples, arrays(np.arange(60) % 2)) == 1.0
    np.testing.assert_array_equal(np.asarray(values) > 0, np.asarray(clf.predict(queries)) == 1)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_explanations_are_numpy_arrays(arrays, kernel):
    samples, queries = CASES["n > d"][0], CASES["n > d"][1][:10]
    truth, clf = np.arange(60) % 3, ANCRClassifier(space=kernel)
    plain = clone(clf).fit(samples, truth).explain(queries, top=2)
    moved = clone(clf).fit(arrays(samples), arrays(truth)).explain(arrays(queries), top=2)
    for expected, found in zip(plain, moved, strict=True):
        assert found.label == expected.label
        np.testing.assert_array_equal(found.indices, expected.indices)
        np.testing.assert_allclose(found.shares, expected.shares, atol=1e-10)


@pytest.mark.parametrize("arrays", ["numpy", *rarely("torch", "array_api_strict")], indirect=True)
def test_small_blocks_give_the_same(arrays):
    samples, queries = map(arrays, CASES["n > d"])
    for clf in (ANCRClassifier(), ANCRClassifier(solver="admm", rho=0.1, max_iter=3)):
        clf.fit(samples, arrays(np.arange(60) % 3))
        whole = clf.residuals(queries)
        with config_context(working_memory=0.01):
            np.testing.assert_allclose(np.asarray(clf.residuals(queries)), np.asarray(whole), atol=1e-12)


@pytest.mark.parametrize(
    "space", [{}, {"space": "rbf"}, {"space": Space("poly", coef0=1.0, normalize=False)}, {"relaxation": 0.1}], ids=str
)
@pytest.mark.parametrize("constraint", ["free", "affine", "nonnegative", "simplex"])
def test_solutions_certify_themselves(arrays, constraint, space):
    if "relaxation" in space and constraint in ("free", "affine"):
        pytest.skip("relaxation applies to sets with inequalities")
    atoms, queries = map(arrays, CASES["n > d"])
    solution = solve(atoms, queries, constraint=constraint, history=True, **space)
    assert np.asarray(solution.verify()).all()
    assert tuple(solution.history.shape) == (1, 40)
    for entry in (solution.objective, solution.gap, solution.n_iter, solution.converged, solution.violation):
        assert type(entry) is type(atoms)


def test_precomputed_inner_products_with_weights_of_zero(arrays):
    rng = np.random.default_rng(0)
    X, y = rng.random((12, 5)), np.arange(12) % 3
    gram, weights = X @ X.T, np.arange(12) % 4
    plain, moved = (
        ANCRClassifier(space="precomputed").fit(put(gram), y, sample_weight=weights).codes(put(gram[:3]))
        for put in (np.asarray, arrays)
    )
    np.testing.assert_allclose(in_numpy(moved), in_numpy(plain), atol=1e-9)


def test_precomputed_inner_products(arrays):
    atoms, queries = CASES["n > d"]
    gram, cross = atoms @ atoms.T, queries @ atoms.T
    for settings in ({}, {"constraint": "free"}, {"relaxation": 0.1}):
        plain, moved = (solve(put(gram), put(cross), space="precomputed", **settings) for put in (np.asarray, arrays))
        np.testing.assert_allclose(in_numpy(moved.codes), in_numpy(plain.codes), atol=1e-8)
        assert in_numpy(moved.verify()).all()
    with pytest.raises(ValueError, match="symmetric"):
        solve(arrays(gram + np.triu(gram)), arrays(cross), space="precomputed")


def test_far_from_the_origin_an_rbf_kernel_keeps_its_digits(arrays):
    atoms, queries = (rows + 1e6 for rows in CASES["n > d"])
    plain, moved = (
        solve(put(atoms), put(queries), space=Space("rbf", gamma=0.1, normalize=False)) for put in (np.asarray, arrays)
    )
    np.testing.assert_allclose(in_numpy(moved.codes), in_numpy(plain.codes), atol=1e-6)


def test_a_kernel_that_is_none_is_told(arrays):
    atoms, queries = map(arrays, CASES["n > d"])
    with pytest.warns(UserWarning, match="not positive semi-definite"):
        solution = solve(
            atoms, queries, space=Space("poly", degree=1, coef0=-5.0, normalize=False), constraint="free", alpha=10.0
        )
    assert not in_numpy(solution.verify()).any()


def test_admm_history(arrays):
    atoms, queries = map(arrays, CASES["n > d"])
    solution = solve(atoms, queries, solver="admm", tol=1e-4, history=True)
    np.testing.assert_allclose(np.asarray(solution.history)[-1], np.asarray(solution.objective))


def test_projection(arrays):
    points = np.random.default_rng(1).standard_normal((50, 17)) * np.logspace(-3, 6, 50)[:, None]
    for radius in (1.0, 0.3):
        expected = project_simplex(points, radius)
        np.testing.assert_allclose(np.asarray(project_simplex(arrays(points), radius)), expected, atol=1e-9)
    assert tuple(project_simplex(arrays(points[0])).shape) == (17,)
    with pytest.raises(ValueError, match="points contains NaN"):
        project_simplex(arrays([np.nan, 1.0]))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda X: np.where(X > 1.0, np.nan, X), "X contains NaN"),
        (lambda X: np.where(X > 1.0, np.inf, X), "X contains (NaN, )?infinity"),
        (lambda X: X[0], "Expected 2D array"),
        (lambda X: X[:0], r"0 sample\(s\)"),
        (lambda X: X[:, :5], "5 features, but ANCRClassifier is expecting 8 features"),
    ],
)
def test_bad_queries_are_named(arrays, spoil, message):
    samples, queries = CASES["n > d"]
    clf = ANCRClassifier().fit(arrays(samples), arrays(np.arange(60) % 3))
    with pytest.raises(ValueError, match=message):
        clf.predict(arrays(spoil(queries)))


def test_bad_fits_are_named(arrays):
    samples = CASES["n > d"][0]
    with pytest.raises(ValueError, match="at least two classes"):
        ANCRClassifier().fit(arrays(samples), arrays(np.zeros(60, int)))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        ANCRClassifier().fit(arrays(samples), arrays(np.arange(59) % 2))
    with pytest.raises(ValueError, match="NaN"):
        ANCRClassifier().fit(arrays(np.full((4, 2), np.nan)), arrays(np.arange(4) % 2))


def test_integers_become_double(arrays):
    samples = arrays(np.arange(24).reshape(6, 4) % 7)
    clf = ANCRClassifier().fit(samples, arrays(np.arange(6) % 2))
    assert "float64" in str(clf.residuals(samples).dtype)


def test_another_library_is_refused(arrays):
    samples, queries = CASES["n > d"]
    if arrays is np.asarray:
        pytest.skip("NumPy is what the others are compared with")
    truth = np.arange(60) % 3
    with pytest.raises(ValueError, match=r"ANCRClassifier\.predict\(\) must use the same namespace"):
        ANCRClassifier().fit(arrays(samples), truth).predict(queries)
    with pytest.raises(ValueError, match=r"ANCRClassifier\.predict\(\) must use the same namespace"):
        ANCRClassifier().fit(samples, truth).predict(arrays(queries))


def test_what_needs_numpy_says_so(arrays):
    if arrays is np.asarray:
        pytest.skip("NumPy is what it needs")
    with pytest.raises(ValueError, match="one query after the other, on NumPy arrays only"):
        SRCClassifier(solver="interior_point").fit(arrays(CASES["n > d"][0]), np.arange(60) % 3)


def some_digits(n_train):
    """Training samples, labels and queries."""
    X, y = load_digits(return_X_y=True)
    return X[:n_train], y[:n_train], X[400:420]


GRIDS = [
    {"spaces": ["linear", Space("rbf", gamma=1.0)], "alphas": [1e-2, 1e-1], "relaxations": [0.3, None]},
    {"spaces": [Space(power=0.5)], "alphas": [1e-2, 1e-1], "relaxations": [1.0, None], "cv": 3},
]


@pytest.mark.parametrize("grid", GRIDS, ids=["leave-one-out", "folds"])
def test_settings_are_chosen_as_with_numpy(arrays, grid):
    check_choice(arrays, grid)


def check_choice(arrays, grid):
    """Cross-validation chooses, calibrates and answers as with NumPy, with results where the samples are."""
    samples, truth, queries = some_digits(60)
    plain = ANCRClassifierCV(**grid).fit(samples, truth)
    moved = ANCRClassifierCV(**grid).fit(arrays(samples), arrays(truth))
    assert moved.best_params_ == plain.best_params_
    for name in ("accuracy", "brier", "log_loss", "mean_test_score"):
        np.testing.assert_allclose(moved.cv_results_[name], plain.cv_results_[name], atol=1e-5, err_msg=name)
    for method in (*METHODS, "predict"):
        found = getattr(moved, method)(arrays(queries))
        assert type(found) is type(arrays(samples)) or arrays is np.asarray, method
        np.testing.assert_allclose(
            in_numpy(found), in_numpy(getattr(plain, method)(queries)), atol=1e-4, err_msg=method
        )
    plain, moved = (RejectOption(FrozenEstimator(clf)).fit(None, None) for clf in (plain, moved))
    np.testing.assert_array_equal(in_numpy(moved.predict(arrays(queries))), plain.predict(queries))
    found = moved.confidence(arrays(queries))
    assert type(found) is type(arrays(samples)) or arrays is np.asarray
    np.testing.assert_allclose(in_numpy(found), plain.confidence(queries), atol=1e-4)


@pytest.mark.parametrize("weighted", [True, *rarely(False)])
@pytest.mark.parametrize(
    ("constraint", "relaxation"), [("simplex", None), *rarely(("affine", None), ("nonnegative", 0.3))]
)
@pytest.mark.parametrize("space", [{}, {"kernel": "rbf"}], ids=str)
def test_leaving_one_out_is_that_of_numpy(arrays, space, constraint, relaxation, weighted):
    samples = CASES["n > d"][0][:20]
    weights = np.random.default_rng(3).uniform(0.2, 3.0, 20) if weighted else None

    def left_out(put):
        prepared = Space(**space).prepare(put(samples))
        dictionary = prepared.dictionary(put(samples), np.arange(20) % 3, weights=weights)
        problem = Problem.of(dictionary, "ridge", constraint, alpha=0.05, relaxation=relaxation)
        assert LeaveOneOut.accepts(problem)
        parts = LeaveOneOut(dictionary, tol=1e-8).map(problem, lambda rows, c, z: (in_numpy(c), in_numpy(z)))
        return [np.concatenate(part) for part in zip(*parts, strict=True)]

    for found, expected in zip(left_out(arrays), left_out(np.asarray), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-9)
        assert not np.diagonal(found).any()


def test_leaving_one_out_in_several_blocks(arrays):
    samples = CASES["n > d"][0][:10]
    dictionary = Space().prepare(arrays(samples)).dictionary(arrays(samples))
    for relaxation in (None, 0.3):
        problem = Problem.of(dictionary, "ridge", "simplex", alpha=0.05, relaxation=relaxation)
        whole = np.concatenate(LeaveOneOut(dictionary).map(problem, lambda rows, c, z: in_numpy(c)))
        with config_context(working_memory=0.0015):
            parts = LeaveOneOut(dictionary).map(problem, lambda rows, c, z: in_numpy(c))
        assert len(parts) > 2
        np.testing.assert_allclose(np.concatenate(parts), whole, atol=1e-9)


def test_queries_that_stall_are_left_out_on_the_host(arrays, monkeypatch):
    if arrays is np.asarray:
        pytest.skip("NumPy is on the host")
    samples = CASES["n > d"][0][:20]
    monkeypatch.setattr("ancr.solvers.working_set.device.MAX_ROUNDS", 1)
    for relaxation in (None, 0.3):
        dictionaries = [Space().prepare(put(samples)).dictionary(put(samples)) for put in (np.asarray, arrays)]
        problems = [Problem.of(one, "ridge", "simplex", alpha=0.05, relaxation=relaxation) for one in dictionaries]
        plain, moved = (
            np.concatenate(LeaveOneOut(problem.dictionary).map(problem, lambda rows, c, z: in_numpy(c)))
            for problem in problems
        )
        np.testing.assert_allclose(moved, plain, atol=1e-9)


@pytest.mark.parametrize(
    "estimator",
    [ANCRClassifier(alpha=0.1), ANCRClassifier(alpha=0.1, relaxation=0.5, space="rbf"), CRCClassifier(alpha=0.1)],
    ids=lambda clf: str(clf).replace("\n", ""),
)
def test_audits_are_those_of_numpy(arrays, estimator):
    check_audit(arrays, estimator)


def check_audit(arrays, estimator):
    """An audit of labels says what that of NumPy arrays says, in NumPy arrays."""
    samples, truth, _ = some_digits(60)
    truth[[5, 9]] = (truth[[5, 9]] + 3) % 10
    plain = audit_labels(samples, truth, estimator=estimator)
    moved = audit_labels(arrays(samples), arrays(truth), estimator=estimator)
    np.testing.assert_allclose(moved.score, plain.score, atol=1e-6)
    np.testing.assert_allclose(moved.misfit, plain.misfit, atol=1e-8)
    np.testing.assert_array_equal(moved.suggested, plain.suggested)
    np.testing.assert_array_equal(moved.speaks_against.indices[:, 0], plain.speaks_against.indices[:, 0])
    assert [pair[:2] for pair in moved.duplicates] == [pair[:2] for pair in plain.duplicates]
    assert {pair[:2] for pair in moved.leaks(arrays(samples[:3]))} >= {(0, 0), (1, 1), (2, 2)}


@pytest.mark.all
def test_audits_of_groups_are_those_of_numpy(arrays):
    samples, truth, _ = some_digits(60)
    options = {"estimator": ANCRClassifier(alpha=0.1), "groups": np.arange(60) % 4}
    plain, moved = (audit_labels(put(samples), put(truth), **options) for put in (np.asarray, arrays))
    np.testing.assert_allclose(moved.score, plain.score, atol=1e-8)


@pytest.mark.parametrize("strategy", ["auto", *rarely("margin", "far", "random")])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_samples_to_label_next_are_those_of_numpy(arrays, kernel, strategy):
    check_next(arrays, kernel, strategy)


def check_next(arrays, kernel, strategy):
    """The samples to label next are those that NumPy arrays give."""
    samples, truth, _ = some_digits(90)

    def chosen(put):
        clf = ANCRClassifier(space=Space(kernel, gamma=1.0)).fit(put(samples[:40]), put(truth[:40]))
        return next_to_label(clf, put(samples[40:]), 5, labelled=[1, 2], strategy=strategy)

    np.testing.assert_array_equal(chosen(arrays), chosen(np.asarray))


@pytest.mark.parametrize(
    "clf",
    [
        CRCClassifier(alpha=0.1),
        ANCRClassifier(space=Space("rbf", gamma=1.0)),
        *rarely(ACRClassifier(), ANCRClassifier(), ANCRClassifier(space=Space(normalize=False), relaxation=1.0)),
    ],
    ids=lambda clf: str(clf).replace("\n", ""),
)
def test_a_dictionary_grows_as_with_numpy(arrays, clf):
    check_growth(arrays, clf)


def check_growth(arrays, clf):
    """Samples that come in batches, with new classes, give what fitting all of them gives."""
    samples, truth, queries = some_digits(60)
    whole, grown = clone(clf).fit(samples, truth), clone(clf)
    order = np.argsort(truth > 6, kind="stable")  # the last classes come last
    for batch in np.array_split(order, 3):
        grown.partial_fit(arrays(samples[batch]), arrays(truth[batch]))
        grown.predict(arrays(queries))
    np.testing.assert_array_equal(in_numpy(grown.classes_), whole.classes_)
    residuals = grown.residuals(arrays(queries))
    assert type(residuals) is type(arrays(samples))
    np.testing.assert_allclose(in_numpy(residuals), whole.residuals(queries), atol=1e-8)


@pytest.mark.all
def test_with_scikit_learns_array_api_dispatch():
    """scikit-learn's ``array_api_dispatch`` needs SCIPY_ARRAY_API from the start of the process."""
    pytest.importorskip("array_api_strict", reason="array_api_strict is not installed")
    if parse_version(scipy.__version__) < parse_version("1.14"):
        pytest.skip("scikit-learn's array_api_dispatch needs SciPy 1.14")
    code = """
import array_api_strict as xp, numpy as np, sklearn
from ancr import ANCRClassifier
rng = np.random.default_rng(0)
X, y = rng.standard_normal((30, 5)), np.arange(30) % 3
with sklearn.config_context(array_api_dispatch=True):
    for arrays in (np.asarray, xp.asarray):
        for solver in ("exact", "admm"):
            clf = ANCRClassifier(solver=solver, rho=1.0).fit(arrays(X), arrays(y))
            assert type(clf.predict(arrays(X))) is type(arrays(X)), clf.predict(arrays(X))
            assert clf.score(arrays(X), arrays(y)) == 1.0
"""
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "SCIPY_ARRAY_API": "1"})


@pytest.mark.parametrize("low", [2.0, 2e-10, 2e-20])
def test_projection_ends_where_an_entry_is_the_threshold(arrays, low):
    """The largest entry less the radius is the other entry, up to rounding."""
    points = arrays(np.array([[-low, -1.5 * low], [1.5 * low, low]]))
    projected = to_numpy(project_simplex(points, 0.5 * low))
    np.testing.assert_allclose(projected, [[0.5 * low, 0.0]] * 2, atol=1e-15 * low)


@pytest.mark.all
def test_tensors_that_record_gradients_are_taken_without_their_record():
    X, y = load_digits(return_X_y=True)
    plain = converter("torch")(X[:60])
    recorded = plain.clone().requires_grad_()
    clf = ANCRClassifier().fit(plain[:40, :], y[:40])
    np.testing.assert_array_equal(clf.predict(recorded), clf.predict(plain))
    np.testing.assert_array_equal(next_to_label(clf, recorded, 5), next_to_label(clf, plain, 5))
    assert not clf.decision_function(recorded).requires_grad


def test_queries_whose_products_overflow_are_refused(arrays):
    rng = np.random.default_rng(0)
    X, labels = rng.normal([-120.0, 15.0, -157.0, 70.0], size=(14, 4)), np.arange(14) % 4
    settings = {"alpha": 0.1, "beta": 2.5, "quadratic": "probabilistic", "labels": labels, "constraint": "simplex"}
    far = np.array([[1.1, 2.1, -0.1, -2.9]])
    with pytest.raises(ValueError, match="times as long as the atoms"):
        solve(arrays(X), arrays(1e153 * far), **settings)
    codes = in_numpy(solve(arrays(X), arrays(1e100 * far), **settings).codes)
    np.testing.assert_allclose(codes.sum(axis=1), 1.0)
