"""The simplex with a cap: codes as good as quadprog's, certified, with every option, on NumPy and other arrays."""

from dataclasses import replace

import numpy as np
import pytest
import quadprog

from ancr import CappedSimplex, RepresentationClassifier, solve
from ancr._core.arrays import to_numpy
from tests.array_libraries import BACKENDS, converter
from tests.marks import rarely
from tests.solvers.test_terms import drawn


def best(hessian, linear, cap, usable):
    """The code of least cᵀHc − 2bᵀc over 0 ≤ c ≤ cap, Σc = 1, and the atoms that may be used."""
    left = np.flatnonzero(usable)
    hessian, linear, n, code = hessian[np.ix_(left, left)], linear[left], len(left), np.zeros(len(usable))
    if cap * n < 1.0 + 1e-9:  # one code, and nothing inside for quadprog
        code[left] = 1.0 / n
        return code
    size = max(np.trace(hessian) / n, np.abs(linear).max(), 1e-300)
    sides = np.hstack([np.ones((n, 1)), np.eye(n), -np.eye(n)])
    bounds = np.concatenate([[1.0], np.zeros(n), np.full(n, -cap)])
    found = quadprog.solve_qp(hessian / size + 1e-13 * np.eye(n), linear / size, sides, bounds, meq=1)[0]
    low, high = -2.0, 2.0
    for _ in range(100):  # quadprog keeps to its constraints only nearly
        middle = (low + high) / 2.0
        low, high = (middle, high) if np.clip(found - middle, 0.0, cap).sum() >= 1.0 else (low, middle)
    code[left] = np.clip(found - low, 0.0, cap)
    return code


def check(solution, atoms, queries, cap, alpha, scale=1.0, mask=None, prices=None, weights=None):
    """Codes in the set and not above quadprog's, and certificates that are true."""
    n, single = len(atoms), atoms.dtype == np.float32
    atoms, queries = atoms.astype(float) / scale, queries.astype(float) / scale
    alpha, codes = alpha / scale**2, solution.toarray().astype(float)
    mask = np.zeros((len(queries), n), bool) if mask is None else mask
    prices = np.zeros((len(queries), n)) if prices is None else np.broadcast_to(prices, mask.shape) / scale**2
    weights = np.ones(atoms.shape[1]) if weights is None else weights
    for i, code in enumerate(codes):

        def objective(c, i=i):
            return ((queries[i] - c @ atoms) ** 2 * weights).sum() + alpha * (c**2).sum() + prices[i] @ c

        about = atoms - atoms[~mask[i]].mean(axis=0)
        own = (queries[i] - atoms[~mask[i]].mean(axis=0)) * weights
        hessian = (about * weights) @ about.T + alpha * np.eye(n)
        optimum = objective(best(hessian, about @ own - prices[i] / 2.0, min(cap, 1.0), ~mask[i]))
        size = max(abs(optimum), abs(prices[i]).max(), (own**2).sum())
        assert objective(code) <= optimum + (2e-5 if single else 1e-9) * size
        assert not code[mask[i]].any()
        assert code.min() >= 0.0
        assert code.max() <= min(cap, 1.0) * (1.0 + 1e-6)
        assert abs(code.sum() - 1.0) <= (1e-5 if single else 1e-12)


KINDS = {
    "random": lambda rng, atoms, queries: (atoms, queries),
    "duplicates": lambda rng, atoms, queries: (np.vstack([atoms, atoms]), queries),
    "integers": lambda rng, atoms, queries: (np.round(atoms), np.round(queries)),
    "far away": lambda rng, atoms, queries: (atoms + 100.0, queries + 100.0),
    "non-negative": lambda rng, atoms, queries: (np.abs(atoms), np.abs(queries)),
    "equal atoms": lambda rng, atoms, queries: (np.repeat(atoms[:1], len(atoms), axis=0), queries),
}


@pytest.mark.parametrize("scale", [1.0, *rarely(1e30, 1e-30)])
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_codes_are_optimal_and_certified(kind, scale):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        shape = int(rng.integers(2, 40)), int(rng.integers(1, 20))
        atoms, queries = KINDS[kind](rng, rng.normal(size=shape), rng.normal(size=(6, shape[1])))
        n, alpha = len(atoms), (0.0, 1e-3, 1.0)[seed % 3] * scale**2
        for cap in (1.0 / n, 1.5 / n, max(0.3, 1.0 / n), 2.0):
            solution = solve(scale * atoms, scale * queries, alpha=alpha, constraint=CappedSimplex(cap))
            check(solution, scale * atoms, scale * queries, cap, alpha, scale)
            assert solution.verify().all(), (seed, cap)
            assert solution.converged.all()


@pytest.mark.parametrize("library", BACKENDS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("seed", [1, 2, 3, *rarely(4, 5, 6, 7, 8)])
def test_every_option_on_every_library(library, dtype, seed):
    check_every_option(converter(library), dtype, seed)


def check_every_option(arrays, dtype, seed):
    """Exclusions, prices and weights of features on arrays of a library."""
    atoms, queries, mask, prices, weights, alpha = drawn(seed, "simplex")
    atoms, queries, n = atoms.astype(dtype), queries.astype(dtype), len(atoms)
    mask &= (~mask).sum(axis=1, keepdims=True) >= (n + 1) // 2
    cap = max((1.0, 0.5, 0.3)[seed % 3], 1.0 / (~mask).sum(axis=1).min())  # also as small as it may be
    options = {"exclude": mask, "prices": prices, "feature_weight": weights}
    solution = solve(arrays(atoms), arrays(queries), alpha=alpha, constraint=CappedSimplex(cap), **options)
    check(solution, atoms, queries, cap, alpha, mask=mask, prices=prices, weights=weights)
    assert to_numpy(solution.verify()).all()
    assert to_numpy(solution.converged).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_atoms_within_rounding_of_a_bound_are_at_it(dtype):
    """Twenty atoms at a cap of 1/20 leave some a rounding below it, and steps along these led nowhere."""
    for seed in range(1, 31, 6):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(2, 30)), int(rng.integers(1, 20))
        atoms, queries = rng.normal(size=(n, d)).astype(dtype), rng.normal(size=(8, d)).astype(dtype)
        atoms, prices = np.vstack([atoms, atoms]), rng.normal(size=(8, 2 * n)) / 10.0
        cap = 0.75 / n
        solution = solve(atoms, queries, alpha=1e-3, constraint=CappedSimplex(cap), prices=prices)
        check(solution, atoms, queries, cap, 1e-3, prices=prices)
        assert solution.verify().all()
        assert solution.converged.all()


def test_one_atom_and_a_cap_from_one_on():
    rng = np.random.default_rng(0)
    atoms, queries = rng.normal(size=(30, 8)), rng.normal(size=(20, 8))
    for cap in (1.0, 7.0):
        capped, plain = (solve(atoms, queries, constraint=each) for each in (CappedSimplex(cap), "simplex"))
        np.testing.assert_allclose(capped.toarray(), plain.toarray(), atol=1e-12)
    alone = solve(atoms[:1], queries, constraint=CappedSimplex(1.0))
    np.testing.assert_array_equal(alone.toarray(), 1.0)
    assert alone.verify().all()


def test_a_wrong_code_is_not_certified():
    rng = np.random.default_rng(1)
    right = solve(rng.normal(size=(12, 5)), rng.normal(size=(4, 5)), alpha=0.1, constraint=CappedSimplex(0.25))
    even = np.full((4, 12), 1.0 / 12)
    wrong = replace(right, sorted_codes=even)
    assert not wrong.verify().any()
    assert (wrong.gap * right.problem.scale(wrong.queries, even) >= wrong.objective - right.objective - 1e-9).all()
    above = replace(right, sorted_codes=np.eye(12)[:4])
    np.testing.assert_allclose(above.violation, 0.75)


def test_atoms_of_weight_two_are_two_copies():
    """Two copies at a cap of u are one atom of weight 2 at twice that; the others have half the weight of a copy."""
    rng = np.random.default_rng(2)
    labels = np.arange(16) % 2
    samples, queries = rng.normal(size=(16, 4)) + labels[:, None], rng.normal(size=(5, 4))
    weighted = RepresentationClassifier(constraint=CappedSimplex(0.4), alpha=0.1)
    weighted.fit(samples, labels, sample_weight=np.full(16, 2.0))
    copies = RepresentationClassifier(constraint=CappedSimplex(0.2), alpha=0.1)
    copies.fit(np.repeat(samples, 2, axis=0), np.repeat(labels, 2))
    found = copies.codes(queries).toarray().reshape(5, 16, 2).sum(axis=2)
    np.testing.assert_allclose(weighted.codes(queries).toarray(), found, atol=1e-9)
    some = np.arange(1.0, 17.0)
    uneven = RepresentationClassifier(constraint=CappedSimplex(0.1), alpha=0.1).fit(samples, labels, sample_weight=some)
    assert uneven.solver_.solve(queries).verify().all()
    assert uneven.codes(queries).max() <= 0.1


@pytest.mark.parametrize("name", ["capped_simplex", CappedSimplex(0.2)])
def test_classifiers_take_it_by_name_and_as_an_object(name):
    rng = np.random.default_rng(2)
    labels = np.arange(40) % 2
    samples = rng.normal(size=(40, 5)) + 2.0 * labels[:, None]
    clf = RepresentationClassifier(constraint=name).fit(samples, labels)
    assert clf.score(samples, labels) > 0.9
    other = RepresentationClassifier(constraint=name).set_params(constraint__cap=0.3)
    assert other.fit(samples, labels).codes(samples).max() <= 0.3 + 1e-12
    assert CappedSimplex().cap == RepresentationClassifier(constraint="capped_simplex").fit(
        samples, labels).solver_.problem.constraint.cap  # fmt: skip


@pytest.mark.parametrize(
    ("cap", "options", "message"),
    [
        (0.2, {}, r"CappedSimplex\(cap=0.2\) needs at least 5 atoms, got 3"),
        (0.2, {"solver": "admm"}, r"CappedSimplex\(cap=0.2\) needs at least 5 atoms, got 3"),
        (0.0, {}, "the cap of CappedSimplex must be a number above 0, got 0.0"),
        (float("nan"), {}, "must be a number above 0, got nan"),
        ("a", {}, "must be a number above 0, got 'a'"),
        (0.5, {"exclude": np.array([[True, True, False]] * 2)}, "exclude leaves query 0 1 atoms, .* over at least 2"),
    ],
)
def test_what_cannot_be_is_named(cap, options, message):
    with pytest.raises(ValueError, match=message):
        solve(np.eye(3), np.ones((2, 3)), constraint=CappedSimplex(cap), **options)


def test_more_atoms_than_a_gram_matrix_is_kept_for(monkeypatch):
    """Without H of all atoms, that of a few is computed from coordinates."""
    from ancr.solvers.working_set.first_answers import FirstAnswers

    rng = np.random.default_rng(3)
    atoms, queries = rng.normal(size=(60, 10)), rng.normal(size=(8, 10))
    kept = solve(atoms, queries, constraint=CappedSimplex(0.05))
    monkeypatch.setattr(FirstAnswers.__init__, "__defaults__", (None, 0))
    other = solve(atoms, queries, constraint=CappedSimplex(0.05))
    np.testing.assert_allclose(other.toarray(), kept.toarray(), atol=1e-9)
    assert other.verify().all()
