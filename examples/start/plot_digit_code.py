"""
The code of a digit and its witnesses
=====================================

A query is written as a combination of *all* training samples at once. On the simplex the weights are non-negative and
sum to one, so that most of them are zero: the few samples that remain are the witnesses of the decision.
"""

# %%
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from ancr import ANCRClassifier, ExplanationDisplay, ResidualDisplay

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=500, stratify=y, random_state=0)
clf = ANCRClassifier(alpha=1e-3).fit(X_train, y_train)

# %%
# The code of one test digit over 500 training digits: how many weights are not zero, and that they sum to one.
code = clf.codes(X_test[:1])
print(f"{code.nnz} of {code.shape[1]} weights are positive; their sum is {code.sum():.6f}")

# %%
# The samples with the largest weights, with their classes.
ExplanationDisplay.from_estimator(clf, X_test[0], samples=X_train, image_shape=(8, 8), top=6)

# %%
# Each class tries to represent the query with its own samples and weights alone. The smallest residual decides.
ResidualDisplay.from_estimator(clf, X_test[:3], y_test[:3])

# %%
# A notebook shows an explanation as a table, with images if it is given the samples.
clf.explain(X_test[:1], top=4)[0].illustrated(X_test[0], X_train, (8, 8))
