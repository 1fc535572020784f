"""
The lift: what direction alone cannot tell apart
================================================

At unit norm a sample is a direction. That is right for pictures, where a darker picture of a face shows the same face,
and wrong where the length of a sample means something: with two rings around the origin, every direction belongs to
both. The lift appends the same coordinate to all samples before the unit norm. A direction in the larger space then
reveals how long a sample was, and every method of the family can use it.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles, make_moons
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.preprocessing import StandardScaler

from ancr import ANCRClassifier, Space

data = {
    "rings": make_circles(400, noise=0.1, factor=0.5, random_state=0),
    "bananas": make_moons(400, noise=0.2, random_state=0),
}

figure, axes = plt.subplots(2, 3, figsize=(9, 6), layout="constrained")
for row, (name, (X, y)) in zip(axes, data.items(), strict=True):
    X = StandardScaler().fit_transform(X)
    for ax, lift in zip(row, (0.0, 0.5, 1.0), strict=True):
        clf = ANCRClassifier(alpha=1e-2, space=Space("rbf", gamma=2.0, lift=lift)).fit(X[:200], y[:200])
        DecisionBoundaryDisplay.from_estimator(clf, X, ax=ax, response_method="predict", alpha=0.3, grid_resolution=80)
        points = ax.scatter(*X[:200].T, c=y[:200], s=10, edgecolors="k", linewidths=0.3)
        title = "no lift" if not lift else f"lift {lift:g}"
        ax.set(title=f"{title}: {clf.score(X[200:], y[200:]):.0%}", xticks=[], yticks=[])
    row[0].set(ylabel=name)
axes[0, 0].legend(*points.legend_elements(), title="class", fontsize=8, title_fontsize=8)

# %%
# Each row of the dictionary has one more coordinate than a sample, ``constant_`` before the unit norm, and unit norm.
rows = clf.space_.rows(X[:2])
print(clf.space_.constant_, rows.shape, np.linalg.norm(rows, axis=1))
