"""Accuracy against the relaxation γ, from CRC (γ → 0) to ANCR (γ → ∞)."""

from collections.abc import Sequence

import ancr
from ancr.comparison.charts import Chart, Panel, line_chart
from ancr.comparison.split_sources import Split, SplitSource
from ancr.paper.figures.drawing import accuracy_series, level, panel_title, sampled_split

GAMMAS = (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)


def accuracy_by_relaxation(sources: Sequence[SplitSource]) -> Chart:
    """Accuracy of relaxed ANCR against γ, with the hard constraint as a line."""
    panels = []
    for source in sources:
        split = sampled_split(source)

        def score(relaxation: float | None, split: Split = split) -> float:
            clf = ancr.ANCRClassifier(alpha=1e-2, relaxation=relaxation)
            return 100 * clf.fit(split.X, split.y).score(split.queries, split.truth)

        relaxed = accuracy_series("relaxed ANCR", GAMMAS, [score(gamma) for gamma in GAMMAS], len(split.truth))
        series = (relaxed, level("hard constraint", GAMMAS, score(None)))
        panels.append(Panel(panel_title(source), "γ", "accuracy in %", series, x_log=True))
    return line_chart("Accuracy against the relaxation γ", "Certified optima at λ = 0.01.", panels)
