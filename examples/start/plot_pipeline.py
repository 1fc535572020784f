"""
In a pipeline, after feature extraction
=======================================

The classifiers are scikit-learn estimators: they work in pipelines, grid searches and cross-validation. Samples
are scaled to unit norm inside; columns with units need a scaler first.
"""

# %%
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits, load_wine
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ancr import ANCRClassifier, Space

# %%
# Wine: alcohol in percent beside proline in mg/l. Without a scaler the largest column dominates.
X, y = load_wine(return_X_y=True)
scaled = make_pipeline(StandardScaler(), ANCRClassifier(alpha=1e-2, space=Space(normalize=False)))
print(f"scaled: {cross_val_score(scaled, X, y, cv=5).mean():.3f}")

# %%
# Digits: how many principal components, and which λ?
X, y = load_digits(return_X_y=True)
X, y = X[:700], y[:700]
pipeline = make_pipeline(PCA(random_state=0), ANCRClassifier())
grid = {"pca__n_components": [8, 16, 32, 60], "ancrclassifier__alpha": [1e-3, 1e-2, 1e-1]}
search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
print(search.best_params_, f"{search.best_score_:.3f}")

# %%
scores = search.cv_results_["mean_test_score"].reshape(3, 4)
figure, ax = plt.subplots(layout="constrained")
for alpha, values in zip(grid["ancrclassifier__alpha"], scores, strict=True):
    ax.plot(grid["pca__n_components"], values, "o-", label=f"λ = {alpha:g}")
ax.set(xlabel="principal components", ylabel="accuracy in three folds", title="digits: PCA, then ANCR")
ax.legend()
