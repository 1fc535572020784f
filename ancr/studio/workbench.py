"""The studio: what a page asks for, in terms of samples and labels, without anything of the web."""

import secrets
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from itertools import chain
from typing import Any

import numpy as np

from ancr._core.arrays import blas_threads_for
from ancr._core.locations import cache_home
from ancr.samples.table_files import as_word
from ancr.studio.actions import ActionError, Batch, ConflictError
from ancr.studio.browse import Browse
from ancr.studio.jobs import Jobs
from ancr.studio.journal import JournalError
from ancr.studio.leases import Leases
from ancr.studio.openings import Source
from ancr.studio.picture_cache import PictureCache
from ancr.studio.plans import planned
from ancr.studio.project import open_journal, opened_state
from ancr.studio.recogniser import Query, Recogniser
from ancr.studio.sample_map import SampleMap
from ancr.studio.sample_pictures import Pictures
from ancr.studio.views import Views
from ancr.studio.worker import Worker

# Samples that an event names; of more, a page asks for what it shows.
_MOST_NEWS = 200
_MALFORMED = "This action is not in a form that the studio knows."


class Studio:
    """Data, journal and actions of one page.

    The worker's thread alone changes the state; what reads more than one thing of it is handed to that thread with
    ``worker.ask("read", …)``. Answers have their own threads, and the recogniser follows the state under a lock.

    Parameters
    ----------
    source : Source
        The data.

    Attributes
    ----------
    worker : Worker
        Takes the jobs ``"act"`` (a tab and a dict) and ``"read"`` (a function without arguments).
    jobs : Jobs
        Work in the background, and what it has found.
    views, browse, map : Views, Browse, SampleMap
        What a page shows, how it finds samples, and where they lie.
    serial : int
        Grows with everything that a page would show differently.
    notes : list of str
        What a person should know about the data and about the opening.
    """

    def __init__(self, source: Source) -> None:
        self.source, self.pictures = source, Pictures(source, PictureCache(cache_home() / "studio-pictures"))
        self.journal, notes = open_journal(source.state)
        try:
            self.state, more = opened_state(source, self.journal)
        except BaseException:
            self.journal.close()
            raise
        self.notes = [*source.notes, *notes, *self.journal.notes, *more]
        self.leases, self.start = Leases(), secrets.token_hex(4)
        self.recogniser = Recogniser(source, self.state)
        if source.is_model:  # its answers are those of the file from the first one on
            self.recogniser.fitted = self.recogniser.snapshot().fit()
        self._mixed = np.random.default_rng(0).permutation(len(source.data)).tolist()
        self._listeners: set[Callable[[], object]] = set()
        self._listening, self.serial = threading.RLock(), 0
        self.is_closing = self._is_closed = False
        self.worker = Worker(
            {"act": self._on_act, "store": lambda found: self.jobs.on_store(found), "read": self._on_read}, "state"
        )
        # Answers have threads of their own, so that labels do not wait for them, and quick ones not for slow ones.
        kinds = {True: self._on_quick_answer, False: self._on_answer}
        self._answers = {is_quick: Worker({"answer": answer}, "answers") for is_quick, answer in kinds.items()}
        self.jobs = Jobs(source, self.state, self.recogniser, self.worker, self._tell)
        self.views = Views(source, self.state, self.recogniser, self.pictures, self.jobs)
        self.browse, self.map = Browse(self.views), SampleMap(self.views)
        self.worker.submit("read", self.jobs.refresh).result()

    def overview(self, tab: str = "") -> dict[str, Any]:
        """Everything that a page needs at first and after a change."""
        self.state.history.hear(tab)
        return {
            "start": self.start,
            "serial": self.serial,
            "journal": str(self.journal.path),
            "notes": self.notes,
            "can_undo": self.state.history.can_undo(tab),
            **self.views.overview(),
        }

    def news(self, known: dict[str, Any], seen: int) -> tuple[dict[str, Any], int]:
        """What a page does not know: fields of the overview that changed, and samples.

        Parameters
        ----------
        known : dict
            The overview as the page has it; brought up to date.
        seen : int
            How many changes of samples the page has seen.
        """
        now = {name: value for name, value in self.overview().items() if name != "can_undo"}
        changed = {name: value for name, value in now.items() if name not in known or known[name] != value}
        known.update(changed)
        touched = list(dict.fromkeys(self.state.changes[seen:]))
        samples = [self.views.brief(index) for index in touched[:_MOST_NEWS]]
        told = {**changed, "serial": self.serial, "touched": samples, "more": len(touched) > _MOST_NEWS}
        return told, len(self.state.changes)

    def close(self) -> None:
        """End the threads and let another studio open the data."""
        if self._is_closed:
            return
        self._is_closed = True
        self.jobs.stop()
        for worker in (*self._answers.values(), self.worker):
            worker.stop()
        self.journal.close()

    def answer(self, query: Query) -> Future:
        """A future of the answer to a query."""
        return self._answers[self.recogniser.is_quick(query)].submit("answer", query)

    def listen(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Call ``callback()`` after every change; returns a function that ends it."""
        with self._listening:
            self._listeners.add(callback)

        def end() -> None:
            with self._listening:
                self._listeners.discard(callback)

        return end

    def end_streams(self) -> None:
        """Let every page that listens go."""
        self.is_closing = True
        self._tell()

    def _tell(self) -> None:
        self.serial += 1
        with self._listening:
            for callback in self._listeners:
                callback()

    def _on_read(self, functions: list[Callable[[], Any]]) -> list[Any]:
        results: list[Any] = []
        for function in functions:
            try:
                results.append(function())
            except Exception as error:
                results.append(error)
        return results

    def _on_act(self, requests: list[tuple[str, dict[str, Any]]]) -> list[Any]:
        """Plan and do actions, and write them down; those that come together are written together.

        One that cannot be done is refused alone. If they cannot be written, all are taken back.
        """
        planned: list[Batch | Exception] = []
        for tab, action in requests:
            try:
                planned.append(self._planned(tab, action))
            except Exception as error:
                planned.append(error if isinstance(error, ActionError) else ActionError(_MALFORMED))
        batches = [batch for batch in planned if isinstance(batch, Batch) and batch.steps]
        try:
            numbers = self.journal.append(batches) if batches else []
        except JournalError as error:
            for batch in reversed(batches):
                self.state.apply(step.back for step in reversed(batch.steps))
            return [error if isinstance(one, Batch) else one for one in planned]
        for number, batch in zip(numbers, batches, strict=True):
            self.state.history.add(number, batch)
        if batches:
            self.jobs.refresh()
            self._tell()
        return [self._after(tab, one) for (tab, _), one in zip(requests, planned, strict=True)]

    def _planned(self, tab: str, action: dict[str, Any]) -> Batch:
        """What an action does, done in memory: the next one of those that came together must know."""
        self.state.history.hear(tab)
        if "numbers" in action:
            action = {**action, "samples": self._identities(action["numbers"], action.get("start"))}
        batch = planned(self.state, action, tab)
        self.state.apply(batch.steps)
        return batch

    def check_start(self, start: Any) -> None:
        """A `ConflictError` if a page speaks of samples by numbers of another start, when they were others."""
        if start != self.start:
            raise ConflictError("The studio was started anew, or shows other data now. Nothing was done.")

    def _identities(self, numbers: Any, start: Any) -> list[str]:
        """Samples that a page names by their numbers."""
        self.check_start(start)
        ids, found = self.state.ids, numbers if isinstance(numbers, list) else []
        if not all(isinstance(number, int) and 0 <= number < len(ids) for number in found):
            raise ActionError("There are no such samples.")
        return [ids[number] for number in found]

    def _after(self, tab: str, batch: Batch | Exception) -> Any:
        """What a page needs after an action: counts and the next sample, which is that tab's own."""
        if not isinstance(batch, Batch):
            return batch
        reopened = [i for step in batch.steps if (i := self.state.place(step.sample)) is not None]
        following = self.following(1, tab, reopened if batch.do == "undo" else ())
        # The next word typed is completed from the classes: news of a new one may come too late for that.
        renamed = any(step.field == "class" for step in batch.steps)
        return {
            **({"classes": self.views.classes()} if renamed else {}),
            "next": [self.views.describe(index) for index in following],
            "refused": list(batch.refused),
            "serial": self.serial,  # news of a later one may reach the page before this
            "can_undo": self.state.history.can_undo(tab),
            **self.views.counts(),
            "estimate": self.views.estimate(),
        }

    def following(self, n: int, tab: str = "", first: Sequence[int] = ()) -> list[int]:
        """The next samples for a tab to label: those to come first, those ranked, then any others."""
        order = chain(dict.fromkeys([*first, *self.jobs.queue]), self._mixed)
        found: dict[int, None] = {}
        for index in order:
            if len(found) == n:
                break
            if self.state.is_waiting(index) and self.leases.is_free(index, tab):
                found[index] = None
        self.leases.give(tab, list(found))
        return list(found)

    def query(self, body: dict[str, Any], vector: np.ndarray | None = None) -> Query:
        """A `Query` from what a page sent: a sample, a row of numbers, or the vector of an image."""
        classifier, sample = self.state.adjusted(body.get("settings", {})), None
        if vector is None and "row" in body:
            vector = self._row_vector(body["row"], body.get("sample"))
        elif vector is None:
            sample = self.state.index(body.get("sample"))
            vector = self.source.data.vectors[sample]
        return Query(np.asarray(vector), sample, classifier)

    def _row_vector(self, row: Any, sample: Any) -> np.ndarray:
        """A row that was edited: the values sent, and those of a sample where the page does not show all columns."""
        samples, columns = self.source.data.vectors, self.source.data.columns
        width = samples.shape[1]
        gap = None if samples.dtype.kind == "O" else np.nan if columns else 0.0
        empty = np.full(width, gap, samples.dtype)
        vector = empty if sample is None else samples[self.state.index(sample)].copy()
        if not isinstance(row, list) or len(row) > width:
            raise ActionError(f"A row has {width} values.")
        kinds = [column.kind for column in self.source.plan.columns] or ["number"] * width
        for place, value in enumerate(row):
            name = columns[place] if columns else f"feature {place + 1}"
            if kinds[place] != "left out":
                vector[place] = _cell(name, value, kinds[place], bool(columns))
        return vector

    def _on_quick_answer(self, queries: list[Query]) -> list[Any]:
        """Answers by products with the labelled samples; threads of BLAS would spin for longer than small ones take."""
        with blas_threads_for(2.0 * self.recogniser.size * self.source.data.vectors.shape[1] * len(queries)):
            return self._on_answer(queries)

    def _on_answer(self, queries: list[Query]) -> list[Any]:
        try:
            judgements = self.recogniser.judge(queries)
        except ActionError as error:
            return [error] * len(queries)
        return [
            judgement if isinstance(judgement, ActionError) else self.views.answer(query, judgement)
            for query, judgement in zip(queries, judgements, strict=True)
        ]


def _cell(name: str, value: Any, kind: str, gaps: bool) -> float | str | None:
    """A cell that a page sent: a number, or a text where a column has texts; None for a gap, where one may be."""
    if kind == "number":
        if value is None and gaps:
            return float("nan")
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not abs(value) <= 1e30:
            raise ActionError(f"{name} must be a number.")
        return float(value)
    return as_word(value)
