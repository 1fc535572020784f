"""Blocks follow the memory there is, and shrink where it is not enough."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning

from ancr import ANCRClassifier
from ancr._core import budgets
from ancr._core.arrays import map_rows, to_numpy
from ancr.axes.problem import Problem
from ancr.dictionary.coordinates import Dictionary
from ancr.solvers.leave_one_out import LeaveOneOut
from ancr.solvers.working_set.device import DeviceWorkingSet
from ancr.solvers.working_set.device_leaving_out import DeviceLeavingOut


class OutOfMemoryError(RuntimeError):
    """As PyTorch and CuPy name theirs."""


@pytest.fixture
def non_numpy(arrays):
    """Arrays of another library than NumPy."""
    if arrays is np.asarray:
        pytest.skip("NumPy arrays are worked on in blocks that fit the cache")
    return arrays


def test_work_that_does_not_fit_is_repeated_in_halves_with_one_warning(non_numpy):
    rows, tried = non_numpy(np.arange(40.0)[:, None]), []

    def work(block):
        tried.append(block.stop - block.start)
        if tried[-1] > 11:
            raise OutOfMemoryError
        return to_numpy(rows[block, 0])

    with pytest.warns(UserWarning, match="out of memory with 40 rows at once: going on with 20") as caught:
        found = np.concatenate(map_rows(work, rows))
    np.testing.assert_array_equal(found, np.arange(40.0))
    assert len(caught) == 1
    assert tried == [40, 20, 10, 10, 10, 10]


def test_other_errors_and_a_single_row_that_does_not_fit_are_raised(non_numpy):
    def fails(error):
        def work(block):
            raise error

        return work

    rows = non_numpy(np.zeros((3, 1)))
    with pytest.raises(ZeroDivisionError):
        map_rows(fails(ZeroDivisionError()), rows)
    with pytest.warns(UserWarning, match="out of memory"), pytest.raises(MemoryError):
        map_rows(fails(MemoryError()), rows)


def test_a_classifier_that_runs_out_of_memory_gives_the_same_labels(non_numpy, monkeypatch):
    rng = np.random.default_rng(0)
    samples, queries = non_numpy(rng.standard_normal((30, 6))), non_numpy(rng.standard_normal((25, 6)))
    clf = ANCRClassifier().fit(samples, np.arange(30) % 3)
    whole, solve, sizes = to_numpy(clf.predict(queries)), DeviceWorkingSet.solve_block, []

    def fits_five(solver, block, history=False):
        sizes.append(len(block))
        if len(block) > 5:
            raise OutOfMemoryError
        return solve(solver, block, history)

    monkeypatch.setattr(DeviceWorkingSet, "solve_block", fits_five)
    with pytest.warns(UserWarning, match="out of memory") as caught:
        np.testing.assert_array_equal(to_numpy(clf.predict(queries)), whole)
    assert len(caught) == 1
    assert max(sizes[-5:]) <= 5


def test_samples_that_are_left_out_twice_are_reported_once(non_numpy, monkeypatch):
    """What comes after the codes runs out of memory: the codes are computed again, and counted once."""
    atoms = Dictionary.build(non_numpy(np.random.default_rng(0).random((12, 4))), np.arange(12) % 3)
    without_own = DeviceLeavingOut.without_own

    def never_met(solver, *given):
        solution = without_own(solver, *given)
        return replace(solution, converged=solution.n_iter < 0)

    def then(rows, c, z):
        if rows.stop - rows.start > 6:
            raise OutOfMemoryError

    monkeypatch.setattr(DeviceLeavingOut, "without_own", never_met)
    with pytest.warns(UserWarning, match="out of memory"), pytest.warns(ConvergenceWarning, match="^12 of 12 samples"):
        LeaveOneOut(atoms).map(Problem.of(atoms, "ridge", "simplex", alpha=0.1), then)


def test_blocks_take_a_share_of_what_is_free(non_numpy, monkeypatch):
    rows, sizes = non_numpy(np.zeros((100, 1))), []
    monkeypatch.setattr(budgets, "free_bytes", lambda array: 4 * 20 * 1000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        map_rows(lambda block: sizes.append(block.stop - block.start), rows, row_bytes=1000)
    assert sizes == [20] * 5
    sizes.clear()
    with config_context(working_memory=50 * 1000 / 2**20):  # whoever sets it means it
        map_rows(lambda block: sizes.append(block.stop - block.start), rows, row_bytes=1000)
    assert sizes == [50] * 2


def test_the_memory_of_the_host_is_that_of_scikit_learn(arrays):
    assert budgets.free_bytes(arrays([1.0])) is None
    assert budgets.working_bytes(arrays([1.0])) == 2**30
