"""Progress bars on stderr, shown only on a terminal."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress


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
    from rich.progress import DownloadColumn, MofNCompleteColumn, TransferSpeedColumn

    counts: list[Any] = [DownloadColumn(), TransferSpeedColumn()] if as_bytes else [MofNCompleteColumn()]
    with _bars(counts, enabled) as bars:
        task = bars.add_task(description, total=total)
        yield lambda steps=1: bars.advance(task, steps)


@contextmanager
def progress_bars(totals: Mapping[str, int]) -> Iterator[Callable[[str], None]]:
    """Show one bar per name, and one for all of them; yields ``advance(name)``, to call after each step."""
    from rich.progress import MofNCompleteColumn

    with _bars([MofNCompleteColumn()], seconds=3600) as bars:  # a step may take minutes
        tasks = {name: bars.add_task(name, total=total) for name, total in totals.items()}
        everything = bars.add_task("all", total=sum(totals.values()))

        def advance(name: str) -> None:
            bars.advance(tasks[name])
            bars.advance(everything)

        yield advance


def _bars(counts: list[Any], enabled: bool = True, seconds: float = 30) -> "Progress":
    """Bars whose time left is estimated from the steps of the last ``seconds``."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = [TextColumn("{task.description}"), BarColumn(), *counts, TimeRemainingColumn()]
    hidden = not (enabled and console.is_terminal)
    return Progress(*columns, console=console, disable=hidden, speed_estimate_period=seconds)
