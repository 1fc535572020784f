"""The report of a comparison: the answer first, then table, errors, calibration, learning curve, hard samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ancr._core.messages import shown_cells, shown_time
from ancr._core.pages import render_page
from ancr._core.thumbnails import png_uri
from ancr.comparison.cells import Answers, platforms
from ancr.comparison.charts import (
    FIRST,
    GREY,
    THIRD,
    Chart,
    Panel,
    Series,
    draw_charts,
    failures,
    interval_chart,
    line_chart,
    matrix_chart,
    write_charts,
)
from ancr.comparison.measures import calibration_bins, calibration_error
from ancr.comparison.significance import wilson_interval
from ancr.comparison.table_formats import to_csv, write_tables
from ancr.comparison.verdict import confusion, learning_means

if TYPE_CHECKING:
    from ancr.comparison.result import Comparison, MethodResult


@dataclass(frozen=True)
class ShownSample:
    """A sample to show: its name, class, image address (or nothing), a remark, and the values of a table's row."""

    name: str
    label: str
    picture: str
    remark: str = ""
    cells: str = ""


@dataclass(frozen=True)
class HardSample:
    """A sample that is hard to classify, what a method took it for, and the training samples that decided."""

    sample: ShownSample
    method: str
    predicted: str
    chance: float
    missed: int
    witnesses: list[ShownSample]


def write_comparison(comparison: Comparison, folder: Path) -> None:
    """Write ``report.html``, the tables and the figures of a comparison into a folder."""
    write_tables([comparison.table()], folder / "tables")
    write_charts(comparison.charts, folder / "figures")
    comparison.save(folder / "report.html")


def page(comparison: Comparison) -> str:
    """The report as HTML."""
    return render_page(
        "ancr.comparison",
        "comparison.html.j2",
        comparison=comparison,
        answer=comparison.answer,
        rows=list(zip(comparison.results, comparison.records(), strict=True)),
        numbers=to_csv(comparison.table()),
        charts=[chart for chart in comparison.charts if not chart.failure],
        hard=hard_samples(comparison),
        notes=comparison.notes + failures(comparison.charts),
        time=shown_time,
        platforms=platforms(comparison.cells),
        several=len({result.protocol for result in comparison.results} - {"own"}) > 1,
    )


def make_charts(comparison: Comparison) -> list[Chart]:
    """The charts that have something to show; one that fails costs a line, not the report."""
    makers: dict[str, Callable[[Comparison], Chart | None]] = {
        "accuracy": accuracy_chart,
        "confusion": confusion_chart,
        "calibration": calibration_chart,
        "learning": learning_chart,
    }
    return draw_charts(makers, lambda name: makers[name](comparison))


def accuracy_chart(comparison: Comparison) -> Chart:
    """Every method with the 95 % interval of its accuracy."""
    styles = {"best": FIRST, "as good": FIRST, "cannot tell": THIRD, "worse": GREY}
    rows = [
        (each.name, each.mean, *comparison.interval(each), styles[each.mark], each.mark) for each in comparison.results
    ]
    return interval_chart(
        "Accuracy of every method", "Mean accuracy and its 95 % interval from the number of samples tested.", rows
    )


def confusion_chart(comparison: Comparison) -> Chart | None:
    """True against predicted classes of the best method."""
    if not comparison.best.answers:
        return None
    title, caption = f"Confusion matrix of {comparison.best.name}", "Test samples of all splits."
    return matrix_chart(title, f"{caption} Colour: share of the true class.", comparison.classes, confusion(comparison))


def calibration_chart(comparison: Comparison) -> Chart | None:
    """Accuracy against stated probability, for the best method with probabilities and the best of the family."""
    with_chances = [r for r in comparison.results if r.answers and np.isfinite(r.pooled("chance")).all()]
    shown = with_chances[:1] + [r for r in with_chances[1:] if r.explains and not with_chances[0].explains][:1]
    if not shown:
        return None
    panels = []
    for result in shown:
        series, error = _calibration(comparison, result)
        ideal = Series("as stated", (min(series.x), 100.0), (min(series.x), 100.0), markers=False)
        title = f"{result.name}: {error:.1f} points off on average"
        panels.append(Panel(title, "stated probability in %", "accuracy in %", (series, ideal)))
    return line_chart(
        "Can the probabilities be trusted?", "Test samples in bins of equal number; bands are 95 % intervals.", panels
    )


def _calibration(comparison: Comparison, result: MethodResult) -> tuple[Series, float]:
    """The curve, and the mean distance of stated and found."""
    right = result.pooled("predicted") == comparison.truth[result.pooled("rows")]
    chance = result.pooled("chance")
    bins = calibration_bins(chance)
    stated, found = ([float(100 * values[part].mean()) for part in bins] for values in (chance, right))
    low, high = (100 * np.array([wilson_interval(right[part].sum(), len(part)) for part in bins])).T.tolist()
    return Series("found", stated, found, low, high), calibration_error(chance, right)


def learning_chart(comparison: Comparison) -> Chart | None:
    """Accuracy against the number of training samples."""
    learned = {cell.key.method for cell in comparison.learning}
    series = [_learning_series(comparison, each.name) for each in comparison.results if each.name in learned]
    if not series:
        return None
    panel = Panel("Accuracy by training samples", "training samples", "accuracy in %", series)
    return line_chart(
        "Would more samples help?",
        "Settings are chosen anew for each size; bands are standard errors over the splits.",
        [panel],
    )


def _learning_series(comparison: Comparison, method: str) -> Series:
    points = learning_means(comparison, method)
    means = np.array([values.mean() for _, values in points])
    errors = np.array([values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else 0.0 for _, values in points])
    low, high = ((means + sign * errors).tolist() for sign in (-1, 1))
    return Series(method, [size for size, _ in points], means.tolist(), low, high)


def hard_samples(comparison: Comparison, most: int = 6) -> list[HardSample]:
    """The samples hardest for all methods, with the witnesses of the best method that explains itself."""
    judged = [result for result in comparison.results if result.answers]
    if not comparison.best.answers:
        return []
    judge = next((result for result in judged if result.explains), judged[0])
    errors = np.concatenate([result.errors(comparison.truth) for result in judged])
    missed = np.bincount(errors, minlength=len(comparison.truth))
    found: dict[int, tuple[tuple[int, float, int], Answers, int]] = {}
    for answers in judge.answers.values():
        for place, position in enumerate(answers.hard):
            row = int(answers.rows[position])
            order = -int(missed[row]), float(np.nan_to_num(answers.chance_of_truth[position])), row
            if answers.predicted[position] != comparison.truth[row]:
                found[row] = min(found.get(row, (order, answers, place)), (order, answers, place), key=lambda f: f[0])
    hardest = sorted(found.values(), key=lambda each: each[0])[:most]
    return [_hard_sample(comparison, judge.name, -order[0], answers, place) for order, answers, place in hardest]


def _hard_sample(comparison: Comparison, method: str, missed: int, answers: Answers, place: int) -> HardSample:
    position = answers.hard[place]
    predicted, chance = comparison.classes[answers.predicted[position]], float(answers.chance_of_truth[position])
    weighed = zip(answers.witnesses[place], answers.weights[place], strict=True) if len(answers.witnesses) else ()
    witnesses = [_sample(comparison, row, f"weight {weight:+.2f}") for row, weight in weighed if row >= 0]
    return HardSample(_sample(comparison, answers.rows[position]), method, predicted, chance, missed, witnesses)


def _sample(comparison: Comparison, row: int, remark: str = "") -> ShownSample:
    source = comparison.source
    picture = png_uri(source.picture(row)) if source.has_pictures else ""
    cells = shown_cells(source.sample_cells(row))
    return ShownSample(source.sample_name(row), comparison.classes[comparison.truth[row]], picture, remark, cells)
