"""Blocks of one call on several threads: the caller's own, and helpers that belong to the whole process.

Many threads of a user may call at once, as under joblib or Dask. A caller never waits for a free core: it works in its
own thread. Helpers are lent while fewer threads work than there are cores, and go back before their next block when
more callers have come. So the cores are filled and not oversubscribed, and no combination of calls can deadlock.

Python hears Ctrl-C in the main thread and between two bytecodes only. So work in a thread comes in pieces of a fraction
of a second, between which it looks up in `jobs` whether to stop, and a single call of LAPACK or of a kernel that may
take longer goes through `aside`, which leaves the main thread free to hear.
"""

import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from threading import Lock, current_thread, get_ident, main_thread
from typing import Generic, TypeVar

# No more helpers than this at once; their threads start when they are first needed.
_MOST_HELPERS = 1024
# Floating-point operations of a single call above which the main thread does not do it itself: some tenths of a second.
LONG = 1e10
# Seconds that an interrupted caller waits for helpers to stop.
_PATIENCE = 0.4
Result = TypeVar("Result")


def share_out(work: Callable[[slice], Result], blocks: Sequence[slice], n_threads: int) -> list[Result]:
    """``[work(block) for block in blocks]`` on up to ``n_threads`` threads.

    After an error no further block starts, and it is raised when all blocks in progress have ended. After Ctrl-C they
    are asked to stop, and what does not at once is left behind.
    """
    return _Job(work, blocks, n_threads).run()


def aside(function: Callable[[], Result], flops: float) -> Result:
    """``function()``, in a helper's thread if it is long and the main thread would have to do it: so Ctrl-C is heard.

    After Ctrl-C the helper is left to itself until the function ends.
    """
    if flops < LONG or current_thread() is not main_thread():
        return function()
    context = copy_context()
    future = _crew.take(lambda: context.run(function))
    return function() if future is None else future.result()


class _Crew:
    """The threads of this process that work on blocks: callers, and helpers lent to them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._at_work = 0
        self._pool = ThreadPoolExecutor(_MOST_HELPERS, "ancr")

    def add(self, change: int) -> None:
        """Count threads that begin or end work."""
        with self._lock:
            self._at_work += change

    def is_crowded(self, n_threads: int) -> bool:
        """Whether more threads work than there should be."""
        return self._at_work > n_threads

    def lend(self, turn: Callable[[], None], wanted: int, n_threads: int) -> list[Future]:
        """Start ``turn`` in up to ``wanted`` helpers, as long as fewer than ``n_threads`` threads work; their futures.

        Each helper counts as working until it or its caller takes it off the count.
        """
        with self._lock:
            lent = max(0, min(wanted, n_threads - self._at_work))
            self._at_work += lent
        futures = [future for _ in range(lent) if (future := self.take(turn)) is not None]
        self.add(len(futures) - lent)
        return futures

    def take(self, work: Callable[[], Result]) -> Future | None:
        """The future of work in a thread of its own; None while the interpreter shuts down, when no thread starts."""
        try:
            return self._pool.submit(work)
        except RuntimeError:
            return None


_crew = _Crew()
# The jobs that helpers work on, by the identifiers of their threads.
jobs: "dict[int, _Job]" = {}


def _start_anew() -> None:
    """After a fork the helpers, and the callers in other threads, do not exist."""
    global _crew
    _crew = _Crew()
    jobs.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


class _Job(Generic[Result]):
    """Blocks of one call, with the caller and its helpers taking turns."""

    def __init__(self, work: Callable[[slice], Result], blocks: Sequence[slice], n_threads: int) -> None:
        self._work, self._n_threads = work, n_threads
        self._waiting = deque(enumerate(blocks))
        self._results: dict[int, Result] = {}
        self._turns: list[Future] = []
        self.is_stopped = False

    def run(self) -> list[Result]:
        """Results of all blocks, in order."""
        _crew.add(1)
        try:
            while self._waiting:
                # Asked before each block, because cores become free while a long call is under way.
                self._turns += _crew.lend(self._help, len(self._waiting) - 1, self._n_threads)
                self._take_turn()
        except KeyboardInterrupt:
            self.is_stopped = True
            raise
        finally:
            self._waiting.clear()
            begun = [turn for turn in self._turns if not turn.cancel()]
            _crew.add(len(begun) - len(self._turns) - 1)
            self._wait_for(begun)
        for turn in begun:
            turn.result()
        return [self._results[place] for place in sorted(self._results)]

    def _wait_for(self, turns: list[Future]) -> None:
        try:
            wait(turns, _PATIENCE if self.is_stopped else None)
        except KeyboardInterrupt:
            self.is_stopped = True
            raise

    def _help(self) -> None:
        jobs[get_ident()] = self
        try:
            while self._waiting and not _crew.is_crowded(self._n_threads):
                self._take_turn()
        finally:
            del jobs[get_ident()]
            _crew.add(-1)

    def _take_turn(self) -> None:
        try:
            place, block = self._waiting.popleft()
        except IndexError:  # another thread was quicker
            return
        try:
            self._results[place] = self._work(block)
        except BaseException:
            self._waiting.clear()
            raise
