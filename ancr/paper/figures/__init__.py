"""The paper's figures and further ones, as charts that the report shows and files hold."""

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path

from ancr.comparison.charts import Chart, draw_charts, write_charts
from ancr.comparison.split_sources import SplitSource

# name -> module and function, in the order of the report; imported only when a figure is drawn
FIGURES = {
    "codes": ("code_comparison", "code_comparison"),
    "early_stopping": ("iterations", "early_stopping"),
    "objective": ("iterations", "objective"),
    "lambda": ("sweeps", "accuracy_by_alpha"),
    "support": ("sweeps", "support_and_accuracy"),
    "gamma": ("relaxation", "accuracy_by_relaxation"),
    "examples": ("examples", "examples"),
}


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
    charts = draw_charts({name: partial(_draw, name, sources, on_figure) for name in FIGURES})
    write_charts(charts, folder)
    return charts


def _draw(name: str, sources: Sequence[SplitSource], on_figure: Callable[[str], object]) -> Chart | None:
    module, function = FIGURES[name]
    try:
        return getattr(import_module(f"ancr.paper.figures.{module}"), function)(sources)
    finally:
        on_figure(name)
