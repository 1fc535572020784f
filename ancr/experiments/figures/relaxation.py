"""Accuracy against the relaxation γ: between CRC (γ → 0) and ANCR (γ → ∞)."""

import ancr
from ancr.experiments.figures.drawing import BLUE, ORANGE, Drawing, few_queries, legend_below, panel_title, panels

GAMMAS = (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)


def accuracy_by_relaxation(sources):
    """The figure; None where this release's ANCR has no relaxation."""
    if "relaxation" not in ancr.ANCRClassifier().get_params():
        return None
    figure, axes = panels(len(sources))
    for source, (axis,) in zip(sources, axes, strict=True):
        split = few_queries(source)

        def score(relaxation, split=split):
            clf = ancr.ANCRClassifier(alpha=1e-2, relaxation=relaxation)
            return 100 * clf.fit(split.X, split.y).score(split.queries, split.truth)

        axis.plot(GAMMAS, [score(gamma) for gamma in GAMMAS], color=BLUE, marker="o", label="relaxed ANCR")
        axis.axhline(score(None), color=ORANGE, linestyle="--", label="hard constraint")
        axis.set(title=panel_title(source), xscale="log", xlabel="γ", ylabel="accuracy (%)")
    legend_below(figure, axes[0][0])
    return Drawing("Accuracy against the relaxation γ", "Certified optima at λ = 0.01.", figure)
