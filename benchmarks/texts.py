"""Texts: few labels per intent, the same vectors for every method (MTEB's protocol of classification).

    git clone https://github.com/PolyAI-LDN/task-specific-datasets      # BANKING77
    git clone https://github.com/clinc/oos-eval                         # CLINC150
    git clone https://github.com/xliuhw/NLU-Evaluation-Data             # HWU64, its first fold
    python benchmarks/texts.py FOLDER_OF_THE_CLONES --per-label 8 --draws 3

A draw takes so many texts per label at random for training, and at most 2,000 test texts. ``svd`` are the vectors that
`ancr.table_pipeline` makes of a column of texts (TF-IDF of words and parts of words, then truncated SVD), ``svd 256``
the same with 256 directions alone, ``tfidf`` the weights before the SVD. ``LR (MTEB)`` is logistic regression as in
MTEB; other methods choose their settings on the training texts. Cells are lines of ``benchmarks/results/texts.jsonl``;
without a folder, their means are printed.
"""

import argparse
import json
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from ancr import ANCRClassifierCV, RepresentationClassifierCV, Space
from ancr.samples.column_steps import text_steps

RESULTS = Path(__file__).parent / "results" / "texts.jsonl"
MOST_QUERIES = 2000
FOLDS = StratifiedKFold(4)
FREE = {"constraints": ["free"], "relaxations": [None], "alphas": np.geomspace(1e-3, 1.0, 7).tolist()}


def banking(folder):
    """Training and test texts with their labels."""
    parts = [
        pd.read_csv(folder / "task-specific-datasets" / "banking_data" / f"{part}.csv") for part in ("train", "test")
    ]
    return [(part["text"].to_numpy(), part["category"].to_numpy()) for part in parts]


def clinc(folder):
    """Training and test texts with their labels, without those of no intent."""
    data = json.loads((folder / "oos-eval" / "data" / "data_full.json").read_text())
    return [tuple(np.array(column) for column in zip(*data[part], strict=True)) for part in ("train", "test")]


def hwu(folder):
    """Training and test texts with their labels, of the first fold."""
    root = next(
        (folder / "NLU-Evaluation-Data" / "CrossValidation" / "autoGeneFromRealAnno").glob("*/CrossValidation/KFold_1")
    )
    found = []
    for part in ("trainset", "testset/csv"):
        frames = [pd.read_csv(path, sep=";").assign(label=path.stem) for path in sorted((root / part).glob("*.csv"))]
        whole = pd.concat(frames)
        found.append((whole["answer_from_anno"].astype(str).to_numpy(), whole["label"].to_numpy()))
    return found


SETS = {"BANKING77": banking, "CLINC150": clinc, "HWU64": hwu}


def tuned(estimator, **grid):
    """Grid search in four stratified folds."""
    return GridSearchCV(estimator, grid, cv=FOLDS)


COSTS = [0.1, 1.0, 10.0, 100.0]
METHODS = {
    "LR (MTEB)": lambda: LogisticRegression(max_iter=100, random_state=0),
    "LR": lambda: tuned(LogisticRegression(max_iter=300), C=COSTS),
    "Linear SVM": lambda: tuned(LinearSVC(), C=[0.01, *COSTS[:3]]),
    "kNN": lambda: tuned(KNeighborsClassifier(metric="cosine"), n_neighbors=[1, 3, 5, 8]),
    "CRC-CV": lambda: RepresentationClassifierCV(**FREE),
    "ANCR-CV": lambda: ANCRClassifierCV(),
    "ANCR-CV, linear": lambda: ANCRClassifierCV(spaces=[Space()]),
}
DENSE = ("CRC-CV", "ANCR-CV", "ANCR-CV, linear")


def cells(folder, name, per_label, draw, known):
    """Cells of a set and a draw that are not known yet."""
    (texts, labels), (queries, truth) = SETS[name](folder)
    random = np.random.default_rng(draw)
    train = np.concatenate([random.permutation(np.flatnonzero(labels == one))[:per_label] for one in np.unique(labels)])
    test = random.permutation(len(truth))[:MOST_QUERIES]
    steps = text_steps(standardize=False).fit(texts[train])
    weights = {"svd": steps, "tfidf": steps[:-1]}
    for vectors, prepare in weights.items():
        X, Q = prepare.transform(texts[train]), prepare.transform(queries[test])
        for method, make in METHODS.items():
            key = (name, per_label, draw, vectors, method)
            if key in known or (vectors == "tfidf" and method == "CRC-CV"):
                continue
            dense = sparse.issparse(X) and method in DENSE
            rows, asked = (X.astype(np.float32).toarray(), Q.astype(np.float32).toarray()) if dense else (X, Q)
            start = time.process_time()
            clf = make().fit(rows, labels[train])
            accuracy = 100 * np.mean(clf.predict(asked) == truth[test])
            yield {**dict(zip(KEY, key, strict=True)), "accuracy": accuracy, "cpu_s": time.process_time() - start}


KEY = ("set", "per_label", "draw", "vectors", "method")


def report(lines):
    """Means over draws, one row per vectors and method."""
    means = defaultdict(list)
    for line in lines:
        means[line["per_label"], line["vectors"], line["method"], line["set"]].append(line["accuracy"])
    rows = sorted({key[:3] for key in means}, key=lambda key: (key[0], key[1], list(METHODS).index(key[2])))
    text = ["| per label | vectors | method | " + " | ".join(SETS) + " | mean |", "|---" * (4 + len(SETS)) + "|"]
    for key in rows:
        values = [np.mean(means[(*key, name)]) if (*key, name) in means else np.nan for name in SETS]
        text.append(
            "| " + " | ".join([*map(str, key), *(f"{value:.1f}" for value in [*values, np.mean(values)])]) + " |"
        )
    return "\n".join(text)


def main():
    """Run what is missing, and print the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--per-label", type=int, default=8)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--sets", default=",".join(SETS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []
    known = {tuple(line[name] for name in KEY) for line in lines}
    if options.folder is not None:
        for draw in range(options.draws):
            for name in options.sets.split(","):
                for line in cells(options.folder, name, options.per_label, draw, known):
                    lines.append(line)
                    with RESULTS.open("a") as file:
                        file.write(json.dumps(line) + "\n")
                    print(line, flush=True)
    print(report(lines))


if __name__ == "__main__":
    main()
