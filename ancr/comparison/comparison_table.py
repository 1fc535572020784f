"""The methods of a comparison as a table for the terminal and for files."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ancr._core.messages import shown_time

if TYPE_CHECKING:
    from ancr.comparison.result import Comparison


@dataclass(frozen=True)
class ComparisonTable:
    """A table as `ancr.comparison.table_formats` writes it: methods, accuracy with marks, p-value, times."""

    comparison: "Comparison"

    @property
    def name(self) -> str:
        """Base name of its files."""
        return self.comparison.source.name

    @property
    def title(self) -> str:
        """Title above the table."""
        return f"{self.comparison.source.title}: accuracy in %"

    @property
    def notes(self) -> list[str]:
        """What the marks mean."""
        test = f"{self.comparison.test}, p-values adjusted by Holm's method"
        return [f"★ best; ≈ not significantly worse than the best at the 5 % level ({test}). Times on one thread."]

    def header(self) -> list[str]:
        """Column titles."""
        return ["method", "protocol", self.comparison.source.typical, "p", "training", "per sample"]

    def lines(self) -> Iterator[list[str]]:
        """Rows of text under `header`."""
        for result in self.comparison.results:
            times = shown_time(result.fit_s), shown_time(result.predict_s)
            accuracy = f"{result.accuracy_text} {result.symbol or ' '}"
            yield [result.name, result.protocol, accuracy, result.p_text, *times]

    def records(self) -> list[list[Any]]:
        """Header and rows of unrounded numbers, for CSV."""
        records = self.comparison.records()
        return [list(records[0]), *(["" if value is None else value for value in each.values()] for each in records)]
