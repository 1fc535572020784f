"""Whether locality helps a classifier: ANCR with λ alone, and with λ and the weight of `Locality`.

    python benchmarks/locality.py

Both are chosen by leave-one-out on the training samples; six random splits of each set, class residuals, unit norm.
Prints accuracies in % and their difference with its standard error.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_classification
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler, normalize

from ancr import Locality, prepare

ALPHAS, WEIGHTS = (1e-4, 1e-3, 1e-2, 1e-1), (0.0, 1e-3, 1e-2, 1e-1, 1.0)
SPLITS, QUERIES = 6, 300


def main():
    for name, (X, y, n_train) in data():
        pairs = [np.array(accuracies(X, y, n_train, seed)) for seed in range(SPLITS)]
        without, together = 100 * np.mean(pairs, axis=0)
        difference = 100 * np.diff(pairs, axis=1)[:, 0]
        error = difference.std(ddof=1) / np.sqrt(SPLITS)
        print(f"{name}: {without:.2f} without, {together:.2f} with: {difference.mean():+.2f} ± {error:.2f}", flush=True)


def data():
    """(name, (samples, labels, number of training samples))"""
    for name, load in (("iris", load_iris), ("wine", load_wine), ("breast cancer", load_breast_cancer)):
        X, y = load(return_X_y=True)
        yield name, (StandardScaler().fit_transform(X), y, 100)
    yield "digits", (*load_digits(return_X_y=True), 150)
    for seed in (0, 1):
        made = make_classification(600, 12, n_informative=6, n_classes=4, random_state=seed)
        yield f"generated {seed}", (*made, 150)


def accuracies(X, y, n_train, seed):
    """Accuracy without and with locality on queries of one split."""
    atoms, queries, labels, truth = train_test_split(X, y, train_size=n_train, stratify=y, random_state=seed)
    atoms, queries, truth = normalize(atoms), normalize(queries[:QUERIES]), truth[:QUERIES]
    found = []
    for weights in ((0.0,), WEIGHTS):
        alpha, weight = chosen(atoms, labels, weights)
        codes = coded(prepare(atoms, alpha=alpha), queries, weight)
        found.append((winners(atoms, labels, queries, codes) == truth).mean())
    return found


def chosen(atoms, labels, weights):
    """λ and the weight of locality that leave-one-out prefers."""
    best, setting = -1.0, None
    for alpha in ALPHAS:
        coder = prepare(atoms, alpha=alpha)
        for weight in weights:
            codes = coded(coder, atoms, weight, exclude=np.arange(len(atoms)))
            score = (winners(atoms, labels, atoms, codes) == labels).mean()
            if score > best:
                best, setting = score, (alpha, weight)
    return setting


def coded(coder, queries, weight, **options):
    return coder.solve(queries, prices=Locality(weight) if weight else None, **options).toarray()


def winners(atoms, labels, queries, codes):
    """The class with the smallest residual."""
    classes = np.unique(labels)
    parts = [((queries - codes[:, labels == k] @ atoms[labels == k]) ** 2).sum(axis=1) for k in classes]
    return classes[np.argmin(parts, axis=0)]


if __name__ == "__main__":
    main()
