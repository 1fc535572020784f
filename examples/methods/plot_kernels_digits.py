"""
Kernels and powers on digits
============================

A power below one brings large and small values closer together; with an RBF kernel, distant samples stop counting.
Both are properties of the *space*, and every method of the family accepts them. On digits the kernel raises CRC to the
level of ANCR, while the power, which helps with features of deep networks, does not help.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from ancr import ANCRClassifier, CRCClassifier, Space

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=200, stratify=y, random_state=0)

spaces = {
    "linear": Space(),
    "power ½": Space(power=0.5),
    "RBF": Space("rbf", gamma=2.0),
    "power ½, RBF": Space("rbf", gamma=2.0, power=0.5),
}
methods = {"CRC": CRCClassifier(alpha=1e-2), "ANCR": ANCRClassifier(alpha=1e-3)}
scores = {
    name: [method.set_params(space=space).fit(X_train, y_train).score(X_test, y_test) for space in spaces.values()]
    for name, method in methods.items()
}

# %%
figure, ax = plt.subplots(layout="constrained")
for place, (name, values) in enumerate(scores.items()):
    ax.bar(np.arange(len(spaces)) + 0.4 * place - 0.2, values, 0.38, label=name)
ax.set(xticks=np.arange(len(spaces)), xticklabels=spaces, ylabel="accuracy", ylim=(0.85, 1.0))
ax.set(title="digits, 200 training samples")
ax.legend()
print(scores)
