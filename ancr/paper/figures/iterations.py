"""ADMM over its iterations: objective, distance to the optimum, and accuracy."""

from collections.abc import Sequence

import numpy as np
from sklearn.preprocessing import normalize

import ancr
from ancr.comparison.charts import Chart, Panel, Series, line_chart
from ancr.comparison.split_sources import SplitSource
from ancr.paper.figures.drawing import accuracy_series, level, panel_title, sampled_split
from ancr.solvers import ADMM

STOPS = (1, 2, 3, 5, 10, 20, 50, 100)
_SETTINGS = "ANCR at λ = 0.001, ADMM with ρ = 0.01"


def objective(sources: Sequence[SplitSource]) -> Chart:
    """Objective against iteration, with the certified optimum as a line."""
    panels = []
    for source in sources:
        atoms, queries = _unit(source)
        path = ancr.solve(atoms, queries, alpha=1e-3, solver=ADMM(rho=1e-2, max_iter=STOPS[-1]), history=True)
        best = ancr.solve(atoms, queries, alpha=1e-3).objective.mean()
        means = np.asarray(path.history).mean(axis=1)
        steps = np.unique(np.geomspace(1, len(means), 24).astype(int))
        values = means[steps - 1]
        series = (
            Series("ADMM, z in the set", tuple(steps.tolist()), tuple(values.tolist())),
            level("certified optimum", STOPS, best),
        )
        panels.append(Panel(panel_title(source), "iteration", "mean objective", series, x_log=True))
    caption = f"{_SETTINGS}. Both are means over the same test queries."
    return line_chart("Objective against iteration", caption, panels)


def early_stopping(sources: Sequence[SplitSource]) -> Chart:
    """Accuracy, and the distance of c to the optimum, against the number of iterations."""
    upper, lower = [], []
    for source in sources:
        accuracies, distances, best = stopped_early(source)
        count, title = len(sampled_split(source).truth), panel_title(source)
        series = (
            accuracy_series("stopped after T, infeasible c", STOPS, accuracies, count),
            level("certified optimum", STOPS, best),
        )
        upper.append(Panel(title, "ADMM iterations T", "accuracy in %", series, x_log=True))
        away = (Series("stopped after T, infeasible c", STOPS, tuple(distances)),)
        lower.append(Panel(title, "ADMM iterations T", "‖c − c*‖ / ‖c*‖", away, x_log=True, y_log=True))
    caption = (
        f"{_SETTINGS}. Accuracy with the infeasible c after T iterations of ADMM, and with the certified optimum c*; "
        "then the distance between that c and c*. The published code stops at T = 5."
    )
    return line_chart("Early stopping: accuracy and distance to the optimum", caption, upper + lower)


def stopped_early(source: SplitSource) -> tuple[list[float], list[float], float]:
    """``(accuracies, distances, accuracy of the optimum)`` on a sample of a source's queries."""
    split = sampled_split(source)
    optimum = ancr.ANCRClassifier(alpha=1e-3).fit(split.X, split.y)
    codes = optimum.codes(split.queries).toarray()
    accuracies, distances = [], []
    for stop in STOPS:
        early = ancr.ANCRClassifier(alpha=1e-3, solver="admm", rho=1e-2, max_iter=stop, code="c").fit(split.X, split.y)
        accuracies.append(100 * early.score(split.queries, split.truth))
        distances.append(float(np.linalg.norm(early.codes(split.queries) - codes) / np.linalg.norm(codes)))
    return accuracies, distances, 100 * optimum.score(split.queries, split.truth)


def _unit(source: SplitSource) -> tuple[np.ndarray, np.ndarray]:
    split = sampled_split(source)
    return normalize(split.X), normalize(split.queries)
