"""
Kernels: two moons
==================

A line through the origin cannot separate the moons, and neither can a method that represents a sample by others in the
plane. In the space of an RBF kernel the same methods can, without any change.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.inspection import DecisionBoundaryDisplay

from ancr import ANCRClassifier, Space

X, y = make_moons(120, noise=0.15, random_state=0)
settings = {
    "linear": Space(normalize=False),
    "RBF, κ = 1": Space("rbf", gamma=1.0, normalize=False),
    "RBF, κ = 10": Space("rbf", gamma=10.0, normalize=False),
}

figure, axes = plt.subplots(1, 3, figsize=(9, 3), layout="constrained")
for ax, (name, space) in zip(axes, settings.items(), strict=True):
    clf = ANCRClassifier(alpha=1e-2, space=space).fit(X, y)
    DecisionBoundaryDisplay.from_estimator(clf, X, ax=ax, response_method="predict", alpha=0.3, grid_resolution=60)
    points = ax.scatter(*X.T, c=y, s=12, edgecolors="k", linewidths=0.3)
    ax.set(title=f"{name}: {clf.score(X, y):.2f}", xticks=[], yticks=[], xlabel="first feature")
axes[0].set(ylabel="second feature")
axes[0].legend(*points.legend_elements(), title="class", fontsize=8, title_fontsize=8)

# %%
# The explanation works in any space: the samples that decided a point between the moons.
clf = ANCRClassifier(alpha=1e-2, space=Space("rbf", gamma=10.0, normalize=False)).fit(X, y)
told = clf.explain(np.array([[0.5, 0.25]]), top=4)[0]
print(told)
