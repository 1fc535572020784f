"""Compile kernels and keep them on disk; on the terminal say that it compiles, which would otherwise seem to hang."""

import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any

from numba import config, njit
from numba.core import event
from numba.core.caching import CompileResultCacheImpl, FunctionCache

from ancr._core.locations import cache_home

_MESSAGE = (
    "ancr: compiling for this machine. This happens once per environment and takes half a minute or more, longer for a "
    "search over settings; `ancr warmup` does it ahead."
)
UNKEPT = (
    "compiled code cannot be kept, since no folder for it can be written: every start of Python compiles anew, for "
    "half a minute or more; set NUMBA_CACHE_DIR to a folder that can be written"
)


class _Announcer(event.Listener):
    """Prints a message once, when a kernel of this package is compiled rather than read from the cache."""

    def __init__(self) -> None:
        self._lock, self._said = Lock(), False
        # Whether some kernel has no cache that can be written, and whether such a kernel had to be compiled.
        self.unkept = self.lost = False

    def on_start(self, compilation: event.Event) -> None:
        function = compilation.data["dispatcher"].py_func
        with self._lock:
            if not function.__module__.startswith("ancr."):
                return
            self.lost = self.unkept
            if self._said:
                return
            self._said = True
        if sys.stderr is not None and (self.unkept or sys.stderr.isatty()):
            print(f"ancr: {UNKEPT}." if self.unkept else _MESSAGE, file=sys.stderr, flush=True)

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


def is_kept() -> bool:
    """Whether what was compiled is there at the next start of Python."""
    return not _announcer.lost


def is_compiled(kernel: Any) -> bool:
    """Whether a kernel has been compiled, in this process or into a cache on disk, from the present source."""
    if kernel.overloads:
        return True
    index = getattr(kernel._cache, "_cache_file", None)
    try:
        return bool(index is not None and index._load_index())
    except (OSError, ValueError, EOFError):
        return False


_can_be_postponed = True


@contextmanager
def compiling_now() -> Iterator[None]:
    """Compile in here whatever is not compiled, however little there is to do."""
    global _can_be_postponed
    _can_be_postponed = False
    try:
        yield
    finally:
        _can_be_postponed = True


class Postponed:
    """Work that is done without a kernel as long as it takes less time than compiling it: all of a process together.

    Parameters
    ----------
    worth_compiling : float
        Seconds of such work after which the kernel is compiled.
    """

    def __init__(self, worth_compiling: float) -> None:
        self._lock, self._left = Lock(), worth_compiling

    def is_less(self, kernel: Any, seconds: float) -> bool:
        """Whether work that may take so long is to be done without a kernel: it is not compiled nor worth compiling."""
        return _can_be_postponed and seconds <= self._left and not is_compiled(kernel)

    def add(self, seconds: float) -> None:
        """Count the time that work took without the kernel."""
        with self._lock:
            self._left -= seconds


def cached_njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`numba.njit` with a cache on disk, in the first folder that serves; without one where none does.

    In this order: where Numba itself would keep it (``NUMBA_CACHE_DIR``, the folder of the package, the user's cache);
    one of these that cannot be written but holds the kernel, as after ``ancr warmup`` in an image that is then run
    read-only; the cache folder of this package; the temporary folder. Numba alone would raise an error.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = njit(**options)(function)
        if not _keeps(dispatcher):
            is_kept_elsewhere = not _reads(dispatcher) and any(_keeps(dispatcher, each) for each in _spare_folders())
            _announcer.unkept |= not is_kept_elsewhere
        return dispatcher

    return decorate


def _keeps(dispatcher: Any, folder: Path | None = None) -> bool:
    """Whether a kernel has a cache now: in a folder, or where Numba would keep it."""
    settings: Any = config
    before = settings.CACHE_DIR
    settings.CACHE_DIR = before if folder is None else str(folder)
    try:
        dispatcher._cache = _Cache(dispatcher.py_func)
    except RuntimeError:  # no place that can be written
        return False
    finally:
        settings.CACHE_DIR = before
    return True


class _Cache(FunctionCache):
    """A cache that a full disk leaves as it is: what was compiled serves this process."""

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function, if it can be kept."""
        try:
            super().save_overload(sig, data)
        except OSError:
            _announcer.lost = True
            with suppress(OSError):  # it may list code that was not written, in the place of older code
                Path(self._cache_file._index_path).unlink()


class _ReadOnlyCache(FunctionCache):
    """A cache that is read and never written."""

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep nothing: what is missing here is compiled at every start."""

    @property
    def is_filled(self) -> bool:
        """Whether it holds the kernel, compiled from the present source."""
        try:
            return bool(self._cache_file._load_index())
        except OSError:
            return False


def _reads(dispatcher: Any) -> bool:
    """Whether a kernel has a filled cache now that cannot be written."""
    for locator in CompileResultCacheImpl._locator_classes:
        unwritten = type(locator.__name__, (locator,), {"ensure_cache_path": lambda self: None})
        where = type("Where", (CompileResultCacheImpl,), {"_locator_classes": [unwritten]})
        try:
            cache = type("Cache", (_ReadOnlyCache,), {"_impl_class": where})(dispatcher.py_func)
        except RuntimeError:  # no such place
            continue
        if cache.is_filled:
            dispatcher._cache = cache
            return True
    return False


def _spare_folders() -> Iterator[Path]:
    yield cache_home() / "kernels"
    try:
        folder = Path(tempfile.gettempdir()) / f"ancr-kernels-{getattr(os, 'getuid', int)()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return
    # A cache holds code: only a folder that no one else could have filled. Windows has a temporary one for each user.
    if os.name == "nt" or (
        stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not stat.S_IMODE(found.st_mode) & 0o077
    ):
        yield folder
