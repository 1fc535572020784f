"""Protocol ``cv``: every method with its settings chosen on the training set alone.

ANCR and CRC are searched over spaces, as `ancr.ANCRClassifierCV` does by default, and once more in the linear space.
So are their rivals: kernel ridge regression on one-hot labels, which is CRC with the rule ``label``, softmax with a
power, an SVM with an RBF kernel, nearest neighbours. The other methods of the paper stay linear, as published.

Members of the family are scored by leave-one-out if the library can do that without a refit, otherwise in five
stratified folds; the others (CROC, SA-CRC, SVM, softmax, kNN) in five folds, by accuracy. No test label is used.
"""

from functools import partial

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer
from sklearn.svm import SVC, LinearSVC

import ancr
from ancr.experiments.method import Method
from ancr.experiments.published import LARGE
from ancr.rules import RULES
from ancr.spaces import signed_power

_LINEAR = {"kernels": ["linear"], "powers": [1.0]}
_WIDTHS = [0.5, 1.0, 2.0]


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
    methods = {**_paper_methods(dataset in LARGE), **_in_spaces(spaces), **_rivals(spaces, dataset in LARGE)}
    dropped = ("SVM", "SRC", "CROC", "SA-CRC", "CCRC", "NSC") if dataset in LARGE else ()
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


def _rivals(spaces, large):
    """Classifiers from outside the family: powers and widths are searched as they are for ANCR."""
    unit = spaces.get("normalize", True)
    powers, widths = spaces.get("powers", [1.0, 0.5]), spaces.get("gammas", _WIDTHS)
    softmax = partial(_grid_search, partial(LogisticRegression, max_iter=200), unit=unit)
    neighbours = partial(_grid_search, KNeighborsClassifier, unit=unit)
    return {
        "Softmax": Method(softmax, {"C": _path(0.1, 100.0, 7)}),
        "Softmax (power)": Method(softmax, {"C": _path(0.1, 100.0, 7), "power": powers}),
        "RBF SVM": Method(
            partial(_grid_search, SVC, unit=unit),
            {"C": [10.0] if large else [0.1, 1.0, 10.0, 100.0], "gamma": widths, "power": powers},
        ),
        "kNN": Method(neighbours, {"n_neighbors": [1, 3, 5, 10], "power": powers}),
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
        "SVM": Method(partial(_grid_search, LinearSVC), {"C": _path(0.01, 100.0, size)}),
        "NSC": representation("subspace", "free", alphas=path, rules=rules),
        "SRC": representation("l1", "free", alphas=_path(0.02, 1.0, size // 2), rules=rules),
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
        "ACR": representation("ridge", "affine", alphas=path, rules=rules),
        "NCR": representation("ridge", "nonnegative", alphas=alphas, relaxations=relaxations),
    }


def _path(lowest, highest, number):
    """Values evenly spaced on a logarithmic scale, rounded to three digits."""
    return [float(f"{value:.3g}") for value in np.geomspace(lowest, highest, number)]


def _grid_search(estimator, unit=True, power=None, **grid):
    """Grid search in five stratified folds; ``unit`` scales samples to unit norm, after a power if there are some."""
    steps = [FunctionTransformer(signed_power)] if power else []
    pipeline = make_pipeline(*steps, *([Normalizer()] if unit else []), estimator())
    last = pipeline.steps[-1][0]
    searched = {f"{last}__{name}": values for name, values in grid.items()}
    if power:
        searched["functiontransformer__kw_args"] = [{"power": value} for value in power]
    return GridSearchCV(pipeline, searched, cv=5)
