"""The methods of a comparison, and where they get their settings from: its protocols, for any data.

Protocol ``paper``: the paper's λ and the settings of each method's authors.
Protocol ``exact``: the certified optimum at the paper's λ, for the methods whose published code stops early.
Protocol ``cv``: every method with its settings chosen on the training set alone. ANCR and CRC are searched over spaces,
as `ancr.ANCRClassifierCV` does by default, and once more in the linear space. So is kernel ridge regression on one-hot
labels, which is CRC with the rule ``label``. The paper's other methods stay linear, as published.

Members of the family are scored by leave-one-out if the library can do that without a refit, otherwise in five
stratified folds; the others (CROC, SA-CRC and the rivals) in five folds, by accuracy, and of large training parts in as
many of these folds as hold out 1,500 samples, as many as ANCR and CRC screen with. No test label is used.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.svm import SVC, LinearSVC

import ancr
from ancr.axes.rules import RULES
from ancr.axes.spaces import usual_spaces
from ancr.classifiers.settings import make, methods
from ancr.samples.other_classifiers import Boosting, Neighbours, OtherClassifier, SignedPower

PROTOCOLS = ("paper", "exact", "cv")
# Methods that are tried first: the table begins with them, and a short time limit still shows something.
USUALLY_QUICK = ("kNN", "Softmax", "SVM", "RBF SVM")
# Held-out samples that are enough to choose among the few settings of a grid.
_ENOUGH = 1500
# The linear space at unit norm; spaces are recorded in cells, so they are names and dictionaries here.
_LINEAR = {"spaces": ["linear"]}


@dataclass(frozen=True)
class Method:
    """An estimator class, its parameters, and the preprocessing of the features.

    Attributes
    ----------
    estimator : callable
        A classifier class, or a function that makes a classifier from the parameters.
    params : dict
        Its parameters, as they are recorded in a cell.
    before : tuple
        Unfitted transformers that preprocess the samples.
    """

    estimator: Callable[..., Any]
    params: dict[str, Any] = field(default_factory=dict)
    before: tuple[Any, ...] = ()

    def build(self) -> Any:
        """Make a new, unfitted estimator."""
        classifier = self.estimator(**self.params)
        return make_pipeline(*map(clone, self.before), classifier) if self.before else classifier


def check_protocols(names: Sequence[str]) -> Sequence[str]:
    """The names of some protocols.

    Raises
    ------
    ValueError
        If one is unknown, or if there are none.
    """
    unknown = [name for name in names if name not in PROTOCOLS]
    if unknown or not names:
        got = f"protocols: {unknown[0]!r} is unknown" if unknown else "protocols is empty"
        raise ValueError(f"{got}; choose from {', '.join(PROTOCOLS)}")
    return names


def methods_for(protocol: str, spaces: Mapping[str, Any] | None = None) -> dict[str, Method]:
    """``{name: Method}`` of a protocol.

    Parameters
    ----------
    protocol : {"paper", "exact", "cv"}
        Its name.
    spaces : dict or None
        For ``"cv"``: the spaces to search, as parameters of `ancr.RepresentationClassifierCV`; None or empty for its
        defaults.
    """
    if protocol == "cv":
        return tuned_methods(spaces)
    return certified_optima() if protocol == "exact" else published_settings()


def stopped_early(**params: Any) -> dict[str, Any]:
    """Parameters of ADMM as the authors' script runs it: five iterations, and the code that may leave the set."""
    return {"solver": "admm", "max_iter": 5, "code": "c", **params}


def certified_optima(alpha: float = 1e-3) -> dict[str, Method]:
    """The methods whose published code stops early, at their optimum."""
    return {
        "NRC": Method(ancr.NRCClassifier),
        "ANCR": Method(ancr.ANCRClassifier, {"alpha": alpha}),
        "NCR": Method(ancr.NCRClassifier, {"alpha": alpha}),
    }


def published_settings() -> dict[str, Method]:
    """The paper's λ = 1e-3 for all methods except SRC; other settings as each method's authors chose them.

    SRC's λ weights ‖c‖₁, not ‖c‖²: at 1e-3 its code would use nearly as many atoms as there are features.
    """
    return {
        "Softmax": Method(LogisticRegression, {"C": 10.0, "max_iter": 500}, (Normalizer(),)),
        "SVM": Method(LinearSVC, {"C": 1.0}, (Normalizer(),)),
        "NSC": Method(ancr.NSCClassifier, {"alpha": 1e-3}),
        "SRC": Method(ancr.SRCClassifier, {"alpha": 0.05}),
        "CRC": Method(ancr.CRCClassifier, {"alpha": 1e-3}),
        "CROC": Method(ancr.CROCClassifier, {"alpha": 1e-3}),
        "ProCRC": Method(ancr.ProCRCClassifier, {"alpha": 1e-3, "beta": 1e-3}),
        "SA-CRC": Method(ancr.SACRCClassifier, {"alpha": 1e-3, "n_nonzero": 50}),
        "CCRC": Method(ancr.CCRCClassifier, {"alpha": 1e-3, "beta": 1e-3}),
        "NRC": Method(ancr.NRCClassifier, stopped_early(rho=0.1)),
        "ANCR": Method(ancr.ANCRClassifier, stopped_early(alpha=1e-3, rho=1e-2)),
        "ACR": Method(ancr.ACRClassifier, {"alpha": 1e-3}),
        "NCR": Method(ancr.NCRClassifier, stopped_early(alpha=1e-3, rho=0.1)),
    }


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


class InnerFolds(BaseEstimator):
    """Stratified folds of a training part: five, or as many as its smallest class has samples; groups stay together.

    Of a large part only the first folds are used, until they have held out enough samples; then they are drawn at
    random.

    Parameters
    ----------
    most : int, default=5
        Folds where every class has enough samples.
    enough : int, default=1500
        How many held-out samples are enough.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.comparison.protocols import InnerFolds
    >>> InnerFolds().get_n_splits(y=np.arange(500) % 2), InnerFolds().get_n_splits(y=np.arange(4000) % 2)
    (5, 2)
    """

    def __init__(self, most: int = 5, enough: int = _ENOUGH) -> None:
        self.most, self.enough = most, enough

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of folds that are used for the labels ``y``."""
        folds = self._folds(y, groups)
        return min(folds, math.ceil(self.enough * folds / len(y)))

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield training and test rows of each fold that is used."""
        kind, folds = StratifiedKFold if groups is None else StratifiedGroupKFold, self._folds(y, groups)
        used = self.get_n_splits(X, y, groups)
        drawn = {"shuffle": True, "random_state": 0} if used < folds else {}
        return islice(kind(folds, **drawn).split(X, y, groups), used)

    def _folds(self, y: Any, groups: Any) -> int:
        many = self.most if groups is None else min(self.most, len(np.unique(groups)))
        return max(2, min(many, int(np.unique(y, return_counts=True)[1].min())))


def rivals(spaces: Sequence[Mapping[str, Any]] | None) -> dict[str, Method]:
    """``{name: Method}`` of softmax, support vector machines, nearest neighbours, forest and boosting.

    Each is tuned in the same inner folds. A comparison is fair if every method may choose its settings on the training
    part, and honest about time if no grid is so long that its method looks slow: grids have at most twelve points.

    Parameters
    ----------
    spaces : list of dict or None
        Parameters of the spaces that ANCR searches, None for the usual ones; powers and widths are searched alike.
    """
    given = usual_spaces() if spaces is None else [ancr.Space(**one) for one in spaces]
    unit = all(space.normalize for space in given)
    powers = list(dict.fromkeys(space.power for space in given))
    widths = list(dict.fromkeys(space.gamma for space in given if not space.is_linear))
    search = partial(partial, grid_search, unit=unit)
    trees = partial(partial, grid_search, unit=False)  # a tree does not care about the length of a sample
    costs = [0.1, 1.0, 10.0, 100.0]
    return {
        "Softmax": Method(search(partial(LogisticRegression, max_iter=1000)), {"C": costs}),
        "SVM": Method(search(partial(SVC, kernel="linear")), {"C": costs}),
        "RBF SVM": Method(search(SVC), {"C": costs[1:], "gamma": widths[-4:]}),
        "kNN": Method(search(Neighbours), {"n_neighbors": [1, 3, 5, 10], "power": powers}),
        "Random forest": Method(
            trees(partial(RandomForestClassifier, n_estimators=200, random_state=0)), {"min_samples_leaf": [1, 3]}
        ),
        "Gradient boosting": Method(trees(Boosting), {"max_leaf_nodes": [7, 31]}),
    }


def grid_search(
    estimator: Callable[[], Any], unit: bool = True, power: list[float] | None = None, **grid: Any
) -> GridSearchCV:
    """Grid search by accuracy in `InnerFolds`; ``unit`` scales samples to unit norm, after a power if there are some.

    Parameters
    ----------
    estimator : callable
        Makes the classifier.
    unit : bool
        Scale samples to unit norm.
    power : list of float or None
        Powers to choose from.
    **grid
        Lists of values of the classifier's parameters.
    """
    steps = [*([SignedPower()] if power else []), *([Normalizer()] if unit else [])]
    if not steps:
        return GridSearchCV(estimator(), grid, cv=InnerFolds())
    pipeline = make_pipeline(*steps, estimator())
    last = pipeline.steps[-1][0]
    searched = {f"{last}__{name}": values for name, values in grid.items()}
    if power:
        searched["signedpower__power"] = power
    return GridSearchCV(pipeline, searched, cv=InnerFolds())


def trainable() -> dict[str, str]:
    """``{name: name in a comparison}`` of the methods that ``ancr train`` trains with settings chosen as there.

    A method that also is a classifier with settings of its own, such as CRC, has ``-CV`` at the end of its name.

    Examples
    --------
    >>> from ancr.comparison.protocols import trainable
    >>> trainable()["kNN"], trainable()["CRC-CV"], trainable()["ANCR-CV"]
    ('kNN', 'CRC', 'ANCR')
    """
    taken = methods()
    return {f"{name}-CV" if name in taken else name: name for name in tuned_methods()}


def without_spelling(name: str) -> str:
    """A method's name by which it is looked up: case, spaces and hyphens do not count."""
    return re.sub(r"[\s_-]+", "", name).lower()


def name_to_train(name: str) -> str:
    """The name of a method that ``ancr train`` knows, as tables have it; an unknown one is returned unchanged.

    Examples
    --------
    >>> from ancr.comparison.protocols import name_to_train
    >>> [name_to_train(name) for name in ("rbf svm", "ancr-cv", "Forest")]
    ['RBF SVM', 'ANCR-CV', 'Forest']
    """
    return {without_spelling(known): known for known in (*methods(), *trainable())}.get(without_spelling(name), name)


def method_to_train(name: str, params: Mapping[str, Any], spaces: Mapping[str, Any] | None = None) -> Any:
    """A classifier by the name that ``ancr train`` knows it by: one of this package, or a method of a comparison.

    Parameters
    ----------
    name : str
        From `trainable`, or from `ancr.classifiers.settings.methods`.
    params : mapping
        Its parameters; none for a method of a comparison, which chooses them.
    spaces : mapping or None
        The spaces that a search looks into, as for `tuned_methods`.

    Raises
    ------
    ValueError
        In one line that has the known names.
    """
    own, compared = methods(), trainable()
    if name in own:
        return make(name, params)
    if name not in compared:
        raise ValueError(f"method {name!r} is unknown; choose from {', '.join(dict.fromkeys([*own, *compared]))}")
    if params:
        raise ValueError(f"--set {next(iter(params))}: {name} chooses its settings on the training samples; give none")
    made = tuned_methods(spaces)[compared[name]].build()
    return OtherClassifier(name, made) if compared[name] in rivals(None) else made
