"""Labels, exclusions, skipped samples and settings as a sequence of actions, each of which can be undone."""

import copy
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ancr._core.messages import one_line
from ancr.axes.spaces import Space
from ancr.classifiers import ANCRClassifier
from ancr.classifiers.base import BaseRepresentationClassifier
from ancr.classifiers.controls import adjusted
from ancr.classifiers.settings import SettingsError, from_data, reproducible
from ancr.studio.actions import ActionError, Batch, History, Step, words


def first_classifier(normalize: bool = True) -> BaseRepresentationClassifier:
    """What a studio answers with before a person changes it."""
    return ANCRClassifier(alpha=0.01, space=Space(gamma=1.0, normalize=normalize))


class State:
    """What a person has decided so far.

    Parameters
    ----------
    ids : list of str
        Identities of the samples; actions refer to samples by them.
    labels : list of str or None
        Labels that the data came with.
    names : list of str or None
        What messages call the samples; None means by their identities.
    classifier : BaseRepresentationClassifier or None
        What to answer with at first, not fitted.
    closed : set of int
        Samples that cannot be labelled: those held out.

    Attributes
    ----------
    labels : list of str or None
        Current labels.
    classifier : BaseRepresentationClassifier
        The classifier in use, not fitted.
    marks : dict
        ``"skipped"``, ``"excluded"`` and ``"kept"``: sets of samples by index.
    classes : dict
        Names of classes, in the order in which they came, with the number of samples that are used.
    waiting : ndarray of bool
        Samples in the pool: without a label, neither skipped, excluded nor held out.
    n_labelled : int
        Samples with a label.
    version : int
        Grows with every change.
    changes : list of int
        Samples whose label or exclusion changed, in order; those who follow remember how many they have seen.
    changed_at : dict
        The version that changed a sample last, by index.
    absent : dict
        ``{(identity, field): value}`` of samples that are not in the data, which may come back.

    Examples
    --------
    >>> from ancr.studio.plans import planned
    >>> from ancr.studio.state import State
    >>> state = State(["a", "b"], ["cat", None])
    >>> state.done(1, planned(state, {"do": "label", "sample": "b", "label": "dog"}))
    >>> state.labels
    ['cat', 'dog']
    >>> state.done(2, planned(state, {"do": "undo"}))
    >>> state.labels
    ['cat', None]
    """

    def __init__(
        self,
        ids: list[str],
        labels: Sequence[str | None],
        names: list[str] | None = None,
        classifier: BaseRepresentationClassifier | None = None,
        closed: Iterable[int] = (),
    ) -> None:
        self.ids, self.names, self.labels, self.given = ids, names or ids, list(labels), list(labels)
        self._index = {id: i for i, id in enumerate(ids)}
        self.classifier = classifier or first_classifier()
        self._as_it_is: tuple[BaseRepresentationClassifier, BaseRepresentationClassifier] | None = None
        self.closed = set(closed)
        self.marks: dict[str, set[int]] = {"skipped": set(), "excluded": set(), "kept": set()}
        counts = Counter(label for label in labels if label is not None)
        self.classes: dict[str, int] = {label: counts[label] for label in sorted(counts, key=_natural)}
        self.version = 0
        self.changes: list[int] = []
        self.changed_at: dict[int, int] = {}
        self.absent: dict[tuple[str, str], str | None] = {}
        self.history = History()
        self.waiting = np.array([label is None and i not in self.closed for i, label in enumerate(labels)], bool)
        self.n_labelled = sum(counts.values())

    def kept(self) -> "State":
        """What was decided up to now, for those who read it while it goes on to change."""
        other = copy.copy(self)
        other.labels, other.classes = list(self.labels), dict(self.classes)
        other.marks = {name: set(marked) for name, marked in self.marks.items()}
        return other

    def index(self, id: Any) -> int:
        """The index of a sample by its identity."""
        if not isinstance(id, str) or id not in self._index:
            raise ActionError(f"There is no sample {words(id)} in this data.")
        return self._index[id]

    def place(self, id: str | None) -> int | None:
        """The index of a sample by its identity; None if it is not in the data."""
        return None if id is None else self._index.get(id)

    def adjusted(self, settings: Mapping[str, Any]) -> BaseRepresentationClassifier:
        """The classifier with settings of a page, by name, or of the journal, complete; or an `ActionError`."""
        now, known = self.classifier, self._as_it_is  # another thread may change them meanwhile
        if settings == {} and known is not None and known[0] is now:
            return known[1]  # most answers: looked at once
        try:
            if not isinstance(settings, Mapping):
                raise SettingsError("The settings are not names with values.")
            classifier = from_data(settings) if "class" in settings else adjusted(now, settings)
            if not isinstance(classifier, BaseRepresentationClassifier):
                raise SettingsError("There is no such classifier.")
            classifier._validate_params()
            classifier = reproducible(classifier)  # a saved model must answer as this page does
        except (ValueError, TypeError, OverflowError, RecursionError, LookupError, AttributeError) as error:
            raise ActionError(one_line(error)) from error
        if settings == {}:
            self._as_it_is = now, classifier
        return classifier

    def value(self, sample: str | None, field: str) -> str | None:
        """The value of a field of a sample, which may be absent from the data."""
        index = self.place(sample)
        if index is None or index in self.closed:
            return self.absent.get((sample or "", field))
        if field == "label":
            return self.labels[index]
        return "yes" if index in self.marks[field] else None

    def done(self, number: int, batch: Batch) -> None:
        """Do what a batch says, and remember it under its number."""
        self.apply(batch.steps)
        self.history.add(number, batch)

    def apply(self, steps: Iterable[Step]) -> None:
        """Take over the new values of steps."""
        self.version += 1
        for step in steps:
            index = self.place(step.sample)
            if step.field == "settings":
                self.classifier = self.adjusted(json.loads(step.new or "{}"))
            elif step.field == "class":
                self._set_class(step)
            elif step.sample is not None and (index is None or index in self.closed):
                self.absent[step.sample, step.field] = step.new
            elif index is not None:
                self._set(index, step.field, step.new)

    def _set_class(self, step: Step) -> None:
        if step.new is not None:
            self.classes.setdefault(step.new, 0)
        elif step.old is not None and not self.classes.get(step.old) and step.old not in self.labels:
            self.classes.pop(step.old, None)

    def _set(self, index: int, field: str, value: str | None) -> None:
        """Change a label or a mark, and count what is used."""
        self._count(index, -1)
        if field == "label":
            self.n_labelled += (value is not None) - (self.labels[index] is not None)
            self.labels[index] = value
        else:
            (self.marks[field].add if value else self.marks[field].discard)(index)
        self._count(index, 1)
        marked = index in self.marks["skipped"] or index in self.marks["excluded"]
        self.waiting[index] = self.labels[index] is None and not marked
        self.changes.append(index)
        self.changed_at[index] = self.version

    def _count(self, index: int, change: int) -> None:
        label = self.labels[index]
        if label is not None and self.is_used(index):
            self.classes[label] = self.classes.get(label, 0) + change

    def status(self, index: int) -> str:
        """What became of a sample, in a word; empty if nothing did."""
        label, given = self.labels[index], self.given[index]
        if index in self.marks["excluded"]:
            return "excluded"
        if label is None:
            return "skipped" if index in self.marks["skipped"] else ""
        return "given" if label == given else "labelled" if given is None else "corrected"

    def is_used(self, index: int) -> bool:
        """Whether a sample is trained on."""
        return self.labels[index] is not None and index not in self.marks["excluded"]

    def is_waiting(self, index: int) -> bool:
        """Whether a sample is in the pool: without a label, neither skipped, excluded nor held out."""
        return bool(self.waiting[index])


def _natural(label: str) -> tuple[int, float, str]:
    """Numbers by value before texts by letters."""
    try:
        return (0, float(label), label)
    except ValueError:
        return (1, 0.0, label)
