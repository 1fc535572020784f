"""Shared by all figures: a sample of queries, titles, and accuracy with its interval."""

from dataclasses import replace

import numpy as np

from ancr.comparison.charts import Series
from ancr.comparison.significance import wilson_interval


def sampled_split(source, most=600):
    """The first draw of a source's typical setting, with evenly spaced queries; the more atoms, the fewer queries."""
    split = source.split(source.typical, 0)
    count = min(most, max(100, 1_000_000 // len(split.y)), len(split.truth))
    rows = np.linspace(0, len(split.truth) - 1, count).astype(int)
    return replace(split, queries=split.queries[rows], truth=split.truth[rows])


def panel_title(source):
    """Data set and setting."""
    return f"{source.title}, {source.typical}"


def accuracy_series(name, x, accuracies, count, **more):
    """A line of accuracies in percent with the 95 % intervals of ``count`` queries as its band."""
    ends = [wilson_interval(accuracy / 100 * count, count) for accuracy in accuracies]
    low, high = (tuple(100 * end[side] for end in ends) for side in (0, 1))
    return Series(name, tuple(x), tuple(map(float, accuracies)), low, high, **more)


def level(name, x, value, **more):
    """A horizontal line over the range of ``x``."""
    return Series(name, (min(x), max(x)), (float(value), float(value)), markers=False, **more)
