"""Relaxed problems against a quadratic programme in (c, z), and at both ends of the family."""

import numpy as np
import pytest

from ancr import ANCRClassifier, NCRClassifier, NRCClassifier, solve
from ancr.features import Eigenfaces
from ancr.solvers import Relaxed
from ancr.solvers.whitening import spectrum, whitening
from tests.marks import rarely
from tests.oracle import best_relaxed, relaxed_objective

SETS = ["simplex", "nonnegative"]


def check(atoms, queries, alpha, relaxation, constraint):
    near = solve(atoms, queries, alpha=alpha, relaxation=relaxation, constraint=constraint)
    within = solve(atoms, queries, alpha=alpha, relaxation=relaxation, constraint=constraint, solver=Relaxed(code="z"))
    assert near.verify().all()
    np.testing.assert_allclose(near.members.toarray(), within.codes.toarray(), atol=1e-12)
    for row, query in enumerate(queries):
        c, z = near.codes[row], within.codes.toarray()[row]
        best, best_c, _ = best_relaxed(atoms, query, alpha, relaxation, constraint)
        reached = relaxed_objective(atoms, query, c, z, alpha, relaxation)
        size = max(1.0, np.sum(query**2))
        assert abs(reached - best) <= 1e-8 * size
        np.testing.assert_allclose(near.objective[row], reached, atol=1e-10 * size)
        if alpha:  # without a ridge c need not be unique
            np.testing.assert_allclose(c, best_c, atol=1e-8 * max(1.0, np.abs(best_c).max() / alpha))


@pytest.mark.parametrize("constraint", SETS)
@pytest.mark.parametrize("relaxation", [1e-3, 100.0, *rarely(0.1, 1.0)])
@pytest.mark.parametrize("alpha", [0.0, 1e-3, *rarely(0.1)])
def test_degenerate_problems(problem, alpha, relaxation, constraint):
    check(*problem, alpha, relaxation, constraint)


@pytest.mark.parametrize("constraint", SETS)
@pytest.mark.parametrize("seed", [*range(8), *rarely(*range(8, 25))])
def test_random_problems(seed, constraint):
    rng = np.random.default_rng(seed)
    n, d = rng.integers(2, 60, 2)
    atoms, queries = rng.standard_normal((n, d)), rng.standard_normal((3, d))
    alpha, relaxation = 10.0 ** rng.uniform(-4, 0), 10.0 ** rng.uniform(-2, 2)
    check(atoms, queries, alpha, relaxation, constraint)


@pytest.mark.parametrize("constraint", SETS)
def test_zero_price_gives_the_free_code_and_infinite_price_the_hard_constraint(problem, constraint):
    atoms, queries = problem
    free = solve(atoms, queries, alpha=0.1, constraint="free").codes
    hard = solve(atoms, queries, alpha=0.1, constraint=constraint).codes.toarray()
    size = max(1.0, np.abs(free).max(), (np.linalg.norm(atoms, axis=1) ** 2).max())
    cheap = solve(atoms, queries, alpha=0.1, relaxation=1e-9, constraint=constraint).codes
    np.testing.assert_allclose(cheap, free, atol=1e-7 * size)
    dear = solve(atoms, queries, alpha=0.1, relaxation=1e9, constraint=constraint)
    np.testing.assert_allclose(dear.codes, hard, atol=1e-6 * size)
    np.testing.assert_allclose(dear.members.toarray(), hard, atol=1e-6 * size)
    endless = solve(atoms, queries, alpha=0.1, relaxation=np.inf, constraint=constraint).codes.toarray()
    np.testing.assert_array_equal(endless, hard)


@pytest.mark.parametrize("shape", [(40, 12), (12, 40), (30, 30)])
@pytest.mark.parametrize("shift", [1e-12, 1e-3, 10.0])
def test_both_whitenings_give_the_same_geometry(shape, shift):
    rng = np.random.default_rng(0)
    from ancr.dictionary.coordinates import Dictionary

    dictionary = Dictionary.build(rng.standard_normal(shape), rng.integers(0, 3, shape[0]), normalize=False)
    queries = rng.standard_normal((5, shape[1]))
    one, other = whitening(dictionary, shift), spectrum(dictionary)(shift)
    for whitened in (one, other):
        points = whitened.dictionary.atoms
        if shift >= 1e-3:
            inverse = np.linalg.inv(dictionary.atoms.T @ dictionary.atoms + shift * np.eye(shape[1]))
            np.testing.assert_allclose(points @ points.T, dictionary.atoms @ inverse @ dictionary.atoms.T, atol=1e-10)
            np.testing.assert_allclose(whitened(queries) @ points.T, queries @ inverse @ dictionary.atoms.T, atol=1e-9)
    np.testing.assert_allclose(one.dictionary.gram, other.dictionary.gram, atol=1e-6)


@pytest.mark.parametrize("order", ["C", "F"])
def test_single_precision_is_kept_and_certified(order):
    rng = np.random.default_rng(3)
    atoms = np.asarray(rng.random((80, 20)), np.float32, order=order)
    queries = np.asarray(rng.random((10, 40)), np.float32)[:, ::2]
    solution = solve(atoms, queries, alpha=1e-2, relaxation=0.1)
    assert solution.codes.dtype == np.float32
    assert solution.verify().all()
    double = solve(atoms.astype(float), queries.astype(float), alpha=1e-2, relaxation=0.1)
    np.testing.assert_allclose(solution.codes, double.codes, atol=1e-3)


def test_many_blocks_of_queries_are_joined():
    rng = np.random.default_rng(3)
    atoms, queries = rng.random((50, 20)), rng.random((700, 20))
    solution = solve(atoms, queries, alpha=1e-2, relaxation=0.1)
    assert solution.codes.shape == (700, 50)
    assert solution.verify().all()
    assert solution.objective.shape == solution.gap.shape == (700,)
    assert solve(atoms, queries, relaxation=0.1, history=True).history.shape == (1, 700)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"constraint": "free"}, "relaxation applies to sets with inequalities"),
        ({"constraint": "affine"}, "leave relaxation=None"),
        ({"solver": "admm"}, r"it has no relaxation\. Use solver in \['exact'\]"),
        ({"quadratic": "probabilistic", "labels": [0, 1]}, "without class terms and without an ℓ1 term"),
        ({"relaxation": 0.0}, "relaxation"),
        ({"relaxation": -1.0}, "relaxation"),
    ],
)
def test_bad_combinations_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        solve(np.eye(2), np.eye(2), **{"relaxation": 1.0, **options})


@pytest.mark.parametrize("kind", [ANCRClassifier, NCRClassifier, NRCClassifier])
def test_classifiers_accept_a_relaxation(kind):
    rng = np.random.default_rng(0)
    X, y = rng.random((60, 8)), rng.integers(0, 3, 60)
    clf = kind(relaxation=0.5).fit(X, y)
    assert isinstance(clf.codes(X[:4]), np.ndarray)
    assert clf.set_params(code="z").fit(X, y).codes(X[:4]).min() >= 0
    assert len(clf.explain(X[:2], top=3)) == 2


def test_relaxed_accuracy_on_ar(ar):
    projected = Eigenfaces(300).fit(ar.data[ar.train_indices]).transform(ar.data)
    train, test, y = ar.train_indices, ar.test_indices, ar.target
    for dim, right in ((54, 601), (120, 639), (300, 655)):
        clf = ANCRClassifier(alpha=1e-3, relaxation=0.1, code="c").fit(projected[train, :dim], y[train])
        assert abs(np.sum(clf.predict(projected[test, :dim]) == y[test]) - right) <= 2
