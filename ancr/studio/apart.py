"""Long work in a process of its own: it can be ended at any time, and answers do not wait for Python's lock."""

import multiprocessing
import os
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, TypeAlias

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


def _work(connection: Connection, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    with suppress(AttributeError, OSError):
        os.nice(5)  # answers and labels come first
    try:
        result = work(*arguments, lambda done, total: connection.send(("progress", (done, total))))
        connection.send(("done", result))
    except Exception as error:
        connection.send(("failed", one_line(error)))
