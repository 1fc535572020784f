"""Work that takes longer than a request: of several requests for the same, the last alone is done."""

import threading
from collections import OrderedDict

from ancr.messages import one_line


class Background:
    """A thread that does the last job of each name.

    Parameters
    ----------
    report : callable
        ``report(name, result, error)`` is called in the thread when a job has ended; ``error`` is a sentence or None.
    name : str
        Name of the thread.
    """

    def __init__(self, report, name):
        self._report, self._jobs, self._busy = report, OrderedDict(), None
        self._changed, self._stopped = threading.Condition(), False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def request(self, name, function):
        """Do ``function()`` when its turn comes, in place of one of the same name that still waits."""
        with self._changed:
            self._jobs[name] = function
            self._changed.notify_all()

    def is_busy(self, name):
        """Whether a job of this name waits or runs."""
        with self._changed:
            return name in self._jobs or self._busy == name

    def stop(self):
        """End after the job that runs."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _run(self):
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._jobs or self._stopped)
                if self._stopped:
                    return
                name, function = self._jobs.popitem(last=False)
                self._busy = name
            try:
                result, error = function(), None
            except Exception as problem:  # a sentence in the page, not the end of the thread
                result, error = None, one_line(problem)
            with self._changed:
                self._busy = None
            self._report(name, result, error)
