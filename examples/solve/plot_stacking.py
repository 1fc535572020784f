"""
Weights for stacking
====================

Several models, one prediction: a stack is a weighted mean of theirs, with weights chosen on predictions that were made
out of fold. Weights on the simplex neither extrapolate nor blow up where models agree, and those of bad models are
zero. It is one query over as many atoms as there are models.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import nnls
from sklearn.datasets import load_diabetes
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
from sklearn.linear_model import LassoCV, LinearRegression, RidgeCV
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

from ancr import prepare, solve

X, y = load_diabetes(return_X_y=True)
models = {
    "ridge": RidgeCV(),
    "lasso": LassoCV(),
    "forest": RandomForestRegressor(60, random_state=0),
    "extra trees": ExtraTreesRegressor(60, random_state=0),
    "k-NN": make_pipeline(StandardScaler(), KNeighborsRegressor(15)),
    "SVR": make_pipeline(StandardScaler(), SVR(C=30.0)),
    "tree": DecisionTreeRegressor(random_state=0),
}

# %%
# Ten random halves: out-of-fold predictions on one half choose the weights, the other half judges them.
# ``"free"`` is ordinary least squares without an intercept; SuperLearner uses ``nnls`` and normalises.


def weights_of(predictions, target):
    """Weights of the models by each way of stacking."""
    by_nnls = nnls(predictions.T, target)[0]
    return {
        "simplex (solve)": solve(predictions, target[None], alpha=0.0).toarray()[0],
        "nnls, normalised": by_nnls / by_nnls.sum(),
        "least squares": LinearRegression(fit_intercept=False).fit(predictions.T, target).coef_,
        "equal": np.full(len(predictions), 1.0 / len(predictions)),
        "best model": np.eye(len(predictions))[((predictions - target) ** 2).sum(axis=1).argmin()],
    }


errors, chosen = {}, []
for seed in range(10):
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[:221], order[221:]
    folds = KFold(5, shuffle=True, random_state=seed)
    inside = np.array([cross_val_predict(model, X[train], y[train], cv=folds) for model in models.values()])
    outside = np.array([model.fit(X[train], y[train]).predict(X[test]) for model in models.values()])
    for name, weights in weights_of(inside, y[train]).items():
        errors.setdefault(name, []).append(np.sqrt(np.mean((weights @ outside - y[test]) ** 2)))
    chosen.append(weights_of(inside, y[train])["simplex (solve)"])
for name, values in errors.items():
    print(f"{name:18} root mean square error {np.mean(values):.2f}")

# %%
# How certain are the weights? A bootstrap weighs the samples at random: ``feature_weight``, since the samples are the
# coordinates here. Each draw is a separate problem, and certified.
rng, draws = np.random.default_rng(0), []
for _ in range(200):
    counts = rng.multinomial(len(train), np.full(len(train), 1.0 / len(train)))
    draws.append(prepare(inside, alpha=0.0, feature_weight=counts).solve(y[train][None]))
print(f"certified: {np.mean([draw.verify()[0] for draw in draws]):.0%} of 200 draws")
spread = np.array([draw.toarray()[0] for draw in draws])

figure, ax = plt.subplots(layout="constrained")
ax.boxplot(spread, tick_labels=list(models), whis=(5, 95), showfliers=False)
ax.plot(np.arange(1, len(models) + 1), chosen[-1], "o", label="all samples")
ax.set(ylabel="weight", title="weights of the last stack and their bootstrap")
ax.tick_params(axis="x", rotation=30)
ax.legend()
