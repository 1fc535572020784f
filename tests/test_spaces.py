"""Powers, lifts, unit norm and kernels: every answer compared with a quadratic programme on the Gram matrix, or with
another way to the same space."""

import pickle
import subprocess
import sys
import warnings
from functools import cache, partial
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import ancr
from ancr._core.arrays import dense
from ancr.axes.problem import Problem
from ancr.axes.quadratics import QUADRATICS
from ancr.axes.rules import RULES
from ancr.axes.sets import SETS
from ancr.axes.spaces import Space
from ancr.classifiers.representation import Features
from ancr.dictionary.coordinates import Dictionary
from ancr.dictionary.derived import WhitenedDictionary
from ancr.dictionary.inner_products import KernelDictionary
from ancr.dictionary.mercer import RBF, Function, Polynomial, Precomputed
from ancr.dictionary.products import Queries
from ancr.solvers import ADMM, HostWorkingSet, make_solver
from ancr.solvers.choice import accepts
from tests.array_libraries import without_dispatch
from tests.conftest import PROBLEMS, named_problem
from tests.marks import WEIGHT_CHECKS, rarely
from tests.oracle import best_by_quadprog

ALPHA, BETA = 0.05, 0.1
# xᵀy by way of the Gram matrix: a `Dictionary` knows the same inner products by coordinates.
LINEAR = Polynomial(1.0, 1, 0.0)
KERNELS = {"rbf": RBF(0.3), "poly": Polynomial(0.5, 3, 1.0), "linear": LINEAR}
CASES = [
    (quadratic, constraint, relaxation)
    for quadratic, constraint, relaxation in product(QUADRATICS, SETS, (None, 0.5))
    if (quadratic, constraint) != ("l1", "affine")
    and (relaxation is None or (quadratic in ("ridge", "least_squares") and SETS[constraint].nonnegative))
]


def few(data):
    atoms, queries = named_problem(data)
    return atoms, queries[:2], np.arange(len(atoms)) % 2


def dictionary_of(kernel, atoms, labels=None):
    return KernelDictionary.of(Dictionary.build(atoms, labels, normalize=False), kernel)


def written_out(name):
    """One of KERNELS as scikit-learn computes it: a function of two matrices."""
    return {
        "rbf": partial(rbf_kernel, gamma=0.3),
        "poly": partial(polynomial_kernel, gamma=0.5, degree=3, coef0=1.0),
        "linear": lambda left, right: left @ right.T,
    }[name]


@cache
def answers(name, data, quadratic, constraint, relaxation):
    """The least objectives of a problem, from K and k written out."""
    atoms, queries, labels = few(data)
    kernel = written_out(name)
    gram, cross = kernel(atoms, atoms), kernel(queries, atoms)
    weights = QUADRATICS[quadratic](ALPHA, BETA, len(np.unique(labels)))
    hessian = weights.gram * gram + weights.blocks * gram * (labels[:, None] == labels)
    hessian += weights.ridge * np.eye(len(atoms))
    kind = SETS[constraint]
    words = weights.absolute, kind.sums_to_one, kind.nonnegative, relaxation, kind.highest
    squares = np.diagonal(kernel(queries, queries))
    return [
        square + best_by_quadprog(hessian, weights.target * row, *words)
        for row, square in zip(cross, squares, strict=True)
    ]


@pytest.mark.parametrize(("quadratic", "constraint", "relaxation"), CASES)
@pytest.mark.parametrize("name", ["rbf", *rarely("poly", "linear")])
def test_known_answers_in_a_kernel(name, quadratic, constraint, relaxation):
    # Without a ridge, codes without inequalities follow from the inverse of a nearly singular matrix.
    loose = quadratic == "least_squares" and not SETS[constraint].has_inequalities
    for data in PROBLEMS:
        if (name, data) == ("poly", "scaled atoms"):
            continue  # entries of K from 1e-12 to 1e13, beyond the oracle
        atoms, queries, labels = few(data)
        if len(atoms) < SETS[constraint].fewest_atoms:
            continue
        dictionary = dictionary_of(KERNELS[name], atoms, labels)
        problem = Problem.of(dictionary, quadratic, constraint, alpha=ALPHA, beta=BETA, relaxation=relaxation)
        solution = make_solver("exact", problem).solve(queries)
        size = np.maximum(solution.queries.squares, max(dictionary.squares.max(), ALPHA))
        best = answers(name, data, quadratic, constraint, relaxation)
        assert (np.abs(solution.objective - best) <= 1e-6 * size).all(), data
        assert (solution.objective <= best + (1e-7 if loose else 1e-8) * size).all(), data
        if not loose:
            # Without coordinates misfits are differences: what is far smaller than its terms cannot be proved, nor can
            # an orthant's optimum without a ridge where the atoms that pull surround the origin.
            lost = np.maximum(problem.scale(solution.queries, solution.sorted_codes), solution.objective) < 1e-5 * size
            open_ended = quadratic == "least_squares" and constraint == "nonnegative"
            assert (solution.verify(tol=1e-7) | lost | open_ended).all(), data


@pytest.mark.parametrize(("quadratic", "constraint", "relaxation"), CASES)
def test_the_linear_kernel_agrees_with_coordinates(quadratic, constraint, relaxation):
    rng = np.random.default_rng(0)
    atoms, queries, labels = rng.standard_normal((40, 60)), rng.standard_normal((7, 60)), np.arange(40) % 3
    settings = {"alpha": ALPHA, "beta": BETA, "relaxation": relaxation}
    codes, scores = [], []
    for dictionary in (Dictionary.build(atoms, labels, normalize=False), dictionary_of(LINEAR, atoms, labels)):
        solution = make_solver("exact", Problem.of(dictionary, quadratic, constraint, **settings)).solve(queries)
        codes.append(dense(solution.codes))
        scores.append([rule.scores(solution.queries, solution.sorted_codes) for rule in RULES.values()])
    np.testing.assert_allclose(codes[1], codes[0], atol=1e-10)
    np.testing.assert_allclose(scores[1], scores[0], atol=1e-9)


def test_words_agree_with_coordinates():
    rng = np.random.default_rng(1)
    atoms, queries, labels = rng.standard_normal((20, 6)), rng.standard_normal((5, 6)), np.arange(20) % 3
    plain, kernel = Dictionary.build(atoms, labels, normalize=False), dictionary_of(LINEAR, atoms, labels)
    codes = rng.standard_normal((5, 20)) * (rng.random((5, 20)) < 0.4)
    there, here = Queries.of(plain, queries), Queries.of(kernel, queries)
    for word in ("cross", "squares", "squared_distances_to_mean"):
        np.testing.assert_allclose(getattr(here, word), getattr(there, word), atol=1e-12, err_msg=word)
    for given in (codes, sparse.csr_array(codes)):
        for word, arguments in {"residual_cross": (1.2, 0.7), "misfits": (1.3,), "class_misfits": (0.8,)}.items():
            wanted = getattr(there, word)(given, *arguments)
            np.testing.assert_allclose(getattr(here, word)(given, *arguments), wanted, atol=1e-12, err_msg=word)
        for word in ("times_gram", "class_cross", "class_shortfalls"):
            wanted = getattr(plain, word)(given)
            np.testing.assert_allclose(getattr(kernel, word)(given), wanted, atol=1e-12, err_msg=word)
    for word in ("gram", "squares", "squared_mean", "longest"):
        np.testing.assert_allclose(getattr(kernel, word), getattr(plain, word), atol=1e-12)
    for one, other in zip(kernel.block_grams, plain.block_grams, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
    lengths = [each.lengths_with_and_without(2, np.array([3, 4, 9]), codes[0, :3] + 1, 1) for each in (there, here)]
    np.testing.assert_allclose(*lengths, atol=1e-12)


def test_kernel_values_are_computed_once_for_a_block_and_not_kept(monkeypatch):
    monkeypatch.setenv("ANCR_NUM_THREADS", "1")  # one block
    rng, calls = np.random.default_rng(0), []

    def counted(left, right):
        calls.append(len(left))
        return left @ right.T

    X, y = rng.standard_normal((30, 5)), np.arange(30) % 2
    for settings in ({}, {"relaxation": 0.5}, {"rule": "reg"}):
        clf = ancr.ANCRClassifier(space=counted, **settings).fit(X, y)
        clf.predict(X[:8])
        calls.clear()
        clf.predict(X[:8] + 1.0)
        assert 1 <= calls.count(8) <= 2  # k(y, x) and, for ‖φ(y)‖, k(y, y)
    solution = ancr.solve(X, X[:8], space="rbf")
    values = [*vars(solution).values(), *vars(solution.queries).values()]
    assert not [value for value in values if isinstance(value, np.ndarray) and value.shape == (8, 30)]
    assert solution.queries.rows.shape == (8, 5)


@pytest.mark.parametrize("settings", [{}, {"relaxation": 0.3}, {"rule": "reg"}, {"rule": "pro"}], ids=str)
def test_a_callable_and_a_matrix_agree_with_the_named_kernel(settings):
    X, y = make_classification(90, 12, n_informative=8, n_classes=3, random_state=0)
    X, y, Q = X[:60], y[:60], X[60:]
    named = ancr.ANCRClassifier(space=Space("rbf", gamma=0.4, normalize=False), **settings).fit(X, y)
    called = ancr.ANCRClassifier(space=Space(partial(rbf_kernel, gamma=0.4), normalize=False), **settings).fit(X, y)
    given = ancr.ANCRClassifier(space="precomputed", **settings).fit(rbf_kernel(X, gamma=0.4), y)
    cross = rbf_kernel(Q, X, gamma=0.4)
    for method in ("residuals", "decision_function", "predict_proba"):
        wanted = getattr(named, method)(Q)
        np.testing.assert_allclose(getattr(called, method)(Q), wanted, atol=1e-9)
        np.testing.assert_allclose(getattr(given, method)(cross), wanted, atol=1e-9)
    np.testing.assert_allclose(dense(given.codes(cross)), dense(named.codes(Q)), atol=1e-9)
    for one, other in zip(given.explain(cross), named.explain(Q), strict=True):
        np.testing.assert_array_equal(one.indices, other.indices)
        np.testing.assert_allclose(one.shares, other.shares, atol=1e-7)


def test_precomputed_is_pairwise_for_scikit_learn():
    X, y = load_digits(return_X_y=True)
    X, y = X[:200] / 16.0, y[:200]
    clf = ancr.ANCRClassifier(space=Space("rbf", gamma=0.1, normalize=False))
    matrix = ancr.ANCRClassifier(space="precomputed")
    gram = rbf_kernel(X, gamma=0.1)
    np.testing.assert_allclose(cross_val_score(matrix, gram, y, cv=3), cross_val_score(clf, X, y, cv=3))


def test_the_order_of_the_space():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6, 4))
    space = Space(kernel="rbf", power=0.5).prepare(X)
    rows = np.sign(X) * np.sqrt(np.abs(X))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    np.testing.assert_allclose(space.rows(X), rows)
    assert space.gamma_ == pytest.approx(1.0 / (4 * rows.var()))
    np.testing.assert_allclose(space.dictionary(X).gram, rbf_kernel(rows, gamma=space.gamma_))


def lifted(X, constant):
    """Samples with one more coordinate, at unit norm."""
    rows = np.column_stack([X, np.full(len(X), constant)])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
def test_a_lift_comes_between_power_and_unit_norm(scale):
    X = np.random.default_rng(0).standard_normal((6, 4))
    roots = np.sign(X) * np.sqrt(np.abs(X))
    space = Space(kernel="rbf", power=0.5, lift=0.7).prepare(X * scale)
    length = np.sqrt(np.mean(np.sum(roots**2, axis=1)))
    rows = lifted(roots, 0.7 * length)
    assert space.constant_ == pytest.approx(0.7 * length * np.sqrt(scale))
    np.testing.assert_allclose(space.rows(X * scale), rows)
    assert space.gamma_ == pytest.approx(1.0 / (5 * rows.var()))
    np.testing.assert_allclose(space.dictionary(X * scale).gram, rbf_kernel(rows, gamma=space.gamma_))
    assert Space(lift=0.7).prepare(0.0 * X).constant_ == 0.0


def test_a_lift_tells_samples_of_one_direction_apart():
    """Two rings have the same directions; only their lengths differ."""
    rng = np.random.default_rng(0)
    angles, y = rng.uniform(0, 2 * np.pi, 200), np.arange(200) % 2
    X = (1.0 + y)[:, None] * np.column_stack([np.cos(angles), np.sin(angles)]) + 0.05 * rng.standard_normal((200, 2))
    scores = [
        ancr.ANCRClassifier(space=Space(lift=lift), alpha=1e-2).fit(X[:100], y[:100]).score(X[100:], y[100:])
        for lift in (0.0, 1.0)
    ]
    assert scores[0] < 0.7
    assert scores[1] == 1.0


def test_a_constant_coordinate_without_unit_norm():
    """It has no effect where Σc = 1; elsewhere the objective gains (s·r)²·(1 − Σc)²."""
    rng = np.random.default_rng(0)
    X, Q = rng.standard_normal((40, 5)) + 1.0, rng.standard_normal((9, 5))
    plain, constant = Space(normalize=False), Space(normalize=False, lift=2.0)
    for constraint in ("affine", "simplex"):
        values = [ancr.solve(X, Q, alpha=0.1, constraint=constraint, space=space) for space in (plain, constant)]
        np.testing.assert_allclose(*(dense(one.codes) for one in values), atol=1e-7)
    codes = dense(ancr.solve(X, Q, alpha=0.1, constraint="free", space=constant).codes)
    size = constant.prepare(X).constant_ ** 2
    matrix = X @ X.T + 0.1 * np.eye(40) + size
    np.testing.assert_allclose(codes, np.linalg.solve(matrix, X @ Q.T + size).T, atol=1e-9)
    assert "lift" in Space("rbf", normalize=False).idle
    assert "lift" not in constant.idle | Space("rbf").idle


@pytest.mark.parametrize(
    "settings", [{}, {"kernel": "rbf", "gamma": 0.5}, {"kernel": "rbf", "n_landmarks": 10}], ids=str
)
def test_a_lift_grows_by_the_length_of_the_first_samples(settings):
    X, y = make_classification(150, 10, n_informative=8, n_classes=3, random_state=1)
    space = Space(lift=0.5, random_state=0, **settings)
    grown = ancr.ANCRClassifier(space=space)
    for part in (slice(0, 50), slice(50, 55), slice(55, 120)):
        grown.partial_fit(X[part] * (1 + part.start), y[part])
        grown.predict(X[:1])
    first = space.prepare(X[:50])
    assert grown.space_.constant_ == first.constant_
    rows = np.concatenate([X[:50], X[50:55] * 51, X[55:120] * 56])
    whole = clone(grown).learn(first, first.dictionary(rows, y[:120]), Features(10))
    np.testing.assert_allclose(grown.residuals(X[120:]), whole.residuals(X[120:]), atol=1e-9)


def test_power_of_a_linear_space_is_that_of_samples_prepared_by_hand():
    X, y = load_digits(return_X_y=True)
    clf = ancr.CRCClassifier(space=Space(power=0.5)).fit(X[:200], y[:200])
    by_hand = ancr.CRCClassifier().fit(np.sqrt(X[:200]), y[:200])
    np.testing.assert_allclose(clf.residuals(X[200:220]), by_hand.residuals(np.sqrt(X[200:220])))


@pytest.mark.parametrize("method", ["ANCR", "CRC", "ACR", "ProCRC", "SRC", "NSC", "SACRC", "CROC"])
def test_single_precision(method):
    X, y = load_digits(return_X_y=True)
    classifier = partial(getattr(ancr, f"{method}Classifier"), space=Space("rbf", power=0.5), alpha=1e-2)
    double = classifier().fit(X[:300], y[:300])
    single = classifier().fit(X[:300].astype("f4"), y[:300])
    residuals = single.residuals(X[300:340].astype("f4"))
    assert residuals.dtype == np.float32
    np.testing.assert_allclose(residuals, double.residuals(X[300:340]), atol=2e-3)
    assert (single.predict(X[300:600].astype("f4")) == double.predict(X[300:600])).mean() > 0.99


@pytest.mark.parametrize(
    "settings", [{}, {"relaxation": 0.2}, {"constraint": "free"}, {"quadratic": "competitive"}], ids=str
)
def test_single_precision_is_certified(settings):
    rng = np.random.default_rng(0)
    for n, gamma, alpha in (
        (60, 0.3, 0.01),
        (800, 0.1, 0.1),
    ):  # the second one: inner products that have much in common
        atoms, queries = rng.standard_normal((n, 10)).astype("f4"), rng.standard_normal((9, 10)).astype("f4")
        given = {"space": Space("rbf", gamma=gamma), "alpha": alpha, "labels": np.arange(n) % 3}
        assert ancr.solve(atoms, queries, **given, **settings).verify().all()


@pytest.mark.parametrize(
    "classifier", [ancr.ANCRClassifier, ancr.CRCClassifier, partial(ancr.ANCRClassifier, relaxation=0.3)]
)
def test_growing_is_fitting(classifier):
    X, y = make_classification(150, 10, n_informative=8, n_classes=3, random_state=1)
    for settings in (
        {"space": Space("rbf", gamma=0.3)},
        {"space": Space("poly", gamma=0.5)},
        {"space": Space(power=0.5)},
    ):
        whole = classifier(**settings).fit(X[:120], y[:120])
        grown = classifier(**settings)
        for part in (slice(0, 50), slice(50, 55), slice(55, 120)):
            grown.partial_fit(X[part], y[part])
            grown.predict(X[:1])
        np.testing.assert_allclose(grown.residuals(X[120:]), whole.residuals(X[120:]), atol=1e-9)
        np.testing.assert_allclose(dense(grown.codes(X[120:])), dense(whole.codes(X[120:])), atol=1e-8)


def test_pickle_and_clone():
    X, y = load_digits(return_X_y=True)
    for space in (Space("rbf", power=0.5, lift=0.5), Space("rbf", n_landmarks=30, random_state=0)):
        clf = ancr.ANCRClassifier(space=space).fit(X[:200], y[:200])
        again = pickle.loads(pickle.dumps(clf))
        np.testing.assert_array_equal(again.decision_function(X[200:230]), clf.decision_function(X[200:230]))
        assert clone(clf).get_params() == clf.get_params()
        assert clone(clf).set_params(space__gamma=2.0).space.gamma == 2.0


@pytest.mark.parametrize(("quadratic", "constraint", "relaxation"), CASES)
def test_degenerate_samples(quadratic, constraint, relaxation):
    """Duplicates, zero rows and one sample per class are certified, or reported."""
    rng = np.random.default_rng(0)
    tall = rng.standard_normal((9, 3))
    for atoms in (np.repeat(tall, 2, axis=0), np.vstack([tall, np.zeros((3, 3))]), tall, np.ones((4, 2))):
        settings = {"constraint": constraint, "quadratic": quadratic, "relaxation": relaxation, "beta": BETA}
        for kernel in ("rbf", "poly"):
            s = ancr.solve(atoms, atoms[:3] + 0.1, space=kernel, alpha=0.01, labels=np.arange(len(atoms)), **settings)
            assert s.verify(tol=1e-6, feasibility=1e-9).all()


def test_indefinite_kernels_are_told_and_never_certified():
    X, _ = make_classification(40, 6, random_state=0)
    kernels = [lambda a, b: -np.abs(a[:, :1] - b[:, :1].T), Space("poly", coef0=-1.0, normalize=False)]
    for kernel, constraint in product(kernels, SETS):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            solution = ancr.solve(X, X[:4] + 0.1, constraint=constraint, space=kernel)
        assert any("is not positive semi-definite" in str(warning.message) for warning in caught)
        assert np.isfinite(dense(solution.codes)).all()
        assert not solution.verify().any()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"space": "sigmoid"}, "'space' parameter of ANCRClassifier"),
        ({"space": Space("sigmoid")}, "'kernel' parameter of Space"),
        ({"space": Space(gamma=0.0)}, "'gamma' parameter"),
        ({"space": Space(gamma="auto")}, "'gamma' parameter"),
        ({"space": Space(degree=-1)}, "'degree' parameter"),
        ({"space": Space(degree=2.5)}, "'degree' parameter"),
        ({"space": Space(power=0.0)}, "'power' parameter"),
        ({"space": Space(lift=-1.0)}, "'lift' parameter"),
        ({"space": Space(lift=1e308)}, "lift=1e\\+308 takes samples beyond the range"),
        ({"space": Space(n_landmarks=0)}, "'n_landmarks' parameter"),
        ({"space": Space(n_landmarks=5)}, "n_landmarks requires a non-linear kernel"),
        ({"space": lambda a, b: a}, "one number per pair of samples"),
        ({"space": lambda a, b: np.full((len(a), len(b)), np.nan)}, "NaN or infinity"),
        ({"space": "precomputed"}, "square matrix of inner products"),
        ({"solver": "admm", "space": "rbf", "constraint": "affine"}, "sets with inequalities"),
    ],
)
def test_bad_settings_are_named(settings, message):
    X, y = make_classification(40, 6, random_state=0)
    kind = ancr.RepresentationClassifier if "constraint" in settings else ancr.ANCRClassifier
    with pytest.raises((ValueError, TypeError), match=message):
        kind(**settings).fit(X, y)


def test_bad_matrices_are_named():
    X, y = make_classification(40, 6, random_state=0)
    gram = X @ X.T
    with pytest.raises(ValueError, match="symmetric matrix"):
        ancr.ANCRClassifier(space="precomputed").fit(gram + np.triu(np.ones_like(gram)), y)
    with pytest.raises(ValueError, match="power, lift and n_landmarks need samples"):
        ancr.ANCRClassifier(space=Space("precomputed", power=0.5)).fit(gram, y)
    with pytest.raises(ValueError, match="power, lift and n_landmarks need samples"):
        ancr.ANCRClassifier(space=Space("precomputed", lift=0.5)).fit(gram, y)
    with pytest.raises(AttributeError, match="partial_fit"):
        ancr.ANCRClassifier(space="precomputed").partial_fit(gram, y)
    with pytest.raises(ValueError, match=r"needs coordinates.*n_landmarks"):
        ancr.SRCClassifier(space="rbf", solver="interior_point").fit(X, y)


def test_too_many_samples_for_a_gram_matrix_are_told_of_landmarks():
    samples = np.broadcast_to(np.zeros((1, 1), np.float32), (30_000, 1))
    with pytest.raises(ValueError, match="set n_landmarks"):
        Space(kernel="rbf", normalize=False).prepare(samples)


def test_landmarks_approach_the_kernel():
    X, y = load_digits(return_X_y=True)
    X, y, Q = X[:300], y[:300], X[300:400]
    exact = ancr.ANCRClassifier(space="rbf", alpha=1e-2).fit(X, y)
    errors, apart = [], []
    for count in (10, 100, 300):
        near = ancr.ANCRClassifier(space=Space("rbf", n_landmarks=count, random_state=0), alpha=1e-2).fit(X, y)
        assert near.dictionary_.has_coordinates
        errors.append(near.space_.error_)
        apart.append(np.abs(near.residuals(Q) ** 2 - exact.residuals(Q) ** 2).max())
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-6
    assert apart[0] > apart[1]
    # With all samples as landmarks codes are those of the kernel; residuals lack what lies outside their span.
    np.testing.assert_allclose(dense(near.codes(Q)), dense(exact.codes(Q)), atol=1e-5)


def test_landmarks_in_a_process_that_has_compiled_nothing():
    code = """
import numpy as np
from ancr import ANCRClassifier, Space
X = np.random.default_rng(0).random((60, 9))
print(ANCRClassifier(space=Space("rbf", n_landmarks=20, random_state=0)).fit(X, np.arange(60) % 3).predict(X[:3]).shape)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stdout == "(3,)\n", run.stderr


def test_admm_and_matching_pursuit_run_without_coordinates():
    rng = np.random.default_rng(0)
    atoms, queries = rng.standard_normal((40, 60)), rng.standard_normal((4, 60))
    for solver in (ADMM(rho=0.3, tol=1e-9), HostWorkingSet()):
        plain, kernel = (
            solver.prepare(Problem.of(dictionary, "ridge", "simplex", alpha=ALPHA)).solve(queries)
            for dictionary in (Dictionary.build(atoms, normalize=False), dictionary_of(LINEAR, atoms))
        )
        np.testing.assert_allclose(dense(kernel.codes), dense(plain.codes), atol=1e-9)
    labels = np.arange(40) % 4
    one = ancr.SACRCClassifier(n_nonzero=5, space=Space(lambda a, b: a @ b.T, normalize=False)).fit(atoms, labels)
    other = ancr.SACRCClassifier(n_nonzero=5, space=Space(normalize=False)).fit(atoms, labels)
    np.testing.assert_allclose(one.codes(queries), other.codes(queries), atol=1e-9)


def test_whitened_inner_products():
    rng = np.random.default_rng(0)
    atoms, queries = rng.standard_normal((15, 4)), rng.standard_normal((3, 4))
    whitened = WhitenedDictionary.of(dictionary_of(LINEAR, atoms), 0.7)
    inverse = np.linalg.inv(atoms.T @ atoms + 0.7 * np.eye(4))
    np.testing.assert_allclose(whitened.gram, atoms @ inverse @ atoms.T, atol=1e-12)
    there = Queries.of(whitened, queries)
    np.testing.assert_allclose(there.cross, queries @ inverse @ atoms.T, atol=1e-12)
    np.testing.assert_allclose(there.squares, np.einsum("ij,jk,ik->i", queries, inverse, queries))
    np.testing.assert_allclose(whitened.leverage, np.diagonal(whitened.gram))


def test_kernels_agree_with_scikit_learn():
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((30, 5)) + 1e4, rng.standard_normal((7, 5)) + 1e4
    np.testing.assert_allclose(RBF(0.3)(left, right), rbf_kernel(left - 1e4, right - 1e4, gamma=0.3), rtol=1e-9)
    for degree in (1, 2, 5):
        wanted = polynomial_kernel(left - 1e4, right - 1e4, degree=degree, gamma=0.2, coef0=0.5)
        np.testing.assert_allclose(Polynomial(0.2, degree, 0.5)(left - 1e4, right - 1e4), wanted)
    assert np.isnan(Precomputed().squares(np.ones((2, 3)))).all()
    np.testing.assert_allclose(Function(rbf_kernel).squares(left), np.ones(30))


REPRESENTATIVE = ancr.ANCRClassifier(space=Space("rbf", power=0.5))
RELATIVES = [
    *(getattr(ancr, name)(space=Space("rbf", power=0.5)) for name in ancr.__all__ if name.endswith("Classifier")),
    ancr.ANCRClassifier(space="rbf", relaxation=0.1),
]
PAIRWISE = ancr.ANCRClassifier(space="precomputed")


def expected_failures(estimator):
    """Checks that pass samples to an estimator that takes inner products, and one that repeats samples."""
    if estimator is PAIRWISE:
        checks = ("decision_proba_consistency", "classifiers_one_label_sample_weights", "class_weight_classifiers")
        return without_dispatch() | {f"check_{name}": "it passes no square matrix" for name in checks}
    # Weights do not change the width that gamma="scale" takes from the samples, copies do.
    width = dict.fromkeys(WEIGHT_CHECKS, "copies change the width of the kernel")
    return without_dispatch() | width


@pytest.mark.filterwarnings("ignore:.*is not positive semi-definite")  # matrices that the checks change
@parametrize_with_checks([REPRESENTATIVE, PAIRWISE], expected_failed_checks=expected_failures)
def test_sklearn_compatible(estimator, check):
    check(estimator)


@pytest.mark.all
@parametrize_with_checks(
    [each for each in RELATIVES if repr(each) != repr(REPRESENTATIVE)], expected_failed_checks=expected_failures
)
def test_relatives_are_sklearn_compatible(estimator, check):
    check(estimator)


def test_every_problem_of_the_linear_space_can_be_solved_in_a_kernel():
    plain, kernel = Dictionary.build(np.eye(4), [0, 0, 1, 1]), dictionary_of(RBF(1.0), np.eye(4), [0, 0, 1, 1])
    for quadratic, constraint, relaxation in product(QUADRATICS, SETS, (None, 0.5)):
        settings = {"alpha": ALPHA, "beta": BETA, "relaxation": relaxation}
        one, other = (Problem.of(each, quadratic, constraint, **settings) for each in (plain, kernel))
        for solver in ("exact", "closed_form", "admm"):
            assert accepts(solver, one) == accepts(solver, other)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.filterwarnings("error")
def test_an_rbf_kernel_that_overflows_is_zero_without_a_warning(dtype):
    far = np.array([[0.0, 1.0], [1.0, 0.0]], dtype) * dtype(1e37)
    np.testing.assert_array_equal(RBF(1.0)(far, far), np.eye(2))
    np.testing.assert_array_equal(RBF(1e308)(far, far), np.eye(2))
