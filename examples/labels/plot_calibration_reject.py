"""
Calibrated probabilities and a reject option
============================================

The held-out samples that choose the settings also calibrate the probabilities of ``ANCRClassifierCV`` and show how
far an answer can be trusted. ``RejectOption`` withholds the answers that cannot be trusted.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split

from ancr import ANCRClassifier, ANCRClassifierCV
from ancr.model_selection import RejectOption

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=150, stratify=y, random_state=0)
chosen = ANCRClassifierCV().fit(X_train, y_train)
fixed = ANCRClassifier().fit(X_train, y_train)

# %%
# How often the predicted class is right, against its stated probability.
figure, ax = plt.subplots(layout="constrained")
for name, clf in (("ANCRClassifierCV", chosen), ("ANCRClassifier, temperature 0.1", fixed)):
    stated = clf.predict_proba(X_test).max(axis=1)
    right = clf.predict(X_test) == y_test
    found, mean = calibration_curve(right, stated, n_bins=6, strategy="quantile")
    ax.plot(mean, found, "o-", label=name)
ax.plot([0.4, 1], [0.4, 1], "k:", label="perfectly calibrated")
ax.set(xlabel="stated probability", ylabel="share of right answers", title="digits, 150 training samples")
ax.legend()

# %%
# Noise is not a digit. A withheld answer is ``reject_label_``: some of the digits are withheld, and all of the noise.
# The share of right answers among those accepted comes with an interval, which is wide with 150 samples.
careful = RejectOption(FrozenEstimator(chosen)).fit(X_train, y_train)
noise = np.random.default_rng(0).integers(0, 17, (200, 64)).astype(float)
for name, queries in (("digits", X_test), ("noise", noise)):
    withheld = careful.predict(queries) == careful.reject_label_
    print(f"{name}: {withheld.mean():.1%} withheld")
print("right among those accepted: {:.1%} to {:.1%}".format(*careful.trust_.interval))
