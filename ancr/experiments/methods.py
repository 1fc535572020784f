"""The methods under the names the paper prints, with the settings of each protocol.

Protocol ``paper``: on AR and USPS the settings known to give the printed numbers, which others chose on test labels;
elsewhere the paper's λ and what each method's authors use.
Protocol ``exact``: the certified optimum at the paper's λ, for the methods whose published code stops early.
Protocol ``cv``: settings chosen on the training set alone, see `ancr.experiments.chosen`; only where asked for, because
it takes long.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer
from sklearn.svm import SVC, LinearSVC

import ancr
from ancr.experiments.chosen import chosen_methods
from ancr.features import Eigenfaces


@dataclass(frozen=True)
class Method:
    """An estimator class, its parameters, and what the features go through first.

    Attributes
    ----------
    estimator : callable
        A classifier class, or what makes a classifier from the parameters.
    params : dict
        Its parameters, as they are recorded in a cell.
    before : tuple
        Unfitted transformers that the samples go through before the classifier.
    """

    estimator: Callable
    params: dict = field(default_factory=dict)
    before: tuple = ()

    def build(self):
        """A fresh, unfitted estimator."""
        classifier = self.estimator(**self.params)
        return make_pipeline(*map(clone, self.before), classifier) if self.before else classifier


def methods_for(dataset, setting, protocol):
    """``{name: Method}`` of a protocol on a data set and setting, in the order the paper lists them.

    Parameters
    ----------
    dataset : str
        ``"digits"``, ``"ar"``, ``"usps"``, ``"stanford40"``, ``"cub"``, ``"aircraft"``, ``"cars"``, or a user's own.
    setting : str
        ``"dim=54"``, ``"N=50"`` and so on.
    protocol : str
        ``"paper"``, ``"exact"`` or ``"cv"``.
    """
    if protocol == "cv":
        return chosen_methods(dataset, Method)
    if protocol == "exact":
        return _optima(alpha=1e-4 if dataset == "ar" else 1e-3)
    if dataset == "ar":
        return _ar(setting)
    if dataset == "usps":
        return _usps(setting)
    methods = _general()
    if dataset in ("stanford40", "cub", "aircraft", "cars"):
        del methods["SVM"]  # the paper's tables of these have softmax in its place
    return methods


PROTOCOLS = ("paper", "exact")
# All that can be asked for.
KNOWN_PROTOCOLS = (*PROTOCOLS, "cv")


def _admm(**params):
    return {"solver": "admm", "max_iter": 5, "code": "c", **params}


def _optima(alpha):
    return {
        "NRC": Method(ancr.NRCClassifier),
        "ANCR": Method(ancr.ANCRClassifier, {"alpha": alpha}),
        "NCR": Method(ancr.NCRClassifier, {"alpha": alpha}),
    }


def _ar(setting):
    """AR: the settings that give the printed rows to within rounding, but for SVM, whose row was not reproduced.

    The best linear SVM found, one-vs-rest at C = 10 on unit-norm features, stays 1 to 3 points below the printed one;
    one-vs-one (`SVC(kernel="linear")`, C from 0.1 to 1e4) is worse, 69.8 / 73.7 / 74.4 at best.
    """
    small = setting == "dim=54"
    return {
        "NSC": Method(ancr.NSCClassifier, {"alpha": 1e-5}),
        "SVM": Method(LinearSVC, {"C": 10.0}, (Normalizer(),)),
        "SRC": Method(ancr.SRCClassifier, {"alpha": 1e-4 if small else 1e-5, "gap": 1e-2}),
        "CRC": Method(ancr.CRCClassifier, {"alpha": 1e-3}),
        "CROC": Method(
            ancr.CROCClassifier, {"alpha": 1e-3, "weight": 0.1} if small else {"alpha": 1e-2, "weight": 0.3}
        ),
        "ProCRC": Method(ancr.ProCRCClassifier, {"alpha": 1e-3 if small else 1e-2, "gamma": 1e-4, "rule": "reg"}),
        "SA-CRC": Method(ancr.SACRCClassifier, {"alpha": 1e-3, "n_nonzero": 50}),
        "CCRC": Method(ancr.CCRCClassifier, {"alpha": 1e-3, "gamma": 1e-3}),
        "NRC": Method(ancr.NRCClassifier, _admm(rho=0.1)),
        "ANCR": Method(ancr.ANCRClassifier, _admm(alpha=1e-4, rho=1e-2)),
        "ACR": Method(ancr.ACRClassifier, {"alpha": 1e-4}),
        "NCR": Method(ancr.NCRClassifier, _admm(alpha=1e-4, rho=0.1)),
    }


def _usps(setting):
    """USPS: the paper prints λ = 1e-3 for ANCR and nothing else; these settings came closest to its table.

    Every setting tried is in ``benchmarks/results/usps_settings.md``.
    """
    few = setting == "N=50"
    pca = (Eigenfaces(100),)
    signed = (FunctionTransformer(_to_signed), *pca)
    subspaces = {
        "N=50": Method(ancr.NSCClassifier, {"alpha": 1e-2}, signed),
        "N=100": Method(ancr.NSCClassifier, {"alpha": 0.1}, pca),
    }
    return {
        "NSC": subspaces.get(setting, Method(ancr.NSCClassifier, {"alpha": 0.3})),
        "SVM": Method(SVC, {"kernel": "linear", "C": 0.1}),
        "SRC": Method(ancr.SRCClassifier, {"alpha": 0.02}, signed),
        "CRC": Method(ancr.CRCClassifier, {"alpha": 1.0}, signed),
        "CROC": Method(
            ancr.CROCClassifier, {"alpha": 1.0, "weight": 0.0} if few else {"alpha": 3.0, "weight": 0.1}, signed
        ),
        "ProCRC": Method(ancr.ProCRCClassifier, {"alpha": 1e-3, "gamma": 1e-2}, signed),
        "SA-CRC": Method(ancr.SACRCClassifier, {"alpha": 1e-3, "n_nonzero": 30 if few else 50}, pca),
        "CCRC": Method(ancr.CCRCClassifier, {"alpha": 1e-2, "gamma": 0.1}, signed),
        "NRC": Method(ancr.NRCClassifier, _admm(rho=1.0), signed),
        "ANCR": Method(ancr.ANCRClassifier, {"alpha": 1e-3}),
        "ACR": Method(ancr.ACRClassifier, {"alpha": 1e-2}, (FunctionTransformer(_to_signed),)),
        "NCR": Method(ancr.NCRClassifier, _admm(alpha=1e-3, rho=1.0), signed),
    }


def _to_signed(pixels):
    """Pixels from [0, 1] to [−1, 1]."""
    return 2.0 * pixels - 1.0


def _general():
    """Other data: the paper's λ = 1e-3 throughout, but for SRC's, the rest as each method's authors have it.

    SRC's λ weighs ‖c‖₁, not ‖c‖²: at 1e-3 its code would use nearly as many atoms as there are features.
    """
    return {
        "Softmax": Method(LogisticRegression, {"C": 10.0, "max_iter": 500}, (Normalizer(),)),
        "SVM": Method(LinearSVC, {"C": 1.0}, (Normalizer(),)),
        "NSC": Method(ancr.NSCClassifier, {"alpha": 1e-3}),
        "SRC": Method(ancr.SRCClassifier, {"alpha": 0.05}),
        "CRC": Method(ancr.CRCClassifier, {"alpha": 1e-3}),
        "CROC": Method(ancr.CROCClassifier, {"alpha": 1e-3}),
        "ProCRC": Method(ancr.ProCRCClassifier, {"alpha": 1e-3, "gamma": 1e-3}),
        "SA-CRC": Method(ancr.SACRCClassifier, {"alpha": 1e-3, "n_nonzero": 50}),
        "CCRC": Method(ancr.CCRCClassifier, {"alpha": 1e-3, "gamma": 1e-3}),
        "NRC": Method(ancr.NRCClassifier, _admm(rho=0.1)),
        "ANCR": Method(ancr.ANCRClassifier, _admm(alpha=1e-3, rho=1e-2)),
        "ACR": Method(ancr.ACRClassifier, {"alpha": 1e-3}),
        "NCR": Method(ancr.NCRClassifier, _admm(alpha=1e-3, rho=0.1)),
    }
