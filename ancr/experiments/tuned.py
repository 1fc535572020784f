"""Protocol ``cv``: every method with its settings chosen on the training set alone.

ANCR and CRC are searched over spaces, as `ancr.ANCRClassifierCV` does by default, and once more in the linear space.
So is kernel ridge regression on one-hot labels, which is CRC with the rule ``label``; softmax, SVM, nearest neighbours,
forest and boosting are in `ancr.experiments.rivals`. The other methods of the paper stay linear, as published.

Members of the family are scored by leave-one-out if the library can do that without a refit, otherwise in five
stratified folds; the others (CROC, SA-CRC and the rivals) in five folds, by accuracy. No test label is used.
"""

from functools import partial

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, LinearSVC

import ancr
from ancr.axes.rules import RULES
from ancr.experiments.method import Method
from ancr.experiments.published import LARGE, PRINTED
from ancr.experiments.rivals import grid_search, rivals

_LINEAR = {"kernels": ["linear"], "powers": [1.0]}


def tuned_methods(dataset, spaces=None):
    """``{name: Method}`` for a data set, each with the grid that it searches.

    Parameters
    ----------
    dataset : str
        Its name; large sets have smaller grids.
    spaces : dict or None
        The spaces to search, as parameters of `ancr.RepresentationClassifierCV`; None or empty for its defaults.
    """
    spaces = dict(spaces or {})
    large = dataset in LARGE
    methods = {**_in_spaces(spaces), **rivals(spaces), **_paper_methods(large)}
    if dataset in PRINTED or dataset == "digits":
        methods |= _printed_rivals(large)
    dropped = ("SVM", "SRC", "CROC", "SA-CRC", "CCRC", "NSC", "Random forest", "Gradient boosting") if large else ()
    return {name: method for name, method in methods.items() if name not in dropped}


def _in_spaces(spaces):
    """ANCR and CRC over spaces, and kernel ridge regression."""
    free = {"constraints": ["free"], "relaxations": [None], "alphas": _path(1e-3, 1.0, 7)}
    linear = {**_LINEAR, **{name: value for name, value in spaces.items() if name == "normalize"}}
    return {
        "CRC": Method(ancr.RepresentationClassifierCV, {**free, **spaces}),
        "CRC (linear)": Method(ancr.RepresentationClassifierCV, {**free, **linear}),
        "ANCR": Method(ancr.ANCRClassifierCV, spaces),
        "ANCR (linear)": Method(ancr.ANCRClassifierCV, linear),
        "Kernel ridge": Method(ancr.RepresentationClassifierCV, {**free, **spaces, "rules": ["label"]}),
    }


def _printed_rivals(large):
    """Rivals with the grids behind the tables of the paper's data sets; powers are searched as they are for ANCR."""
    softmax, powers = partial(grid_search, partial(LogisticRegression, max_iter=200)), [1.0, 0.5]
    costs = [10.0] if large else [0.1, 1.0, 10.0, 100.0]
    return {
        "Softmax": Method(softmax, {"C": _path(0.1, 100.0, 7)}),
        "Softmax (power)": Method(softmax, {"C": _path(0.1, 100.0, 7), "power": powers}),
        "SVM": Method(partial(grid_search, LinearSVC), {"C": _path(0.01, 100.0, 12 if large else 30)}),
        "RBF SVM": Method(partial(grid_search, SVC), {"C": costs, "gamma": [0.5, 1.0, 2.0], "power": powers}),
    }


def _paper_methods(large):
    """The methods of the paper in the linear space."""
    alphas = [1e-2, 1e-1, 1.0] if large else [1e-4, 1e-3, 3e-3, 1e-2, 1e-1]
    relaxations = [0.3, 1.0, 10.0, None] if large else [0.1, 1.0, 3.0, 10.0, 100.0, None]
    size = len(alphas) * len(relaxations)
    rules = ["res", "label"]

    def representation(quadratic, constraint, **grid):
        params = {"quadratics": [quadratic], "constraints": [constraint], "relaxations": [None], **_LINEAR, **grid}
        return Method(ancr.RepresentationClassifierCV, params)

    path = _path(1e-4, 10.0, size // 2)
    class_terms = {"alphas": alphas, "betas": [1e-4, 1e-3, 1e-2, 1e-1] if large else _path(1e-4, 1.0, 6)}
    # Without a ridge, a stronger relaxation gives codes of thousands of atoms.
    relaxed = (
        {"rules": list(RULES), "relaxations": [10.0, 100.0, None]}
        if large
        else {"rules": rules, "relaxations": [*_path(0.03, 100.0, size // 2 - 1), None]}
    )
    return {
        "NSC": representation("subspace", "free", alphas=path, rules=rules),
        "SRC": representation("l1", "free", alphas=_path(0.02, 1.0, size // 2), rules=rules),
        "CROC": Method(
            partial(grid_search, ancr.CROCClassifier, unit=False),
            {"alpha": path[:: 1 if large else 3], "weight": [0.0, 0.1, 0.2, 0.3, 0.5, 0.8]},
        ),
        "ProCRC": representation("probabilistic", "free", rules=["pro"], **class_terms),
        "SA-CRC": Method(
            partial(grid_search, ancr.SACRCClassifier, unit=False),
            {"alpha": _path(1e-3, 1.0, size // 3), "n_nonzero": [10, 30, 50]},
        ),
        "CCRC": representation("competitive", "free", rules=["res"], **class_terms),
        "NRC": representation("least_squares", "nonnegative", **relaxed),
        "ACR": representation("ridge", "affine", alphas=path, rules=rules),
        "NCR": representation("ridge", "nonnegative", alphas=alphas, relaxations=relaxations),
    }


def _path(lowest, highest, number):
    """Values evenly spaced on a logarithmic scale, rounded to three digits."""
    return [float(f"{value:.3g}") for value in np.geomspace(lowest, highest, number)]
