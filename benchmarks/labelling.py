"""Which samples to label next: accuracy after each round of one more label per class, for several ways to choose.

    python benchmarks/labelling.py --data stanford40,usps --seeds 2

Starts from one labelled sample per class. `next_to_label` with relaxed ANCR against random choice, and against margin
sampling with logistic regression and with an SVM. Cells are lines of ``benchmarks/results/labelling.jsonl``; cells that
are there are not computed again. ``--table`` prints what is there.
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

import ancr
from ancr.datasets import load_cub200, load_stanford40, load_usps

RESULTS = Path(__file__).parent / "results" / "labelling.jsonl"
FEATURES = "efficientnet_lite0"
LOADERS = {
    "usps": load_usps,
    "stanford40": lambda: load_stanford40(features=FEATURES),
    "cub": lambda: load_cub200(features=FEATURES),
}
# A setting that suits few labels, the same for every data set and round.
SETTINGS = {"alpha": 0.1, "relaxation": 1.0, "power": 0.5}


def load(name):
    """Pool and test samples at unit norm, and their classes."""
    bunch = LOADERS[name]()
    X = np.asarray(bunch.data, float)
    y = np.unique(np.asarray(bunch.target), return_inverse=True)[1]
    return X[bunch.train_indices], y[bunch.train_indices], X[bunch.test_indices], y[bunch.test_indices]


def unit(X):
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)


class Ancr:
    """`next_to_label` with a strategy."""

    def __init__(self, strategy):
        self.strategy = strategy

    def fit(self, X, y):
        self.clf = ancr.ANCRClassifier(**SETTINGS).fit(X, y)
        return self

    def score(self, X, y):
        return self.clf.score(X, y)

    def choose(self, pool, n, labelled, seed):
        return ancr.next_to_label(self.clf, pool, n, labelled=labelled, strategy=self.strategy, random_state=seed)


class Margin:
    """Margin sampling with a classifier of scikit-learn, on samples at unit norm."""

    def __init__(self, make):
        self.make = make

    def fit(self, X, y):
        self.clf = self.make().fit(unit(X), y)
        return self

    def score(self, X, y):
        return self.clf.score(unit(X), y)

    def choose(self, pool, n, labelled, seed):
        values = np.sort(self.clf.decision_function(unit(pool)), axis=1)
        margins = values[:, -1] - values[:, -2]
        margins[labelled] = np.inf
        return np.argsort(margins, kind="stable")[:n]


METHODS = {
    "next_to_label": lambda: Ancr("auto"),
    "ancr margin": lambda: Ancr("margin"),
    "ancr random": lambda: Ancr("random"),
    "logistic margin": lambda: Margin(lambda: LogisticRegression(C=100.0, max_iter=500)),
    "svc margin": lambda: Margin(lambda: SVC(C=10.0, decision_function_shape="ovr")),
}


def curve(method, data, seed, rounds):
    """Accuracy in percent after each round."""
    X, y, test, truth = data
    random, classes = np.random.default_rng(seed), int(y.max()) + 1
    labelled = np.array([random.choice(np.flatnonzero(y == k)) for k in range(classes)])
    found = []
    for turn in range(rounds + 1):
        learner = METHODS[method]().fit(X[labelled], y[labelled])
        found.append(round(100.0 * learner.score(test, truth), 3))
        if turn < rounds:
            labelled = np.concatenate([labelled, learner.choose(X, classes, labelled, seed)])
    return found


def known():
    return [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []


def table():
    groups = {}
    for cell in known():
        groups.setdefault((cell["dataset"], cell["method"]), []).append(cell["accuracy"])
    print("| data | choice | seeds | after 2 | 4 | 8 | 12 rounds | rounds to reach random's 12 |")
    print("|---|---|---|---|---|---|---|---|")
    for (name, method), curves in sorted(groups.items()):
        mean, spread = np.mean(curves, axis=0), np.std(curves, axis=0)
        goal = np.mean(groups.get((name, "ancr random"), curves), axis=0)[-1]
        reached = np.flatnonzero(mean >= goal)
        cells = " | ".join(f"{mean[k]:.1f} ± {spread[k]:.1f}" for k in (2, 4, 8, 12) if k < len(mean))
        print(f"| {name} | {method} | {len(curves)} | {cells} | {reached[0] if len(reached) else 'not'} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="stanford40,cub,usps")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--table", action="store_true", help="print what is there and stop")
    options = parser.parse_args()
    if options.table:
        return table()
    RESULTS.parent.mkdir(exist_ok=True)
    done = {(c["dataset"], c["method"], c["seed"], len(c["accuracy"]) - 1) for c in known()}
    for name in options.data.split(","):
        data = load(name)
        for seed in range(options.seeds):
            for method in options.methods.split(","):
                if (name, method, seed, options.rounds) in done:
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    accuracy = curve(method, data, seed, options.rounds)
                cell = {"dataset": name, "method": method, "seed": seed, "accuracy": accuracy}
                with RESULTS.open("a") as file:
                    file.write(json.dumps(cell) + "\n")
                print(json.dumps(cell), flush=True)
    return None


if __name__ == "__main__":
    main()
