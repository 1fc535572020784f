"""From cells to tables: mean ± standard deviation over draws, the paper's number, and the difference."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from ancr.comparison.cells import Cell
from ancr.comparison.split_sources import SplitSource
from ancr.comparison.table_formats import Table, csv_text
from ancr.paper.published import ABLATION, QUOTED, printed


@dataclass(frozen=True)
class Entry:
    """One method at one setting: our result over the draws and the paper's number. Either may be missing.

    Attributes
    ----------
    mean, sd : float or None
        Over the draws; ``sd`` is None if there is only one draw.
    printed : float or None
        The paper's number.
    """

    mean: float | None = None
    sd: float | None = None
    printed: float | None = None

    @property
    def difference(self) -> float | None:
        """Our mean minus the paper's number; None if either is missing."""
        return None if self.mean is None or self.printed is None else self.mean - self.printed

    def texts(self) -> tuple[str, str, str]:
        """Our result, the printed number and the difference, formatted."""
        ours = "–" if self.mean is None else f"{self.mean:.2f}"
        if self.sd is not None:
            ours += f" ± {self.sd:.2f}"
        shown = "–" if self.printed is None else f"{self.printed:.1f}"
        # Adding zero turns −0.00 into +0.00.
        gap = "–" if self.difference is None else f"{round(self.difference, 2) + 0.0:+.2f}".replace("-", "−")
        return ours, shown, gap


@dataclass(frozen=True)
class Row:
    """A method under a protocol, with one `Entry` per setting. ``quoted`` rows are cited by the paper and not run."""

    method: str
    protocol: str
    entries: dict[str, Entry]
    quoted: bool = False


@dataclass(frozen=True)
class PaperTable:
    """A table of the report.

    Attributes
    ----------
    name : str
        Base name of its files.
    title : str
        Title above the table.
    columns : tuple of str
        Settings, or data sets in the table of the large sets.
    rows : list of Row
    notes : list of str
        Remarks below the table, for example on substitute features.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: list[Row]
    notes: list[str]

    @property
    def has_printed(self) -> bool:
        """Whether the paper prints any of these numbers; if not, its columns are left out."""
        return any(entry.printed is not None for row in self.rows for entry in row.entries.values())

    def is_best(self, column: str, entry: Entry) -> bool:
        """Whether no row of ours has a higher mean in a column."""
        means = [row.entries[column].mean for row in self.rows if column in row.entries]
        return entry.mean is not None and entry.mean >= max(mean for mean in means if mean is not None) - 5e-3

    def plain(self) -> Table:
        """The table as formats write it."""
        parts = ("ours", "printed", "diff.") if self.has_printed else ("",)
        header = [f"{column} {part}".strip() for column in self.columns for part in parts]
        lines = []
        for row in self.rows:
            entries = [row.entries.get(column, Entry()).texts()[: len(parts)] for column in self.columns]
            lines.append([row.method, "quoted" if row.quoted else row.protocol, *chain(*entries)])
        return Table(self.name, self.title, ["method", "protocol", *header], lines, self.records(), self.notes)

    def csv(self) -> str:
        """The numbers of `records` as CSV."""
        return csv_text(self.records())

    def records(self) -> list[list[Any]]:
        """Header and one row of unrounded numbers per entry, for CSV."""
        rows: list[list[Any]] = [["method", "protocol", "setting", "mean", "sd", "printed", "difference", "quoted"]]
        for row in self.rows:
            for setting, entry in row.entries.items():
                numbers = (entry.mean, entry.sd, entry.printed, entry.difference)
                values = ("" if value is None else round(value, 6) for value in numbers)
                rows.append([row.method, row.protocol, setting, *values, int(row.quoted)])
        return rows


def make_tables(sources: Sequence[SplitSource], cells: Sequence[Cell]) -> list[PaperTable]:
    """All tables of the cells: one per small set, one for all large sets, and the ablations.

    Parameters
    ----------
    sources : sequence of SplitSource
        The data sets, in the order of the tables.
    cells : sequence of Cell
        The results on them.
    """
    small = [source for source in sources if source.settings != ("official",)]
    large = [source for source in sources if source.settings == ("official",)]
    tables = [_small_table(source, cells) for source in small]
    if large:
        tables.append(_large_table(large, cells))
    groups = [[source] for source in small if source.name in ("ar", "usps")] + ([large] if large else [])
    return tables + [_ablation(group, cells) for group in groups]


def _small_table(source: SplitSource, cells: Sequence[Cell]) -> PaperTable:
    return PaperTable(
        source.name, f"{source.title}: accuracy in %", source.settings, _rows(source, cells), _notes([source])
    )


def _large_table(sources: Sequence[SplitSource], cells: Sequence[Cell]) -> PaperTable:
    # One column per data set; rows of the same method and protocol are merged.
    merged: dict[tuple[bool, str, str], Row] = {}
    for source in sources:
        for row in [*_rows(source, cells), *_quoted_rows(source)]:
            into = merged.setdefault(
                (row.quoted, row.protocol, row.method), Row(row.method, row.protocol, {}, row.quoted)
            )
            into.entries[source.title] = row.entries["official"]
    rows = sorted(merged.values(), key=lambda row: row.quoted)
    columns = tuple(source.title for source in sources)
    return PaperTable("large", "Large sets, official splits: accuracy in %", columns, rows, _notes(sources))


def _ablation(sources: Sequence[SplitSource], cells: Sequence[Cell]) -> PaperTable:
    kept = [cell for cell in cells if cell.key.method in ABLATION]
    full = _large_table(sources, kept) if sources[0].settings == ("official",) else _small_table(sources[0], kept)
    rows = sorted(
        (row for row in full.rows if not row.quoted),
        key=lambda row: (row.protocol != "paper", ABLATION.index(row.method)),
    )
    subject = full.title.partition(":")[0]
    return PaperTable(f"{full.name}_ablation", f"Ablation, {subject}: accuracy in %", full.columns, rows, full.notes)


def _rows(source: SplitSource, cells: Sequence[Cell]) -> list[Row]:
    """One row per method and protocol that was run, in the order of the plans."""
    grouped: dict[tuple[str, str], dict[str, list[float]]] = {}
    for cell in cells:
        if cell.key.dataset == source.name and cell.key.features == source.features:
            by_setting = grouped.setdefault((cell.key.method, cell.key.protocol), {})
            by_setting.setdefault(cell.key.setting, []).append(cell.measured.accuracy)
    return [
        Row(method, protocol, {setting: _entry(source, method, setting, values) for setting, values in by.items()})
        for (method, protocol), by in grouped.items()
    ]


def _entry(source: SplitSource, method: str, setting: str, values: list[float]) -> Entry:
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return Entry(float(np.mean(values)), sd, printed(source.name, method, setting))


def _quoted_rows(source: SplitSource) -> list[Row]:
    return [
        Row(method, "", {"official": Entry(printed=value)}, quoted=True)
        for method, value in QUOTED.get(source.name, {}).items()
    ]


def _notes(sources: Sequence[SplitSource]) -> list[str]:
    return [
        f"{source.title} on {source.features}: the paper used other features, so only the ranking of the methods can "
        "be compared, not the numbers."
        for source in sources
        if "substitute" in source.features
    ]
