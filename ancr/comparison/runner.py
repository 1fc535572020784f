"""Run the missing cells, several in parallel.

Every cell runs on one thread, however many cells run in parallel: the cores are never oversubscribed, and a result
does not depend on the parallelism, because queries are always coded in the same blocks. Threads suffice, because most
of the time is spent in BLAS and compiled kernels, which release Python's lock; data is loaded only once, and a run
that is killed leaves no process behind.
"""

import hashlib
import json
import platform
import re
import time
import warnings
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from traceback import extract_tb, format_exception
from typing import Any

import numpy as np
from joblib import cpu_count
from scipy import sparse
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from ancr import __version__
from ancr._core.arrays import concat
from ancr._core.messages import counted, joined, one_line, shown_time
from ancr._core.progress import progress_bars
from ancr.certificate.solution import Solution
from ancr.classifiers.base import BaseRepresentationClassifier
from ancr.classifiers.controls import described
from ancr.classifiers.settings import chosen
from ancr.comparison.cells import Answers, Cell, CellFile, Given, Key, Machine, Measured
from ancr.comparison.protocols import USUALLY_QUICK, Method
from ancr.comparison.split_sources import Split, SplitSource, learning_share
from ancr.selection.folds import groups_for

# Seconds between two looks at what was left out for lack of time.
_LOOK = 1.0


class UnfinishedCellsError(RuntimeError):
    """Some cells were not finished; the message says why, and ``cells`` are those that were."""

    def __init__(self, message: str, cells: Iterable[Cell]) -> None:
        super().__init__(message)
        self.cells = list(cells)


class FailedCellsError(UnfinishedCellsError):
    """Some cells failed; the message names each reason once, and ``tracebacks`` has one for each."""

    def __init__(self, failed: Sequence[tuple["Plan", BaseException]], of: int, cells: Iterable[Cell]) -> None:
        alike: dict[tuple[str, object], list[tuple[Plan, BaseException]]] = {}
        for plan, error in failed:
            alike.setdefault((plan.method, _origin(error)), []).append((plan, error))
        first = [group[0] for group in alike.values()]
        reasons = [_reason(*group[0], len(group) - 1) for group in alike.values()][:5]
        super().__init__(f"{len(failed)} of {of} cells failed: {'; '.join(reasons)}", cells)
        self.tracebacks = "\n".join(f"{plan}\n{''.join(format_exception(error))}" for plan, error in first)


def _origin(error: BaseException) -> object:
    """Type of an error and the line that raised it: its message may hold numbers that differ."""
    frames = extract_tb(error.__traceback__)
    return type(error), (frames[-1].filename, frames[-1].lineno) if frames else one_line(error)


def _reason(plan: "Plan", error: BaseException, more: int) -> str:
    return f"{plan}: {one_line(error)}" + (f" (and {counted(more, 'more cell')} for the same reason)" if more else "")


class TimeIsUpError(UnfinishedCellsError):
    """The time limit was reached."""


@dataclass(frozen=True)
class Plan:
    """A cell to run: what identifies it, its data and its method.

    ``answers`` is the folder for what it answers on each sample; None keeps nothing.
    """

    source: SplitSource
    setting: str
    method: str
    protocol: str
    draw: int
    recipe: Method
    answers: Path | None = field(default=None, compare=False)

    @property
    def key(self) -> Key:
        """What identifies the experiment, as in `Cell.key`."""
        return Key(self.source.name, self.source.features, self.setting, self.method, self.protocol, self.draw)

    @property
    def answers_path(self) -> Path | None:
        """The file of the answers; another version of data or settings has another file."""
        if self.answers is None:
            return None
        identity = json.dumps([*self.key, self.source.digest, self.recipe.params], sort_keys=True, default=str)
        return self.answers / f"{hashlib.sha256(identity.encode()).hexdigest()[:20]}.npz"

    def is_answered_by(self, cell: Cell | None) -> bool:
        """Whether a cell of this key was run with the same settings on the same data."""
        wanted = (self.recipe.params, preparation(self.recipe.build()), self.source.digest)
        if cell is None or (cell.given.params, cell.given.before, cell.given.data) != wanted:
            return False
        return self.answers_path is None or self.answers_path.exists()

    def run(self) -> Cell:
        """Fit and score."""
        split = self.source.split(self.setting, self.draw)
        classifier = self.recipe.build()
        start = time.perf_counter()
        classifier.fit(split.X, split.y, **groups_for(classifier, split.groups))
        fitted = time.perf_counter()
        predicted, certified_share = predict_certified(classifier, split.queries)
        done = time.perf_counter()
        labels = checked_labels(predicted, split)
        if self.answers_path is not None:  # before the cell: a cell in the file has its answers
            Answers.of(classifier, split, labels).write(self.answers_path)
        source, before = self.source, preparation(classifier)
        measured = Measured(
            accuracy=100.0 * float(np.mean(labels == split.truth)),
            n_test=len(split.truth),
            fit_s=fitted - start,
            predict_s=done - fitted,
            n_train=len(split.y),
            chosen=described(classifier),
            certified=certified_share(),
        )
        given = Given(self.draw, self.recipe.params, before, source.digest, source.origin)
        return Cell(self.key, given, measured, Machine(versions(), platform.platform()))

    def __str__(self) -> str:
        return f"{self.method} ({self.protocol}) on {self.source.name} {self.setting}, draw {self.draw}"


def checked_labels(predicted: Any, split: Split) -> np.ndarray:
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
            raise ValueError(f"predict returned {label!r}, which is not a class of the training labels")
    return labels


def make_plans(
    source: SplitSource, draws: int | None = None, protocols: Sequence[str] = ("paper", "exact")
) -> list[Plan]:
    """The plans of a source, draw by draw, so that an interrupted run leaves complete draws.

    Parameters
    ----------
    source : SplitSource
        The data set.
    draws : int or None
        Number of random draws; None means as many as the source has. A set with an official split has one.
    protocols : sequence of str
        Names of protocols.
    """
    draws = (draws or source.draws) if source.random else source.draws
    return [
        Plan(source, setting, name, protocol, draw, recipe)
        for draw in range(draws)
        for setting in source.settings
        for protocol in protocols
        for name, recipe in source.methods(setting, protocol, draw).items()
    ]


def not_shown(file: CellFile, plans: Iterable[Plan]) -> list[str]:
    """A note on the cells of a file that are in none of the plans; empty if there are none."""
    kept = {cell.key for cell in file.cells if learning_share(cell.key.setting) is None} - {plan.key for plan in plans}
    return [f"{len(kept)} further cells in cells.jsonl, of other methods or settings, are not shown."] if kept else []


def run_missing(
    plans: Sequence[Plan], file: CellFile, jobs: int | None = None, deadline: float | None = None
) -> list[Cell]:
    """Run every plan whose cell is not in the file, and append each cell as soon as it is finished.

    Parameters
    ----------
    plans : sequence of Plan
        The cells to run.
    file : CellFile
        Holds the known cells; new ones are appended.
    jobs : int or None
        Cells to run in parallel; None means one per core.
    deadline : float or None
        Value of ``time.monotonic()`` at which cells that are not finished are given up. Before that, cells of the
        slowest methods are left out where all that wait would take longer.

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
    known = {cell.key: cell for cell in file.cells}
    # A cell with other settings does not count; its line stays in the file, and the newest line of a key is used.
    done = {plan.key: known[plan.key] for plan in plans if plan.is_answered_by(known.get(plan.key))}
    missing = [plan for plan in plans if plan.key not in done]
    missing.sort(key=lambda plan: plan.draw > 0 or plan.method not in USUALLY_QUICK)
    failed: list[tuple[Plan, BaseException]] = []
    schedule, accuracies = Schedule(missing, jobs or cpu_count(), deadline), defaultdict(list)
    with progress_bars(Counter(plan.method for plan in plans), schedule.left) as advance:

        def count(cell: Cell) -> None:
            method = cell.key.method
            accuracies[method].append(cell.measured.accuracy)
            advance(method, f"{np.mean(accuracies[method]):.1f} %")

        for cell in done.values():
            count(cell)
        for plan, outcome in _run_in_threads(schedule, advance):
            if isinstance(outcome, Cell):
                file.append(outcome)
                done[plan.key] = outcome
                count(outcome)
            else:
                failed.append((plan, outcome))
    cells = [done[plan.key] for plan in plans if plan.key in done]
    if failed:
        raise FailedCellsError(failed, len(missing), cells) from failed[0][1]
    if len(cells) < len(plans):
        slow = f", those of the slowest methods first: {schedule.left_out}" if schedule.left_out else ""
        shown = {cell.key.method for cell in cells}
        none = [name for name in dict.fromkeys(plan.method for plan in plans) if name not in shown]
        all_of = f"; none at all of {joined(none)}" if none and shown else ""
        n_left = len(plans) - len(cells)
        raise TimeIsUpError(f"{n_left} cells were not finished within the time limit{slow}{all_of}", cells)
    return cells


class Schedule:
    """The cells that wait; where a time limit is too short for all, those of the slowest methods are left out.

    How long a cell takes is the mean over the finished cells of its method; a method of which none is finished counts
    as quick, so that every method is tried once. Where there is a limit, two methods of unknown speed run side by side
    only if nothing else waits: otherwise two slow ones could take all threads for all of the time.

    Parameters
    ----------
    plans : sequence of Plan
        The cells to run, in order.
    jobs : int
        How many run in parallel.
    deadline : float or None
        Value of ``time.monotonic()`` at which all must be finished.
    """

    def __init__(self, plans: Sequence[Plan], jobs: int, deadline: float | None) -> None:
        self.total, self.jobs, self.deadline = len(plans), min(jobs, len(plans)), deadline
        self._waiting, self._lock = deque(plans), Lock()
        self._seconds: dict[str, list[float]] = defaultdict(list)
        self._dropped: Counter[str] = Counter()
        self._running: dict[int, tuple[str, float]] = {}  # method and start of a plan, by its id

    def take(self) -> Plan:
        """The next cell to run; an `IndexError` where none is left."""
        with self._lock:
            while self.deadline is not None and self._too_long(self.deadline - time.monotonic()):
                self._drop(max(self._known(), key=self._mean))
            plan = self._next()
            self._running[id(plan)] = plan.method, time.monotonic()
            return plan

    def finished(self, plan: Plan, seconds: float) -> None:
        """Learn how long a cell took."""
        with self._lock:
            self._seconds[plan.method].append(seconds)
            del self._running[id(plan)]

    def left(self) -> float | None:
        """Seconds until all cells are finished, from how long those of each method took; None before one is finished.

        A method of which none is finished counts like the others, but as twice as long as its cell has been running.
        """
        with self._lock:
            known = [float(np.mean(seconds)) for seconds in self._seconds.values() if seconds]
            if not known:
                return None
            now, expected = time.monotonic(), defaultdict[str, float](lambda: float(np.mean(known)))
            for method, start in self._running.values():
                expected[method] = max(expected[method], 2.0 * (now - start))
            expected.update({method: self._mean(method) for method, seconds in self._seconds.items() if seconds})
            running = sum(max(expected[method] - (now - start), 0.0) for method, start in self._running.values())
            return (running + sum(expected[plan.method] for plan in self._waiting)) / self.jobs

    def stop(self) -> None:
        """Let no further cell begin."""
        with self._lock:
            self._waiting.clear()

    @property
    def n_dropped(self) -> int:
        """How many cells were left out so far."""
        return sum(self._dropped.values())

    @property
    def left_out(self) -> str:
        """The methods of which cells were left out, as text; empty if there are none."""
        return joined([f"{name} ({shown_time(self._mean(name))} each)" for name in self._dropped] or [""])

    def _next(self) -> Plan:
        tries = any(not self._seconds[method] for method, _ in self._running.values())
        of_known = (place for place, plan in enumerate(self._waiting) if self._seconds[plan.method])
        place = next(of_known, 0) if tries and self.deadline is not None else 0
        self._waiting.rotate(-place)
        plan = self._waiting.popleft()
        self._waiting.rotate(place)
        return plan

    def _known(self) -> set[str]:
        """Methods that wait and of which a cell is finished."""
        return {plan.method for plan in self._waiting if self._seconds[plan.method]}

    def _mean(self, method: str) -> float:
        return float(np.mean(self._seconds[method] or [0.0]))

    def _too_long(self, left: float) -> bool:
        expected = sum(self._mean(plan.method) for plan in self._waiting) / self.jobs
        return expected > left and bool(self._known())

    def _drop(self, method: str) -> None:
        kept = [plan for plan in self._waiting if plan.method != method]
        self._dropped[method] += len(self._waiting) - len(kept)
        self._waiting = deque(kept)


def _run_in_threads(schedule: Schedule, look: Callable[[], object]) -> Iterator[tuple[Plan, Cell | BaseException]]:
    """Yield plans with their cells, or the errors that they ended with, as they finish; ``look()`` is called meanwhile.

    The threads end with the process: after Ctrl-C or the deadline, cells that are running are given up.
    """
    outcomes: SimpleQueue[tuple[Plan, Cell | BaseException]] = SimpleQueue()
    threads = [Thread(target=_work, args=(schedule, outcomes), daemon=True) for _ in range(schedule.jobs)]
    for thread in threads:
        thread.start()
    # Forests of scikit-learn that are fitted at once leave the filters of warnings as another thread had them.
    with threadpool_limits(1), warnings.catch_warnings():
        try:
            yielded = 0
            while yielded + schedule.n_dropped < schedule.total:
                left = None if schedule.deadline is None else max(0.0, schedule.deadline - time.monotonic())
                with suppress(Empty):
                    yield outcomes.get(timeout=_LOOK if left is None else min(left, _LOOK))
                    yielded += 1
                look()
                if left == 0.0:
                    return
        finally:
            schedule.stop()


def _work(schedule: Schedule, outcomes: "SimpleQueue[tuple[Plan, Cell | BaseException]]") -> None:
    """Run plans until none is waiting."""
    with threadpool_limits(1), suppress(IndexError):  # OpenMP counts its threads per calling thread
        while True:
            plan, start = schedule.take(), time.monotonic()
            try:
                outcomes.put((plan, plan.run()))
            except BaseException as error:
                outcomes.put((plan, error))
            schedule.finished(plan, time.monotonic() - start)


def preparation(classifier: Any) -> str:
    """Text representation of the transformers of a pipeline; empty for a classifier alone."""
    if not isinstance(classifier, Pipeline):
        return ""
    # The representation of a function contains its address, which differs between processes.
    return re.sub(r" at 0x[0-9a-fA-F]+", "", ", ".join(repr(step) for _, step in classifier.steps[:-1]))


@cache
def versions() -> dict[str, str]:
    """Versions of Python, of this package, which need not be installed, and of the libraries used."""
    libraries = ("numpy", "scipy", "scikit-learn", "numba")
    return {"python": platform.python_version(), "ancr": __version__, **{name: version(name) for name in libraries}}


def predict_certified(classifier: Any, queries: np.ndarray) -> tuple[Any, Callable[[], float | None]]:
    """``(labels, share)``: what ``classifier.predict`` returns, and a function for the share of certified queries.

    Sparse solutions are kept, and verified together when the share is asked for, because a certificate prepares the
    whole dictionary once. Dense codes of a set with inequalities come from ADMM stopped outside the set and are not
    certified. The share is None for closed forms and for classifiers of other packages.
    """
    steps, final = (classifier[:-1], classifier[-1]) if isinstance(classifier, Pipeline) else (None, classifier)
    final = chosen(final)
    if not isinstance(final, BaseRepresentationClassifier):
        return classifier.predict(queries), lambda: None
    proofs: list[Any] = []
    infeasible: list[np.ndarray] = []

    def decide(solution: Solution) -> Any:
        if sparse.issparse(solution.proof.sorted_codes):
            proofs.append(solution.proof)
        elif solution.problem.constraint.has_inequalities:
            infeasible.append(np.zeros(len(solution.queries), bool))
        return final.winners(solution)

    samples = queries if steps is None else steps.transform(queries)
    labels = final.labels(concat(final.map_solutions("predict", samples, decide)))

    def share() -> float | None:
        certified = np.concatenate([*infeasible, *([proofs[0].join(proofs).verify()] if proofs else [])] or [[]])
        return float(certified.mean()) if len(certified) else None

    return labels, share
