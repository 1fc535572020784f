"""Work of the studio in the background, and what it has found: ranks, guesses, estimates, audits, comparisons."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ancr.axes.spaces import Space, named_space
from ancr.samples.column_plan import ColumnPlan
from ancr.studio import insights, layouts
from ancr.studio.actions import ActionError
from ancr.studio.apart import Beside, run_apart
from ancr.studio.openings import Source
from ancr.studio.recogniser import MOST_WITH_MATRIX, Recogniser, Snapshot
from ancr.studio.state import State
from ancr.studio.worker import Background, Worker

# Samples ranked ahead of the one that is asked for.
_AHEAD = 12
# Work that a person asks for: that of labelled samples, and the map of all.
_OF_LABELS = ("audit", "choose", "compare")
LONG = (*_OF_LABELS, "layout")
# Labelled samples up to which ranks and estimates are worked out in a thread.
_MOST_HERE = 300
# Seconds without an action before estimates and ranks are brought up to date.
_PAUSE = 0.25


class Jobs:
    """Background work of a studio.

    Methods run in the worker's thread, which alone touches the state, but for those that are handed to a
    `Background`: these ask the worker for what they need.

    Parameters
    ----------
    source : Source
        The data.
    state : State
        What a person has decided.
    recogniser : Recogniser
        Answers with the labels of the moment.
    worker : Worker
        Takes over what was found, as the job ``"store"``.
    tell : callable
        Called after every change that a page would show.

    Attributes
    ----------
    queue : list of int
        Samples to label next, the most useful first.
    guesses : dict
        ``{sample: (label, confidence)}``.
    n_guessed : int
        How often there were new guesses.
    results, problems : dict
        What long work found, and why one failed, by name.
    progress : dict
        ``{name: {"done", "total"}}`` of long work.
    """

    def __init__(
        self, source: Source, state: State, recogniser: Recogniser, worker: Worker, tell: Callable[[], None]
    ) -> None:
        self.source, self.state, self.recogniser, self.worker, self._tell = source, state, recogniser, worker, tell
        self.held_out = np.flatnonzero(source.is_held_out)
        self.queue: list[int] = []
        self.guesses: dict[int, tuple[str, float]] = {}
        self.n_guessed = 0
        self.results: dict[str, dict[str, Any]] = {}
        self.problems: dict[str, str] = {}
        self.progress: dict[str, dict[str, int]] = {}
        self._cancelled: dict[str, threading.Event] = {name: threading.Event() for name in LONG}
        self._awaited: list[tuple[str, int, Future]] = []
        self._beside = Beside(source.data.vectors)
        self.quick = Background(self._report, "ancr-studio-quick", pause=_PAUSE)
        self.long = Background(self._report, "ancr-studio-long")

    def stop(self) -> None:
        """End after the jobs that run."""
        for cancelled in self._cancelled.values():
            cancelled.set()
        self._beside.stop()
        self.quick.stop()
        self.long.stop()

    def awaited_queue(self, n: int, seed: int = 0) -> Future:
        """A future of the n most useful samples with the labels of this moment; None where nothing can be ranked."""
        future: Future = Future()
        if not self.recogniser.is_ready() or not len(self.pool()):
            future.set_result(None)
            return future
        job = f"ranked {n} {seed}"
        self._awaited.append((job, self.recogniser.version, future))
        self.quick.request(job, lambda: self._ranked(n, seed), at_once=True)
        return future

    def refresh(self) -> None:
        """Ask for everything that depends on labels and settings to be brought up to date."""
        recogniser = self.recogniser
        recogniser.sync()
        if not recogniser.is_ready():
            recogniser.estimate, self.guesses, self.queue = None, {}, []
            return
        if recogniser.needs_all(self.state.classifier) and recogniser.size <= MOST_WITH_MATRIX:
            self.quick.request("fitted", lambda: self._snapshot().fit())
        self.quick.request("queue", lambda: self._ranked(_AHEAD))
        self.quick.request("estimate", lambda: self._worked_out(insights.estimate_of, self._snapshot()))

    def _snapshot(self) -> Snapshot:
        """The newest labels, asked for when the work begins."""
        return self.worker.submit("read", lambda: self.recogniser.snapshot()).result()

    def _ranked(self, n: int, seed: int = 0) -> insights.Ranked:
        def now() -> tuple[Any, ...]:
            snapshot = self.recogniser.snapshot()
            return snapshot, self.pool(), self.recogniser.temperature(snapshot.classifier)

        snapshot, pool, temperature = self.worker.submit("read", now).result()
        return self._worked_out(insights.ranked_of, snapshot, pool, temperature, n, seed)

    def _worked_out(self, work: Callable[..., Any], snapshot: Snapshot, *arguments: Any) -> Any:
        """What depends on the labelled samples; of many in a process of its own, so that answers do not wait."""
        if len(snapshot.members) <= _MOST_HERE:
            return work(snapshot.samples, snapshot, *arguments)
        return self._beside.ask(work, replace(snapshot, samples=np.empty((0, 0))), *arguments)

    def pool(self) -> np.ndarray:
        """Samples that wait for a label."""
        return np.flatnonzero(self.state.waiting)

    def _report(self, name: str, result: Any, error: str | None) -> None:
        self.worker.submit("store", (name, result, error))

    def on_store(self, jobs: list[tuple[str, Any, str | None]]) -> list[None]:
        """Take over what the background has found."""
        for job, result, error in jobs:
            name = job.partition(" ")[0]
            self.problems.pop(name, None)
            if error is not None:
                self.problems[name] = error
            elif name in LONG and result is None:  # cancelled
                pass
            elif name in ("fitted", "estimate"):
                setattr(self.recogniser, name, result)
            elif name in ("queue", "ranked"):
                self.queue, self.guesses, _ = result
                self.n_guessed += 1
            else:
                self.results[name] = result
            if name == "ranked":
                self._give_ranked(job, result)
        self._tell()
        return [None] * len(jobs)

    def _give_ranked(self, job: str, result: Any) -> None:
        """Answer those who wait for this rank, of labels that it knew; all who wait for it if there was none."""
        left = []
        for own, version, future in self._awaited:
            if own != job or (result is not None and result[2] < version):
                left.append((own, version, future))
            elif future.set_running_or_notify_cancel():
                future.set_result(result and result[0])
        self._awaited = left

    def start(self, name: str) -> None:
        """Begin an audit, a search for settings, a comparison or a map, unless it runs."""
        if self.long.is_busy(name):
            return
        if name in _OF_LABELS and not self.recogniser.is_ready():
            raise ActionError("Label samples of at least two classes first.")
        self.problems.pop(name, None)
        self.progress.pop(name, None)
        self._cancelled[name].clear()
        source, held_out = self.source, self.held_out
        work: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
            "audit": (insights.audit_of, (held_out,)),
            "choose": (insights.chosen_settings, ()),
            "compare": (insights.compared, (source.data,)),
            "layout": (layouts.neighbourhoods, (source.data.vectors, *self._on_map())),
        }
        function, arguments = work[name]
        report, is_cancelled = partial(self._report_progress, name), self._cancelled[name].is_set

        def run() -> Any:
            first = (self._snapshot(),) if name in _OF_LABELS else ()
            return run_apart(function, (*first, *arguments), report, is_cancelled)

        self.long.request(name, run)
        self._tell()

    def directions(self) -> np.ndarray:
        """All samples along the two directions in which they differ most; of words in a process of its own."""
        vectors = self.source.data.vectors
        if vectors.dtype.kind == "O":
            return self._beside.ask(layouts.principal, *self._on_map())
        return layouts.principal(vectors, *self._on_map())

    def _on_map(self) -> tuple[ColumnPlan, Space]:
        """How samples are prepared for a map: as the data was opened with, so that it stays as it is."""
        return self.source.plan, named_space(self.source.classifier.space)

    def cancel(self, name: str) -> None:
        """End long work; what was found before stays."""
        self._cancelled[name].set()
        self.long.drop(name)
        self._tell()

    def _report_progress(self, name: str, done: int, total: int) -> None:
        """Tell the page how far long work is."""
        self.progress[name] = {"done": done, "total": total}
        self._tell()
