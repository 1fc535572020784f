"""Shared by all figures: colours that colour-blind readers can distinguish, panels, files, a sample of queries."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ancr.atomic import atomic_path

# Okabe and Ito's palette; every series also has its own marker or dash pattern, so that colour is never needed.
BLUE, ORANGE, GREEN, GREY, LIGHT = "#0072B2", "#D55E00", "#009E73", "#6E6E6E", "#B5B5B5"

_STYLE = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "legend.frameon": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "ancr",  # makes the file reproducible
    "figure.facecolor": "white",
}


@dataclass(frozen=True)
class Drawing:
    """A finished figure with its caption, and its files once they are written; or the reason why it failed."""

    title: str
    caption: str
    figure: Any
    svg: Path | None = None
    png: Path | None = None
    failure: str = ""


def new_figure(width, height):
    """An empty figure in the style of the report, outside pyplot's global state."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("figures need matplotlib: pip install 'ancr[plot]'") from error
    matplotlib.rcParams.update(_STYLE)
    return Figure(figsize=(width, height), layout="constrained")


def panels(count, height=2.6, rows=1):
    """A figure of panels, at most three side by side, with ``rows`` axes per panel: ``(figure, axes)``.

    Four panels are arranged two by two. ``axes[i]`` holds the axes of panel i from top to bottom.
    """
    across = 2 if count == 4 else min(count, 3)
    bands = -(-count // across)
    figure = new_figure(max(3.0 * across, 4.5) + 0.6, height * rows * bands)
    grid = figure.subplots(rows * bands, across, squeeze=False)
    for unused in range(count, across * bands):
        for row in range(rows):
            grid[(unused // across) * rows + row, unused % across].set_visible(False)
    return figure, [[grid[(i // across) * rows + row, i % across] for row in range(rows)] for i in range(count)]


def legend_below(figure, axis):
    """One legend for all panels, placed below them."""
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))


def write_drawing(drawing, stem):
    """Write ``stem.svg`` and ``stem.png`` and return the drawing with its files."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    svg, png = stem.with_suffix(".svg"), stem.with_suffix(".png")
    with atomic_path(svg) as draft:
        FigureCanvasSVG(drawing.figure).print_svg(draft, metadata={"Date": None})
    FigureCanvasAgg(drawing.figure)
    with atomic_path(png) as draft:
        drawing.figure.savefig(draft, dpi=150, format="png")
    return replace(drawing, svg=svg, png=png)


def sampled_split(source, most=600):
    """The first draw of a source's typical setting, with evenly spaced queries; the more atoms, the fewer queries."""
    split = source.split(source.typical, 0)
    count = min(most, max(100, 1_000_000 // len(split.y)), len(split.truth))
    rows = np.linspace(0, len(split.truth) - 1, count).astype(int)
    return replace(split, queries=split.queries[rows], truth=split.truth[rows])


def panel_title(source):
    """Data set and setting, and the features if they are substitutes."""
    note = f"\n{source.features}" if "substitute" in source.features else ""
    return f"{source.title}, {source.typical}{note}"
