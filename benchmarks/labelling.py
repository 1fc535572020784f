"""Which samples to label next: accuracy after each round of one more label per class, for several ways to choose.

    python benchmarks/labelling.py --data stanford40,usps --seeds 2

Starts from one labelled sample per class. `next_to_label` with relaxed ANCR against random choice, and against margin
sampling with logistic regression and with an SVM. Cells are lines of ``benchmarks/results/labelling.jsonl``; cells that
are there are not computed again. ``--table`` prints what is there, ``--figure labelling.svg`` draws it.
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

import ancr
from ancr import Space
from ancr.datasets import load_cub200, load_stanford40, load_usps

RESULTS = Path(__file__).parent / "results" / "labelling.jsonl"
FEATURES = "efficientnet_lite0"
LOADERS = {
    "usps": load_usps,
    "stanford40": lambda: load_stanford40(features=FEATURES),
    "cub": lambda: load_cub200(features=FEATURES),
}
# A setting that suits few labels, the same for every data set and round; chosen on random parts of the training sets.
SETTINGS = {"space": Space("rbf", gamma=0.5, power=0.5), "alpha": 0.01, "relaxation": 0.3}


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


def curves():
    """``{(dataset, method): accuracy}``, an array of seeds × rounds, seeds in order."""
    groups = {}
    for cell in known():
        groups.setdefault((cell["dataset"], cell["method"]), {})[cell["seed"]] = cell["accuracy"]
    return {key: np.array([found[seed] for seed in sorted(found)]) for key, found in groups.items()}


def labels_needed(mean, goal):
    """Labels per class until a mean curve reaches a goal, between rounds by a straight line; None if it does not."""
    reached = np.flatnonzero(mean >= goal)
    if not len(reached):
        return None
    turn = reached[0]
    part = (goal - mean[turn - 1]) / (mean[turn] - mean[turn - 1]) if turn else 1.0
    return turn + part


def table():
    """Accuracy by round, the labels that random choice's last accuracy takes, and rivals that are better for sure."""
    found = curves()
    print("| data | choice | seeds | after 2 | 4 | 8 | 12 rounds | labels needed |")
    print("|---|---|---|---|---|---|---|---|")
    for (name, method), accuracy in sorted(found.items()):
        mean, spread = accuracy.mean(axis=0), accuracy.std(axis=0)
        needed = labels_needed(mean, found.get((name, "ancr random"), accuracy).mean(axis=0)[-1])
        share = "more" if needed is None else f"{100.0 * needed / len(mean):.0f} %"
        cells = " | ".join(f"{mean[k]:.1f} ± {spread[k]:.1f}" for k in (2, 4, 8, 12) if k < len(mean))
        print(f"| {name} | {method} | {len(accuracy)} | {cells} | {share} |")
    for (name, method), accuracy in sorted(found.items()):
        own = found.get((name, "next_to_label"))
        if method in ("logistic margin", "svc margin") and own is not None and len(own) == len(accuracy):
            ahead = own - accuracy
            noise = 2.0 * ahead.std(axis=0, ddof=1) / np.sqrt(len(ahead))
            behind = np.flatnonzero(ahead.mean(axis=0) < -noise).tolist()
            least = ahead.mean(axis=0)[1:].min()
            print(f"{name}, {method}: least lead {least:+.1f}; ahead by two standard errors in rounds {behind}")


_TITLES = {"stanford40": "Stanford 40", "cub": "CUB", "usps": "USPS"}


def draw(path):
    """One panel per data set, one line per method with its standard deviation over the seeds."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "ancr"  # the same results give the same file
    from matplotlib import pyplot as plt

    found = curves()
    names = [name for name in LOADERS if any(key[0] == name for key in found)]
    figure, axes = plt.subplots(1, len(names), figsize=(3.4 * len(names), 3.4), layout="constrained", squeeze=False)
    styles = dict(zip(METHODS, ("o-", "v:", "x:", "s--", "d--"), strict=True))
    for axis, name in zip(axes[0], names, strict=True):
        for method in (one for one in METHODS if (name, one) in found):
            accuracy = found[name, method]
            labels, mean, spread = 1 + np.arange(accuracy.shape[1]), accuracy.mean(axis=0), accuracy.std(axis=0)
            axis.plot(labels, mean, styles[method], label=method, markersize=4)
            axis.fill_between(labels, mean - spread, mean + spread, alpha=0.2)
        axis.set(title=_TITLES.get(name, name), xlabel="labels per class, on average")
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("accuracy in %")
    axes[0][-1].legend(frameon=False)
    figure.savefig(path, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="stanford40,cub,usps")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--table", action="store_true", help="print what is there and stop")
    parser.add_argument("--figure", type=Path, help="an SVG of what is there")
    options = parser.parse_args()
    if options.figure:
        draw(options.figure)
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
