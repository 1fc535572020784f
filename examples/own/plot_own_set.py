"""
Your own set
============

A set says where codes may live. This one is the simplex with a cap: no training sample may have more than a share of
the weight, so that no single sample decides. The class says how to project on it, which is all that ADMM needs, and how
large pᵀv can get on it, which gives the certificate.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.preprocessing import normalize

from ancr import RepresentationClassifier, solve
from ancr._core.arrays import namespace, row_dots
from ancr.axes.sets import Set
from ancr.solvers import ADMM


class CappedSimplex(Set):
    """0 ≤ c ≤ cap and Σc = 1."""

    name = "capped simplex"
    sums_to_one = nonnegative = True

    def __init__(self, cap=0.2):
        self.cap = cap

    def project(self, points):
        """clip(v − θ, 0, cap) with θ found by bisection: the sum falls from n·cap to 0 as θ grows."""
        if self.cap * points.shape[1] < 1.0:
            raise ValueError(f"cap must be at least 1/{points.shape[1]}, got {self.cap}")
        xp = namespace(points)
        low, high = xp.min(points, axis=1, keepdims=True) - self.cap, xp.max(points, axis=1, keepdims=True)
        for _ in range(60):
            middle = (low + high) / 2.0
            enough = xp.sum(xp.clip(points - middle, 0.0, self.cap), axis=1, keepdims=True) >= 1.0
            low, high = xp.where(enough, middle, low), xp.where(enough, high, middle)
        return xp.clip(points - low, 0.0, self.cap)

    def support(self, pull):
        """max pᵀv: as much as the cap allows on the largest entries. The certificate follows from it."""
        xp = namespace(pull)
        before = self.cap * xp.cumulative_sum(xp.ones_like(pull), axis=1) - self.cap  # used up by larger entries
        weights = xp.clip(1.0 - before, 0.0, self.cap)
        return row_dots(xp.sort(pull, axis=1, descending=True), weights)


# %%
X, y = load_digits(return_X_y=True)
X_train, y_train, X_test, y_test = X[:300], y[:300], X[300:400], y[300:400]
caps = [0.02, 0.05, 0.1, 0.3, 1.0]
scores, largest = [], []
for cap in caps:
    clf = RepresentationClassifier(constraint=CappedSimplex(cap), solver=ADMM(rho=0.1, max_iter=100))
    clf.fit(X_train, y_train)
    codes = clf.codes(X_test)
    scores.append(clf.score(X_test, y_test))
    largest.append(float(np.max(codes)))

figure, ax = plt.subplots(layout="constrained")
ax.semilogx(caps, scores, "o-")
ax.set(xlabel="cap on each weight", ylabel="accuracy", title="digits: no sample may decide alone")
print("largest weight:", [round(value, 3) for value in largest])

# %%
# The certificate works for it as for any other set: the bound on what is missing to the optimum falls with every
# iteration of ADMM.
atoms, queries = normalize(X_train[:100]), normalize(X_test[:5])
for max_iter in (10, 100, 1000):
    solution = solve(atoms, queries, alpha=1e-2, constraint=CappedSimplex(0.1), solver=ADMM(rho=0.1, max_iter=max_iter))
    print(f"{max_iter} iterations: largest gap {solution.gap.max():.1e}")
