"""Run the missing cells, several in parallel.

Every cell runs on one thread, however many cells run in parallel: the cores are never oversubscribed, and a result
does not depend on the parallelism, because queries are always coded in the same blocks. Threads suffice, because most
of the time is spent in BLAS and compiled kernels, which release Python's lock; data is loaded only once, and a run
that is killed leaves no process behind.
"""

import platform
import re
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version

import numpy as np
from joblib import cpu_count
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from ancr.experiments.cells import Cell
from ancr.experiments.certification import predict_certified
from ancr.experiments.method import Method
from ancr.experiments.methods import PROTOCOLS, methods_for
from ancr.experiments.sources import Source
from ancr.messages import one_line


class FailedCellsError(RuntimeError):
    """Some cells failed; the message names them and the reasons, and ``cells`` are those that did not fail."""

    cells: tuple = ()


@dataclass(frozen=True)
class Plan:
    """A cell to run: what identifies it, its data and its method."""

    source: Source
    setting: str
    method: str
    protocol: str
    draw: int
    recipe: Method

    @property
    def key(self):
        """The fields that identify the experiment, as in `Cell.key`."""
        return (self.source.name, self.source.features, self.setting, self.method, self.protocol, self.draw)

    def is_answered_by(self, cell):
        """Whether a cell of this key was run with the same settings on the same data."""
        wanted = (self.recipe.params, preparation(self.recipe.build()), self.source.digest)
        return cell is not None and (cell.params, cell.before, cell.data) == wanted

    def run(self):
        """Fit and score."""
        split = self.source.split(self.setting, self.draw)
        classifier = self.recipe.build()
        start = time.perf_counter()
        classifier.fit(split.X, split.y)
        fitted = time.perf_counter()
        labels, certified_share = predict_certified(classifier, split.queries)
        right = labels == split.truth
        done = time.perf_counter()
        return Cell(
            *self.key,
            seed=self.draw,
            params=self.recipe.params,
            accuracy=100.0 * float(np.mean(right)),
            n_test=len(split.truth),
            fit_s=fitted - start,
            predict_s=done - fitted,
            n_train=len(split.y),
            before=preparation(classifier),
            data=self.source.digest,
            origin=self.source.origin,
            chosen=dict(getattr(classifier, "best_params_", {})),
            certified=certified_share(),
            versions=versions(),
            platform=platform.platform(),
        )

    def __str__(self):
        return f"{self.method} ({self.protocol}) on {self.source.name} {self.setting}, draw {self.draw}"


def make_plans(source, draws=None, protocols=PROTOCOLS):
    """The plans of a source, draw by draw, so that an interrupted run leaves complete draws.

    Parameters
    ----------
    source : Source
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
        for name, recipe in methods_for(source.name, setting, protocol, source.spaces).items()
    ]


def run_missing(plans, file, jobs=None, on_cell=lambda cell: None):
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

    Returns
    -------
    list of Cell
        One cell per plan, in the order of the plans.

    Raises
    ------
    FailedCellsError
        At the end, if cells failed.
    """
    known = {cell.key: cell for cell in file.read()}
    # A cell with other settings does not count; its line stays in the file, and the newest line of a key is used.
    missing = [plan for plan in plans if not plan.is_answered_by(known.get(plan.key))]
    for plan in plans:
        if plan not in missing:
            on_cell(known[plan.key])
    answered = {plan.key for plan in plans} - {plan.key for plan in missing}
    try:
        for cell in _run_in_threads(missing, jobs or cpu_count()):
            file.append(cell)
            known[cell.key] = cell
            answered.add(cell.key)
            on_cell(cell)
    except FailedCellsError as error:
        error.cells = tuple(known[plan.key] for plan in plans if plan.key in answered)
        raise
    return [known[plan.key] for plan in plans]


def _run_in_threads(plans, jobs):
    """Yield cells as they finish. A cell that fails does not stop the others; all failures are reported at the end."""
    failures = []
    pool = ThreadPoolExecutor(jobs)
    with threadpool_limits(1):
        try:
            futures = {pool.submit(plan.run): plan for plan in plans}
            for future in as_completed(futures):
                try:
                    yield future.result()
                except Exception as error:
                    failures.append(f"{futures[future]}: {one_line(error)}")
        finally:
            # After Ctrl-C, drop the cells that have not started and do not wait for the others.
            pool.shutdown(wait=False, cancel_futures=True)
    if failures:
        raise FailedCellsError(f"{len(failures)} of {len(plans)} cells failed: " + "; ".join(failures[:5]))


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
