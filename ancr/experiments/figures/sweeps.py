"""Accuracy against λ, and against the number of atoms in a code."""

import numpy as np
from scipy import sparse

import ancr
from ancr.experiments.figures.drawing import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    Drawing,
    legend_below,
    panel_title,
    panels,
    sampled_split,
)

ALPHAS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)


def accuracy_by_alpha(sources):
    """Accuracy of ANCR against λ: the certified optimum, and ADMM stopped after five iterations."""
    figure, axes = panels(len(sources))
    for source, (axis,) in zip(sources, axes, strict=True):
        split = sampled_split(source)
        exact = [_score(split, ancr.ANCRClassifier(alpha=alpha))[0] for alpha in ALPHAS]
        early = [_score(split, _stopped(alpha))[0] for alpha in ALPHAS]
        axis.plot(ALPHAS, exact, color=ORANGE, marker="s", linestyle="--", label="certified optimum")
        axis.plot(ALPHAS, early, color=BLUE, marker="o", label="ADMM, ρ = 0.01, T = 5, c")
        axis.axvspan(1e-4, 1e-2, color=GREY, alpha=0.1, linewidth=0)
        axis.set(title=panel_title(source), xscale="log", xlabel="λ", ylabel="accuracy (%)")
    legend_below(figure, axes[0][0])
    caption = "ANCR. Shaded: the range in which the paper reports a flat curve."
    return Drawing("Accuracy against λ", caption, figure)


def support_and_accuracy(sources):
    """Accuracy against the mean number of atoms in a code, as λ varies; NRC and CRC for comparison."""
    figure, axes = panels(len(sources))
    for source, (axis,) in zip(sources, axes, strict=True):
        split = sampled_split(source)
        points = [_score(split, ancr.ANCRClassifier(alpha=alpha)) for alpha in ALPHAS]
        accuracies, sizes = zip(*points, strict=True)
        axis.plot(sizes, accuracies, color=ORANGE, marker="s", linestyle="--", label="ANCR, λ = 0.0001 … 1")
        for name, clf, colour, marker in (
            ("NRC", ancr.NRCClassifier(), BLUE, "o"),
            ("CRC, λ = 0.001", ancr.CRCClassifier(), GREEN, "^"),
        ):
            accuracy, size = _score(split, clf)
            axis.plot([size], [accuracy], color=colour, marker=marker, markersize=8, linestyle="", label=name)
        axis.set(title=panel_title(source), xscale="log", xlabel="atoms per code (mean)", ylabel="accuracy (%)")
        axis.margins(0.12)
    legend_below(figure, axes[0][0])
    caption = "Certified optima. CRC uses every atom; along the ANCR curve λ grows from left to right."
    return Drawing("Support size and accuracy", caption, figure)


def _stopped(alpha):
    return ancr.ANCRClassifier(alpha=alpha, solver="admm", rho=1e-2, max_iter=5, code="c")


def _score(split, classifier):
    """Accuracy in percent, and the mean number of non-zero entries per code."""
    classifier.fit(split.X, split.y)
    codes = classifier.codes(split.queries)
    entries = codes.nnz if sparse.issparse(codes) else np.count_nonzero(codes)
    return 100 * classifier.score(split.queries, split.truth), entries / len(split.queries)
