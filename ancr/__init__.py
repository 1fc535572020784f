"""Representation-based classification behind scikit-learn's API.

A query is written as a combination of all training samples at once and is assigned to the class whose own samples
represent it best. Every method is a choice on five axes: space, quadratic, set, solver and rule.
"""

__version__ = "0.1.0"

# name -> module that defines it. Resolved on first use, so that `import ancr` is almost free.
_HOMES = {
    "ACRClassifier": "ancr.classifiers",
    "ANCRClassifier": "ancr.classifiers",
    "ANCRClassifierCV": "ancr.model_selection",
    "CCRCClassifier": "ancr.classifiers",
    "CRCClassifier": "ancr.classifiers",
    "CROCClassifier": "ancr.classifiers",
    "NCRClassifier": "ancr.classifiers",
    "NRCClassifier": "ancr.classifiers",
    "NSCClassifier": "ancr.classifiers",
    "ProCRCClassifier": "ancr.classifiers",
    "RepresentationClassifier": "ancr.classifiers",
    "RepresentationClassifierCV": "ancr.model_selection",
    "SACRCClassifier": "ancr.classifiers",
    "SRCClassifier": "ancr.classifiers",
    "CodePathDisplay": "ancr.displays",
    "Dictionary": "ancr.dictionary",
    "LabelAudit": "ancr.labels.audit",
    "audit_labels": "ancr.selection.label_audit",
    "next_to_label": "ancr.labels.next_to_label",
    "ExplanationDisplay": "ancr.displays",
    "ResidualDisplay": "ancr.displays",
    "compare": "ancr.experiments.compare",
    "project_simplex": "ancr.sets",
    "solve": "ancr.solvers",
}

__all__ = [*_HOMES, "__version__"]


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module 'ancr' has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__():
    return sorted(__all__)
