"""Each atom coded over the others equals a solution over the others, for every quadratic, set and relaxation."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from ancr import RepresentationClassifier, solve
from ancr.axes.problem import Problem
from ancr.axes.quadratics import QUADRATICS
from ancr.axes.sets import SETS
from ancr.axes.spaces import Space
from ancr.dictionary.coordinates import Dictionary
from ancr.selection.scoring import candidates, leave_one_out
from ancr.solvers.leave_one_out import LeaveOneOut
from tests.marks import rarely

FREE = [
    (quadratic, constraint, None)
    for quadratic in ("ridge", "probabilistic", "competitive", "subspace")
    for constraint in ("free", "affine")
]
BOUND = [(quadratic, constraint, None) for quadratic in QUADRATICS for constraint in ("nonnegative", "simplex")]
BENT = [
    (quadratic, constraint, relaxation)
    for quadratic in ("ridge", "least_squares")
    for constraint in ("nonnegative", "simplex")
    for relaxation in (0.01, 0.5, 10.0)
]


def atoms_of(case):
    rng = np.random.default_rng(0)
    return {
        "tall": rng.random((30, 8)),
        "wide": rng.random((20, 40)),
        "duplicates": np.repeat(rng.random((10, 6)), 2, axis=0),
        "zero rows": np.vstack([rng.random((14, 6)), np.zeros((2, 6))]),
    }[case]


def leave_out(dictionary, problem, loo=None):
    parts = (loo or LeaveOneOut(dictionary)).map(problem, lambda rows, c, z: (c, z))
    return [np.vstack([_dense(part[i]) for part in parts]) for i in (0, 1)]


def _dense(codes):
    return codes.toarray() if hasattr(codes, "toarray") else codes


@pytest.mark.parametrize("case", ["wide", "zero rows", *rarely("tall", "duplicates")])
@pytest.mark.parametrize(("quadratic", "constraint", "relaxation"), [*FREE, *BOUND, ("l1", "free", None), *BENT])
def test_equals_solving_over_the_others(case, quadratic, constraint, relaxation):
    atoms = atoms_of(case)
    n, alpha = len(atoms), 0.01
    dictionary = Dictionary.build(atoms, np.arange(n) % 3)
    problem = Problem(dictionary, QUADRATICS[quadratic](alpha, 0.1, 3), SETS[constraint], relaxation)
    c, z = leave_out(dictionary, problem)
    for i in range(n):
        others = np.arange(n) != i
        options = {"constraint": constraint, "quadratic": quadratic, "relaxation": relaxation}
        alone = solve(
            dictionary.atoms[others],
            dictionary.atoms[[i]],
            alpha=alpha,
            beta=0.1,
            labels=dictionary.labels[others],
            **options,
        )
        assert c[i, i] == z[i, i] == 0
        if problem.quadratic.ridge:
            np.testing.assert_allclose(c[i, others], _dense(alone.codes)[0], atol=1e-9)
        # Codes need not be unique without a ridge, but what they represent is.
        np.testing.assert_allclose(
            c[i] @ dictionary.atoms, _dense(alone.codes)[0] @ dictionary.atoms[others], atol=1e-6
        )


@pytest.mark.parametrize("case", ["zero rows", *rarely("tall", "duplicates")])
@pytest.mark.parametrize(("quadratic", "constraint", "relaxation"), [*FREE, *BOUND, ("l1", "free", None), *BENT])
def test_equals_solving_over_the_others_in_a_kernel(case, quadratic, constraint, relaxation):
    atoms = atoms_of(case)
    n, alpha, space = len(atoms), 0.01, Space(kernel="rbf", gamma=2.0).prepare(atoms)
    dictionary = space.dictionary(atoms, np.arange(n) % 3)
    problem = Problem(dictionary, QUADRATICS[quadratic](alpha, 0.1, 3), SETS[constraint], relaxation)
    assert LeaveOneOut.accepts(problem)
    c, z = leave_out(dictionary, problem)
    options = {"constraint": constraint, "quadratic": quadratic, "relaxation": relaxation}
    for i in range(0, n, 3):
        others = np.arange(n) != i
        alone = solve(
            dictionary.atoms[others],
            dictionary.atoms[[i]],
            alpha=alpha,
            beta=0.1,
            labels=dictionary.labels[others],
            space=Space("rbf", gamma=2.0, normalize=False),
            **options,
        )
        assert c[i, i] == z[i, i] == 0
        apart = c[i, others] - _dense(alone.codes)[0]
        if problem.quadratic.ridge:
            np.testing.assert_allclose(apart, 0.0, atol=1e-8)
        # Codes need not be unique without a ridge, but what they represent is.
        assert apart @ dictionary.gram[np.ix_(others, others)] @ apart < 1e-9


def test_settings_are_scored_in_a_kernel_as_by_hand():
    X, y = load_digits(return_X_y=True)
    X, y = X[:150], y[:150]
    space = Space(kernel="rbf", gamma=1.0, power=0.5)
    dictionary = space.prepare(X).dictionary(X, y)
    lists = ("ridge",), ("free", "simplex"), (0.0,), (0.01,), (0.3, None)
    rules = ("res", "reg", "pro", "label")
    for outcome in leave_one_out(dictionary, candidates(dictionary, "exact", *lists, space), rules, None):
        clf = RepresentationClassifier(**outcome.settings)
        for i in (0, 70, 149):
            given = dictionary.order[i]
            others = np.arange(150) != given
            values = clf.fit(X[others], y[others]).decision_function(X[[given]])[0]
            np.testing.assert_allclose(outcome.decisions[i], values, rtol=2e-2, atol=2e-3)


def test_warm_starts_along_a_path_change_nothing():
    rng = np.random.default_rng(1)
    dictionary = Dictionary.build(rng.random((600, 20)), rng.integers(0, 4, 600))
    loo = LeaveOneOut(dictionary)
    for alpha in (1e-3, 1e-2, 1e-1):
        for relaxation in (0.1, 1.0, None):
            problem = Problem(dictionary, QUADRATICS["ridge"](alpha), SETS["simplex"], relaxation)
            warm, cold = leave_out(dictionary, problem, loo), leave_out(dictionary, problem)
            np.testing.assert_allclose(warm[0], cold[0], atol=1e-6)


@pytest.mark.parametrize("alpha", [1e-3, 1e-4, 1e-6])
def test_a_signed_code_never_uses_its_own_atom(alpha):
    """A weight this small lies within the rounding error of pricing."""
    rng = np.random.default_rng(0)
    dictionary = Dictionary.build(rng.standard_normal((120, 20)), np.repeat([0, 1, 2], 40))
    c, _ = leave_out(dictionary, Problem(dictionary, QUADRATICS["l1"](alpha), SETS["free"]))
    assert not np.diag(c).any()
    for i in (0, 60, 119):
        others = np.arange(120) != i
        alone = solve(dictionary.atoms[others], dictionary.atoms[[i]], alpha=alpha, constraint="free", quadratic="l1")
        np.testing.assert_allclose(c[[i]][:, others], alone.codes.toarray(), atol=1e-7)


def test_free_codes_need_a_ridge():
    dictionary = Dictionary.build(np.eye(3), [0, 1, 1])
    assert not LeaveOneOut.accepts(Problem(dictionary, QUADRATICS["least_squares"](), SETS["free"]))
    assert LeaveOneOut.accepts(Problem(dictionary, QUADRATICS["ridge"](0.1), SETS["free"]))
