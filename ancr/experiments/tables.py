"""Cells → tables: mean ± standard deviation over draws, one row a method and protocol, one column a setting."""

import numpy as np


def summarise(cells):
    """``(settings, rows)`` with rows as ``((method, protocol), {setting: (mean, sd, n_draws)})``."""
    grouped = {}
    for cell in cells:
        grouped.setdefault((cell.method, cell.protocol), {}).setdefault(cell.setting, []).append(cell.accuracy)
    settings = list(dict.fromkeys(cell.setting for cell in cells))
    rows = [
        (name, {setting: (np.mean(v), np.std(v, ddof=1) if len(v) > 1 else 0.0, len(v)) for setting, v in by.items()})
        for name, by in grouped.items()
    ]
    return settings, rows


def _entries(cells):
    settings, rows = summarise(cells)
    for (method, protocol), by_setting in rows:
        yield [method, protocol, *(_entry(by_setting.get(setting)) for setting in settings)]


def _entry(summary):
    return "–" if summary is None else f"{summary[0]:.1f} ± {summary[1]:.1f}"


def header(cells):
    """Column titles."""
    return ["method", "protocol", *summarise(cells)[0]]


def to_markdown(cells):
    """The table as Markdown."""
    titles = header(cells)
    lines = ["| " + " | ".join(titles) + " |", "|" + "---|" * 2 + "---:|" * (len(titles) - 2)]
    lines += ["| " + " | ".join(row) + " |" for row in _entries(cells)]
    return "\n".join(lines) + "\n"


def to_rich(cells, title):
    """The table for a terminal."""
    from rich.table import Table

    table = Table(title=title)
    for i, name in enumerate(header(cells)):
        table.add_column(name, justify="left" if i < 2 else "right")
    for row in _entries(cells):
        table.add_row(*row)
    return table
