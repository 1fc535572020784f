"""Codes of many queries over few atoms are found by pivoting: the same codes, as good as quadprog's."""

import numpy as np
import pytest

from ancr import solve
from ancr.solvers.working_set import host, host_kernels, pivoting
from tests.solvers.test_terms import best


def drawn(seed):
    """Few atoms, and queries that use few or most of them; every third problem is degenerate."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 15)), int(rng.integers(2, 25))
    atoms = rng.normal(size=(n, d)) + 2.0
    if seed % 3 == 0:  # equal atoms, and one of no length
        atoms[n // 2 :] = atoms[: n - n // 2]
        atoms[-1] = 0.0
    queries = rng.dirichlet(np.full(n, rng.choice([0.1, 3.0])), size=300) @ atoms
    queries += rng.choice([0.1, 3.0]) * rng.normal(size=(300, d))
    return atoms, queries, rng


@pytest.mark.parametrize("constraint", ["nonnegative", "simplex"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("seed", range(6))
def test_codes_are_optimal(constraint, dtype, seed):
    atoms, queries, rng = drawn(seed)
    atoms, queries = atoms.astype(dtype), queries.astype(dtype)
    mask = rng.random((300, len(atoms))) < 0.2 * (seed % 2)
    mask[:, 0] = False
    alpha = (0.0, 1e-2)[seed // 2 % 2]
    solution = solve(atoms, queries, alpha=alpha, constraint=constraint, exclude=mask if seed % 2 else None)
    assert dtype == np.float32 or solution.verify().all()
    atoms, queries, codes = map(np.float64, (atoms, queries, solution.toarray()))
    assert not codes[mask].any()
    hessian = atoms @ atoms.T + alpha * np.eye(len(atoms))

    def objective(query, code):
        return ((query - code @ atoms) ** 2).sum() + alpha * (code**2).sum()

    for i in range(0, 300, 15):
        optimum = objective(queries[i], best(hessian, atoms @ queries[i], constraint, ~mask[i]))
        slack = (1e-9 if dtype == np.float64 else 2e-5) * (queries[i] ** 2).sum()
        assert objective(queries[i], codes[i]) <= optimum + slack


@pytest.mark.parametrize("constraint", ["nonnegative", "simplex"])
def test_they_are_the_codes_of_the_other_kernels(constraint, monkeypatch):
    monkeypatch.setenv("ANCR_NUM_THREADS", "1")  # one block
    atoms, queries, _ = drawn(1)
    pivoted = solve(atoms, queries, constraint=constraint)
    monkeypatch.setattr(host, "FEW_ATOMS", 0)
    others = solve(atoms, queries, constraint=constraint)
    np.testing.assert_allclose(pivoted.toarray(), others.toarray(), atol=1e-9)
    assert pivoted.n_iter.sum() < others.n_iter.sum()


def test_what_has_a_code_already_is_left_alone():
    """Queries that begin with a support go to the other kernels, and dense codes stay."""
    atoms, queries, _ = drawn(4)
    cold = solve(atoms, queries, alpha=0.1)
    start = cold.toarray()
    start[::2] = 0.0
    np.testing.assert_allclose(solve(atoms, queries, alpha=0.1, start=start).toarray(), cold.toarray(), atol=1e-9)
    strong = solve(atoms, queries, alpha=300.0)
    assert strong.verify().all()
    np.testing.assert_allclose(strong.toarray()[:100], solve(atoms, queries[:100], alpha=300.0).toarray(), atol=1e-9)


def test_codes_are_settled_without_any_other_kernel():
    """Independent atoms: what pivoting finds and refines passes the allowance of the kernels."""
    atoms, queries, _ = drawn(4)
    problem = solve(atoms, queries[:1], alpha=0.1).problem
    solver = host.HostWorkingSet().prepare(problem)
    codes = host_kernels.Codes(np.zeros((300, len(atoms)), np.int64), np.zeros((300, len(atoms))), np.zeros((300, 4)))
    form = solver.form.dictionary
    moved = queries_of(solver, queries)
    linear, some = solver.form.quadratic.linear(moved), np.arange(2, 300)
    left = pivoting.find_codes(solver.program, linear, moved.squares, some, codes)
    assert not len(left)
    assert (codes.found[2:, 1] == host_kernels.FINISHED).all()
    assert not codes.found[:2].any()  # only those asked for
    sizes = codes.found[:, 0].astype(int)
    assert (sizes[2:] > 0).all()
    expected = solve(atoms, queries, alpha=0.1).toarray()[:, form.order]
    for i in range(2, 300):
        np.testing.assert_allclose(codes.code[i, : sizes[i]], expected[i][codes.support[i, : sizes[i]]], atol=1e-12)
        assert set(codes.support[i, : sizes[i]]) == set(np.flatnonzero(expected[i] > 1e-12))


def queries_of(solver, rows):
    """Queries as the kernels see them."""
    from ancr.dictionary.products import Queries

    return Queries.of(solver.problem.dictionary, rows).seen_by(solver.source, solver.query_scale)
