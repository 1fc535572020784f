"""
Your own set
============

A set says where codes may live. This one is a box: no weight is negative or above a bound, so no single training
sample decides. (With Σc = 1 in addition it is `ancr.CappedSimplex`, which the exact solver takes.) The class says
how to project on it, which is all that ADMM needs, and how large pᵀv can get on it, which gives the certificate.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.preprocessing import normalize

from ancr import RepresentationClassifier, solve
from ancr._core.arrays import namespace
from ancr.axes.sets import Set
from ancr.solvers import ADMM


class Box(Set):
    """0 ≤ c ≤ most."""

    name = "box"
    nonnegative = True

    def __init__(self, most=0.2):
        self.most = most

    def project(self, points):
        """Each entry by itself."""
        return namespace(points).clip(points, 0.0, self.most)

    def support(self, pull):
        """max pᵀv: the bound where an atom pulls, zero elsewhere. The certificate follows from it."""
        xp = namespace(pull)
        return self.most * xp.sum(xp.clip(pull, 0.0, None), axis=1)


# %%
X, y = load_digits(return_X_y=True)
X_train, y_train, X_test, y_test = X[:300], y[:300], X[300:400], y[300:400]
bounds = [0.02, 0.05, 0.1, 0.3, 1.0]
scores, largest = [], []
for most in bounds:
    clf = RepresentationClassifier(constraint=Box(most), solver=ADMM(rho=0.1, max_iter=100))
    clf.fit(X_train, y_train)
    codes = clf.codes(X_test)
    scores.append(clf.score(X_test, y_test))
    largest.append(float(np.max(codes)))

figure, ax = plt.subplots(layout="constrained")
ax.semilogx(bounds, scores, "o-")
ax.set(xlabel="bound on each weight", ylabel="accuracy", title="digits: no sample may decide alone")
print("largest weight:", [round(value, 3) for value in largest])

# %%
# The certificate works as for any other set: the bound on the distance to the optimum falls as ADMM iterates.
atoms, queries = normalize(X_train[:100]), normalize(X_test[:5])
for max_iter in (10, 100, 1000):
    solution = solve(atoms, queries, alpha=1e-2, constraint=Box(0.1), solver=ADMM(rho=0.1, max_iter=max_iter))
    print(f"{max_iter} iterations: largest gap {solution.gap.max():.1e}")
