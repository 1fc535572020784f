"""Threads: all kinds of callers get the same answer, and their BLAS limit is restored afterwards."""

import multiprocessing
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event, Thread, current_thread, get_ident

import numpy as np
import pytest
from joblib import Parallel, delayed
from threadpoolctl import threadpool_info, threadpool_limits

from ancr import ANCRClassifier, CRCClassifier, NRCClassifier, SRCClassifier, prepare, solve
from ancr._core import arrays, threads
from ancr._core.arrays import dense, map_rows, thread_count
from ancr.dictionary import coordinates
from ancr.solvers import ADMM
from tests.marks import rarely


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


@pytest.fixture
def two_threads(monkeypatch):
    monkeypatch.setattr(arrays, "thread_count", lambda: 1 if get_ident() in arrays._alone_now else 2)


def test_blas_has_one_thread_in_a_block_of_any_caller():
    map_rows(lambda block: None, np.empty((2, 1)))  # the main thread sets the limit first
    with ThreadPoolExecutor(2) as pool:
        found = [pool.submit(map_rows, lambda block: blas_threads(), np.empty((50, 1)), block_rows=1) for _ in range(2)]
        assert {count for call in found for counts in call.result() for count in counts} == {1}


def test_a_small_problem_wakes_no_threads_of_blas(monkeypatch):
    """They spin on after a product, and on a busy machine a call waits ten times as long for them as it takes."""
    found, gram_of = [], coordinates.gram_of
    monkeypatch.setattr(coordinates, "gram_of", lambda atoms: found.append(blas_threads()) or gram_of(atoms))
    atoms, before = np.random.default_rng(0).normal(size=(200, 30)), blas_threads()
    solve(atoms, atoms[:1], alpha=1e-3)
    prepare(atoms, alpha=1e-3)
    assert found == [[1] * len(before)] * 2
    assert blas_threads() == before


def test_nested_use_is_detected(two_threads):
    def outer(block):
        threads = map_rows(lambda block: (current_thread(), arrays.thread_count()), np.empty((40, 1)), block_rows=4)
        return all(found == (current_thread(), 1) for found in threads)

    assert all(map_rows(outer, np.empty((20, 1)), block_rows=2))
    assert arrays.thread_count() == 2


def test_a_helper_goes_back_when_another_caller_comes(two_threads):
    # The first two blocks wait until one of them is in a helper and the other caller is inside.
    helped, other_is_inside, first_is_done = Barrier(3), Event(), Event()

    def first(block):
        if block.start < 2:
            helped.wait(30)
            other_is_inside.wait(30)
        return current_thread()

    def other(block):
        other_is_inside.set()
        first_is_done.wait(30)

    def start_other():
        helped.wait(30)
        map_rows(other, np.empty((3, 1)), block_rows=1)

    caller = Thread(target=start_other)
    caller.start()
    threads = map_rows(first, np.empty((20, 1)), block_rows=1)
    first_is_done.set()
    caller.join(30)
    assert threads.count(current_thread()) == 19


def test_calls_from_threads_inside_a_block_end(two_threads):
    def with_threads_of_its_own(block):
        with ThreadPoolExecutor(3) as pool:
            calls = [pool.submit(map_rows, lambda inner: 1, np.empty((9, 1)), block_rows=1) for _ in range(6)]
            return sum(sum(call.result(60)) for call in calls)

    results = map_rows(with_threads_of_its_own, np.empty((12, 1)), block_rows=1)
    assert results == [6 * len(map_rows(lambda inner: 1, np.empty((9, 1)), block_rows=1))] * len(results)
    assert threads._crew._at_work == 0


def test_errors_of_helpers_reach_their_caller_alone(two_threads):
    def fail_in_helpers(block):
        time.sleep(0.01)
        if current_thread().name.startswith("ancr"):
            raise RuntimeError("in a helper")

    with pytest.raises(RuntimeError, match="in a helper"):
        map_rows(fail_in_helpers, np.empty((100, 1)), block_rows=1)
    assert threads._crew._at_work == 0
    assert sum(map_rows(lambda block: 1, np.empty((100, 1)), block_rows=1)) == 100


@pytest.mark.skipif(sys.platform != "linux", reason="forks")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_starts_anew(fitted, two_threads):
    clf, Q = fitted
    expected, inside, forked = clf.predict(Q), Event(), Event()
    busy = Thread(target=map_rows, args=(lambda block: (inside.set(), forked.wait(60)), np.empty((4, 1))))
    busy.start()
    inside.wait(60)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        forked.set()
        busy.join()
        count, labels = pool.apply_async(_in_a_fork, (clf, Q)).get(120)
    assert count == 0
    np.testing.assert_array_equal(labels, expected)


def _in_a_fork(clf, Q):
    return threads._crew._at_work, clf.predict(Q)


def test_the_environment_forces_the_number(monkeypatch):
    monkeypatch.setenv("ANCR_NUM_THREADS", "5")
    with threadpool_limits(None):
        assert thread_count() == 5 or blas_threads()[0] < arrays.cpu_count()
    monkeypatch.setenv("ANCR_NUM_THREADS", "many")
    with pytest.raises(ValueError, match="ANCR_NUM_THREADS must be a positive integer, got 'many'"):
        thread_count()


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
            block.stop - block.start for block in map_rows(lambda block: block, np.empty((500, 1)), row_bytes=2**12)
        ]
    assert max(sizes) * 2**12 * thread_count() <= 2**20


@pytest.mark.parametrize("n_threads", [2, 7, 64, *rarely(1, 3, 16, 32)])
@pytest.mark.parametrize("n_queries", [1, 3, 15, *rarely(2, 7)])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"relaxation": 0.5},
        {"constraint": "free"},
        {"solver": ADMM(max_iter=4)},
        {"solver": ADMM(rho=5.0)},
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


@pytest.fixture(scope="module")
def one_thread_codes():
    rng = np.random.default_rng(0)
    X, y = np.abs(rng.standard_normal((150, 30))), np.arange(150) % 5
    Q = np.abs(rng.standard_normal((97, 30)))
    classifiers = {
        "ANCR": ANCRClassifier(),
        "ANCR, ADMM": ANCRClassifier(solver="admm", max_iter=20),
        "ANCR, relaxed": ANCRClassifier(relaxation=0.5),
        "NRC": NRCClassifier(),
        "CRC": CRCClassifier(),
        "SRC": SRCClassifier(alpha=0.05),
    }
    with threadpool_limits(1):
        return Q, {name: (clf.fit(X, y), dense(clf.codes(Q))) for name, clf in classifiers.items()}


@pytest.mark.parametrize("n_threads", [2, 7, 64, *rarely(1, 3, 16, 32)])
@pytest.mark.parametrize("name", ["ANCR", "ANCR, ADMM", "ANCR, relaxed", "NRC", "CRC", "SRC"])
def test_codes_of_classifiers_for_any_number_of_threads(one_thread_codes, monkeypatch, n_threads, name):
    monkeypatch.setattr(arrays, "thread_count", lambda: n_threads)
    Q, fitted = one_thread_codes
    clf, expected = fitted[name]
    # A block of another size can take another path through BLAS, which rounds differently.
    np.testing.assert_allclose(dense(clf.codes(Q)), expected, atol=1e-12)
