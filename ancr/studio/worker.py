"""The only thread that touches the state; it takes everything that waits at once.

Twenty requests that arrive together then share one write to the disk and one matrix product.
"""

import asyncio
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeAlias

# What is handed over: a kind, its payload and where the result goes; None ends the thread.
Job: TypeAlias = tuple[str, Any, Future]


class Worker:
    """Runs jobs in one thread; jobs of the same kind that wait together are handed over together.

    Parameters
    ----------
    handlers : dict
        For each kind a function of a list of payloads that returns one result, or one exception, for each.

    Examples
    --------
    >>> from ancr.studio.worker import Worker
    >>> worker = Worker({"double": lambda numbers: [2 * number for number in numbers]})
    >>> worker.submit("double", 21).result()
    42
    >>> worker.stop()
    """

    def __init__(self, handlers: Mapping[str, Callable[[list], Sequence]]) -> None:
        self._handlers = handlers
        self._queue: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="ancr-studio", daemon=True)
        self._thread.start()

    def submit(self, kind: str, payload: Any = None) -> Future:
        """Hand over a job; returns a `concurrent.futures.Future`."""
        future: Future = Future()
        self._queue.put((kind, payload, future))
        return future

    async def ask(self, kind: str, payload: Any = None) -> Any:
        """Hand over a job and wait for its result."""
        return await asyncio.wrap_future(self.submit(kind, payload))

    def stop(self) -> None:
        """Finish what waits, then end the thread."""
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
