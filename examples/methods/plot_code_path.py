"""
How λ spreads the weight
========================

The ridge λ‖c‖² evens out the weights. As λ grows, the code of a query goes from a few witnesses to the mean of all
training samples.
"""

# %%
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from ancr import ANCRClassifier, CodePathDisplay

X, y = load_digits(return_X_y=True)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
training = {"samples": X[:300], "labels": y[:300]}
CodePathDisplay.from_estimator(ANCRClassifier(), X[600], **training, ax=axes[0])
axes[0].set(title=f"λ, on the simplex; the query is a {y[600]}", xlabel="λ (alpha)")
relaxations = [1e-3, 1e-2, 1e-1, 1, 10, 100, 1e3]
CodePathDisplay.from_estimator(
    ANCRClassifier(alpha=1e-2), X[600], **training, param="relaxation", values=relaxations, ax=axes[1]
)
axes[1].set(title="relaxation γ, from CRC to ANCR", xlabel="γ (relaxation)")
