"""
Your own method compared with others
====================================

``ancr.compare`` runs methods by name, scikit-learn classifiers and your own on the same folds, each with settings
chosen on the training folds, and says which differences are more than chance. The command line does the same:
``ancr compare data.csv --methods ANCR,Softmax,mymodule:MyClassifier``.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits

import ancr


class NearestMean(ClassifierMixin, BaseEstimator):
    """The class with the nearest mean, after unit norm: a baseline."""

    def fit(self, X, y):
        """Compute the means."""
        self.classes_ = np.unique(y)
        unit = X / np.linalg.norm(X, axis=1, keepdims=True)
        self.means_ = np.array([unit[y == label].mean(axis=0) for label in self.classes_])
        return self

    def predict(self, X):
        """The nearest mean."""
        unit = X / np.linalg.norm(X, axis=1, keepdims=True)
        return self.classes_[np.argmax(unit @ self.means_.T - 0.5 * (self.means_**2).sum(axis=1), axis=1)]


X, y = load_digits(return_X_y=True)
comparison = ancr.compare(
    X[:500], y[:500], methods=["ANCR", "Softmax", "kNN", NearestMean()], name="digits", image_shape=(8, 8)
)
print(comparison)

# %%
# The answer in sentences, and the table as a frame.
for line in comparison.answer.lines():
    print("-", line)
comparison.to_frame()[["method", "accuracy", "sd", "p_value", "mark", "fit_s"]].round(4)

# %%
# The same as a picture: accuracy of each method, with its spread over the folds.
frame = comparison.to_frame().sort_values("accuracy")
figure, ax = plt.subplots(layout="constrained")
ax.errorbar(frame["accuracy"], frame["method"], xerr=frame["sd"], fmt="o", capsize=4)
ax.set(xlabel="accuracy in % (mean ± SD, 5 folds)", title="digits, 500 samples")

# %%
# ``comparison.save("report.html")`` writes the report: table, confusion, calibration, learning curve and hard samples
# with their witnesses. Its figures are charts that can be saved one by one.
svg = comparison.charts[0].svg()
print({chart.name: chart.title for chart in comparison.charts}, f"{len(svg)} characters of SVG")
