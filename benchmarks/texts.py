"""Texts: few labels per intent, the same vectors for every method (MTEB's protocol of classification).

    git clone https://github.com/PolyAI-LDN/task-specific-datasets      # BANKING77
    git clone https://github.com/clinc/oos-eval                         # CLINC150
    git clone https://github.com/xliuhw/NLU-Evaluation-Data             # HWU64, its first fold
    python benchmarks/texts.py FOLDER_OF_THE_CLONES --per-label 8 --draws 2 --model FOLDER_OF_A_MODEL
    python benchmarks/texts.py FOLDER_OF_THE_CLONES --within               # on training texts alone

A draw takes so many texts per label at random for training, and at most 2,000 test texts. ``svd`` are TF-IDF weights of
words and parts of words along as many directions of most weight as there are texts, at most 1,024; ``svd 256`` and
``svd 512`` along fewer; ``tfidf`` the weights themselves, of which methods of this package see the inner products;
``sentence`` the vectors of a sentence-transformers model. ``LR (MTEB)`` is logistic regression as MTEB has it; others
choose their settings on the training texts. ``--within`` takes the texts to classify from the rest of the training set:
that is where a default may be chosen. Cells are lines of ``benchmarks/results/texts.jsonl``; without a folder, their
means are printed.
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
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from ancr import ANCRClassifierCV, RepresentationClassifierCV, Space
from ancr.samples.column_steps import text_steps
from ancr.samples.sentence_vectors import SentenceVectors

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
OF_GRAM = {
    "CRC-CV": lambda: RepresentationClassifierCV(spaces=["precomputed"], **FREE),
    "ANCR-CV, linear": lambda: ANCRClassifierCV(spaces=["precomputed"]),
}


def drawn(folder, name, per_label, draw, within):
    """Training texts, their labels, texts to classify and the truth."""
    (texts, labels), (queries, truth) = SETS[name](folder)
    random = np.random.default_rng(draw)
    train = np.concatenate([random.permutation(np.flatnonzero(labels == one))[:per_label] for one in np.unique(labels)])
    if within:
        queries, truth = (np.delete(each, train) for each in (texts, labels))
    test = random.permutation(len(truth))[:MOST_QUERIES]
    return texts[train], labels[train], queries[test], truth[test]


def spaces_of(texts, queries, model, within):
    """``{name: (vectors of the training texts, of the others)}``; in the larger directions the smaller ones are."""
    steps = text_steps(standardize=False)[:-1].fit(texts)
    weights = [steps.transform(each) for each in (texts, queries)]
    svd = TruncatedSVD(min(1024, len(texts)), random_state=0).fit(weights[0])
    along = [svd.transform(each) for each in weights]
    found = {f"svd {size}": [each[:, :size] for each in along] for size in ((128, 256, 512) if within else (256,))}
    found |= {"svd": along, "tfidf": weights}
    if model:
        step = SentenceVectors(str(model)).fit(texts)
        found["sentence"] = [step.transform(each) for each in (texts, queries)]
    return found


def cells(folder, name, options, draw, known):
    """Cells of a set and a draw that are not known yet."""
    texts, labels, queries, truth = drawn(folder, name, options.per_label, draw, options.within)
    vectors = spaces_of(texts, queries, options.model, options.within)
    for kind, (X, Q) in vectors.items():
        for method, make in METHODS.items():
            key = (name, options.per_label, draw, kind, method, "training" if options.within else "test")
            if key in known or method not in options.methods.split(";"):
                continue
            rows, asked = X, Q
            if sparse.issparse(X) and method in DENSE:
                if method not in OF_GRAM:
                    continue
                # All weights have one length: a query's own inner product is known, as "precomputed" takes it to be.
                make, rows, asked = OF_GRAM[method], (X @ X.T).toarray() / 2, (Q @ X.T).toarray() / 2
            start = time.process_time()
            clf = make().fit(rows, labels)
            accuracy = round(100 * float(np.mean(clf.predict(asked) == truth)), 2)
            spent = round(time.process_time() - start, 2)
            yield {**dict(zip(KEY, key, strict=True)), "accuracy": accuracy, "cpu_s": spent}


DENSE = ("CRC-CV", "ANCR-CV", "ANCR-CV, linear")
KEY = ("set", "per_label", "draw", "vectors", "method", "on")


def report(lines):
    """Means over draws, one row per vectors and method."""
    means = defaultdict(list)
    for line in lines:
        key = (line["on"], line["per_label"], line["vectors"], line["method"], line["set"])
        means[key].append(line["accuracy"])
    rows = sorted({key[:4] for key in means}, key=lambda key: (*key[:3], list(METHODS).index(key[3])))
    text = [
        "| texts | per label | vectors | method | " + " | ".join(SETS) + " | mean |",
        "|---" * (5 + len(SETS)) + "|",
    ]
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
    parser.add_argument("--methods", default=";".join(METHODS))
    parser.add_argument("--model", type=Path, help="folder of a sentence-transformers model")
    parser.add_argument("--within", action="store_true", help="classify other training texts, not test texts")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []
    known = {tuple(line[name] for name in KEY) for line in lines}
    if options.folder is not None:
        for draw in range(options.draws):
            for name in options.sets.split(","):
                for line in cells(options.folder, name, options, draw, known):
                    lines.append(line)
                    with RESULTS.open("a") as file:
                        file.write(json.dumps(line) + "\n")
                    print(line, flush=True)
    print(report(lines))


if __name__ == "__main__":
    main()
