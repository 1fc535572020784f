"""Long work in a process of its own: it can be ended at any time, and answers do not wait for Python's lock."""

import ctypes
import gc
import multiprocessing
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, TypeAlias

import numpy as np

from ancr._core.messages import one_line

Report: TypeAlias = Callable[[int, int], None]
_LOOK = 0.1


class CancelledError(Exception):
    """A person did not want to wait for it any longer."""


def run_apart(
    work: Callable[..., Any], arguments: tuple[Any, ...], report: Report, is_cancelled: Callable[[], bool]
) -> Any:
    """The result of ``work(*arguments, report)``, worked out in another process.

    Parameters
    ----------
    work : callable
        A function of a module.
    arguments : tuple
        Plain data, arrays and estimators.
    report : callable
        ``report(done, total)`` is called here when the work calls it there.
    is_cancelled : callable
        Asked now and then; the process is ended when it says so.

    Raises
    ------
    CancelledError
        If it was ended.
    ValueError
        With the message of what was raised there.
    """
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_work, args=(there, work, arguments), daemon=True)
    process.start()
    there.close()
    try:
        while True:
            if is_cancelled():
                raise CancelledError
            if not here.poll(_LOOK):
                continue
            kind, value = here.recv()
            if kind == "done":
                return value
            if kind == "failed":
                raise ValueError(value)
            report(*value)
    except EOFError:
        raise ValueError("The work was ended by the system, perhaps for lack of memory.") from None
    finally:
        process.terminate()
        process.join()
        here.close()


class Beside:
    """A process that works on the same samples again and again; it begins with the first work.

    Parameters
    ----------
    samples : ndarray
        All samples, sent once.
    """

    def __init__(self, samples: np.ndarray) -> None:
        self._samples = samples
        self._process: BaseProcess | None = None
        self._connection: Connection | None = None
        self._lock, self._starting = threading.Lock(), threading.Lock()
        self._is_stopped = False

    def ask(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """The result of ``work(samples, *arguments)``, worked out in the process."""
        with self._lock:
            if self._is_stopped:
                raise CancelledError
            try:
                connection = self._begun()
                connection.send((work, arguments))
                kind, value = connection.recv()
            except (EOFError, OSError):
                self._end()
                if self._is_stopped:
                    raise CancelledError from None
                raise ValueError("The work was ended by the system, perhaps for lack of memory.") from None
        if kind == "failed":
            raise ValueError(value)
        return value

    def stop(self) -> None:
        """End the process, also while it works."""
        self._is_stopped = True
        with self._starting:  # a process that loses its parent while it starts prints a traceback
            if self._process is not None:
                self._process.terminate()

    def _begun(self) -> Connection:
        if self._connection is None:
            context = multiprocessing.get_context("spawn")
            self._connection, there = context.Pipe()
            process = context.Process(target=_work_beside, args=(there, self._samples), daemon=True)
            with self._starting:
                if self._is_stopped:
                    raise CancelledError
                process.start()
                self._process = process
            there.close()
        return self._connection

    def _end(self) -> None:
        if self._process is not None and self._connection is not None:
            self._process.terminate()
            self._process.join()
            self._connection.close()
        self._process = self._connection = None


def _work_beside(connection: Connection, samples: np.ndarray) -> None:
    with suppress(AttributeError, OSError):
        os.nice(5)
    with suppress(EOFError, OSError, KeyboardInterrupt):  # the studio has ended
        while True:
            work, arguments = connection.recv()
            try:
                answer = "done", work(samples, *arguments)
            except Exception as error:
                answer = "failed", one_line(error)
            connection.send(answer)
            del answer, work, arguments
            gc.collect()  # a fitted classifier refers to itself, and would stay with its matrices
            return_memory()


def _work(connection: Connection, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    with suppress(AttributeError, OSError):
        os.nice(5)  # answers and labels come first
    try:
        result = work(*arguments, lambda done, total: connection.send(("progress", (done, total))))
        connection.send(("done", result))
    except Exception as error:
        connection.send(("failed", one_line(error)))


def return_memory() -> None:
    """Give memory that is free back to the system, where the C library would keep it (glibc)."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)
