"""Protocol ``cv``: every method with its settings chosen on the training set alone.

Each method gets a grid of the same size, 30 settings (12 on the large sets), and scores them on held-out training
samples: by leave-one-out if the library can do that without a refit, otherwise in five stratified folds (CROC, SA-CRC,
SVM, softmax). No test label is used.
"""

from functools import partial

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.svm import LinearSVC

import ancr
from ancr.experiments.method import Method
from ancr.experiments.published import LARGE
from ancr.rules import RULES


def tuned_methods(dataset):
    """``{name: Method}`` for a data set, each with the grid that it searches."""
    large = dataset in LARGE
    alphas = [1e-2, 1e-1, 1.0] if large else [1e-4, 1e-3, 3e-3, 1e-2, 1e-1]
    relaxations = [0.3, 1.0, 10.0, None] if large else [0.1, 1.0, 3.0, 10.0, 100.0, None]
    size = len(alphas) * len(relaxations)
    rules = ["res", "reg"]

    def representation(quadratic, constraint, **grid):
        params = {"quadratics": [quadratic], "constraints": [constraint], "relaxations": [None], **grid}
        params["one_standard_error"] = True
        return Method(ancr.RepresentationClassifierCV, params)

    path = _path(1e-4, 10.0, size // 2)
    class_terms = {"alphas": alphas, "betas": [1e-4, 1e-3, 1e-2, 1e-1] if large else _path(1e-4, 1.0, 6)}
    # Without a ridge, a stronger relaxation gives codes of thousands of atoms.
    relaxed = (
        {"rules": list(RULES), "relaxations": [10.0, 100.0, None]}
        if large
        else {"rules": rules, "relaxations": [*_path(0.03, 100.0, size // 2 - 1), None]}
    )
    methods = {
        "Softmax": Method(
            partial(_grid_search, partial(LogisticRegression, max_iter=200)), {"C": _path(0.1, 100.0, size)}
        ),
        "SVM": Method(partial(_grid_search, LinearSVC), {"C": _path(0.01, 100.0, size)}),
        "NSC": representation("subspace", "free", alphas=path, rules=rules),
        "SRC": representation("l1", "free", alphas=_path(0.02, 1.0, size // 2), rules=rules),
        "CRC": representation("ridge", "free", alphas=path, rules=rules),
        "CROC": Method(
            partial(_grid_search, ancr.CROCClassifier, unit=False),
            {"alpha": path[:: 1 if large else 3], "weight": [0.0, 0.1, 0.2, 0.3, 0.5, 0.8]},
        ),
        "ProCRC": representation("probabilistic", "free", rules=["pro"], **class_terms),
        "SA-CRC": Method(
            partial(_grid_search, ancr.SACRCClassifier, unit=False),
            {"alpha": _path(1e-3, 1.0, size // 3), "n_nonzero": [10, 30, 50]},
        ),
        "CCRC": representation("competitive", "free", rules=["res"], **class_terms),
        "NRC": representation("least_squares", "nonnegative", **relaxed),
        "ANCR": Method(
            ancr.ANCRClassifierCV, {"alphas": alphas, "relaxations": relaxations, "one_standard_error": True}
        ),
        "ACR": representation("ridge", "affine", alphas=path, rules=rules),
        "NCR": representation("ridge", "nonnegative", alphas=alphas, relaxations=relaxations),
    }
    dropped = ("SVM", "SRC", "CROC", "SA-CRC", "CCRC", "NSC") if large else ("Softmax",)
    return {name: method for name, method in methods.items() if name not in dropped}


def _path(lowest, highest, number):
    """Values evenly spaced on a logarithmic scale, rounded to three digits."""
    return [float(f"{value:.3g}") for value in np.geomspace(lowest, highest, number)]


def _grid_search(estimator, unit=True, **grid):
    """Grid search in five stratified folds; ``unit`` scales samples to unit norm first."""
    steps = make_pipeline(Normalizer(), estimator()) if unit else make_pipeline(estimator())
    last = steps.steps[-1][0]
    return GridSearchCV(steps, {f"{last}__{name}": values for name, values in grid.items()}, cv=5)
