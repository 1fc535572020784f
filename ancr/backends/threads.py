"""Threads: the caller works on its own blocks, and helpers join it on the cores that are left.

A block goes from matrix product to decision in one thread, with BLAS on one thread inside, so that its arrays stay in
that core's cache and no thread waits for another. (Numba's own threading layers abort when two Python threads enter
them at once, and OpenBLAS's threads keep spinning after a product, taking the cores from the work that follows.)

Many threads of a user may call at once, as under joblib or Dask. A caller never waits for a free core: it works in its
own thread. Helpers belong to the whole process. They are lent while fewer threads work than there are cores, and go
back before their next block when more callers have come. So the cores are filled and not oversubscribed, and no
combination of calls can deadlock.
"""

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from threading import Lock, local

from joblib import cpu_count
from threadpoolctl import ThreadpoolController

# No more helpers than this at once; their threads start when they are first needed.
_MOST_HELPERS = 1024


@cache
def _blas_pools():
    return [pool for pool in ThreadpoolController().lib_controllers if pool.user_api == "blas"]


def _set_blas_threads(counts):
    for pool, count in zip(_blas_pools(), counts, strict=True):
        # Since version 3.7 threadpoolctl lets the first thread that sets OpenBLAS's limit own it, and ignores all
        # others in silence. The counting below is what makes this safe from any thread.
        release = getattr(pool, "clear_controlling_thread", lambda force: None)
        release(force=True)
        pool.set_num_threads(count)
        release(force=True)


class _SingleThreadedBLAS:
    """Limit BLAS to one thread while any caller is inside.

    The limit belongs to the whole process. Callers from several threads are counted: the first sets it, and the last
    lifts it.
    """

    def __init__(self):
        self._lock = Lock()
        self._inside = 0
        self._before = []

    @contextmanager
    def __call__(self):
        with self._lock:
            if self._inside == 0:
                self._before = [pool.num_threads for pool in _blas_pools()]
                _set_blas_threads([1] * len(self._before))
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    _set_blas_threads(self._before)

    def limits(self):
        """Threads of each BLAS library as the user set them, whoever is inside."""
        with self._lock:
            return self._before if self._inside else [pool.num_threads for pool in _blas_pools()]

    def lift(self):
        """Forget all callers: after a fork, those of other threads do not exist."""
        inside, self._inside, self._lock = self._inside, 0, Lock()
        if inside:
            _set_blas_threads(self._before)


class _Crew:
    """The threads of this process that work on blocks: callers, and helpers lent to them."""

    def __init__(self):
        self._lock = Lock()
        self._at_work = 0
        self._pool = ThreadPoolExecutor(_MOST_HELPERS, "ancr")

    def add(self, change):
        """Count threads that begin or end work."""
        with self._lock:
            self._at_work += change

    def is_crowded(self, n_threads):
        """Whether more threads work than there should be."""
        return self._at_work > n_threads

    def lend(self, turn, wanted, n_threads):
        """Start ``turn`` in up to ``wanted`` helpers, as long as fewer than ``n_threads`` threads work; their futures.

        Each helper counts as working until it or its caller takes it off the count.
        """
        with self._lock:
            lent = max(0, min(wanted, n_threads - self._at_work))
            self._at_work += lent
        futures = []
        try:
            futures += [self._pool.submit(turn) for _ in range(lent)]
        except RuntimeError:  # no thread starts while the interpreter shuts down: the caller does all by itself
            self.add(len(futures) - lent)
        return futures


class _Here(local):
    """What is known about the current thread."""

    is_alone = False


_single_threaded_blas = _SingleThreadedBLAS()
_crew = _Crew()
_here = _Here()


def _start_anew():
    global _crew
    _crew = _Crew()
    _here.is_alone = False
    _single_threaded_blas.lift()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


@contextmanager
def _alone():
    """Blocks that the current thread starts in here get no helpers."""
    before, _here.is_alone = _here.is_alone, True
    try:
        yield
    finally:
        _here.is_alone = before


def thread_count():
    """Threads that a call in the current thread may use.

    One inside a block of another call. Otherwise the cores, or ``ANCR_NUM_THREADS`` where that is set, and no more than
    the limit of BLAS if it is below the cores. Following BLAS means following ``threadpool_limits``,
    ``OMP_NUM_THREADS`` and joblib's workers, which set it to keep nested parallelism from oversubscribing the cores.
    """
    if _here.is_alone:
        return 1
    cores = cpu_count()
    limits = [limit for limit in _single_threaded_blas.limits() if limit and limit < cores]
    return min([_forced_count() or cores, *limits])


def _forced_count():
    text = os.environ.get("ANCR_NUM_THREADS", "").strip()
    if text and not (text.isascii() and text.isdigit() and int(text)):
        raise ValueError(f"the environment variable ANCR_NUM_THREADS must be a positive integer, got {text!r}")
    return int(text or 0)


@contextmanager
def blas_threads_for(flops):
    """Keep BLAS and blocks on one thread for work too small to gain from more.

    OpenBLAS's threads spin for some 25 ms after a product before they sleep; after a fit of 10 ms they would
    take a core from the first queries.
    """
    if flops > 1e9:
        yield
    else:
        with _single_threaded_blas(), _alone():
            yield


def share_out(work, blocks, n_threads):
    """``[work(block) for block in blocks]`` on up to ``n_threads`` threads, with BLAS on one thread in each.

    After an error or Ctrl-C no further block starts, and it is raised when all blocks in progress have ended.
    """
    with _single_threaded_blas():
        if n_threads == 1:
            with _alone():
                return [work(block) for block in blocks]
        return _Job(work, blocks, n_threads).run()


class _Job:
    """Blocks of one call, with the caller and its helpers taking turns."""

    def __init__(self, work, blocks, n_threads):
        self._work, self._n_threads = work, n_threads
        self._waiting, self._results = deque(enumerate(blocks)), [None] * len(blocks)
        self._turns = []

    def run(self):
        """Results of all blocks, in order."""
        _crew.add(1)
        try:
            while self._waiting:
                # Asked before each block, because cores become free while a long call is under way.
                self._turns += _crew.lend(self._help, len(self._waiting) - 1, self._n_threads)
                self._take_turn()
        finally:
            self._waiting.clear()
            _crew.add(-1 - sum(turn.cancel() for turn in self._turns))
            wait(self._turns)
        for turn in self._turns:
            if not turn.cancelled():
                turn.result()
        return self._results

    def _help(self):
        try:
            while self._waiting and not _crew.is_crowded(self._n_threads):
                self._take_turn()
        finally:
            _crew.add(-1)

    def _take_turn(self):
        try:
            place, block = self._waiting.popleft()
        except IndexError:  # another thread was quicker
            return
        try:
            with _alone():
                self._results[place] = self._work(block)
        except BaseException:
            self._waiting.clear()
            raise
