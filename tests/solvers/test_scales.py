"""Offsets, units and extreme numbers: the same code, or an honest answer that there is none."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import nnls
from sklearn.datasets import load_digits

import ancr
from ancr import ACRClassifier, ANCRClassifier, Locality, Space, solve
from ancr.certificate.hessian import Hessian
from ancr.certificate.rounding import BoundContext, LongBoundContext
from ancr.dictionary.mercer import RBF
from ancr.solvers import ADMM
from tests.rational import objective, rational

SETS = ["simplex", "nonnegative", "free", "affine"]


def dense(codes):
    return codes.toarray() if hasattr(codes, "toarray") else np.asarray(codes)


def halves(offset=0.0, dtype="float64"):
    X, y = load_digits(return_X_y=True)
    X = (X / 16.0 + offset).astype(dtype)
    return X[::2], y[::2], X[1::2], y[1::2]


def in_long_double(atoms, queries, codes, alpha):
    """The objective from differences, for codes scaled to sum to one."""
    codes = dense(codes).astype(np.longdouble)
    codes /= codes.sum(axis=1, keepdims=True)
    origin = atoms[0].astype(np.longdouble)
    misfit = (queries - origin) - codes @ (atoms - origin)
    return (misfit**2).sum(axis=1) + alpha * (codes**2).sum(axis=1)


@pytest.mark.parametrize(
    ("dtype", "offset", "most"),
    [("float64", 1e4, 1e-6), ("float32", 1e3, 1e-3), ("float32", 1e4, 1e-3)],
)
def test_an_offset_changes_neither_code_nor_certificate(dtype, offset, most):
    atoms, _, queries, _ = halves(offset, dtype)
    queries = queries[:300]
    solution = solve(atoms, queries, alpha=1e-3)
    back = atoms.astype(float) - offset, queries.astype(float) - offset
    best = solve(*back, alpha=1e-3)
    values = [in_long_double(*back, codes, 1e-3) for codes in (solution.codes, best.codes)]
    assert ((values[0] - values[1]) / values[1]).max() <= most
    assert solution.verify().all()
    assert solution.converged.all()


@pytest.mark.parametrize(("dtype", "offset"), [("float64", 1e4), ("float32", 1e3)])
@pytest.mark.parametrize("kind", [ANCRClassifier, ACRClassifier])
@pytest.mark.parametrize("rule", ["res", "label"])
def test_an_offset_changes_no_label(dtype, offset, kind, rule):
    plain = kind(space=Space(normalize=False), rule=rule)
    X, y, queries, _ = halves(0.0, dtype)
    labels = plain.fit(X, y).predict(queries)
    X, y, queries, _ = halves(offset, dtype)
    np.testing.assert_array_equal(plain.fit(X, y).predict(queries), labels)


def test_residuals_do_not_depend_on_an_offset_that_the_problem_does_not_see():
    X, y, queries, _ = halves()
    near = ANCRClassifier(space=Space(normalize=False)).fit(X, y).residuals(queries[:50])
    far = ANCRClassifier(space=Space(normalize=False)).fit(X + 100.0, y).residuals(queries[:50] + 100.0)
    np.testing.assert_allclose(far, near, atol=1e-9)


@pytest.mark.parametrize("constraint", SETS)
@pytest.mark.parametrize(
    ("dtype", "units"),
    [("float64", u) for u in (1e-300, 1e-155, 1e-30, 1e30, 1e140, 1e154, 1e300)]
    + [("float32", u) for u in (1e-35, 1e-30, 1e30, 1e35)],
)
def test_units_change_no_code(constraint, dtype, units):
    rng = np.random.default_rng(0)
    atoms, queries = (rng.standard_normal(shape).astype(dtype) for shape in ((20, 30), (7, 30)))
    expected = solve(atoms, queries, alpha=0.0, constraint=constraint)
    solution = solve(atoms * np.array(units, dtype), queries * np.array(units, dtype), alpha=0.0, constraint=constraint)
    wanted = dense(expected.codes)
    tol = 1e-9 if dtype == "float64" else 2e-3
    np.testing.assert_allclose(dense(solution.codes), wanted, atol=tol * np.abs(wanted).max())
    assert solution.verify().all()


@pytest.mark.parametrize("constraint", SETS)
def test_subnormal_numbers(constraint):
    rng = np.random.default_rng(1)
    atoms, queries = (np.rint(rng.standard_normal(shape) * 100) for shape in ((40, 10), (7, 10)))
    tiny = 1e-320  # integers times the smallest numbers that are left
    solution = solve(atoms * tiny, queries * tiny, alpha=0.0, constraint=constraint)
    assert np.isfinite(dense(solution.codes)).all()
    assert solution.verify().all()


@pytest.mark.parametrize("constraint", ["simplex", "nonnegative"])
@pytest.mark.parametrize("alpha", [0.0, 1e-3])
@pytest.mark.parametrize("ratio", [1e-150, 1e-16, 1e16, 1e150, -1e16, -1e150])
def test_queries_far_longer_or_shorter_than_the_atoms(constraint, alpha, ratio):
    rng = np.random.default_rng(2)
    atoms, queries = rng.standard_normal((40, 10)), rng.standard_normal((7, 10))
    solution = solve(atoms, ratio * queries, alpha=alpha, constraint=constraint)
    assert np.isfinite(dense(solution.codes)).all()
    assert solution.converged.all()
    assert solution.verify().all()


def test_queries_whose_squares_overflow_are_refused():
    rng = np.random.default_rng(2)
    with pytest.raises(ValueError, match="queries must be at most 1e150 times as long as the atoms"):
        solve(rng.standard_normal((40, 10)), 1e200 * rng.standard_normal((7, 10)))


@pytest.mark.parametrize("constraint", SETS)
@pytest.mark.filterwarnings("ignore:.*could not be certified")
def test_atom_norms_over_twenty_decades(constraint):
    rng = np.random.default_rng(3)
    for seed in range(20):
        atoms = rng.standard_normal((40, 10)) * 10.0 ** rng.uniform(-10, 10, (40, 1))
        solution = solve(atoms, rng.standard_normal((7, 10)), alpha=[0.0, 1e-3][seed % 2], constraint=constraint)
        assert np.isfinite(dense(solution.codes)).all()
        if constraint in ("simplex", "nonnegative"):  # a closed form makes no test
            assert (solution.verify() | ~solution.converged).all()


@pytest.mark.filterwarnings("ignore:.*could not be certified")
def test_a_relaxation_over_twelve_decades_is_not_certified_wrongly():
    rng = np.random.default_rng(4)
    for _ in range(30):
        atoms = rng.standard_normal((20, 8)) * 10.0 ** rng.uniform(-6, 6, (20, 1))
        queries = 1e6 * rng.standard_normal((5, 8))
        solution = solve(atoms, queries, alpha=1e-3, relaxation=1.0)
        # The best c for z = a corner of the simplex is a feasible pair: no optimum is above it.
        half, ridge = 0.5, 1e-3
        inverse = np.linalg.inv(atoms @ atoms.T + (half + ridge) * np.eye(20))
        corner = np.eye(20)[np.zeros(5, int)]
        c = (queries @ atoms.T + half * corner) @ inverse
        other = ((queries - c @ atoms) ** 2).sum(1) + ridge * (c**2).sum(1) + half * ((c - corner) ** 2).sum(1)
        scale = np.maximum((queries**2).sum(axis=1), solution.objective)
        assert ((solution.objective - other) / scale <= solution.gap + 1e-12)[solution.verify()].all()


@pytest.mark.parametrize("constraint", ["simplex", "nonnegative"])
def test_extreme_relaxations(constraint):
    rng = np.random.default_rng(5)
    atoms, queries = rng.standard_normal((40, 10)), rng.standard_normal((7, 10))
    with pytest.raises(ValueError, match="relaxation=1e-300 is too small relative to"):
        solve(atoms, queries, constraint=constraint, relaxation=1e-300)
    hard, soft = (solve(atoms, queries, constraint=constraint, relaxation=r) for r in (None, 1e300))
    assert soft.verify().all()
    np.testing.assert_allclose(dense(soft.codes), dense(hard.codes), atol=1e-10)


def test_rank_deficient_atoms_without_a_ridge():
    """Non-negative weights reach a whole subspace: nothing pulls, which is the proof."""
    rng = np.random.default_rng(6)
    basis = rng.standard_normal((4, 20))
    atoms, queries = rng.standard_normal((60, 4)) @ basis, rng.standard_normal((30, 20))
    nearest = queries @ np.linalg.pinv(basis) @ basis
    for constraint in ("nonnegative", "free"):
        solution = solve(atoms, queries, alpha=0.0, constraint=constraint)
        np.testing.assert_allclose(solution.objective, ((queries - nearest) ** 2).sum(axis=1), rtol=1e-10)
        assert solution.verify().all()


@pytest.mark.parametrize("constraint", SETS)
def test_a_claimed_gap_is_never_below_the_truth(constraint):
    """Large codes, nearly dependent atoms: the case in which rounding decides."""
    rng = np.random.default_rng(7)
    for _ in range(20):
        base = rng.standard_normal((3, 12))
        atoms = np.vstack([base, base + 1e-5 * rng.standard_normal((3, 12)), rng.standard_normal((6, 12))])
        queries = rng.standard_normal((3, 12))
        solution = solve(atoms, queries, alpha=1e-9, constraint=constraint)
        rough = solve(atoms, queries, alpha=1e-9, constraint=constraint, tol=1e-2)
        scale = rough.problem.scale(rough.queries, rough.codes)
        assert ((rough.objective - solution.objective) / scale <= rough.gap + 1e-13).all()


@pytest.mark.parametrize("constraint", ["simplex", "nonnegative"])
@pytest.mark.parametrize("alpha", [0.0, 1e-3])
def test_what_a_step_refutes_is_above_the_optimum(constraint, alpha):
    """Codes between the optimum and an atom, by shares over twelve decades."""
    rng = np.random.default_rng(3)
    atoms, shares = np.abs(rng.standard_normal((80, 12))), np.logspace(-12, -0.5, 40)
    best = solve(atoms, np.repeat(np.abs(rng.standard_normal((1, 12))), 40, axis=0), alpha=alpha, constraint=constraint)
    codes = best.toarray() + shares[:, None] * (np.eye(80)[rng.integers(0, 80, 40)] - best.toarray())
    hessian = Hessian(best.problem)
    context = BoundContext(hessian, hessian.form.queries(best.queries), codes)
    long = atoms.astype(np.longdouble)
    values = [
        ((best.queries.rows - one @ long) ** 2).sum(axis=1) + alpha * (one**2).sum(axis=1)
        for one in (codes.astype(np.longdouble), best.toarray().astype(np.longdouble))
    ]
    refuted = np.asarray(context.is_refuted)
    assert (values[0] - values[1] > context.tolerated)[refuted].all()
    assert refuted[shares > 0.01].all()
    assert not refuted[shares < 1e-9].any()


def test_codes_that_a_step_refutes_are_looked_at_once(monkeypatch):
    def looked_at(*arguments):
        raise AssertionError("a code that cannot be certified was looked at again")

    monkeypatch.setattr("ancr.certificate.bounds.step_on_support", looked_at)
    X = load_digits().data / 16.0
    for problem in ({"alpha": 1e-3}, {"alpha": 0.0, "constraint": "nonnegative"}):
        rough = solve(X[:300], X[300:340], solver=ADMM(rho=0.01, max_iter=5), **problem)
        assert (rough.gap > 1e-4).all()


def test_short_atoms_are_not_overlooked_on_the_orthant():
    """A weak pull of a short atom can lower the objective as much as a strong pull of a long one."""
    rng = np.random.default_rng(0)
    atoms = rng.standard_normal((6, 8)) * np.geomspace(1e2, 1e-4, 6)[:, None]
    queries = rng.standard_normal((20, 8)) * 100.0
    for dtype in (np.float64, np.float32):
        given, asked = atoms.astype(dtype), queries.astype(dtype)
        solution = solve(given, asked, alpha=0.0, constraint="nonnegative")
        best = [nnls(given.T.astype(float), query.astype(float))[1] ** 2 for query in asked]
        np.testing.assert_allclose(solution.objective, best, rtol=1e-5)


@pytest.mark.parametrize("constraint", ["free", "affine"])
@pytest.mark.parametrize("alpha", [1e-8, 1e-3])
def test_codes_in_single_precision_are_certified_on_ill_conditioned_problems(constraint, alpha):
    rng = np.random.default_rng(1)
    atoms = (rng.standard_normal((30, 3)) @ rng.standard_normal((3, 12)) + 5.0).astype(np.float32)
    queries = rng.standard_normal((7, 12)).astype(np.float32)
    assert solve(atoms, queries, alpha=alpha, constraint=constraint).verify(tol=1e-5).all()


def test_a_query_equal_to_one_of_nearly_parallel_atoms():
    """Refinement must not move one of two nearly dependent weights without the other."""
    rng = np.random.default_rng(2)
    atoms = 1e6 * rng.standard_normal(10) + rng.standard_normal((8, 10))
    solution = solve(atoms, atoms, alpha=0.0, constraint="nonnegative", quadratic="least_squares")
    assert (solution.objective <= 1e-12 * (atoms**2).sum(axis=1)).all()


def test_a_short_atom_is_not_taken_for_rounding():
    """The numerical rank counts what is lost beside the atom itself, not beside the longest."""
    atoms = np.eye(60)
    atoms[-1] *= 1e-14
    for constraint in ("free", "nonnegative"):
        solution = solve(atoms, np.eye(60)[-1:], constraint=constraint, quadratic="least_squares")
        assert solution.objective[0] < 1e-8 or not solution.verify().any()


def test_a_face_of_the_orthant_is_proved():
    """Atoms that pull have the origin in their hull, and there are others."""
    atoms = np.array([[1.0, 0.0, 0.0], [-1.1, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -1.0, -1.3]])
    solution = solve(atoms, [[0.3, 0.9, 0.7]], constraint="nonnegative", quadratic="least_squares")
    assert solution.objective[0] == pytest.approx(0.49)
    assert solution.verify().all()


def test_inner_products_alone_certify_no_wrong_code():
    """k(y, y) is not known, so that the objective cannot bound its own gap."""
    rng = np.random.default_rng(0)
    atoms, queries = rng.standard_normal((6, 9)), 3.0 * rng.standard_normal((5, 9))
    options = {"constraint": "nonnegative", "quadratic": "least_squares", "space": "precomputed"}
    early = solve(atoms @ atoms.T, queries @ atoms.T, solver=ADMM(rho=1.0, max_iter=3), **options)
    best = solve(atoms @ atoms.T, queries @ atoms.T, **options)
    assert not early.verify().any()
    assert best.verify().all()


def test_codes_outside_their_set_are_judged_inside():
    atoms, query = np.array([[1e12, 0.0], [1.0, 1.0]]), np.array([[0.0, 1.0]])
    solution = solve(atoms, query, constraint="nonnegative", quadratic="least_squares")
    outside = replace(solution, sorted_codes=np.array([[-1e-12, 1.0]]))
    assert not outside.verify().any()
    assert solution.verify().all()


def test_rbf_values_of_clusters_far_apart():
    rng = np.random.default_rng(0)
    near, far = rng.standard_normal((10, 3)), rng.standard_normal((10, 3)) + 1e7
    X = np.vstack([near, far])
    values = RBF(1.0)(X, X)
    np.testing.assert_allclose(values[:10, :10], RBF(1.0)(near, near), rtol=1e-9)
    np.testing.assert_allclose(values[10:, 10:], RBF(1.0)(far - 1e7, far - 1e7), rtol=1e-6)


@pytest.mark.parametrize(("dtype", "scales"), [(np.float64, (1e-300, 1e160, 1e300)), (np.float32, (1e-35, 1e35))])
@pytest.mark.parametrize("name", ["ACR", "ANCR", "CCRC", "CRC", "CROC", "NCR", "NRC", "NSC", "ProCRC"])
def test_labels_without_unit_norm_at_any_scale(name, dtype, scales):
    X, y = load_digits(return_X_y=True)
    clf = getattr(ancr, f"{name}Classifier")(space=Space(normalize=False))
    clf.set_params(**{"alpha": 0.0} if "alpha" in clf.get_params() else {})
    labels = clf.fit(X[:200].astype(dtype), y[:200]).predict(X[200:240].astype(dtype))
    for scale in scales:
        clf.fit((scale * X[:200]).astype(dtype), y[:200])
        queries = (scale * X[200:240]).astype(dtype)
        assert (clf.predict(queries) != labels).sum() <= 1  # ties are decided by rounding
        assert np.isfinite(clf.predict_proba(queries)).all()


def test_decisions_about_queries_whose_squares_overflow_are_refused():
    X, y = load_digits(return_X_y=True)
    clf = ancr.CRCClassifier(space=Space(normalize=False)).fit(X[:100], y[:100])
    with pytest.raises(ValueError, match="squares of the queries exceed float64; rescale"):
        clf.predict(1e300 * X[100:103])


def test_iterates_that_leave_the_range_are_told():
    atoms = np.array([[-0.6], [-1.3]]) * 1e105
    with pytest.raises(ValueError, match="solver='admm': iterates have left the range"), np.errstate(all="ignore"):
        ancr.solve(atoms, 0.7 * atoms, alpha=1e207, solver=ADMM(max_iter=5))


@pytest.mark.parametrize("exponent", [*range(92, 108), *range(-108, -92)])
def test_a_gap_about_the_query_is_in_the_units_of_the_others(exponent):
    """Around the scales at which atoms about the mean are safe to square, and atoms about a far query are not."""
    rng, scale = np.random.default_rng(0), 2.0**exponent
    atoms, queries = rng.normal(size=(12, 18)), -3.0 * np.abs(rng.normal(size=(2, 18)))
    given = ({"alpha": 1e-2 * f * f, "solver": ADMM(rho=f * f, max_iter=3)} for f in (1.0, scale))
    plain, scaled = (solve(atoms * f, queries * f, **each) for f, each in zip((1.0, scale), given, strict=True))
    np.testing.assert_allclose(scaled.gap, plain.gap, rtol=1e-6)


def test_what_a_step_gains_is_that_of_codes_in_the_set():
    """Codes sum to one up to their last digit, and are moved into the set: by more than a short step may gain."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        atoms, query = rng.standard_normal((3, 1)), rng.standard_normal((1, 1))
        solution = solve(atoms, query, alpha=1e-3)
        hessian = Hessian(solution.problem)
        exact, (y,) = rational(atoms[:, 0]), rational(query[0])
        H = [[a * b + Fraction(1e-3) * (i == j) for j, b in enumerate(exact)] for i, a in enumerate(exact)]
        b = [a * y for a in exact]
        codes = rng.dirichlet(np.ones(3), 1)
        step = 1e-9 * (rng.dirichlet(np.ones(3), 1) - codes)
        before, after = ([x / sum(row) for x in row] for row in (rational(codes[0]), rational((codes + step)[0])))
        fall = objective(H, b, before) - objective(H, b, after)
        parts = (hessian, hessian.form.queries(solution.queries), codes)
        long = solution.queries.seen_by(hessian.long_dictionary).rows
        for one in (BoundContext(*parts), LongBoundContext(*parts, long_rows=long)):
            assert one.moved(step)[1][0] >= fall


@pytest.mark.parametrize("constraint", ["free", "affine"])
def test_a_ridge_that_vanishes_in_safe_units_is_still_one(constraint):
    """Beside atoms of numerical rank two a ridge of any size decides, and nothing is certified without it."""
    rng = np.random.default_rng(0)
    atoms = rng.standard_normal((8, 2)) @ rng.standard_normal((2, 6))
    queries = rng.dirichlet(np.ones(8), 2) @ atoms + 1e-3 * rng.standard_normal((2, 6))
    for units in (1.0, 1e150):
        assert not solve(atoms * units, queries * units, alpha=1e-150, constraint=constraint).verify().any()
    assert solve(atoms * 1e150, queries * 1e150, alpha=0.0, constraint=constraint).verify().all()


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("constraint", ["nonnegative", "free"])
def test_codes_whose_squares_overflow_cost_nothing_without_a_ridge(constraint):
    atoms, queries = np.full((2, 1), 1e-20, np.float32), np.ones((1, 1), np.float32)
    found = solve(atoms, queries, alpha=0.0, constraint=constraint)
    np.testing.assert_allclose(found.codes.sum(axis=1), 1e20, rtol=1e-6)
    assert found.objective[0] < 1e-6
    assert found.verify().all()


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(
    ("units", "options"),
    [
        (1e100, {"alpha": 1e-12, "constraint": "affine"}),  # reaches every query, beside which the ridge is lost
        (1e100, {"alpha": 1.0, "prices": Locality(0.1)}),
        (1e-161, {"alpha": 1e-6, "constraint": "nonnegative"}),
    ],
)
def test_certificates_at_any_scale_come_without_a_warning(units, options):
    rng = np.random.default_rng(0)
    atoms, queries = np.abs(rng.standard_normal((20, 9))), np.abs(rng.standard_normal((3, 9)))
    solution = solve(units * atoms, units * np.vstack([queries, 3.0 * atoms[:1]]), **options)
    assert not np.isnan(solution.gap).any()
