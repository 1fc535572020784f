"""A progress bar on stderr, shown only on a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


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
        Whether to show the bar; it is never shown if stderr is not a terminal.
    as_bytes : bool
        Count bytes and show the speed.

    Yields
    ------
    callable
        ``advance(steps)``, to call after each step.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    console = Console(stderr=True)
    counts = [DownloadColumn(), TransferSpeedColumn()] if as_bytes else [MofNCompleteColumn()]
    columns = [TextColumn("{task.description}"), BarColumn(), *counts, TimeRemainingColumn()]
    with Progress(*columns, console=console, disable=not (enabled and console.is_terminal)) as bar:
        task = bar.add_task(description, total=total)
        yield lambda steps=1: bar.advance(task, steps)
