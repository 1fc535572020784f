"""
Active learning: a labelling loop
=================================

Labels are expensive. ``next_to_label`` names the samples of a pool whose labels help most: those that the classifier
is least sure of, spread over the pool. Here it is compared with labelling at random.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from ancr import ANCRClassifier, next_to_label

X, y = load_digits(return_X_y=True)
mixed = np.random.default_rng(0).permutation(len(y))
pool, test = mixed[:900], mixed[900:]


def curve(strategy, seed, rounds=10, batch=10):
    """Accuracy on the test samples after each round of labels."""
    known = [int(np.flatnonzero(y[pool] == digit)[seed]) for digit in range(10)]
    accuracy = []
    for _ in range(rounds):
        clf = ANCRClassifier(alpha=0.1, relaxation=1.0).fit(X[pool[known]], y[pool[known]])
        accuracy.append(clf.score(X[test], y[test]))
        known += next_to_label(clf, X[pool], batch, labelled=known, strategy=strategy, random_state=seed).tolist()
    return accuracy


# %%
labels = 10 + 10 * np.arange(10)
figure, ax = plt.subplots(layout="constrained")
for strategy in ("auto", "random"):
    curves = np.array([curve(strategy, seed) for seed in range(3)])
    ax.plot(labels, curves.mean(axis=0), "o-", label={"auto": "next_to_label", "random": "at random"}[strategy])
    ax.fill_between(labels, curves.min(axis=0), curves.max(axis=0), alpha=0.2)
    print(f"{strategy:7}", " ".join(f"{value:.3f}" for value in curves.mean(axis=0)))
ax.set(xlabel="labels", ylabel="accuracy on other samples", title="digits, 3 draws")
ax.legend()
