"""No lower layer calls a method that a higher one defines: what no import shows is seen while the code runs.

An import points downwards and yet a call can point upwards, through an object that a lower layer was handed. A profile
hook looks at every call inside the package and compares the layer of the caller with that of the function called.
"""

import inspect
import sys
import threading
import tomllib
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator

from ancr import (
    ANCRClassifier,
    ANCRClassifierCV,
    CCRCClassifier,
    CRCClassifier,
    CROCClassifier,
    NRCClassifier,
    SACRCClassifier,
    Space,
    SRCClassifier,
    audit_labels,
    next_to_label,
    solve,
)
from ancr._core.axis import AxisObject
from ancr.model_selection import RejectOption
from ancr.solvers import ADMM

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "ancr"


def layers():
    """The rank of each module or folder at the top of the package, from the import contract; the lowest has 0."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    drawn = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    return {name.strip(): rank for rank, line in enumerate(reversed(drawn)) for name in line.split("|")}


RANK = layers()


def place(code):
    """(layer, file of the package) in which a function stands, or None where it is no function of a layer."""
    path = Path(code.co_filename)
    if not path.is_relative_to(PACKAGE):
        return None
    name = path.relative_to(PACKAGE)
    layer = name.parts[0].removesuffix(".py")
    return (layer, name.as_posix()) if layer in RANK else None


def is_method(code):
    """Whether a function stands in the body of a class and runs when it is called."""
    return "." in code.co_qualname and "<" not in code.co_qualname and not code.co_flags & inspect.CO_GENERATOR


def looks_up(caller, name):
    """Whether a function asks an object for an attribute of this name, written out or as text; operators always do."""
    return name.startswith("__") or name in caller.co_names or name in caller.co_consts


def is_declared_below(method, caller):
    """Whether a method of an axis overrides one that a class of the caller's layer, or of a lower one, declares."""
    itself = method.f_locals.get("self")
    if not isinstance(itself, AxisObject):
        return False
    homes = [base.__module__ for base in type(itself).__mro__ if method.f_code.co_name in vars(base)]
    layers_of_homes = [home.split(".")[1] for home in homes if home.startswith("ancr.")]
    return any(RANK[layer] <= RANK[caller] for layer in layers_of_homes)


class Upwards:
    """Calls from a lower layer to a method of a class that stands in a higher one.

    The caller is the nearest frame of the package: a call that passes through scikit-learn, joblib or functools
    is still the call of the layer that started it.

    A function, a closure, a generator or a bound method that the higher layer hands over as an argument may be called
    (``map_rows(rows, function)``, ``Solver.map(problem, rows, judge)``): the higher layer chose it for that one call,
    and the lower one knows that it can be called and nothing else. A method that is looked up on an object is
    different: the lower layer must know the name of something that only the higher layer defines, so neither can be
    read, changed or tested without the other. A call is such a lookup where the name of the method stands in the code
    of the caller, or in that of a library's function between the two.

    The five axes are open: whoever adds a rule or a set fills in methods that the axis declares, in a layer of their
    own or outside the package. To call those is to call the axis.
    """

    def __init__(self):
        self.found = set()
        self._places = {}

    def _place(self, code):
        if code not in self._places:
            self._places[code] = place(code)
        return self._places[code]

    def __call__(self, frame, event, argument):
        code = frame.f_code
        here = self._place(code) if event == "call" else None
        if here is None or not is_method(code):
            return
        caller, asked = frame.f_back, False
        while caller is not None:
            there, asked = self._place(caller.f_code), asked or looks_up(caller.f_code, code.co_name)
            if there is not None:
                break
            caller = caller.f_back
        if caller is None or not asked or RANK[there[0]] >= RANK[here[0]]:
            return
        if not is_declared_below(frame, there[0]):
            self.found.add(f"{there[1]}: {caller.f_code.co_qualname} calls {here[1]}: {code.co_qualname}")

    def __enter__(self):
        threading.setprofile(self)
        sys.setprofile(self)
        return self

    def __exit__(self, *exception):
        sys.setprofile(None)
        threading.setprofile(None)


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    """Blocks run where they are mapped, so that a call has a caller."""
    monkeypatch.setenv("ANCR_NUM_THREADS", "1")


@pytest.fixture(scope="module")
def digits():
    """Samples of three classes, their labels, and queries."""
    X, y = load_digits(n_class=3, return_X_y=True)
    return X[:90], y[:90], X[90:130]


def classify(clf, X, y, Q):
    """Everything that a classifier is asked for."""
    clf.fit(X, y)
    clf.predict(Q), clf.predict_proba(Q), clf.decision_function(Q)
    clf.residuals(Q), clf.codes(Q), clf.explain(Q, top=3)


RBF = {"space": "rbf"}
CLASSIFIERS = {
    "exact": ANCRClassifier(),
    "ADMM": ANCRClassifier(solver="admm", rho=1e-2, max_iter=5, code="c"),
    "closed form": CRCClassifier(),
    "relaxed": ANCRClassifier(relaxation=0.1),
    "sparse": SRCClassifier(),
    "greedy": SACRCClassifier(n_nonzero=5),
    "class terms": CCRCClassifier(),
    "non-negative": NRCClassifier(),
    "mixed rule": CROCClassifier(),
    "rbf": ANCRClassifier(**RBF),
    "rbf closed form": CRCClassifier(**RBF),
    "rbf landmarks": ANCRClassifier(space=Space("rbf", n_landmarks=20)),
    "not scaled": ANCRClassifier(space=Space(normalize=False)),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_fit_and_predict_call_downwards(name, digits):
    with Upwards() as calls:
        classify(clone(CLASSIFIERS[name]), *digits)
    assert sorted(calls.found) == []


def test_a_growing_classifier_calls_downwards(digits):
    X, y, Q = digits
    with Upwards() as calls:
        clf = ANCRClassifier().partial_fit(X[:60], y[:60], classes=np.unique(y)).partial_fit(X[60:], y[60:])
        clf.predict(Q)
        next_to_label(clf, Q, 3)
    assert sorted(calls.found) == []


@pytest.mark.parametrize(
    ("constraint", "solver"),
    [*((name, "exact") for name in ("simplex", "nonnegative", "affine", "free")), ("simplex", ADMM(max_iter=20))],
)
def test_solve_and_verify_call_downwards(constraint, solver, digits):
    X, _, Q = digits
    with Upwards() as calls:
        solution = solve(X, Q, alpha=1e-3, constraint=constraint, solver=solver)
        assert solution.codes.shape == (len(Q), len(X))
        solution.objective, solution.gap, solution.verify()
    assert sorted(calls.found) == []


def test_cross_validation_calls_downwards(digits):
    X, y, Q = digits
    with Upwards() as calls:
        clf = ANCRClassifierCV(alphas=[1e-3, 1e-1], cv=3)
        classify(clf, X, y, Q)
        reject = RejectOption(FrozenEstimator(clf)).fit(X, y)
        reject.predict(Q), reject.confidence(Q)
    assert sorted(calls.found) == []


def test_audits_call_downwards(digits):
    X, y, _ = digits
    with Upwards() as calls:
        audit = audit_labels(X, y)
        audit.ranking, audit.precisions, str(audit)
        audit_labels(X, y, estimator=ANCRClassifier(), groups=np.arange(len(y)) // 3)
    assert sorted(calls.found) == []
