"""Labels, exclusions, skipped samples and settings as a sequence of actions, each of which can be undone."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ancr._core.messages import one_line, shown
from ancr.axes.spaces import Space
from ancr.classifiers import ANCRClassifier
from ancr.classifiers.base import BaseRepresentationClassifier
from ancr.classifiers.controls import adjusted
from ancr.classifiers.settings import SettingsError, from_data, to_data

# What a person did, as plain data, and the functions that take it back.
Action: TypeAlias = dict[str, Any]
Steps: TypeAlias = list[Callable[[], object]]
_LONGEST_NAME = 200
_ACTIONS = ("label", "accept", "skip", "exclude", "include", "keep", "class", "settings", "undo")


class ActionError(ValueError):
    """An action that cannot be done; the message is a sentence for the page."""


def first_classifier(normalize: bool = True) -> BaseRepresentationClassifier:
    """What a studio answers with before a person changes it."""
    return ANCRClassifier(alpha=0.01, space=Space(gamma=1.0, normalize=normalize))


class State:
    """What a person has decided so far.

    Parameters
    ----------
    names : list of str
        Names of the samples; actions refer to samples by name, so that a journal survives a reordering.
    labels : list of str or None
        Labels that the data came with.
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
    excluded, skipped, kept : set of int
        Samples by index.
    classes : dict
        Names of classes, in the order in which they came.
    waiting : ndarray of bool
        Samples in the pool: without a label, neither skipped, excluded nor held out.
    n_labelled : int
        Samples with a label.
    version : int
        Grows with every change.
    changes : list of int
        Samples whose label or exclusion changed, in order; those who follow remember how many they have seen.

    Examples
    --------
    >>> from ancr.studio.state import State
    >>> state = State(["a", "b"], ["cat", None])
    >>> state.apply({"do": "label", "sample": "b", "label": "dog"})
    >>> state.labels
    ['cat', 'dog']
    >>> state.apply({"do": "undo"})
    >>> state.labels
    ['cat', None]
    """

    def __init__(
        self,
        names: list[str],
        labels: Sequence[str | None],
        classifier: BaseRepresentationClassifier | None = None,
        closed: Iterable[int] = (),
    ) -> None:
        self.names, self.labels, self.given = names, list(labels), list(labels)
        self._index = {name: i for i, name in enumerate(names)}
        self.classifier = classifier or first_classifier()
        self.closed = set(closed)
        self.excluded: set[int] = set()
        self.skipped: set[int] = set()
        self.kept: set[int] = set()
        self.classes: dict[str, None] = dict.fromkeys(
            sorted({label for label in labels if label is not None}, key=_natural)
        )
        self.version, self.n_actions = 0, 0
        self.changes: list[int] = []
        self._undo: list[Steps] = []
        self.waiting = np.array([label is None and i not in self.closed for i, label in enumerate(labels)], bool)
        self.n_labelled = sum(label is not None for label in labels)

    def index(self, name: Any) -> int:
        """The index of a sample by its name."""
        if not isinstance(name, str) or name not in self._index:
            raise ActionError(f"There is no sample {shown(str(name))} in this data.")
        return self._index[name]

    def check(self, action: Action) -> Action:
        """Raise an `ActionError` if an action cannot be done; otherwise what to write down: plain and complete."""
        kind = action.get("do")
        if kind not in _ACTIONS:
            raise ActionError(f"There is no action {shown(str(kind))}.")
        if kind == "undo":
            if not self._undo:
                raise ActionError("There is nothing to undo.")
            return {"do": "undo"}
        if kind == "settings":
            return {"do": "settings", "settings": to_data(self.adjusted(action.get("settings", {})))}
        if kind == "class":
            return {"do": "class", "label": check_label(action.get("label"))}
        if kind == "accept":
            return {"do": "accept", "labels": self._check_many(action.get("labels"))}
        checked = {"do": kind, "sample": self.names[self._open(action.get("sample"))]}
        return {**checked, "label": check_label(action.get("label"))} if kind == "label" else checked

    def adjusted(self, settings: Mapping[str, Any]) -> BaseRepresentationClassifier:
        """The classifier with settings of a page, by name, or of the journal, complete; or an `ActionError`."""
        try:
            classifier = from_data(settings) if "class" in settings else adjusted(self.classifier, settings)
            if not isinstance(classifier, BaseRepresentationClassifier):
                raise SettingsError("There is no such classifier.")
            classifier._validate_params()
        except (ValueError, TypeError) as error:
            raise ActionError(one_line(error)) from error
        return classifier

    def _check_many(self, labels: Any) -> list[list[str]]:
        if not isinstance(labels, list) or not labels:
            raise ActionError("Choose at least one sample to accept.")
        pairs = [pair for pair in labels if isinstance(pair, list | tuple) and len(pair) == 2]
        if len(pairs) < len(labels):
            raise ActionError("Each accepted sample needs a name and a label.")
        return [[self.names[self._open(name)], check_label(label)] for name, label in pairs]

    def _open(self, name: Any) -> int:
        index = self.index(name)
        if index in self.closed:
            raise ActionError(f"{shown(name)} is held out to measure accuracy and cannot be labelled.")
        return index

    def apply(self, action: Action) -> None:
        """Do an action that was checked or read from the journal."""
        kind = action["do"]
        self.n_actions += 1
        self.version += 1
        if kind == "undo":
            for undo in reversed(self._undo.pop()):
                undo()
            return
        steps: Steps = []
        self._undo.append(steps)
        getattr(self, f"_do_{kind}")(action, steps)

    def _do_label(self, action: Action, steps: Steps) -> None:
        self._set_label(self.index(action["sample"]), action["label"], steps)

    def _do_accept(self, action: Action, steps: Steps) -> None:
        for name, label in action["labels"]:
            self._set_label(self.index(name), label, steps)

    def _set_label(self, index: int, label: str, steps: Steps) -> None:
        self._add_class(label, steps)
        before = self.labels[index]
        self._mark(self.skipped, index, False, steps)
        self._mark(self.excluded, index, False, steps)
        steps.append(lambda: self._write(index, before))
        self._write(index, label)

    def _write(self, index: int, label: str | None) -> None:
        self.n_labelled += (label is not None) - (self.labels[index] is not None)
        self.labels[index] = label
        self._touch(index)

    def _touch(self, index: int) -> None:
        """Note that a sample has changed."""
        marked = index in self.skipped or index in self.excluded or index in self.closed
        self.waiting[index] = self.labels[index] is None and not marked
        self.changes.append(index)

    def _add_class(self, label: str, steps: Steps) -> None:
        if label not in self.classes:
            self.classes[label] = None
            steps.append(lambda: self.classes.pop(label, None))

    def _mark(self, marks: set[int], index: int, wanted: bool, steps: Steps) -> None:
        if (index in marks) == wanted:
            return
        steps.append(lambda: self._set_mark(marks, index, not wanted))
        self._set_mark(marks, index, wanted)

    def _set_mark(self, marks: set[int], index: int, wanted: bool) -> None:
        (marks.add if wanted else marks.remove)(index)
        self._touch(index)

    def _do_skip(self, action: Action, steps: Steps) -> None:
        self._mark(self.skipped, self.index(action["sample"]), True, steps)

    def _do_exclude(self, action: Action, steps: Steps) -> None:
        self._mark(self.excluded, self.index(action["sample"]), True, steps)

    def _do_include(self, action: Action, steps: Steps) -> None:
        self._mark(self.excluded, self.index(action["sample"]), False, steps)

    def _do_keep(self, action: Action, steps: Steps) -> None:
        self._mark(self.kept, self.index(action["sample"]), True, steps)

    def _do_class(self, action: Action, steps: Steps) -> None:
        self._add_class(action["label"], steps)

    def _do_settings(self, action: Action, steps: Steps) -> None:
        before = self.classifier
        steps.append(lambda: setattr(self, "classifier", before))
        self.classifier = from_data(action["settings"])

    @property
    def can_undo(self) -> bool:
        """Whether an action is left to undo."""
        return bool(self._undo)

    def status(self, index: int) -> str:
        """What became of a sample, in a word; empty if nothing did."""
        label, given = self.labels[index], self.given[index]
        if index in self.excluded:
            return "excluded"
        if label is None:
            return "skipped" if index in self.skipped else ""
        return "given" if label == given else "labelled" if given is None else "corrected"

    def is_used(self, index: int) -> bool:
        """Whether a sample is trained on."""
        return self.labels[index] is not None and index not in self.excluded

    def is_waiting(self, index: int) -> bool:
        """Whether a sample is in the pool: without a label, neither skipped, excluded nor held out."""
        return bool(self.waiting[index])


def check_label(label: Any) -> str:
    """A label as text in one line, or an `ActionError`."""
    if not isinstance(label, str) or not label.strip():
        raise ActionError("A class needs a name.")
    label = label.strip()
    if len(label) > _LONGEST_NAME or any(ord(letter) < 32 or ord(letter) == 127 for letter in label):
        raise ActionError(f"A class name is one line of at most {_LONGEST_NAME} characters.")
    return label


def _natural(label: str) -> tuple[int, float, str]:
    """Numbers by value before texts by letters."""
    try:
        return (0, float(label), label)
    except ValueError:
        return (1, 0.0, label)
