"""Classifiers: the four axes behind scikit-learn's API, and the named methods as presets."""

from ancr.classifiers.base import RepresentationClassifier
from ancr.classifiers.presets import (
    ACRClassifier,
    ANCRClassifier,
    CRCClassifier,
    NCRClassifier,
    NRCClassifier,
)

__all__ = [
    "ACRClassifier",
    "ANCRClassifier",
    "CRCClassifier",
    "NCRClassifier",
    "NRCClassifier",
    "RepresentationClassifier",
]
