"""A `Table` for the terminal, and as Markdown, CSV and LaTeX."""

import csv
import io

from ancr._core.files import write_text


def to_rich(table):
    """The table for a terminal."""
    from rich.markup import escape
    from rich.table import Table as RichTable

    rich = RichTable(title=escape(table.title), caption=escape("\n".join(table.notes)) or None)
    for i, name in enumerate(table.header()):
        rich.add_column(escape(name), justify="left" if i < 2 else "right")
    for line in table.lines():
        rich.add_row(*map(escape, line))
    return rich


# The name of a user's file may hold anything: no HTML, and no cell or line of its own.
_MARKDOWN = str.maketrans({"<": "&lt;", ">": "&gt;", "|": "\\|", "`": "\\`", "\n": " ", "\r": " "})


def to_markdown(table):
    """The table as Markdown, with its title and notes."""

    def line(cells):
        return "| " + " | ".join(cell.translate(_MARKDOWN) for cell in cells) + " |"

    header = table.header()
    title = f"## {table.title.translate(_MARKDOWN)}"
    lines = [title, "", line(header), "|" + "---|" * 2 + "---:|" * (len(header) - 2)]
    lines += map(line, table.lines())
    return "\n".join([*lines, *(f"\n{note.translate(_MARKDOWN)}" for note in table.notes)]) + "\n"


def to_csv(table):
    """The table as CSV: one line per entry, with unrounded numbers for further computation."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(table.records())
    return text.getvalue()


_LATEX = str.maketrans(
    {"&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}",
     "^": r"\textasciicircum{}", "\\": r"\textbackslash{}", "±": r"$\pm$", "★": r"$\star$",
     "≈": r"$\approx$", "µ": r"$\mu$", "−": "$-$", "–": "--",
     "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "\n": " ", "\r": " "}
)  # fmt: skip


def to_latex(table):
    """The table as a LaTeX ``table`` that uses booktabs."""

    def line(cells):
        return " & ".join(cell.translate(_LATEX) for cell in cells) + r" \\"

    header = table.header()
    caption = " ".join([table.title + ".", *table.notes]).translate(_LATEX)
    lines = [
        r"\begin{table}",
        rf"\caption{{{caption}}}",
        rf"\begin{{tabular}}{{ll{'r' * (len(header) - 2)}}}",
        r"\toprule",
        line(header),
        r"\midrule",
        *map(line, table.lines()),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


FORMATS = {"md": to_markdown, "csv": to_csv, "tex": to_latex}


def write_tables(tables, folder):
    """Write every table in every format and return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for table in tables:
        for suffix, render in FORMATS.items():
            path = folder / f"{table.name}.{suffix}"
            write_text(path, render(table))
            paths.append(path)
    return paths
