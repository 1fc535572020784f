"""The lock-step exact solver on arrays of each library, with the problems and oracles of the sequential one."""

import numpy as np
import pytest

from ancr import ANCRClassifier, solve
from ancr.axes.problem import Problem
from ancr.axes.quadratics import Quadratic
from ancr.axes.sets import SETS
from ancr.datasets import per_class_split
from ancr.dictionary.coordinates import Dictionary
from ancr.solvers import DeviceWorkingSet
from ancr.solvers.working_set import device, host
from tests.array_libraries import converter
from tests.marks import rarely
from tests.oracle import best_objective, objective
from tests.solvers.test_working_set_host import generated


def lock_step(arrays, atoms, queries, alpha, constraint, **options):
    """The solution of the lock-step solver, also for NumPy arrays."""
    problem = Problem(Dictionary.build(arrays(atoms), normalize=False), Quadratic(ridge=alpha), SETS[constraint])
    solver = DeviceWorkingSet(**options).prepare(problem)
    return solver, solver.solve(arrays(queries))


def check(arrays, atoms, queries, alpha, constraint):
    _, solution = lock_step(arrays, atoms, queries, alpha, constraint)
    codes, gaps = np.asarray(solution.codes), np.asarray(solution.gap)
    scales = np.asarray(solution.problem.scale(solution.queries, solution.codes))
    assert np.all(codes >= 0)
    # A query that equals the mean of atoms a million times as long as its residual is lost in their rounding.
    lost = (constraint == "simplex") & (scales < 1e-11 * np.sum((atoms - atoms.mean(axis=0)) ** 2, axis=1).max())
    assert (np.asarray(solution.converged) | lost).all()
    if constraint == "simplex":
        assert np.abs(codes.sum(axis=1) - 1).max() <= 1e-12
    for query, code, gap, scale in zip(queries, codes, gaps, scales, strict=True):
        best, reached = best_objective(atoms, query, alpha, constraint), objective(atoms, query, code, alpha)
        assert reached - best <= 1e-9 * max(scale, np.sum(query**2))
        assert (reached - best) / (scale or 1.0) <= gap + 1e-11
        assert gap <= 1e-8 or lost.any()


# The problems are for the method, which NumPy runs as well; what a library lacks, the tests below would meet.
LIBRARIES = ["numpy", *rarely("torch", "array_api_strict")]


@pytest.mark.parametrize("constraint", ["simplex", "nonnegative"])
@pytest.mark.parametrize("chunk", range(2))
@pytest.mark.parametrize("arrays", LIBRARIES, indirect=True)
def test_generated_problems_agree_with_the_oracle(arrays, constraint, chunk):
    for seed in range(15 * chunk, 15 * (chunk + 1)):
        check(arrays, *generated(seed), constraint)


@pytest.mark.parametrize("constraint", ["simplex", "nonnegative"])
@pytest.mark.parametrize("alpha", [0.0, 1e-3, *rarely(1.0)])
@pytest.mark.parametrize("arrays", LIBRARIES, indirect=True)
def test_degenerate_problems(arrays, problem, constraint, alpha):
    check(arrays, *problem, alpha, constraint)


@pytest.mark.parametrize("constraint", ["simplex", "nonnegative"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_without_the_matrix(arrays, constraint, dtype):
    rng = np.random.default_rng(0)
    atoms, queries = (np.abs(rng.standard_normal(shape)).astype(dtype) for shape in ((300, 40), (50, 40)))
    _, kept = lock_step(arrays, atoms, queries, 1e-3, constraint)
    _, free = lock_step(arrays, atoms, queries, 1e-3, constraint, matrix_budget=0)
    assert np.asarray(kept.verify()).all()
    assert np.asarray(free.verify()).all()
    assert free.codes.dtype == kept.queries.rows.dtype
    np.testing.assert_allclose(np.asarray(kept.codes), np.asarray(free.codes), atol=1e-6)
    sequential = solve(atoms, queries, alpha=1e-3, constraint=constraint).codes.toarray()
    np.testing.assert_allclose(np.asarray(kept.codes), sequential, atol=1e-10 if dtype == "float64" else 1e-3)


@pytest.mark.parametrize("alpha", [1.0, 1000.0])
def test_supports_larger_than_the_first_capacity(arrays, alpha):
    rng = np.random.default_rng(1)
    atoms, queries = rng.standard_normal((400, 20)), rng.standard_normal((6, 20))
    solver, solution = lock_step(arrays, atoms, queries, alpha, "simplex")
    assert np.asarray(solution.verify()).all()
    assert not solver.handed_over
    if alpha == 1000.0:
        assert (np.asarray(solution.codes) > 0).sum(axis=1).max() > 128


def test_batches_do_not_matter(arrays):
    rng = np.random.default_rng(2)
    atoms, queries = rng.standard_normal((90, 15)), rng.standard_normal((70, 15))
    together = lock_step(arrays, atoms, queries, 1e-3, "simplex")[1].codes
    alone = lock_step(arrays, atoms, queries[43:44], 1e-3, "simplex")[1].codes
    np.testing.assert_allclose(np.asarray(together)[43], np.asarray(alone)[0], atol=1e-12)


def test_class_blocks(arrays):
    rng = np.random.default_rng(6)
    samples, queries = rng.standard_normal((40, 12)), rng.standard_normal((8, 12))
    quadratic = Quadratic(ridge=1e-2, gram=1.3, blocks=0.4, target=1.1)
    for constraint in ("simplex", "nonnegative"):
        problem = Problem(Dictionary.build(arrays(samples), np.arange(40) % 4), quadratic, SETS[constraint])
        solvers = DeviceWorkingSet(), DeviceWorkingSet(matrix_budget=0)
        kept, free = (solver.prepare(problem).solve(arrays(queries)) for solver in solvers)
        assert np.asarray(kept.verify()).all()
        np.testing.assert_allclose(np.asarray(kept.codes), np.asarray(free.codes), atol=1e-10)


@pytest.mark.parametrize("scale", [1e-18, 1e18])
@pytest.mark.parametrize("constraint", ["simplex", "nonnegative"])
def test_units_do_not_matter(arrays, scale, constraint):
    rng = np.random.default_rng(7)
    atoms, queries = np.abs(rng.standard_normal((40, 8))), np.abs(rng.standard_normal((6, 8)))
    _, scaled = lock_step(arrays, scale * atoms, scale * queries, 1e-3 * scale**2, constraint)
    assert np.asarray(scaled.verify()).all()
    _, plain = lock_step(arrays, atoms, queries, 1e-3, constraint)
    np.testing.assert_allclose(np.asarray(scaled.codes), np.asarray(plain.codes), atol=1e-8)


def test_stalled_queries_are_solved_on_the_host(arrays, monkeypatch):
    monkeypatch.setattr(device, "MAX_ROUNDS", 1)
    rng = np.random.default_rng(3)
    atoms, queries = np.abs(rng.standard_normal((200, 30))), np.abs(rng.standard_normal((10, 30)))
    solver, solution = lock_step(arrays, atoms, queries, 1e-3, "simplex")
    assert solver.handed_over == 10
    assert np.asarray(solution.verify()).all()


def test_queries_uncertified_on_the_host_are_reported(arrays, monkeypatch):
    monkeypatch.setattr(device, "MAX_ROUNDS", 1)
    give_up = host.Run.solution

    def uncertified(run):
        solution = give_up(run)
        solution.converged[:] = False
        return solution

    monkeypatch.setattr(host.Run, "solution", uncertified)
    rng = np.random.default_rng(3)
    atoms, queries = np.abs(rng.standard_normal((200, 30))), np.abs(rng.standard_normal((10, 30)))
    solver, solution = lock_step(arrays, atoms, queries, 1e-3, "simplex")
    assert not np.asarray(solution.converged).any()
    assert "10 of 10 queries could not be certified" in solver.warning(10, 10)


@pytest.mark.all
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_usps_on_torch(usps, dtype):
    arrays = converter("torch")
    train, _ = per_class_split(usps.target, 300, 0, pool=usps.train_indices)
    pixels, queries = usps.data.astype(dtype), usps.data[usps.test_indices].astype(dtype)
    plain = ANCRClassifier(alpha=1e-3).fit(pixels[train], usps.target[train])
    clf = ANCRClassifier(alpha=1e-3).fit(arrays(pixels[train]), arrays(usps.target[train]))
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    solution = clf.solver_.solve(arrays(queries))
    assert np.asarray(solution.verify()).all()
    assert not clf.solver_.handed_over
    np.testing.assert_array_equal(np.asarray(clf.predict(arrays(queries))), plain.predict(queries))
