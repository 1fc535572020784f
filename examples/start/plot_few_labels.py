"""
A handful of labels
===================

There is no training: the labelled samples are the model. So one label per class is enough to begin with, and
``partial_fit`` adds samples as they arrive.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from ancr import ANCRClassifier
from ancr.datasets import per_class_split

X, y = load_digits(return_X_y=True)
methods = {
    "ANCR": ANCRClassifier(),
    "softmax": make_pipeline(Normalizer(), LogisticRegression(C=10.0, max_iter=300)),
    "random forest": RandomForestClassifier(random_state=0),
}
counts, draws = (1, 2, 4, 8, 16), 5
scores = {name: np.empty((len(counts), draws)) for name in methods}
for i, count in enumerate(counts):
    for draw in range(draws):
        train, test = per_class_split(y, count, draw)
        for name, method in methods.items():
            scores[name][i, draw] = method.fit(X[train], y[train]).score(X[test[:500]], y[test[:500]])

# %%
figure, ax = plt.subplots(layout="constrained")
for name, values in scores.items():
    mean, error = values.mean(axis=1), values.std(axis=1, ddof=1) / draws**0.5
    ax.plot(counts, mean, "o-", label=name)
    ax.fill_between(counts, mean - error, mean + error, alpha=0.2)
ax.set(xscale="log", xticks=counts, xticklabels=counts, xlabel="labels per class", ylabel="accuracy", title="digits")
ax.legend()

# %%
# One more sample per class, added to a fitted classifier.
train, test = per_class_split(y, 4, 0)
clf = ANCRClassifier().fit(X[train], y[train])
before = clf.score(X[test], y[test])
more, _ = per_class_split(y, 4, 1, pool=test)
clf.partial_fit(X[more], y[more])
rest = np.setdiff1d(test, more)
print(f"{before:.3f} with 4 labels per class, {clf.score(X[rest], y[rest]):.3f} with 8")
