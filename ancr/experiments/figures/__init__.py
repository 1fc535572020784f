"""The paper's figures and further ones. They need matplotlib: ``pip install 'ancr[plot]'``."""

from importlib import import_module

from ancr.experiments.figures.drawing import Drawing, write_drawing
from ancr.messages import one_line

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
    """Draw every figure that the sources have data for, as SVG and PNG.

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
    list of Drawing
        The figures drawn, with ``svg`` and ``png`` set to their files; one that failed has the reason in
        ``failure``.

    Raises
    ------
    ImportError
        If matplotlib is missing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    for name, (module, function) in FIGURES.items():
        try:
            drawing = getattr(import_module(f"ancr.experiments.figures.{module}"), function)(sources)
            if drawing is not None:
                drawn.append(write_drawing(drawing, folder / name))
        except ImportError:
            raise
        except Exception as error:  # one figure must not cost the tables and the report
            drawn.append(Drawing(repr(name), "", None, failure=f"{type(error).__name__}: {one_line(error)}"))
        on_figure(name)
    return drawn
