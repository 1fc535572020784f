"""The methods under the names the paper prints, with the settings of each protocol.

Protocol ``paper``: settings known to give the printed numbers, which others chose on test labels.
Protocol ``exact``: the certified optimum at the paper's λ, for the methods whose published code stops early.
"""

from dataclasses import dataclass, field

from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import ancr


@dataclass(frozen=True)
class Method:
    """An estimator class, its parameters, and what the features go through first.

    Attributes
    ----------
    estimator : type
        A classifier class.
    params : dict
        Its parameters, as they are recorded in a cell.
    before : tuple
        Unfitted transformers that the samples go through before the classifier.
    """

    estimator: type
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
        ``"paper"`` or ``"exact"``.
    """
    return dict(_PROTOCOLS[protocol])


def _admm(**params):
    return {"solver": "admm", "max_iter": 5, "code": "c", **params}


# The paper's USPS protocol prints λ = 1e-3 for ANCR and nothing for the others; small data of the same kind use it.
_PROTOCOLS = {
    "paper": {
        "CRC": Method(ancr.CRCClassifier, {"alpha": 1e-3}),
        "NRC": Method(ancr.NRCClassifier, _admm(rho=0.1)),
        "ANCR": Method(ancr.ANCRClassifier, _admm(alpha=1e-3, rho=1e-2)),
        "ACR": Method(ancr.ACRClassifier, {"alpha": 1e-3}),
        "NCR": Method(ancr.NCRClassifier, _admm(alpha=1e-3, rho=0.1)),
    },
    "exact": {
        "NRC": Method(ancr.NRCClassifier),
        "ANCR": Method(ancr.ANCRClassifier, {"alpha": 1e-3}),
        "NCR": Method(ancr.NCRClassifier, {"alpha": 1e-3}),
    },
}

PROTOCOLS = tuple(_PROTOCOLS)
