"""One self-contained ``report.html``: findings, tables, figures, commands, versions."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ancr._core.files import write_text
from ancr._core.messages import shown_time
from ancr._core.pages import render_page
from ancr.comparison.cells import Cell, platforms, seconds
from ancr.comparison.charts import Chart
from ancr.comparison.split_sources import SplitSource
from ancr.paper.findings import make_findings
from ancr.paper.paper_tables import Entry, PaperTable, make_tables
from ancr.paper.ranking import Ranking, make_rankings


@dataclass(frozen=True)
class Report:
    """The content of the page.

    Attributes
    ----------
    title : str
    findings : list of str
    tables : list of PaperTable
    rankings : list of Ranking
    drawings : list of Chart
        The figures.
    command : str
        The command that makes the report again.
    cells : list of Cell
    notes : list of str
        Remarks about this run.
    """

    title: str
    findings: list[str]
    tables: list[PaperTable]
    rankings: list[Ranking]
    drawings: list[Chart]
    command: str
    cells: Sequence[Cell]
    notes: list[str] = field(default_factory=list)

    @classmethod
    def make(
        cls,
        title: str,
        sources: Sequence[SplitSource],
        cells: Sequence[Cell],
        drawings: list[Chart],
        command: str,
        notes: Sequence[str] = (),
    ) -> "Report":
        """Make tables, rankings and findings from the cells."""
        rankings = make_rankings(sources, cells)
        findings = make_findings(sources, cells, rankings)
        return cls(title, findings, make_tables(sources, cells), rankings, drawings, command, cells, list(notes))

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
