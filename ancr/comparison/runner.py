"""Run the missing cells, several in parallel.

Every cell runs on one thread, however many cells run in parallel: the cores are never oversubscribed, and a result
does not depend on the parallelism, because queries are always coded in the same blocks. Threads suffice, because most
of the time is spent in BLAS and compiled kernels, which release Python's lock; data is loaded only once, and a run
that is killed leaves no process behind.
"""

import platform
import re
import time
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from queue import Empty, SimpleQueue
from threading import Thread

import numpy as np
from joblib import cpu_count
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from ancr._core.messages import one_line
from ancr.axes.spaces import Space
from ancr.comparison.answers import AnswerFolder, Answers
from ancr.comparison.cells import Cell
from ancr.comparison.certification import predict_certified
from ancr.comparison.method import Method
from ancr.comparison.split_sources import SplitSource


class TimeIsUpError(RuntimeError):
    """The time limit was reached; ``cells`` are those that were finished, and ``missing`` counts the others."""

    def __init__(self, cells, missing):
        super().__init__(f"{missing} cells were not finished within the time limit")
        self.cells, self.missing = tuple(cells), missing


class FailedCellsError(RuntimeError):
    """Some cells failed; the message names them and the reasons, and ``cells`` are those that did not fail."""

    cells: tuple = ()


@dataclass(frozen=True)
class Plan:
    """A cell to run: what identifies it, its data and its method; ``answers`` keeps what it answers on each sample."""

    source: SplitSource
    setting: str
    method: str
    protocol: str
    draw: int
    recipe: Method
    answers: AnswerFolder | None = field(default=None, compare=False)

    @property
    def key(self):
        """The fields that identify the experiment, as in `Cell.key`."""
        return (self.source.name, self.source.features, self.setting, self.method, self.protocol, self.draw)

    def is_answered_by(self, cell):
        """Whether a cell of this key was run with the same settings on the same data."""
        wanted = (self.recipe.params, preparation(self.recipe.build()), self.source.digest)
        if cell is None or (cell.params, cell.before, cell.data) != wanted:
            return False
        return self.answers is None or self.answers.path(self).exists()

    def run(self):
        """Fit and score."""
        split = self.source.split(self.setting, self.draw)
        classifier = self.recipe.build()
        start = time.perf_counter()
        classifier.fit(split.X, split.y)
        fitted = time.perf_counter()
        predicted, certified_share = predict_certified(classifier, split.queries)
        done = time.perf_counter()
        labels = checked_labels(predicted, split)
        if self.answers is not None:  # before the cell: a cell in the file has its answers
            parts = self.source.indices(self.setting, self.draw)
            self.answers.write(self, Answers.of(classifier, split, labels, *parts))
        return Cell(
            *self.key,
            seed=self.draw,
            params=self.recipe.params,
            accuracy=100.0 * float(np.mean(labels == split.truth)),
            n_test=len(split.truth),
            fit_s=fitted - start,
            predict_s=done - fitted,
            n_train=len(split.y),
            before=preparation(classifier),
            data=self.source.digest,
            origin=self.source.origin,
            chosen=_plain(getattr(classifier, "best_params_", {})),
            certified=certified_share(),
            versions=versions(),
            platform=platform.platform(),
        )

    def __str__(self):
        return f"{self.method} ({self.protocol}) on {self.source.name} {self.setting}, draw {self.draw}"


def checked_labels(predicted, split):
    """The predictions of any classifier as an array: one per query, each a class of the training part.

    Raises
    ------
    ValueError
        In one line, for another shape and for a value that is no class, such as the number that a regressor returns.
    """
    labels, expected = np.asarray(predicted), (len(split.truth),)
    if labels.shape != expected:
        found = f"shape {labels.shape}" if labels.ndim else repr(predicted)
        raise ValueError(f"predict returned {found}, expected {expected}")
    known = set(np.asarray(split.y).tolist())
    for label in labels.tolist():
        if label not in known:
            raise ValueError(f"predict returned {label!r}, which is no class of the training labels")
    return labels


def make_plans(source, draws=None, protocols=("paper", "exact")):
    """The plans of a source, draw by draw, so that an interrupted run leaves complete draws.

    Parameters
    ----------
    source : SplitSource
        The data set.
    draws : int or None
        Number of random draws; None means as many as in the paper. A set with an official split has one.
    protocols : sequence of str
        Names of protocols.
    """
    draws = (draws or source.draws) if source.random else source.draws
    return [
        Plan(source, setting, name, protocol, draw, recipe)
        for draw in range(draws)
        for setting in source.settings
        for protocol in protocols
        for name, recipe in source.methods(setting, protocol).items()
    ]


def run_missing(plans, file, jobs=None, on_cell=lambda cell: None, deadline=None):
    """Run every plan whose cell is not in the file, and append each cell as soon as it is finished.

    Parameters
    ----------
    plans : sequence of Plan
        The cells to run.
    file : CellFile
        Holds the known cells; new ones are appended.
    jobs : int or None
        Cells to run in parallel; None means one per core.
    on_cell : callable
        Called with each cell, known or new.
    deadline : float or None
        Value of ``time.monotonic()`` at which cells that are not finished are given up.

    Returns
    -------
    list of Cell
        One cell per plan, in the order of the plans.

    Raises
    ------
    FailedCellsError
        At the end, if cells failed.
    TimeIsUpError
        If the deadline passed before all cells were finished.
    """
    known = {cell.key: cell for cell in file.read()}
    # A cell with other settings does not count; its line stays in the file, and the newest line of a key is used.
    missing = [plan for plan in plans if not plan.is_answered_by(known.get(plan.key))]
    for plan in plans:
        if plan not in missing:
            on_cell(known[plan.key])
    answered = {plan.key for plan in plans} - {plan.key for plan in missing}
    try:
        for cell in _run_in_threads(missing, jobs or cpu_count(), deadline):
            file.append(cell)
            known[cell.key] = cell
            answered.add(cell.key)
            on_cell(cell)
    except FailedCellsError as error:
        error.cells = tuple(known[plan.key] for plan in plans if plan.key in answered)
        raise
    if len(answered) < len({plan.key for plan in plans}):
        finished = [known[plan.key] for plan in plans if plan.key in answered]
        raise TimeIsUpError(finished, len(plans) - len(finished))
    return [known[plan.key] for plan in plans]


def _run_in_threads(plans, jobs, deadline=None):
    """Yield cells as they finish. A cell that fails does not stop the others; all failures are reported at the end.

    The threads end with the process: after Ctrl-C or the deadline, cells that are running are given up.
    """
    waiting, outcomes = SimpleQueue(), SimpleQueue()
    for plan in plans:
        waiting.put(plan)
    for _ in range(min(jobs, len(plans))):
        Thread(target=_work, args=(waiting, outcomes), daemon=True).start()
    failures = []
    with threadpool_limits(1):
        try:
            for _ in plans:
                left = None if deadline is None else max(0.0, deadline - time.monotonic())
                plan, cell, error = outcomes.get(timeout=left)
                if error is None:
                    yield cell
                else:
                    failures.append(f"{plan}: {one_line(error)}")
        except Empty:  # the deadline
            pass
        finally:
            _empty(waiting)
    if failures:
        raise FailedCellsError(f"{len(failures)} of {len(plans)} cells failed: " + "; ".join(failures[:5]))


def _work(waiting, outcomes):
    """Run plans until none is waiting."""
    with threadpool_limits(1):  # OpenMP counts its threads per calling thread
        while True:
            try:
                plan = waiting.get_nowait()
            except Empty:
                return
            try:
                outcomes.put((plan, plan.run(), None))
            except BaseException as error:
                outcomes.put((plan, None, error))


def _empty(queue):
    while not queue.empty():
        try:
            queue.get_nowait()
        except Empty:
            return


def _plain(chosen):
    """Chosen parameters as JSON knows them; other objects by their representation."""
    simple = (str, int, float, bool, type(None))
    if isinstance(space := chosen.get("space"), Space):
        own = {f"space__{name}": value for name, value in space.changed_params().items()}
        chosen = {**own, **{name: value for name, value in chosen.items() if name != "space"}}
    return {
        name: value.item() if isinstance(value, np.generic) else value if isinstance(value, simple) else repr(value)
        for name, value in chosen.items()
    }


def preparation(classifier):
    """Text representation of the transformers of a pipeline; empty for a classifier alone."""
    if not isinstance(classifier, Pipeline):
        return ""
    # The representation of a function contains its address, which differs between processes.
    return re.sub(r" at 0x[0-9a-fA-F]+", "", ", ".join(repr(step) for _, step in classifier.steps[:-1]))


@cache
def versions():
    """Versions of Python and of the libraries used."""
    libraries = ("ancr", "numpy", "scipy", "scikit-learn", "numba")
    return {"python": platform.python_version(), **{name: version(name) for name in libraries}}
