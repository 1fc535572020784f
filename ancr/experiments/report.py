"""One self-contained ``report.html``: findings, tables, figures, commands, versions."""

import os
import tempfile
from base64 import b64encode
from dataclasses import dataclass, field
from datetime import UTC, datetime

from ancr.experiments.findings import make_findings
from ancr.experiments.ranking import make_rankings
from ancr.experiments.runner import versions
from ancr.experiments.tables import Entry, make_tables


@dataclass(frozen=True)
class Report:
    """Everything the page shows, before it is a page.

    Attributes
    ----------
    title : str
    findings : list of str
    tables : list of Table
    rankings : list of Ranking
    drawings : list of Drawing
        With their files written.
    command : str
        What to type to get the same again.
    cells : list of Cell
    notes : list of str
        What the reader must know about this run.
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
        """Work out tables, order and findings from the cells."""
        rankings = make_rankings(sources, cells)
        findings = make_findings(sources, cells, rankings)
        return cls(title, findings, make_tables(sources, cells), rankings, drawings, command, cells, list(notes))

    @property
    def seconds(self):
        """Time spent on all cells, on one thread each."""
        return sum(cell.fit_s + cell.predict_s for cell in self.cells)

    @property
    def platforms(self):
        """Machines and versions that the cells were computed with; several after a run on another machine."""
        kinds = {
            (cell.platform, ", ".join(f"{name} {number}" for name, number in cell.versions.items()))
            for cell in self.cells
        }
        return sorted(kinds)

    def html(self):
        """The page."""
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
        """Write the page under a temporary name first: a reader never sees half of it."""
        with tempfile.NamedTemporaryFile("w", dir=path.parent, suffix=".html", delete=False, encoding="utf-8") as draft:
            draft.write(self.html())
        os.chmod(draft.name, 0o644)
        os.replace(draft.name, path)


def _data_uri(drawing):
    return "data:image/svg+xml;base64," + b64encode(drawing.svg.read_bytes()).decode()


def _duration(seconds):
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"
