"""A progress bar on stderr, and silence where stderr is no terminal."""

from contextlib import contextmanager


@contextmanager
def progress_bar(description, total=None, *, enabled=True, as_bytes=False):
    """Show how far a loop has come.

    Parameters
    ----------
    description : str
        What is being done.
    total : int or None
        Steps in all; None where unknown.
    enabled : bool
        False is silent, as a stderr that is no terminal always is.
    as_bytes : bool
        Count bytes, with a speed.

    Yields
    ------
    callable
        ``advance(steps)``, to be called after each step.
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
