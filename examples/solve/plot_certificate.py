"""
A certificate for every code
============================

A solver can be wrong or stop too early. A certificate does not depend on it: from the problem and the code alone it
computes an upper bound on how far the objective is above the optimum, the *gap*. Here the gap is followed over ADMM
iterations and compared with the working-set solver that ``ancr`` uses by default.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.preprocessing import normalize

from ancr import solve
from ancr.solvers import ADMM

X = normalize(load_digits().data)
atoms, queries = X[:500], X[500:700]

exact = solve(atoms, queries, alpha=1e-3, constraint="simplex")
print(exact)
print(f"largest relative gap {exact.gap.max():.1e}, certified: {exact.verify().sum()} of {len(queries)}")

# %%
# The bound of ADMM's feasible iterate, and its true error, which we know because we have the optimum.
stops = [5, 20, 80, 320, 1280]
bound, error = [], []
for stop in stops:
    stopped = solve(atoms, queries, alpha=1e-3, constraint="simplex", solver=ADMM(rho=0.1, max_iter=stop, code="z"))
    bound.append(np.median(stopped.gap))
    error.append(np.median((stopped.objective - exact.objective) / exact.objective))

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
left.loglog(stops, bound, "o-", label="gap (certificate)")
left.loglog(stops, np.maximum(error, 1e-17), "s--", label="true error")
left.set(xlabel="ADMM iterations", ylabel="relative to the objective")
left.legend()
right.hist(exact.n_iter, bins=np.arange(exact.n_iter.max() + 2) - 0.5)
right.set(xlabel="rounds of the working-set solver", ylabel="queries")

# %%
# One line per query, for further use.
exact.to_frame().head()
