"""
A dictionary in several files
=============================

A dictionary that is too large for one machine is read from files, part by part. The optimum is the same, and its
certificate holds over *all* atoms. Here eight small files stand for eight large ones. Needs Dask:
``pip install -e '.[dask]'``.
"""

# %%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from ancr import ANCRClassifier

X, y = load_digits(return_X_y=True)
folder, queries, truth = Path(tempfile.mkdtemp()), X[1600:1660], y[1600:1660]
for i, (samples, labels) in enumerate(zip(np.split(X[:1600], 8), np.split(y[:1600], 8), strict=True)):
    np.save(folder / f"atoms{i}.npy", samples)
    np.save(folder / f"labels{i}.npy", labels)

# %%
try:
    from distributed import Client, LocalCluster

    from ancr.distributed import ShardedClassifier
except ImportError as error:
    print(f"left out: {error}")
else:
    local = LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None)
    with local as cluster, Client(cluster):
        clf = ShardedClassifier(ANCRClassifier(alpha=1e-3))
        paths = [[str(folder / f"{kind}{i}.npy") for i in range(8)] for kind in ("atoms", "labels")]
        clf.fit(*paths)
        solution, labels, residuals = clf.solve(queries), clf.predict(queries), clf.residuals(queries)
    whole = ANCRClassifier(alpha=1e-3).fit(X[:1600], y[:1600])
    print(f"accuracy {np.mean(labels == truth):.3f}")
    print(f"largest difference of residuals to one machine {np.abs(residuals - whole.residuals(queries)).max():.1e}")
    figure, ax = plt.subplots(layout="constrained")
    ax.hist(np.log10(np.maximum(solution.gap, 1e-17)), bins=20)
    ax.set(xlabel="log10 of the gap over all atoms", ylabel="queries", title="eight files, every query certified")
