"""Progress of a run on stderr: one bar per method, and the time left."""

from collections import defaultdict
from contextlib import contextmanager

from joblib import cpu_count


@contextmanager
def method_progress(plans, jobs=None):
    """Show one bar per method on a terminal; yields ``on_cell(cell)``, to call after each cell.

    Parameters
    ----------
    plans : sequence of Plan
        The cells to run.
    jobs : int or None
        Cells that run in parallel; None means one per core.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = Console(stderr=True)
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[left]}")]
    clock = TimeLeft(plans, jobs or cpu_count())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        tasks = {name: bar.add_task(name, total=total, left="") for name, total in clock.total.items()}
        everything = bar.add_task("all", total=len(plans), left="")

        def on_cell(cell):
            clock.add(cell)
            bar.advance(tasks[cell.method])
            bar.advance(everything)
            for name, task in tasks.items():
                bar.update(task, left=shown_time(clock.of(name)))
            bar.update(everything, left=f"{shown_time(clock.left())} left")

        yield on_cell


class TimeLeft:
    """Estimate of the time that the cells of each method will still take.

    Parameters
    ----------
    plans : sequence of Plan
        The cells to run.
    jobs : int
        Cells that run in parallel.

    Examples
    --------
    >>> from types import SimpleNamespace as Any
    >>> from ancr.comparison.method_progress import TimeLeft
    >>> clock = TimeLeft([Any(method="CRC")] * 3 + [Any(method="kNN")], jobs=2)
    >>> clock.add(Any(method="CRC", fit_s=3.0, predict_s=1.0))
    >>> clock.of("CRC"), clock.left()
    (8.0, 6.0)
    """

    def __init__(self, plans, jobs):
        self.jobs = jobs
        self.total, self.seconds = defaultdict(int), defaultdict(list)
        for plan in plans:
            self.total[plan.method] += 1

    def add(self, cell):
        """Note a cell that is finished."""
        self.seconds[cell.method].append(cell.fit_s + cell.predict_s)

    def of(self, method):
        """Seconds of one core for what is missing of a method; as long as it has no cell, at the mean of all."""
        seconds = self.seconds[method] or [value for values in self.seconds.values() for value in values]
        missing = self.total[method] - len(self.seconds[method])
        return missing * sum(seconds) / max(len(seconds), 1)

    def left(self):
        """Seconds until all is done, if the cells that run in parallel do not disturb each other."""
        return sum(map(self.of, self.total)) / self.jobs


def shown_time(seconds):
    """A duration for people: ``850 µs``, ``12 ms``, ``3.2 s``, ``2 min 5 s``, ``1 h 10 min``.

    Examples
    --------
    >>> from ancr.comparison.method_progress import shown_time
    >>> [shown_time(value) for value in (0.00085, 0.0123, 3.21, 125, 4200)]
    ['850 µs', '12 ms', '3.2 s', '2 min 5 s', '1 h 10 min']
    """
    if seconds < 1e-3:
        return f"{1e6 * seconds:.0f} µs"
    if seconds < 0.9995:
        return f"{1e3 * seconds:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
