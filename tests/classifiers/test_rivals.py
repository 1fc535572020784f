"""The rivals against their formulas, written out one query at a time, and on sets for which they are unpublished."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import orthogonal_mp_gram
from sklearn.preprocessing import normalize

import ancr
from ancr import Space
from ancr.solvers import ADMM


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    train, test = np.arange(0, 240), np.arange(240, 270)
    return X[train], y[train], X[test]


def atoms_of(digits):
    X, y, Q = digits
    return normalize(X), y, normalize(Q)


def block_diagonal(atoms, y):
    return atoms @ atoms.T * (y[:, None] == y)


@pytest.mark.parametrize("alpha", [1e-5, 1e-2])
def test_nsc_is_one_ridge_regression_per_class(digits, alpha):
    A, y, Q = atoms_of(digits)
    clf = ancr.NSCClassifier(alpha=alpha).fit(digits[0], digits[1])
    residuals = clf.residuals(digits[2])
    for k in range(10):
        X = A[y == k]
        codes = np.linalg.solve(X @ X.T + alpha * np.eye(len(X)), X @ Q.T).T
        np.testing.assert_allclose(residuals[:, k], np.linalg.norm(Q - codes @ X, axis=1), atol=1e-8)


def test_procrc_and_ccrc_solve_their_normal_equations(digits):
    A, y, Q = atoms_of(digits)
    gram, blocks, n, K = A @ A.T, block_diagonal(A, y), len(A), 10
    lam, gam = 1e-2, 1e-1
    expected = {
        ancr.ProCRCClassifier: np.linalg.solve((gam * (K - 2) + 1) * gram + gam * blocks + lam * np.eye(n), A @ Q.T).T,
        ancr.CCRCClassifier: (1 + gam) * np.linalg.solve(gram + gam * blocks + lam * np.eye(n), A @ Q.T).T,
    }
    for Classifier, codes in expected.items():
        clf = Classifier(alpha=lam, beta=gam).fit(digits[0], digits[1])
        np.testing.assert_allclose(clf.codes(digits[2]), codes, atol=1e-9)


def test_procrc_minimises_what_its_docstring_says(digits):
    A, y, Q = atoms_of(digits)
    lam, gam = 1e-2, 0.3

    def value(c, q):
        parts = [c[y == k] @ A[y == k] for k in range(10)]
        whole = c @ A
        total = np.sum((q - whole) ** 2) + lam * c @ c
        return total + gam * sum(np.sum((whole - part) ** 2) for part in parts)

    clf = ancr.ProCRCClassifier(alpha=lam, beta=gam).fit(digits[0], digits[1])
    code = clf.codes(digits[2][:1])[0]
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert value(code, Q[0]) <= value(code + 1e-3 * rng.standard_normal(len(code)), Q[0])


@pytest.mark.parametrize("Classifier", [ancr.ProCRCClassifier, ancr.CCRCClassifier])
@pytest.mark.parametrize("constraint", ["affine", "nonnegative", "simplex"])
def test_class_terms_on_other_sets(digits, Classifier, constraint):
    X, y, Q = digits
    clf = Classifier(alpha=1e-3, beta=1e-2, constraint=constraint).fit(X, y)
    assert clf.solver_.solve(normalize(Q)).verify(tol=1e-8, feasibility=1e-9).all()


@pytest.mark.parametrize("Classifier", [ancr.ProCRCClassifier, ancr.CCRCClassifier])
@pytest.mark.parametrize("constraint", ["nonnegative", pytest.param("simplex", marks=pytest.mark.all)])
def test_class_terms_with_admm(digits, Classifier, constraint):
    X, y, Q = digits
    settings = {"alpha": 1e-3, "beta": 1e-2, "constraint": constraint}
    exact = Classifier(**settings).fit(X, y).solver_.solve(normalize(Q)).objective
    admm = Classifier(**settings, solver=ADMM(rho=1.0, tol=1e-7, max_iter=20000))
    np.testing.assert_allclose(admm.fit(X, y).solver_.solve(normalize(Q)).objective, exact, atol=1e-6)


def test_src_is_the_lasso(digits):
    clf = ancr.SRCClassifier(alpha=1e-2).fit(digits[0], digits[1])
    solution = clf.solver_.solve(normalize(digits[2]))
    assert solution.gap.max() < 1e-10
    assert solution.converged.all()


@pytest.mark.parametrize("gap", [1e-2, 1e-4])
@pytest.mark.parametrize("features", [8, 64])
def test_interior_point_stops_at_the_gap(digits, gap, features):
    X, y, Q = digits[0][:50, -features:], digits[1][:50], digits[2][:, -features:]
    X, Q = X + 1.0, Q + 1.0  # no row of zeros
    weight = 1e-3
    clf = ancr.SRCClassifier(alpha=weight, solver="interior_point", tol=gap).fit(X, y)
    stopped = clf.solver_.solve(normalize(Q))
    best = ancr.solve(normalize(X), normalize(Q), alpha=weight, constraint="free", quadratic="l1").objective
    assert stopped.converged.all()
    assert np.all(stopped.objective >= best - 1e-12)
    assert np.all(stopped.objective - best <= gap * best + 1e-12)
    assert stopped.n_iter.min() > 1


def test_croc_mixes_the_two_residuals(digits):
    A, y, Q = atoms_of(digits)
    lam, w = 1e-2, 0.3
    clf = ancr.CROCClassifier(alpha=lam, weight=w).fit(digits[0], digits[1])
    together = np.linalg.solve(A @ A.T + lam * np.eye(len(A)), A @ Q.T).T
    expected = np.empty((len(Q), 10))
    for k in range(10):
        X, part = A[y == k], together[:, y == k]
        alone = np.linalg.solve(X @ X.T + 1e-4 * np.eye(len(X)), X @ Q.T).T
        subspace, shared = (np.sum((Q - c @ X) ** 2, axis=1) for c in (alone, part))
        expected[:, k] = ((1 - w) * subspace + w * shared) / np.sum(part**2, axis=1)
    np.testing.assert_allclose(np.exp(-clf.decision_function(digits[2])), expected, rtol=1e-7)
    with pytest.raises(ValueError, match="'weight' parameter of CROCClassifier"):
        ancr.CROCClassifier(weight=1.5).fit(digits[0], digits[1])


@pytest.mark.parametrize("k", [1, 5, 30])
def test_sacrc_adds_matching_pursuit(digits, k):
    A, y, Q = atoms_of(digits)
    clf = ancr.SACRCClassifier(alpha=1e-2, n_nonzero=k).fit(digits[0], digits[1])
    ridge = np.linalg.solve(A @ A.T + 1e-2 * np.eye(len(A)), A @ Q.T).T
    sparse = orthogonal_mp_gram(A @ A.T, A @ Q.T, n_nonzero_coefs=k).T
    np.testing.assert_allclose(clf.codes(digits[2]), ridge + sparse, atol=1e-8)
    sums = np.stack([(ridge + sparse)[:, y == label].sum(axis=1) for label in range(10)], axis=1)
    np.testing.assert_array_equal(clf.predict(digits[2]), sums.argmax(axis=1))


def test_matching_pursuit_stops_when_nothing_is_left():
    X = np.vstack([np.eye(4), np.eye(4)])  # every atom twice
    clf = ancr.SACRCClassifier(n_nonzero=8).fit(X, [0, 0, 0, 0, 1, 1, 1, 1])
    assert np.isfinite(clf.codes(np.eye(4) + 0.1)).all()


def test_matching_pursuit_in_single_precision_and_small_units(digits):
    rng = np.random.default_rng(0)
    X, y, Q = rng.standard_normal((200, 20)), np.arange(200) % 4, rng.standard_normal((50, 20))
    double = ancr.SACRCClassifier().fit(X, y).codes(Q)
    single = ancr.SACRCClassifier().fit(X.astype("f"), y).codes(Q.astype("f"))
    assert np.abs(single).max() < 3 * np.abs(double).max()
    tiny = ancr.SACRCClassifier(space=Space(normalize=False), alpha=1e-17).fit(1e-7 * X, y).codes(1e-7 * Q)
    plain = ancr.SACRCClassifier(space=Space(normalize=False), alpha=1e-3).fit(X, y).codes(Q)
    np.testing.assert_allclose(tiny, plain, atol=1e-6)
