"""How often a comparison says what is not so, and how often it sees what is.

    python benchmarks/significance.py     # writes results/significance_*.md; about three minutes on one core

Two studies. *Answers*: right and wrong answers are drawn directly, with given accuracies and a given correlation
between methods. *Refits*: data is drawn anew for each run, and two methods are trained and tested in folds. Where they
are to be equally good they are one and the same classifier, each on its own columns: the columns of both have the same
distribution, so neither can be better on average over data sets, and two thirds of the columns they have in common, so
that their errors are alike. Where one is to be better, the other sees the same columns with noise.
"""

import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import sklearn
from scipy.stats import norm
from scipy.stats import t as student
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from ancr._core.files import write_text
from ancr.comparison.significance import WIDENING, judge, outcome, paired_gap

RESULTS = Path(__file__).parent / "results"
KINDS = {
    "linear discriminants": LinearDiscriminantAnalysis,
    "naive Bayes": GaussianNB,
    "5 nearest neighbours": lambda: KNeighborsClassifier(5, algorithm="brute"),
    "1 nearest neighbour": lambda: KNeighborsClassifier(1, algorithm="brute"),
    "decision tree": lambda: DecisionTreeClassifier(random_state=0),
}
# (accuracies in %, correlation of the answers, samples): the first is the best.
ANSWERS = [
    *(([97] * 2, 0.8, n) for n in (50, 300, 1000, 3000)),
    ([90] * 2, 0.8, 300),
    ([97] * 8, 0.8, 300),
    ([97] * 19, 0.8, 300),
    ([97, 92], 0.8, 100),
    ([97, 92], 0.8, 300),
    ([97, 92], 0.6, 300),
    ([90, 85], 0.8, 300),
    ([97] + [92] * 7, 0.8, 300),
    ([97] * 4 + [92] * 4, 0.8, 300),
    ([97, 95], 0.8, 300),
    ([97, 95], 0.8, 1000),
    ([97] + [95] * 7, 0.8, 1000),
]
# (kind, samples, folds, repeats, separation of the classes, noise of the second method)
NULL = [
    *((kind, 300, 5, 1, 1.3, 0.0) for kind in KINDS),
    *((kind, 300, 5, 1, 2.0, 0.0) for kind in ("linear discriminants", "5 nearest neighbours", "1 nearest neighbour")),
    *((kind, 100, 5, 1, 1.3, 0.0) for kind in ("linear discriminants", "1 nearest neighbour")),
    *((kind, 300, 3, 1, 1.3, 0.0) for kind in ("linear discriminants", "1 nearest neighbour")),
    ("linear discriminants", 300, 5, 5, 1.3, 0.0),
]
GAP = [
    ("linear discriminants", 300, 5, 1, 2.0, 0.88),
    ("linear discriminants", 300, 3, 1, 2.0, 0.88),
    ("linear discriminants", 300, 5, 5, 2.0, 0.88),
    ("5 nearest neighbours", 300, 5, 1, 2.0, 0.76),
    ("linear discriminants", 300, 5, 1, 1.6, 0.67),
    ("linear discriminants", 100, 5, 1, 2.0, 0.88),
]


def main(runs=600):
    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        for name, table in (
            ("answers", lambda: answers_table(runs)),
            ("equal", lambda: refits_table(NULL, runs)),
            ("gap", lambda: refits_table(GAP, runs // 2)),
        ):
            write_text(RESULTS / f"significance_{name}.md", table())


def answers_table(runs):
    header = [
        "accuracies in %",
        "samples",
        "disagree",
        "false *worse*",
        "true *worse*",
        "*as good*",
        "*cannot tell*",
    ]
    return markdown(header, [answers_row(*case, runs) for case in ANSWERS])


def answers_row(accuracies, correlation, n, runs):
    rng, words, false, apart = np.random.default_rng(0), Counter(), 0, []
    limits = norm.ppf(np.array(accuracies) / 100)[:, None]
    second = accuracies.index(min(accuracies)) or 1
    for _ in range(runs):
        common, own = rng.normal(size=(1, n)), rng.normal(size=(len(accuracies), n))
        right = correlation**0.5 * common + (1 - correlation) ** 0.5 * own < limits
        found = verdicts(right, n)
        words[found[0 if right[0].sum() < right[second].sum() else second]] += 1  # of the two the one that is behind
        best = np.array(accuracies) == max(accuracies)
        false += any(word == "worse" for word, is_best in zip(found, best, strict=True) if is_best)
        apart.append(np.mean(right[0] != right[second]))
    kinds = Counter(accuracies)
    shown = ", ".join(f"{kinds[value]} × {value}" for value in sorted(kinds, reverse=True))
    true = words["worse"] if min(accuracies) < max(accuracies) else None
    rest = (words["as good"], words["cannot tell"])
    return [shown, str(n), percent(np.mean(apart)), *(share(count, runs) for count in (false, true, *rest))]


def verdicts(right, n, widening=WIDENING):
    """The outcome of each of several methods, from the right and wrong answers of all."""
    p_values, behind = judge(lambda i, j: paired_gap(right[i], right[j], n, widening), len(right))
    return [outcome(*each) for each in zip(p_values, behind, strict=True)]


def refits_table(cases, runs):
    header = ["classifier", "samples", "folds", "accuracies in %", "disagree", "*worse*", "*as good*", "*cannot tell*",
              "corrected t-test: *worse*", "spread / error"]  # fmt: skip
    rows = []
    for case in cases:
        start = time.perf_counter()
        rows.append(refits_row(*case, runs))
        print(rows[-1], f"{time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    return markdown(header, rows)


def refits_row(kind, n, folds, repeats, separation, noise, runs):
    rng, words, old, gaps = np.random.default_rng(0), Counter(), 0, []
    runs = runs // min(repeats, 3)
    for _ in range(runs):
        right, per_fold = cross_validated(KINDS[kind], two_views(rng, n, separation, noise), folds, repeats)
        words.update(set(verdicts(right, n)) - {"as good"} or {"as good"})
        old += corrected_t_test(per_fold, folds) < 0.05
        gaps.append((*right.mean(axis=1), np.mean(right[0] != right[1]), *paired_gap(*right, n)))
    first, second, apart, gap, error = np.array(gaps).T
    accuracies = f"{100 * first.mean():.1f}, {100 * second.mean():.1f}"
    counts = (words["worse"], words["as good"], runs - words["worse"] - words["as good"], old)
    divided = str(folds) if repeats == 1 else f"{folds}, {repeats} times"
    return [kind, str(n), divided, accuracies, percent(apart.mean()), *(share(count, runs) for count in counts),
            f"{gap.std() / np.mean(error**2) ** 0.5:.2f}"]  # fmt: skip


def two_views(rng, n, separation, noise):
    """Samples of three classes as two methods see them: two thirds of the columns in common, one third their own."""
    y = np.arange(n) % 3
    common, first, second = (separation * np.eye(3)[y] + rng.normal(size=(n, 3)) for _ in range(3))
    common, more = np.hstack([common, separation * np.eye(3)[y] + rng.normal(size=(n, 3))]), rng.normal(size=(n, 9))
    if noise:  # one view, and the same with noise
        return np.hstack([common, first]), np.hstack([common, first]) + noise * more, y
    return np.hstack([common, first]), np.hstack([common, second]), y


def cross_validated(make, views, folds, repeats):
    """Right answers of both, pooled, and the difference of their accuracies in each fold."""
    *views, y = views
    pooled, per_fold = [], []
    for repeat in range(repeats):
        for train, test in StratifiedKFold(folds, shuffle=True, random_state=repeat).split(views[0], y):
            pooled.append([make().fit(X[train], y[train]).predict(X[test]) == y[test] for X in views])
            per_fold.append(pooled[-1][0].mean() - pooled[-1][1].mean())
    return np.concatenate(pooled, axis=1), np.array(per_fold)


def corrected_t_test(differences, folds):
    """p-value of the corrected resampled t-test of Nadeau and Bengio (2003)."""
    count = len(differences)
    error = np.sqrt((1 / count + 1 / (folds - 1)) * differences.var(ddof=1))
    return 2 * student.sf(abs(differences.mean()) / max(error, 1e-9), count - 1) if differences.any() else 1.0


def markdown(header, rows):
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def percent(value):
    return f"{100 * value:.1f} %"


def share(count, runs):
    return "–" if count is None else percent(count / runs)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
