"""
Your own rule
=============

A rule turns a code into one score per class. A new one is a subclass with one method, and everything else accepts it:
classifiers, cross-validation, the command line.
"""

# %%
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score

from ancr import ANCRClassifier
from ancr.axes.rules import Rule


class Energy(Rule):
    """‖c_i‖², the squared norm of the entries of each class."""

    name = "energy"

    def scores(self, queries, codes):
        """One score per class, larger is better."""
        return queries.dictionary.class_norms(codes)


# %%
# A comparison with the built-in rules, on 600 digits.
X, y = load_digits(return_X_y=True)
rules = {"res": "res", "label": "label", "reg": "reg", "energy (ours)": Energy()}
scores = {name: cross_val_score(ANCRClassifier(rule=rule), X[:600], y[:600], cv=3) for name, rule in rules.items()}

figure, ax = plt.subplots(layout="constrained")
ax.boxplot(list(scores.values()), tick_labels=list(scores))
ax.set(xlabel="rule", ylabel="accuracy in three folds", title="digits: our rule and the built-in ones")
print({name: round(float(values.mean()), 3) for name, values in scores.items()})
