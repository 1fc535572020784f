"""Labels, exclusions, skipped samples and settings as a sequence of actions, each of which can be undone."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ancr._core.messages import one_line, shown
from ancr.axes.spaces import Space
from ancr.classifiers import ANCRClassifier
from ancr.classifiers.base import BaseRepresentationClassifier
from ancr.classifiers.controls import adjusted
from ancr.classifiers.settings import SettingsError, from_data, reproducible, to_data
from ancr.studio.actions import ActionError, Batch, ConflictError, History, Step, check_label, words

# What a person asks for, as plain data.
Action: TypeAlias = Mapping[str, Any]
_ACTIONS = (
    *("label", "unlabel", "skip", "exclude", "include", "keep"),  # of a sample, or of several
    *("accept", "class", "settings", "return", "import", "undo"),
)
_MARKS = {
    "skip": ("skipped", "yes"),
    "exclude": ("excluded", "yes"),
    "include": ("excluded", None),
    "keep": ("kept", "yes"),
}


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
    absent : dict
        ``{(identity, field): value}`` of samples that are not in the data, which may come back.

    Examples
    --------
    >>> from ancr.studio.state import State
    >>> state = State(["a", "b"], ["cat", None])
    >>> state.done(1, state.plan({"do": "label", "sample": "b", "label": "dog"}))
    >>> state.labels
    ['cat', 'dog']
    >>> state.done(2, state.plan({"do": "undo"}))
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
        self._changed_at: dict[int, int] = {}  # the version that changed a sample last
        self.absent: dict[tuple[str, str], str | None] = {}
        self.history = History()
        self.waiting = np.array([label is None and i not in self.closed for i, label in enumerate(labels)], bool)
        self.n_labelled = sum(counts.values())

    def index(self, id: Any) -> int:
        """The index of a sample by its identity."""
        if not isinstance(id, str) or id not in self._index:
            raise ActionError(f"There is no sample {words(id)} in this data.")
        return self._index[id]

    def place(self, id: str | None) -> int | None:
        """The index of a sample by its identity; None if it is not in the data."""
        return None if id is None else self._index.get(id)

    def plan(self, action: Action, tab: str = "") -> Batch:
        """What an action would change; an `ActionError` if it cannot be done."""
        kind = action.get("do")
        if not isinstance(kind, str) or kind not in _ACTIONS:
            raise ActionError(f"There is no action {words(kind)}.")
        if kind == "undo":
            return self._undone(tab)
        if kind == "settings":
            before, after = (
                json.dumps(to_data(one)) for one in (self.classifier, self.adjusted(action.get("settings", {})))
            )
            return Batch(kind, (Step(None, "settings", before, after),), tab)
        if kind == "class":
            return Batch(kind, tuple(self._class_steps(check_label(action.get("label")))), tab)
        if kind == "return":
            skipped = sorted(self.marks["skipped"])
            return Batch(
                kind, tuple(step for index in skipped for step in self._mark_steps("skipped", index, None)), tab
            )
        if kind in ("accept", "import"):
            return self._given(kind, action.get("labels"), tab)
        label = check_label(action.get("label")) if kind == "label" else None
        if "samples" in action:
            return self._many(kind, label, action, tab)
        index = self._open(action.get("sample"))
        self._check_seen(index, action)
        return Batch(kind, (*self._class_steps(label), *self._steps(kind, index, label)), tab)

    def _steps(self, kind: str, index: int, label: str | None) -> list[Step]:
        """What an action on one sample changes."""
        if kind in ("label", "unlabel"):
            return [] if kind == "unlabel" and self.labels[index] is None else self._label_steps(index, label)
        return self._mark_steps(_MARKS[kind][0], index, _MARKS[kind][1])

    def _many(self, kind: str, label: str | None, action: Action, tab: str) -> Batch:
        """An action on several samples; those that it cannot be done to are told, and the others are done.

        ``seen`` is the version that the page knew: what another tab has changed since is left as it is.
        """
        samples, seen = action["samples"], action.get("seen", self.version)
        if not isinstance(samples, list) or not samples or not isinstance(seen, int):
            raise ActionError("Choose at least one sample.")
        steps: list[Step] = []
        refused: list[str] = []
        for id in dict.fromkeys(one if isinstance(one, str) else "" for one in samples):
            try:
                index = self._open(id)
                if self._changed_at.get(index, 0) > seen:
                    raise ConflictError(f"{shown(self.names[index])} was changed by another tab.")
            except ActionError as error:
                refused.append(str(error))
                continue
            if kind != "label" or self.labels[index] != label or not self.is_used(index):
                steps += self._steps(kind, index, label)
        if not steps and refused:
            raise ActionError(refused[0])
        return Batch(kind, (*self._class_steps(label), *steps) if steps else (), tab, refused=tuple(refused))

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

    def _check_seen(self, index: int, action: Action) -> None:
        """Raise a `ConflictError` if a page says which label it saw, and that is not the label now."""
        now = self.labels[index]
        if "was" in action and action["was"] != now:
            told = "has no label any more" if now is None else f"is {shown(now)} now"
            raise ConflictError(f"{shown(self.names[index])} {told}: another tab has changed it. Nothing was done.")

    def _given(self, kind: str, labels: Any, tab: str) -> Batch:
        """Several labels at once; those that cannot be given are told, and the others are.

        Accepted guesses are for samples without a label; imported labels replace others.
        """
        if not isinstance(labels, list) or not labels:
            raise ActionError("Choose at least one sample to accept.")
        steps: list[Step] = []
        refused: list[str] = []
        added: set[str] = set()
        seen: set[int] = set()
        for pair in labels:
            try:
                index, label = self._pair(pair, seen, kind == "accept")
            except ActionError as error:
                refused.append(str(error))
                continue
            if label == self.labels[index]:
                continue
            steps += [] if label in added else self._class_steps(label)
            added.add(label)
            steps += self._label_steps(index, label)
        if not steps:
            raise ActionError(refused[0] if refused else "These samples have these labels already.")
        return Batch(kind, tuple(steps), tab, refused=tuple(refused))

    def _pair(self, pair: Any, seen: set[int], is_guess: bool) -> tuple[int, str]:
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise ActionError("Each accepted sample needs a name and a label.")
        index, label = self._open(pair[0]), check_label(pair[1])
        if is_guess:
            self._check_seen(index, {"was": None})
        if index in seen:
            raise ActionError(f"{shown(self.names[index])} is there twice.")
        seen.add(index)
        return index, label

    def _open(self, id: Any) -> int:
        index = self.index(id)
        if index in self.closed:
            raise ActionError(f"{shown(self.names[index])} is held out to measure accuracy and cannot be labelled.")
        return index

    def _class_steps(self, label: str | None) -> list[Step]:
        return [] if label is None or label in self.classes else [Step(None, "class", None, label)]

    def _label_steps(self, index: int, label: str | None) -> list[Step]:
        steps = [step for field in ("skipped", "excluded") for step in self._mark_steps(field, index, None)]
        return [*steps, Step(self.ids[index], "label", self.labels[index], label)]

    def _mark_steps(self, field: str, index: int, wanted: str | None) -> list[Step]:
        now = self._value(self.ids[index], field)
        return [] if now == wanted else [Step(self.ids[index], field, now, wanted)]

    def _value(self, sample: str | None, field: str) -> str | None:
        """The value of a field of a sample, which may be absent from the data."""
        index = self.place(sample)
        if index is None or index in self.closed:
            return self.absent.get((sample or "", field))
        if field == "label":
            return self.labels[index]
        return "yes" if index in self.marks[field] else None

    def _undone(self, tab: str) -> Batch:
        """The last batch of a tab, taken back: but for what another tab has changed since."""
        number, batch = self.history.last(tab)
        kept = [step for step in reversed(batch.steps) if self._is_as_left(step)]
        steps = tuple(step.back for step in kept)
        about_samples = [any(step.sample is not None for step in part) for part in (batch.steps, kept)]
        if not steps or about_samples == [True, False]:
            self.history.forget(number)
            raise ConflictError("Another tab has changed what you would undo. It was left as it is.")
        return Batch("undo", steps, tab, undoes=number)

    def _is_as_left(self, step: Step) -> bool:
        if step.field == "settings":
            return _written(self.classifier) == step.new
        if step.field == "class":
            return step.new in self.classes
        return self._value(step.sample, step.field) == step.new

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
        self._changed_at[index] = self.version

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


def _written(classifier: BaseRepresentationClassifier) -> str:
    return json.dumps(to_data(classifier))


def _natural(label: str) -> tuple[int, float, str]:
    """Numbers by value before texts by letters."""
    try:
        return (0, float(label), label)
    except ValueError:
        return (1, 0.0, label)
