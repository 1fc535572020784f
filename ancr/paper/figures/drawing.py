"""Shared by all figures: a sample of queries, titles, and accuracy with its interval."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ancr.comparison.charts import Series
from ancr.comparison.significance import wilson_interval
from ancr.comparison.split_sources import Split, SplitSource


def sampled_split(source: SplitSource, most: int = 600) -> Split:
    """The first draw of a source's typical setting, with evenly spaced queries; the more atoms, the fewer queries."""
    split = source.split(source.typical, 0)
    count = min(most, max(100, 1_000_000 // len(split.y)), len(split.truth))
    rows = np.linspace(0, len(split.truth) - 1, count).astype(int)
    return replace(split, queries=split.queries[rows], truth=split.truth[rows], test=split.test[rows])


def panel_title(source: SplitSource) -> str:
    """Data set and setting."""
    return f"{source.title}, {source.typical}"


def accuracy_series(name: str, x: Sequence[float], accuracies: Sequence[float], count: int) -> Series:
    """A line of accuracies in percent with the 95 % intervals of ``count`` queries as its band."""
    ends = [wilson_interval(accuracy / 100 * count, count) for accuracy in accuracies]
    low, high = (tuple(100 * end[side] for end in ends) for side in (0, 1))
    return Series(name, x, tuple(map(float, accuracies)), low, high)


def level(name: str, x: Sequence[float], value: float) -> Series:
    """A horizontal line over the range of ``x``."""
    return Series(name, (min(x), max(x)), (float(value), float(value)), markers=False)
