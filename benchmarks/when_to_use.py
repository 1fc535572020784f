"""The family beside softmax, SVM, kNN and forests on pixels, deep features and tables of units.

    python benchmarks/when_to_use.py            # writes results/when_to_use.md; about ten minutes on one core
    python benchmarks/when_to_use.py FOLDER     # keeps what is finished in FOLDER, and resumes from it

Five stratified folds, every method with settings chosen on the training folds (`ancr.compare`). USPS and Stanford 40
take part where their data is found; of each set a stratified part is used, so that the script ends in minutes.
"""

import sys
import time
from pathlib import Path

import numpy as np
from sklearn import datasets as sklearn_datasets
from sklearn.model_selection import train_test_split

import ancr
from ancr import datasets
from ancr._core.files import write_text

METHODS = ("ANCR", "CRC", "Softmax", "SVM", "RBF SVM", "kNN", "Random forest")
OUTPUT = Path(__file__).parent / "results" / "when_to_use.md"


def main(folder=None):
    rows = []
    for name, kind, load in (
        ("digits", "pixels, 64", lambda: sklearn_datasets.load_digits(return_X_y=True)),
        ("USPS", "pixels, 256", lambda: _bunch(datasets.load_usps())),
        ("Stanford 40", "deep features, 1280", lambda: _bunch(datasets.load_stanford40(features="efficientnet_lite0"))),
        ("wine", "table with units, 13", lambda: _frame(sklearn_datasets.load_wine)),
        ("breast cancer", "table with units, 30", lambda: _frame(sklearn_datasets.load_breast_cancer)),
    ):
        try:
            X, y = load()
        except datasets.DataNotFoundError as error:
            print(f"{name}: left out: {str(error).splitlines()[0]}")
            continue
        start = time.perf_counter()
        X, y = _part(X, y, 800)
        comparison = ancr.compare(
            X, y, METHODS, name=name, jobs=1, learning_curve=False, output=folder and f"{folder}/{name}"
        )
        rows.append((f"{name} ({kind}; {len(y)} samples, {len(np.unique(y))} classes)", comparison))
        print(comparison, f"{time.perf_counter() - start:.0f} s", sep="\n", flush=True)
    write_text(OUTPUT, table(rows))


def table(rows):
    """The table as Markdown: the best in bold, ≈ for those as good, ? for those that the samples cannot tell apart."""
    lines = ["| data | " + " | ".join(METHODS) + " |", "|---|" + "---:|" * len(METHODS)]
    for name, comparison in rows:
        results = {result.name: result for result in comparison.results}
        lines.append(f"| {name} | " + " | ".join(_entry(results[method]) for method in METHODS) + " |")
    return "\n".join(lines) + "\n"


def _entry(result):
    value = f"{result.mean:.1f}"
    return f"**{value}**" if result.is_best else f"{value} {result.symbol}".rstrip()


def _bunch(bunch):
    return bunch.data, bunch.target


def _frame(load):
    bunch = load(as_frame=True)
    return bunch.data, bunch.target


def _part(X, y, most):
    if len(y) <= most:
        return X, y
    X, _, y, _ = train_test_split(X, y, train_size=most, stratify=y, random_state=0)
    return X, y


if __name__ == "__main__":
    main(*sys.argv[1:])
