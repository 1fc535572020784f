"""Representation-based classification behind scikit-learn's API.

A query is written as a combination of all training samples at once and is assigned to the class whose own samples
represent it best. Every method is a choice on five axes: space, quadratic, set, solver and rule.
"""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:  # for type checkers and editors; at run time names are resolved on first use
    from ancr.axes.sets import CappedSimplex, project_simplex
    from ancr.axes.spaces import Space
    from ancr.classifiers import (
        ACRClassifier,
        ANCRClassifier,
        CCRCClassifier,
        CRCClassifier,
        CROCClassifier,
        NCRClassifier,
        NRCClassifier,
        NSCClassifier,
        ProCRCClassifier,
        RepresentationClassifier,
        SACRCClassifier,
        SRCClassifier,
    )
    from ancr.classifiers.displays import CodePathDisplay, ExplanationDisplay, ResidualDisplay
    from ancr.comparison.run import compare
    from ancr.dictionary.coordinates import Dictionary
    from ancr.dictionary.terms import Locality
    from ancr.labels.audit import LabelAudit, audit_labels
    from ancr.labels.next_to_label import next_to_label
    from ancr.model_selection import ANCRClassifierCV, RepresentationClassifierCV
    from ancr.samples.table_pipeline import table_pipeline
    from ancr.solvers import Coder, prepare, solve

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
    "CodePathDisplay": "ancr.classifiers.displays",
    "CappedSimplex": "ancr.axes.sets",
    "Coder": "ancr.solvers",
    "Dictionary": "ancr.dictionary.coordinates",
    "Space": "ancr.axes.spaces",
    "LabelAudit": "ancr.labels.audit",
    "Locality": "ancr.dictionary.terms",
    "audit_labels": "ancr.labels.audit",
    "next_to_label": "ancr.labels.next_to_label",
    "ExplanationDisplay": "ancr.classifiers.displays",
    "ResidualDisplay": "ancr.classifiers.displays",
    "compare": "ancr.comparison.run",
    "prepare": "ancr.solvers",
    "project_simplex": "ancr.axes.sets",
    "solve": "ancr.solvers",
    "table_pipeline": "ancr.samples.table_pipeline",
}

__all__ = [
    "ACRClassifier",
    "ANCRClassifier",
    "ANCRClassifierCV",
    "CCRCClassifier",
    "CRCClassifier",
    "CROCClassifier",
    "CappedSimplex",
    "CodePathDisplay",
    "Coder",
    "Dictionary",
    "ExplanationDisplay",
    "LabelAudit",
    "Locality",
    "NCRClassifier",
    "NRCClassifier",
    "NSCClassifier",
    "ProCRCClassifier",
    "RepresentationClassifier",
    "RepresentationClassifierCV",
    "ResidualDisplay",
    "SACRCClassifier",
    "SRCClassifier",
    "Space",
    "__version__",
    "audit_labels",
    "compare",
    "next_to_label",
    "prepare",
    "project_simplex",
    "solve",
    "table_pipeline",
]


if not TYPE_CHECKING:  # a type checker would take every name for granted

    def __getattr__(name):
        if name not in _HOMES:
            raise AttributeError(f"module 'ancr' has no attribute {name!r}")
        from importlib import import_module

        value = globals()[name] = getattr(import_module(_HOMES[name]), name)
        return value


def __dir__() -> list[str]:
    return sorted(__all__)


del TYPE_CHECKING  # only public names can be seen
