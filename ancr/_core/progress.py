"""Progress on stderr: bars on a terminal, elsewhere a line now and then."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from ancr._core.messages import shown_time

if TYPE_CHECKING:
    from rich.progress import Progress

# Seconds before the first line, and between lines, where there is no terminal.
_FIRST, _EVERY = 10.0, 30.0


class LineProgress:
    """Says how far a loop is in a line now and then, for logs; short work says nothing.

    Parameters
    ----------
    total : int or None
        Number of steps; None if unknown.
    left : callable or None
        Estimates the seconds left, or returns None; without it the steps so far do.
    clock : callable
        Seconds, for tests.

    Examples
    --------
    >>> import sys
    >>> from ancr._core.progress import LineProgress
    >>> now = iter([0.0, 40.0, 50.0])
    >>> progress = LineProgress(4, "images", clock=lambda: next(now), stream=sys.stdout)
    >>> progress.advance()
    images: 1 of 4, about 2 min 0 s left
    >>> progress.advance()
    """

    def __init__(
        self,
        total: int | None,
        description: str,
        *,
        left: Callable[[], float | None] | None = None,
        clock: Callable[[], float] = time.monotonic,
        stream: TextIO | None = None,
    ) -> None:
        self._total, self._description, self._clock, self._stream = total, description, clock, stream
        self._estimate = left
        self._done, self._start = 0, clock()
        self._next = self._start + _FIRST

    def advance(self, steps: int = 1, remark: str = "") -> None:
        """Count steps, none to look only, and print a line if the last one is some time ago."""
        self._done += steps
        now = self._clock()
        if now < self._next or self._done == self._total:
            return
        self._next = now + _EVERY
        left = self._left(now)
        of = f" of {self._total}{_shown_left(left)}" if self._total else ""
        line = f"{self._description}: {self._done}{of}{'; ' if remark else ''}{remark}"
        print(line, file=self._stream or sys.stderr, flush=True)

    def _left(self, now: float) -> float | None:
        if self._estimate is not None:
            return self._estimate()
        return (now - self._start) / self._done * ((self._total or 0) - self._done) if self._done else None


def _shown_left(seconds: float | None) -> str:
    """The time left, after a comma; what takes longer than estimated is not said to be done in no time."""
    if seconds is None:
        return ""
    return f", about {shown_time(seconds)} left" if seconds > 0 else ", longer than estimated"


@contextmanager
def progress_bar(
    description: str, total: int | None = None, *, enabled: bool = True, as_bytes: bool = False
) -> Iterator[Callable[..., None]]:
    """Show the progress of a loop.

    Parameters
    ----------
    description : str
        Text beside the bar.
    total : int or None
        Number of steps; None if unknown.
    enabled : bool
        Whether to show it.
    as_bytes : bool
        Count bytes and show the speed.

    Yields
    ------
    callable
        ``advance(steps)``, to call after each step.
    """
    from rich.progress import DownloadColumn, MofNCompleteColumn, TransferSpeedColumn

    if enabled and not _is_terminal():
        yield LineProgress(total, description).advance
        return
    counts: list[Any] = [DownloadColumn(), TransferSpeedColumn()] if as_bytes else [MofNCompleteColumn()]
    with _bars(counts, enabled) as bars:
        task = bars.add_task(description, total=total)
        yield lambda steps=1: bars.advance(task, steps)


@contextmanager
def progress_bars(
    totals: Mapping[str, int], left: Callable[[], float | None] = lambda: None
) -> Iterator[Callable[..., None]]:
    """Show one bar per name, and one for all of them with the time left, which ``left()`` estimates in seconds.

    Yields
    ------
    callable
        ``advance(name, remark)``, to call after each step; the remark, such as a result so far, stands beside the name.
        ``advance()`` only looks at the time.
    """
    from rich.progress import MofNCompleteColumn

    if not _is_terminal():
        lines, remarks = LineProgress(sum(totals.values()), "cells", left=left), dict.fromkeys(totals, "")

        def count(name: str = "", remark: str = "") -> None:
            remarks.update({name: remark} if name else {})
            lines.advance(bool(name), ", ".join(f"{each} {text}" for each, text in remarks.items() if text))

        yield count
        return
    with _bars([MofNCompleteColumn()], seconds=3600) as bars:  # a step may take minutes
        tasks = {name: bars.add_task(name, total=total) for name, total in totals.items()}
        everything = bars.add_task("all", total=sum(totals.values()))

        def advance(name: str = "", remark: str = "") -> None:
            if name:
                bars.update(tasks[name], advance=1, description=f"{name} {remark}".strip())
            bars.update(everything, advance=bool(name), description=f"all{_shown_left(left())}")

        yield advance


def _is_terminal() -> bool:
    from rich.console import Console

    return Console(stderr=True).is_terminal


def _bars(counts: list[Any], enabled: bool = True, seconds: float = 30) -> "Progress":
    """Bars whose time left is estimated from the steps of the last ``seconds``."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = [TextColumn("{task.description}"), BarColumn(), *counts, TimeRemainingColumn()]
    return Progress(*columns, console=Console(stderr=True), disable=not enabled, speed_estimate_period=seconds)
