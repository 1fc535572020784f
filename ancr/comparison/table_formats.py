"""Tables for the terminal, and as Markdown, CSV and LaTeX."""

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ancr._core.files import write_text

if TYPE_CHECKING:
    from rich.table import Table as RichTable


@dataclass(frozen=True)
class Table:
    """What can be written: its texts, and its numbers in full.

    Attributes
    ----------
    name, title : str
        Base name of its files; title above the table.
    header : list of str
        Column titles; the first two columns are text.
    lines : list of list of str
        Rows of text.
    records : list of list
        Header and rows of unrounded numbers, for CSV.
    notes : list of str
        Remarks below the table.
    """

    name: str
    title: str
    header: list[str]
    lines: list[list[str]]
    records: list[list[Any]]
    notes: list[str]


def to_rich(table: Table) -> "RichTable":
    """The table for a terminal."""
    from rich.markup import escape
    from rich.table import Table as RichTable

    rich = RichTable(title=escape(table.title), caption=escape("\n".join(table.notes)) or None)
    for i, name in enumerate(table.header):
        rich.add_column(escape(name), justify="left" if i < 2 else "right")
    for line in table.lines:
        rich.add_row(*map(escape, line))
    return rich


# The name of a user's file may hold anything: no HTML, and no cell or line of its own.
_MARKDOWN = str.maketrans({"<": "&lt;", ">": "&gt;", "|": "\\|", "`": "\\`", "\n": " ", "\r": " "})


def to_markdown(table: Table) -> str:
    """The table as Markdown, with its title and notes."""

    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(cell.translate(_MARKDOWN) for cell in cells) + " |"

    title = f"## {table.title.translate(_MARKDOWN)}"
    lines = [
        title,
        "",
        line(table.header),
        "|" + "---|" * 2 + "---:|" * (len(table.header) - 2),
        *map(line, table.lines),
    ]
    return "\n".join([*lines, *(f"\n{note.translate(_MARKDOWN)}" for note in table.notes)]) + "\n"


def to_csv(table: Table) -> str:
    """The table as CSV: one line per entry, with unrounded numbers for further computation."""
    return csv_text(table.records)


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """Rows as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


_LATEX = str.maketrans(
    {"&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}",
     "^": r"\textasciicircum{}", "\\": r"\textbackslash{}", "±": r"$\pm$", "★": r"$\star$",
     "≈": r"$\approx$", "µ": r"$\mu$", "−": "$-$", "–": "--",
     "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "\n": " ", "\r": " "}
)  # fmt: skip


def to_latex(table: Table) -> str:
    """The table as a LaTeX ``table`` that uses booktabs."""

    def line(cells: Iterable[str]) -> str:
        return " & ".join(cell.translate(_LATEX) for cell in cells) + r" \\"

    caption = " ".join([table.title + ".", *table.notes]).translate(_LATEX)
    columns = "ll" + "r" * (len(table.header) - 2)
    start = r"\begin{table}", rf"\caption{{{caption}}}", rf"\begin{{tabular}}{{{columns}}}", r"\toprule"
    end = r"\bottomrule", r"\end{tabular}", r"\end{table}"
    return "\n".join([*start, line(table.header), r"\midrule", *map(line, table.lines), *end]) + "\n"


FORMATS = {"md": to_markdown, "csv": to_csv, "tex": to_latex}


def write_tables(tables: Iterable[Table], folder: Path) -> list[Path]:
    """Write every table in every format and return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for table in tables:
        for suffix, text in FORMATS.items():
            paths.append(folder / f"{table.name}.{suffix}")
            write_text(paths[-1], text(table))
    return paths
