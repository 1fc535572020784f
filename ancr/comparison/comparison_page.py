"""The report of a comparison: the answer first, then table, errors, calibration, learning curve, hard samples."""

from dataclasses import dataclass, replace

import numpy as np

from ancr._core.messages import one_line
from ancr._core.pages import render_page
from ancr._core.thumbnails import png_uri
from ancr.comparison.charts import Panel, Series, heat_chart, interval_chart, line_chart, write_charts
from ancr.comparison.method_progress import shown_time
from ancr.comparison.significance import wilson_interval
from ancr.comparison.table_formats import write_tables
from ancr.comparison.verdict import confusion, learning_means

_BINS = 8


@dataclass(frozen=True)
class Sample:
    """A sample to show: its name, class, image address (or nothing), and a remark."""

    name: str
    label: str
    picture: str
    remark: str = ""


@dataclass(frozen=True)
class HardSample:
    """A sample that is hard to classify, what a method took it for, and the training samples that decided."""

    sample: Sample
    method: str
    predicted: str
    chance: float
    missed: int
    witnesses: list


def write_comparison(comparison, folder):
    """Write ``report.html``, the tables and the figures of a comparison into a folder."""
    write_tables([comparison.table()], folder / "tables")
    charts, _ = make_charts(comparison)
    write_charts(charts.values(), folder / "figures")
    comparison.save(folder / "report.html")


def render(comparison):
    """The page as HTML."""
    charts, failures = make_charts(comparison)
    hard = [] if not comparison.best.answers else hard_samples(comparison)
    return render_page(
        "ancr.comparison",
        "comparison.html.j2",
        comparison=comparison,
        answer=comparison.answer,
        charts=charts,
        hard=hard,
        notes=comparison.notes + failures,
        time=shown_time,
        records=comparison.records(),
        platforms=_platforms(comparison),
        several=len({result.protocol for result in comparison.results} - {"own"}) > 1,
    )


def make_charts(comparison):
    """``({name: Chart}, failures)``; a chart that fails costs a line, not the report."""
    makers = {
        "accuracy": accuracy_chart,
        "confusion": confusion_chart,
        "calibration": calibration_chart,
        "learning": learning_chart,
    }
    charts, failures = {}, []
    for name, make in makers.items():
        try:
            chart = make(comparison)
        except Exception as error:
            failures.append(f"The figure {name!r} failed: {type(error).__name__}: {one_line(error)}.")
        else:
            if chart is not None:
                charts[name] = replace(chart, name=name)
    return charts, failures


def accuracy_chart(comparison):
    """Every method with the 95 % interval of its accuracy."""
    rows = []
    for result in comparison.results:
        low, high = comparison.interval(result)
        place, words = (
            (0, "best") if result.is_best else (4, "worse") if result.is_worse else (2, "not significantly worse")
        )
        rows.append((result.name, result.mean, low, high, place, words))
    return interval_chart(
        "Accuracy of every method", "Mean accuracy and its 95 % interval from the number of samples tested.", rows
    )


def confusion_chart(comparison):
    """True against predicted classes of the best method."""
    if not comparison.best.answers:
        return None
    title = f"What {comparison.best.name} takes for what"
    return heat_chart(
        title, "Test samples of all splits. Colour: share of the true class.", comparison.classes, confusion(comparison)
    )


def calibration_chart(comparison):
    """Accuracy against stated probability, for the best method with probabilities and the best of the family."""
    with_chances = [r for r in comparison.results if r.answers and np.isfinite(r.pooled("chance")).all()]
    shown = with_chances[:1] + [r for r in with_chances[1:] if r.explains and not with_chances[0].explains][:1]
    if not shown:
        return None
    panels = []
    for result in shown:
        series, error = _calibration(comparison, result)
        least = min(series.x)
        ideal = Series("as stated", (least, 100.0), (least, 100.0), markers=False)
        title = f"{result.name}: {error:.1f} points off on average"
        panels.append(Panel(title, "stated probability in %", "accuracy in %", (series, ideal)))
    return line_chart(
        "Can the probabilities be trusted?", "Test samples in bins of equal number; bands are 95 % intervals.", panels
    )


def _calibration(comparison, result):
    """The curve, and the mean distance of stated and found, weighted by samples."""
    right = result.pooled("predicted") == comparison.truth[result.pooled("rows")]
    chance = result.pooled("chance")
    bins = [
        part
        for part in np.array_split(np.argsort(chance, kind="stable"), min(_BINS, max(1, len(chance) // 15)))
        if len(part)
    ]
    stated = [100 * chance[part].mean() for part in bins]
    found = [100 * right[part].mean() for part in bins]
    ends = [wilson_interval(right[part].sum(), len(part)) for part in bins]
    error = float(np.average(np.abs(np.subtract(stated, found)), weights=[len(part) for part in bins]))
    low, high = (tuple(100 * end[side] for end in ends) for side in (0, 1))
    return Series("found", tuple(stated), tuple(found), low, high), error


def learning_chart(comparison):
    """Accuracy against the number of training samples."""
    names = [result.name for result in comparison.results if any(c.method == result.name for c in comparison.learning)]
    if not names:
        return None
    series = []
    for name in names:
        points = learning_means(comparison, name)
        sizes, means = [size for size, _ in points], [values.mean() for _, values in points]
        errors = [values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else 0.0 for _, values in points]
        low, high = (tuple(np.add(means, sign * np.array(errors))) for sign in (-1, 1))
        series.append(Series(name, tuple(sizes), tuple(map(float, means)), low, high))
    panel = Panel("Accuracy by training samples", "training samples", "accuracy in %", tuple(series))
    return line_chart(
        "Would more samples help?",
        "Settings are chosen anew for each size; bands are standard errors over the splits.",
        [panel],
    )


def hard_samples(comparison, most=6):
    """The samples hardest for all methods, with the witnesses of the best method that explains itself."""
    source = comparison.source
    judged = [result for result in comparison.results if result.answers]
    explaining = next((result for result in judged if result.explains), None)
    judge = explaining or judged[0]
    missed = np.zeros(len(comparison.truth), int)
    for result in judged:
        rows = result.pooled("rows")
        np.add.at(missed, rows[result.pooled("predicted") != comparison.truth[rows]], 1)
    found = []
    for answers in judge.answers.values():
        for place, position in enumerate(answers.hard):
            row = answers.rows[position]
            if answers.predicted[position] != comparison.truth[row]:
                found.append((missed[row], -np.nan_to_num(answers.chance_of_truth[position]), row, answers, place))
    found.sort(key=lambda each: (-each[0], -each[1], each[2]))
    unique = list({each[2]: each for each in reversed(found)}.values())[::-1]
    return [_hard_sample(comparison, source, judge, *each) for each in unique[:most]]


def _hard_sample(comparison, source, judge, missed, _, row, answers, place):
    position = answers.hard[place]
    witnesses = []
    if len(answers.witnesses):
        for witness, weight in zip(answers.witnesses[place], answers.weights[place], strict=True):
            if witness >= 0:
                witnesses.append(_sample(comparison, source, witness, f"weight {weight:+.2f}"))
    predicted = comparison.classes[answers.predicted[position]]
    shown = _sample(comparison, source, row)
    return HardSample(shown, judge.name, predicted, float(answers.chance_of_truth[position]), int(missed), witnesses)


def _sample(comparison, source, row, remark=""):
    picture = png_uri(source.picture(row)) if source.has_pictures else ""
    return Sample(source.sample_name(row), comparison.classes[comparison.truth[row]], picture, remark)


def _platforms(comparison):
    cells = [cell for result in comparison.results for cell in result.cells.values()]
    return sorted({(cell.platform, ", ".join(f"{n} {v}" for n, v in cell.versions.items())) for cell in cells})
