"""One thread that alone touches the state, and takes everything that waits at once.

Twenty requests that come together then share one write to the disk and one matrix product.
"""

import asyncio
import queue
import threading
from concurrent.futures import Future


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

    def __init__(self, handlers):
        self._handlers, self._queue = handlers, queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="ancr-studio", daemon=True)
        self._thread.start()

    def submit(self, kind, payload=None):
        """Hand over a job; returns a `concurrent.futures.Future`."""
        future = Future()
        self._queue.put((kind, payload, future))
        return future

    async def ask(self, kind, payload=None):
        """Hand over a job and wait for its result."""
        return await asyncio.wrap_future(self.submit(kind, payload))

    def stop(self):
        """Finish what waits, then end the thread."""
        self._queue.put(None)
        self._thread.join()

    def _run(self):
        while True:
            waiting = self._waiting()
            groups = {}
            for job in waiting:
                if job is not None:
                    groups.setdefault(job[0], []).append(job)
            # Actions come before answers, so that an answer knows every label given before it.
            for kind in sorted(groups, key=list(self._handlers).index):
                self._handle(kind, groups[kind])
            if None in waiting:
                return

    def _waiting(self):
        """What is in the queue; waits for the first."""
        jobs = [self._queue.get()]
        while not self._queue.empty():
            jobs.append(self._queue.get())
        return jobs

    def _handle(self, kind, jobs):
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
