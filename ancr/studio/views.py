"""What a page of the studio shows, as plain data."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from ancr.axes.spaces import named_space
from ancr.classifiers.base import BaseRepresentationClassifier
from ancr.classifiers.controls import controls, flat
from ancr.classifiers.settings import is_same, methods
from ancr.studio.actions import ActionError
from ancr.studio.claims import LEAST_SURE, why_nothing_is_ticked
from ancr.studio.jobs import LONG, Jobs
from ancr.studio.openings import Source
from ancr.studio.recogniser import Judgement, Query, Recogniser
from ancr.studio.sample_pictures import Pictures, data_uri, reconstruction
from ancr.studio.state import State

# Classes of an answer, columns of a row and samples of a list that a page shows.
_SHOWN_CLASSES, _SHOWN_COLUMNS, _SHOWN_SAMPLES = 12, 200, 120


class Views:
    """Plain data for a page, from the state, the answers and the background work of a studio."""

    def __init__(self, source: Source, state: State, recogniser: Recogniser, pictures: Pictures, jobs: Jobs) -> None:
        self.source, self.state, self.recogniser, self.pictures, self.jobs = source, state, recogniser, pictures, jobs

    def kept(self) -> "Views":
        """Views of what is decided now, for work that takes longer than others should wait."""
        return Views(self.source, self.state.kept(), self.recogniser, self.pictures, self.jobs)

    def overview(self) -> dict[str, Any]:
        """What a page shows at first and after a change."""
        source, state = self.source, self.state
        return {
            "name": source.data.name,
            "features": source.data.features,
            "n_features": source.data.vectors.shape[1],
            "columns": list(source.data.columns[:_SHOWN_COLUMNS]),
            "asks_label": source.asks_label and not state.n_labelled,
            "kinds": [column.kind for column in source.plan.columns[:_SHOWN_COLUMNS]],
            "pictures": self.pictures.has_pictures,
            "has_files": bool(source.data.image_paths),
            "draws": source.draws,
            "takes_images": self.pictures.takes_images,
            "classes": self.classes(),
            **self.settings(),
            "methods": [name for name, kind in methods().items() if issubclass(kind, BaseRepresentationClassifier)],
            "estimate": self.estimate(),
            "ready": self.recogniser.is_ready(),
            "busy": {name: self.jobs.long.is_busy(name) for name in LONG},
            "guessed": self.jobs.n_guessed,
            "progress": dict(self.jobs.progress),
            "done": {name: result.get("version", 0) for name, result in self.jobs.results.items()},
            "chosen": self.jobs.results.get("choose"),
            "problems": dict(self.jobs.problems),
            **self.counts(),
        }

    def classes(self) -> list[dict[str, Any]]:
        """The classes in the order in which they came, with the number of samples that are used."""
        return [{"label": label, "count": count} for label, count in self.state.classes.items()]

    def settings(self, changes: Any = ()) -> dict[str, Any]:
        """The settings in use, or those that changes make of them, and how a page lets a person change them."""
        classifier = self.state.adjusted(dict(changes))
        return {"settings": flat(classifier), "controls": [one.to_dict() for one in controls(classifier)]}

    def counts(self) -> dict[str, int]:
        """How many samples there are of each kind."""
        state = self.state
        return {
            "version": state.version,
            "samples": len(state.names),
            "labelled": state.n_labelled,
            "waiting": int(state.waiting.sum()),
            "skipped": len(state.marks["skipped"]),
            "excluded": len(state.marks["excluded"]),
            "held_out": len(self.jobs.held_out),
        }

    def estimate(self) -> dict[str, Any] | None:
        """The last leave-one-out accuracy, and how many labels it knew."""
        found = self.recogniser.estimate
        if found is None:
            return None
        current = found.is_current(self.recogniser.version, self.state.classifier)
        return {"accuracy": found.accuracy, "n": found.n, "current": current, "coverage": found.trust.coverage}

    def _promise(self) -> dict[str, Any] | None:
        """The share of right answers among those that are accepted, and whether the labels support that of any."""
        found = self.recogniser.estimate
        if found is None:
            return None
        trust = found.trust
        return {"precision": trust.precision, "supported": trust.coverage > 0.0, "interval": list(trust.interval)}

    def describe(self, index: int) -> dict[str, Any]:
        """A sample for the page."""
        state, guess = self.state, self.jobs.guesses.get(index)
        found: dict[str, Any] = {
            "id": state.ids[index],
            "number": index + 1,
            "name": state.names[index],
            "label": state.labels[index],
            "excluded": index in state.marks["excluded"],
            "status": "held out" if index in state.closed else state.status(index),
            "picture": self.pictures.has_pictures,
        }
        if guess is not None and state.labels[index] is None:
            found["guess"] = {"label": guess[0], "confidence": self.checked(guess[1])}
        if (doubt := self.suspects().get(index)) is not None:
            found["doubt"] = doubt
        if not self.pictures.has_pictures:
            found["row"] = self.row(index, 8)
        return found

    def brief(self, index: int) -> dict[str, Any]:
        """What became of a sample."""
        state = self.state
        marks = {name: index in marked for name, marked in state.marks.items()}
        return {"id": state.ids[index], "number": index + 1, "label": state.labels[index], **marks}

    def checked(self, confidence: float) -> float:
        """The confidence of a guess, not above what labels that were left out support."""
        return float(self.capped(np.array([confidence]))[0])

    def capped(self, confidences: np.ndarray) -> np.ndarray:
        """Confidences of guesses, none above what labels that were left out support."""
        estimate = self.recogniser.estimate
        return confidences if estimate is None else estimate.claims.capped(confidences)

    def suspects(self) -> dict[int, float]:
        """Samples whose labels the last audit doubts, and how likely they are wrong."""
        found = self.jobs.results.get("audit")
        return {} if found is None else {one["sample"]: 1.0 - one["probability"] for one in found["suspicious"]}

    def row(self, index: int, most: int = _SHOWN_COLUMNS) -> list[list[Any]]:
        """Columns and values of a sample."""
        values = self.source.data.vectors[index, :most].tolist()
        columns = self.source.data.columns[:most] or [f"feature {j + 1}" for j in range(len(values))]
        return [[name, _shown(value)] for name, value in zip(columns, values, strict=True)]

    def whole(self, index: int) -> dict[str, Any]:
        """A sample with all columns that a page shows."""
        return {**self.describe(index), "row": self.row(index)}

    def random_sample(self, kind: str) -> int:
        """A sample to try: held out, from the pool, or labelled (which then does not answer for itself)."""
        kinds = {"held out": self.jobs.held_out, "pool": self.jobs.pool()}
        kinds["labelled"] = np.array([i for i in range(len(self.state.names)) if self.state.is_used(i)], int)
        order = [kind] if kind in kinds else list(kinds)
        for name in order:
            if len(kinds[name]):
                return int(np.random.default_rng().choice(kinds[name]))
        raise ActionError("There is no such sample in this data.")

    def surest(self, label: str | None = None) -> dict[str, Any]:
        """Guesses for the pool, the surest first, of one class or of all."""
        pairs = [(i, guess) for i, guess in self.jobs.guesses.items() if self.state.is_waiting(i)]
        chosen = [(i, guess) for i, guess in pairs if label is None or guess[0] == label]
        chosen.sort(key=lambda pair: -pair[1][1])
        by_class = Counter(guess[0] for _, guess in pairs)
        samples = [self.describe(i) for i, _ in chosen[:_SHOWN_SAMPLES]]
        why_not = self._tick(samples)
        return {
            "samples": samples,
            "why_not": why_not,
            "least_sure": LEAST_SURE,
            "classes": [{"label": name, "count": count} for name, count in by_class.most_common()],
            "total": len(chosen),
        }

    def _tick(self, samples: list[dict[str, Any]]) -> str:
        """Tick the guesses that labels which were left out support; a sentence if there are none."""
        estimate, used = self.recogniser.estimate, {label: n for label, n in self.state.classes.items() if n}
        is_checked = estimate is not None and is_same(estimate.classifier, self.state.classifier)
        why_not = why_nothing_is_ticked(used, is_checked)
        for sample in samples:
            sample["ticked"] = not why_not and sample["guess"]["confidence"] >= LEAST_SURE
        if why_not or not samples or any(sample["ticked"] for sample in samples):
            return why_not
        share = f"{100 * LEAST_SURE:.0f} %"
        return f"Nothing is ticked: tests on labels that were left out do not show {share} of such guesses to be right."

    def answer(self, query: Query, judgement: Judgement) -> dict[str, Any]:
        """An answer with its witnesses, and what the code makes of them."""
        chances, _, accepted = self.recogniser.probabilities(judgement, query.classifier)
        order = np.argsort(-judgement.decisions, kind="stable")[:_SHOWN_CLASSES]
        weights = judgement.weights
        answer = {
            "label": judgement.label,
            "probability": float(chances.max()),
            "accepted": accepted,
            "promise": self._promise(),
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
            "unlike": [asdict(one) for one in self.recogniser.unlike(query, judgement)],
            "truth": None if query.sample is None else self._truth(query.sample),
            "version": self.state.version,
        }
        if self.source.data.image_shape is not None:
            shape = self.source.data.image_shape
            answer["query"] = self.pictures.address(query.vector)
            space, used = named_space(query.classifier.space), self.source.data.vectors[judgement.support]
            answer["reconstruction"] = data_uri(reconstruction(space, used, weights).reshape(shape))
        return answer

    def _truth(self, sample: int) -> str | None:
        data = self.source.data
        return str(data.class_names[data.target[sample]]) if sample in self.jobs.held_out else self.state.labels[sample]

    def audit(self) -> dict[str, Any] | None:
        """The last audit, with samples described; those that were decided since are marked."""
        found = self.jobs.results.get("audit")
        if found is None:
            return None
        state = self.state

        def one(entry: dict[str, Any]) -> dict[str, Any]:
            index = entry["sample"]
            sides = {
                side: [{**self.describe(i), "weight": weight} for i, weight in entry[side]]
                for side in ("for", "against")
            }
            changed = state.labels[index] != entry["label"]
            decided = "excluded" if index in state.marks["excluded"] else "relabelled" if changed else None
            decided = decided or ("kept" if index in state.marks["kept"] else None)
            return {**entry, **sides, "sample": self.describe(index), "decided": decided}

        pairs = {
            name: [[self.describe(a), self.describe(b), distance] for a, b, distance in found[name]]
            for name in ("duplicates", "leaks")
        }
        return {**found, **pairs, "suspicious": [one(entry) for entry in found["suspicious"]], "now": self.estimate()}

    def comparison(self) -> dict[str, Any] | None:
        """The last comparison, with the confusion matrix of each method."""
        found = self.jobs.results.get("compare")
        if found is None:
            return None
        every = range(len(found["classes"]))
        matrices = {
            name: confusion_matrix(truth, predicted, labels=every).tolist()
            for name, (_, truth, predicted) in found["answers"].items()
        }
        shown = {name: value for name, value in found.items() if name != "answers"}
        return {**shown, "confusion": matrices}

    def confused(self, cell: Mapping[str, str]) -> dict[str, Any]:
        """Samples in a cell of a confusion matrix: ``method``, and the numbers ``truth`` and ``predicted``."""
        found, method = self.jobs.results.get("compare"), cell.get("method", "")
        try:
            truth, predicted = int(cell.get("truth", "")), int(cell.get("predicted", ""))
        except ValueError:
            raise ActionError("A cell has two numbers.") from None
        if not all(0 <= place < 2**31 for place in (truth, predicted)):
            raise ActionError("There is no such cell.")
        if found is None or method not in found["answers"]:
            raise ActionError("There is no such comparison.")
        members, given, answered = found["answers"][method]
        here = members[(given == truth) & (answered == predicted)]
        return {"samples": [self.describe(int(i)) for i in np.unique(here)[:_SHOWN_SAMPLES]], "total": len(here)}


def _shown(value: Any) -> float | str | None:
    """A cell for a page: a number in six digits, a text as it is, None for a gap."""
    if isinstance(value, str) or value is None or np.isnan(value):
        return value if isinstance(value, str) else None
    return float(f"{value:.6g}")
