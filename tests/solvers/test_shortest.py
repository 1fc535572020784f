"""The shortest optimal code: unique, so that the order of the training samples does not matter."""

import numpy as np
import pytest
from sklearn import datasets
from sklearn.preprocessing import StandardScaler

from ancr import NRCClassifier, solve
from ancr.solvers import ShortestCode


@pytest.mark.parametrize("name", ["wine", "breast_cancer", "digits"])
def test_labels_do_not_depend_on_the_order_of_the_samples(name):
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))[:500]
    half = len(rows) // 2
    train, queries, y = X[rows[:half]], X[rows[half:]], y[rows[:half]]
    scaler = StandardScaler().fit(train)
    train, queries = scaler.transform(train), scaler.transform(queries)
    one = NRCClassifier(solver=ShortestCode()).fit(train, y)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(half)
        other = NRCClassifier(solver=ShortestCode()).fit(train[order], y[order])
        np.testing.assert_array_equal(other.predict(queries), one.predict(queries))
        np.testing.assert_allclose(other.residuals(queries), one.residuals(queries), atol=1e-8)


@pytest.mark.parametrize("constraint", ["nonnegative", "simplex"])
def test_it_is_optimal_and_the_limit_of_a_ridge(constraint):
    rng = np.random.default_rng(0)
    atoms, queries = rng.standard_normal((60, 5)), 0.3 * rng.standard_normal((8, 5))
    problem = {"constraint": constraint, "quadratic": "least_squares"}
    found, sparse = solve(atoms, queries, solver=ShortestCode(), **problem), solve(atoms, queries, **problem)
    assert found.verify().all()
    near = solve(atoms, queries, constraint=constraint, alpha=1e-7).codes.toarray()
    np.testing.assert_allclose(found.codes.toarray(), near, atol=1e-5)
    assert (np.sum(found.codes.toarray() ** 2, axis=1) < 0.9 * np.sum(sparse.codes.toarray() ** 2, axis=1)).all()


def test_copies_share_the_weight_of_one_and_unique_codes_stay():
    rng = np.random.default_rng(1)
    atoms, queries = np.abs(rng.standard_normal((6, 20))), np.abs(rng.standard_normal((5, 20)))
    problem = {"constraint": "nonnegative", "quadratic": "least_squares"}
    once = solve(atoms, queries, **problem).codes.toarray()
    np.testing.assert_array_equal(solve(atoms, queries, solver=ShortestCode(), **problem).codes.toarray(), once)
    twice = solve(np.vstack([atoms, atoms]), queries, solver=ShortestCode(), **problem).codes.toarray()
    np.testing.assert_allclose(twice, np.hstack([once, once]) / 2.0, atol=1e-9)


def test_a_ridge_needs_no_choice():
    with pytest.raises(ValueError, match="least squares without a ridge"):
        solve(np.eye(3), np.eye(3), solver=ShortestCode())
