"""The exact solver against independent oracles, and its certificate against the truth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from scipy.optimize import nnls

from ancr import solve
from ancr.axes.problem import Problem
from ancr.dictionary.products import Queries
from ancr.solvers import ADMM
from ancr.solvers.working_set import host, host_kernels
from ancr.solvers.working_set.host import HostWorkingSet
from tests.oracle import best_objective, objective

ALPHAS = [0.0, 1e-6, 1e-3, 0.1, 1.0, 10.0]


def generated(seed):
    """(atoms, queries, alpha) of a random problem, often degenerate."""
    rng = np.random.default_rng(seed)
    n, d = int(np.exp(rng.uniform(0, np.log(400)))), int(np.exp(rng.uniform(0, np.log(300))))
    n, d = (n, d) if seed % 20 == 0 else (min(n, 80), min(d, 60))
    atoms = rng.standard_normal((n, d))
    kind = rng.integers(7)
    if kind == 1:
        atoms = np.abs(atoms)
    elif kind == 2:
        atoms = atoms[rng.integers(0, max(1, n // 3), n)]  # duplicates
    elif kind == 3:
        atoms *= 10.0 ** rng.uniform(-2, 2, (n, 1))
    elif kind == 4:
        atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    elif kind == 5:
        atoms[rng.random(n) < 0.3] = 0.0
    elif kind == 6:
        atoms = np.round(atoms)  # ties
    pick = rng.integers(4)
    query = [rng.standard_normal(d), atoms[rng.integers(n)], atoms.mean(axis=0), np.zeros(d)][pick]
    return atoms, query[None], ALPHAS[rng.integers(len(ALPHAS))]


def check(atoms, queries, alpha, constraint, **options):
    solution = solve(atoms, queries, alpha=alpha, constraint=constraint, **options)
    code = solution.codes.toarray()[0]
    best = best_objective(atoms, queries[0], alpha, constraint)
    reached = objective(atoms, queries[0], code, alpha)
    scale = solution.problem.scale(solution.queries, solution.codes)[0]
    assert np.all(code >= 0)
    if constraint == "simplex":
        assert abs(code.sum() - 1) <= 1e-12
    assert reached - best <= 1e-9 * max(scale, np.sum(queries**2))
    # The certificate: never below the true suboptimality (up to the oracle's own rounding), and small.
    assert (reached - best) / (scale or 1.0) <= solution.gap[0] + 1e-11
    np.testing.assert_allclose(solution.objective[0], reached, atol=1e-12 * max(scale, 1))
    return solution


@pytest.mark.filterwarnings("ignore:.*could not be certified")
@pytest.mark.parametrize("constraint", ["simplex", "nonnegative"])
@pytest.mark.parametrize("chunk", range(20))
def test_generated_problems_agree_with_the_oracle(constraint, chunk):
    for seed in range(55 * chunk, 55 * (chunk + 1)):
        atoms, queries, alpha = generated(seed)
        solution = check(atoms, queries, alpha, constraint)
        # A query that equals the mean of atoms a million times as long as its residual is lost in their rounding.
        spread = np.sum((atoms - atoms.mean(axis=0)) ** 2, axis=1).max()
        lost = constraint == "simplex" and solution.problem.scale(solution.queries, solution.codes)[0] < 1e-11 * spread
        # So is an objective of 1e-10 of ‖y‖², made of terms as large as that; a few of these problems have one.
        lost |= solution.objective[0] < 1e-9 * np.sum(queries**2) and alpha > 0.0
        assert lost or (solution.gap[0] <= 1e-8 and solution.converged.all()), seed


@settings(max_examples=150, deadline=None)
@given(
    n=st.integers(1, 6),
    d=st.integers(1, 4),
    alpha=st.sampled_from(ALPHAS),
    constraint=st.sampled_from(["simplex", "nonnegative"]),
    data=st.data(),
)
def test_integer_problems_with_ties(n, d, alpha, constraint, data):
    entries = st.integers(-2, 2)
    atoms = np.array(data.draw(st.lists(st.lists(entries, min_size=d, max_size=d), min_size=n, max_size=n)), float)
    query = np.array(data.draw(st.lists(entries, min_size=d, max_size=d)), float)
    check(atoms, query[None], alpha, constraint)


@pytest.mark.parametrize("constraint", ["simplex", "nonnegative"])
@pytest.mark.parametrize("alpha", [0.0, 1e-3, 1.0])
def test_degenerate_problems(problem, constraint, alpha):
    atoms, queries = problem
    for query in queries:
        check(atoms, query[None], alpha, constraint)


@pytest.mark.parametrize("constraint", ["simplex", "nonnegative"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_without_the_gram_matrix(constraint, dtype):
    rng = np.random.default_rng(0)
    atoms, queries = np.abs(rng.standard_normal((300, 40))), np.abs(rng.standard_normal((50, 40)))
    atoms, queries = atoms.astype(dtype), queries.astype(dtype)
    kept = solve(atoms, queries, alpha=1e-3, constraint=constraint)
    free = HostWorkingSet(gram_budget=0).prepare(kept.problem).solve(queries)
    assert free.converged.all()
    assert free.codes.dtype == dtype
    double = dtype == np.float64
    assert free.gap.max() < (1e-12 if double else 1e-6)
    assert abs(kept.codes - free.codes).max() < (1e-10 if double else 1e-3)


@pytest.mark.parametrize("alpha", [1.0, 100.0, 1000.0])
@pytest.mark.parametrize("budget", [0, 2**30])
def test_supports_larger_than_the_first_capacity(alpha, budget):
    rng = np.random.default_rng(1)
    atoms, queries = rng.standard_normal((400, 20)), rng.standard_normal((6, 20))
    problem = solve(atoms, queries[:1], alpha=alpha).problem
    solution = HostWorkingSet(gram_budget=budget).prepare(problem).solve(queries)
    assert solution.verify().all()
    if alpha == 1000.0:
        assert (np.diff(solution.codes.indptr) > 128).any()


@pytest.fixture(autouse=True, scope="module")
def products_in_single_whatever_the_size():
    """The problems of other test files are too small for it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(host, "ENOUGH_ATOMS", 0)
        patch.setattr(host, "FEATURES_AT_ONCE", 16)
        yield


@pytest.mark.parametrize("constraint", ["simplex", "nonnegative"])
@pytest.mark.parametrize("apart", [1e-5, 1e-8, 1e-11])
@pytest.mark.parametrize("scale", [1.0, 1e60, 1e-60])
def test_differences_below_the_precision_of_estimates(constraint, apart, scale):
    """b is estimated in single precision and H is priced in steps of 3e-5: the code must not depend on either."""
    rng = np.random.default_rng(7)
    base = np.abs(rng.standard_normal((40, 30)))
    atoms = scale * np.concatenate([base + apart * rng.standard_normal(base.shape) for _ in range(5)])
    queries = scale * np.abs(rng.standard_normal((20, 30)))
    solver = HostWorkingSet().prepare(solve(atoms, queries, alpha=1e-3 * scale**2, constraint=constraint).problem)
    estimated, known = solver.solve(queries), solver.run(Queries.of(solver.problem.dictionary, queries)).solution()
    assert estimated.verify().all()
    np.testing.assert_allclose(estimated.codes.toarray(), known.codes.toarray(), atol=1e-9)


@pytest.mark.parametrize("constraint", ["simplex", "nonnegative"])
def test_atoms_of_all_lengths(constraint):
    rng = np.random.default_rng(8)
    atoms = np.abs(rng.standard_normal((300, 20))) * np.logspace(-4, 4, 300)[:, None]
    queries = np.abs(rng.standard_normal((20, 20))) * np.logspace(-4, 4, 20)[:, None]
    for query in queries:
        check(atoms, query[None], 1e-6, constraint)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("alpha", [300.0, 1e4])
def test_a_ridge_far_larger_than_the_atoms_in_single_precision(alpha, sign):
    """Correlations of one must not overflow."""
    rng = np.random.default_rng(9)
    base = np.abs(rng.standard_normal(30))
    atoms = (base + 1e-3 * rng.standard_normal((200, 30))).astype(np.float32)
    queries = (sign * 1000.0 * (base + 3e-2 * rng.standard_normal((20, 30)))).astype(np.float32)
    solution = solve(atoms, queries, alpha=alpha, constraint="nonnegative")
    assert np.abs(HostWorkingSet().prepare(solution.problem).program.pricing).min() > 31_000
    assert solution.converged.all()
    assert solution.verify().all()


@pytest.mark.parametrize("size", [10, 1000, 5000])
def test_pricing_error_stays_within_its_bound(size):
    """Nearly all atoms have the same direction: the longest sums, of the largest terms."""
    rng = np.random.default_rng(10)
    pricing = np.ascontiguousarray(np.broadcast_to(rng.integers(20_000, 32_000, 64).astype(np.int16), (size, 64)))
    nothing, ones = np.empty((0, 0)), np.ones(max(size, 64))
    program = host_kernels.Program(
        matrix=nothing, pricing=pricing, atoms=nothing, numbers=np.ones(7), labels=np.zeros(1, int), lengths=ones,
        longest=1.0, norms=ones, largest_norm=1.0, prices=0.0 * ones, eta=0.0, shift=0.0, sums_to_one=False,
        signed=False, tol=1e-8,
    )  # fmt: skip
    work = host_kernels.make_workspace(size, 64)
    work.support[:size], work.sign[:], work.code[:] = np.arange(size), 1.0, rng.uniform(0.9, 1.0, size)
    price = njit(lambda program, linear, work, size: host_kernels._price(program, linear, work, size))
    price(program, np.zeros(64), work, size)
    steps = np.abs(work.pull * host_kernels.STEPS + work.code @ pricing.astype(float)) / work.code.sum()
    assert steps.max() < 0.1 + 1e-3 * size


def test_batches_do_not_matter():
    rng = np.random.default_rng(2)
    atoms, queries = rng.standard_normal((90, 15)), rng.standard_normal((700, 15))
    together = solve(atoms, queries).codes
    alone = solve(atoms, queries[431:432]).codes
    np.testing.assert_allclose(together[[431]].toarray(), alone.toarray(), atol=1e-12)


def test_the_certificate_sees_a_bad_code():
    rng = np.random.default_rng(3)
    atoms, queries = np.abs(rng.standard_normal((50, 8))), np.abs(rng.standard_normal((20, 8)))
    for constraint in ("simplex", "nonnegative"):
        rough = solve(atoms, queries, constraint=constraint, solver=ADMM(rho=0.1, max_iter=5))
        exact = solve(atoms, queries, constraint=constraint)
        scale = rough.problem.scale(rough.queries, rough.codes)
        truth = (rough.objective - exact.objective) / scale
        assert np.all(rough.gap >= truth - 1e-14)
        assert truth.max() > 1e-4
        assert not rough.verify().all()
        assert exact.verify().all()


def test_uncertified_queries_are_reported(monkeypatch):
    rng = np.random.default_rng(4)
    atoms, queries = rng.standard_normal((30, 5)), rng.standard_normal((4, 5))
    solver = HostWorkingSet().prepare(solve(atoms, queries).problem)
    finish = solver.solve_block

    def give_up(queries, history=False):
        solution = finish(queries, history)
        solution.converged[0] = False
        return solution

    monkeypatch.setattr(solver, "solve_block", give_up)
    with pytest.warns(match="could not be certified"):
        solver.map(queries, lambda solution: solution)


@pytest.mark.parametrize("constraint", ["free", "nonnegative"])
def test_l1_problem_is_certified(constraint):
    rng = np.random.default_rng(5)
    atoms, queries = rng.standard_normal((60, 20)), rng.standard_normal((10, 20))
    solution = solve(atoms, queries, alpha=0.5, constraint=constraint, quadratic="l1")
    assert solution.gap.max() < 1e-11
    if constraint == "free":
        assert (solution.codes.data < 0).any()
    doubled = solve(np.vstack([atoms, -atoms]), queries, alpha=0.5, constraint="nonnegative", quadratic="l1")
    if constraint == "free":
        np.testing.assert_allclose(solution.objective, doubled.objective, rtol=1e-10)


def test_block_quadratics_work_on_every_set():
    from ancr.axes.quadratics import Quadratic
    from ancr.axes.sets import SETS
    from ancr.dictionary.coordinates import Dictionary

    rng = np.random.default_rng(6)
    dictionary = Dictionary.build(rng.standard_normal((40, 12)), np.arange(40) % 4)
    quadratic = Quadratic(ridge=1e-2, gram=1.3, blocks=0.4, target=1.1)
    queries = rng.standard_normal((8, 12))
    for name in ("simplex", "nonnegative"):
        problem = Problem(dictionary, quadratic, SETS[name])
        kept, free = (HostWorkingSet(gram_budget=budget).prepare(problem).solve(queries) for budget in (2**30, 0))
        assert kept.verify().all()
        np.testing.assert_allclose(kept.codes.toarray(), free.codes.toarray(), atol=1e-10)


@pytest.mark.parametrize("scale", [1e-18, 1e18])
@pytest.mark.parametrize("constraint", ["simplex", "nonnegative"])
def test_units_do_not_matter(scale, constraint):
    rng = np.random.default_rng(7)
    atoms, queries = np.abs(rng.standard_normal((40, 8))), np.abs(rng.standard_normal((6, 8)))
    solution = solve(scale * atoms, scale * queries, alpha=1e-3 * scale**2, constraint=constraint)
    assert solution.verify().all()
    np.testing.assert_allclose(
        solution.codes.toarray(), solve(atoms, queries, alpha=1e-3, constraint=constraint).codes.toarray(), atol=1e-8
    )


def test_single_precision_verifies_itself():
    rng = np.random.default_rng(8)
    atoms, queries = np.abs(rng.standard_normal((60, 10))).astype("f"), np.abs(rng.standard_normal((9, 10))).astype("f")
    assert solve(atoms, queries).verify().all()


@pytest.mark.parametrize("constraint", ["simplex", "nonnegative"])
@pytest.mark.parametrize("alpha", [0.0, 1e-6, 1e-3])
def test_single_precision_with_more_atoms_than_features(constraint, alpha):
    """In a single-precision Gram matrix, dependent atoms would look independent."""
    rng = np.random.default_rng(0)
    atoms, queries = rng.standard_normal((60, 8)), rng.standard_normal((40, 8))
    atoms, queries = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (atoms, queries))
    single = solve(atoms.astype("f4"), queries.astype("f4"), alpha=alpha, constraint=constraint)
    double = solve(atoms, queries, alpha=alpha, constraint=constraint)
    assert single.codes.dtype == np.float32
    assert single.verify().all()
    np.testing.assert_allclose(single.objective, double.objective, atol=1e-5)


def standardised_pixels(n, n_queries, side, seed=0):
    """(atoms, queries): images of three blobs; some pixels are lit in few images, and long once standardised."""
    rng = np.random.default_rng(seed)
    count, grid = n + n_queries, np.arange(side) - (side - 1) / 2
    images = np.zeros((count, side, side))
    for _ in range(3):
        centre = 0.12 * side * rng.standard_t(3, (count, 2, 1))
        width = 0.09 * side * np.exp(0.3 * rng.standard_normal((count, 2, 1)))
        profile = np.exp(-(((grid - centre) / width) ** 2))
        images += profile[:, 0, :, None] * profile[:, 1, None, :]
    pixels = np.round(255 * np.clip(images, 0, 1)).reshape(count, -1)
    spread = pixels[:n].std(axis=0)
    pixels = (pixels - pixels[:n].mean(axis=0)) / np.where(spread > 0, spread, 1)
    pixels /= np.linalg.norm(pixels, axis=1, keepdims=True)
    return pixels[:n], pixels[n:]


@pytest.mark.filterwarnings("ignore:.*could not be certified")
@pytest.mark.parametrize(
    ("n", "side", "repeats"), [(300, 12, 1), (200, 10, 3), (600, 16, 1), (1200, 10, 1), (120, 12, 1)]
)
def test_codes_that_interpolate_their_query(n, side, repeats):
    # Atoms with mean zero span a whole space with non-negative weights: a support holds as many atoms as the rank.
    atoms, queries = standardised_pixels(n, 6, side)
    rng = np.random.default_rng(1)
    atoms = np.concatenate([atoms + 1e-9 * k * rng.standard_normal(atoms.shape) for k in range(repeats)])
    solution = solve(atoms, queries, alpha=0.0, constraint="nonnegative")
    if n > side**2:  # otherwise a subspace is reached whose distance from a query no rounded bound can prove
        assert solution.converged.all()
        assert solution.verify().all()
    support = np.diff(solution.codes.indptr)
    assert support.max() <= min(atoms.shape)
    assert np.all(solution.n_iter <= support + 30)
    for query, reached in zip(queries, solution.objective, strict=True):
        code, _ = nnls(atoms.T, query, maxiter=100 * len(atoms))
        if code.sum() < 1e6:  # beyond, rounding is all that is left of it
            assert abs(reached - objective(atoms, query, code, 0.0)) <= 1e-8


def test_more_capacity_goes_on_where_less_ended(monkeypatch):
    atoms, queries = standardised_pixels(300, 6, 12)
    options = {"alpha": 0.0, "constraint": "nonnegative"}
    tight = solve(atoms, queries, **options)
    monkeypatch.setattr(host, "FIRST_CAPACITY", 400)
    ample = solve(atoms, queries, **options)
    # One round more for each time that the capacity doubled, and a support in another order.
    assert np.all(np.abs(tight.n_iter - ample.n_iter) <= 20)
    np.testing.assert_allclose(tight.objective, ample.objective, atol=1e-10)


def test_the_limit_on_rounds_is_reported(monkeypatch):
    atoms, queries = standardised_pixels(200, 4, 10)
    monkeypatch.setattr(host, "max_rounds", lambda problem: 5)
    with pytest.warns(match="could not be certified"):
        solution = solve(atoms, queries, alpha=0.0, constraint="nonnegative")
    assert not solution.converged.any()
    assert np.all(solution.n_iter <= 5)


@pytest.mark.parametrize("gone", [[0], [29], [3, 4, 17], [0, 1, 2, 5, 8, 13, 21, 28], list(range(0, 30, 2))])
def test_rows_leave_the_factor(gone):
    size, rng = 30, np.random.default_rng(2)
    atoms = rng.standard_normal((size, 40))
    work = host_kernels.make_workspace(size, size)
    factor, b = np.linalg.cholesky(atoms @ atoms.T), rng.standard_normal(size)
    work.factor[:size] = factor
    work.ahead[:], work.ones[:] = np.linalg.solve(factor, b), np.linalg.solve(factor, np.ones(size))
    for left, p in zip(range(size, 0, -1), sorted(gone, reverse=True), strict=False):
        host_kernels._remove_row.py_func(work, p, left)
    kept = np.setdiff1d(np.arange(size), gone)
    expected = np.linalg.cholesky(atoms[kept] @ atoms[kept].T)
    np.testing.assert_allclose(np.tril(work.factor[: len(kept), : len(kept)]), expected, atol=1e-10)
    np.testing.assert_allclose(work.ahead[: len(kept)], np.linalg.solve(expected, b[kept]), atol=1e-10)
    np.testing.assert_allclose(work.ones[: len(kept)], np.linalg.solve(expected, np.ones(len(kept))), atol=1e-10)
