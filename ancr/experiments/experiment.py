"""An experiment from data sets to a folder of results: run, tabulate, draw, report."""

from dataclasses import dataclass
from pathlib import Path

from ancr.experiments.cells import CellFile
from ancr.experiments.report import Report
from ancr.experiments.runner import run_missing
from ancr.experiments.table_formats import write_tables
from ancr.progress import progress_bar


@dataclass(frozen=True)
class Experiment:
    """The cells to run and the folder for the results.

    Attributes
    ----------
    title : str
        Title of the report.
    sources : list of Source
        The data sets.
    plans : list of Plan
        The cells to run.
    output : Path
        Folder for ``cells.jsonl``, ``tables/``, ``figures/`` and ``report.html``.
    command : str
        The command that the user typed.
    """

    title: str
    sources: list
    plans: list
    output: Path
    command: str

    @property
    def page(self):
        """Path of the report."""
        return self.output / "report.html"

    def run(self, jobs=None, figures=True):
        """Run the missing cells, write all files and return the `Report`."""
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
            # Tables are useful without figures; the report says why the figures are missing.
            return [], [f"No figures: {error}."]
