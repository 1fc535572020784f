"""
Relaxation: a bridge from CRC to ANCR
=====================================

``relaxation=γ`` lets a code leave the simplex at the price γ/2·dist². For γ → 0 that is CRC, for γ → ∞ it is ANCR, and
every point between is a convex problem with a certificate.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from ancr import ANCRClassifier, CRCClassifier

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=200, stratify=y, random_state=0)
X_test, y_test = X_test[:800], y_test[:800]

relaxations = np.geomspace(1e-3, 1e3, 13)
scores = [
    ANCRClassifier(alpha=1e-2, relaxation=relaxation).fit(X_train, y_train).score(X_test, y_test)
    for relaxation in relaxations
]
crc = CRCClassifier(alpha=1e-2).fit(X_train, y_train).score(X_test, y_test)
hard = ANCRClassifier(alpha=1e-2).fit(X_train, y_train).score(X_test, y_test)

# %%
figure, ax = plt.subplots(layout="constrained")
ax.semilogx(relaxations, scores, "o-", label="relaxed ANCR")
ax.axhline(crc, color="C2", linestyle=":", label="CRC (no constraint)")
ax.axhline(hard, color="C1", linestyle="--", label="ANCR (simplex)")
ax.set(xlabel="relaxation γ", ylabel="accuracy", title="digits, 20 training samples per class")
ax.legend()

# %%
# A check at one end: the largest difference between the residuals at γ = 1e-6 and those of CRC.
near = ANCRClassifier(alpha=1e-2, relaxation=1e-6).fit(X_train, y_train)
free = CRCClassifier(alpha=1e-2).fit(X_train, y_train)
print(f"{np.abs(near.residuals(X_test[:50]) - free.residuals(X_test[:50])).max():.1e}")
