"""The methods under the names the paper prints, with the settings of each protocol.

Protocol ``paper``: settings known to give the printed numbers, which others chose on test labels.
Protocol ``exact``: the certified optimum at the paper's λ.
"""

from dataclasses import dataclass, field

import ancr


@dataclass(frozen=True)
class Method:
    """An estimator class and the parameters that a protocol gives it."""

    estimator: type
    params: dict = field(default_factory=dict)

    def build(self):
        """A fresh, unfitted estimator."""
        return self.estimator(**self.params)


def _admm(**params):
    return {"solver": "admm", "max_iter": 5, "code": "c", **params}


# The paper's USPS protocol prints λ = 1e-3 for ANCR and nothing for the others; small data of the same kind use it.
METHODS = {
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
