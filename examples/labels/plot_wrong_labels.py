"""
Find wrong labels
=================

Each label is judged by all other samples, without a refit. Here one label in twenty is wrong, and the audit does not
know which.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from ancr import ANCRClassifier, audit_labels

X, y = load_digits(return_X_y=True)
X, y = X[:800], y[:800]
random = np.random.default_rng(0)
wrong = random.choice(len(y), 40, replace=False)
given = y.copy()
given[wrong] = (y[wrong] + random.integers(1, 10, len(wrong))) % 10

# A setting of our own; without ``estimator`` it is chosen by cross-validation.
audit = audit_labels(X, given, estimator=ANCRClassifier(alpha=0.1, relaxation=1.0))
print(audit)

# %%
# The most suspicious come first. How many of the first k are wrong?
found = np.cumsum(np.isin(audit.ranking, wrong))
figure, ax = plt.subplots(layout="constrained")
ax.plot(np.arange(1, 121), found[:120])
ax.axvline(len(wrong), color="grey", linestyle=":", label="wrong labels")
ax.set(xlabel="samples looked at, most suspicious first", ylabel="wrong labels found")
ax.legend()
print(f"{found[len(wrong) - 1]} of {len(wrong)} are among the first {len(wrong)}")

# sphinx_gallery_thumbnail_number = 2

# %%
# With their images: the given label, the suggested one, and the samples that speak against the label.
audit.plot(images=X.reshape(-1, 8, 8), top=5)

# %%
# The effect of correcting the first 40 labels, on other samples.
X_test, y_test = load_digits(return_X_y=True)
X_test, y_test = X_test[800:], y_test[800:]
corrected = given.copy()
first = audit.ranking[: len(wrong)]
corrected[first] = audit.suggested[first]
for name, labels in (("as given", given), ("corrected", corrected), ("true labels", y)):
    print(f"{name:11} {ANCRClassifier().fit(X, labels).score(X_test, y_test):.3f}")
