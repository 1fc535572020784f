"""Every known-answer problem on every solver and array library that accepts it: a matrix built from what they declare.

A problem is named by its data (`conftest.PROBLEMS`), quadratic, set and relaxation. Its answer comes from a quadratic
programme or from the normal equations, written out here, never from a solver of the package.
"""

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest

from ancr._core.arrays import dense, to_numpy
from ancr.axes.problem import Problem
from ancr.axes.quadratics import QUADRATICS, Quadratic
from ancr.axes.sets import SETS
from ancr.dictionary.coordinates import Dictionary
from ancr.solvers import ADMM, ClosedForm, DeviceWorkingSet, HostWorkingSet, InteriorPoint, Relaxed, make_solver
from ancr.solvers.capped import Capped
from tests.array_libraries import converter
from tests.conftest import PROBLEMS, named_problem
from tests.marks import rarely
from tests.oracle import best_by_quadprog


# Each solver with how near to the optimum it comes, relative to ‖y‖² or to the longest atom's square.
class _WellScaledADMM(ADMM):
    """A penalty of the size of H makes 400 iterations enough."""

    def __init__(self):
        super().__init__(max_iter=400)

    def set_up(self):
        self.rho = 0.3 * float(to_numpy(self.problem.quadratic.diagonal(self.problem.dictionary)).mean())
        super().set_up()


SOLVERS = {
    "closed form": (ClosedForm(), 1e-8),
    "working set, host": (HostWorkingSet(), 1e-9),
    "working set, host, without H": (HostWorkingSet(gram_budget=0), 1e-9),
    "working set, device": (DeviceWorkingSet(), 1e-9),
    "working set, device, without H": (DeviceWorkingSet(matrix_budget=0), 1e-9),
    "capped": (Capped(), 1e-9),
    "relaxed": (Relaxed(), 1e-8),
    "relaxed, without H": (Relaxed(gram_budget=0), 1e-8),
    "ADMM": (_WellScaledADMM(), 2e-5),
    "interior point": (InteriorPoint(tol=1e-4), 1e-4),
}
ALPHA, BETA = 0.05, 0.1


@cache
def least_objectives(data, quadratic, constraint, relaxation):
    """The answers to a problem, from H and b written out."""
    atoms, queries = few(data)
    return [_least_objective(atoms, query, quadratic, constraint, relaxation) for query in queries]


def few(data):
    """Atoms and two queries of a named problem."""
    atoms, queries = named_problem(data)
    return atoms, queries[:2]


def _least_objective(atoms, query, quadratic, constraint, relaxation):
    labels = np.arange(len(atoms)) % 2
    weights = QUADRATICS[quadratic](ALPHA, BETA, len(np.unique(labels)))
    gram = atoms @ atoms.T
    hessian = weights.gram * gram + weights.blocks * gram * (labels[:, None] == labels)
    hessian += weights.ridge * np.eye(len(atoms))
    return best_by_quadprog(
        hessian,
        weights.target * atoms @ query,
        weights.absolute,
        SETS[constraint].sums_to_one,
        SETS[constraint].nonnegative,
        relaxation,
        SETS[constraint].highest,
    ) + np.sum(query**2)


def cases():
    """(solver, quadratic, set, relaxation), of which each solver takes what it does not refuse."""
    strict = pytest.importorskip("array_api_strict")
    dictionaries = [Dictionary.build(atoms, [0, 0, 1, 1]) for atoms in (np.eye(4), strict.eye(4))]
    for (name, (solver, _)), quadratic, constraint, relaxation in product(
        SOLVERS.items(), QUADRATICS, SETS, (None, 0.5)
    ):
        settings = {"alpha": ALPHA, "beta": BETA, "relaxation": relaxation}
        problems = [Problem.of(dictionary, quadratic, constraint, **settings) for dictionary in dictionaries]
        if any(solver.objection(problem) is None for problem in problems):
            yield name, quadratic, constraint, relaxation


CASES = list(cases())


# What differs between libraries is in tests/test_array_api.py.
@pytest.mark.parametrize("library", ["numpy", *rarely("torch", "array_api_strict")])
@pytest.mark.parametrize(("name", "quadratic", "constraint", "relaxation"), CASES)
def test_known_answers(library, name, quadratic, constraint, relaxation):
    arrays, (solver, tol) = converter(library), SOLVERS[name]
    tried = 0
    for data in PROBLEMS:
        atoms, queries = few(data)
        labels = np.arange(len(atoms)) % 2
        dictionary = Dictionary.build(arrays(atoms), labels, normalize=False)
        problem = Problem.of(dictionary, quadratic, constraint, alpha=ALPHA, beta=BETA, relaxation=relaxation)
        if solver.objection(problem) or len(atoms) < problem.constraint.fewest_atoms:
            continue
        tried += 1
        solution = solver.prepare(problem).solve(arrays(queries))
        assert to_numpy(dense(solution.codes)).shape == (len(queries), len(atoms))
        answers = least_objectives(data, quadratic, constraint, relaxation)
        for row, (query, best) in enumerate(zip(queries, answers, strict=True)):
            size = max(np.sum(query**2), (atoms**2).sum(axis=1).max(), ALPHA)
            reached = float(to_numpy(solution.objective)[row])
            assert reached <= best + tol * size, (data, row)
            assert reached >= best - 1e-6 * size, (data, row)  # the answer itself is right
        if solver.name == "exact":
            assert to_numpy(solution.verify(tol=1e-7)).all(), data
    if not tried:
        pytest.skip(f"{name} does not take arrays of {library}")


def test_the_matrix_covers_every_combination_that_can_be_solved():
    """Each quadratic on each set has at least one solver, but for ℓ1 on Σc = 1; each relaxation where it bends."""
    solved = {(quadratic, constraint, relaxation) for _, quadratic, constraint, relaxation in CASES}
    hard = {(quadratic, constraint, None) for quadratic in QUADRATICS for constraint in SETS}
    bent = {(q, c, 0.5) for q in ("ridge", "least_squares") for c in ("nonnegative", "simplex", "capped_simplex")}
    assert solved == hard - {("l1", "affine", None)} | bent


# Quadratics beside the named ones: an ℓ1 term together with a ridge, class terms and a target of its own.
ELASTIC = {
    "ridge and l1": Quadratic(ridge=0.1, absolute=0.5),
    "class terms and l1": Quadratic(ridge=0.05, gram=1.3, blocks=0.4, target=1.2, absolute=0.5),
    "classes alone and l1": Quadratic(ridge=0.05, gram=0.0, blocks=1.0, absolute=0.3),
}


@pytest.mark.parametrize("constraint", ["free", "nonnegative", "simplex"])
@pytest.mark.parametrize("name", sorted(ELASTIC))
def test_certificates_of_mixed_quadratics_are_no_smaller_than_the_truth(name, constraint):
    rng, weights = np.random.default_rng(0), ELASTIC[name]
    atoms, queries, labels = rng.standard_normal((12, 8)), rng.standard_normal((5, 8)), np.sort(np.arange(12) % 3)
    problem = Problem(Dictionary.build(atoms, labels, normalize=False), weights, SETS[constraint])
    exact = HostWorkingSet().prepare(problem).solve(queries)
    gram = atoms @ atoms.T
    hessian = weights.gram * gram + weights.blocks * gram * (labels[:, None] == labels) + weights.ridge * np.eye(12)
    words = SETS[constraint].sums_to_one, SETS[constraint].nonnegative
    best = [
        np.sum(query**2) + best_by_quadprog(hessian, weights.target * atoms @ query, weights.absolute, *words)
        for query in queries
    ]
    np.testing.assert_allclose(exact.objective, best, atol=1e-8)
    assert exact.verify().all()
    for change in (0.5, 0.999, 1.001):
        codes = SETS[constraint].project(change * exact.sorted_codes.toarray() + (1 - change) / 12)
        worse = replace(exact, sorted_codes=codes)
        truth = (worse.objective - best) / problem.scale(worse.queries, codes)
        assert (worse.gap >= truth - 1e-10).all()


@pytest.mark.parametrize(("quadratic", "constraint"), [("ridge", "simplex"), *rarely(("least_squares", "nonnegative"))])
@pytest.mark.parametrize("library", ["numpy", *rarely("torch", "array_api_strict")])
def test_known_answers_in_single_precision(library, quadratic, constraint):
    arrays = converter(library)
    for data in PROBLEMS:
        atoms, queries = few(data)
        problem = Problem.of(
            Dictionary.build(arrays(atoms.astype("f4")), normalize=False), quadratic, constraint, alpha=ALPHA
        )
        solution = make_solver("exact", problem).solve(arrays(queries.astype("f4")))
        for row, best in enumerate(least_objectives(data, quadratic, constraint, None)):
            size = max(np.sum(queries[row] ** 2), (atoms**2).sum(axis=1).max(), ALPHA)
            assert abs(float(to_numpy(solution.objective)[row]) - best) <= 1e-5 * size, (data, row)
