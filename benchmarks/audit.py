"""Wrong labels, found: `ancr.audit_labels` against cleanlab with tuned classifiers, on labels flipped in four ways.

    python benchmarks/audit.py --study
    python benchmarks/audit.py --data digits,usps --noise uniform --shares 5,20 --methods ancr --seeds 3
    python benchmarks/audit.py --table

Each cell is a line of ``benchmarks/results/audit.jsonl``; cells that are there are not computed again. If a run
was stopped, run the same command again, and it resumes. ``--study`` is a grid of 39 cells per method: see `STUDY`.

    python benchmarks/audit.py --cost                               time of an audit, of its CV fit and of cleanlab
    python benchmarks/audit.py --real --data usps --sheet usps.png  the most suspicious labels of the data as they are
"""

import argparse
import json
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from _timing import best_times
from sklearn.base import clone
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
# All kinds of noise where cells are cheap, and uniform noise at two shares where there are 100 to 200 classes.
STUDY = [
    (("digits", "usps", "stanford40"), ("uniform",), (2, 5, 10, 20, 40)),
    (("digits", "usps", "stanford40"), ("pairs", "classes", "annotator"), (5, 20)),
    (("ar", "cub", "cars"), ("uniform",), (5, 20)),
]
LOADERS = {
    "digits": lambda: load_digits(),
    "usps": load_usps,
    "ar": load_ar,
    "stanford40": lambda: load_stanford40(features=FEATURES),
    "cub": lambda: load_cub200(features=FEATURES),
    "cars": lambda: load_cars(features=FEATURES),
}


def load(name):
    """At most 2,000 samples of the official training set, drawn with seed 0, and their classes as numbers."""
    bunch = LOADERS[name]()
    training = np.asarray(bunch.get("train_indices", np.arange(len(bunch.target))))
    rows = np.random.default_rng(0).permutation(training)[:SAMPLES]
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
    "svc": (lambda: SVC(random_state=0), {"svc__C": [1.0, 10.0]}),
    "forest": (
        lambda: RandomForestClassifier(300, random_state=0),
        {"randomforestclassifier__min_samples_leaf": [1, 5]},
    ),
}


def suspicion_of_rival(name, X, given):
    """Cleanlab's normalised margin and self-confidence from probabilities of five folds, settings chosen by CV."""
    from cleanlab.rank import get_label_quality_scores

    make, grid = RIVALS[name]
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    search = GridSearchCV(make_pipeline(StandardScaler(), make()), grid, cv=StratifiedKFold(3), refit=False)
    best = clone(search.estimator).set_params(**search.fit(X, given).best_params_)
    if name == "svc":  # Platt's probabilities cost five more fits and do not change the accuracy that chooses C
        best.set_params(svc__probability=True)
    chances = cross_val_predict(best, X, given, cv=folds, method="predict_proba")
    methods = ("normalized_margin", "self_confidence")
    return {method: -get_label_quality_scores(given, chances, method=method) for method in methods}


def _finite(score):
    """Samples that cannot be judged, the only ones of their class, come last."""
    return np.where(np.isfinite(score), score, score[np.isfinite(score)].min() - 1.0)


def run(name, noise, share, seed, method, data):
    """One cell: how well a method finds the labels that were flipped; a rival has one for each of its scores."""
    X, y = data
    given, wrong = flip(X, y, noise, share, seed)
    warnings.simplefilter("ignore")
    start, counted = time.perf_counter(), None
    if method == "ancr":
        audit = ancr.audit_labels(X, given)
        scores, counted = {"": _finite(audit.score)}, audit.n_errors.estimate
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


METHODS = ("ancr", *RIVALS)


def by_cell():
    """``{(dataset, noise, share): {method: {score: cells}}}``, data sets in the order of the study."""
    groups = {}
    order = {name: place for place, name in enumerate(("digits", "usps", "stanford40", "ar", "cub", "cars"))}
    kinds = {kind: place for place, kind in enumerate(("uniform", "pairs", "classes", "annotator"))}
    for cell in sorted(known(), key=lambda one: (order[one["dataset"]], kinds[one["noise"]], one["share"])):
        scores = groups.setdefault((cell["dataset"], cell["noise"], cell["share"]), {}).setdefault(cell["method"], {})
        scores.setdefault(cell["score"], []).append(cell)
    return groups


def best(scores, value):
    """The better score of a method, by the mean over seeds; None if it was not run."""
    return max((float(np.mean([one[value] for one in own])) for own in scores.values()), default=None)


def table():
    """One row per cell, of a rival the better of its two scores; then the mean seconds."""
    groups = by_cell()
    print(f"| data | noise | % | {' | '.join(METHODS)} | at n: ancr | best rival | n_errors / truth |")
    print("|---|---|---|" + "---|" * (len(METHODS) + 3))
    for (name, noise, share), methods in groups.items():
        shown = [_number(best(methods.get(method, {}), "average_precision"), 4) for method in METHODS]
        at_n = {method: best(scores, "precision_at_n") for method, scores in methods.items()}
        shown += [_number(at_n.pop("ancr", None), 3), _number(max(at_n.values(), default=None), 3)]
        own = methods.get("ancr", {}).get("", [])
        shown.append(_number(np.mean([one["n_errors"] / one["n_wrong"] for one in own]) if own else None, 2))
        print(f"| {name} | {noise} | {100 * share:g} | {' | '.join(shown)} |")
    print(f"\n| seconds | {' | '.join(METHODS)} |\n|---|" + "---|" * len(METHODS))
    for name in dict.fromkeys(key[0] for key in groups):
        shown = [_number(_seconds(groups, name, method), 1) for method in METHODS]
        print(f"| {name} | {' | '.join(shown)} |")


def _number(value, digits):
    return "–" if value is None else f"{value:.{digits}f}"


def _seconds(groups, name, method):
    """Mean over the cells of a data set; None if there are none."""
    scores = [groups[key].get(method, {}) for key in groups if key[0] == name]
    seconds = [cell["seconds"] for own in scores for cells in own.values() for cell in cells]
    return float(np.mean(seconds)) if seconds else None


def wins():
    """In how many cells the audit is ahead of every rival that was run, and where it is not."""
    compared, behind = 0, []
    for key, methods in by_cell().items():
        values = {method: best(scores, "average_precision") for method, scores in methods.items()}
        if "ancr" in values and len(values) > 1:
            compared += 1
            rival = max((one for one in values if one != "ancr"), key=values.get)
            if values["ancr"] <= values[rival]:
                cell = f"{key[0]} {key[1]} {100 * key[2]:g} %"
                behind.append(f"{cell}: {values['ancr']:.4f}, {rival} {values[rival]:.4f}")
    print(f"\nAhead of every rival in {compared - len(behind)} of {compared} cells.", *behind, sep="\n")


def cost():
    """An audit of 4,000 × 1280, with a search for its settings and without, against the CV fit and cleanlab."""
    from cleanlab.rank import get_label_quality_scores

    bunch = load_stanford40(features=FEATURES)
    rows = np.random.default_rng(0).permutation(len(bunch.target))[:4000]
    X, y = np.asarray(bunch.data)[rows].astype(float), np.asarray(bunch.target)[rows]
    y = np.unique(y, return_inverse=True)[1]
    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))

    def by_cleanlab():
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        get_label_quality_scores(y, cross_val_predict(logistic, X, y, cv=folds, method="predict_proba"))

    ancr.audit_labels(X[:300], y[:300])  # compile
    jobs = {
        "CV fit": lambda: ancr.ANCRClassifierCV().fit(X, y),
        "audit": lambda: ancr.audit_labels(X, y),
        "audit, settings given": lambda: ancr.audit_labels(X, y, estimator=ancr.ANCRClassifier(space="rbf", alpha=0.1)),
        "cleanlab, C given": by_cleanlab,
        "cleanlab, C chosen": lambda: suspicion_of_rival("logistic", X, y),
    }
    times = best_times(jobs, repeats=1)
    print(f"{X.shape[0]} × {X.shape[1]}: " + ", ".join(f"{name} {seconds:.1f} s" for name, seconds in times.items()))
    pairs = [("audit", "CV fit"), ("audit", "cleanlab, C chosen"), ("audit, settings given", "cleanlab, C given")]
    for one, other in pairs:
        print(f"{one} / {other}: {times[one] / times[other]:.2f}")


def real(name, sheet, top=20):
    """The most suspicious labels of a data set as it is; images of USPS on one sheet."""
    bunch = LOADERS[name]()
    names = getattr(bunch, "target_names", None)
    rows = np.random.default_rng(0).permutation(len(bunch.target))[:SAMPLES]
    X, y = np.asarray(bunch.data)[rows].astype(float), np.asarray(bunch.target)[rows]
    audit = ancr.audit_labels(X, y)
    say = str if names is None else lambda label: str(names[label])
    print(f"\n{name}: {audit!r}\n| row | label | suggested | probability of the label |\n|---|---|---|---|")
    for i in audit.ranking[:top]:
        print(f"| {rows[i]} | {say(audit.labels[i])} | {say(audit.suggested[i])} | {audit.probability[i]:.3f} |")
    side = round(X.shape[1] ** 0.5)
    if sheet and side**2 == X.shape[1]:
        audit.plot(images=X.reshape(-1, side, side), top=top).figure_.savefig(sheet, dpi=60)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="digits,usps,stanford40,cub,cars,ar")
    parser.add_argument("--noise", default="uniform,pairs,classes,annotator")
    parser.add_argument("--shares", default="2,5,10,20,40", help="percent")
    parser.add_argument("--methods", default="ancr,logistic,knn,svc,forest")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--study", action="store_true", help="the cells of STUDY that are of --data")
    parser.add_argument("--table", action="store_true", help="print what is there and stop")
    parser.add_argument("--cost", action="store_true", help="time one audit and stop")
    parser.add_argument("--real", action="store_true", help="audit --data as they are and stop")
    parser.add_argument("--sheet", help="with --real: a PNG of the most suspicious images")
    options = parser.parse_args()
    if options.table:
        table()
        return wins()
    if options.cost:
        return cost()
    names = options.data.split(",")
    if options.real:
        for name in names:
            real(name, options.sheet)
        return None
    shares = tuple(float(text) for text in options.shares.split(","))
    grid = STUDY if options.study else [(names, options.noise.split(","), shares)]
    RESULTS.parent.mkdir(exist_ok=True)
    done = {(c["dataset"], c["noise"], c["share"], c["seed"], c["method"]) for c in known()}
    for method in options.methods.split(","):
        for own, noises, percents in grid:
            for name in (one for one in own if one in names):
                data = load(name)
                for noise, percent, seed in product(noises, percents, range(options.seeds)):
                    if (name, noise, percent / 100, seed, method) not in done:
                        write(run(name, noise, percent / 100, seed, method, data))
    return None


def write(cells):
    """Add cells to the results, and show them."""
    lines = [json.dumps(cell) for cell in cells]
    with RESULTS.open("a") as file:
        file.writelines(line + "\n" for line in lines)
    print(*lines, sep="\n", flush=True)


if __name__ == "__main__":
    main()
