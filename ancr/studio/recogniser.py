"""Answers: the label of a query, how sure it is, and the samples that decided, with the labels of this moment."""

import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from ancr._core.messages import one_line
from ancr.axes.spaces import named_space
from ancr.certificate.solution import Solution
from ancr.classifiers.base import BaseRepresentationClassifier
from ancr.classifiers.explanation import Explanation, explain_block
from ancr.classifiers.probabilities import TemperatureLike, named_temperatures
from ancr.classifiers.settings import changed, is_same, key
from ancr.samples.column_plan import ColumnPlan, TableColumns
from ancr.samples.table_pipeline import Unlike, unlike_columns
from ancr.selection.calibration import Trust
from ancr.selection.cross_validation import RepresentationClassifierCV
from ancr.selection.grid import LISTS
from ancr.studio.actions import ActionError
from ancr.studio.claims import Claims
from ancr.studio.few_atoms import FewAtoms, applies_to
from ancr.studio.labelled import Labelled, LabelledRows, rows_of
from ancr.studio.openings import Source
from ancr.studio.state import State

# More samples than this are not coded by the matrix of all pairs, which takes 4 bytes for each.
MOST_WITH_MATRIX = 6000
# Samples that are left out one by one for the accuracy; of more, a random part.
MOST_LEFT_OUT = 3000
# Share of right answers among those that are called accepted.
PRECISION = 0.95
# Labelled samples that say how far the values of a column spread; of more, a random part.
_MOST_FOR_COLUMNS = 1000
# Classifiers of other settings that are kept, for settings that need all samples at once.
_KEPT = 3
_NEAR_KEPT, _MOST_NEAR = 64, 300
_TOO_FEW = "Label samples of at least two classes first; then there is something to compare."


@dataclass
class Query:
    """A vector to classify.

    Attributes
    ----------
    vector : ndarray of shape (n_features,)
        As the data is.
    sample : int or None
        The sample that it is, which then must not answer for itself.
    classifier : BaseRepresentationClassifier
        What to answer with, not fitted.
    top : int
        Witnesses to name.
    """

    vector: np.ndarray
    sample: int | None
    classifier: BaseRepresentationClassifier
    top: int = 6

    @property
    def kind(self) -> tuple[float, bool]:
        """The power of the features, and whether samples are at unit norm."""
        space = named_space(self.classifier.space)
        return space.power, space.normalize


@dataclass
class Judgement:
    """An answer before it is put in words.

    Attributes
    ----------
    label : str
        The class.
    classes : ndarray of str
        Classes in the order of ``decisions`` and ``residuals``.
    decisions, residuals : ndarray
        Decision values, larger is better, and ‖y − X_i c_i‖.
    witnesses : list of tuple
        ``(sample, label, weight, share)``, the largest weights first.
    support, weights : ndarray
        All samples that the code uses.
    """

    label: str
    classes: np.ndarray
    decisions: np.ndarray
    residuals: np.ndarray
    witnesses: list[tuple[int, str, float, float]]
    support: np.ndarray
    weights: np.ndarray


class OfAMoment:
    """What was worked out with the labels of some version and a classifier."""

    version: int
    classifier: BaseRepresentationClassifier

    def is_current(self, version: int, classifier: BaseRepresentationClassifier) -> bool:
        """Whether these are its labels and settings."""
        return self.version == version and is_same(self.classifier, classifier)


@dataclass(frozen=True)
class Fitted(OfAMoment):
    """A classifier with all samples at once, which samples those were, and ``rows``, which prepares vectors for it."""

    classifier: BaseRepresentationClassifier
    rows: Callable[[np.ndarray], np.ndarray]
    members: np.ndarray
    version: int


@dataclass(frozen=True)
class Estimate(OfAMoment):
    """What leaving each labelled sample out says about the answers to come."""

    accuracy: float
    n: int
    trust: Trust
    claims: Claims
    version: int
    classifier: BaseRepresentationClassifier


@dataclass(frozen=True)
class Snapshot:
    """The labelled samples of a moment, for work in the background."""

    samples: np.ndarray
    members: np.ndarray
    labels: np.ndarray
    classifier: BaseRepresentationClassifier
    plan: ColumnPlan
    version: int

    @property
    def n_classes(self) -> int:
        """How many classes have a sample."""
        return len(np.unique(self.labels))

    def vectors(self) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        """The labelled samples as a classifier sees them, and the function that prepared them."""
        vectors = self.samples[self.members]
        prepare = self.plan.fit(vectors, self.labels)
        return prepare(vectors), prepare

    def fit(self) -> Fitted:
        """The classifier of these samples."""
        vectors, prepare = self.vectors()
        return Fitted(clone(self.classifier).fit(vectors, self.labels), prepare, self.members, self.version)

    def estimate(self) -> Estimate:
        """Accuracy, temperatures and trust, by leave-one-out where that needs no refit and otherwise in folds."""
        part = self.some(MOST_LEFT_OUT)
        with warnings.catch_warnings():  # whoever has just begun to label is told nothing about settings in Python
            warnings.filterwarnings("ignore", "every class in y has one sample")
            search = _search_of_one(self.classifier).fit(part.vectors()[0], part.labels)
        held, temperatures = search.held_out_, search.best_estimator_.temperatures
        trust = Trust.learn(held.decisions, held.labels, temperatures, PRECISION)
        claims = Claims.of(np.asarray(trust.confidence(held.decisions)), np.asarray(held.right))
        return Estimate(float(held.right.mean()), len(held.labels), trust, claims, self.version, self.classifier)

    def some(self, most: int) -> "Snapshot":
        """At most so many of the samples, at random."""
        if len(self.members) <= most:
            return self
        return self.part(np.sort(np.random.default_rng(0).permutation(len(self.members))[:most]))

    def part(self, keep: np.ndarray) -> "Snapshot":
        """Some of the samples."""
        return replace(self, members=self.members[keep], labels=self.labels[keep])


class Recogniser:
    """Answers queries with the labels that a state has at this moment.

    Parameters
    ----------
    source : Source
        The data.
    state : State
        Labels and settings.

    Attributes
    ----------
    fitted : Fitted or None
        A classifier by the matrix of all pairs, made in the background; used while it is up to date.
    estimate : Estimate or None
        The last leave-one-out.
    """

    def __init__(self, source: Source, state: State) -> None:
        self.source, self.state = source, state
        self.fitted: Fitted | None = None
        self.estimate: Estimate | None = None
        self._others: dict[tuple[Any, ...], Fitted] = {}
        # Of the last queries, the rows that mattered: a slider asks the same one again.
        self._near: dict[bytes, np.ndarray] = {}
        self._labelled = LabelledRows(source.data.vectors)
        for index in range(len(source.data)):
            if state.is_used(index):
                self._labelled.update(index, state.labels[index])
        self._seen, self._version = len(state.changes), state.version
        vectors, plan = source.data.vectors, source.plan
        self._always_prepares = plan.prepares or (bool(plan.columns) and has_gaps(vectors))
        # Of prepared columns, the rows of the labels of this moment.
        self._prepared: tuple[Any, ...] | None = None
        # The columns of a table by the labels of this moment, to say in which of them a query is unlike its witnesses.
        self._columns: tuple[tuple[int, int | None], TableColumns] | None = None
        self._spread: tuple[int, TableColumns] | None = None
        self._lock = threading.RLock()

    def sync(self) -> None:
        """Take over what changed in the state since the last call; any thread may ask for it."""
        with self._lock:
            version, seen = self.state.version, len(self.state.changes)
            for index in self.state.changes[self._seen : seen]:
                self._labelled.update(index, self.state.labels[index] if self.state.is_used(index) else None)
            if self._seen < seen:
                self._version, self._seen = version, seen

    @property
    def version(self) -> int:
        """The version of the state at which a label changed last."""
        self.sync()
        return self._version

    @property
    def size(self) -> int:
        """How many samples have, or had, a label."""
        return len(self._labelled)

    def snapshot(self, classifier: BaseRepresentationClassifier | None = None) -> Snapshot:
        """The labelled samples of this moment."""
        with self._lock:
            self.sync()
            labelled, version = self._labelled.now(), self._version
        members, labels = (np.delete(part, labelled.unused) for part in (labelled.members, labelled.labels))
        chosen = classifier or self.state.classifier
        return Snapshot(self.source.data.vectors, members, labels, chosen, self.source.plan, version)

    def is_ready(self) -> bool:
        """Whether two classes have a label, so that there is something to compare."""
        return sum(count > 0 for count in self.state.classes.copy().values()) >= 2

    def judge(self, queries: list[Query]) -> list[Judgement | ActionError]:
        """Judgements of queries; those that can be are answered together.

        Parameters
        ----------
        queries : list of Query

        Returns
        -------
        list of Judgement or ActionError

        Raises
        ------
        ActionError
            If fewer than two classes have a label.
        """
        self.sync()
        if not self.is_ready():
            raise ActionError(_TOO_FEW)
        answers: dict[int, Judgement | ActionError] = {}
        groups: dict[tuple[Any, ...], list[int]] = {}
        for place, query in enumerate(queries):
            groups.setdefault(self._way(query), []).append(place)
        for (way, *_), places in groups.items():
            try:
                found = way(self, [queries[place] for place in places])
            except ValueError as error:  # settings that cannot be combined
                found = [ActionError(one_line(error))] * len(places)
            for place, answer in zip(places, found, strict=True):
                answers[place] = answer
        return [answers[place] for place in range(len(queries))]

    def _way(self, query: Query) -> tuple[Any, ...]:
        """How a query is answered, and what it must share with others to be answered together with them."""
        own = self._own_place(query)
        if own is None and self.fitted and self.fitted.is_current(self._version, query.classifier):
            return Recogniser._by_matrix, query.top
        if applies_to(query.classifier):
            prepares = self._prepares(query)
            alone = prepares or not query.kind[1]  # what is learned from the others is its own
            return Recogniser._over_few, query.kind, prepares, own if alone else None, query.top
        return Recogniser._by_all, key(query.classifier), own, query.top

    def _prepares(self, query: Query) -> bool:
        """Whether columns are prepared for a query: they always are, or a cell of it is empty."""
        return self._always_prepares or has_gaps(query.vector)

    @staticmethod
    def needs_all(classifier: BaseRepresentationClassifier) -> bool:
        """Whether answers need a classifier that was fitted to all samples."""
        return not applies_to(classifier)

    def _own_place(self, query: Query) -> int | None:
        """Where a query is among the labelled samples; None if it is not."""
        with self._lock:
            return None if query.sample is None else self._labelled.place(query.sample)

    def _by_matrix(self, queries: list[Query]) -> Sequence[Judgement | ActionError]:
        assert self.fitted is not None
        return _judge(self.fitted, np.stack([query.vector for query in queries]), queries[0].top)

    def is_quick(self, query: Query) -> bool:
        """Whether a query needs neither a classifier fitted to all samples nor words that are counted anew."""
        self.sync()
        has_words = self._always_prepares and self.source.data.vectors.dtype.kind == "O"
        return self._way(query)[0] is not Recogniser._by_all and not has_words

    def _over_few(self, queries: list[Query]) -> Sequence[Judgement | ActionError]:
        with self._lock:
            labelled, version = self._labelled.now(), self._version
        members, unused = labelled.members, labelled.unused
        rows, squares, mean, to_rows = self._rows(queries[0], labelled, version)
        vectors = to_rows(np.stack([query.vector for query in queries])).astype(rows.dtype)
        answers: list[Judgement | ActionError] = []
        for query, vector, cross in zip(queries, vectors, vectors @ rows.T, strict=True):
            own, content = self._own_place(query), query.vector.tobytes()
            banned = unused if own is None or own >= len(members) else np.append(unused, own)
            near = self._near.pop(content, np.empty(0, int))
            try:
                few = FewAtoms(rows, squares, labelled, vector, cross, banned, query.classifier, near, mean)
            except ActionError as error:
                answers.append(error)
                continue
            self._near[content] = few.chosen if len(few.chosen) <= _MOST_NEAR else few.chosen[few.code > 0.0]
            fitted = Fitted(few.classifier(), _as_they_are, members[few.chosen], version)
            answers += _judge(fitted, vector[None], query.top)
        while len(self._near) > _NEAR_KEPT:
            self._near.pop(next(iter(self._near)))
        return answers

    def _rows(self, query: Query, labelled: Labelled, version: int) -> tuple[Any, ...]:
        """The labelled samples as rows, their squared norms and mean, and the function that makes such rows.

        The mean is None where none is needed. Columns are prepared by the labelled samples of this moment, without the
        one that is the query.
        """
        members, unused, kind = labelled.members, labelled.unused, query.kind
        own, n, prepares = self._own_place(query), len(members), self._prepares(query)
        if not prepares:
            with self._lock:
                rows, squares = (part[:n] for part in self._labelled.rows(*kind))
        if not prepares and kind[1]:
            return rows, squares, None, lambda vectors: rows_of(vectors, *kind)
        used = np.setdiff1d(np.arange(n), unused if own is None else np.append(unused, own))
        if not prepares:
            return rows, squares, rows[used].mean(axis=0, dtype=float), lambda vectors: rows_of(vectors, *kind)
        which, prepared = (version, kind, own), self._prepared
        if prepared is None or prepared[0] != which:
            samples = self.source.data.vectors
            prepare = self._columns_of(members[used], labelled.labels[used], (version, own)).transform
            rows = rows_of(prepare(samples[members]), *kind)
            squares, mean = np.einsum("ij,ij->i", rows, rows), rows[used].mean(axis=0, dtype=float)
            self._prepared = prepared = which, rows, squares, mean, lambda vectors: rows_of(prepare(vectors), *kind)
        return prepared[1:]

    def _by_all(self, queries: list[Query]) -> Sequence[Judgement | ActionError]:
        """Settings whose codes use every sample: a classifier of its own, without the sample that is the query."""
        own = self._own_place(queries[0])
        which = (key(queries[0].classifier), self._version, own)
        if which not in self._others:
            while len(self._others) >= _KEPT:
                self._others.pop(next(iter(self._others)))
            snapshot = self.snapshot(queries[0].classifier)
            if own is not None:
                snapshot = snapshot.part(snapshot.members != queries[0].sample)
            if snapshot.n_classes < 2:
                return [ActionError(_TOO_FEW)] * len(queries)
            self._others[which] = snapshot.fit()
        return _judge(self._others[which], np.stack([query.vector for query in queries]), queries[0].top)

    def unlike(self, query: Query, judgement: Judgement) -> list[Unlike]:
        """The columns of a table in which a query is least like its witnesses; none where columns have no names."""
        plan = self.source.plan
        if len(plan.used) < 2 or not judgement.witnesses:
            return []
        samples, labels, weights, shares = map(np.array, zip(*judgement.witnesses, strict=True))
        columns, why = self._columns_for(query), Explanation(judgement.label, samples, weights, labels, shares)
        cells = dict(zip(plan.names, query.vector[:, None], strict=True))
        return unlike_columns(columns, columns.transform(query.vector[None]), cells, [why], self.source.data.vectors)[0]

    def _columns_for(self, query: Query) -> TableColumns:
        """Columns as the labelled samples but for the query prepare them; where they are many, as a part of them does.

        Thousands of rows say no more about the spread of a column, and an answer must not wait for them; so a part is
        kept until there are a quarter more, or fewer, samples.
        """
        moment = self.snapshot()
        own, n = self._own_place(query), len(moment.members)
        which = (moment.version, own)
        if n <= _MOST_FOR_COLUMNS or (self._columns is not None and self._columns[0] == which):
            others = moment.part(moment.members != query.sample) if own is not None else moment
            return self._columns_of(others.members, others.labels, which)
        if self._spread is None or not 0.8 <= n / self._spread[0] <= 1.25:
            part = moment.some(_MOST_FOR_COLUMNS)
            self._spread = n, TableColumns(plan=part.plan).fit(part.samples[part.members], part.labels)
        return self._spread[1]

    def _columns_of(self, members: np.ndarray, labels: np.ndarray, which: tuple[int, int | None]) -> TableColumns:
        """How all labelled samples at a version, but for the query, prepare columns; the last ones are kept."""
        if self._columns is None or self._columns[0] != which:
            self._columns = which, TableColumns(plan=self.source.plan).fit(self.source.data.vectors[members], labels)
        return self._columns[1]

    def temperature(self, classifier: BaseRepresentationClassifier) -> TemperatureLike:
        """What turns decision values into probabilities: as leave-one-out found, or as a model that was opened has it.

        A model keeps its own until a label or a setting changes.
        """
        opened = self.source.is_model and not self.state.changes and is_same(classifier, self.source.classifier)
        return classifier.temperature if opened or self.estimate is None else self.estimate.trust.temperatures

    def probabilities(
        self, judgement: Judgement, classifier: BaseRepresentationClassifier
    ) -> tuple[np.ndarray, float, bool | None]:
        """How likely the classes are.

        Returns
        -------
        probabilities : ndarray
        confidence : float
            That the answer is right.
        accepted : bool or None
            Whether it is sure enough; None while nothing is known about the answers of these settings.
        """
        estimate = self.estimate
        shares = named_temperatures(self.temperature(classifier)).probabilities(judgement.decisions[None])[0]
        if estimate is None or not is_same(estimate.classifier, classifier):
            return shares, float(shares.max()), None
        confidence = float(estimate.trust.confidence(judgement.decisions[None])[0])
        return shares, confidence, bool(confidence >= estimate.trust.threshold)


def _search_of_one(classifier: BaseRepresentationClassifier) -> Any:
    """A search that scores the settings of a classifier and no others."""
    grid: dict[str, Any] = {name: [getattr(classifier, single)] for name, single in LISTS.items()}
    return RepresentationClassifierCV(changed(classifier, {"temperature": type(classifier)().temperature}), **grid)


def has_gaps(vectors: np.ndarray) -> bool:
    """Whether a number is missing."""
    return vectors.dtype.kind == "f" and bool(np.isnan(vectors).any())


def _as_they_are(vectors: np.ndarray) -> np.ndarray:
    return vectors


def _judge(fitted: Fitted, vectors: np.ndarray, top: int) -> list[Judgement]:
    """Judgements of vectors by a classifier, from coding each once."""
    classifier, members = fitted.classifier, fitted.members
    classes = np.asarray(classifier.classes_)

    def then(solution: Solution) -> list[tuple[Any, ...]]:
        labels = classifier.labels(classifier.winners(solution))
        parts = (
            classifier.decide(solution),
            classifier.residuals_of(solution),
            explain_block(classifier.seen_by_rule(solution.queries), solution.sorted_codes, labels, top),
            _entries(solution.codes),
        )
        return list(zip(*parts, strict=True))

    blocks = classifier.map_solutions("judge", fitted.rows(vectors), then)
    return [_judgement(members, classes, *parts) for block in blocks for parts in block]


def _judgement(
    members: np.ndarray,
    classes: np.ndarray,
    decisions: np.ndarray,
    residuals: np.ndarray,
    why: Explanation,
    entries: tuple[np.ndarray, np.ndarray],
) -> Judgement:
    named = zip(why.indices, why.labels, why.weights, why.shares, strict=True)
    witnesses = [(int(members[i]), str(label), float(weight), float(share)) for i, label, weight, share in named]
    support, weights = entries
    values = (np.asarray(decisions, float), np.asarray(residuals, float))
    return Judgement(str(why.label), classes, *values, witnesses, members[support], weights)


def _entries(codes: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """``(columns, values)`` of the entries of each code that are not zero, in the order of the training samples."""
    if isinstance(codes, np.ndarray):
        return [(np.flatnonzero(row), row[np.flatnonzero(row)]) for row in codes]
    ends = zip(codes.indptr[:-1], codes.indptr[1:], strict=True)
    return [(codes.indices[a:b], codes.data[a:b]) for a, b in ends]
