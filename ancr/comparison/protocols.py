"""Where methods get their settings from: the protocols of a comparison, for any data.

Protocol ``cv``: settings chosen on the training set alone, see `ancr.comparison.tuned`.
Protocol ``paper``: the paper's λ and the settings of each method's authors.
Protocol ``exact``: the certified optimum at the paper's λ, for the methods whose published code stops early.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import Normalizer
from sklearn.svm import LinearSVC

import ancr
from ancr.comparison.method import Method
from ancr.comparison.tuned import tuned_methods

PROTOCOLS = ("paper", "exact", "cv")


def check_protocols(names: Sequence[str]) -> Sequence[str]:
    """The names of some protocols.

    Raises
    ------
    ValueError
        If one is unknown, or if there are none.
    """
    unknown = [name for name in names if name not in PROTOCOLS]
    if unknown or not names:
        got = f"protocol {unknown[0]!r} is unknown" if unknown else "protocols is empty"
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
