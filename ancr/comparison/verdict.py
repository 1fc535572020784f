"""The answer of a comparison in sentences: which method, how sure, how long, and what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ancr._core.messages import counted, joined, shown_path, shown_time
from ancr.classifiers.settings import methods, to_options
from ancr.comparison.protocols import PROTOCOLS, methods_for, trainable
from ancr.comparison.significance import REGION
from ancr.comparison.split_sources import learning_share

if TYPE_CHECKING:
    from ancr.comparison.cells import Measured
    from ancr.comparison.result import Comparison, MethodResult
    from ancr.comparison.split_sources import UserSource

_RISING = 0.5  # points of accuracy that the last part of the training samples must bring to count
_OUTCOMES = ("as good", "cannot tell", "worse")
_NAMED = 5  # samples that a sentence names


@dataclass(frozen=True)
class Verdict:
    """Short texts; ``next_steps`` is a list of sentences, ``training`` has what is trained, and by which command.

    ``repeat`` says what would tell methods apart that these samples cannot.
    """

    which: str
    sure: str
    long: str
    next_steps: list[str]
    training: list[tuple[str, str]] = field(default_factory=list)
    repeat: str = ""

    @property
    def steps(self) -> list[str]:
        """What to do next: ``next_steps`` and ``repeat``."""
        return [*self.next_steps, *([self.repeat] if self.repeat else [])]

    def lines(self) -> list[str]:
        """The answer as lines of text."""
        return [self.which, self.sure, self.long, *self.steps]


def make_verdict(comparison: Comparison) -> Verdict:
    """The `Verdict` of a `Comparison`."""
    steps = _train_step(comparison), _more_samples(comparison), _confused(comparison), _doubtful(comparison)
    return Verdict(
        _which(comparison),
        _sure(comparison),
        _long(comparison.best),
        [step for step in steps if step],
        training(comparison),
        _repeat(comparison),
    )


def _which(comparison: Comparison) -> str:
    best, tied, others = comparison.best, comparison.tied, comparison.results[len(comparison.tied) :]
    if len(tied) > 1:
        first = f"{joined([result.name for result in tied])} share the highest accuracy: {best.mean:.1f} %."
    else:
        first = f"{best.name} scores {'highest: ' if others else ''}{best.mean:.1f} %."
    marked = {mark: [result.name for result in others if result.mark == mark] for mark in _OUTCOMES}
    return " ".join([first, *(_group(mark, names, others, best.n_tested) for mark, names in marked.items() if names)])


def _group(mark: str, names: list[str], others: Sequence[MethodResult], n_tested: int) -> str:
    """A sentence about the methods of one outcome; more than four that are not as good are counted."""
    rest = len(names) == len(others) and len(names) > 1
    many = f"{len(names)} methods" if len(names) > 4 else joined(names)
    be = "is" if len(names) == 1 else "are"
    if mark == "as good":
        return f"As good (within {REGION:g} point): {joined(names)}."
    if mark == "worse":
        return "All other methods are worse." if rest else f"Worse: {many}."
    which = "any other method" if rest else many
    return f"{n_tested} samples are too few to tell whether {which} {'is' if rest else be} worse."


def _standing(result: MethodResult) -> str:
    """What is said of a method that is not worse than the best, after its name."""
    if result.is_best:
        return "has the same accuracy"
    if result.mark == "as good":
        return f"is as good (within {REGION:g} point)"
    return "may be as good (too few samples to tell)"


def _sure(comparison: Comparison) -> str:
    low, high = comparison.interval()
    best, tied, rest = comparison.best, comparison.tied, comparison.results[len(comparison.tied) :]
    tested = f"95 % interval from {best.n_tested} tested samples"
    text = f"On new samples of the same kind expect {low:.1f} to {high:.1f} % ({tested})."
    if not rest or rest[0].p_value is None:
        return text
    second, p = rest[0], rest[0].p_value
    shown = "p < 0.001" if p < 0.001 else f"p = {p:.2g}"
    leads = "They lead" if len(tied) > 1 else "It leads"
    tail = {"worse": "beyond chance", "as good": f"at most {second.behind:.1f}"}.get(second.mark, "which may be chance")
    gap = f"{best.mean - second.mean:.1f} points, {tail}"
    return f"{text} {leads} {second.name} by {gap} ({shown}, {comparison.test})."


def _long(best: MethodResult) -> str:
    return (
        f"{best.name} needs {shown_time(best.fit_s)} to train, choice of settings included, and "
        f"{shown_time(best.predict_s)} per new sample, on one thread."
    )


def _train_step(comparison: Comparison) -> str:
    explaining = [result for result in comparison.results if result.explains and not result.is_worse]
    if comparison.best.explains or not explaining:
        return ""
    # Of several the one that `ancr train` trains with the same search.
    chosen = next((result for result in explaining if result.name == "ANCR"), explaining[0])
    return f"To see which training samples decide, take {chosen.name}, which {_standing(chosen)}."


def training(comparison: Comparison) -> list[tuple[str, str]]:
    """``[(what, command)]``: commands that train the best method and, if it explains nothing, ANCR beside it."""
    best, tied = comparison.best, [result.name for result in comparison.tied]
    ours = next((result for result in comparison.results if result.name == "ANCR"), None)
    if ours is None or ours.is_worse:
        wanted = [(best, "it")]
    elif ours.is_best:
        wanted = [(ours, "it" if tied == ["ANCR"] else "ANCR")]
    else:
        beside = [] if best.explains else [(ours, f"ANCR, which {_standing(ours)}")]
        wanted = [(best, "it"), *beside]
    commands = [(what, training_command(comparison.source, result)) for result, what in wanted]
    return [(what, command) for what, command in commands if command]


def training_command(source: UserSource, result: MethodResult) -> str:
    """The command that trains a method as it was measured; empty if there is none, as for a custom classifier."""
    if not source.origin:
        return ""
    if result.protocol == "cv":
        named = {compared: name for name, compared in trainable().items()}
        options = ["--method", named[result.name]] if result.name in named else []
    else:
        recipe = methods_for(result.protocol).get(result.name) if result.protocol in PROTOCOLS else None
        options = [] if recipe is None or result.name not in methods() else to_options(recipe.build())
    if not options:
        return ""
    return shlex.join(["ancr", "train", shown_path(source.origin), *source.options, *options, "--output", "model.npz"])


def learning_means(comparison: Comparison, method: str) -> list[tuple[float, np.ndarray]]:
    """``[(n_train, accuracies)]`` of a method's learning curve, the whole training part last."""
    points: dict[float, list[Measured]] = {}
    for cell in comparison.learning:
        if cell.key.method == method:
            points.setdefault(learning_share(cell.key.setting) or 1.0, []).append(cell.measured)
    result = next(result for result in comparison.results if result.name == method)
    groups = [points[share] for share in sorted(points)] + [result.measured]
    return [
        (float(np.mean([each.n_train for each in group])), np.array([each.accuracy for each in group]))
        for group in groups
    ]


def _more_samples(comparison: Comparison) -> str:
    if not any(cell.key.method == comparison.best.name for cell in comparison.learning):
        return ""
    *_, (_, before), (size, after) = learning_means(comparison, comparison.best.name)
    gain, noise = after.mean() - before.mean(), 2 * _error_of_gain(comparison.best, before, after)
    if gain > max(_RISING, noise):
        return (
            f"More labelled samples should help: the last 30 % of the training samples still brought {gain:.1f} points."
        )
    last = f"the last 30 % of {size:.0f} training samples brought {gain:+.1f} points"
    if gain > _RISING:
        return f"Whether more samples would help is open: {last}, which may be chance."
    return f"More samples of the same kind will bring little: {last}."


def _error_of_gain(result: MethodResult, before: np.ndarray, after: np.ndarray) -> float:
    """Standard error of the gain: over the splits, or from the number of samples tested if there is one split."""
    if len(after) == len(before) > 1:
        return float(np.std(after - before, ddof=1)) / len(after) ** 0.5
    tested = sum(each.n_test for each in result.measured)
    return float(sum(part.mean() * (100 - part.mean()) for part in (before, after)) / tested) ** 0.5


def confusion(comparison: Comparison, result: MethodResult | None = None) -> np.ndarray:
    """Counts of true against predicted classes, pooled over the splits."""
    result, size = result or comparison.best, len(comparison.classes)
    counts = np.zeros((size, size), int)
    np.add.at(counts, (comparison.truth[result.pooled("rows")], result.pooled("predicted")), 1)
    return counts


def _confused(comparison: Comparison) -> str:
    if not comparison.best.answers:
        return ""
    counts = confusion(comparison)
    np.fill_diagonal(counts, 0)
    both = np.triu(counts + counts.T)
    first, second = np.unravel_index(both.argmax(), both.shape)
    errors, wrong = int(both.max()), int(counts.sum())
    if errors < 2 or errors < 0.25 * wrong:
        return ""
    pair = f"{comparison.classes[first]!r} and {comparison.classes[second]!r}"
    return f"{errors} of the {wrong} errors are between {pair}: look for features that tell these apart."


def missed_by_all(comparison: Comparison) -> np.ndarray:
    """Samples that every method gets wrong, by their rows; empty if there are fewer than three methods."""
    judged = [result for result in comparison.results if result.answers]
    if len(judged) < 3:
        return np.array([], int)
    missed = set.intersection(*(set(result.errors(comparison.truth).tolist()) for result in judged))
    return np.array(sorted(missed), int)


def _doubtful(comparison: Comparison) -> str:
    missed = missed_by_all(comparison)
    if not len(missed):
        return ""
    named = [comparison.source.sample_name(row) for row in missed[:_NAMED]]
    more = [f"{len(missed) - _NAMED} more"] if len(missed) > _NAMED else []
    be, labels = ("is", "its label") if len(missed) == 1 else ("are", "their labels")
    who = f"{counted(len(missed), 'sample')} {be} classified wrongly by every method: {joined([*named, *more])}"
    return f"{who}. Check {labels} first."


def _repeat(comparison: Comparison) -> str:
    source = comparison.source
    if source.repeats != 1 or not any(result.mark == "cannot tell" for result in comparison.results):
        return ""
    option = "--repeats 5" if source.origin else "repeats=5"
    return f"More labelled samples would tell more methods apart; {option} averages over several divisions into folds."
