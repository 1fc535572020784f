"""What the studio works out in the background: what to label next, guesses, an audit, settings, comparisons."""

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import numpy as np

from ancr.certificate.solution import Solution
from ancr.classifiers.controls import flat
from ancr.classifiers.probabilities import TemperatureLike, named_temperatures
from ancr.classifiers.settings import chosen
from ancr.samples.sample_set import Samples
from ancr.studio.apart import Report
from ancr.studio.recogniser import MOST_LEFT_OUT, MOST_WITH_MATRIX, Estimate, Fitted, Snapshot

# Samples to label next, guesses, and the version of the labels.
Ranked: TypeAlias = tuple[list[int], dict[int, tuple[str, float]], int]
# Samples of a pool that are judged at a time; of more, a random part.
MOST_JUDGED = 4000
_SUSPICIOUS, _PAIRS = 60, 30
# Seconds that a comparison may take, how often it is looked at, and the sizes of its learning curve.
_BUDGET, _LOOK, _CURVE = 900.0, 0.5, 3
_METHODS = ("ANCR", "CRC", "Softmax", "RBF SVM", "kNN", "Random forest")


def judged_part(pool: np.ndarray, version: int) -> np.ndarray:
    """At most 4,000 samples of a pool, other ones each time."""
    if len(pool) <= MOST_JUDGED:
        return pool
    return np.sort(np.random.default_rng(version).permutation(pool)[:MOST_JUDGED])


def ranked_of(
    samples: np.ndarray, snapshot: Snapshot, pool: np.ndarray, temperature: TemperatureLike, n: int, seed: int
) -> Ranked:
    """The samples of a pool to label next, guesses for it, and the version of the labels that they are of."""
    snapshot = replace(snapshot, samples=samples)
    fitted, pool = snapshot.some(MOST_WITH_MATRIX).fit(), judged_part(pool, snapshot.version)
    guesses = guesses_of(fitted, samples, pool, temperature)
    return next_of(fitted, samples, pool, n, seed), guesses, snapshot.version


def estimate_of(samples: np.ndarray, snapshot: Snapshot) -> Estimate:
    """What leaving labelled samples out says."""
    return replace(snapshot, samples=samples).estimate()


def next_of(fitted: Fitted, samples: np.ndarray, pool: np.ndarray, n: int, seed: int = 0) -> list[int]:
    """The samples of a pool whose labels would help most, most useful first, given those that have one."""
    from ancr import next_to_label

    if not len(pool):
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # equal samples come in a random order, which is fine here
        everything = np.union1d(pool, fitted.members)
        known = np.flatnonzero(np.isin(everything, fitted.members))
        vectors = fitted.rows(samples[everything])
        rows = next_to_label(fitted.classifier, vectors, n, labelled=known, random_state=seed)
    return everything[rows].tolist()


def guesses_of(
    fitted: Fitted, samples: np.ndarray, pool: np.ndarray, temperature: TemperatureLike
) -> dict[int, tuple[str, float]]:
    """``{sample: (label, confidence)}`` for a pool."""
    if not len(pool):
        return {}
    classifier = fitted.classifier

    def guess(solution: Solution) -> tuple[np.ndarray, np.ndarray]:
        return classifier.winners(solution), classifier.decide(solution)

    blocks = zip(*classifier.map_solutions("guess", fitted.rows(samples[pool]), guess), strict=True)
    winners, decisions = (np.concatenate(block) for block in blocks)
    labels = classifier.labels(winners)
    sure = named_temperatures(temperature).probabilities(decisions).max(axis=1)
    return {int(i): (str(label), float(chance)) for i, label, chance in zip(pool, labels, sure, strict=True)}


def audit_of(snapshot: Snapshot, held_out: np.ndarray, report: Report) -> dict[str, Any]:
    """Suspicious labels with witnesses on both sides, near-duplicates, and held-out samples that leak.

    Parameters
    ----------
    snapshot : Snapshot
        The labelled samples.
    held_out : ndarray of int
        Samples that measure accuracy, and so must not be among the labelled.
    report : callable
        ``report(done, total)``.
    """
    from ancr import audit_labels

    part = snapshot.some(MOST_LEFT_OUT)
    vectors, prepare = part.vectors()
    report(0, 2)
    audit = audit_labels(vectors, part.labels, estimator=part.classifier)
    report(1, 2)
    members = part.members
    leaks = audit.leaks(prepare(part.samples[held_out])) if len(held_out) else []
    suspicious = [
        {
            "sample": int(members[i]),
            "label": str(audit.labels[i]),
            "suggested": str(audit.suggested[i]),
            "probability": float(audit.probability[i]),
            "for": [(int(members[j]), float(weight)) for j, weight in audit.speaks_for.of(i)],
            "against": [(int(members[j]), float(weight)) for j, weight in audit.speaks_against.of(i)],
        }
        for i in audit.ranking[:_SUSPICIOUS].tolist()
        if np.isfinite(audit.score[i])
    ]
    count = audit.n_errors
    return {
        "suspicious": suspicious,
        "duplicates": [
            (int(members[pair.first]), int(members[pair.second]), float(pair.distance))
            for pair in audit.duplicates[:_PAIRS]
        ],
        "leaks": [
            (int(members[pair.first]), int(held_out[pair.second]), float(pair.distance)) for pair in leaks[:_PAIRS]
        ],
        "errors": {"estimate": count.estimate, "low": count.low, "high": count.high, "caution": count.caution},
        "n": len(members),
        "version": snapshot.version,
        "accuracy": snapshot.estimate().accuracy,
    }


def chosen_settings(snapshot: Snapshot, report: Report) -> dict[str, Any]:
    """The settings that leave-one-out prefers, as `ancr.ANCRClassifierCV` finds them; ``report(done, total)``."""
    from ancr import ANCRClassifierCV

    part = snapshot.some(MOST_LEFT_OUT)
    vectors, _ = part.vectors()
    search = part.plan.suited(ANCRClassifierCV(verbose=report)).fit(vectors, part.labels)
    tried = len(search.cv_results_["params"])
    return {"settings": flat(chosen(search)), "accuracy": float(search.best_score_), "tried": tried}


def compared(snapshot: Snapshot, data: Samples, report: Report) -> dict[str, Any]:
    """Methods on the same folds of the labelled samples: a table, confusions and a learning curve."""
    from ancr.comparison.run import DEFAULT_PROTOCOLS, compare_source
    from ancr.comparison.split_sources import UserSource
    from ancr.comparison.verdict import learning_means

    part = snapshot.some(MOST_LEFT_OUT)
    smallest = min(np.unique(part.labels, return_counts=True)[1])
    if smallest < 2:
        raise ValueError("Every class needs at least two labelled samples before methods can be compared.")
    samples = replace(data.take(part.members), origin="", is_train=None).with_labels(part.labels)
    source = UserSource(samples, standardize=part.plan.standardize, kinds=part.plan.asked)
    with TemporaryDirectory() as folder, _counted(Path(folder) / "cells.jsonl", int(min(5, smallest)), report):
        comparison = compare_source(source, list(_METHODS), DEFAULT_PROTOCOLS, Path(folder), 1, _BUDGET)
    answer, answers = comparison.answer, {}
    for result in comparison.results:
        rows, predicted = result.pooled("rows"), result.pooled("predicted")
        answers[result.name] = (part.members[rows], comparison.truth[rows], predicted)
    return {
        "records": comparison.records(),
        "classes": comparison.classes,
        "answers": answers,
        "curves": {
            result.name: [[n, float(points.mean())] for n, points in learning_means(comparison, result.name)]
            for result in comparison.results
            if any(cell.key.method == result.name for cell in comparison.learning)
        },
        "lines": [answer.which, answer.sure, answer.long, *answer.next_steps],
        "n": len(part.members),
        "version": snapshot.version,
    }


@contextmanager
def _counted(cells: Path, folds: int, report: Report) -> Iterator[None]:
    """Report how many cells are in a file while it is written: those of all methods, and two learning curves."""
    total, ended = folds * (len(_METHODS) + 2 * _CURVE), threading.Event()

    def count() -> None:
        while not ended.wait(_LOOK):
            if cells.exists():
                report(min(cells.read_bytes().count(b"\n"), total), total)

    thread = threading.Thread(target=count, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
