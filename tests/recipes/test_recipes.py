"""Each recipe of CONTRIBUTING.md, run as it is printed there: custom objects wherever a name is accepted."""

import pickle
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import quadprog
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV

from ancr import ANCRClassifier, CCRCClassifier, RepresentationClassifier, RepresentationClassifierCV, Space, solve
from ancr._core.arrays import dense, to_numpy
from ancr.axes.problem import Problem
from ancr.comparison.runner import make_plans
from ancr.paper.experiment import Experiment
from ancr.solvers import ADMM
from tests.array_libraries import BACKENDS, converter
from tests.marks import rarely
from tests.recipes.between_crc_and_nsc import between_crc_and_nsc
from tests.recipes.box import Box
from tests.recipes.dnrc import DNRCClassifier
from tests.recipes.energy import Energy
from tests.recipes.histogram_intersection import histogram_intersection
from tests.recipes.iris import Iris
from tests.recipes.projected_gradient import ProjectedGradient

ROOT = Path(__file__).parents[2]
MOST_LINES = {
    "box": 25,
    "energy": 20,
    "between_crc_and_nsc": 10,
    "projected_gradient": 60,
    "iris": 30,
    "histogram_intersection": 15,
    "dnrc": 25,
}


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:200] / 16, y[:200], X[300:350] / 16, y[300:350]


@pytest.mark.parametrize("name", sorted(MOST_LINES))
def test_recipes_are_short_and_printed_as_they_are(name):
    source = (ROOT / "tests" / "recipes" / f"{name}.py").read_text(encoding="utf-8")
    assert len(source.splitlines()) <= MOST_LINES[name]
    printed = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.DOTALL)
    assert source in printed


def test_a_kernel_of_ones_own_is_solved_certified_and_pickled(digits):
    X, y, Q, truth = digits
    solution = solve(X, Q, space=histogram_intersection, labels=y)
    assert solution.verify().all()
    clf = ANCRClassifier(space=Space(histogram_intersection, normalize=False)).fit(X, y)
    assert clf.score(Q, truth) > 0.85
    given = ANCRClassifier(space="precomputed").fit(histogram_intersection(X, X), y)
    np.testing.assert_allclose(dense(given.codes(histogram_intersection(Q, X))), dense(clf.codes(Q)), atol=1e-9)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(clf)).predict(Q), clf.predict(Q))
    assert clone(clf).space.kernel is histogram_intersection


def best_in_box(atoms, query, alpha, most):
    """The optimum by quadprog."""
    n = len(atoms)
    hessian, linear = atoms @ atoms.T + alpha * np.eye(n), atoms @ query
    bounds = np.concatenate([np.zeros(n), np.full(n, -most)])
    code = quadprog.solve_qp(hessian, linear, np.hstack([np.eye(n), -np.eye(n)]), bounds)[0]
    return np.sum((query - code @ atoms) ** 2) + alpha * code @ code


@pytest.mark.parametrize("solver", [ProjectedGradient(3000), *rarely(ADMM(rho=0.5, max_iter=3000))], ids=repr)
def test_a_set_of_ones_own_is_solved_and_certified(solver):
    rng = np.random.default_rng(0)
    atoms, queries = rng.random((15, 8)), rng.random((3, 8))
    solution = solve(atoms, queries, alpha=1e-2, constraint=Box(0.15), solver=solver)
    assert solution.violation.max() < 1e-12
    assert solution.codes.toarray().max() > 0.15 - 1e-12  # the bound matters
    best = [best_in_box(atoms, query, 1e-2, 0.15) for query in queries]
    np.testing.assert_allclose(solution.objective, best, rtol=1e-6)
    assert solution.verify(tol=1e-6).all()
    scale = solution.problem.scale(solution.queries, solution.codes)
    assert (solution.gap >= (solution.objective - best) / scale - 1e-12).all()
    rough = solve(atoms, queries, alpha=1e-2, constraint=Box(0.15), solver=ADMM(rho=0.1, max_iter=5, code="z"))
    assert not rough.verify().all()
    assert (rough.gap >= (rough.objective - best) / rough.problem.scale(rough.queries, rough.codes) - 1e-12).all()


def test_a_set_of_ones_own_in_a_classifier(digits):
    X, y, Q, truth = digits
    clf = RepresentationClassifier(constraint=Box(0.1), solver=ADMM(rho=0.1, max_iter=50))
    assert clf.fit(X, y).score(Q, truth) > 0.8
    assert clf.codes(Q).max() <= 0.1 + 1e-12
    assert "Box(most=0.1)" in repr(clf)
    again = pickle.loads(pickle.dumps(clone(clf).fit(X, y)))
    np.testing.assert_array_equal(again.predict(Q), clf.predict(Q))
    with pytest.raises(ValueError, match=r"box'.*plain sets\. Use solver in \['admm'\]"):
        RepresentationClassifier(constraint=Box(0.1)).fit(X, y)


def test_parameters_of_a_set_in_scikit_learns_grid_search(digits):
    X, y, _, _ = digits
    clf = RepresentationClassifier(constraint=Box(), solver=ADMM(rho=0.1, max_iter=10))
    search = GridSearchCV(clf, {"constraint__most": [0.05, 0.3]}, cv=2).fit(X, y)
    assert search.best_estimator_.constraint.most in (0.05, 0.3)
    assert clf.constraint.most == 0.2
    with pytest.raises(ValueError, match="has no parameter 'hat'"):
        clf.set_params(constraint__hat=1.0)


@pytest.mark.parametrize("library", BACKENDS)
def test_a_set_of_ones_own_on_other_arrays(library):
    arrays, rng = converter(library), np.random.default_rng(2)
    atoms, queries = rng.random((15, 8)), rng.random((3, 8))
    settings = {"alpha": 1e-2, "constraint": Box(0.15), "solver": ADMM(rho=0.5, max_iter=50)}
    plain, moved = solve(atoms, queries, **settings), solve(arrays(atoms), arrays(queries), **settings)
    np.testing.assert_allclose(to_numpy(dense(moved.codes)), plain.codes.toarray(), atol=1e-12)
    np.testing.assert_allclose(to_numpy(moved.gap), plain.gap, atol=1e-12)


def test_a_code_outside_a_set_of_ones_own_is_not_certified():
    rng = np.random.default_rng(3)
    atoms, queries = rng.random((15, 8)), rng.random((3, 8))
    exact = solve(atoms, queries, constraint="simplex")
    problem = Problem.of(exact.problem.dictionary, "ridge", Box(0.1), alpha=1e-3)
    assert not replace(exact, problem=problem).verify(tol=1.0).any()


def test_objects_in_a_grid(digits):
    X, y, Q, truth = digits
    clf = RepresentationClassifierCV(
        quadratics=["ridge", between_crc_and_nsc],
        constraints=[Box(0.1), Box(0.5), "simplex"],
        alphas=[1e-2],
        betas=[0.1],
        relaxations=[None],
        rules=["res", Energy()],
        spaces=["linear"],
        estimator=RepresentationClassifier(solver=ADMM(rho=0.1, max_iter=20)),
        cv=3,
    ).fit(X, y)
    assert len(clf.cv_results_["params"]) == 12
    assert clf.score(Q, truth) > 0.8
    assert clf.solver_.problem.constraint.nonnegative
    best = RepresentationClassifier(**clf.best_params_, solver=ADMM(rho=0.1, max_iter=20)).fit(X, y)
    np.testing.assert_array_equal(best.predict(Q), clf.predict(Q))


def test_a_grid_that_cannot_leave_one_out_takes_folds(digits):
    X, y, Q, truth = digits
    clf = RepresentationClassifierCV(
        constraints=[Box(0.2)],
        alphas=[1e-3, 1e-2],
        spaces=["linear", Space("rbf", gamma=1.0)],
        estimator=RepresentationClassifier(solver=ADMM(rho=0.1, max_iter=10)),
    )
    assert clf.fit(X, y).score(Q, truth) > 0.8


def test_a_rule_of_ones_own(digits):
    X, y, Q, truth = digits
    clf = ANCRClassifier(rule=Energy()).fit(X, y)
    squares = clf.codes(Q).toarray() ** 2
    energies = np.stack([squares[:, y == label].sum(axis=1) for label in clf.classes_], axis=1)
    np.testing.assert_array_equal(clf.predict(Q), clf.classes_[energies.argmax(axis=1)])
    assert "rule=Energy()" in repr(clf)
    assert clone(clf).fit(X, y).score(Q, truth) == clf.score(Q, truth)


def test_a_quadratic_of_ones_own(digits):
    X, y, Q, _ = digits
    clf = RepresentationClassifier(quadratic=between_crc_and_nsc, alpha=1e-2, beta=0.3).fit(X, y)
    # CCRC weighs the same terms by 1 and γ = β/(1 − β), and the ridge by λ/(1 − β).
    rival = CCRCClassifier(alpha=1e-2 / 0.7, beta=0.3 / 0.7).fit(X, y)
    np.testing.assert_allclose(clf.codes(Q), rival.codes(Q), atol=1e-9)
    solution = solve(X, Q, quadratic=between_crc_and_nsc, beta=0.3, labels=y, constraint="simplex")
    assert solution.verify().all()


@pytest.mark.parametrize("constraint", ["free", "affine", "nonnegative", "simplex"])
def test_a_solver_of_ones_own(constraint):
    rng = np.random.default_rng(1)
    atoms, queries = rng.random((20, 30)), rng.random((5, 30))
    mine = solve(atoms, queries, alpha=0.1, constraint=constraint, solver=ProjectedGradient(5000))
    exact = solve(atoms, queries, alpha=0.1, constraint=constraint)
    np.testing.assert_allclose(mine.objective, exact.objective, rtol=1e-9)
    with pytest.raises(ValueError, match=r"ProjectedGradient.*it has no ℓ1 term"):
        solve(atoms, queries, quadratic="l1", constraint="free", solver=ProjectedGradient())


def test_a_data_set_of_ones_own(tmp_path):
    iris = Iris()
    plans = [plan for plan in make_plans(iris) if plan.method in ("CRC", "ANCR")]
    report = Experiment("Iris", [iris], plans, tmp_path, "as in the recipe").run(figures=False)
    assert (tmp_path / "report.html").exists()
    assert {row.method for row in report.tables[0].rows} == {"CRC", "ANCR"}


def test_a_preset_of_ones_own_is_a_classifier_like_the_others(digits):
    X, y, Q, truth = digits
    clf = DNRCClassifier(alpha=1e-2).fit(X, y)
    assert clf.score(Q, truth) > 0.85
    assert set(clf.get_params()) == {"alpha", "space", "class_weight", "temperature"}
    assert clone(clf).set_params(alpha=0.1, space__power=0.5).fit(X, y).space_.power == 0.5
    # The optimum of the quadratic that the paper prints, by an independent solver.
    solution = clf.solver_.solve(X[:3] / np.linalg.norm(X[:3], axis=1, keepdims=True))
    assert solution.verify().all()
    atoms = X / np.linalg.norm(X, axis=1, keepdims=True)
    same = (y[:, None] == y).astype(float)
    gram = atoms @ atoms.T
    matrix = gram + 2e-2 * (10 * gram * same + gram)
    root = np.linalg.cholesky(matrix + 1e-12 * np.eye(len(matrix)))
    for query, code in zip(atoms[:3], dense(clf.codes(X[:3])), strict=True):
        best, _ = nnls(root.T, np.linalg.solve(root, atoms @ query))
        value = [c @ matrix @ c - 2.0 * c @ (atoms @ query) for c in (code, best)]
        assert value[0] <= value[1] + 1e-6
