"""
Choosing settings without a test label
======================================

``ANCRClassifierCV`` searches over spaces, λ, relaxation, set and rule. It scores each setting by leave-one-out,
which costs little more than coding every sample once.
"""

# %%
import time

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from ancr import ANCRClassifierCV

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=300, stratify=y, random_state=0)

start = time.perf_counter()
clf = ANCRClassifierCV().fit(X_train, y_train)
print(f"{len(clf.cv_results_['params'])} settings in {time.perf_counter() - start:.1f} s")
print(f"expected {clf.best_score_:.3f}, found {clf.score(X_test, y_test):.3f}")
print({name: clf.best_params_[name] for name in ("space", "alpha", "constraint", "relaxation", "rule")})

# %%
# Everything that was tried. The search scores CRC in all spaces first and refines the best three.
tried = pd.DataFrame({name: clf.cv_results_[name] for name in ("param_alpha", "accuracy")})
figure, ax = plt.subplots(layout="constrained")
for kernel, group in tried.groupby([space.kernel for space in clf.cv_results_["param_space"]]):
    shift = {"linear": 0.85, "rbf": 1.15}[kernel]  # beside each other
    ax.semilogx(group["param_alpha"] * shift, group["accuracy"], "o", alpha=0.5, label=kernel)
ax.set(xlabel="λ (alpha)", ylabel="leave-one-out accuracy", title="every setting that was tried")
figure.legend(title="kernel", loc="outside right upper")
