"""The studio: what the page asks for, in words of samples and labels, without anything of the web."""

import threading
from collections import Counter
from concurrent.futures import Future

import numpy as np

from ancr.classifiers.controls import controls, flat
from ancr.classifiers.settings import methods
from ancr.studio import insights
from ancr.studio.background import Background
from ancr.studio.exports import labels_csv, trained_model
from ancr.studio.journal import Journal
from ancr.studio.recogniser import MOST_WITH_MATRIX, Query, Recogniser
from ancr.studio.sample_pictures import Pictures, data_uri, reconstruction
from ancr.studio.state import ActionError, State
from ancr.studio.worker import Worker

# Samples ranked ahead of the one that is asked for, and classes and columns that a page shows of an answer.
_AHEAD, _SHOWN_CLASSES, _SHOWN_COLUMNS, _SHOWN_SAMPLES = 12, 12, 200, 120
# Seconds without an action before estimates and ranks are brought up to date.
_PAUSE = 0.25


class Studio:
    """Data, journal, answers and background work of one page.

    Methods that begin with ``_on`` run in the worker's thread, which alone touches the state; so do those that are
    handed to it with ``worker.ask("read", …)``.

    Parameters
    ----------
    source : Source
        The data.

    Attributes
    ----------
    worker : Worker
        Takes the jobs ``"act"`` (a dict), ``"answer"`` (a `Query`) and ``"read"`` (a function of the studio).
    serial : int
        Grows with everything that a page would show differently.
    """

    def __init__(self, source):
        self.source, self.pictures = source, Pictures(source)
        self.journal = Journal(source.state, source.fingerprint)
        self.held_out = np.flatnonzero(source.is_held_out)
        self.state = State(source.names, source.labels, source.classifier, self.held_out.tolist())
        self._replay()
        self.recogniser = Recogniser(source, self.state)
        if source.is_model:  # its answers are those of the file from the first one on
            self.recogniser.fitted = self.recogniser.snapshot().fit()
        self.queue, self.guesses, self.results, self.problems = [], {}, {}, {}
        self.choosing = None  # how far the search for settings is
        self._mixed = np.random.default_rng(0).permutation(len(source.data)).tolist()
        self._awaited, self._listeners, self._listening, self.serial = [], set(), threading.RLock(), 0
        self.is_closing = self._is_closed = False
        handlers = {"act": self._on_act, "store": self._on_store, "answer": self._on_answer, "read": self._on_read}
        self.worker = Worker(handlers)
        self.quick = Background(self._report, "ancr-studio-quick", pause=_PAUSE)
        self.long = Background(self._report, "ancr-studio-long")
        self.worker.submit("read", Studio._refresh).result()

    def _replay(self):
        for number, action in enumerate(self.journal.actions, start=2):
            try:
                self.state.apply(self.state.check(action))
            except ActionError as error:
                gone = self.source.data.image_paths and str(error).startswith("There is no sample")
                if not gone:  # an image may have been deleted since
                    raise ValueError(f"{self.journal.path}, line {number}: {error} Move the file away.") from error

    def close(self):
        """End the threads and let another studio open the data."""
        if self._is_closed:
            return
        self._is_closed = True
        self.quick.stop()
        self.long.stop()
        self.worker.stop()
        self.journal.close()

    # --- changes are told to every page that is open

    def listen(self, callback):
        """Call ``callback()`` after every change; returns a function that ends it."""
        with self._listening:
            self._listeners.add(callback)

        def end():
            with self._listening:
                self._listeners.discard(callback)

        return end

    def end_streams(self):
        """Let every page that listens go."""
        self.is_closing = True
        self._tell()

    def _tell(self):
        self.serial += 1
        with self._listening:
            for callback in self._listeners:
                callback()

    # --- actions

    def _on_read(self, functions):
        results = []
        for function in functions:
            try:
                results.append(function(self))
            except Exception as error:
                results.append(error)
        return results

    def _on_act(self, actions):
        """Check, write down and do actions; those that come together are written together."""
        if len(actions) > 1 and any(action.get("do") == "undo" for action in actions):
            return [result for action in actions for result in self._on_act([action])]
        results, checked, reopened = [], [], []
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
            self._refresh()
            self._tell()
        following = iter(self.following(len(checked), reopened))
        return [self._after(next(following, None)) if result is None else result for result in results]

    def _after(self, index):
        """What a page needs after an action: counts and the next sample, another one for each page that waits."""
        following = [] if index is None else [self.describe(index)]
        return {"next": following, "can_undo": self.state.can_undo, **self.counts(), "estimate": self.estimate()}

    def following(self, n, first=()):
        """The next samples to label: those to come first, those ranked, then any others."""
        found = [index for index in dict.fromkeys([*first, *self.queue]) if self.state.is_waiting(index)][:n]
        if len(found) < n:
            known = set(found)
            others = (i for i in self._mixed if i not in known and self.state.is_waiting(i))
            found += [index for index, _ in zip(others, range(n - len(found)), strict=False)]
        return found

    def awaited_queue(self, n, seed=0):
        """A future of the n most useful samples with the labels of this moment; None where nothing can be ranked."""
        future = Future()
        if not self.recogniser.is_ready() or not len(self.pool()):
            future.set_result(None)
            return future
        job = f"ranked {n} {seed}"
        self._awaited.append((job, self.recogniser.version, future))
        self.quick.request(job, lambda: self._ranked(n, seed), at_once=True)
        return future

    # --- background

    def _refresh(self):
        """Ask for everything that depends on labels and settings to be brought up to date."""
        recogniser = self.recogniser
        recogniser.sync()
        if not recogniser.is_ready():
            recogniser.estimate, self.guesses, self.queue = None, {}, []
            return
        if recogniser.size <= MOST_WITH_MATRIX:
            self.quick.request("pairs", self._new_pairs)
            self.quick.request("fitted", lambda: self._snapshot().fit())
        self.quick.request("queue", lambda: self._ranked(_AHEAD))
        self.quick.request("estimate", lambda: self._snapshot().estimate())

    def _new_pairs(self):
        wanted = self.worker.submit("read", lambda studio: studio.recogniser.rows_without_pairs()).result()
        return None if wanted is None else (wanted[0], wanted[1] @ wanted[1].T)

    def _snapshot(self):
        """The newest labels, asked for when the work begins."""
        return self.worker.submit("read", lambda studio: studio.recogniser.snapshot()).result()

    def _ranked(self, n, seed=0):
        def now(studio):
            recogniser = studio.recogniser
            snapshot = recogniser.snapshot()
            return snapshot, recogniser.fitted, studio.pool(), recogniser.temperature(snapshot.classifier)

        snapshot, fitted, pool, temperature = self.worker.submit("read", now).result()
        if fitted is None or not fitted.is_current(snapshot.version, snapshot.classifier):
            fitted = snapshot.some(MOST_WITH_MATRIX).fit()
        pool = insights.judged_part(pool, snapshot.version)
        guesses = insights.guesses_of(fitted, snapshot.samples, pool, temperature)
        return insights.next_of(fitted, snapshot.samples, pool, n, seed), guesses, snapshot.version

    def pool(self):
        """Samples that wait for a label."""
        return np.flatnonzero(self.state.waiting)

    def _report(self, name, result, error):
        self.worker.submit("store", (name, result, error))

    def _on_store(self, jobs):
        """Take over what the background has found."""
        for job, result, error in jobs:
            name = job.partition(" ")[0]
            self.problems.pop(name, None)
            if error is not None:
                self.problems[name] = error
            elif name in ("fitted", "estimate", "pairs"):
                setattr(self.recogniser, name, result or getattr(self.recogniser, name))
            elif name in ("queue", "ranked"):
                self.queue, self.guesses, _ = result
            else:
                self.results[name] = result
            if name == "ranked":
                self._give_ranked(job, result)
        self._tell()
        return [None] * len(jobs)

    def _give_ranked(self, job, result):
        """Answer those who wait for this rank, of labels that it knew; all who wait for it if there was none."""
        left = []
        for own, version, future in self._awaited:
            if own != job or (result is not None and result[2] < version):
                left.append((own, version, future))
            elif future.set_running_or_notify_cancel():
                future.set_result(result and result[0])
        self._awaited = left

    def start(self, name):
        """Begin an audit, a search for settings or a comparison, unless it runs."""
        if self.long.is_busy(name):
            return
        if not self.recogniser.is_ready():
            raise ActionError("Label samples of at least two classes first.")
        self.problems.pop(name, None)
        self.choosing = None if name == "choose" else self.choosing
        source, held_out = self.source, self.held_out
        work = {
            "audit": lambda: insights.audit_of(self._snapshot(), held_out),
            "choose": lambda: insights.chosen_settings(self._snapshot(), self._report_choice),
            "compare": lambda: insights.compared(self._snapshot(), source.data.name, source.data.image_shape),
        }
        self.long.request(name, work[name])
        self._tell()

    def _report_choice(self, done, total):
        """Tell the page how far the search for settings is."""
        self.choosing = {"done": done, "total": total}
        self._tell()

    # --- what the page shows

    def overview(self):
        """Everything that a page needs at first and after a change."""
        source, state = self.source, self.state
        counts = Counter(label for index, label in enumerate(state.labels) if state.is_used(index))
        return {
            "serial": self.serial,
            "name": source.data.name,
            "notes": source.notes,
            "journal": str(self.journal.path),
            "features": source.data.features,
            "n_features": source.data.vectors.shape[1],
            "columns": list(source.data.columns[:_SHOWN_COLUMNS]),
            "pictures": self.pictures.has_pictures,
            "draws": source.draws,
            "takes_images": self.pictures.takes_images,
            "classes": [{"label": label, "count": counts.get(label, 0)} for label in state.classes],
            **self.settings(),
            "methods": [name for name in methods() if not name.endswith("-CV")],
            "can_undo": state.can_undo,
            "estimate": self.estimate(),
            "ready": self.recogniser.is_ready(),
            "busy": {name: self.long.is_busy(name) for name in ("audit", "choose", "compare")},
            "done": {name: result.get("version", 0) for name, result in self.results.items()},
            "chosen": self.results.get("choose"),
            "choosing": self.choosing,
            "problems": dict(self.problems),
            **self.counts(),
        }

    def settings(self, changes=()):
        """The settings in use, or those that changes make of them, and how a page lets a person change them."""
        classifier = self.state.adjusted(dict(changes))
        return {"settings": flat(classifier), "controls": [one.to_dict() for one in controls(classifier)]}

    def counts(self):
        """How many samples there are of each kind."""
        state = self.state
        return {
            "version": state.version,
            "samples": len(state.names),
            "labelled": state.n_labelled,
            "waiting": int(state.waiting.sum()),
            "skipped": len(state.skipped),
            "excluded": len(state.excluded),
            "held_out": len(self.held_out),
        }

    def estimate(self):
        """The last leave-one-out accuracy, and how many labels it knew."""
        found = self.recogniser.estimate
        if found is None:
            return None
        current = found.is_current(self.recogniser.version, self.state.classifier)
        return {"accuracy": found.accuracy, "n": found.n, "current": current, "coverage": found.trust.coverage}

    def describe(self, index):
        """A sample for the page."""
        state, guess = self.state, self.guesses.get(index)
        found = {
            "index": index,
            "name": state.names[index],
            "label": state.labels[index],
            "excluded": index in state.excluded,
            "picture": self.pictures.has_pictures,
        }
        if guess is not None and state.labels[index] is None:
            found["guess"] = {"label": guess[0], "confidence": guess[1]}
        if not self.pictures.has_pictures:
            found["row"] = self.row(index, 8)
        return found

    def row(self, index, most=_SHOWN_COLUMNS):
        """Columns and values of a sample."""
        values = self.source.data.vectors[index, :most].tolist()
        columns = self.source.data.columns[:most] or [f"feature {j + 1}" for j in range(len(values))]
        return [[name, float(f"{value:.6g}")] for name, value in zip(columns, values, strict=True)]

    def random_sample(self, kind):
        """A sample to try: held out, from the pool, or labelled (which then does not answer for itself)."""
        kinds = {"held out": self.held_out, "pool": self.pool()}
        kinds["labelled"] = np.array([i for i in range(len(self.state.names)) if self.state.is_used(i)], int)
        order = [kind] if kind in kinds else list(kinds)
        for name in order:
            if len(kinds[name]):
                return int(np.random.default_rng().choice(kinds[name]))
        raise ActionError("There is no such sample in this data.")

    def surest(self, label=None):
        """Guesses for the pool, the surest first, of one class or of all."""
        pairs = [(i, guess) for i, guess in self.guesses.items() if self.state.is_waiting(i)]
        chosen = [(i, guess) for i, guess in pairs if label is None or guess[0] == label]
        chosen.sort(key=lambda pair: -pair[1][1])
        by_class = Counter(guess[0] for _, guess in pairs)
        return {
            "samples": [self.describe(i) for i, _ in chosen[:_SHOWN_SAMPLES]],
            "classes": [{"label": name, "count": count} for name, count in by_class.most_common()],
            "total": len(chosen),
        }

    def members(self, label):
        """Samples of a class."""
        found = [i for i, given in enumerate(self.state.labels) if given == label]
        return {"samples": [self.describe(i) for i in found[:_SHOWN_SAMPLES]], "total": len(found)}

    # --- answers

    def query(self, body, vector=None):
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

    def _row_vector(self, row, sample):
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

    def _on_answer(self, queries):
        try:
            judgements = self.recogniser.judge(queries)
        except ActionError as error:
            return [error] * len(queries)
        return [
            judgement if isinstance(judgement, ActionError) else self._in_words(query, judgement)
            for query, judgement in zip(queries, judgements, strict=True)
        ]

    def _in_words(self, query, judgement):
        chances, confidence, accepted = self.recogniser.probabilities(judgement, query.classifier)
        order = np.argsort(-judgement.decisions, kind="stable")[:_SHOWN_CLASSES]
        weights = judgement.weights
        answer = {
            "label": judgement.label,
            "probability": float(chances.max()),
            "confidence": confidence,
            "accepted": accepted,
            "classes": [
                {
                    "label": str(judgement.classes[k]),
                    "probability": float(chances[k]),
                    "residual": float(judgement.residuals[k]),
                }
                for k in order
            ],
            "n_classes": len(judgement.classes),
            "witnesses": [
                {**self.describe(i), "label": label, "weight": weight, "share": share}
                for i, label, weight, share in judgement.witnesses
            ],
            "n_witnesses": len(judgement.support),
            "truth": None if query.sample is None else self._truth(query.sample),
            "version": self.state.version,
        }
        if self.source.data.image_shape is not None:
            shape = self.source.data.image_shape
            answer["query"] = data_uri(query.vector.reshape(shape))
            answer["reconstruction"] = data_uri(reconstruction(self.source, judgement.support, weights).reshape(shape))
        return answer

    def _truth(self, sample):
        data = self.source.data
        return str(data.class_names[data.target[sample]]) if sample in self.held_out else self.state.labels[sample]

    # --- results

    def audit(self):
        """The last audit, with samples described; those that were decided since are marked."""
        found = self.results.get("audit")
        if found is None:
            return None
        state = self.state

        def one(entry):
            index = entry["sample"]
            sides = {
                side: [{**self.describe(i), "weight": weight} for i, weight in entry[side]]
                for side in ("for", "against")
            }
            changed = state.labels[index] != entry["label"]
            decided = "excluded" if index in state.excluded else "relabelled" if changed else None
            decided = decided or ("kept" if index in state.kept else None)
            return {**entry, **sides, "sample": self.describe(index), "decided": decided}

        pairs = {
            name: [[self.describe(a), self.describe(b), distance] for a, b, distance in found[name]]
            for name in ("duplicates", "leaks")
        }
        return {**found, **pairs, "suspicious": [one(entry) for entry in found["suspicious"]], "now": self.estimate()}

    def comparison(self):
        """The last comparison, with the confusion matrix of each method."""
        found = self.results.get("compare")
        if found is None:
            return None
        k = len(found["classes"])
        matrices = {}
        for name, (_, truth, predicted) in found["answers"].items():
            matrix = np.zeros((k, k), int)
            np.add.at(matrix, (truth, predicted), 1)
            matrices[name] = matrix.tolist()
        shown = {name: value for name, value in found.items() if name != "answers"}
        return {**shown, "confusion": matrices}

    def confused(self, method, truth, predicted):
        """Samples in a cell of a confusion matrix."""
        found = self.results.get("compare")
        if found is None or method not in found["answers"]:
            raise ActionError("There is no such comparison.")
        members, given, answered = found["answers"][method]
        here = members[(given == truth) & (answered == predicted)]
        return {"samples": [self.describe(int(i)) for i in np.unique(here)[:_SHOWN_SAMPLES]], "total": len(here)}

    def labels_csv(self, raw=False):
        """The labels as CSV text."""
        return labels_csv(self, raw)

    def model(self):
        """The trained model."""
        try:
            return trained_model(self)
        except ValueError as error:
            raise ActionError(str(error)) from error
