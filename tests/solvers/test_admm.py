"""Algorithm 1: the same iterates as a transcription, and the same limit as the exact solver."""

from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from ancr import project_simplex, solve
from ancr.solvers import ADMM


def algorithm_1(atoms, query, alpha, rho, iterations, constraint):
    """The paper's pseudo-code, one query at a time."""
    X, n = atoms.T, len(atoms)
    z, delta = np.zeros(n), np.zeros(n)
    inverse = np.linalg.inv(X.T @ X + (rho + 2 * alpha) / 2 * np.eye(n))
    for _ in range(iterations):
        c = inverse @ (X.T @ query + (rho * z + delta) / 2)
        z = project_simplex(c - delta / rho) if constraint == "simplex" else np.maximum(c - delta / rho, 0)
        delta = delta + rho * (z - c)
    return c, z


@pytest.mark.parametrize("constraint", ["simplex", "nonnegative"])
@pytest.mark.parametrize("code", ["c", "z"])
@pytest.mark.parametrize("iterations", [1, 2, 7])
def test_iterates_are_the_papers(problem, constraint, code, iterations):
    atoms, queries = problem
    settings = {"alpha": 1e-3, "constraint": constraint}
    condition = np.linalg.cond(atoms @ atoms.T + 0.026 * np.eye(len(atoms)))
    solution = solve(atoms, queries, solver=ADMM(rho=0.05, max_iter=iterations, code=code), **settings)
    codes = solution.codes.toarray() if code == "z" else solution.codes
    for query, found in zip(queries, codes, strict=True):
        c, z = algorithm_1(atoms, query, iterations=iterations, rho=0.05, **settings)
        np.testing.assert_allclose(found, c if code == "c" else z, atol=1e-13 * condition + 1e-10)
    assert (solution.n_iter == iterations).all()


@pytest.mark.parametrize("code", ["c", "z"])
@pytest.mark.parametrize("constraint", ["simplex", "nonnegative"])
@pytest.mark.parametrize(
    ("dtype", "scale"), [("d", 1e-90), ("d", 1e-3), ("d", 1e3), ("d", 1e80), ("f", 1e-12), ("f", 1e11)]
)
def test_iterates_at_any_scale(code, constraint, dtype, scale):
    # Multiplying atoms, queries, √ρ and √λ by the same number changes no code.
    rng = np.random.default_rng(5)
    atoms, queries = rng.standard_normal((300, 40)), rng.standard_normal((30, 40))
    queries[0], atoms[3:6], queries[1] = 0.0, atoms[2], atoms[2]
    solver = partial(ADMM, max_iter=6, code=code)
    plain = solve(atoms, queries, alpha=1e-3, constraint=constraint, solver=solver(rho=0.05))
    scaled = ((scale * rows).astype(dtype) for rows in (atoms, queries))
    found = solve(*scaled, alpha=1e-3 * scale**2, constraint=constraint, solver=solver(rho=0.05 * scale**2))
    assert abs(plain.codes - found.codes).max() < (1e-11 if dtype == "d" else 1e-4)


def test_a_query_too_short_for_its_reciprocal():
    rng = np.random.default_rng(9)
    atoms, query = np.abs(rng.standard_normal((1200, 30))), np.abs(rng.standard_normal((1, 30)))
    for options in ({"solver": ADMM(rho=0.1, max_iter=5)}, {"solver": "exact"}):
        codes = solve(atoms, 1e-310 * query, alpha=1e-2, **options).codes.toarray()
        np.testing.assert_allclose(codes.sum(), 1.0)
        np.testing.assert_allclose(codes, solve(atoms, 0.0 * query, alpha=1e-2, **options).codes.toarray(), atol=1e-10)


@pytest.mark.parametrize("constraint", ["simplex", "nonnegative"])
def test_limit_is_the_optimum(constraint):
    rng = np.random.default_rng(0)
    atoms, queries = np.abs(rng.standard_normal((60, 20))), np.abs(rng.standard_normal((40, 20)))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    limit = solve(atoms, queries, alpha=1e-2, constraint=constraint, solver=ADMM(rho=1.0, max_iter=20_000, tol=1e-10))
    assert limit.converged.all()
    exact = solve(atoms, queries, alpha=1e-2, constraint=constraint)
    np.testing.assert_allclose(limit.objective, exact.objective, rtol=1e-8)


def test_history_has_one_row_per_iteration_and_ends_at_the_objective():
    rng = np.random.default_rng(1)
    atoms, queries = rng.standard_normal((30, 8)), rng.standard_normal((600, 8))
    fixed = solve(atoms, queries, solver=ADMM(max_iter=6), history=True)
    assert fixed.history.shape == (6, 600)
    np.testing.assert_allclose(fixed.history[-1], fixed.objective)
    free = solve(atoms, queries, solver=ADMM(rho=1.0, max_iter=5000, tol=1e-6), history=True)
    assert len(free.history) == free.n_iter.max()
    np.testing.assert_allclose(free.history[-1], free.objective)


def test_a_tolerance_that_is_not_met_warns_and_a_fixed_count_does_not():
    rng = np.random.default_rng(2)
    atoms, queries = rng.standard_normal((30, 8)), rng.standard_normal((5, 8))
    with pytest.warns(ConvergenceWarning, match=r"max_iter=3 for \d of 5 queries"):
        solve(atoms, queries, solver=ADMM(max_iter=3, tol=1e-9))
    # Warnings are errors here. Without a tolerance no convergence is claimed, even after a great many iterations.
    assert not solve(atoms, queries, solver=ADMM(max_iter=3000)).converged.any()


def test_a_query_stops_independently_of_its_batch():
    rng = np.random.default_rng(3)
    atoms, queries = rng.standard_normal((50, 10)), rng.standard_normal((20, 10))
    options = {"solver": ADMM(rho=1.0, tol=1e-5, max_iter=5000, code="c")}
    together, alone = solve(atoms, queries, **options), solve(atoms, queries[7:8], **options)
    assert together.n_iter[7] == alone.n_iter[0]
    np.testing.assert_allclose(together.codes[7], alone.codes[0], atol=1e-10)


def test_single_precision_is_kept():
    rng = np.random.default_rng(4)
    atoms, queries = rng.standard_normal((30, 8)).astype("f"), rng.standard_normal((5, 8)).astype("f")
    for d in (8, 5):
        solution = solve(atoms[:, :d], queries[:, :d], solver=ADMM(max_iter=5, code="c"))
        assert solution.codes.dtype == np.float32
