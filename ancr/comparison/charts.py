"""Charts as SVG that take their colours from the page: small panels with bands, hover values and numbers to download.

A panel is drawn for a width of 340 units with text of 12 units, so that it is legible where a phone shows one panel per
row. Colours are CSS variables with a fallback, and every series has a marker and a dash pattern of its own. The marks
themselves are in ``templates/charts``; here is where they go.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ancr._core.files import write_text
from ancr._core.messages import one_line
from ancr._core.pages import render
from ancr.comparison.table_formats import csv_text


class Box(NamedTuple):
    """The frame of a panel."""

    width: int = 340
    height: int = 230
    left: int = 52
    right: int = 328
    top: int = 26
    bottom: int = 190


class Style(NamedTuple):
    """How a series looks: a colour of Okabe and Ito, as a variable that a dark page replaces by a lighter one."""

    paint: str
    marker: str
    dash: str = ""


BOX = Box()
STYLES = (
    Style("var(--c1, #0072b2)", "circle"),
    Style("var(--c2, #b84d00)", "square", "6 3"),
    Style("var(--c3, #00795a)", "triangle", "2 3"),
    Style("var(--c4, #8a4f7d)", "diamond", "8 3 2 3"),
    Style("var(--c5, #6e6e6e)", "circle"),
)
FIRST, SECOND, THIRD, _, GREY = STYLES


@dataclass(frozen=True)
class Series:
    """One line of a panel; ``low`` and ``high`` are the ends of its band.

    Attributes
    ----------
    name : str
    x, y : sequence of float
    low, high : sequence of float or None
    line, markers : bool
        Whether points are joined, and whether they are shown.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    line: bool = True
    markers: bool = True

    def band(self) -> list[tuple[float, float]]:
        """Corners of the band: along the low ends, and back along the high ones."""
        low, high = self.low or (), self.high or ()
        return [*zip(self.x, low, strict=False), *reversed([*zip(self.x, high, strict=False)])]

    def rows(self) -> list[list[Any]]:
        """The numbers: x, y, low and high of each point."""
        blank = [""] * len(self.x)
        return [list(row) for row in zip(self.x, self.y, self.low or blank, self.high or blank, strict=True)]


@dataclass(frozen=True)
class Panel:
    """The series of one panel and its axes."""

    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    x_log: bool = False
    y_log: bool = False


@dataclass(frozen=True)
class Drawing:
    """One panel as SVG; it fills its place on the page and is read out as ``title``."""

    title: str
    width: int
    height: int
    content: str

    def svg(self, place: str = "") -> str:
        """The element, with the attributes of its place in a larger one."""
        return _marks("drawing", drawing=self, place=place)


@dataclass(frozen=True)
class Chart:
    """A figure of a report: its panels, its legend, and its numbers.

    Attributes
    ----------
    title, caption : str
    parts : sequence of Drawing
        The panels.
    legend : sequence of (str, str)
        Name of each series, and its key as SVG.
    table : sequence of sequence
        The numbers, first row the header.
    failure : str
        Why there is no figure; empty if there is one.
    name : str
        Base name of its files.
    """

    title: str
    caption: str
    parts: Sequence[Drawing]
    legend: Sequence[tuple[str, str]] = ()
    table: Sequence[Sequence[Any]] = field(default_factory=list)
    failure: str = ""
    name: str = ""

    def csv(self) -> str:
        """The numbers as CSV."""
        return csv_text(self.table)

    def svg(self, columns: int = 3) -> str:
        """All panels and the legend as one SVG file of its own, on white."""
        columns = min(columns, len(self.parts))
        wide, high = max(part.width for part in self.parts), max(part.height for part in self.parts)
        placed = [(part, i % columns * wide, i // columns * high) for i, part in enumerate(self.parts)]
        keys, x = [], 10
        for name, key in self.legend:
            keys.append((name, key, x))
            x += 48 + 7 * len(name)
        width, height = max(columns * wide, x), -(-len(self.parts) // columns) * high + 26 * bool(keys)
        return _marks("chart", placed=placed, keys=keys, width=width, height=height)


def draw_charts(names: Iterable[str], draw: Callable[[str], Chart | None]) -> list[Chart]:
    """The charts that have something to show, by their names; one that fails says why and costs no other.

    An `OSError` is raised: nothing can be written then, which is not the fault of a chart.
    """
    charts = []
    for name in names:
        try:
            chart = draw(name)
        except OSError:
            raise
        except Exception as error:
            chart = Chart(repr(name), "", [], failure=f"{type(error).__name__}: {one_line(error)}")
        if chart is not None:
            charts.append(replace(chart, name=name))
    return charts


def failures(charts: Iterable[Chart]) -> list[str]:
    """One sentence for each chart that failed."""
    return [f"The figure {chart.title} failed: {chart.failure}." for chart in charts if chart.failure]


def write_charts(charts: Iterable[Chart], folder: Path) -> None:
    """Write every chart as ``.svg`` and its numbers as ``.csv``."""
    folder.mkdir(parents=True, exist_ok=True)
    for chart in charts:
        if chart.parts:
            write_text(folder / f"{chart.name}.svg", chart.svg())
        if chart.table:
            write_text(folder / f"{chart.name}.csv", chart.csv())


def line_chart(title: str, caption: str, panels: Sequence[Panel]) -> Chart:
    """A `Chart` of small multiples; series of the same name in each panel share a colour."""
    every: dict[str, Series] = {}
    for series in (series for panel in panels for series in panel.series):
        every.setdefault(series.name, series)
    styles = {name: STYLES[i % len(STYLES)] for i, name in enumerate(every)}
    legend = [(name, _marks("key", series=every[name], style=style)) for name, style in styles.items()]
    table = [["panel", "series", "x", "y", "low", "high"]]
    table += [[panel.title, each.name, *row] for panel in panels for each in panel.series for row in each.rows()]
    return Chart(title, caption, [_panel(panel, styles) for panel in panels], legend, table)


def _panel(panel: Panel, styles: Mapping[str, Style]) -> Drawing:
    xs = np.concatenate([np.asarray(series.x, float) for series in panel.series])
    ys = np.concatenate([np.asarray(v, float) for s in panel.series for v in (s.y, s.low, s.high) if v is not None])
    x, y = Scale(xs, BOX.left, BOX.right, panel.x_log), Scale(ys, BOX.bottom, BOX.top, panel.y_log, padding=0.06)
    lines = [(series, styles[series.name]) for series in panel.series]
    return _drawing("lines", panel.title, panel=panel, x=x, y=y, lines=lines)


def bar_chart(
    title: str,
    names: Sequence[str],
    values: Sequence[float],
    marked: Mapping[int, tuple[Style, str]],
    label: str,
) -> Drawing:
    """One panel of bars; those in ``marked``, ``{place: (style, words)}``, have a colour and a word of their own."""
    y = Scale(np.append(np.asarray(values, float), 0.0), BOX.bottom, BOX.top)
    bars = [(*pair, *marked.get(i, (GREY, ""))) for i, pair in enumerate(zip(names, values, strict=True))]
    return _drawing("bars", title, y=y, bars=bars, label=label)


def interval_chart(title: str, caption: str, rows: Sequence[tuple[str, float, float, float, Style, str]]) -> Chart:
    """Methods as dots with whiskers, best at the top: ``rows`` of (name, value, low, high, style, words)."""
    # Names have 13 units: 8.2 for a letter, as wide fonts need on average.
    left, step = max(60, 18 + round(8.2 * max(len(_short(name)) for name, *_ in rows))), 26
    width, height = left + 260, step * len(rows) + 50
    x = Scale(np.array([end for _, *ends, _, _ in rows for end in ends]), left, width - 16)
    table: list[list[Any]] = [["method", "accuracy", "low", "high", "mark"]]
    table += [[*row[:4], row[5]] for row in rows]
    return Chart(title, caption, [_drawing("intervals", title, width, height, x=x, rows=rows, left=left, step=step)],
                 table=table)  # fmt: skip


def matrix_chart(title: str, caption: str, names: Sequence[str], counts: np.ndarray) -> Chart:
    """A confusion matrix: rows are true classes, columns predicted ones; errors have a colour of their own."""
    size, label = len(names), max(44, 12 + 7 * min(max(map(len, names)), 14))
    cell = max(6, min(32, (400 - label) // size))
    width, height = max(label + cell * size + 8, 240), label + cell * size + 26
    # Each row as shares of its class: a large class must not hide a small one.
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    shown = np.argwhere((counts > 0) | (size <= 30)).tolist()
    entries = [(i, j, int(counts[i, j]), float(shares[i, j])) for i, j in shown]
    drawing = _drawing("matrix", title, width, height, names=names, label=label, cell=cell, entries=entries,
                       hit=FIRST, miss=SECOND)  # fmt: skip
    table = [["true \\ predicted", *names], *([name, *row] for name, row in zip(names, counts.tolist(), strict=True))]
    return Chart(title, caption, [drawing], table=table)


def picture_strip(title: str, pictures: Sequence[tuple[str, str]]) -> Drawing:
    """One panel of images, each with a line of text below: ``pictures`` of (address, text)."""
    across, side = 5, 60
    height = 30 + (side + 20) * -(-len(pictures) // across)
    return _drawing("pictures", title, height=height, pictures=pictures, across=across, side=side)


def _drawing(kind: str, title: str, width: int = BOX.width, height: int = BOX.height, **content: Any) -> Drawing:
    return Drawing(title, width, height, _marks(kind, title=title, width=width, height=height, **content))


def _marks(kind: str, **content: Any) -> str:
    return render("ancr.comparison", f"charts/{kind}.svg.j2", box=BOX, number=number, short=_short, **content)


def number(value: float) -> str:
    """A number as short as an axis needs it: ``0.001``, ``1e-05``, ``97.5``."""
    return f"{value + 0.0:.4g}"  # adding zero turns −0 into 0


def _short(name: str, most: int = 26) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"


class Scale:
    """From numbers to places, linear or logarithmic.

    Parameters
    ----------
    values : array-like of float
        What has to find a place.
    start, end : float
        Places of the smallest and of the largest value.
    log : bool
        Whether equal ratios, not equal differences, are equally far apart.
    padding : float
        Room at both ends, as a share of the range.
    """

    def __init__(self, values: ArrayLike, start: float, end: float, log: bool = False, padding: float = 0.03) -> None:
        self.log, self.start, self.end = log, start, end
        numbers = np.asarray(values, float)
        numbers = numbers[np.isfinite(numbers)]
        ends = np.array([numbers.min(), numbers.max()])
        low, high = np.log10(ends) if log else ends
        room = padding * (high - low) or 0.5
        self.low, self.high = float(low - room), float(high + room)

    def __call__(self, value: float) -> float:
        """The place of a value."""
        share = ((np.log10(value) if self.log else value) - self.low) / (self.high - self.low)
        return round(float(self.start + share * (self.end - self.start)), 1)

    def ticks(self, most: int = 5) -> list[float]:
        """Round numbers within the scale."""
        if self.log and self.high - self.low >= 1:
            exponents = range(int(np.ceil(self.low)), int(np.floor(self.high)) + 1)
            return [10.0**e for e in exponents[:: -(-len(exponents) // most)]]
        low, high = (10**self.low, 10**self.high) if self.log else (self.low, self.high)
        raw = (high - low) / most
        power = 10.0 ** np.floor(np.log10(raw))
        step = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= raw * 0.999)
        return [float(f"{i * step:.10g}") for i in np.arange(np.ceil(low / step), np.floor(high / step) + 1)]
