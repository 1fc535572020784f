"""Protocol ``cv``: every method with its settings chosen on the training set alone.

ANCR and CRC are searched over spaces, as `ancr.ANCRClassifierCV` does by default, and once more in the linear space.
So is kernel ridge regression on one-hot labels, which is CRC with the rule ``label``; softmax, SVM, nearest neighbours,
forest and boosting are in `ancr.comparison.other_classifiers`. The paper's other methods stay linear, as published.

Members of the family are scored by leave-one-out if the library can do that without a refit, otherwise in five
stratified folds; the others (CROC, SA-CRC and the rivals) in five folds, by accuracy. No test label is used.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

import ancr
from ancr.axes.rules import RULES
from ancr.comparison.method import Method
from ancr.comparison.other_classifiers import grid_search, rivals

# The linear space at unit norm; spaces are recorded in cells, so they are names and dictionaries here.
_LINEAR = {"spaces": ["linear"]}


def tuned_methods(spaces: Mapping[str, Any] | None = None, is_large: bool = False) -> dict[str, Method]:
    """``{name: Method}``, each with the grid that it searches.

    Parameters
    ----------
    spaces : dict or None
        The spaces to search, as parameters of `ancr.RepresentationClassifierCV`; None or empty for its defaults.
    is_large : bool
        Smaller grids for the paper's methods, for data of thousands of samples in thousands of dimensions.
    """
    found = {name: [space.changed_params() for space in given] for name, given in (spaces or {}).items()}
    return {**_in_spaces(found), **rivals(found.get("spaces")), **_paper_methods(is_large)}


def _in_spaces(spaces: dict[str, Any]) -> dict[str, Method]:
    """ANCR and CRC over spaces, and kernel ridge regression."""
    free = {"constraints": ["free"], "relaxations": [None], "alphas": path(1e-3, 1.0, 7)}
    linear = {"spaces": [one for one in spaces["spaces"] if "kernel" not in one]} if spaces else _LINEAR
    ancr_cv, any_cv = partial(_search, ancr.ANCRClassifierCV), partial(_search, ancr.RepresentationClassifierCV)
    return {
        "CRC": Method(any_cv, {**free, **spaces}),
        "CRC (linear)": Method(any_cv, {**free, **linear}),
        "ANCR": Method(ancr_cv, spaces),
        "ANCR (linear)": Method(ancr_cv, linear),
        "Kernel ridge": Method(any_cv, {**free, **spaces, "rules": ["label"]}),
    }


def _search(kind: Callable[..., Any], spaces: list[Any] | None = None, **grid: Any) -> Any:
    """A search, from spaces as a cell records them."""
    found = spaces and [ancr.Space(**one) if isinstance(one, dict) else one for one in spaces]
    return kind(spaces=found, **grid)


def _paper_methods(large: bool) -> dict[str, Method]:
    """The methods of the paper in the linear space."""
    alphas = [1e-2, 1e-1, 1.0] if large else [1e-4, 1e-3, 3e-3, 1e-2, 1e-1]
    relaxations = [0.3, 1.0, 10.0, None] if large else [0.1, 1.0, 3.0, 10.0, 100.0, None]
    size = len(alphas) * len(relaxations)
    rules = ["res", "label"]

    def representation(quadratic: str, constraint: str, **grid: Any) -> Method:
        params = {"quadratics": [quadratic], "constraints": [constraint], "relaxations": [None], **_LINEAR, **grid}
        return Method(ancr.RepresentationClassifierCV, params)

    alpha_path = path(1e-4, 10.0, size // 2)
    class_terms = {"alphas": alphas, "betas": [1e-4, 1e-3, 1e-2, 1e-1] if large else path(1e-4, 1.0, 6)}
    # Without a ridge, a stronger relaxation gives codes of thousands of atoms.
    relaxed = (
        {"rules": list(RULES), "relaxations": [10.0, 100.0, None]}
        if large
        else {"rules": rules, "relaxations": [*path(0.03, 100.0, size // 2 - 1), None]}
    )
    return {
        "NSC": representation("subspace", "free", alphas=alpha_path, rules=rules),
        "SRC": representation("l1", "free", alphas=path(0.02, 1.0, size // 2), rules=rules),
        "CROC": Method(
            partial(grid_search, ancr.CROCClassifier, unit=False),
            {"alpha": alpha_path[:: 1 if large else 3], "weight": [0.0, 0.1, 0.2, 0.3, 0.5, 0.8]},
        ),
        "ProCRC": representation("probabilistic", "free", rules=["pro"], **class_terms),
        "SA-CRC": Method(
            partial(grid_search, ancr.SACRCClassifier, unit=False),
            {"alpha": path(1e-3, 1.0, size // 3), "n_nonzero": [10, 30, 50]},
        ),
        "CCRC": representation("competitive", "free", rules=["res"], **class_terms),
        "NRC": representation("least_squares", "nonnegative", **relaxed),
        "ACR": representation("ridge", "affine", alphas=alpha_path, rules=rules),
        "NCR": representation("ridge", "nonnegative", alphas=alphas, relaxations=relaxations),
    }


def path(lowest: float, highest: float, number: int) -> list[float]:
    """Values evenly spaced on a logarithmic scale, rounded to three digits."""
    return [float(f"{value:.3g}") for value in np.geomspace(lowest, highest, number)]
