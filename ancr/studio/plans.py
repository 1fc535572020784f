"""What an action of a person would change, step by step; or a sentence why it cannot be done."""

import json
import unicodedata
from collections.abc import Mapping
from typing import Any, TypeAlias

from ancr._core.messages import shown
from ancr.classifiers.base import BaseRepresentationClassifier
from ancr.classifiers.settings import to_data
from ancr.samples.table_files import label_text
from ancr.studio.actions import ActionError, Batch, ConflictError, Step, check_label, words
from ancr.studio.state import State

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


def planned(state: State, action: Action, tab: str = "") -> Batch:
    """What an action would change in a state; an `ActionError` if it cannot be done.

    Parameters
    ----------
    state : State
        What was decided before. It changes when the plan is `done`.
    action : mapping
        ``"do"`` and what that needs, as a page sends it.
    tab : str
        The tab that asks: it undoes its own actions.

    Examples
    --------
    >>> from ancr.studio.plans import planned
    >>> from ancr.studio.state import State
    >>> planned(State(["a"], [None]), {"do": "skip", "sample": "a"}).steps
    (Step(sample='a', field='skipped', old=None, new='yes'),)
    """
    return _Planner(state).planned(action, tab)


class _Planner:
    def __init__(self, state: State) -> None:
        self.state = state

    def planned(self, action: Action, tab: str) -> Batch:
        """What an action of a tab changes."""
        kind = action.get("do")
        if not isinstance(kind, str) or kind not in _ACTIONS:
            raise ActionError(f"There is no action {words(kind)}.")
        if kind == "undo":
            return self._undone(tab)
        if kind == "settings":
            chosen = self.state.adjusted(action.get("settings", {}))
            before, after = _written(self.state.classifier), _written(chosen)
            return Batch(kind, (Step(None, "settings", before, after),), tab)
        if kind == "class":
            return Batch(kind, tuple(self._class_steps(self._named(action.get("label")))), tab)
        if kind == "return":
            skipped = sorted(self.state.marks["skipped"])
            return Batch(
                kind, tuple(step for index in skipped for step in self._mark_steps("skipped", index, None)), tab
            )
        if kind in ("accept", "import"):
            return self._given(kind, action.get("labels"), tab)
        label = self._named(action.get("label")) if kind == "label" else None
        if "samples" in action:
            return self._many(kind, label, action, tab)
        index = self._open(action.get("sample"))
        self._check_seen(index, action)
        return Batch(kind, (*self._class_steps(label), *self._steps(kind, index, label)), tab)

    def _named(self, text: Any) -> str:
        """The class that a text names: one that looks the same, however its accents are encoded, or a new one."""
        label = check_label(text)
        if label in self.state.classes:
            return label
        if label_text(label) is None:
            raise ActionError(f"{label!r} says in tables that a label is absent; give the class another name.")
        composed = unicodedata.normalize("NFC", label)
        return next((one for one in self.state.classes if unicodedata.normalize("NFC", one) == composed), composed)

    def _steps(self, kind: str, index: int, label: str | None) -> list[Step]:
        """What an action on one sample changes."""
        if kind in ("label", "unlabel"):
            return [] if kind == "unlabel" and self.state.labels[index] is None else self._label_steps(index, label)
        return self._mark_steps(_MARKS[kind][0], index, _MARKS[kind][1])

    def _many(self, kind: str, label: str | None, action: Action, tab: str) -> Batch:
        """An action on several samples; those that it cannot be done to are told, and the others are done.

        ``seen`` is the version that the page knew: what another tab has changed since is left as it is.
        """
        samples, seen = action["samples"], action.get("seen", self.state.version)
        if not isinstance(samples, list) or not samples or not isinstance(seen, int):
            raise ActionError("Choose at least one sample.")
        steps: list[Step] = []
        refused: list[str] = []
        for id in dict.fromkeys(one if isinstance(one, str) else "" for one in samples):
            try:
                index = self._open(id)
                if self.state.changed_at.get(index, 0) > seen:
                    raise ConflictError(f"{shown(self.state.names[index])} was changed by another tab.")
            except ActionError as error:
                refused.append(str(error))
                continue
            if kind != "label" or self.state.labels[index] != label or not self.state.is_used(index):
                steps += self._steps(kind, index, label)
        if not steps and refused:
            raise ActionError(refused[0])
        return Batch(kind, (*self._class_steps(label), *steps) if steps else (), tab, refused=tuple(refused))

    def _check_seen(self, index: int, action: Action) -> None:
        """Raise a `ConflictError` if a page says which label it saw, and that is not the label now."""
        now = self.state.labels[index]
        if "was" in action and action["was"] != now:
            told = "has no label any more" if now is None else f"is {shown(now)} now"
            raise ConflictError(
                f"{shown(self.state.names[index])} {told}: another tab has changed it. Nothing was done."
            )

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
            if label == self.state.labels[index]:
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
        index, label = self._open(pair[0]), self._named(pair[1])
        if is_guess:
            self._check_seen(index, {"was": None})
        if index in seen:
            raise ActionError(f"{shown(self.state.names[index])} is listed twice.")
        seen.add(index)
        return index, label

    def _open(self, id: Any) -> int:
        index = self.state.index(id)
        if index in self.state.closed:
            raise ActionError(
                f"{shown(self.state.names[index])} is held out to measure accuracy and cannot be labelled."
            )
        return index

    def _class_steps(self, label: str | None) -> list[Step]:
        return [] if label is None or label in self.state.classes else [Step(None, "class", None, label)]

    def _label_steps(self, index: int, label: str | None) -> list[Step]:
        steps = [step for field in ("skipped", "excluded") for step in self._mark_steps(field, index, None)]
        return [*steps, Step(self.state.ids[index], "label", self.state.labels[index], label)]

    def _mark_steps(self, field: str, index: int, wanted: str | None) -> list[Step]:
        now = self.state.value(self.state.ids[index], field)
        return [] if now == wanted else [Step(self.state.ids[index], field, now, wanted)]

    def _undone(self, tab: str) -> Batch:
        """The last batch of a tab, taken back: but for what another tab has changed since."""
        number, batch = self.state.history.last(tab)
        kept = [step for step in reversed(batch.steps) if self._is_as_left(step)]
        steps = tuple(step.back for step in kept)
        about_samples = [any(step.sample is not None for step in part) for part in (batch.steps, kept)]
        if not steps or about_samples == [True, False]:
            self.state.history.forget(number)
            raise ConflictError("Another tab has changed what you wanted to undo, so nothing was undone.")
        return Batch("undo", steps, tab, undoes=number)

    def _is_as_left(self, step: Step) -> bool:
        if step.field == "settings":
            return _written(self.state.classifier) == step.new
        if step.field == "class":
            return step.new in self.state.classes
        return self.state.value(step.sample, step.field) == step.new


def _written(classifier: BaseRepresentationClassifier) -> str:
    return json.dumps(to_data(classifier))
