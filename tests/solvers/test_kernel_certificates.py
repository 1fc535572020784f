"""What is certified in a kernel is true: inner products of no space, or that have lost a direction, prove nothing.

The reference is an exact solution in rational numbers.
"""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import issparse
from sklearn.metrics.pairwise import sigmoid_kernel

from ancr import Space, solve
from ancr.solvers import ADMM
from tests.rational import minimum, objective, rational

SETS = ("free", "affine", "nonnegative", "simplex")


def inner(a, b):
    return a @ b.T


def sigmoid(a, b):
    return sigmoid_kernel(a, b, gamma=0.5, coef0=1.0)


def uncertified(*problem, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solution = solve(*problem, **settings)
        return not solution.verify().any()


def true_gap(K, k, prices, code, constraint):
    """f(c) − f* for the code moved onto its set, and a scale: the least that ‖y‖² can be."""
    nonnegative, one = constraint in ("nonnegative", "simplex"), constraint in ("affine", "simplex")
    K, k, c = rational(K.tolist()), rational(k.tolist()), rational(code.tolist())
    H = [[value + (prices[i] if i == j else 0) for j, value in enumerate(row)] for i, row in enumerate(K)]
    c = [max(value, 0) for value in c] if nonnegative else c
    if one:
        total = sum(c)
        c = [value / total for value in c] if nonnegative else [value + (1 - total) / len(c) for value in c]
    scale = max([b * b / K[i][i] for i, b in enumerate(k) if K[i][i]], default=0)
    return float(objective(H, k, c) - minimum(H, k, nonnegative, one)), float(scale)


@pytest.mark.parametrize("seed", range(40))
def test_no_inner_products_are_certified_wrongly(seed):
    """Integers, so that K is exact; its rank is anything, and codes are the solver's, rounded, or of few iterations."""
    rng = np.random.default_rng(seed)
    for constraint in SETS:
        n = int(rng.integers(1, 5))
        factors = rng.integers(-4, 5, size=(n, int(rng.integers(1, 4)))) * 10 ** rng.integers(0, 3)
        K, k = factors @ factors.T, rng.integers(-9, 10, size=(3, factors.shape[1])) @ factors.T
        alpha = float(rng.choice([0.0, 0.0, 2.0**-40, 2.0**-10, 1.0]))
        settings = {"alpha": alpha, "constraint": constraint, "space": "precomputed"}
        if constraint in ("nonnegative", "simplex") and rng.random() < 0.3:
            settings |= {"solver": ADMM(max_iter=int(rng.choice([1, 5, 300])))}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            solution = solve(K.astype(float), k.astype(float), **settings)
        codes = solution.sorted_codes.toarray() if issparse(solution.sorted_codes) else solution.sorted_codes
        codes = solution.problem.constraint.project(codes + rng.choice([0.0, 1e-9, 1e-3]) * rng.random((3, n)))
        moved = replace(solution, sorted_codes=codes)
        gaps = moved.gap
        assert not np.isnan(gaps).any()
        order = moved.problem.dictionary.order
        for query in range(3):
            code = np.empty(n)
            code[order] = moved.sorted_codes[query]
            if gaps[query] > 1.0:
                continue
            gap, scale = true_gap(K, k[query], rational([alpha] * n), code, constraint)
            assert gap <= gaps[query] * max(scale, 1.0 if scale == 0.0 else 0.0) * (1.0 + 1e-6) + 1e-13 * scale


@pytest.mark.parametrize(
    ("K", "k", "constraint"),
    [
        ([[0.0, 0.0], [0.0, 1.0]], [[1.0, 0.0]], "nonnegative"),
        (np.zeros((2, 2)), [[1.0, 2.0]], "free"),
        (np.zeros((2, 2)), [[1.0, 2.0]], "nonnegative"),
        (np.ones((2, 2)), [[1.0, -1.0]], "affine"),
        (np.array([[1.0, -1.0 - 5e-13], [-1.0 - 5e-13, 1.0]]), [[0.5, -0.4]], "nonnegative"),
        (np.array([[1, -1 - 4e-6], [-1 - 4e-6, 1]], np.float32), np.array([[0.5, 0.5]], np.float32), "nonnegative"),
    ],
)
def test_an_objective_without_a_floor_is_not_certified(K, k, constraint):
    assert uncertified(K, k, space="precomputed", alpha=0.0, constraint=constraint)


def with_codes(solution, codes):
    """A solution with other codes, in the order of the atoms given."""
    return replace(solution, sorted_codes=np.atleast_2d(codes)[:, solution.problem.dictionary.order])


def test_opposite_atoms_have_no_interior_direction():
    atoms, query = np.array([[-2.556], [0.418]]), np.array([[-0.57]])
    settings = {"alpha": 0.0, "quadratic": "least_squares", "constraint": "nonnegative"}
    for space in ({"space": inner}, {"space": Space("poly", degree=1, gamma=1.0, normalize=False)}, {}):
        assert with_codes(solve(atoms, query, **settings, **space), [0.0, 0.0]).gap[0] > 0.5
    atoms, query = np.array([[0.7750096701594513], [-0.7190191026924134]]), np.array([[0.5013647047847318]])
    admm = {"solver": ADMM(max_iter=1, code="z"), "space": "precomputed"}
    assert uncertified(atoms @ atoms.T, query @ atoms.T, **settings, **admm)


@pytest.mark.parametrize("quadratic", ["subspace", "probabilistic", "competitive"])
def test_equal_atoms_of_two_classes_do_not_hide_a_lost_direction(quadratic):
    atoms, labels = np.array([[0.0], [1.0], [0.0], [1.0], [5.0], [5.0 + 1e-9]]), [0, 0, 1, 1, 2, 2]
    settings = {"space": Space("rbf", gamma=1.0, normalize=False), "alpha": 0.0, "beta": 0.5, "constraint": "free"}
    assert uncertified(atoms, [[5.5]], labels=labels, quadratic=quadratic, **settings)


@pytest.mark.parametrize(
    ("start", "apart", "far", "alpha", "true"),
    [(0.15, 1e-10, 75.0, 0.0, 0.303), (0.15, 1e-8, 85.0, 1e-12, 3.2e-7), (0.75, 1e-9, 75.0, 1e-13, 8.6e-7)],
)
def test_exponents_are_rounded_in_proportion_to_their_terms(start, apart, far, alpha, true):
    atoms = np.array([[start], [start + apart], [far]])
    solution = solve(
        atoms, [[start + 0.5]], space=Space("rbf", gamma=1.0, normalize=False), alpha=alpha, constraint="free"
    )
    assert solution.gap[0] >= true or (solution.gap[0] > 1e-8 and alpha > 0.0)


def test_steps_on_the_plane_sum_to_zero():
    K, k = np.array([[1.0, 0.3], [0.3, 2.0]]), np.array([[1e-7, 2e-7]])
    settings = {"space": "precomputed", "alpha": 100.0, "quadratic": "subspace", "constraint": "affine"}
    solution = solve(K, k, labels=[0, 0], **settings)
    assert solution.verify().all()
    assert with_codes(solution, solution.codes[0] + [-2e-9, 2e-9]).gap[0] >= 0.04


@pytest.mark.parametrize(
    ("K", "k", "settings"),
    [
        ([[1.0, 0.0], [0.0, 0.0]], [[1.0, 1.0]], {"alpha": 1e-3, "constraint": "nonnegative"}),
        (np.diag([1.0, 0.0]), [[1.0, 0.05 * (1.0 + 1e-9)]], {"alpha": 0.1, "quadratic": "l1", "constraint": "free"}),
        (np.diag([1.0, 0.0, 0.0]), [[0.3, 1e-6, 0.0]], {"alpha": 0.0, "constraint": "affine"}),
        ([[1.0, 2e-8], [2e-8, 0.0]], [[1.0, 1e-8]], {"alpha": 0.0, "constraint": "nonnegative"}),
        ([[1.0, 2e-8], [2e-8, 1e-30]], [[1.0, 1e-8]], {"alpha": 0.0, "constraint": "nonnegative"}),
    ],
)
def test_atoms_of_no_length_that_pull(K, k, settings):
    assert uncertified(K, k, space="precomputed", **settings)


def test_what_counts_as_rounding_is_taken_from_the_ridge():
    eps = 2.0**-52
    K = np.diag([1.0, 1e-10, 1e-10])
    K[1, 2] = K[2, 1] = 1e-10 + 22.5 * eps
    solution = solve(K, [[1.0, 0.0, 0.0]], space="precomputed", alpha=49.5 * eps, constraint="free")
    assert with_codes(solution, solution.codes[0] + [0.0, 1e3, -1e3]).gap[0] >= 1.2e-8


def test_few_iterations_in_a_kernel_of_no_space():
    """The atoms alone have a space, but not together with the query: k(y, y) is less than what they span of it."""
    rng = np.random.default_rng(0)
    atoms = rng.normal(size=(3, 3))
    queries = rng.normal(size=(10, 3)) * rng.choice([0.3, 1, 3])
    settings = {"space": sigmoid, "alpha": 0.0, "constraint": "simplex"}
    assert uncertified(atoms, queries[5:6], **settings, solver=ADMM(max_iter=2))
    assert solve(atoms, queries[5:6], **settings).verify().all()


@pytest.mark.parametrize("space", [{"space": inner}, {"space": Space("poly", degree=1, gamma=1.0, normalize=False)}])
def test_directions_that_are_lost_in_squares(space):
    assert uncertified([[1.0, 0.0], [1.0, 1e-8]], [[1.0, 1.0]], alpha=0.0, constraint="free", **space)
    assert uncertified([[1e8], [1e8 + 1.0]], [[1e8 + 0.3]], alpha=0.0, constraint="affine", **space)


@pytest.mark.parametrize(("k", "relaxation"), [(5.0, 1e11), (1800.0, 9e11)])
def test_a_hard_relaxation_of_inner_products(k, relaxation):
    settings = {"space": "precomputed", "alpha": 0.0, "constraint": "nonnegative", "relaxation": relaxation}
    solution = solve([[1.0]], [[k]], **settings)
    code = np.asarray(solution.codes).item()
    assert solution.gap[0] >= 0.99 * (code - k) ** 2 / k**2
    with pytest.raises(ValueError, match="leave relaxation=None"):
        solve([[1.0]], [[k]], **{**settings, "relaxation": 1e15})


@pytest.mark.parametrize(
    ("settings", "share", "least"),
    [
        ({"constraint": "nonnegative", "relaxation": 1.0, "alpha": 0.0}, 1.01, 9e-5),
        ({"constraint": "free", "quadratic": "l1", "alpha": 0.1}, 0.9, 9e-3),
    ],
)
def test_other_codes_than_the_best(settings, share, least):
    K, k = [[1.0, 0.2], [0.2, 1.0]], [[100.0, 50.0]]
    solution = solve(K, k, space="precomputed", **settings)
    assert solution.verify().all()
    assert replace(solution, sorted_codes=share * solution.sorted_codes).gap[0] >= least


@pytest.mark.parametrize("alpha", [0.0, 1e-3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "space", [{"space": Space("rbf", gamma=1.0, normalize=False)}, {"space": lambda a, b: (a @ b.T + 1.0) ** 3}]
)
@pytest.mark.parametrize("constraint", SETS)
def test_well_conditioned_problems_are_certified(constraint, space, dtype, alpha):
    rng = np.random.default_rng(0)
    atoms, queries = rng.random((30, 5)).astype(dtype), rng.random((7, 5)).astype(dtype)
    solution = solve(atoms, queries, alpha=alpha, constraint=constraint, **space)
    assert solution.verify().all()
    assert (solution.gap < 1e-6).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("constraint", SETS)
def test_inner_products_with_a_ridge_are_certified(constraint, dtype):
    rng = np.random.default_rng(0)
    atoms, queries = rng.random((30, 5)), rng.random((7, 5))
    K, k = (atoms @ atoms.T).astype(dtype), (queries @ atoms.T).astype(dtype)  # of rank five
    assert solve(K, k, space="precomputed", alpha=1e-3, constraint=constraint).verify().all()
