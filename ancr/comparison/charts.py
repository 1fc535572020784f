"""Charts as SVG that take their colours from the page: small panels with bands, hover values and numbers to download.

A panel is drawn for a width of 340 units with text of 12 units, so that it is legible where a phone shows one panel per
row. Colours are CSS variables with a fallback, and every series has a marker and a dash pattern of its own.
"""

import csv
import io
from dataclasses import dataclass, field
from html import escape

import numpy as np

from ancr._core.files import write_text

WIDTH, HEIGHT = 340, 230
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 12, 26, 40
# Okabe and Ito's colours, as variables that a dark page replaces by lighter ones.
COLOURS = ("--c1, #0072b2", "--c2, #b84d00", "--c3, #00795a", "--c4, #8a4f7d", "--c5, #6e6e6e")
_DASHES = ("", "6 3", "2 3", "8 3 2 3", "")
_MARKERS = ("circle", "square", "triangle", "diamond", "circle")
_FONT = "font-family:system-ui,sans-serif"


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
    x: tuple
    y: tuple
    low: tuple | None = None
    high: tuple | None = None
    line: bool = True
    markers: bool = True


@dataclass(frozen=True)
class Panel:
    """The series of one panel and its axes."""

    title: str
    x_label: str
    y_label: str
    series: tuple
    x_log: bool = False
    y_log: bool = False
    note: str = ""


@dataclass(frozen=True)
class Chart:
    """A figure of the report: its panels as SVG, its legend, and its numbers.

    Attributes
    ----------
    title, caption : str
    parts : list of str
        One SVG element per panel.
    legend : list of (str, str)
        Name of each series, and its key as SVG.
    table : list of list
        The numbers, first row the header.
    failure : str
        Why there is no figure; empty if there is one.
    """

    title: str
    caption: str
    parts: list
    legend: list = field(default_factory=list)
    table: list = field(default_factory=list)
    failure: str = ""
    name: str = ""

    def csv(self):
        """The numbers as CSV."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(self.table)
        return text.getvalue()

    def svg(self, columns=3):
        """All panels and the legend as one SVG file of its own, on white."""
        columns = min(columns, len(self.parts)) or 1
        sizes = [_size(part) for part in self.parts]
        width, height = max(w for w, _ in sizes), max(h for _, h in sizes)
        rows = -(-len(self.parts) // columns)
        placed = [
            part.replace(
                "<svg ", f'<svg x="{(i % columns) * width}" y="{(i // columns) * height}" width="{w}" height="{h}" ', 1
            )
            for i, (part, (w, h)) in enumerate(zip(self.parts, sizes, strict=True))
        ]
        keys, total = _legend_row(self.legend, rows * height + 16)
        width = max(columns * width, total)
        height = rows * height + (26 if self.legend else 0)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'style="color:#1b1f24;background:#fff;{_FONT}">'
            f'<rect width="{width}" height="{height}" fill="#fff"/>{"".join(placed)}{keys}</svg>\n'
        )


def _size(part):
    box = part.split('viewBox="', 1)[1].split('"', 1)[0].split()
    return int(box[2]), int(box[3])


def _legend_row(legend, y):
    parts, x = [], 10
    for name, key in legend:
        parts.append(f'<g transform="translate({x},{y - 8})">{key}</g>')
        parts.append(f'<text x="{x + 34}" y="{y + 4}" font-size="12" fill="currentColor">{escape(name)}</text>')
        x += 48 + 7 * len(name)
    return "".join(parts), x


def line_chart(title, caption, panels):
    """A `Chart` of small multiples; series of the same place in each panel share a colour."""
    names = list(dict.fromkeys(series.name for panel in panels for series in panel.series))
    legend = [
        (name, _key(i, next(s for p in panels for s in p.series if s.name == name))) for i, name in enumerate(names)
    ]
    table = [["panel", "series", "x", "y", "low", "high"]]
    for panel in panels:
        for series in panel.series:
            low, high = (ends if ends is not None else [""] * len(series.x) for ends in (series.low, series.high))
            table += [[panel.title, series.name, *values] for values in zip(series.x, series.y, low, high, strict=True)]
    return Chart(title, caption, [_panel(panel, names) for panel in panels], legend, table)


def _panel(panel, names):
    xs = np.concatenate([np.asarray(series.x, float) for series in panel.series])
    ys = np.concatenate([np.asarray(v, float) for s in panel.series for v in (s.y, s.low, s.high) if v is not None])
    x, y = _Scale(xs, panel.x_log, _LEFT, WIDTH - _RIGHT), _Scale(ys, panel.y_log, HEIGHT - _BOTTOM, _TOP, padding=0.06)
    parts = [_axes(panel, x, y)]
    for series in panel.series:
        parts.append(_draw(series, names.index(series.name), x, y, panel))
    return svg(WIDTH, HEIGHT, panel.title, "".join(parts))


def svg(width, height, title, content):
    """An SVG element that fills its place on the page and is read out as ``title``."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{escape(title, quote=True)}" style="{_FONT};max-width:{1.2 * width:.0f}px">{content}</svg>'
    )


class _Scale:
    """From numbers to places, linear or logarithmic."""

    def __init__(self, values, log, start, end, padding=0.03):
        values = values[np.isfinite(values)]
        self.log, self.start, self.end = log, start, end
        low, high = (np.log10(values).min(), np.log10(values).max()) if log else (values.min(), values.max())
        room = padding * (high - low) or 0.5
        self.low, self.high = float(low - room), float(high + room)

    def __call__(self, value):
        value = np.log10(value) if self.log else value
        return round(self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start), 1)

    def ticks(self, most=5):
        """Round numbers within the scale."""
        if self.log and self.high - self.low >= 1:
            exponents = range(int(np.ceil(self.low)), int(np.floor(self.high)) + 1)
            step = -(-len(exponents) // most)
            return [10.0**e for e in list(exponents)[::step]]
        low, high = (10**self.low, 10**self.high) if self.log else (self.low, self.high)
        raw = (high - low) / most
        power = 10.0 ** np.floor(np.log10(raw))
        step = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= raw * 0.999)
        first = np.ceil(low / step)
        return [float(f"{i * step:.10g}") for i in np.arange(first, np.floor(high / step) + 1)]


def _axes(panel, x, y):
    parts = [
        f'<text x="{_LEFT}" y="16" font-size="13" font-weight="600" fill="currentColor">{escape(panel.title)}</text>'
    ]
    for value in y.ticks():
        parts.append(_rule(_LEFT, y(value), WIDTH - _RIGHT, y(value), 0.15))
        parts.append(_text(_LEFT - 6, y(value) + 4, number(value), "end"))
    for value in x.ticks():
        parts.append(_rule(x(value), HEIGHT - _BOTTOM, x(value), HEIGHT - _BOTTOM + 4))
        parts.append(_text(x(value), HEIGHT - _BOTTOM + 16, number(value), "middle"))
    parts.append(_rule(_LEFT, HEIGHT - _BOTTOM, WIDTH - _RIGHT, HEIGHT - _BOTTOM))
    parts.append(_text((_LEFT + WIDTH - _RIGHT) / 2, HEIGHT - 6, panel.x_label, "middle"))
    middle = (_TOP + HEIGHT - _BOTTOM) / 2
    parts.append(f'<g transform="translate(12,{middle}) rotate(-90)">{_text(0, 0, panel.y_label, "middle")}</g>')
    return "".join(parts)


def _rule(x1, y1, x2, y2, opacity=0.6):
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="currentColor" opacity="{opacity}"/>'


def _text(x, y, text, anchor="start", size=12):
    place = f'x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}"'
    return f'<text {place} fill="currentColor">{escape(str(text))}</text>'


def number(value):
    """A number as short as an axis needs it: ``0.001``, ``1e-05``, ``97.5``."""
    return f"{value + 0.0:.4g}"  # adding zero turns −0 into 0


def colour(place):
    """The colour of a series, as CSS."""
    return f"var({COLOURS[place % len(COLOURS)]})"


def _draw(series, place, x, y, panel):
    # A style, not an attribute: only styles may use variables.
    paint, parts = colour(place), []
    points = [(x(a), y(b)) for a, b in zip(series.x, series.y, strict=True)]
    if series.low is not None and series.line:
        ends = [(x(a), y(b)) for a, b in zip(series.x, series.low, strict=True)]
        ends += [(x(a), y(b)) for a, b in zip(series.x, series.high, strict=True)][::-1]
        parts.append(f'<polygon points="{_points(ends)}" style="fill:{paint}" opacity=".16"/>')
    if series.line:
        dash = f' stroke-dasharray="{_DASHES[place % 5]}"' if _DASHES[place % 5] else ""
        parts.append(f'<polyline points="{_points(points)}" style="fill:none;stroke:{paint}" stroke-width="2"{dash}/>')
    for i, (a, b) in enumerate(points):
        shown = f"{series.name}: {panel.x_label} {number(series.x[i])}, {panel.y_label} {number(series.y[i])}"
        if series.low is not None:
            shown += f" ({number(series.low[i])} to {number(series.high[i])})"
        mark = marker(place, a, b, paint) if series.markers else ""
        parts.append(
            f'<g><title>{escape(shown)}</title><circle cx="{a}" cy="{b}" r="10" fill="transparent"/>{mark}</g>'
        )
    return "".join(parts)


def _points(points):
    return " ".join(f"{a},{b}" for a, b in points)


def marker(place, x, y, paint, size=4):
    """The marker of a series: a circle, a square, a triangle or a diamond."""
    kind, style = _MARKERS[place % 5], f'style="fill:{paint}"'
    if kind == "circle":
        return f'<circle cx="{x}" cy="{y}" r="{size}" {style}/>'
    if kind == "square":
        return f'<rect x="{x - size}" y="{y - size}" width="{2 * size}" height="{2 * size}" {style}/>'
    if kind == "triangle":
        return f'<polygon points="{x},{y - size - 1} {x + size + 1},{y + size} {x - size - 1},{y + size}" {style}/>'
    return f'<polygon points="{x},{y - size - 1} {x + size + 1},{y} {x},{y + size + 1} {x - size - 1},{y}" {style}/>'


def _key(place, series):
    dash = f' stroke-dasharray="{_DASHES[place % 5]}"' if _DASHES[place % 5] else ""
    line = f'<line x1="0" x2="28" y1="8" y2="8" style="stroke:{colour(place)}" stroke-width="2"{dash}/>'
    mark = marker(place, 14, 8, colour(place)) if series.markers else ""
    return (line if series.line else "") + mark


def bar_chart(title, names, values, marked=(), y_label=""):
    """One panel of bars; those in ``marked``, ``{place: (series, words)}``, have a colour and a word of their own."""
    marked, x = dict(marked), _LEFT
    width = (WIDTH - _LEFT - _RIGHT) / len(values)
    y = _Scale(np.append(np.asarray(values, float), 0.0), False, HEIGHT - _BOTTOM, _TOP)
    parts = [_text(_LEFT, 16, title, size=13)]
    for value in y.ticks(4):
        parts.append(_text(_LEFT - 6, y(value) + 4, number(value), "end"))
        parts.append(_rule(_LEFT, y(value), WIDTH - _RIGHT, y(value), 0.15))
    for i, (name, value) in enumerate(zip(names, values, strict=True)):
        place, words = marked.get(i, (4, ""))
        shown = f"{name}: {number(value)}{' (' + words + ')' if words else ''}"
        top, bottom = sorted((y(value), y(0)))
        parts.append(
            f'<g><title>{escape(shown)}</title><rect x="{round(x + width * 0.12, 1)}" y="{top}" '
            f'width="{round(width * 0.76, 1)}" height="{max(bottom - top, 0.5):.1f}" style="fill:{colour(place)}" '
            f'opacity="{1 if words else 0.45}"/></g>'
        )
        if len(values) <= 20:
            parts.append(_text(round(x + width / 2, 1), HEIGHT - _BOTTOM + 16, name, "middle"))
        x += width
    parts.append(_text((_LEFT + WIDTH - _RIGHT) / 2, HEIGHT - 6, y_label, "middle"))
    return svg(WIDTH, HEIGHT, title, "".join(parts))


def interval_chart(title, caption, rows):
    """Methods as dots with whiskers, best at the top: ``rows`` of (name, value, low, high, place, words)."""
    step, left = 26, _room_for(name for name, *_ in rows)
    width = left + 260
    values = np.array([end for _, value, low, high, *_ in rows for end in (value, low, high)])
    x = _Scale(values, False, left, width - 16)
    height = step * len(rows) + 50
    parts = []
    for value in x.ticks(4):
        parts.append(_rule(x(value), 6, x(value), height - 40, 0.15))
        parts.append(_text(x(value), height - 24, number(value), "middle"))
    for i, (name, value, low, high, place, words) in enumerate(rows):
        y, paint = 20 + step * i, colour(place)
        shown = f"{name}: {value:.2f} % ({low:.2f} to {high:.2f}){', ' + words if words else ''}"
        parts.append(
            f"<g><title>{escape(shown)}</title>"
            f'<rect x="0" y="{y - 12}" width="{width}" height="{step - 2}" fill="transparent"/>'
            f"{_text(left - 10, y + 4, _short(name), 'end', 13)}"
            f'<line x1="{x(low)}" x2="{x(high)}" y1="{y}" y2="{y}" style="stroke:{paint};stroke-width:3" opacity=".5"/>'
            f"{marker(place, x(value), y, paint, 5)}</g>"
        )
    parts.append(_text((left + width) / 2, height - 7, "accuracy in %", "middle"))
    table = [["method", "accuracy", "low", "high", "mark"], *([n, v, low, high, w] for n, v, low, high, _, w in rows)]
    return Chart(title, caption, [svg(width, height, title, "".join(parts))], [], table)


def _room_for(names):
    """Units left of an axis for names of 13 units: 8.2 for a letter, as wide fonts need on average."""
    return max(60, 18 + round(8.2 * max(len(_short(name)) for name in names)))


def _short(name, most=26):
    return name if len(name) <= most else name[: most - 1] + "…"


def heat_chart(title, caption, names, counts):
    """A confusion matrix: rows are true classes, columns predicted ones; errors are coloured, hits are plain."""
    counts, size = np.asarray(counts), len(names)
    label = max(44, 12 + 7 * min(max(map(len, names)), 14))
    cell = max(6, min(32, (400 - label) // size))
    width, height = max(label + cell * size + 8, 240), label + cell * size + 26
    # Each row as shares of its class: a large class must not hide a small one.
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    parts = [_text(label, 12, "predicted →", size=11), _text(2, label + 10, "true ↓", size=11)]
    for i, name in enumerate(names):
        middle = label + cell * i + cell / 2 + 18
        if size <= 30:
            short = name if len(name) <= 14 else name[:13] + "…"
            parts.append(_text(label - 6, middle + 4, short, "end", min(12, cell)))
            x = label + cell * i + cell / 2 + 4
            words = _text(0, 0, short, "start", min(12, cell))
            parts.append(f'<g transform="translate({x},{label + 12}) rotate(-90)">{words}</g>')
    for i in range(size):
        for j in range(size):
            if not counts[i, j] and size > 30:
                continue
            x, y = label + cell * j, label + cell * i + 18
            paint = colour(0 if i == j else 1)
            shown = f"true {names[i]}, predicted {names[j]}: {counts[i, j]}"
            opacity = 0.06 if not counts[i, j] else 0.15 + 0.55 * float(shares[i, j])
            inner = (
                _text(x + cell / 2, y + cell / 2 + 4, counts[i, j], "middle", 11) if cell >= 22 and counts[i, j] else ""
            )
            parts.append(
                f"<g><title>{escape(shown)}</title>"
                f'<rect x="{x + 1}" y="{y + 1}" width="{cell - 2}" height="{cell - 2}" '
                f'style="fill:{paint}" opacity="{opacity:.2f}"/>{inner}</g>'
            )
    table = [["true \\ predicted", *names], *([name, *row] for name, row in zip(names, counts.tolist(), strict=True))]
    return Chart(title, caption, [svg(width, height, title, "".join(parts))], [], table)


def picture_strip(title, pictures, invert=False):
    """One panel of images, each with a line of text below: ``pictures`` of (address, text)."""
    across, side = 5, 60
    rows = -(-len(pictures) // across)
    parts = [_text(2, 15, title, size=13)]
    for i, (address, text) in enumerate(pictures):
        x, y = 4 + (side + 8) * (i % across), 24 + (side + 20) * (i // across)
        parts.append(
            f'<image x="{x}" y="{y}" width="{side}" height="{side}" href="{address}" style="image-rendering:pixelated" '
            f'preserveAspectRatio="xMidYMid meet"><title>{escape(text)}</title></image>'
        )
        short = text if len(text) <= 12 else text[:11] + "…"
        parts.append(_text(x + side / 2, y + side + 12, short, "middle", 10))
    return svg(WIDTH, 24 + (side + 20) * rows + 6, title, "".join(parts))


def write_charts(charts, folder):
    """Write every chart as ``.svg`` and its numbers as ``.csv``."""
    folder.mkdir(parents=True, exist_ok=True)
    for chart in charts:
        if chart.parts:
            write_text(folder / f"{chart.name}.svg", chart.svg())
        if chart.table:
            write_text(folder / f"{chart.name}.csv", chart.csv())
