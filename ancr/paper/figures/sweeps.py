"""Accuracy against λ, and against the number of atoms in a code."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

import ancr
from ancr.comparison.charts import Chart, Panel, Series, line_chart
from ancr.comparison.split_sources import Split, SplitSource
from ancr.paper.figures.drawing import accuracy_series, panel_title, sampled_split

ALPHAS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)


def accuracy_by_alpha(sources: Sequence[SplitSource]) -> Chart:
    """Accuracy of ANCR against λ: the certified optimum, and ADMM stopped after five iterations."""
    panels = []
    for source in sources:
        split = sampled_split(source)
        count = len(split.truth)
        exact = [_score(split, ancr.ANCRClassifier(alpha=alpha))[0] for alpha in ALPHAS]
        early = [_score(split, _stopped(alpha))[0] for alpha in ALPHAS]
        series = (
            accuracy_series("certified optimum", ALPHAS, exact, count),
            accuracy_series("ADMM, ρ = 0.01, T = 5, c", ALPHAS, early, count),
        )
        panels.append(Panel(panel_title(source), "λ", "accuracy in %", series, x_log=True))
    caption = "ANCR. The paper reports a flat curve from λ = 0.0001 to 0.01. Bands: 95 % intervals."
    return line_chart("Accuracy against λ", caption, panels)


def support_and_accuracy(sources: Sequence[SplitSource]) -> Chart:
    """Accuracy against the mean number of atoms in a code, as λ varies; NRC and CRC for comparison."""
    panels = []
    for source in sources:
        split = sampled_split(source)
        points = [_score(split, ancr.ANCRClassifier(alpha=alpha)) for alpha in ALPHAS]
        accuracies, sizes = zip(*points, strict=True)
        series = [accuracy_series("ANCR, λ = 0.0001 … 1", sizes, accuracies, len(split.truth))]
        for name, classifier in (("NRC", ancr.NRCClassifier()), ("CRC, λ = 0.001", ancr.CRCClassifier())):
            accuracy, size = _score(split, classifier)
            series.append(Series(name, (size,), (accuracy,), line=False))
        panels.append(Panel(panel_title(source), "atoms per code (mean)", "accuracy in %", tuple(series), x_log=True))
    caption = "Certified optima. CRC uses every atom; along the ANCR curve λ grows from left to right."
    return line_chart("Support size and accuracy", caption, panels)


def _stopped(alpha: float) -> ancr.ANCRClassifier:
    return ancr.ANCRClassifier(alpha=alpha, solver="admm", rho=1e-2, max_iter=5, code="c")


def _score(split: Split, classifier: Any) -> tuple[float, float]:
    """Accuracy in percent, and the mean number of non-zero entries per code."""
    classifier.fit(split.X, split.y)
    codes = classifier.codes(split.queries)
    entries = codes.nnz if sparse.issparse(codes) else np.count_nonzero(codes)
    return 100 * classifier.score(split.queries, split.truth), entries / len(split.queries)
