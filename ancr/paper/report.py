"""One self-contained ``report.html``: findings, tables, figures, commands, versions."""

from dataclasses import dataclass, field

from ancr._core.files import write_text
from ancr._core.pages import render_page
from ancr.comparison.method_progress import shown_time
from ancr.paper.findings import make_findings
from ancr.paper.paper_tables import Entry, make_tables
from ancr.paper.ranking import make_rankings


@dataclass(frozen=True)
class Report:
    """The content of the page.

    Attributes
    ----------
    title : str
    findings : list of str
    tables : list of Table
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
    findings: list
    tables: list
    rankings: list
    drawings: list
    command: str
    cells: list
    notes: list = field(default_factory=list)

    @classmethod
    def make(cls, title, sources, cells, drawings, command, notes=()):
        """Make tables, rankings and findings from the cells."""
        rankings = make_rankings(sources, cells)
        findings = make_findings(sources, cells, rankings)
        return cls(title, findings, make_tables(sources, cells), rankings, drawings, command, cells, list(notes))

    @property
    def seconds(self):
        """Total time of all cells, each on one thread."""
        return sum(cell.fit_s + cell.predict_s for cell in self.cells)

    @property
    def platforms(self):
        """Platforms and library versions that computed the cells; several if cells come from several machines."""
        kinds = {
            (cell.platform, ", ".join(f"{name} {number}" for name, number in cell.versions.items()))
            for cell in self.cells
        }
        return sorted(kinds)

    def html(self):
        """Render the page."""
        protocols = {row.protocol for table in self.tables for row in table.rows}
        return render_page(
            "ancr.paper", "report.html.j2", report=self, nothing=Entry(), duration=shown_time, protocols=protocols
        )

    def write(self, path):
        """Write the page."""
        write_text(path, self.html())
