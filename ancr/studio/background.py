"""Work that takes longer than a request: of several requests for the same work, only the last is done."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ancr._core.messages import one_line


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
            except Exception as problem:  # a sentence in the page, not the end of the thread
                error = one_line(problem)
            with self._changed:
                self._busy = None
            self._report(name, result, error)
