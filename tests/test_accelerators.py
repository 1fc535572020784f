"""Every classifier, cross-validation, audits and growth on PyTorch and CuPy arrays on a GPU; skipped without one."""

import numpy as np
import pytest
from sklearn.base import clone

from ancr import ANCRClassifier, Space, solve
from ancr._core.arrays import to_numpy
from ancr._core.budgets import free_bytes
from tests.solvers.test_capped import check_every_option
from tests.solvers.test_terms import SETS, check_on
from tests.test_array_api import (
    CASES,
    EVERY,
    GRIDS,
    METHODS,
    check_audit,
    check_choice,
    check_growth,
    check_next,
    name_of,
    numpy_answers,
)

pytestmark = pytest.mark.all


@pytest.fixture(params=["torch", "cupy"])
def on_device(request):
    """The function that puts a NumPy array on the GPU."""
    library = pytest.importorskip(request.param, reason=f"{request.param} is not installed")
    if request.param == "torch":
        if not library.cuda.is_available():
            pytest.skip("torch sees no CUDA device")
        return lambda array: library.as_tensor(array, device="cuda")
    try:
        library.cuda.runtime.getDeviceCount()
    except library.cuda.runtime.CUDARuntimeError:
        pytest.skip("CuPy sees no CUDA device")
    return library.asarray


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("case", ["n < d", "non-negative"])
@pytest.mark.parametrize("number", range(len(EVERY)), ids=name_of)
def test_answers_are_those_of_numpy(on_device, number, case, dtype):
    samples, queries = (on_device(rows.astype(dtype)) for rows in CASES[case])
    clf = clone(EVERY[number]).fit(samples, on_device(np.arange(samples.shape[0]) % 3))
    expected = numpy_answers(number, case, dtype)
    close = {"atol": 1e-8, "rtol": 1e-6} if dtype == "float64" else {"atol": 5e-3, "rtol": 5e-3}
    for method in METHODS:
        found = getattr(clf, method)(queries)
        assert type(found) is type(samples)
        np.testing.assert_allclose(to_numpy(found), expected[method], **close, err_msg=method)
    assert type(clf.predict(queries)) is type(samples)


@pytest.mark.parametrize("constraint", ["simplex", "nonnegative"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_exact_solutions_are_certified_on_the_device(on_device, constraint, dtype):
    rng = np.random.default_rng(0)
    atoms, queries = (np.abs(rng.standard_normal(shape)).astype(dtype) for shape in ((500, 60), (300, 60)))
    moved = solve(on_device(atoms), on_device(queries), alpha=1e-3, constraint=constraint)
    assert to_numpy(moved.verify()).all()
    plain = solve(atoms, queries, alpha=1e-3, constraint=constraint)
    atol = 1e-9 if dtype == "float64" else 1e-3
    np.testing.assert_allclose(to_numpy(moved.codes), plain.codes.toarray(), atol=atol)


@pytest.mark.parametrize("constraint", SETS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_single_queries_ask_for_is_heeded_on_the_device(on_device, constraint, dtype):
    check_on(on_device, constraint, dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("seed", range(1, 5))
def test_codes_below_a_cap_are_optimal_on_the_device(on_device, dtype, seed):
    check_every_option(on_device, dtype, seed)


@pytest.mark.parametrize("grid", GRIDS, ids=["leave-one-out", "folds"])
def test_settings_are_chosen_as_with_numpy(on_device, grid):
    check_choice(on_device, grid)


@pytest.mark.parametrize(
    "clf", [ANCRClassifier(alpha=0.1), ANCRClassifier(relaxation=0.5, space=Space("rbf", gamma=1.0))]
)
def test_audits_and_growth_are_those_of_numpy(on_device, clf):
    check_audit(on_device, clf)
    check_growth(on_device, clf)


@pytest.mark.parametrize("strategy", ["auto", "margin", "far", "random"])
def test_samples_to_label_next_are_those_of_numpy(on_device, strategy):
    check_next(on_device, "rbf", strategy)


def test_blocks_follow_free_memory_and_shrink_where_it_is_not_enough(on_device, monkeypatch):
    rng = np.random.default_rng(0)
    samples, queries = on_device(rng.standard_normal((400, 32))), on_device(rng.standard_normal((500, 32)))
    clf = ANCRClassifier().fit(samples, on_device(np.arange(400) % 4))
    assert 2**20 < free_bytes(samples)
    whole = to_numpy(clf.predict(queries))
    # Five blocks and more, from what is said to be free.
    monkeypatch.setattr("ancr._core.budgets.free_bytes", lambda array: 4 * 100 * 5 * 400 * 8)
    np.testing.assert_array_equal(to_numpy(clf.predict(queries)), whole)
