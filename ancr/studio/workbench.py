"""The studio: what a page asks for, in terms of samples and labels, without anything of the web."""

import csv
import io
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ancr._core.spreadsheet import harmless
from ancr.classifiers.settings import changed
from ancr.samples.model_file import Model
from ancr.studio.jobs import Jobs
from ancr.studio.journal import Journal
from ancr.studio.openings import Source
from ancr.studio.recogniser import Query, Recogniser
from ancr.studio.sample_pictures import Pictures
from ancr.studio.state import ActionError, State
from ancr.studio.views import Views
from ancr.studio.worker import Worker


class Studio:
    """Data, journal and actions of one page.

    Methods that begin with ``_on`` run in the worker's thread, which alone touches the state; so do those that are
    handed to it with ``worker.ask("read", …)``.

    Parameters
    ----------
    source : Source
        The data.

    Attributes
    ----------
    worker : Worker
        Takes the jobs ``"act"`` (a dict), ``"answer"`` (a `Query`) and ``"read"`` (a function without
        arguments).
    jobs : Jobs
        Work in the background, and what it has found.
    views : Views
        What a page shows.
    serial : int
        Grows with everything that a page would show differently.
    """

    def __init__(self, source: Source) -> None:
        self.source, self.pictures = source, Pictures(source)
        self.journal = Journal(source.state, source.fingerprint)
        held_out = np.flatnonzero(source.is_held_out).tolist()
        self.state = State(source.names, source.labels, source.classifier, held_out)
        self._replay()
        self.recogniser = Recogniser(source, self.state)
        if source.is_model:  # its answers are those of the file from the first one on
            self.recogniser.fitted = self.recogniser.snapshot().fit()
        self._mixed = np.random.default_rng(0).permutation(len(source.data)).tolist()
        self._listeners: set[Callable[[], object]] = set()
        self._listening, self.serial = threading.RLock(), 0
        self.is_closing = self._is_closed = False
        self.worker = Worker(
            {
                "act": self._on_act,
                "store": lambda found: self.jobs.on_store(found),
                "answer": self._on_answer,
                "read": self._on_read,
            }
        )
        self.jobs = Jobs(source, self.state, self.recogniser, self.worker, self._tell)
        self.views = Views(source, self.state, self.recogniser, self.pictures, self.jobs)
        self.worker.submit("read", self.jobs.refresh).result()

    def overview(self) -> dict[str, Any]:
        """Everything that a page needs at first and after a change."""
        return {"serial": self.serial, "journal": str(self.journal.path), **self.views.overview()}

    def _replay(self) -> None:
        for number, action in enumerate(self.journal.actions, start=2):
            try:
                self.state.apply(self.state.check(action))
            except ActionError as error:
                gone = self.source.data.image_paths and str(error).startswith("There is no sample")
                if not gone:  # an image may have been deleted since
                    raise ValueError(f"{self.journal.path}, line {number}: {error} Move the file away.") from error

    def close(self) -> None:
        """End the threads and let another studio open the data."""
        if self._is_closed:
            return
        self._is_closed = True
        self.jobs.stop()
        self.worker.stop()
        self.journal.close()

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

    def _on_act(self, actions: list[dict[str, Any]]) -> list[Any]:
        """Check, write down and do actions; those that come together are written together."""
        if len(actions) > 1 and any(action.get("do") == "undo" for action in actions):
            return [result for action in actions for result in self._on_act([action])]
        results: list[ActionError | None] = []
        checked: list[dict[str, Any]] = []
        reopened: list[int] = []
        for action in actions:
            try:
                checked.append(self.state.check(action))
                results.append(None)
            except ActionError as error:
                results.append(error)
        if checked:
            self.journal.append(checked)
            for action in checked:
                seen = len(self.state.changes)
                self.state.apply(action)
                reopened = self.state.changes[seen:] if action["do"] == "undo" else []
            self.jobs.refresh()
            self._tell()
        following = iter(self.following(len(checked), reopened))
        return [self._after(next(following, None)) if result is None else result for result in results]

    def _after(self, index: int | None) -> dict[str, Any]:
        """What a page needs after an action: counts and the next sample, another one for each page that waits."""
        following = [] if index is None else [self.views.describe(index)]
        counts, estimate = self.views.counts(), self.views.estimate()
        return {"next": following, "can_undo": self.state.can_undo, **counts, "estimate": estimate}

    def following(self, n: int, first: Sequence[int] = ()) -> list[int]:
        """The next samples to label: those to come first, those ranked, then any others."""
        found = [index for index in dict.fromkeys([*first, *self.jobs.queue]) if self.state.is_waiting(index)][:n]
        if len(found) < n:
            known = set(found)
            others = (i for i in self._mixed if i not in known and self.state.is_waiting(i))
            found += [index for index, _ in zip(others, range(n - len(found)), strict=False)]
        return found

    def query(self, body: dict[str, Any], vector: np.ndarray | None = None) -> Query:
        """A `Query` from what a page sent: a sample, a row of numbers, or the vector of an image."""
        classifier, sample = self.state.adjusted(body.get("settings", {})), None
        if vector is None and "row" in body:
            vector = self._row_vector(body["row"], body.get("sample"))
        elif vector is None:
            sample = body.get("sample")
            if not isinstance(sample, int) or isinstance(sample, bool) or not 0 <= sample < len(self.state.names):
                raise ActionError("There is no such sample in this data.")
            vector = self.source.data.vectors[sample]
        return Query(np.asarray(vector), sample, classifier)

    def _row_vector(self, row: Any, sample: Any) -> np.ndarray:
        """A row that was edited: the values sent, and those of a sample where the page does not show all columns."""
        samples = self.source.data.vectors
        width, known = samples.shape[1], isinstance(sample, int) and 0 <= sample < len(self.state.names)
        vector = samples[sample].copy() if known else np.zeros(width, samples.dtype)
        if not isinstance(row, list) or len(row) > width:
            raise ActionError(f"A row has {width} numbers.")
        for place, value in enumerate(row):
            fits = isinstance(value, int | float) and not isinstance(value, bool) and np.isfinite(value)
            if not fits or abs(value) > 1e30:
                name = self.source.data.columns[place] if self.source.data.columns else f"feature {place + 1}"
                raise ActionError(f"{name} must be a number.")
            vector[place] = value
        return vector

    def _on_answer(self, queries: list[Query]) -> list[Any]:
        try:
            judgements = self.recogniser.judge(queries)
        except ActionError as error:
            return [error] * len(queries)
        return [
            judgement if isinstance(judgement, ActionError) else self.views.answer(query, judgement)
            for query, judgement in zip(queries, judgements, strict=True)
        ]

    def labels_csv(self, raw: bool = False) -> str:
        """All samples with a label or a decision: name, label, where it came from, whether it is used.

        Text that a spreadsheet would run as a formula gets an apostrophe in front, unless ``raw``.
        """
        state, file = self.state, io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["sample", "label", "given", "status"])
        for index, name in enumerate(state.names):
            if status := state.status(index):
                row = [name, state.labels[index] or "", state.given[index] or "", status]
                writer.writerow(row if raw else [harmless(text) for text in row])
        return file.getvalue()

    def model(self) -> Model:
        """The model of the labels of this moment, for ``ancr predict``."""
        data, snapshot = self.source.data, self.recogniser.snapshot()
        if snapshot.n_classes < 2:
            raise ActionError("Label samples of at least two classes first; then there is a model.")
        return Model(
            changed(snapshot.classifier, {"temperature": self.recogniser.temperature(snapshot.classifier)}),
            data.vectors[snapshot.members],
            snapshot.labels,
            data.names[snapshot.members],
            features=data.features,
            plan=self.source.plan,
        )
