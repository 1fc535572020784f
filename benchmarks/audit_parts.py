"""What each part of an audit adds, at one setting for all data: average precision of flipped labels.

    python benchmarks/audit_parts.py --data digits,usps,stanford40 --noise uniform,pairs --shares 5,20

First round: log-odds of one opinion and of two, evidence from two opinions, evidence from these and from patterns, and
m, the share of wrong labels that are systematic, by which the audit chooses between log-odds and evidence. Then the
audit itself after one round, after two if the second counts all given labels alike, after two and three rounds, and its
count of wrong labels over the truth. Data are those of ``audit.py``, and KEEL's tables of numbers by name (see
``tables.py``), 500 rows of each, standardized.
"""

import argparse
import warnings

import audit as study
import numpy as np
import tables
from sklearn.metrics import average_precision_score
from sklearn.preprocessing import StandardScaler

from ancr import ANCRClassifier, Space
from ancr.labels.audit import audit_fitted, errors_of
from ancr.labels.errors import Errors, repetition
from ancr.labels.held_out import leave_each_out
from ancr.labels.suspicion import by_patterns, evidence_against, odds_against
from ancr.selection.temperature import fit_temperature

SETTING = {"space": Space("rbf", gamma=1.0, power=0.5), "alpha": 0.1, "relaxation": 0.3, "rule": "res"}


def load(name):
    """Samples and their classes as numbers."""
    if name in study.LOADERS:
        return study.load(name)
    X, y = tables.load("raw", name)
    rows = np.random.default_rng(0).permutation(len(y))[:500]
    return StandardScaler().fit_transform(X.astype(float).fillna(0.0))[rows], np.unique(y[rows], return_inverse=True)[1]


def all_alike(fitted, given):
    """Scores after a second round in which every given label counts the same."""
    found = errors_of(leave_each_out(fitted), given)
    trusted = np.maximum(1.0 - found.probability(), 1e-3)
    return errors_of(leave_each_out(fitted, trusted[fitted.dictionary_.order]), given).scores


def parts(fitted, given):
    """How suspicious every label would be, by each part, and m."""
    judgement = leave_each_out(fitted)
    sharp, smooth = judgement.opinions
    odds = {
        name: odds_against(values, fit_temperature(values, given)[0])
        for name, values in (("odds, one", sharp), ("odds, two", judgement.decisions))
    }
    suggested = judgement.decisions.argmax(axis=1)
    chances = Errors(odds["odds, two"], given, suggested).probability()
    against = {
        **odds,
        "evidence": evidence_against([sharp, smooth], given),
        "and patterns": evidence_against([sharp, smooth, by_patterns(smooth, given)], given),
    }
    return against, repetition(chances, suggested, given, judgement.decisions.shape[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="digits,usps,stanford40")
    parser.add_argument("--noise", default="uniform,pairs")
    parser.add_argument("--shares", default="5,20", help="percent")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    names = (
        "odds, one",
        "odds, two",
        "evidence",
        "and patterns",
        "m",
        "1 round",
        "2, all alike",
        "2 rounds",
        "3 rounds",
        "count / truth",
    )
    print("| data | noise | % | " + " | ".join(names) + " |")
    print("|---|---|---|" + "---|" * len(names))
    for name in options.data.split(","):
        X, y = load(name)
        for noise in options.noise.split(","):
            for percent in map(float, options.shares.split(",")):
                given, wrong = study.flip(X, y, noise, percent / 100, options.seed)
                fitted = ANCRClassifier(**SETTING).fit(X, given)
                against, systematic = parts(fitted, given)
                scores = [values[np.arange(len(given)), given] for values in against.values()]
                audits = [audit_fitted(fitted, given, rounds) for rounds in (1, 2, 3)]
                rounds = [audit.score for audit in audits]
                both = scores, [rounds[0], all_alike(fitted, given), *rounds[1:]]
                first, last = ([average_precision_score(wrong, one) for one in own] for own in both)
                cells = [f"{v:.4f}" for v in first] + [f"{systematic:.2f}"] + [f"{v:.4f}" for v in last]
                ratio = audits[1].n_errors.estimate / wrong.sum()
                print(f"| {name} | {noise} | {percent:g} | " + " | ".join(cells) + f" | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
