"""ADMM over its iterations: objective, distance to the optimum, and accuracy."""

import numpy as np
from sklearn.preprocessing import normalize

import ancr
from ancr.experiments.figures.drawing import (
    BLUE,
    GREY,
    ORANGE,
    Drawing,
    legend_below,
    panel_title,
    panels,
    sampled_split,
)

STOPS = (1, 2, 3, 5, 10, 20, 50, 100)
_SETTINGS = "ANCR at λ = 0.001, ADMM with ρ = 0.01"


def objective(sources):
    """Objective against iteration, with the certified optimum as a line."""
    figure, axes = panels(len(sources))
    for source, (axis,) in zip(sources, axes, strict=True):
        atoms, queries = _unit(source)
        path = ancr.solve(atoms, queries, alpha=1e-3, solver="admm", rho=1e-2, max_iter=STOPS[-1], history=True)
        best = ancr.solve(atoms, queries, alpha=1e-3).objective.mean()
        steps = np.arange(1, len(path.history) + 1)
        axis.plot(steps, path.history.mean(axis=1), color=BLUE, label="ADMM, z in the set")
        axis.axhline(best, color=ORANGE, linestyle="--", label="certified optimum")
        axis.set(title=panel_title(source), xscale="log", xlabel="iteration", ylabel="mean objective")
    legend_below(figure, axes[0][0])
    return Drawing("Objective against iteration", f"{_SETTINGS}. Both are means over the same test queries.", figure)


def early_stopping(sources):
    """Accuracy, and the distance of c to the optimum, against the number of iterations."""
    figure, axes = panels(len(sources), height=2.3, rows=2)
    for source, (upper, lower) in zip(sources, axes, strict=True):
        accuracies, distances, best = stopped_early(source)
        upper.plot(STOPS, accuracies, color=BLUE, marker="o", label="stopped after T, infeasible c")
        upper.axhline(best, color=ORANGE, linestyle="--", label="certified optimum")
        upper.axvline(5, color=GREY, linestyle=":", linewidth=1)
        upper.set(title=panel_title(source), xscale="log", ylabel="accuracy (%)")
        lower.plot(STOPS, distances, color=BLUE, marker="o")
        lower.axvline(5, color=GREY, linestyle=":", linewidth=1)
        lower.set(xscale="log", yscale="log", xlabel="ADMM iterations T", ylabel="‖c − c*‖ / ‖c*‖")
    legend_below(figure, axes[0][0])
    caption = (
        f"{_SETTINGS}. Top: accuracy with the infeasible c after T iterations of ADMM, and with the certified optimum "
        "c*. Bottom: distance between that c and c*. Dotted: T = 5, where the published code stops."
    )
    return Drawing("Early stopping: accuracy and distance to the optimum", caption, figure)


def stopped_early(source):
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


def _unit(source):
    split = sampled_split(source)
    return normalize(split.X), normalize(split.queries)
