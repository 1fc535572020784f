"""Ctrl-C ends a call within a second, two on busy cores, and leaves the estimator as it was."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

BEFORE = """
import sys, time
import numpy as np
from ancr import (
    ANCRClassifier, ANCRClassifierCV, NRCClassifier, RepresentationClassifier, Space, audit_labels, compare
)
from ancr.solvers import ADMM, ShortestCode

rng = np.random.default_rng(0)
X, y = rng.normal(size=(2000, 200)), np.arange(2000) % 5
small = slice(0, 100)


def attributes(estimator):
    return {name: id(value) for name, value in vars(estimator).items() if name.endswith("_")}


def long(call, estimator=None):
    before = attributes(estimator) if estimator is not None else {}
    print("begun", flush=True)
    try:
        call()
    except KeyboardInterrupt:
        same = before == (attributes(estimator) if estimator is not None else {})
        print("unchanged" if same else "changed", flush=True)
    else:
        print("too quick to interrupt", flush=True)


"""
CALLS = {
    # Codes of hundreds of atoms, without a ridge: the kernels' slowest case.
    "predict": """
        clf = NRCClassifier().fit(X, y); clf.predict(X[:1] + 1)
        long(lambda: [clf.predict(rng.normal(size=(2000, 200))) for _ in range(100)], clf)
    """,
    "dense predict": """
        X = rng.normal(size=(6000, 500)) + 20; y = np.arange(6000) % 5
        clf = ANCRClassifier(alpha=0.5).fit(X, y)
        long(lambda: [clf.predict(rng.normal(size=(2000, 500)) + 20) for _ in range(100)], clf)
    """,
    "ADMM": """
        clf = RepresentationClassifier(solver=ADMM(max_iter=100000), constraint="simplex").fit(X, y)
        long(lambda: clf.predict(rng.normal(size=(2000, 200))), clf)
    """,
    "fit": """
        clf = RepresentationClassifier(constraint="affine", space="rbf").fit(X[small, :50], y[small])
        big = rng.normal(size=(9000, 20)); labels = np.arange(9000) % 3
        long(lambda: clf.fit(big, labels), clf)
    """,
    "fit of many columns": """
        clf = RepresentationClassifier(constraint="free").fit(X[small], y[small])
        big = rng.normal(size=(12000, 4000)).astype(np.float32); labels = np.arange(12000) % 3
        long(lambda: clf.fit(big, labels), clf)
    """,
    "relaxed fit of many columns": """
        clf = ANCRClassifier(relaxation=0.1).fit(X[small], y[small])
        big = rng.normal(size=(12000, 4000)).astype(np.float32); labels = np.arange(12000) % 3
        long(lambda: clf.fit(big, labels), clf)
    """,
    "cross-validation": """
        clf = ANCRClassifierCV().fit(X[small], y[small])
        long(lambda: clf.fit(X, y), clf)
    """,
    "predict in a kernel": """
        clf = ANCRClassifier(alpha=1e-4, space=Space("rbf")).fit(X, y); clf.predict(X[:1] + 1)
        long(lambda: [clf.predict(rng.normal(size=(2000, 200))) for _ in range(100)], clf)
    """,
    "shortest codes": """
        X = X[:, :30]; clf = NRCClassifier(solver=ShortestCode()).fit(X, y); clf.predict(X[:1] + 1)
        long(lambda: [clf.predict(rng.normal(size=(2000, 30))) for _ in range(100)], clf)
    """,
    "compare": """
        compare(X[:60, :5], y[:60], methods=["CRC"], learning_curve=False)
        long(lambda: compare(X, y, methods=["ANCR", "RBF SVM", "kNN"], learning_curve=False))
    """,
    "audit": """
        audit_labels(X[small], y[small])
        long(lambda: audit_labels(X, y))
    """,
}
# Run by ``make test``; the others with all tests.
QUICK = {"dense predict", "cross-validation", "audit"}


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.all) for name in CALLS]
)
def test_an_interrupt_is_heard(name):
    script = BEFORE + textwrap.dedent(CALLS[name])
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "begun\n"
            time.sleep(1.5)
            sent = time.perf_counter()
            process.send_signal(signal.SIGINT)
            answer, took = process.stdout.readline(), time.perf_counter() - sent
        finally:
            process.kill()
    assert answer == "unchanged\n"
    assert took < allowed(), took


def allowed():
    """Seconds: one on free cores, two where as many other processes use them, more only where a queue is long."""
    each = os.getloadavg()[0] / (os.cpu_count() or 1)
    return 1.0 if each <= 1.0 else max(2.0, each / 2.0)
