"""Wrong labels, found: `ancr.audit_labels` against cleanlab with tuned classifiers, on labels flipped in four ways.

    python benchmarks/audit.py --data digits,usps,stanford40 --noise uniform --shares 5,20 --seeds 3

Each cell is a line of ``benchmarks/results/audit.jsonl``; cells that are there are not computed again. ``--table``
prints what is there.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import ancr
from ancr.datasets import load_ar, load_cars, load_cub200, load_stanford40, load_usps

RESULTS = Path(__file__).parent / "results" / "audit.jsonl"
SAMPLES = 2000
FEATURES = "efficientnet_lite0"
LOADERS = {
    "digits": lambda: load_digits(),
    "usps": load_usps,
    "ar": load_ar,
    "stanford40": lambda: load_stanford40(features=FEATURES),
    "cub": lambda: load_cub200(features=FEATURES),
    "cars": lambda: load_cars(features=FEATURES),
}


def load(name):
    """At most 2,000 samples, drawn with seed 0, and their classes as numbers."""
    bunch = LOADERS[name]()
    rows = np.random.default_rng(0).permutation(len(bunch.target))[:SAMPLES]
    return np.asarray(bunch.data)[rows].astype(float), np.unique(np.asarray(bunch.target)[rows], return_inverse=True)[1]


def flip(X, y, noise, share, seed):
    """Labels of which a share is wrong, and which."""
    random, n, classes = np.random.default_rng(seed), len(y), int(y.max()) + 1
    chance, number = np.ones(n), round(share * n)
    means = np.array([X[y == k].mean(axis=0) for k in range(classes)])
    apart = np.linalg.norm(means[:, None] - means, axis=2)
    np.fill_diagonal(apart, np.inf)
    near = apart.argmin(axis=1)
    if noise == "classes":  # some classes are hit up to ten times as often as others
        chance = np.geomspace(1.0, 0.1, classes)[random.permutation(classes)][y]
    if noise == "annotator":  # near the boundary: own class mean and the nearest other one are about as far
        far = np.linalg.norm(X[:, None] - means, axis=2) if X.size * classes < 5e7 else _far(X, means)
        own = far[np.arange(n), y]
        far[np.arange(n), y] = np.inf
        chance, second = np.exp(-6.0 * (far.min(axis=1) - own) / np.median(own)), far.argmin(axis=1)
    rows = random.choice(n, number, replace=False, p=chance / chance.sum())
    given = y.copy()
    if noise == "pairs":
        given[rows] = near[y[rows]]
    elif noise == "annotator":
        given[rows] = second[rows]
    else:
        given[rows] = (y[rows] + random.integers(1, classes, number)) % classes
    return given, given != y


def _far(X, means):
    squares = (X**2).sum(axis=1)[:, None] + (means**2).sum(axis=1) - 2.0 * X @ means.T
    return np.sqrt(np.maximum(squares, 0.0))


RIVALS = {
    "logistic": (lambda: LogisticRegression(max_iter=2000), {"logisticregression__C": [0.01, 0.1, 1.0]}),
    "knn": (KNeighborsClassifier, {"kneighborsclassifier__n_neighbors": [5, 10, 20]}),
    "svc": (lambda: SVC(probability=True, random_state=0), {"svc__C": [1.0, 10.0], "svc__gamma": ["scale"]}),
    "forest": (
        lambda: RandomForestClassifier(300, random_state=0),
        {"randomforestclassifier__max_features": ["sqrt", 0.2]},
    ),
}


def suspicion_of_rival(name, X, given):
    """Cleanlab's normalised margin and self-confidence from probabilities of five folds, settings chosen by CV."""
    from cleanlab.rank import get_label_quality_scores

    make, grid = RIVALS[name]
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    search = GridSearchCV(make_pipeline(StandardScaler(), make()), grid, cv=StratifiedKFold(3)).fit(X, given)
    chances = cross_val_predict(search.best_estimator_, X, given, cv=folds, method="predict_proba")
    methods = ("normalized_margin", "self_confidence")
    return {method: -get_label_quality_scores(given, chances, method=method) for method in methods}


def run(name, noise, share, seed, method, data):
    X, y = data
    given, wrong = flip(X, y, noise, share, seed)
    start, counted = time.perf_counter(), None
    if method == "ancr":
        audit = ancr.audit_labels(X, given)
        scores, counted = {"": audit.score}, audit.n_errors.estimate
    else:
        scores = suspicion_of_rival(method, X, given)
    seconds = time.perf_counter() - start
    cells = []
    for kind, score in scores.items():
        top = np.argsort(-score, kind="stable")[: wrong.sum()]
        cells.append(
            {
                "dataset": name,
                "noise": noise,
                "share": share,
                "seed": seed,
                "method": method,
                "score": kind,
                "average_precision": average_precision_score(wrong, score),
                "precision_at_n": float(wrong[top].mean()),
                "n_wrong": int(wrong.sum()),
                "n_errors": counted,
                "seconds": round(seconds, 2),
            }
        )
    return cells


def known():
    return [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []


def table():
    """Average precision, the mean over seeds, with n_errors over the truth and seconds."""
    cells, groups = known(), {}
    for cell in cells:
        key = cell["dataset"], cell["noise"], cell["share"]
        groups.setdefault(key, {}).setdefault((cell["method"], cell["score"]), []).append(cell)
    print("| data | noise | % | method | score | AP | precision at n | n_errors / truth | s | seeds |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for (name, noise, share), methods in sorted(groups.items()):
        for (method, score), own in sorted(methods.items()):
            mean = {
                key: np.mean([one[key] for one in own]) for key in ("average_precision", "precision_at_n", "seconds")
            }
            ratio = "" if own[0]["n_errors"] is None else f"{np.mean([o['n_errors'] / o['n_wrong'] for o in own]):.2f}"
            print(
                f"| {name} | {noise} | {100 * share:g} | {method} | {score} | {mean['average_precision']:.4f} "
                f"| {mean['precision_at_n']:.3f} | {ratio} | {mean['seconds']:.1f} | {len(own)} |"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="digits,usps,stanford40,cub,cars,ar")
    parser.add_argument("--noise", default="uniform,pairs,classes,annotator")
    parser.add_argument("--shares", default="2,5,10,20,40", help="percent")
    parser.add_argument("--methods", default="ancr,logistic,knn,svc,forest")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--table", action="store_true", help="print what is there and stop")
    options = parser.parse_args()
    if options.table:
        return table()
    RESULTS.parent.mkdir(exist_ok=True)
    done = {(c["dataset"], c["noise"], c["share"], c["seed"], c["method"]) for c in known()}
    for method in options.methods.split(","):
        for name in options.data.split(","):
            data = load(name)
            for noise in options.noise.split(","):
                for share in (float(text) / 100 for text in options.shares.split(",")):
                    for seed in range(options.seeds):
                        if (name, noise, share, seed, method) in done:
                            continue
                        with warnings.catch_warnings():
                            warnings.simplefilter("ignore")
                            cells = run(name, noise, share, seed, method, data)
                        with RESULTS.open("a") as file:
                            file.writelines(json.dumps(cell) + "\n" for cell in cells)
                        for cell in cells:
                            print(json.dumps(cell), flush=True)
    return None


if __name__ == "__main__":
    main()
