"""Weights of samples: an atom of weight w pays λ/w. Against quadprog and plain linear algebra with a diagonal."""

import warnings

import numpy as np
import pytest
import quadprog
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import orthogonal_mp

import ancr
from ancr._core.arrays import to_numpy
from ancr.axes.problem import Problem
from ancr.axes.spaces import Space, named_space
from ancr.dictionary.coordinates import Dictionary
from ancr.solvers import make_solver
from ancr.solvers.leave_one_out import LeaveOneOut
from tests.array_libraries import converter

SETS = ["free", "affine", "nonnegative", "simplex"]
KERNELS = [{}, {"space": Space("rbf", gamma=0.5)}]


def class_mask(labels):
    return (labels[:, None] == labels).astype(float)


def reference(gram, cross, prices, constraint, relaxation=None):
    """(objective less ‖y‖², c) of min cᵀ(K + diag)c − 2kᵀc over the set, as one programme in (c, z) if relaxed."""
    n = len(gram)
    if relaxation is None:
        hessian, linear, at = gram + np.diag(prices), cross, np.eye(n)
    else:
        half = relaxation / 2.0
        both = np.block([[gram + np.diag(prices + half), -half * np.eye(n)], [-half * np.eye(n), half * np.eye(n)]])
        hessian, linear, at = both + 1e-14 * np.eye(2 * n), np.concatenate([cross, np.zeros(n)]), np.eye(2 * n)[n:]
    sums = [at.sum(axis=0)[:, None]] if constraint in ("affine", "simplex") else []
    bounds = [at.T] if constraint in ("nonnegative", "simplex") else []
    if not sums and not bounds:
        code = np.linalg.solve(hessian, linear)
    else:
        sides = np.concatenate([np.ones(len(sums)), np.zeros(n if bounds else 0)])
        code = quadprog.solve_qp(hessian, linear, np.hstack([*sums, *bounds]), sides, meq=len(sums))[0]
    return code @ hessian @ code - 2.0 * linear @ code, code[:n]


def a_problem(seed=0, n=24, d=15, offset=0.0, dtype=float):
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(n, d)) + offset, np.repeat(np.arange(4), n // 4)
    weights = random.choice([0.2, 0.5, 1.0, 2.0, 5.0], size=n)
    return X.astype(dtype), random.permutation(y), random.normal(size=(6, d)).astype(dtype) + offset, weights


def products(X, Q, space):
    """Gram matrix and cross products, written out."""
    unit, queries = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (X, Q))
    if not space:
        return unit @ unit.T, queries @ unit.T
    apart = ((unit[:, None] - unit) ** 2).sum(axis=2), ((queries[:, None] - unit) ** 2).sum(axis=2)
    return tuple(np.exp(-space["space"].gamma * squares) for squares in apart)


@pytest.mark.parametrize("space", KERNELS, ids=["linear", "rbf"])
@pytest.mark.parametrize("shape", [(24, 15), (16, 40)], ids=["more samples", "more features"])
@pytest.mark.parametrize("alpha", [1e-3, 0.3])
@pytest.mark.parametrize("constraint", SETS)
def test_the_optimum_of_a_programme_with_its_own_diagonal(constraint, alpha, shape, space):
    X, y, Q, weights = a_problem(1, *shape)
    clf = ancr.RepresentationClassifier(constraint=constraint, alpha=alpha, **space).fit(X, y, sample_weight=weights)
    gram, cross = products(X, Q, space)
    for row, code in enumerate(np.asarray(_dense(clf.codes(Q)))):
        best, expected = reference(gram, cross[row], alpha / weights, constraint)
        value = code @ (gram + np.diag(alpha / weights)) @ code - 2.0 * cross[row] @ code
        assert value <= best + 1e-10
        np.testing.assert_allclose(code, expected, atol=1e-6)
    assert _solution(clf, Q).verify().all()


@pytest.mark.parametrize("space", KERNELS, ids=["linear", "rbf"])
@pytest.mark.parametrize("shape", [(24, 15), (16, 40)], ids=["more samples", "more features"])
@pytest.mark.parametrize("constraint", ["nonnegative", "simplex"])
def test_relaxed(constraint, shape, space):
    X, y, Q, weights = a_problem(2, *shape)
    clf = ancr.RepresentationClassifier(constraint=constraint, alpha=0.1, relaxation=0.7, **space)
    clf.fit(X, y, sample_weight=weights)
    gram, cross = products(X, Q, space)
    expected = [reference(gram, one, 0.1 / weights, constraint, 0.7)[1] for one in cross]
    np.testing.assert_allclose(clf.codes(Q), expected, atol=1e-6)
    assert (_solution(clf, Q).gap < 1e-8).all()


@pytest.mark.parametrize("solver", ["admm"])
@pytest.mark.parametrize("constraint", ["nonnegative", "simplex"])
def test_admm_finds_the_same(solver, constraint):
    X, y, Q, weights = a_problem(3)
    one = ancr.RepresentationClassifier(constraint=constraint, alpha=0.1)
    other = clone(one).set_params(solver=solver, solver__tol=1e-9, solver__max_iter=100_000)
    codes = [_dense(clf.fit(X, y, sample_weight=weights).codes(Q)) for clf in (one, other)]
    np.testing.assert_allclose(*codes, atol=1e-6)


@pytest.mark.parametrize("quadratic", ["subspace", "probabilistic", "competitive"])
@pytest.mark.parametrize("constraint", SETS)
def test_class_terms(quadratic, constraint):
    X, y, Q, weights = a_problem(4)
    clf = ancr.RepresentationClassifier(quadratic=quadratic, constraint=constraint, alpha=0.1, beta=0.2)
    clf.fit(X, y, sample_weight=weights)
    gram, cross = products(X, Q, {})
    blocks = gram * class_mask(y)
    hessian, target = {
        "subspace": (blocks, 1.0),
        "probabilistic": ((0.2 * 2 + 1.0) * gram + 0.2 * blocks, 1.0),
        "competitive": (gram + 0.2 * blocks, 1.2),
    }[quadratic]
    for code, linear in zip(_dense(clf.codes(Q)), cross, strict=True):
        _, expected = reference(hessian, target * linear, 0.1 / weights, constraint)
        np.testing.assert_allclose(code, expected, atol=1e-6)
    assert _solution(clf, Q).verify().all()


@pytest.mark.parametrize("constraint", ["affine", "simplex"])
def test_an_offset_costs_no_digits(constraint):
    X, y, Q, weights = a_problem(5, offset=1e4)
    clf = ancr.RepresentationClassifier(constraint=constraint, alpha=0.1, space=Space(normalize=False))
    far = clf.fit(X, y, sample_weight=weights).codes(Q)
    near = clf.fit(X - 1e4, y, sample_weight=weights).codes(Q - 1e4)
    np.testing.assert_allclose(_dense(far), _dense(near), atol=1e-7)


def test_single_precision_and_without_the_matrix():
    X, y, Q, weights = a_problem(6, 200, 30)
    exact = ancr.ANCRClassifier(alpha=0.1).fit(X, y, sample_weight=weights).codes(Q).toarray()
    single = ancr.ANCRClassifier(alpha=0.1).fit(X.astype(np.float32), y, sample_weight=weights)
    np.testing.assert_allclose(single.codes(Q.astype(np.float32)).toarray(), exact, atol=1e-4)
    space = Space().prepare(X)
    problem = Problem.of(space.dictionary(X, y, weights=weights), "ridge", "simplex", alpha=0.1)
    from ancr.solvers import HostWorkingSet

    without = HostWorkingSet(gram_budget=0).prepare(problem).solve(space.rows(Q))
    assert without.verify().all()
    np.testing.assert_allclose(without.codes.toarray(), exact, atol=1e-7)


CLASSIFIERS = [getattr(ancr, name) for name in ancr.__all__ if name.endswith("Classifier")]


@pytest.mark.parametrize("Classifier", CLASSIFIERS, ids=lambda kind: kind.__name__)
def test_weight_zero_is_leaving_the_sample_out(Classifier):
    X, y, Q, weights = a_problem(7, 40, 12)
    clf = Classifier() if Classifier is not ancr.SACRCClassifier else Classifier(n_nonzero=5)
    weights = np.where(np.random.default_rng(0).uniform(size=40) < 0.3, 0.0, weights)
    kept = weights > 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # without a ridge weights do nothing more
        one, other = clone(clf).fit(X, y, sample_weight=weights), clone(clf).fit(X[kept], y[kept], weights[kept])
    np.testing.assert_allclose(one.residuals(Q), other.residuals(Q), rtol=1e-10, atol=1e-10)
    codes = _dense(one.codes(Q))
    assert codes.shape == (len(Q), 40)
    assert not codes[:, ~kept].any()
    np.testing.assert_allclose(codes[:, kept], _dense(other.codes(Q)), atol=1e-10)
    explained = one.explain(Q, top=3)
    assert all(kept[explanation.indices].all() for explanation in explained)
    for explanation in explained:
        np.testing.assert_array_equal(y[explanation.indices], explanation.labels)


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_weight_zero_in_a_kernel(kernel):
    X, y, Q, weights = a_problem(8, 40, 12)
    weights[::3] = 0.0
    kept = np.flatnonzero(weights)
    space = {"space": kernel}
    given, queries = (X @ X.T, Q @ X.T) if kernel == "precomputed" else (X, Q)
    part = (given[np.ix_(kept, kept)], queries[:, kept]) if kernel == "precomputed" else (X[kept], Q)
    for settings in ({"alpha": 0.1}, {"alpha": 0.1, "relaxation": 0.5}):
        one = ancr.ANCRClassifier(**space, **settings).fit(given, y, sample_weight=weights)
        other = ancr.ANCRClassifier(**space, **settings).fit(part[0], y[kept], sample_weight=weights[kept])
        np.testing.assert_allclose(_dense(one.codes(queries))[:, kept], _dense(other.codes(part[1])), atol=1e-10)


def test_equal_weights_scale_the_ridge_and_ones_change_nothing():
    X, y, Q, _ = a_problem(9)
    plain = ancr.ANCRClassifier(alpha=0.1).fit(X, y).codes(Q).toarray()
    ones = ancr.ANCRClassifier(alpha=0.1).fit(X, y, sample_weight=np.ones(24)).codes(Q).toarray()
    np.testing.assert_array_equal(ones, plain)
    fives = ancr.ANCRClassifier(alpha=0.5).fit(X, y, sample_weight=np.full(24, 5.0)).codes(Q).toarray()
    np.testing.assert_allclose(fives, plain, atol=1e-12)


@pytest.mark.parametrize("relaxation", [None, 0.5])
@pytest.mark.parametrize("constraint", SETS)
@pytest.mark.parametrize("space", KERNELS, ids=["linear", "rbf"])
def test_leave_one_out_is_a_refit_without_the_sample(constraint, relaxation, space):
    if relaxation and constraint in ("free", "affine"):
        pytest.skip("relaxation applies to sets with inequalities")
    X, y, _, weights = a_problem(10)
    settings = {"alpha": 0.1, "constraint": constraint, "relaxation": relaxation, **space}
    prepared = named_space(space.get("space", "linear")).prepare(X)
    dictionary = prepared.dictionary(X, y, weights=weights)
    problem = Problem.of(dictionary, "ridge", constraint, alpha=0.1, relaxation=relaxation)
    parts = LeaveOneOut(dictionary, tol=1e-10).map(problem, lambda rows, c, z: _dense(c))
    found = dictionary.in_given_order(np.concatenate(parts))
    for place, sample in enumerate(dictionary.order[:8]):
        others = np.delete(np.arange(24), sample)
        clf = ancr.RepresentationClassifier(**settings).fit(X[others], y[others], sample_weight=weights[others])
        np.testing.assert_allclose(found[place, others], _dense(clf.codes(X[[sample]]))[0], atol=1e-6)


def test_partial_fit_is_fit_on_all():
    X, y, Q, weights = a_problem(11, 40, 12)
    weights[[3, 30]] = 0.0
    grown = ancr.ANCRClassifier(alpha=0.1).partial_fit(X[:20], y[:20], sample_weight=weights[:20])
    grown.predict(Q)
    grown.partial_fit(X[20:], y[20:], sample_weight=weights[20:])
    whole = ancr.ANCRClassifier(alpha=0.1).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(grown.codes(Q).toarray(), whole.codes(Q).toarray(), atol=1e-10)


def test_cross_validation_takes_weights():
    X, y = load_digits(return_X_y=True)
    X, y, Q = X[:300], y[:300], X[300:400]
    weights = np.where(np.arange(300) % 3 == 0, 0.0, 1.0)
    grid = {"spaces": ["linear"], "alphas": [1e-2, 1e-1], "relaxations": [1.0]}
    kept = weights > 0
    one = ancr.ANCRClassifierCV(**grid).fit(X, y, sample_weight=weights)
    other = ancr.ANCRClassifierCV(**grid).fit(X[kept], y[kept])
    assert one.best_score_ == other.best_score_
    np.testing.assert_allclose(one.residuals(Q), other.residuals(Q), rtol=1e-10)
    uneven = ancr.ANCRClassifierCV(**grid, cv=3).fit(X, y, sample_weight=weights + 0.5)
    assert uneven.best_score_ > 0.8


@pytest.mark.parametrize("space", KERNELS, ids=["linear", "rbf"])
@pytest.mark.parametrize("constraint", ["free", "nonnegative"])
def test_absolute_prices(constraint, space):
    X, y, Q, weights = a_problem(14)
    clf = ancr.RepresentationClassifier(quadratic="l1", constraint=constraint, alpha=0.2, rule="res", **space)
    clf.fit(X, y, sample_weight=weights)
    gram, cross = products(X, Q, space)
    for code, one in zip(_dense(clf.codes(Q)), cross, strict=True):
        # The conditions of optimality: no atom pulls harder than half its price, those in use exactly as hard.
        pull = (one - gram @ code) * weights / 0.1
        assert (pull if constraint == "nonnegative" else np.abs(pull)).max() < 1.0 + 1e-9
        np.testing.assert_allclose(pull[code != 0.0], np.sign(code[code != 0.0]), atol=1e-9)
    assert _solution(clf, Q).verify().all()
    dictionary = clf.dictionary_
    problem = clf.solver_.problem
    parts = LeaveOneOut(dictionary, tol=1e-10).map(problem, lambda rows, c, z: _dense(c))
    found = dictionary.in_given_order(np.concatenate(parts))
    for place, sample in enumerate(dictionary.order[:5]):
        others = np.delete(np.arange(24), sample)
        refit = clone(clf).fit(X[others], y[others], sample_weight=weights[others])
        np.testing.assert_allclose(found[place, others], _dense(refit.codes(X[[sample]]))[0], atol=1e-6)


@pytest.mark.parametrize("space", KERNELS, ids=["linear", "rbf"])
@pytest.mark.parametrize("constraint", ["free", "nonnegative"])
def test_absolute_prices_are_certified_where_the_atoms_are(constraint, space):
    """array-api-strict refuses NumPy operands as a GPU does; PyTorch on the CPU accepts them."""
    move = converter("array_api_strict")
    X, y, Q, weights = a_problem(14)
    clf = ancr.RepresentationClassifier(quadratic="l1", constraint=constraint, alpha=0.2, rule="res", **space)
    here = _solution(clf.fit(X, y, sample_weight=weights), Q)
    there = _solution(clf.fit(move(X), y, sample_weight=weights), move(Q))
    np.testing.assert_allclose(to_numpy(there.objective), here.objective, rtol=1e-9)
    assert to_numpy(there.verify()).all()


def test_absolute_prices_of_the_interior_point():
    X, y, Q, weights = a_problem(15)
    exact = ancr.SRCClassifier(alpha=0.2).fit(X, y, sample_weight=weights).codes(Q)
    inside = ancr.SRCClassifier(alpha=0.2, solver="interior_point", tol=1e-5).fit(X, y, sample_weight=weights).codes(Q)
    np.testing.assert_allclose(_dense(inside), _dense(exact), atol=1e-3)


def test_balanced_classes():
    X, y = load_digits(return_X_y=True)
    kept = np.flatnonzero((y == 8) | ((y == 1) & (np.arange(len(y)) % 20 == 0)))
    train, test = kept[::2], np.flatnonzero((y == 1) | (y == 8))
    test = np.setdiff1d(test, kept)
    plain = ancr.CRCClassifier(alpha=1.0).fit(X[train], y[train])
    balanced = ancr.CRCClassifier(alpha=1.0, class_weight="balanced").fit(X[train], y[train])
    counts = np.array([(y[train] == label).sum() for label in (1, 8)])
    np.testing.assert_allclose(sorted(set(balanced.dictionary_.weights)), sorted(len(train) / (2 * counts)), rtol=1e-12)
    assert balanced.score(X[test], y[test]) >= plain.score(X[test], y[test])


@pytest.mark.parametrize(
    ("weights", "match"),
    [
        (-np.ones(24), "sample_weight"),
        (np.zeros(24), "non-zero|above 0"),
        (np.ones(23), "sample_weight"),
        (np.full(24, np.nan), "sample_weight"),
        (np.repeat([1.0, 0.0], [1, 23]), r"two classes, got one class: 3$"),
        (["a"] * 24, "sample_weight: could not convert string to float: 'a'"),
        (np.geomspace(1e-150, 1e150, 24), r"sample_weight: weights must be 0 or between 1e-50 and 1e\+50, got 1e-150"),
        (np.full(24, 5e-324), "sample_weight: weights must be 0 or between"),
    ],
    ids=["negative", "zero", "too short", "nan", "one class left", "text", "wide", "subnormal"],
)
def test_bad_weights_are_refused(weights, match):
    X, y, _, _ = a_problem(12)
    with pytest.raises(ValueError, match=match):
        ancr.ANCRClassifier().fit(X, y, sample_weight=weights)


@pytest.mark.parametrize(
    ("class_weight", "match"),
    [
        ({0: -1}, "class_weight: the weight of class 0 must be finite and ≥ 0, got -1$"),
        ({np.int64(1): np.nan}, "class_weight: the weight of class 1 must be finite and ≥ 0, got nan$"),
        ({2: np.inf}, "class_weight: the weight of class 2 must be finite and ≥ 0, got inf$"),
        ({0: "a"}, "class_weight: the weight of class 0 must be finite and ≥ 0, got 'a'$"),
        ({0: 1e-80}, "class_weight: weights must be 0 or between"),
        (dict.fromkeys(range(4), 0), "class_weight must be above 0 for samples of at least two classes, all are 0$"),
        ({0: 0, 1: 0, 2: 0}, "y must hold at least two classes, got one class: 3$"),
    ],
)
@pytest.mark.parametrize("searches", [False, True])
def test_bad_class_weights_are_refused(searches, class_weight, match):
    X, y = np.random.default_rng(0).normal(size=(24, 3)), np.arange(24) % 4
    clf = ancr.CRCClassifier(class_weight=class_weight)
    with pytest.raises(ValueError, match=match):
        (ancr.ANCRClassifierCV(clf) if searches else clf).fit(X, y)


def test_matching_pursuit_prefers_atoms_of_more_weight():
    X, y, Q, weights = a_problem(14)
    clf = ancr.SACRCClassifier(n_nonzero=4, alpha=0.1).fit(X, y, sample_weight=weights)
    ridge = ancr.CRCClassifier(alpha=0.1).fit(X, y, sample_weight=weights)
    atoms, queries = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (X, Q))
    sparse_part = clf.solver_.solve(queries).codes - ridge.solver_.solve(queries).codes
    # Matching pursuit compares correlations as they are: lengths that it is given decide the pick, as weights do.
    expected = orthogonal_mp(atoms.T * weights, queries.T, n_nonzero_coefs=4).T * weights
    np.testing.assert_allclose(sparse_part, expected, atol=1e-8)
    plain = orthogonal_mp(atoms.T, queries.T, n_nonzero_coefs=4).T
    assert np.abs(plain - expected).max() > 0.01


def test_matching_pursuit_on_arrays_of_any_library_picks_the_same():
    from ancr.solvers.matching_pursuit import matching_pursuit
    from ancr.solvers.sparse_kernels import add_matching_pursuit

    X, _, Q, weights = a_problem(15)
    codes = np.zeros((len(Q), len(X)))
    products = X @ X.T, Q @ X.T, weights, 5, 1e-10
    add_matching_pursuit(*products, codes)
    np.testing.assert_allclose(matching_pursuit(*products), codes, atol=1e-9)


def test_what_weights_cannot_do_is_said():
    X, y, _, weights = a_problem(13)
    with pytest.raises(ValueError, match="Σc = 1"):
        ancr.RepresentationClassifier(quadratic="l1", constraint="simplex").fit(X, y, sample_weight=weights)
    with pytest.warns(UserWarning, match="sample_weight has no effect when alpha=0"):
        ancr.NRCClassifier().fit(X, y, sample_weight=weights)


def test_a_dictionary_sorts_weights_with_its_atoms():
    dictionary = Dictionary.build(np.eye(4), ["b", "a", "b", "a"], weights=np.array([1.0, 2.0, 0.0, 4.0]))
    assert dictionary.order.tolist() == [1, 3, 0]
    assert dictionary.weights.tolist() == [2.0, 4.0, 1.0]
    assert dictionary.n_samples == 4


def _dense(codes):
    return codes.toarray() if hasattr(codes, "toarray") else codes


def _solution(clf, Q):
    problem = clf.solver_.problem
    rows = clf.space_.to_rows(Q) if clf.space_.to_rows else Q
    return make_solver("exact", problem).solve(rows)


@pytest.mark.parametrize("rule", ["res", "label"])
@pytest.mark.parametrize("classifier", [ancr.ANCRClassifier, ancr.ACRClassifier])
def test_weight_two_is_two_copies_where_nothing_fixes_an_origin(classifier, rule):
    X, y, queries, _ = a_problem(seed=3, n=40, d=5, offset=3.0)
    weights = np.random.default_rng(0).integers(1, 4, len(X))
    clf = classifier(alpha=0.1, rule=rule, space=Space(normalize=False))
    weighted = clone(clf).fit(X, y, sample_weight=weights.astype(float))
    copied = clone(clf).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.class_decisions(queries), copied.class_decisions(queries), rtol=1e-6, atol=1e-8)
