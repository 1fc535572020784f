"""Run the cells that are not there yet, several at once.

Every cell runs on one thread, whatever the number of cells under way: the cores are never oversubscribed, and a
result does not depend on the parallelism, because the blocks that queries are coded in are always the same. Threads
do, because the time goes into BLAS and compiled kernels, which release Python's lock; data is then loaded once, and a
run that is killed leaves no process behind.
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
from ancr.experiments.methods import PROTOCOLS, Method, methods_for
from ancr.experiments.sources import Source
from ancr.experiments.witness import witnessed


class FailedCellsError(RuntimeError):
    """Some cells could not be computed; the message names them with the reason."""


@dataclass(frozen=True)
class Plan:
    """A cell to be: everything that identifies it, and where its data comes from."""

    source: Source
    setting: str
    method: str
    protocol: str
    draw: int
    recipe: Method

    @property
    def key(self):
        """What identifies the experiment, as `Cell.key`."""
        return (self.source.name, self.source.features, self.setting, self.method, self.protocol, self.draw)

    def is_answered_by(self, cell):
        """Whether a cell of this key was made with the same settings, on the same data."""
        wanted = (self.recipe.params, preparation(self.recipe.build()), self.source.digest)
        return cell is not None and (cell.params, cell.before, cell.data) == wanted

    def run(self):
        """Fit and score."""
        split = self.source.split(self.setting, self.draw)
        classifier = self.recipe.build()
        start = time.perf_counter()
        classifier.fit(split.X, split.y)
        fitted = time.perf_counter()
        with witnessed(classifier) as witness:
            right = classifier.predict(split.queries) == split.truth
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
            chosen=dict(getattr(classifier, "best_params_", {})),
            certified=witness.share(),
            versions=versions(),
            platform=platform.platform(),
        )

    def __str__(self):
        return f"{self.method} ({self.protocol}) on {self.source.name} {self.setting}, draw {self.draw}"


def make_plans(source, draws=None, protocols=PROTOCOLS):
    """The plans of a source, draw by draw, so that an early stop leaves whole draws.

    Parameters
    ----------
    source : Source
        The data set.
    draws : int or None
        Random draws; None means as many as the paper makes. A set with an official split has one.
    protocols : sequence of str
        Which protocols.
    """
    draws = (draws or source.draws) if source.random else source.draws
    return [
        Plan(source, setting, name, protocol, draw, recipe)
        for draw in range(draws)
        for setting in source.settings
        for protocol in protocols
        for name, recipe in methods_for(source.name, setting, protocol).items()
    ]


def run_missing(plans, file, jobs=None, on_cell=lambda cell: None):
    """Run every plan whose cell the file lacks, appending each as it is found.

    Parameters
    ----------
    plans : sequence of Plan
        What is wanted.
    file : CellFile
        What is known, and where new cells go.
    jobs : int or None
        Cells at once; None means one a core.
    on_cell : callable
        Called with every cell, known or new.

    Returns
    -------
    list of Cell
        One a plan, in the order of the plans.
    """
    known = {cell.key: cell for cell in file.read()}
    # A cell of other settings does not count; its line stays, and the newer one is read.
    missing = [plan for plan in plans if not plan.is_answered_by(known.get(plan.key))]
    for plan in plans:
        if plan not in missing:
            on_cell(known[plan.key])
    for cell in _run_in_threads(missing, jobs or cpu_count()):
        file.append(cell)
        known[cell.key] = cell
        on_cell(cell)
    return [known[plan.key] for plan in plans]


def _run_in_threads(plans, jobs):
    """Cells as they are found. A cell that fails does not stop the others; all failures are reported at the end."""
    failures = []
    pool = ThreadPoolExecutor(jobs)
    with threadpool_limits(1):
        try:
            futures = {pool.submit(plan.run): plan for plan in plans}
            for future in as_completed(futures):
                try:
                    yield future.result()
                except (ValueError, ArithmeticError, MemoryError) as error:
                    failures.append(f"{futures[future]}: {error}")
        finally:
            # After Ctrl-C, what has not begun is dropped and what has is not waited for.
            pool.shutdown(wait=False, cancel_futures=True)
    if failures:
        raise FailedCellsError(f"{len(failures)} of {len(plans)} cells failed: " + "; ".join(failures[:5]))


def preparation(classifier):
    """The transformers of a pipeline in words; empty for a classifier alone."""
    if not isinstance(classifier, Pipeline):
        return ""
    # A function shows its address, which is another one in the next process.
    return re.sub(r" at 0x[0-9a-fA-F]+", "", ", ".join(repr(step) for _, step in classifier.steps[:-1]))


@cache
def versions():
    """Versions of Python and of the libraries that compute."""
    libraries = ("ancr", "numpy", "scipy", "scikit-learn", "numba")
    return {"python": platform.python_version(), **{name: version(name) for name in libraries}}
