"""The methods of a comparison as a table for the terminal and for files."""

from dataclasses import dataclass
from typing import Any

from ancr.comparison.method_progress import shown_time


@dataclass(frozen=True)
class ComparisonTable:
    """A table as `ancr.comparison.table_formats` writes it: methods, accuracy with marks, p-value, times."""

    comparison: Any

    @property
    def name(self):
        """Base name of its files."""
        return self.comparison.source.name

    @property
    def title(self):
        """Title above the table."""
        return f"{self.comparison.source.title}: accuracy in %"

    @property
    def notes(self):
        """What the marks mean."""
        test = f"{self.comparison.test}, p-values adjusted by Holm's method"
        return [f"★ best; ≈ not significantly worse than the best at the 5 % level ({test}). Times on one thread."]

    def header(self):
        """Column titles."""
        return ["method", "protocol", self.comparison.source.typical, "p", "training", "per sample"]

    def lines(self):
        """Rows of text under `header`."""
        for result in self.comparison.results:
            sd = "" if result.sd is None else f" ± {result.sd:.2f}"
            mark = "★" if result.is_best else " " if result.is_worse else "≈"
            p = "–" if result.p_value is None else "< 0.001" if result.p_value < 1e-3 else f"{result.p_value:.3f}"
            times = shown_time(result.fit_s), shown_time(result.predict_s)
            yield [result.name, result.protocol, f"{result.mean:.2f}{sd} {mark}", p, *times]

    def records(self):
        """Header and rows of unrounded numbers, for CSV."""
        records = self.comparison.records()
        return [list(records[0]), *(["" if value is None else value for value in each.values()] for each in records)]
