"""The paper's figures and further ones, as charts that the report shows and files hold."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

import ancr
from ancr._core.thumbnails import png_uri
from ancr.comparison.charts import (
    FIRST,
    SECOND,
    Chart,
    Drawing,
    Panel,
    Series,
    bar_chart,
    draw_charts,
    line_chart,
    picture_strip,
    write_charts,
)
from ancr.comparison.protocols import stopped_early
from ancr.comparison.significance import wilson_interval
from ancr.comparison.split_sources import Split, SplitSource
from ancr.paper.paper_sources import Usps
from ancr.solvers import ADMM

STOPS = (1, 2, 3, 5, 10, 20, 50, 100)
_ALPHAS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
_RELAXATIONS = (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
_ADMM = "ANCR at λ = 0.001, ADMM with ρ = 0.01"
_DIGIT, _ATOMS, _SETTING = 8, 9, "N=50"


def draw_all(
    sources: Sequence[SplitSource], folder: Path, on_figure: Callable[[str], object] = lambda name: None
) -> list[Chart]:
    """Draw every figure that the sources have data for; write it as SVG, and its numbers as CSV.

    Parameters
    ----------
    sources : sequence of SplitSource
        The data sets.
    folder : Path
        Folder for the files.
    on_figure : callable
        Called with the name of each figure when it is finished or left out.

    Returns
    -------
    list of Chart
        The figures drawn; one that failed has the reason in ``failure``.
    """
    folder.mkdir(parents=True, exist_ok=True)

    def draw(name: str) -> Chart | None:
        try:
            return FIGURES[name](sources)
        finally:
            on_figure(name)

    charts = draw_charts(FIGURES, draw)
    write_charts(charts, folder)
    return charts


def sampled_split(source: SplitSource, most: int = 600) -> Split:
    """The first draw of a source's typical setting, with evenly spaced queries; the more atoms, the fewer queries."""
    split = source.split(source.typical, 0)
    count = min(most, max(100, 1_000_000 // len(split.y)), len(split.truth))
    rows = np.linspace(0, len(split.truth) - 1, count).astype(int)
    return replace(split, queries=split.queries[rows], truth=split.truth[rows], test=split.test[rows])


def _panel(
    source: SplitSource, x_label: str, series: Sequence[Series], y_label: str = "accuracy in %", y_log: bool = False
) -> Panel:
    return Panel(f"{source.title}, {source.typical}", x_label, y_label, series, x_log=True, y_log=y_log)


def _accuracy(split: Split, classifier: Any) -> float:
    return 100 * classifier.fit(split.X, split.y).score(split.queries, split.truth)


def _with_intervals(name: str, x: Sequence[float], accuracies: Sequence[float], split: Split) -> Series:
    """A line of accuracies in percent, with their 95 % intervals as its band."""
    count = len(split.truth)
    ends = [wilson_interval(accuracy / 100 * count, count) for accuracy in accuracies]
    low, high = (100 * np.array(ends)).T.tolist()
    return Series(name, x, accuracies, low, high)


def _curve(name: str, x: Sequence[float], split: Split, make: Callable[[float], Any]) -> Series:
    """Accuracy of the classifiers that are made of the numbers ``x``."""
    return _with_intervals(name, x, [_accuracy(split, make(value)) for value in x], split)


def _level(name: str, x: Sequence[float], value: float) -> Series:
    """A horizontal line over the range of ``x``."""
    return Series(name, (min(x), max(x)), (float(value), float(value)), markers=False)


def _early(alpha: float, stop: int = 5) -> ancr.ANCRClassifier:
    return ancr.ANCRClassifier(**stopped_early(alpha=alpha, rho=1e-2, max_iter=stop))


def objective(sources: Sequence[SplitSource]) -> Chart:
    """Objective against iteration, with the certified optimum as a line."""
    panels = []
    for source in sources:
        split = sampled_split(source)
        atoms, queries = normalize(split.X), normalize(split.queries)
        path = ancr.solve(atoms, queries, alpha=1e-3, solver=ADMM(rho=1e-2, max_iter=STOPS[-1]), history=True)
        best = ancr.solve(atoms, queries, alpha=1e-3).objective.mean()
        means = np.asarray(path.history).mean(axis=1)
        steps = np.unique(np.geomspace(1, len(means), 24).astype(int))
        line = Series("ADMM, z in the set", steps.tolist(), means[steps - 1].tolist())
        series = line, _level("certified optimum", STOPS, best)
        panels.append(_panel(source, "iteration", series, "mean objective"))
    caption = f"{_ADMM}. Both are means over the same test queries."
    return line_chart("Objective against iteration", caption, panels)


def early_stopping(sources: Sequence[SplitSource]) -> Chart:
    """Accuracy, and the distance of c to the optimum, against the number of iterations."""
    upper, lower, name = [], [], "stopped after T, infeasible c"
    for source in sources:
        split = sampled_split(source)
        accuracies, distances, best = by_iterations(split)
        series = _with_intervals(name, STOPS, accuracies, split), _level("certified optimum", STOPS, best)
        upper.append(_panel(source, "ADMM iterations T", series))
        away = Series(name, STOPS, distances)
        lower.append(_panel(source, "ADMM iterations T", [away], "‖c − c*‖ / ‖c*‖", y_log=True))
    caption = (
        f"{_ADMM}. Accuracy with the infeasible c after T iterations of ADMM, and with the certified optimum c*; "
        "then the distance between that c and c*. The published code stops at T = 5."
    )
    return line_chart("Early stopping: accuracy and distance to the optimum", caption, upper + lower)


def by_iterations(split: Split) -> tuple[list[float], list[float], float]:
    """``(accuracies, distances, accuracy of the optimum)`` of ADMM after each number of iterations."""
    optimum = ancr.ANCRClassifier(alpha=1e-3)
    best = _accuracy(split, optimum)
    codes = optimum.codes(split.queries).toarray()
    accuracies, distances = [], []
    for stop in STOPS:
        early = _early(1e-3, stop)
        accuracies.append(_accuracy(split, early))
        distances.append(float(np.linalg.norm(early.codes(split.queries) - codes) / np.linalg.norm(codes)))
    return accuracies, distances, best


def accuracy_by_alpha(sources: Sequence[SplitSource]) -> Chart:
    """Accuracy of ANCR against λ: the certified optimum, and ADMM stopped after five iterations."""
    panels = []
    for source in sources:
        split = sampled_split(source)
        exact = _curve("certified optimum", _ALPHAS, split, lambda alpha: ancr.ANCRClassifier(alpha=alpha))
        panels.append(_panel(source, "λ", (exact, _curve("ADMM, ρ = 0.01, T = 5, c", _ALPHAS, split, _early))))
    caption = "ANCR. The paper reports a flat curve from λ = 0.0001 to 0.01. Bands: 95 % intervals."
    return line_chart("Accuracy against λ", caption, panels)


def accuracy_by_relaxation(sources: Sequence[SplitSource]) -> Chart:
    """Accuracy of relaxed ANCR against γ, from CRC (γ → 0) to the hard constraint (γ → ∞), which is a line."""
    panels = []
    for source in sources:
        split = sampled_split(source)
        hard = _level("hard constraint", _RELAXATIONS, _accuracy(split, ancr.ANCRClassifier(alpha=1e-2)))
        relaxed = _curve(
            "relaxed ANCR", _RELAXATIONS, split, lambda value: ancr.ANCRClassifier(alpha=1e-2, relaxation=value)
        )
        panels.append(_panel(source, "γ", (relaxed, hard)))
    return line_chart("Accuracy against the relaxation γ", "Certified optima at λ = 0.01.", panels)


def support_and_accuracy(sources: Sequence[SplitSource]) -> Chart:
    """Accuracy against the mean number of atoms in a code, as λ varies; NRC and CRC for comparison."""
    panels = []
    for source in sources:
        split = sampled_split(source)
        points = [_accuracy_and_atoms(split, ancr.ANCRClassifier(alpha=alpha)) for alpha in _ALPHAS]
        accuracies, sizes = zip(*points, strict=True)
        series = [_with_intervals("ANCR, λ = 0.0001 … 1", sizes, accuracies, split)]
        for name, classifier in (("NRC", ancr.NRCClassifier()), ("CRC, λ = 0.001", ancr.CRCClassifier())):
            accuracy, size = _accuracy_and_atoms(split, classifier)
            series.append(Series(name, (size,), (accuracy,), line=False))
        panels.append(_panel(source, "atoms per code (mean)", series))
    caption = "Certified optima. CRC uses every atom; along the ANCR curve λ grows from left to right."
    return line_chart("Support size and accuracy", caption, panels)


def _accuracy_and_atoms(split: Split, classifier: Any) -> tuple[float, float]:
    """Accuracy in percent, and the mean number of non-zero entries per code."""
    accuracy, codes = _accuracy(split, classifier), classifier.codes(split.queries)
    entries = codes.nnz if sparse.issparse(codes) else np.count_nonzero(codes)
    return accuracy, entries / len(split.queries)


def examples(sources: Sequence[SplitSource]) -> Chart | None:
    """One panel per data set that has images, one image per class; None if there are only vectors."""
    rows = [(source, images) for source in sources if (images := source.images())]
    if not rows:
        return None
    parts = [picture_strip(source.title, [(png_uri(image), name) for image, name in images]) for source, images in rows]
    return Chart("Example images", "One image per class, for at most ten classes.", parts)


@dataclass(frozen=True)
class Case:
    """A query of a split and the two fitted classifiers."""

    draw: int
    position: int
    split: Split
    classifiers: dict[str, Any]


def code_comparison(sources: Sequence[SplitSource]) -> Chart | None:
    """An image that NRC misclassifies and ANCR does not: codes, class residuals, largest atoms; None without one."""
    usps = next((source for source in sources if isinstance(source, Usps)), None)
    case = find_case(usps) if usps else None
    return _draw_case(usps, case) if usps and case else None


def find_case(source: Usps, draws: int = 10) -> Case | None:
    """The first test "8" that exact NRC misclassifies and exact ANCR does not, in the first draw that has one."""
    for draw in range(draws):
        split = source.split(_SETTING, draw)
        positions = np.flatnonzero(split.truth == _DIGIT)
        classifiers = {"NRC": ancr.NRCClassifier(), "ANCR": ancr.ANCRClassifier(alpha=1e-3)}
        nrc, ancr_ = (each.fit(split.X, split.y).predict(split.queries[positions]) for each in classifiers.values())
        found = positions[(nrc != _DIGIT) & (ancr_ == _DIGIT)]
        if len(found):
            return Case(draw, int(found[0]), split, classifiers)
    return None


def _draw_case(source: Usps, case: Case) -> Chart:
    query, labels = case.split.queries[case.position][None], case.split.y
    table: list[list[Any]] = [["method", "class", "weight of the class", "class residual"]]
    parts, sentences = [], []
    names = [str(label) for label in np.unique(labels)]
    for name, clf in case.classifiers.items():
        code, residuals = clf.codes(query).toarray()[0], clf.residuals(query)[0]
        predicted = int(clf.predict(query)[0])
        weights = [float(code[labels == label].sum()) for label in np.unique(labels)]
        marked = {predicted: (SECOND, "predicted"), _DIGIT: (FIRST, "true class")}
        parts += [
            _largest_atoms(source, case, query, name),
            bar_chart(f"{name}: weight of each class", names, weights, marked, "class"),
            bar_chart(f"{name} predicts {predicted}: class residuals", names, residuals, marked, "class"),
        ]
        table += [[name, *row] for row in zip(names, weights, residuals.tolist(), strict=True)]
        used = [int(np.count_nonzero(code[labels == label])) for label in (predicted, _DIGIT)]
        others = f" and {used[0]} of class {predicted}" if predicted != _DIGIT else ""
        sentences.append(f"{name} predicts {predicted}, with {used[1]} atoms of class {_DIGIT}{others}")
    caption = (
        f"USPS, 50 training images per class (draw {case.draw}): test image {case.position} (counted from 0), an "
        f"“{_DIGIT}”. {'; '.join(sentences)}. Both codes are certified optima; ANCR at λ = 0.001. The smallest "
        "residual decides."
    )
    return Chart("An “8” that NRC misclassifies and ANCR does not", caption, parts, table=table)


def _largest_atoms(source: Usps, case: Case, query: np.ndarray, name: str) -> Drawing:
    """The query, and the atoms with the largest weights, with their classes."""
    why = case.classifiers[name].explain(query, top=_ATOMS)[0]
    rows = [case.split.test[case.position], *case.split.train[why.indices]]
    words = ["the query", *(f"{label}: {weight:.2f}" for label, weight in zip(why.labels, why.weights, strict=True))]
    pictures = [(png_uri(source.picture(row), invert=True), text) for row, text in zip(rows, words, strict=True)]
    return picture_strip(f"{name}: class and weight of the largest atoms", pictures)


# In the order of the report.
FIGURES: dict[str, Callable[[Sequence[SplitSource]], Chart | None]] = {
    "codes": code_comparison,
    "early_stopping": early_stopping,
    "objective": objective,
    "lambda": accuracy_by_alpha,
    "support": support_and_accuracy,
    "relaxation": accuracy_by_relaxation,
    "examples": examples,
}
