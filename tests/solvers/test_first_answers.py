"""Small work before the kernels are compiled: the same codes, certified, without them."""

from types import SimpleNamespace

import numpy as np
import pytest

from ancr import ANCRClassifier, RepresentationClassifierCV, solve
from ancr._core import compiling
from ancr.solvers import HostWorkingSet
from ancr.solvers.working_set import first_answers, host_kernels
from ancr.solvers.working_set.host import Run


@pytest.fixture
def uncompiled(monkeypatch):
    """As on a machine that never compiled; whatever needs the kernels fails."""

    def refuse(*_, **__):
        raise AssertionError("the kernels would be compiled")

    monkeypatch.setattr(compiling, "is_compiled", lambda kernel: False)
    monkeypatch.setattr(host_kernels, "solve_with_matrix", SimpleNamespace(overloads={}, signatures=[]))
    work = compiling.Postponed(5.0)
    monkeypatch.setattr(first_answers, "_postponed", lambda: work)
    monkeypatch.setattr(HostWorkingSet, "run", refuse)
    monkeypatch.setattr(Run, "with_matrix", refuse)


@pytest.mark.parametrize("constraint", ["simplex", "nonnegative"])
@pytest.mark.parametrize("space", ["linear", "rbf"])
def test_codes_are_those_of_the_kernels(uncompiled, monkeypatch, constraint, space):
    rng = np.random.default_rng(0)
    atoms, queries = rng.standard_normal((60, 20)), rng.standard_normal((30, 20))
    atoms[7], queries[3], queries[4] = atoms[5], atoms[5], 0.0
    first = solve(atoms, queries, constraint=constraint, space=space)
    assert first.verify().all()
    assert first.converged.all()
    monkeypatch.undo()
    later = solve(atoms, queries, constraint=constraint, space=space)
    np.testing.assert_allclose(first.codes.toarray(), later.codes.toarray(), atol=1e-10)


def test_labels_are_those_of_the_kernels(uncompiled, monkeypatch):
    rng = np.random.default_rng(1)
    labels = np.arange(60) % 3
    samples = rng.standard_normal((60, 5)) + labels[:, None]
    queries = rng.standard_normal((40, 5)) + 1.0
    classifier = ANCRClassifier().fit(samples, labels)
    first = classifier.predict(queries)
    monkeypatch.undo()
    np.testing.assert_array_equal(first, classifier.predict(queries))


def test_a_search_chooses_as_with_the_kernels(uncompiled, monkeypatch):
    """Leave-one-out in the linear space and in a kernel, with and without a relaxation."""
    rng = np.random.default_rng(4)
    labels = np.arange(80) % 4
    samples = rng.standard_normal((80, 6)) + 1.5 * rng.standard_normal((4, 6))[labels]
    grid = {"alphas": [1e-3, 1e-2, 0.1], "relaxations": [None, 0.5], "constraints": ["simplex", "nonnegative"]}
    search = RepresentationClassifierCV(**grid, spaces=["linear", "rbf"], search="full").fit(samples, labels)
    monkeypatch.undo()
    later = RepresentationClassifierCV(**grid, spaces=["linear", "rbf"], search="full").fit(samples, labels)
    assert search.best_params_ == later.best_params_
    scores = [each.cv_results_["mean_test_score"] for each in (search, later)]
    np.testing.assert_allclose(*scores, atol=1e-4)  # codes are exact to the search's own tolerance


def test_a_large_job_compiles_and_so_does_warming_up(uncompiled):
    atoms = np.random.default_rng(2).standard_normal((50, 8))
    solve(atoms, atoms)
    with compiling.compiling_now(), pytest.raises(AssertionError, match="would be compiled"):
        solve(atoms, atoms)
    with pytest.raises(AssertionError, match="would be compiled"):
        solve(atoms, np.tile(atoms, (1000, 1)))


def test_work_that_takes_longer_than_was_estimated_is_counted(uncompiled, monkeypatch):
    """A few slow queries use up what is left, and the next ones compile."""
    monkeypatch.setenv("ANCR_NUM_THREADS", "1")
    clock = iter(range(0, 1000, 4))
    monkeypatch.setattr(first_answers, "thread_time", lambda: next(clock))
    atoms = np.random.default_rng(3).standard_normal((50, 8))
    for _ in range(2):
        solve(atoms, atoms[:5])
    with pytest.raises(AssertionError, match="would be compiled"):
        solve(atoms, atoms[:5])
