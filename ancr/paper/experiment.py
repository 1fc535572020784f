"""An experiment from data sets to a folder of results: run, tabulate, draw, report."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ancr._core.files import write_text
from ancr._core.messages import one_line, shown_time
from ancr._core.pages import render_page
from ancr._core.progress import progress_bar
from ancr.comparison.cells import Cell, CellFile, open_results, platforms, seconds
from ancr.comparison.charts import Chart, failures
from ancr.comparison.runner import FailedCellsError, Plan, not_shown, run_missing
from ancr.comparison.split_sources import SplitSource
from ancr.comparison.table_formats import write_tables
from ancr.paper.figures import FIGURES, draw_all
from ancr.paper.findings import Ranking, make_findings, make_rankings
from ancr.paper.paper_tables import Entry, PaperTable, make_tables


@dataclass(frozen=True)
class Report:
    """One self-contained ``report.html``: findings, tables, figures, commands, versions.

    Attributes
    ----------
    title : str
    sources : sequence of SplitSource
        The data sets.
    cells : sequence of Cell
        The results on them.
    drawings : list of Chart
        The figures.
    command : str
        The command that makes the report again.
    notes : sequence of str
        Remarks about this run.
    """

    title: str
    sources: Sequence[SplitSource]
    cells: Sequence[Cell]
    drawings: list[Chart]
    command: str
    notes: Sequence[str] = ()

    @cached_property
    def tables(self) -> list[PaperTable]:
        """One table per small set, one for all large sets, and the ablations."""
        return make_tables(self.sources, self.cells)

    @cached_property
    def rankings(self) -> list[Ranking]:
        """Our ranking of the methods beside the paper's."""
        return make_rankings(self.sources, self.cells)

    @cached_property
    def findings(self) -> list[str]:
        """The results in sentences."""
        return make_findings(self.sources, self.cells, self.rankings)

    def html(self) -> str:
        """Render the page."""
        return render_page(
            "ancr.paper",
            "report.html.j2",
            report=self,
            nothing=Entry(),
            duration=shown_time(seconds(self.cells)),
            platforms=platforms(self.cells),
            protocols={row.protocol for table in self.tables for row in table.rows},
        )

    def write(self, path: Path) -> None:
        """Write the page."""
        write_text(path, self.html())


@dataclass(frozen=True)
class Experiment:
    """The cells to run and the folder for the results.

    Attributes
    ----------
    title : str
        Title of the report.
    sources : sequence of SplitSource
        The data sets.
    plans : sequence of Plan
        The cells to run.
    output : Path
        Folder for ``cells.jsonl``, ``tables/``, ``figures/`` and ``report.html``.
    command : str
        The command that the user typed.
    """

    title: str
    sources: Sequence[SplitSource]
    plans: Sequence[Plan]
    output: Path
    command: str

    @cached_property
    def file(self) -> CellFile:
        """The cells; a ValueError if the folder holds results on other data, whose report would be replaced."""
        return open_results(self.output, self.sources)

    @property
    def page(self) -> Path:
        """Path of the report."""
        return self.output / "report.html"

    def run(self, jobs: int | None = None, figures: bool = True) -> Report:
        """Run the missing cells, write all files and return the `Report`.

        Raises
        ------
        FailedCellsError
            If cells failed; the report of the others is written.
        ValueError
            If the folder holds results on other data; nothing is run.
        """
        notes = not_shown(self.file, self.plans)
        try:
            return self._write(run_missing(self.plans, self.file, jobs), notes, figures)
        except FailedCellsError as error:
            if error.cells:
                self._write(error.cells, [*notes, f"{error}."], figures)
            raise

    def _write(self, cells: Sequence[Cell], notes: list[str], figures: bool) -> Report:
        drawings, missing = self._draw() if figures else ([], [])
        report = Report(self.title, self.sources, cells, drawings, self.command, notes + missing)
        write_tables([table.plain() for table in report.tables], self.output / "tables")
        report.write(self.page)
        return report

    def _draw(self) -> tuple[list[Chart], list[str]]:
        try:
            with progress_bar("figures", len(FIGURES)) as advance:
                drawings = draw_all(self.sources, self.output / "figures", lambda name: advance())
        except OSError as error:  # no folder for the files
            # Tables are useful without figures; the report says why the figures are missing.
            return [], [f"No figures: {one_line(error)}."]
        return drawings, failures(drawings)
