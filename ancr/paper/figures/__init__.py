"""The paper's figures and further ones, as charts that the report shows and files hold."""

from dataclasses import replace
from importlib import import_module

from ancr._core.messages import one_line
from ancr.comparison.charts import Chart, write_charts

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


def draw_all(sources, folder, on_figure=lambda name: None):
    """Draw every figure that the sources have data for; write it as SVG, and its numbers as CSV.

    Parameters
    ----------
    sources : sequence of Source
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
    drawn = []
    for name, (module, function) in FIGURES.items():
        try:
            chart = getattr(import_module(f"ancr.paper.figures.{module}"), function)(sources)
            if chart is not None:
                drawn.append(replace(chart, name=name))
                write_charts(drawn[-1:], folder)
        except OSError:
            raise
        except Exception as error:  # one figure must not cost the tables and the report
            failure = f"{type(error).__name__}: {one_line(error)}"
            drawn.append(Chart(repr(name), "", [], failure=failure, name=name))
        on_figure(name)
    return drawn
