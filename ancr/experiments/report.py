"""One self-contained ``report.html``: findings, tables, figures, commands, versions."""

from base64 import b64encode
from dataclasses import dataclass, field
from datetime import UTC, datetime

from ancr.atomic import write_text
from ancr.experiments.findings import make_findings
from ancr.experiments.ranking import make_rankings
from ancr.experiments.runner import versions
from ancr.experiments.tables import Entry, make_tables


@dataclass(frozen=True)
class Report:
    """The content of the page.

    Attributes
    ----------
    title : str
    findings : list of str
    tables : list of Table
    rankings : list of Ranking
    drawings : list of Drawing
        The figures, with their files written.
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
        from jinja2 import Environment, PackageLoader, StrictUndefined

        environment = Environment(
            loader=PackageLoader("ancr.experiments"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.filters["zip"] = zip
        return environment.get_template("report.html.j2").render(
            report=self,
            embed=_data_uri,
            nothing=Entry(),
            duration=_duration,
            version=versions()["ancr"],
            today=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        )

    def write(self, path):
        """Write the page."""
        write_text(path, self.html())


def _data_uri(drawing):
    return "data:image/svg+xml;base64," + b64encode(drawing.svg.read_bytes()).decode()


def _duration(seconds):
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"
