"""Classifiers: the axes behind scikit-learn's API, and the named methods as presets."""

from ancr.classifiers.any_axes import RepresentationClassifier
from ancr.classifiers.presets import ACRClassifier, ANCRClassifier, CRCClassifier, NCRClassifier, NRCClassifier
from ancr.classifiers.rivals import (
    CCRCClassifier,
    CROCClassifier,
    NSCClassifier,
    ProCRCClassifier,
    SACRCClassifier,
    SRCClassifier,
)

__all__ = [
    "ACRClassifier", "ANCRClassifier", "CCRCClassifier", "CRCClassifier", "CROCClassifier", "NCRClassifier",
    "NRCClassifier", "NSCClassifier", "ProCRCClassifier", "RepresentationClassifier", "SACRCClassifier",
    "SRCClassifier",
]  # fmt: skip
