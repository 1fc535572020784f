"""Accuracy against the relaxation γ, from CRC (γ → 0) to ANCR (γ → ∞)."""

import ancr
from ancr.experiments.figures.drawing import BLUE, ORANGE, Drawing, legend_below, panel_title, panels, sampled_split

GAMMAS = (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)


def accuracy_by_relaxation(sources):
    """Accuracy of relaxed ANCR against γ, with the hard constraint as a line."""
    figure, axes = panels(len(sources))
    for source, (axis,) in zip(sources, axes, strict=True):
        split = sampled_split(source)

        def score(relaxation, split=split):
            clf = ancr.ANCRClassifier(alpha=1e-2, relaxation=relaxation)
            return 100 * clf.fit(split.X, split.y).score(split.queries, split.truth)

        axis.plot(GAMMAS, [score(gamma) for gamma in GAMMAS], color=BLUE, marker="o", label="relaxed ANCR")
        axis.axhline(score(None), color=ORANGE, linestyle="--", label="hard constraint")
        axis.set(title=panel_title(source), xscale="log", xlabel="γ", ylabel="accuracy (%)")
    legend_below(figure, axes[0][0])
    return Drawing("Accuracy against the relaxation γ", "Certified optima at λ = 0.01.", figure)
