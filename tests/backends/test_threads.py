"""Threads: all kinds of callers get the same answer, and their BLAS limit is restored afterwards."""

import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest
from joblib import Parallel, delayed
from threadpoolctl import threadpool_info, threadpool_limits

from ancr import ANCRClassifier, solve
from ancr.backends import arrays
from ancr.backends.arrays import dense, map_rows, thread_count


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X, y = np.abs(rng.standard_normal((200, 30))), np.arange(200) % 5
    return ANCRClassifier().fit(X, y), np.abs(rng.standard_normal((600, 30)))


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_many_threads_at_once(fitted):
    clf, Q = fitted
    before, expected = blas_threads(), clf.predict(Q)
    with ThreadPoolExecutor(6) as pool:
        for labels in pool.map(lambda _: clf.predict(Q), range(12)):
            np.testing.assert_array_equal(labels, expected)
    assert blas_threads() == before


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_under_joblib(fitted, backend):
    clf, Q = fitted
    parts = Parallel(n_jobs=2, backend=backend)(delayed(clf.predict)(part) for part in np.array_split(Q, 4))
    np.testing.assert_array_equal(np.concatenate(parts), clf.predict(Q))


def test_a_callers_limit_is_respected():
    with threadpool_limits(1):
        assert thread_count() == 1


def test_blocks_cover_the_rows_in_order_and_errors_pass_through():
    for n in (0, 1, 7, 256, 1000):
        blocks = map_rows(lambda block: block, np.empty((n, 1)))
        assert [row for block in blocks for row in range(n)[block]] == list(range(n))
    before = blas_threads()

    def fail(block):
        raise RuntimeError("inside")

    with pytest.raises(RuntimeError, match="inside"):
        map_rows(fail, np.empty((1000, 1)))
    assert blas_threads() == before


@pytest.mark.skipif(thread_count() < 2, reason="needs two threads")
def test_after_an_error_no_further_block_starts():
    begun, failed = [], Event()

    def work(block):
        begun.append(block.start)
        if block.start == 0:
            failed.set()
            raise KeyboardInterrupt
        failed.wait(10)
        time.sleep(0.05)  # long enough for the error to be noticed

    with pytest.raises(KeyboardInterrupt):
        map_rows(work, np.empty((1000, 1)), block_rows=10)
    assert len(begun) <= thread_count()


def test_memory_limits_the_block_size():
    from sklearn import config_context

    with config_context(working_memory=1):
        sizes = [
            block.stop - block.start for block in map_rows(lambda block: block, np.empty((500, 1)), row_bytes=2**16)
        ]
    assert max(sizes) * 2**16 * thread_count() <= 2**20


@pytest.mark.parametrize("n_threads", [1, 2, 3, 7, 16, 32, 64])
@pytest.mark.parametrize("n_queries", [1, 2, 3, 7, 15])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"relaxation": 0.5},
        {"constraint": "free"},
        {"solver": "admm", "max_iter": 4},
        {"solver": "admm", "rho": 5.0},
    ],
    ids=str,
)
def test_codes_and_histories_for_any_number_of_threads(monkeypatch, n_threads, n_queries, options):
    rng = np.random.default_rng(0)
    atoms, queries = rng.standard_normal((20, 5)), rng.standard_normal((n_queries, 5))
    monkeypatch.setattr(arrays, "thread_count", lambda: 1)
    expected = solve(atoms, queries, alpha=0.1, history=True, **options)
    monkeypatch.setattr(arrays, "thread_count", lambda: n_threads)
    found = solve(atoms, queries, alpha=0.1, history=True, **options)
    # A block of another size can take another path through BLAS, which rounds differently.
    np.testing.assert_allclose(dense(found.codes), dense(expected.codes), atol=1e-12)
    np.testing.assert_allclose(found.history, expected.history, rtol=1e-9)
    assert found.history.shape[1] == n_queries
    np.testing.assert_array_equal(found.n_iter, expected.n_iter)
