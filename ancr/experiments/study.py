"""From data sets to a folder of results: run, tabulate, draw, report."""

from dataclasses import dataclass
from pathlib import Path

from ancr._progress import progress_bar
from ancr.experiments.cells import CellFile
from ancr.experiments.report import Report
from ancr.experiments.runner import run_missing
from ancr.experiments.table_formats import write_tables


@dataclass(frozen=True)
class Study:
    """What to run, and where the results go.

    Attributes
    ----------
    title : str
        Of the report.
    sources : list of Source
        Data sets.
    plans : list of Plan
        Cells wanted.
    output : Path
        Folder for ``cells.jsonl``, ``tables/``, ``figures/`` and ``report.html``.
    command : str
        What the user typed.
    """

    title: str
    sources: list
    plans: list
    output: Path
    command: str

    @property
    def page(self):
        """Where the report lies."""
        return self.output / "report.html"

    def run(self, jobs=None, figures=True):
        """Compute what is missing and write everything; returns the `Report`."""
        file = CellFile(self.output / "cells.jsonl")
        with progress_bar("cells", len(self.plans)) as advance:
            cells = run_missing(self.plans, file, jobs, on_cell=lambda cell: advance())
        drawings, notes = self._draw() if figures else ([], [])
        report = Report.make(self.title, self.sources, cells, drawings, self.command, notes)
        write_tables(report.tables, self.output / "tables")
        report.write(self.page)
        return report

    def _draw(self):
        from ancr.experiments.figures import FIGURES, draw_all

        try:
            with progress_bar("figures", len(FIGURES)) as advance:
                return draw_all(self.sources, self.output / "figures", lambda name: advance()), []
        except ImportError as error:
            # Tables are worth having without figures; the page says what is missing and why.
            return [], [f"No figures: {error}."]
