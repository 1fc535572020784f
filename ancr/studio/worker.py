"""The threads of a studio: the only one that touches the state, and those for work that takes longer than a request.

The first takes everything that waits at once: twenty requests that arrive together share one write to the disk and one
matrix product. Of several requests for the same longer work, only the last is done.
"""

import asyncio
import queue
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeAlias

from ancr._core.messages import one_line
from ancr.studio.apart import CancelledError, return_memory

# What is handed over: a kind, its payload and where the result goes; None ends the thread.
Job: TypeAlias = tuple[str, Any, Future]


class EndedError(Exception):
    """The thread has ended: the data that it worked on is not open any more."""


class Worker:
    """Runs jobs in one thread; jobs of the same kind that wait together are handed over together.

    Parameters
    ----------
    handlers : dict
        For each kind a function of a list of payloads that returns one result, or one exception, for each.
    name : str
        Name of the thread.

    Examples
    --------
    >>> from ancr.studio.worker import Worker
    >>> worker = Worker({"double": lambda numbers: [2 * number for number in numbers]})
    >>> worker.submit("double", 21).result()
    42
    >>> worker.stop()
    """

    def __init__(self, handlers: Mapping[str, Callable[[list], Sequence]], name: str = "worker") -> None:
        self._handlers = handlers
        self._ending, self._has_ended = threading.Lock(), False
        self._queue: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=f"ancr-studio-{name}", daemon=True)
        self._thread.start()

    def submit(self, kind: str, payload: Any = None) -> Future:
        """Hand over a job; returns a `concurrent.futures.Future`, of an `EndedError` once the thread was stopped."""
        future: Future = Future()
        with self._ending:
            if self._has_ended:
                future.set_exception(EndedError())
            else:
                self._queue.put((kind, payload, future))
        return future

    async def ask(self, kind: str, payload: Any = None) -> Any:
        """Hand over a job and wait for its result."""
        return await asyncio.wrap_future(self.submit(kind, payload))

    def stop(self) -> None:
        """Finish what waits, then end the thread."""
        with self._ending:
            self._has_ended = True
            self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        while True:
            waiting = self._waiting()
            groups: dict[str, list[Job]] = {}
            for job in waiting:
                if job is not None:
                    groups.setdefault(job[0], []).append(job)
            # Actions come before answers, so that an answer knows every label given before it.
            for kind in sorted(groups, key=list(self._handlers).index):
                self._handle(kind, groups[kind])
            if None in waiting:
                return

    def _waiting(self) -> list[Job | None]:
        """What is in the queue; waits for the first."""
        jobs = [self._queue.get()]
        while not self._queue.empty():
            jobs.append(self._queue.get())
        return jobs

    def _handle(self, kind: str, jobs: list[Job]) -> None:
        try:
            results = self._handlers[kind]([payload for _, payload, _ in jobs])
        except BaseException as error:
            results = [error] * len(jobs)
        for (_, _, future), result in zip(jobs, results, strict=True):
            if future.cancelled():
                continue
            if isinstance(result, BaseException):
                future.set_exception(result)
            else:
                future.set_result(result)


class Background:
    """A thread that does the last job of each name.

    Parameters
    ----------
    report : callable
        ``report(name, result, error)`` is called in the thread when a job has ended; ``error`` is a sentence or None.
    name : str
        Name of the thread.
    pause : float
        Seconds without a request before a job begins, so that work does not compete with a person who acts quickly; a
        job never waits longer than ten times that.
    """

    def __init__(self, report: Callable[[str, Any, str | None], object], name: str, pause: float = 0.0) -> None:
        self._report = report
        self._jobs: OrderedDict[str, Callable[[], Any]] = OrderedDict()
        self._busy: str | None = None
        self._pause, self._last, self._first = pause, 0.0, 0.0
        self._changed, self._stopped = threading.Condition(), False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def request(self, name: str, function: Callable[[], Any], at_once: bool = False) -> None:
        """Do ``function()`` when its turn comes, in place of one of the same name that still waits.

        With ``at_once`` it comes next, without a pause.
        """
        with self._changed:
            now = time.monotonic()
            self._first, self._last = self._first if self._jobs else now, now
            self._jobs[name] = function
            if at_once:
                self._jobs.move_to_end(name, last=False)
                self._last = 0.0
            self._changed.notify_all()

    def drop(self, name: str) -> None:
        """Forget a job of this name that still waits."""
        with self._changed:
            self._jobs.pop(name, None)

    def is_busy(self, name: str) -> bool:
        """Whether a job of this name waits or runs."""
        with self._changed:
            return name in self._jobs or self._busy == name

    def stop(self) -> None:
        """End after the job that runs."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _rest(self) -> float:
        """Seconds that are left of the pause."""
        now = time.monotonic()
        return min(self._last + self._pause - now, self._first + 10.0 * self._pause - now)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._jobs) or self._stopped)
                while not self._stopped and (rest := self._rest()) > 0.0:
                    self._changed.wait(rest)
                if self._stopped:
                    return
                name, function = self._jobs.popitem(last=False)
                self._busy = name
            result, error = None, None
            try:
                result = function()
            except CancelledError:
                pass
            except Exception as problem:  # a sentence in the page, not the end of the thread
                error = one_line(problem)
            return_memory()
            with self._changed:
                self._busy = None
            self._report(name, result, error)
