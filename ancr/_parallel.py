"""Blocks of queries in parallel: one thread a block, BLAS single-threaded inside.

A block goes from matrix product to decision in one thread, so that its arrays stay in that core's cache and no
thread waits for another. (Numba's own threading layers abort when two Python threads enter them at once, and
OpenBLAS's threads go on spinning after a product, stealing the cores from whatever follows it.)
"""

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock

from joblib import cpu_count
from sklearn import get_config
from threadpoolctl import ThreadpoolController

# Rows of a block: enough for matrix products at full speed, few enough to stay in cache.
BLOCK_ROWS = 384


@cache
def _controller():
    return ThreadpoolController()


class _SingleThreadedBLAS:
    """Limit BLAS to one thread while anyone is inside.

    The limit belongs to the whole process. Callers from several threads are counted: the first sets it, the last
    lifts it, and a caller inside another's limit is told the number of threads that it may use: one.
    """

    def __init__(self):
        self._lock = Lock()
        self._inside = 0

    @contextmanager
    def __call__(self):
        with self._lock:
            if self._inside == 0:
                self._limit = _controller().limit(limits=1, user_api="blas")
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    self._limit.restore_original_limits()


_single_threaded_blas = _SingleThreadedBLAS()


def thread_count():
    """Threads this process may use: the current BLAS limit, or the cores where no BLAS pool is known.

    Following BLAS means following ``threadpool_limits``, ``OMP_NUM_THREADS`` and joblib's workers, which set it
    to keep nested parallelism from oversubscribing the cores.
    """
    limits = [pool.num_threads for pool in _controller().lib_controllers if pool.user_api == "blas"]
    return max(1, min([cpu_count(), *limits]))


@contextmanager
def blas_threads_for(flops):
    """Keep BLAS on one thread for work too small to gain from more.

    OpenBLAS's threads spin for some 25 ms after a product before they sleep; after a fit that takes 10 ms they
    would take a core from the first queries.
    """
    if flops > 1e9:
        yield
    else:
        with _single_threaded_blas():
            yield


def read_only(array):
    """A view that cannot be written, for a kernel that does not.

    Arrays that joblib shares between processes are read-only; with all arrays so, one compiled kernel serves both.
    """
    view = array.view()
    view.flags.writeable = False
    return view


def map_blocks(work, n_rows, row_bytes=0, block_rows=BLOCK_ROWS):
    """``[work(block) for block in slices that cover n_rows rows]``, in threads.

    Parameters
    ----------
    work : callable
        Takes a slice of rows and returns that block's result.
    n_rows : int
        Rows in all.
    row_bytes : int
        Memory that a row needs while it is worked on; all blocks under way together stay within scikit-learn's
        ``working_memory``.
    block_rows : int
        Rows of a block, at most.

    Returns
    -------
    list
        Results in the order of the rows.
    """
    if not n_rows:
        return []
    n_threads = thread_count()
    budget = int(get_config()["working_memory"] * 2**20 // max(1, n_threads * row_bytes))
    rounds = -(-n_rows // (n_threads * max(1, min(block_rows, budget))))
    rows = -(-n_rows // (n_threads * rounds))  # every thread gets as many blocks of the same size
    blocks = [slice(start, min(start + rows, n_rows)) for start in range(0, n_rows, rows)]
    with _single_threaded_blas():
        return _share_out(work, blocks, n_threads)


def _share_out(work, blocks, n_threads):
    """``[work(block) …]``; the calling thread takes its share, for it is there and its memory is warm."""
    results, waiting = [None] * len(blocks), deque(enumerate(blocks))

    def take_turns():
        while True:
            try:
                place, block = waiting.popleft()
            except IndexError:
                return
            try:
                results[place] = work(block)
            except BaseException:  # an error or Ctrl-C: the blocks that have not begun are dropped
                waiting.clear()
                raise

    helpers = min(n_threads, len(blocks)) - 1
    if not helpers:
        take_turns()
        return results
    with ThreadPoolExecutor(helpers) as pool:
        turns = [pool.submit(take_turns) for _ in range(helpers)]
        take_turns()
        for turn in turns:
            turn.result()
    return results
