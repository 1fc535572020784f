"""An experiment from data sets to a folder of results: run, tabulate, draw, report."""

from dataclasses import dataclass
from pathlib import Path

from ancr._core.messages import one_line
from ancr._core.progress import progress_bar
from ancr.comparison.cells import CellFile, refuse_other_data
from ancr.comparison.method_progress import method_progress
from ancr.comparison.runner import FailedCellsError, run_missing
from ancr.comparison.table_formats import write_tables
from ancr.paper.report import Report


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
        """Run the missing cells, write all files and return the `Report`.

        Raises
        ------
        FailedCellsError
            If cells failed; the report of the others is written.
        ValueError
            If the folder holds results on other data; nothing is run.
        """
        self.refuse_other_data()
        file, failure = CellFile(self.output / "cells.jsonl"), None
        notes = self._hidden_cells(file.read())
        try:
            with method_progress(self.plans, jobs) as on_cell:
                cells = run_missing(self.plans, file, jobs, on_cell)
        except FailedCellsError as error:
            cells, failure = error.cells, error
        if cells:
            report = self._write(cells, notes + ([f"{failure}."] if failure else []), figures)
        if failure:
            raise failure
        return report

    def _write(self, cells, notes, figures):
        drawings, missing = self._draw() if figures else ([], [])
        report = Report.make(self.title, self.sources, cells, drawings, self.command, notes + missing)
        write_tables(report.tables, self.output / "tables")
        report.write(self.page)
        return report

    def refuse_other_data(self):
        """Raise a ValueError if the folder holds results on other data, whose report would be replaced."""
        refuse_other_data(self.sources, self.output)

    def _hidden_cells(self, cells):
        hidden = len({cell.key for cell in cells} - {plan.key for plan in self.plans})
        return (
            [f"{hidden} further cells in cells.jsonl, of other methods or settings, are not shown."] if hidden else []
        )

    def _draw(self):
        from ancr.paper.figures import FIGURES, draw_all

        try:
            with progress_bar("figures", len(FIGURES)) as advance:
                drawings = draw_all(self.sources, self.output / "figures", lambda name: advance())
        except OSError as error:  # no folder for the files
            # Tables are useful without figures; the report says why the figures are missing.
            return [], [f"No figures: {one_line(error)}."]
        return drawings, [f"The figure {each.title} failed: {each.failure}." for each in drawings if each.failure]
