"""Free and affine codes against the normal equations, written out."""

import numpy as np
import pytest

from ancr import RepresentationClassifier, Space, solve
from ancr._core.arrays import to_numpy
from ancr.axes.problem import Problem
from ancr.axes.quadratics import Quadratic
from ancr.axes.sets import SETS
from ancr.dictionary.coordinates import Dictionary
from ancr.solvers import ClosedForm


def saddle_point(matrix, linear, affine):
    """Solve the KKT system of min cᵀHc − 2bᵀc, with Σc = 1 if affine; return the solution of least norm."""
    n = len(matrix)
    if not affine:
        return np.linalg.lstsq(matrix, linear, rcond=None)[0]
    system = np.block([[matrix, np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    return np.linalg.lstsq(system, np.append(linear, 1.0), rcond=None)[0][:n]


@pytest.mark.parametrize("constraint", ["free", "affine"])
@pytest.mark.parametrize("alpha", [0.0, 1e-6, 1e-2, 10.0])
def test_agrees_with_the_normal_equations(problem, constraint, alpha):
    atoms, queries = problem
    solution = solve(atoms, queries, alpha=alpha, constraint=constraint)
    gram = atoms @ atoms.T + alpha * np.eye(len(atoms))
    for query, code, value in zip(queries, solution.codes, solution.objective, strict=True):
        expected = saddle_point(gram, atoms @ query, constraint == "affine")
        best = np.sum((query - expected @ atoms) ** 2) + alpha * np.sum(expected**2)
        assert value <= best + 1e-9 * max(1.0, best)
        if alpha > 1e-3:
            np.testing.assert_allclose(code, expected, atol=1e-9)
    assert solution.violation.max() <= 1e-9
    assert solution.converged.all()


@pytest.mark.parametrize("constraint", ["free", "affine"])
def test_class_blocks(constraint):
    rng = np.random.default_rng(0)
    labels = np.sort(np.arange(24) % 4)
    dictionary = Dictionary.build(rng.standard_normal((24, 10)), labels)
    quadratic = Quadratic(ridge=0.05, gram=1.4, blocks=0.3, target=1.2)
    matrix = 1.4 * dictionary.gram + 0.05 * np.eye(24)
    matrix += 0.3 * dictionary.gram * (labels[:, None] == labels)
    np.testing.assert_allclose(quadratic.matrix(dictionary), matrix)
    queries = rng.standard_normal((3, 10))
    solution = ClosedForm().prepare(Problem(dictionary, quadratic, SETS[constraint])).solve(queries)
    for query, code in zip(queries, solution.codes, strict=True):
        expected = saddle_point(matrix, 1.2 * dictionary.atoms @ query, constraint == "affine")
        np.testing.assert_allclose(code, expected, atol=1e-10)
    assert solution.gap.max() < 1e-12
    # The objective and the pull are those of the quadratic, however they are computed.
    by_hand = np.einsum("qi,ij,qj->q", solution.codes, matrix, solution.codes)
    by_hand -= 2.4 * np.einsum("qi,qi->q", solution.codes, queries @ dictionary.atoms.T)
    np.testing.assert_allclose(solution.objective, by_hand + np.sum(queries**2, axis=1), atol=1e-10)


def test_certificate_of_a_wrong_code_is_no_smaller_than_the_truth():
    rng = np.random.default_rng(1)
    atoms, queries = rng.standard_normal((8, 20)), rng.standard_normal((5, 20))
    for constraint in ("free", "affine"):
        for alpha in (0.0, 0.1):
            right = solve(atoms, queries, alpha=alpha, constraint=constraint)
            wrong = type(right)(
                SETS[constraint].project(right.codes + 1e-3),
                right.n_iter,
                right.converged,
                right.problem,
                right.queries,
            )
            truth = (wrong.objective - right.objective) / right.problem.scale(wrong.queries, wrong.codes)
            assert np.all(wrong.gap >= truth - 1e-12)
            assert right.gap.max() <= 1e-12


@pytest.mark.parametrize("quadratic", ["ridge", "probabilistic", "competitive"])
def test_single_precision_codes_are_those_of_double(quadratic):
    """Non-negative data: the largest eigenvalue is n times the others, too much for a factor in float32."""
    rng = np.random.default_rng(2)
    atoms, queries = np.abs(rng.standard_normal((300, 500))), np.abs(rng.standard_normal((5, 500)))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    settings = {"alpha": 1e-3, "constraint": "free", "quadratic": quadratic, "labels": np.arange(300) % 10}
    double = solve(atoms, queries, **settings).codes
    single = solve(atoms.astype(np.float32), queries.astype(np.float32), **settings).codes
    assert single.dtype == np.float32
    assert np.linalg.norm(single - double) <= 1e-3 * np.linalg.norm(double)


@pytest.mark.parametrize("quadratic", ["probabilistic", "competitive", "subspace"])
def test_affine_with_class_terms_and_singular_matrix(quadratic):
    rng = np.random.default_rng(3)
    atoms, queries, labels = rng.standard_normal((40, 5)), rng.standard_normal((4, 5)), np.arange(40) % 3
    solution = solve(atoms, queries, alpha=0.0, beta=0.1, quadratic=quadratic, constraint="affine", labels=labels)
    assert solution.gap.max() < 1e-10
    assert solution.violation.max() < 1e-10
    rough = type(solution)(
        SETS["affine"].project(solution.sorted_codes + 0.01 * rng.standard_normal((4, 40))),
        solution.n_iter,
        solution.converged,
        solution.problem,
        solution.queries,
    )
    assert np.all(rough.objective > solution.objective)


def test_class_terms_need_labels():
    with pytest.raises(ValueError, match="labels must give the class"):
        solve(np.eye(3), np.eye(3), quadratic="probabilistic", constraint="free")


def test_a_class_without_samples_in_a_kernel(arrays, capfd):
    """Each class by itself: one that is known by name alone has an empty matrix."""
    X, y, Q = np.random.default_rng(0).random((12, 5)), np.arange(12) % 2, np.random.default_rng(1).random((4, 5))
    options = {
        "quadratic": "subspace",
        "constraint": "free",
        "alpha": 0.1,
        "space": Space("rbf", gamma=1.0),
    }
    known = RepresentationClassifier(**options).partial_fit(arrays(X), y, classes=[0, 1, 2])
    plain = RepresentationClassifier(**options).fit(X, y)
    np.testing.assert_array_equal(to_numpy(known.predict(arrays(Q))), plain.predict(Q))
    np.testing.assert_allclose(to_numpy(known.codes(arrays(Q))), plain.codes(Q), atol=1e-12)
    assert "illegal value" not in "".join(capfd.readouterr())
