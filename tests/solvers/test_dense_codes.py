"""Codes that use many atoms, from the whole set and from a support that has outgrown the kernels."""

import numpy as np
import pytest

from ancr import ACRClassifier, ANCRClassifier, Space, prepare, solve
from ancr.axes.problem import Problem
from ancr.axes.quadratics import Quadratic
from ancr.dictionary.coordinates import Dictionary
from ancr.solvers.leave_one_out import LeaveOneOut
from ancr.solvers.working_set import dense_codes, host
from tests.oracle import best_objective, objective


def narrow_cone(n, d, seed=0, size=100.0):
    """Atoms of unit length in a narrow cone, and queries like them."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n + 6, d)) + size
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows[:n], rows[n:]


@pytest.mark.parametrize("constraint", ["simplex", "nonnegative"])
@pytest.mark.parametrize(
    ("n", "d", "alpha", "least", "most"),
    [(60, 5, 1.0, 60, 60), (60, 5, 1e-3, 20, 59), (40, 50, 1e-1, 40, 40), (40, 50, 3e-4, 15, 39)],
)
def test_dense_codes_are_optimal(n, d, alpha, least, most, constraint):
    atoms, queries = narrow_cone(n, d)
    solution = solve(atoms, queries, alpha=alpha, constraint=constraint)
    used = np.count_nonzero(solution.codes.toarray() > 0.0, axis=1)
    assert used.min() >= least
    assert used.max() <= most
    assert solution.verify().all()
    for query, code in zip(queries, solution.codes.toarray(), strict=True):
        best = best_objective(atoms, query, alpha, constraint)
        assert objective(atoms, query, code, alpha) <= best * (1.0 + 1e-9)


@pytest.mark.parametrize("space", ["linear", "rbf"])
@pytest.mark.parametrize("quadratic", ["ridge", "competitive", "l1"])
def test_a_support_that_outgrows_the_kernels_goes_on_as_a_dense_code(monkeypatch, space, quadratic):
    rng = np.random.default_rng(1)
    atoms, queries = rng.random((300, 8)), rng.random((5, 8))
    labels = np.arange(300) % 3
    options = {"quadratic": with_ridge(quadratic), "labels": labels, "constraint": "nonnegative", "space": space}
    kernels = solve(atoms, queries, **options)
    calls = []
    solve_dense = host.Run._solve_dense
    monkeypatch.setattr(host, "FIRST_CAPACITY", 4)
    monkeypatch.setattr(host, "LARGEST_SUPPORT", 4)
    monkeypatch.setattr(
        host.Run, "_solve_dense", lambda self, *given: calls.append(solve_dense(self, *given)) or calls[-1]
    )
    dense = solve(atoms, queries, **options)
    assert calls
    assert np.concatenate(calls).all()
    assert dense.verify().all()
    np.testing.assert_allclose(dense.codes.toarray(), kernels.codes.toarray(), atol=1e-7)


def with_ridge(name):
    """A quadratic of the family with a ridge that makes codes of about fifty atoms."""
    weights = {"ridge": {}, "competitive": {"blocks": 0.1, "target": 1.1}, "l1": {"absolute": 0.1}}[name]
    return lambda alpha, beta, n_classes: Quadratic(ridge=0.3, **weights)


def test_a_strong_ridge_needs_no_matrix_of_all_atoms():
    atoms, queries = narrow_cone(500, 6)
    labels = np.arange(500) % 3
    strong, affine = ANCRClassifier(alpha=1.0).fit(atoms, labels), ACRClassifier(alpha=1.0).fit(atoms, labels)
    np.testing.assert_array_equal(strong.predict(queries), affine.predict(queries))
    np.testing.assert_allclose(strong.codes(queries).toarray(), affine.codes(queries), atol=1e-12)
    assert "gram" not in strong.dictionary_.centred.held


@pytest.mark.parametrize("definite", [True, False])
@pytest.mark.parametrize("number", [3, 60])
def test_codes_of_few_and_of_many_queries_without_coordinates(monkeypatch, number, definite):
    """Few take a factor of H, many its inverse, and both something else where rounding leaves H no factor."""
    rng = np.random.default_rng(2)
    atoms, queries = rng.normal(size=(80, 3)) + 5.0, rng.normal(size=(number, 3)) + 5.0
    whole = solve(atoms, queries, alpha=300.0)
    assert whole.codes.nnz > 0.9 * number * 80
    if not definite:
        monkeypatch.setattr(dense_codes, "cholesky", _indefinite)
    gram = solve(atoms, queries, alpha=300.0, space=Space("poly", degree=1, gamma=1.0, coef0=0.0, normalize=False))
    assert gram.verify().all()
    np.testing.assert_allclose(gram.codes.toarray(), whole.codes.toarray(), rtol=1e-9, atol=1e-12)


def _indefinite(*given, **options):
    raise np.linalg.LinAlgError


def test_leaving_one_out_of_dense_codes_equals_a_refit():
    atoms, _ = narrow_cone(40, 4, size=20.0)
    labels = np.arange(40) % 2
    dictionary = Dictionary.build(atoms, labels)
    problem = Problem.of(dictionary, "ridge", "simplex", alpha=0.05)
    codes = np.vstack([c.toarray() for c in LeaveOneOut(dictionary).map(problem, lambda rows, c, z: c)])
    for i in range(40):
        others = np.delete(np.arange(40), i)
        alone = solve(dictionary.atoms[others], dictionary.atoms[i : i + 1], alpha=0.05)
        np.testing.assert_allclose(codes[i, others], alone.codes.toarray()[0], atol=1e-9)
        assert codes[i, i] == 0.0
    assert np.count_nonzero(codes) > 40 * 20


def test_copies_and_single_precision_of_dense_codes():
    atoms, queries = narrow_cone(80, 5)
    atoms = np.concatenate([atoms, atoms[:20]])
    single = solve(atoms.astype(np.float32), queries.astype(np.float32), alpha=1.0)
    double = solve(atoms, queries, alpha=1.0)
    assert single.codes.dtype == np.float32
    assert single.verify().all()
    assert double.verify().all()
    np.testing.assert_allclose(single.codes.toarray(), double.codes.toarray(), atol=1e-6)


def test_a_strong_ridge_with_codes_of_few_atoms_is_left_to_the_working_set(monkeypatch):
    """Newton steps from the whole set would take n³ for each query that uses a few atoms. H is not inverted, either."""
    rng = np.random.default_rng(0)
    samples, queries = rng.normal(size=(400, 20)), rng.normal(size=(60, 20))
    tried = []
    newton = dense_codes.DenseCodes._newton
    monkeypatch.setattr(dense_codes.DenseCodes, "_newton", lambda self, *given: tried.append(1) or newton(self, *given))
    monkeypatch.setattr(dense_codes, "inverse_of_factor", lambda factor: tried.append(2))
    coder = prepare(samples, alpha=0.1, relaxation=0.1, space=Space("rbf", gamma=0.1))
    assert coder.solver._exact.starts_whole
    solution = coder.solve(queries)
    assert not tried
    assert solution.verify().all()
    assert (solution.toarray() > 1e-9).mean() < 0.5
