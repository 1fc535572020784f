"""Bad inputs for the API, with the argument that each message must name. ``test_bad_inputs.py`` runs them.

Classifiers leave the samples to scikit-learn, whose own words, in several lines, its users know.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ancr import (
    ANCRClassifier,
    ANCRClassifierCV,
    CCRCClassifier,
    CRCClassifier,
    NRCClassifier,
    ProCRCClassifier,
    RepresentationClassifier,
    Space,
    SRCClassifier,
    audit_labels,
    compare,
    next_to_label,
    project_simplex,
    solve,
)
from ancr.datasets import load_table, per_class_split
from ancr.solvers import ADMM

ATOMS, QUERIES = np.random.default_rng(0).standard_normal((8, 3)), np.random.default_rng(1).standard_normal((2, 3))
LABELS = np.arange(8) % 2
MIXED = np.array([1, "a"] * 4, object)


@dataclass(frozen=True)
class BadCall:
    """A call, and a part of the first line that its exception must have; the only line, unless it is scikit-learn's."""

    name: str
    call: Callable
    answer: str
    error: type = ValueError
    by_sklearn: bool = False


def holding(value, shape=(8, 3)):
    """Ones, and one other value."""
    rows = np.ones(shape)
    rows[1, 1] = value
    return rows


def _solve(name, answer, atoms=ATOMS, queries=QUERIES, error=ValueError, **settings):
    return BadCall(f"solve {name}", lambda: solve(atoms, queries, **settings), answer, error)


def _fit(name, classifier, answer, samples=ATOMS, labels=LABELS, error=ValueError):
    return BadCall(f"fit {name}", lambda: classifier.fit(samples, labels), answer, error, True)


def _predict(name, queries, answer, classifier=None, method="predict", error=ValueError):
    fitted = classifier or CRCClassifier()
    call = lambda: getattr(fitted.fit(ATOMS, LABELS), method)(queries)  # noqa: E731
    return BadCall(f"{method} {name}", call, answer, error, True)


def _next(strategy):
    return next_to_label(CRCClassifier().fit(ATOMS, LABELS), QUERIES, 1, strategy=strategy)


SOLVE = [
    _solve("nan atoms", "atoms", holding(np.nan)),
    _solve("infinite atoms", "atoms", holding(np.inf)),
    _solve("complex atoms", "atoms: Complex data not supported", ATOMS + 1j),
    _solve("atoms of text", "atoms: could not convert string to float", np.array([["a", "b", "c"]])),
    _solve("flat atoms", "atoms", ATOMS[0]),
    _solve("cube of atoms", "atoms", ATOMS[None]),
    _solve("no atoms", "atoms", ATOMS[:0]),
    _solve("no features", "atoms", ATOMS[:, :0]),
    _solve("nan queries", "queries", queries=holding(np.nan, (2, 3))),
    _solve("infinite queries", "queries", queries=holding(-np.inf, (2, 3))),
    _solve("flat queries", "queries", queries=QUERIES[0]),
    _solve("no queries", "queries", queries=QUERIES[:0]),
    _solve("wide queries", "queries must have the 3 features of the atoms, got 4", queries=np.ones((2, 4))),
    _solve("negative alpha", "alpha", alpha=-1.0),
    _solve("nan alpha", "alpha", alpha=float("nan")),
    _solve("text alpha", "alpha", alpha="much"),
    _solve("no alpha", "alpha", alpha=None),
    _solve("infinite alpha", "alpha", alpha=float("inf")),
    _solve("negative beta", "beta", quadratic="competitive", beta=-1.0, labels=LABELS),
    _solve("unknown set", "constraint", constraint="cube"),
    _solve("set of a number", "constraint", constraint=3),
    _solve("unknown quadratic", "quadratic", quadratic="cubic"),
    _solve("quadratic of a number", "quadratic", quadratic=3),
    _solve("function that is no quadratic", "quadratic", quadratic=lambda alpha, beta, n_classes: 7),
    _solve("unknown solver", "solver", solver="magic"),
    _solve("closed form on the simplex", "solver='closed_form' cannot be combined with", solver="closed_form"),
    _solve("ADMM on the free set", "solver='admm' cannot be combined with", solver="admm", constraint="free"),
    _solve("interior point on the simplex", "solver='interior_point' cannot be combined", solver="interior_point"),
    _solve("ℓ1 on the affine set", "constraint='affine' and quadratic='l1'", constraint="affine", quadratic="l1"),
    _solve("zero relaxation", "relaxation", relaxation=0.0),
    _solve("negative relaxation", "relaxation", relaxation=-1.0),
    _solve("relaxed free set", "relaxation", constraint="free", relaxation=1.0),
    _solve("relaxed class terms", "relaxation", quadratic="competitive", labels=LABELS, relaxation=1.0),
    _solve("zero rho", "rho", solver=ADMM(rho=0.0)),
    _solve("negative rho", "rho", solver=ADMM(rho=-1.0)),
    _solve("no iterations", "max_iter", solver=ADMM(max_iter=0)),
    _solve("half an iteration", "max_iter", solver=ADMM(max_iter=0.5)),
    _solve("zero tolerance", "tol", tol=0.0),
    _solve("negative tolerance", "tol", tol=-1e-3),
    _solve("unknown code", "code", solver=ADMM(code="x")),
    _solve("class terms without labels", "labels must give the class of each atom", quadratic="subspace"),
    _solve("too few labels", "labels", quadratic="subspace", labels=LABELS[:3]),
    _solve("labels in columns", "labels", quadratic="subspace", labels=np.ones((8, 2))),
    _solve("missing labels", "labels: the entry of sample 0 is missing", labels=[None] * 8),
    _solve("nan labels", "labels: the entry of sample 0 is missing", labels=[np.nan] * 8),
    _solve("labels of two kinds", "labels must hold entries of one kind", labels=MIXED, error=TypeError),
    _solve("history of text", "history", history="a"),
    _solve("kernel of one argument", "kernel must be callable as kernel(", space=lambda rows: rows, error=TypeError),
    _solve("rbf beyond the range", "rescale them, or give a number for gamma", 1e300 * ATOMS, space="rbf"),
]  # fmt: skip

FIT = [
    _fit("nan samples", CRCClassifier(), "X", holding(np.nan)),
    _fit("infinite samples", CRCClassifier(), "X", holding(np.inf)),
    _fit("flat samples", CRCClassifier(), "Expected 2D array", ATOMS[0]),
    _fit("no samples", CRCClassifier(), "sample", ATOMS[:0], LABELS[:0]),
    _fit("too few labels", CRCClassifier(), "samples", labels=LABELS[:3]),
    _fit("no labels", CRCClassifier(), "y", labels=None),
    _fit("labels of numbers on a scale", CRCClassifier(), "label type", labels=np.linspace(0, 1, 8)),
    _fit("nan labels", CRCClassifier(), "y", labels=np.where(LABELS, np.nan, 1.0)),
    _fit("one class", CRCClassifier(), "class", labels=np.zeros(8)),
    _fit("negative alpha", ANCRClassifier(alpha=-1.0), "alpha"),
    _fit("text alpha", NRCClassifier(solver="magic"), "solver"),
    _fit("unknown rule", CRCClassifier(rule="magic"), "rule"),
    _fit("unknown set", RepresentationClassifier(constraint="cube"), "constraint"),
    _fit("unknown quadratic", RepresentationClassifier(quadratic="cubic"), "quadratic"),
    _fit("negative beta of ProCRC", ProCRCClassifier(beta=-1.0), "beta"),
    _fit("negative beta of CCRC", CCRCClassifier(beta=-1.0), "beta"),
    _fit("ℓ1 without a weight", SRCClassifier(alpha=0.0, solver="interior_point"), "solver='interior_point'"),
    _fit("zero relaxation", ANCRClassifier(relaxation=0.0), "relaxation"),
    _fit("normalize of text", CRCClassifier(space=Space(normalize="yes")), "normalize"),
    _fit("negative class weight", CRCClassifier(class_weight={0: -1}), "class_weight: the weight of class 0 must be"),
    _fit("class weight of text", ANCRClassifier(class_weight={1: "a"}), "class_weight: the weight of class 1 must be"),
    _fit("class weights of zero", CRCClassifier(class_weight={0: 0, 1: 0}), "class_weight must be above 0"),
    BadCall("fit extreme weights", lambda: CRCClassifier().fit(ATOMS, LABELS, np.logspace(-150, 150, 8)),
            "sample_weight: weights must be 0 or between"),
    BadCall("fit complex weights", lambda: CRCClassifier().fit(ATOMS, LABELS, np.ones(8) * 1j), "sample_weight"),
    BadCall("fit a list of complex weights", lambda: CRCClassifier().fit(ATOMS, LABELS, [1j] * 8), "sample_weight",
            TypeError),
    BadCall("fit missing groups", lambda: ANCRClassifierCV().fit(ATOMS, LABELS, groups=[None] * 8),
            "groups: the entry of sample 0 is missing"),
    BadCall("fit weights of text", lambda: CRCClassifier().fit(ATOMS, LABELS, ["a"] * 8), "sample_weight: could not"),
    _fit("one fold", ANCRClassifierCV(cv=1), "cv"),
    _fit("no folds", ANCRClassifierCV(cv=[]), "cv gives no folds"),
    _fit("a fold of unknown rows", ANCRClassifierCV(cv=[(range(5), [99])]), "cv: each part of a fold must hold"),
    _fit("a fold of floats", ANCRClassifierCV(cv=[(np.arange(5.0), [7.0])]), "cv: each part of a fold must hold"),
    _fit("a fold of nothing", ANCRClassifierCV(cv=[(range(5), [])]), "cv: each part of a fold must hold"),
    _fit("numbers as folds", ANCRClassifierCV(cv=[3, 4]), "cv: cannot unpack", error=TypeError),
    _fit("no list of spaces", ANCRClassifierCV(spaces=3), "spaces"),
    _fit("no alphas", ANCRClassifierCV(alphas=[]), "alphas"),
    _fit("negative alphas", ANCRClassifierCV(alphas=[-1.0, 1.0]), "alpha"),
]  # fmt: skip

PREDICT = [
    _predict("nan queries", holding(np.nan, (2, 3)), "X"),
    _predict("wide queries", np.ones((2, 4)), "X has 4 features, but CRCClassifier is expecting 3"),
    _predict("flat queries", QUERIES[0], "Expected 2D array"),
    _predict("no queries", QUERIES[:0], "sample"),
    _predict("wide queries", np.ones((2, 4)), "X has 4 features", method="codes"),
    _predict("wide queries", np.ones((2, 4)), "X has 4 features", method="residuals"),
    BadCall("predict before fit", lambda: CRCClassifier().predict(QUERIES), "not fitted", AttributeError),
    BadCall("explain nothing", lambda: CRCClassifier().fit(ATOMS, LABELS).explain(QUERIES, top=0), "top"),
    BadCall("other classes later", lambda: CRCClassifier().partial_fit(ATOMS, LABELS, classes=[5, 6]), "classes"),
]  # fmt: skip

OTHERS = [
    BadCall("verify to a text", lambda: solve(ATOMS, QUERIES).verify(tol="a"), "tol must be a number of at least 0"),
    BadCall("verify to nan", lambda: solve(ATOMS, QUERIES).verify(feasibility=np.nan), "feasibility must be a number"),
    BadCall("next of too few columns", lambda: next_to_label(CRCClassifier().fit(ATOMS, LABELS), QUERIES[:, :2], 1),
            "pool: X has 2 features, but CRCClassifier is expecting 3"),
    BadCall("next with a negative seed",
            lambda: next_to_label(CRCClassifier().fit(ATOMS, LABELS), QUERIES, 1, random_state=-1), "random_state"),
    BadCall("next by a strategy of one argument", lambda: _next(lambda pool: pool[:, 0]),
            "strategy must be callable as strategy(estimator, pool)", TypeError),
    BadCall("next by complex numbers", lambda: _next(lambda estimator, pool: pool[:, 0] * 1j), "strategy must return"),
    BadCall("next by text", lambda: _next(lambda estimator, pool: ["a"] * len(pool)), "strategy: could not convert"),
    BadCall("audit missing labels", lambda: audit_labels(ATOMS, [None] * 8), "y: the entry of sample 0 is missing"),
    BadCall("audit labels of two kinds", lambda: audit_labels(ATOMS, MIXED), "y must hold entries of one", TypeError),
    BadCall("audit in missing groups", lambda: audit_labels(ATOMS, LABELS, groups=[None] * 8), "groups: the entry of"),
    BadCall("audit in groups of two kinds", lambda: audit_labels(ATOMS, LABELS, groups=MIXED), "groups must hold",
            TypeError),
    BadCall("audit in groups in columns", lambda: audit_labels(ATOMS, LABELS, groups=np.ones((8, 2))),
            "groups must have one entry per sample, got shape (8, 2)"),
    BadCall("audit in one group", lambda: audit_labels(ATOMS, LABELS, groups=np.zeros(8)), "groups must hold"),
    BadCall("audit in groups of classes", lambda: audit_labels(ATOMS, LABELS, groups=LABELS), "groups: every class"),
    BadCall("compare without labels", lambda: compare(ATOMS, [None] * 8), "y holds 0 classes, but at least two"),
    BadCall("compare an unknown method", lambda: compare(ATOMS, LABELS, "XYZ", folds=2), "methods XYZ: no such method"),
    BadCall("compare by no protocol", lambda: compare(ATOMS, LABELS, "CRC", folds=2, protocols="z"), "protocols: 'z'"),
    BadCall("compare in folds of text", lambda: compare(ATOMS, LABELS, "CRC", folds="a"), "folds must be a whole"),
    BadCall("compare in one fold", lambda: compare(ATOMS, LABELS, "CRC", folds=1), "folds must be a whole number"),
    BadCall("compare no times", lambda: compare(ATOMS, LABELS, "CRC", folds=2, repeats=0), "repeats must be a whole"),
    BadCall("compare in no jobs", lambda: compare(ATOMS, LABELS, "CRC", folds=2, jobs=0), "jobs must be a whole"),
    BadCall("compare into a number", lambda: compare(ATOMS, LABELS, "CRC", folds=2, output=3), "output", TypeError),
    BadCall("compare into a file", lambda: compare(ATOMS, LABELS, "CRC", folds=2, output=__file__), "is not a folder",
            OSError),
    BadCall("compare for nan seconds", lambda: compare(ATOMS, LABELS, "CRC", folds=2, time_limit=np.nan), "time_limit"),
    BadCall("project nan", lambda: project_simplex([[np.nan, 1.0]]), "points"),
    BadCall("project nothing", lambda: project_simplex(np.zeros((2, 0))), "points"),
    BadCall("project on radius 0", lambda: project_simplex([[1.0]], radius=0.0), "radius"),
    BadCall("project on radius nan", lambda: project_simplex([[1.0]], radius=float("nan")), "radius"),
    BadCall("project on radius text", lambda: project_simplex([[1.0]], radius="a"), "radius must be a positive"),
    BadCall("project on two radii", lambda: project_simplex([[1.0]], radius=[1, 2]), "radius must be a positive"),
    BadCall("project a cube", lambda: project_simplex(np.ones((2, 2, 2))), "points"),
    BadCall("table that is not there", lambda: load_table("nowhere.csv"), "nowhere.csv", FileNotFoundError),
    BadCall("more of a class than there is", lambda: per_class_split(LABELS, 9, 0), "9"),
]  # fmt: skip

BAD_CALLS = [*SOLVE, *FIT, *PREDICT, *OTHERS]
