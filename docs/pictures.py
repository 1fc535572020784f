"""Draw the pictures of the how-to pages from measured tables: ``python docs/pictures.py``."""

import re
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt

DOCS = Path(__file__).parent
RESULTS = DOCS.parent / "benchmarks" / "results"


def rows_of(text):
    """The cells of all rows of a Markdown table, without its head."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"][2:]


def number(cell):
    """The first number of a cell."""
    return float(re.search(r"[\d,.]*\d", cell)[0].replace(",", ""))


def save(figure, name):
    """Write it so that the same numbers give the same file."""
    figure.savefig(DOCS / "images" / f"{name}.svg", metadata={"Date": None})


def which_method():
    """Accuracy of each method on five data sets."""
    text = (RESULTS / "when_to_use.md").read_text(encoding="utf-8")
    methods = [cell.strip() for cell in text.splitlines()[0].strip("|").split("|")][1:]
    rows = rows_of(text)
    figure, ax = plt.subplots(figsize=(7.2, 3.4), layout="constrained")
    for k, method in enumerate(methods):
        places = [len(rows) - 1 - i + 0.3 - 0.1 * k for i in range(len(rows))]
        ax.plot([number(row[1 + k]) for row in rows], places, "osD^v<>"[k], label=method)
    ax.set_yticks(range(len(rows)), [row[0].partition(" (")[0] for row in reversed(rows)])
    ax.set(xlabel="accuracy in %, five folds")
    ax.grid(axis="x", alpha=0.3)
    figure.legend(loc="outside right upper")
    save(figure, "which-method")


def sizes():
    """Time to fit and to classify, a pair of bars for each row of the table."""
    rows = rows_of((RESULTS / "sizes.md").read_text(encoding="utf-8"))
    figure, ax = plt.subplots(figsize=(7.2, 3.8), layout="constrained")
    for k, what in enumerate(("fit", "1,000 queries")):
        heights = [number(row[2 + k]) for row in rows]
        bars = ax.barh([i - 0.2 + 0.4 * k for i in range(len(rows))], heights, 0.38, label=what)
        ax.bar_label(bars, fmt="%g s", padding=3, fontsize=8)
    names = [
        row[1].strip("`").replace("Classifier", "").replace('space=Space("rbf", n_landmarks=1000)', "landmarks")
        for row in rows
    ]
    ax.set_yticks(range(len(rows)), [f"{row[0]}  {name}" for row, name in zip(rows, names, strict=True)])
    ax.invert_yaxis()
    ax.set(xscale="log", xlim=(0.05, 200), xlabel="processor time")
    figure.legend(loc="outside right upper")
    save(figure, "sizes")


def texts():
    """Accuracy with eight texts per intent, from the table of the page."""
    page = (DOCS / "texts.md").read_text(encoding="utf-8").partition("## How good is it?")[2]
    rows = [[cell.replace("*", "") for cell in row] for row in rows_of(page)]
    figure, ax = plt.subplots(figsize=(7.2, 2.6), layout="constrained")
    for k, kind in enumerate(("TF-IDF", "sentence vectors")):
        bars = ax.barh(
            [i + 0.2 - 0.4 * k for i in range(len(rows))], [float(row[1 + k]) for row in rows], 0.38, label=kind
        )
        ax.bar_label(bars, fmt="%.1f", padding=3)
    ax.set_yticks(range(len(rows)), [row[0] for row in rows])
    ax.invert_yaxis()
    ax.set(xlabel="accuracy in %, eight texts per intent", xlim=(0, 100))
    figure.legend(loc="outside right upper")
    save(figure, "texts")


if __name__ == "__main__":
    plt.rcParams["svg.hashsalt"] = "ancr"
    which_method()
    sizes()
    texts()
