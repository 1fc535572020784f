"""Atoms left out, prices, weights of features and starts, against quadprog on the problem written out."""

import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import quadprog
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from ancr import Locality, Space, prepare, solve
from ancr._core.arrays import dense, to_numpy
from ancr.solvers import Relaxed
from tests.array_libraries import BACKENDS, converter
from tests.rational import minimum, objective, rational

SETS = ("free", "affine", "nonnegative", "simplex")


def best(hessian, linear, constraint, usable):
    """min cᵀHc − 2bᵀc over the atoms that may be used."""
    left = np.flatnonzero(usable)
    hessian, linear, n = hessian[np.ix_(left, left)], linear[left], len(left)
    size = max(np.trace(hessian) / n, np.abs(linear).max())
    system = hessian / size + 1e-13 * np.eye(n), linear / size
    sums, signs = constraint in ("affine", "simplex"), constraint in ("nonnegative", "simplex")
    sides = np.hstack([np.ones((n, int(sums))), np.eye(n)[:, : n * signs]])
    bounds = np.concatenate([np.ones(int(sums)), np.zeros(n * signs)])
    part = quadprog.solve_qp(*system, sides, bounds, meq=int(sums))[0] if sides.shape[1] else np.linalg.solve(*system)
    part = np.maximum(part, 0.0) if signs else part
    code = np.zeros(len(usable))
    code[left] = part / part.sum() if sums else part
    return code


def drawn(seed, constraint):
    """Atoms, queries, a mask, prices and weights of a random problem; every third one is degenerate."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 25)), int(rng.integers(1, 12))
    atoms, queries = rng.normal(size=(n, d)), rng.normal(size=(3, d))
    if seed % 3 == 0:  # equal atoms, and a query that is one
        atoms[n // 2 :], queries[0] = atoms[: n - n // 2], atoms[0]
    mask = rng.random((3, n)) < 0.3
    mask[:, rng.integers(n)] = False
    prices = rng.normal(size=(3, n)) * rng.choice([0.01, 1.0, 30.0])
    alpha = float(rng.choice([1e-3, 0.1, 10.0])) if constraint in ("free", "affine") or seed % 2 else 0.0
    prices = prices if alpha or constraint == "simplex" else abs(prices)
    return atoms, queries, mask, prices, rng.random(d) + 0.1, alpha


def check(solution, atoms, queries, mask, prices, weights, alpha, constraint):
    """Codes are as good as quadprog's, and no claim is below the truth."""
    codes = solution.toarray().astype(float)
    scale = to_numpy(solution.problem.scale(solution.queries, solution.sorted_codes)).astype(float)
    single = "float32" in str(solution.problem.dictionary.dtype)
    for i, (query, code) in enumerate(zip(queries, codes, strict=True)):

        def objective(c, query=query, own=prices[i]):
            return ((query - c @ atoms) ** 2 * weights).sum() + alpha * (c**2).sum() + own @ c

        hessian, linear = (atoms * weights) @ atoms.T + alpha * np.eye(len(atoms)), (atoms * weights) @ query
        optimum = objective(best(hessian, linear - prices[i] / 2, constraint, ~mask[i]))
        size = max(abs(optimum), abs(prices[i]).max(), (query**2).sum())
        assert objective(code) <= optimum + (2e-5 if single else 1e-9) * size
        # A gap is relative to no more than this scale.
        assert (
            float(solution.gap[i]) * scale[i] * 101.0 >= objective(code) - optimum - (1e-5 if single else 1e-9) * size
        )
        assert not code[mask[i]].any()
    np.testing.assert_allclose(
        float(solution.objective[0]), objective_of(solution, atoms, queries, prices, weights, alpha)[0],
        rtol=1e-4 if single else 1e-9, atol=1e-4 if single else 1e-9,
    )  # fmt: skip


def objective_of(solution, atoms, queries, prices, weights, alpha):
    """The objective with all its terms, written out."""
    codes = solution.toarray().astype(float)
    misfit = ((queries - codes @ atoms) ** 2 * weights).sum(axis=1)
    return misfit + alpha * (codes**2).sum(axis=1) + (prices * codes).sum(axis=1)


@pytest.mark.parametrize("constraint", SETS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_option_at_once(constraint, dtype):
    for seed in range(8):
        atoms, queries, mask, prices, weights, alpha = drawn(seed, constraint)
        atoms, queries = atoms.astype(dtype), queries.astype(dtype)
        options = {"exclude": mask, "prices": prices, "feature_weight": weights, "start": (~mask) / len(atoms)}
        solution = solve(atoms, queries, alpha=alpha, constraint=constraint, **options)
        check(solution, *map(np.float64, (atoms, queries)), mask, prices, weights, alpha, constraint)
        if dtype == np.float64:
            assert solution.verify().all()


@pytest.mark.parametrize("library", BACKENDS[1:])
@pytest.mark.parametrize("constraint", SETS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_on_other_arrays(library, constraint, dtype):
    check_on(converter(library), constraint, dtype)


def check_on(convert, constraint, dtype):
    """All options together on arrays of another library, against the oracle."""
    for seed in range(3):
        atoms, queries, mask, prices, weights, alpha = drawn(seed, constraint)
        atoms, queries = atoms.astype(dtype), queries.astype(dtype)
        options = {"exclude": mask, "prices": prices, "feature_weight": weights}
        solution = solve(convert(atoms), convert(queries), alpha=alpha, constraint=constraint, **options)
        assert to_numpy(solution.sorted_codes).dtype == dtype
        check(solution, *map(np.float64, (atoms, queries)), mask, prices, weights, alpha, constraint)


def test_placebos_are_one_call():
    """Each donor over the others, by its position: the same as solving over the others alone."""
    donors = np.random.default_rng(0).normal(size=(12, 6))
    together = prepare(donors, alpha=1e-3).solve(donors, exclude=np.arange(12))
    assert together.verify().all()
    for i in range(12):
        left = np.delete(np.arange(12), i)
        np.testing.assert_allclose(
            together.toarray()[i, left], solve(donors[left], donors[[i]]).toarray()[0], atol=1e-9
        )


def test_masks_positions_and_labels_mean_the_same():
    rng = np.random.default_rng(1)
    atoms, queries, own = rng.normal(size=(9, 4)), rng.normal(size=(3, 4)), np.array([2, -1, 7])
    mask = np.arange(9) == own[:, None]
    prices = rng.random(9)
    expected = solve(atoms, queries, exclude=own, prices=prices).toarray()
    for same in (mask, sparse.csr_array(mask)):
        solution = solve(atoms, queries, exclude=same, prices=np.tile(prices, (3, 1)), labels=np.arange(9) % 3)
        np.testing.assert_allclose(solution.toarray(), expected, atol=1e-12)
        assert (solution.tocsr() != solution.codes).nnz == 0


def test_locality_is_the_penalty_of_distances():
    rng = np.random.default_rng(2)
    atoms, queries = rng.normal(size=(9, 4)) + 3.0, rng.normal(size=(3, 4)) + 3.0
    apart = ((queries[:, None, :] - atoms) ** 2).sum(axis=2)
    near, written = (solve(atoms, queries, prices=prices) for prices in (Locality(0.5), 0.5 * apart))
    np.testing.assert_allclose(near.toarray(), written.toarray(), atol=1e-9)
    np.testing.assert_allclose(near.objective, written.objective)


@pytest.mark.parametrize("constraint", ["affine", "simplex"])
@pytest.mark.parametrize("distance", [0.0, 1.0, 1e7, 1e13])
def test_locality_far_from_the_atoms_is_a_difference(distance, constraint):
    """Of ‖x − y‖² a double keeps nothing that depends on x at 1e13 times the atoms' distances."""
    rng = np.random.default_rng(5)
    atoms, query = rng.normal(size=(5, 3)), rng.normal(size=3) * distance
    solution = solve(atoms, query[None], alpha=0.5, constraint=constraint, prices=Locality(0.25))
    gap = solution.gap[0] * solution.problem.scale(solution.queries, solution.sorted_codes)[0]
    x, y = rational(atoms), rational(query)
    H = [[sum(a * b for a, b in zip(u, v, strict=True)) + Fraction(i == j, 2) for j, v in enumerate(x)]
         for i, u in enumerate(x)]  # fmt: skip
    apart = [sum((a - b) ** 2 for a, b in zip(u, y, strict=True)) for u in x]
    b = [sum(p * q for p, q in zip(u, y, strict=True)) - far / 8 for u, far in zip(x, apart, strict=True)]
    code = rational(np.asarray(dense(solution.codes))[0])
    total = sum(code)
    code = [c / total for c in code] if constraint == "simplex" else [c + (1 - total) / 5 for c in code]
    excess = float(objective(H, b, code) - minimum(H, b, constraint == "simplex", True))
    assert excess <= gap * (1.0 + 1e-9)
    assert constraint == "affine" or solution.verify()[0]


def test_a_wrong_code_has_a_gap_that_covers_prices_and_exclusions():
    rng = np.random.default_rng(3)
    atoms, queries, prices = rng.normal(size=(8, 4)), rng.normal(size=(5, 4)), rng.normal(size=(5, 8))
    mask = rng.random((5, 8)) < 0.3
    for constraint, alpha in (("simplex", 0.0), ("simplex", 0.1), ("nonnegative", 0.1), ("affine", 0.1)):
        right = solve(atoms, queries, alpha=alpha, constraint=constraint, exclude=mask, prices=prices)
        even = (~mask) / (~mask).sum(axis=1, keepdims=True)
        wrong = type(right)(even, right.n_iter, right.converged, right.problem, right.queries)
        assert (wrong.gap * right.problem.scale(wrong.queries, even) >= wrong.objective - right.objective - 1e-9).all()
        used = type(right)(np.full((5, 8), 0.125), right.n_iter, right.converged, right.problem, right.queries)
        assert (used.violation[mask.any(axis=1)] >= 0.125).all()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("atom", [0, 3])
@pytest.mark.parametrize("share", [2.0**-12, 2.0**-20])
def test_a_nearly_right_code_is_bounded_closely(seed, atom, share):
    """Pulls alone prove a hundred times what such a code is above the optimum; far codes get no more."""
    rng = np.random.default_rng(seed)
    atoms, query, mask = rng.integers(-9, 10, (5, 3)) / 4.0, rng.integers(-9, 10, (1, 3)) / 4.0, np.zeros((1, 5), bool)
    mask[0, 1] = seed % 2
    right = solve(atoms, query, alpha=0.0, constraint="simplex", exclude=mask)
    code = (1.0 - share) * right.toarray() + share * (np.arange(5) == atom)
    near = type(right)(code, right.n_iter, right.converged, right.problem, right.queries)
    x, y, c = (rational(values) for values in (atoms[~mask[0]], query[0], code[0][~mask[0]]))
    H = [[sum(p * q for p, q in zip(u, v, strict=True)) for v in x] for u in x]
    b = [sum(p * q for p, q in zip(u, y, strict=True)) for u in x]
    c = [value / sum(c) for value in c]
    excess, scale = float(objective(H, b, c) - minimum(H, b, True, True)), right.problem.scale(near.queries, code)[0]
    claimed = near.gap[0] * min(scale, 100.0 * near.objective[0])
    near_enough = share < 2.0**-12  # an objective of zero is then below what rounding hides, which counts in its place
    assert excess <= claimed * (1.0 + 1e-9) + (1e-12 * scale if near_enough else 1e-15)
    if near_enough:
        assert claimed <= 2.0 * excess + 1e-10 * scale


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"exclude": [0, 5]}, "positions of atoms from 0 to 2"),
        ({"exclude": np.zeros((1, 3), bool)}, r"mask of shape \(2, 3\)"),
        ({"exclude": np.ones((2, 3), bool)}, "leaves query 0 without atoms"),
        ({"prices": [1.0, 2.0]}, r"prices must have shape \(3,\)"),
        ({"prices": [1.0, 2.0, np.nan]}, "prices contains NaN"),
        ({"prices": [1.0, 2.0, 3.0], "solver": "admm"}, "it takes no prices"),
        ({"prices": [1.0, 2.0, 3.0], "constraint": "free", "alpha": 0.0}, "need alpha > 0"),
        ({"prices": [1.0, 2.0, 3.0], "constraint": "nonnegative", "quadratic": "l1"}, "quadratic='l1'"),
        ({"prices": [-1.0, 2.0, 3.0], "constraint": "nonnegative", "alpha": 0.0}, "at least 0"),
        ({"feature_weight": [1.0, -1.0, 1.0]}, "feature_weight must be 3 numbers"),
        ({"start": np.ones((1, 3))}, r"start must be finite codes of shape \(2, 3\)"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        solve(np.eye(3), np.ones((2, 3)), **options)


def test_an_unknown_name_is_refused():
    with pytest.raises(TypeError, match="unexpected keyword argument 'gamma'"):
        solve(np.eye(3), np.ones((2, 3)), gamma=1.0)


@pytest.mark.parametrize("code", ["c", "z"])
@pytest.mark.parametrize("constraint", ["nonnegative", "simplex"])
def test_a_relaxation_over_the_atoms_left(constraint, code):
    """As over the others alone: objective with the price of the distance, points of the set, certificate."""
    rng = np.random.default_rng(3)
    atoms, queries, own = rng.normal(size=(9, 4)), rng.normal(size=(4, 4)), np.array([2, -1, 7, 2])
    problem = {"alpha": 0.1, "relaxation": 0.3, "constraint": constraint, "solver": Relaxed(code=code)}
    together = solve(atoms, queries, exclude=own, **problem)
    assert together.verify().all()
    for i, left in enumerate(own):
        kept = np.delete(np.arange(9), left) if left >= 0 else np.arange(9)
        alone = solve(atoms[kept], queries[[i]], **problem)
        np.testing.assert_allclose(together.toarray()[i, kept], alone.toarray()[0], atol=1e-9)
        np.testing.assert_allclose(dense(together.members)[i, kept], dense(alone.members)[0], atol=1e-9)
        assert together.objective[i] == pytest.approx(alone.objective[0], rel=1e-9)


def test_codes_that_overflow_by_a_price_are_not_converged():
    atoms, queries = np.eye(3, dtype=np.float32), np.ones((1, 3), np.float32)
    with np.errstate(over="ignore"):
        solution = solve(atoms, queries, alpha=1e-3, constraint="free", prices=np.full(3, 1e60))
    assert not solution.converged.any()
    assert not solution.verify().any()


def test_blocks_give_what_one_call_gives(tmp_path):
    """Queries, masks and codes in memory maps; what is asked for goes with its queries."""
    rng = np.random.default_rng(4)
    atoms, mask, prices = rng.normal(size=(7, 5)), rng.random((40, 7)) < 0.2, rng.random((40, 7))
    np.save(tmp_path / "queries.npy", rng.normal(size=(40, 5)))
    queries = np.load(tmp_path / "queries.npy", mmap_mode="r")
    mask[:, 0] = False
    coder = prepare(atoms, alpha=0.1)
    for options in (
        {},
        {"exclude": mask, "prices": prices, "start": rng.dirichlet(np.ones(7), size=40)},
        {"exclude": sparse.csr_array(mask), "prices": prices[0], "start": coder.solve(queries)},
        {"exclude": rng.integers(-1, 7, size=40), "prices": Locality(0.1)},
    ):
        codes = np.lib.format.open_memmap(tmp_path / "codes.npy", "w+", shape=(40, 7))
        for rows, solution in coder.blocks(queries, size=16, **options):
            codes[rows] = solution.toarray()
            assert solution.verify().all()
        np.testing.assert_allclose(codes, coder.solve(queries, **options).toarray(), atol=1e-9)


@pytest.mark.parametrize("library", BACKENDS[1:])
def test_blocks_of_other_arrays(library):
    rng, convert = np.random.default_rng(4), converter(library)
    atoms, queries, mask, prices = (rng.normal(size=shape) for shape in ((7, 5), (40, 5), (40, 7), (40, 7)))
    coder = prepare(convert(atoms), alpha=0.1)
    for excluded in (convert(mask > 0.5), sparse.coo_array(mask > 0.5)):
        options = {"exclude": excluded, "prices": convert(prices)}
        codes = [solution.toarray() for _, solution in coder.blocks(convert(queries), size=16, **options)]
        np.testing.assert_allclose(np.vstack(codes), coder.solve(convert(queries), **options).toarray(), atol=1e-9)


def test_prices_of_independent_atoms_need_no_ridge_for_a_proof():
    """A ridge that is lost in the rounding of H is as good as none, and prices lead nowhere that H does not see."""
    rng = np.random.default_rng(6)
    atoms, queries, prices = rng.normal(size=(5, 20)) * 1e8, rng.normal(size=(3, 20)) * 1e8, rng.normal(size=5)
    for constraint in ("free", "affine"):
        assert solve(atoms, queries, alpha=1e-3, constraint=constraint, prices=prices).verify().all()
        twice = solve(np.vstack([atoms, atoms]), queries, alpha=1e-3, constraint=constraint, prices=np.arange(10.0))
        assert not twice.verify().any()


@pytest.mark.skipif(sys.platform != "linux", reason="counts pages as Linux does")
def test_blocks_hold_no_memory_of_a_map_that_was_read(tmp_path):
    rng = np.random.default_rng(4)
    np.save(tmp_path / "queries.npy", rng.normal(size=(16_000, 200)))  # 24 MiB
    queries, coder = np.load(tmp_path / "queries.npy", mmap_mode="r"), prepare(rng.normal(size=(3, 200)))
    next(coder.blocks(queries[:1000]))  # compiled, and loaded

    def mapped():
        status = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
        return next(int(line.split()[1]) for line in status if line.startswith("RssFile")) / 2**10

    before = mapped()
    most = max(mapped() - before for _ in coder.blocks(queries, size=1000))
    assert most < 12.0


def test_changes_of_a_map_that_keeps_them_to_itself_are_not_lost(tmp_path):
    np.save(tmp_path / "queries.npy", np.ones((2000, 50)))
    queries = np.load(tmp_path / "queries.npy", mmap_mode="c")
    queries[:] = 2.0
    for _ in prepare(np.eye(50)[:3]).blocks(queries, size=500):
        pass
    assert (np.asarray(queries) == 2.0).all()


def test_prices_of_as_many_atoms_as_queries_are_those_of_the_atoms():
    rng = np.random.default_rng(5)
    atoms, queries, prices = rng.normal(size=(6, 4)), rng.normal(size=(6, 4)), rng.random(6)
    coder = prepare(atoms)
    found = [solution.toarray() for _, solution in coder.blocks(queries, prices=prices, size=4)]
    np.testing.assert_allclose(np.vstack(found), coder.solve(queries, prices=prices).toarray(), atol=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 0}, "size must be a whole number"),
        ({"exclude": [0, 1]}, "exclude must have a row for each of 3 queries, got 2"),
        ({"prices": np.ones((4, 3))}, "prices must have a row for each of 3 queries, got 4"),
    ],
)
def test_bad_options_of_blocks_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        next(prepare(np.eye(3)).blocks(np.ones((3, 3)), **options))


@pytest.mark.parametrize("constraint", ["nonnegative", "simplex"])
@pytest.mark.parametrize("library", BACKENDS)
def test_kernels_take_prices_and_exclusions(constraint, library):
    """Codes over K from a kernel, of atoms that are given once and twice, against quadprog."""
    convert = converter(library)
    for seed in range(2):
        atoms, queries, mask, prices, _, _ = drawn(seed, constraint)
        options = {"exclude": mask, "prices": prices, "space": Space("rbf", gamma=0.3, normalize=False)}
        solution = solve(convert(atoms), convert(queries), alpha=0.1, constraint=constraint, **options)
        assert np.asarray(solution.verify()).all()
        hessian = rbf_kernel(atoms, gamma=0.3) + 0.1 * np.eye(len(atoms))
        linear = rbf_kernel(queries, atoms, gamma=0.3) - prices / 2.0

        def objective(code, i, hessian=hessian, linear=linear):
            return code @ hessian @ code - 2.0 * linear[i] @ code

        for i, code in enumerate(solution.toarray()):
            optimum = best(hessian, linear[i], constraint, ~mask[i])
            assert objective(code, i) <= objective(optimum, i) + 1e-9 * (1.0 + abs(prices[i]).max())
            assert not code[mask[i]].any()


@pytest.mark.parametrize("constraint", SETS)
def test_history_ends_at_the_objective_with_its_terms(constraint):
    atoms, queries, mask, prices, weights, _ = drawn(1, constraint)
    options = {"exclude": mask, "prices": prices, "feature_weight": weights, "history": True}
    solution = solve(atoms, queries, alpha=0.1, constraint=constraint, **options)
    np.testing.assert_allclose(
        solution.history[-1], objective_of(solution, atoms, queries, prices, weights, 0.1), rtol=1e-9, atol=1e-9
    )


def test_locality_needs_distances():
    """Without k(y, y) they were made up, and the code was certified for other prices."""
    atoms, queries = np.random.default_rng(0).normal(size=(2, 5, 3))
    products = {"atoms": atoms @ atoms.T, "queries": queries @ atoms.T, "space": "precomputed", "alpha": 0.1}
    with pytest.raises(ValueError, match=r"Locality\(0.5\) needs distances"):
        solve(**products, constraint="nonnegative", prices=Locality(0.5))
    apart = 0.5 * ((queries[:, None] - atoms) ** 2).sum(axis=2)
    found, expected = solve(**products, prices=apart), solve(atoms, queries, alpha=0.1, prices=Locality(0.5))
    np.testing.assert_allclose(found.toarray(), expected.toarray(), atol=1e-9)


def test_weighted_atoms_beyond_single_precision_are_refused():
    atoms = np.array([[1e38, 1.0], [1.0, 2.0]], np.float32)
    with pytest.raises(ValueError, match="feature_weight are beyond the range of float32"):
        solve(atoms, atoms, feature_weight=[100.0, 1.0])
