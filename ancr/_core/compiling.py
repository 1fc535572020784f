"""A message on the terminal while kernels are compiled: the first call would otherwise seem to hang."""

import sys
from threading import Lock

from numba.core import event

_MESSAGE = (
    "ancr: compiling for this machine. This happens once per environment and takes half a minute or more, longer for a "
    "search over settings; `ancr warmup` does it ahead."
)


class _Announcer(event.Listener):
    """Prints the message once, when a kernel of this package is compiled rather than read from the cache."""

    def __init__(self) -> None:
        self._lock, self._said = Lock(), False

    def on_start(self, compilation: event.Event) -> None:
        function = compilation.data["dispatcher"].py_func
        with self._lock:
            if self._said or not function.__module__.startswith("ancr."):
                return
            self._said = True
        if sys.stderr is not None and sys.stderr.isatty():
            print(_MESSAGE, file=sys.stderr, flush=True)

    def on_end(self, compilation: event.Event) -> None:
        """The end of a compilation is not announced."""

    def silence(self) -> None:
        """Print no message: the caller shows its own progress."""
        self._said = True


_announcer = _Announcer()
event.register("numba:compile", _announcer)


def be_silent() -> None:
    """No message from now on, for a command that shows its own progress."""
    _announcer.silence()
