"""Classifiers that choose their settings on the training set alone."""

from ancr.selection.cross_validation import ANCRClassifierCV, RepresentationClassifierCV
from ancr.selection.reject import RejectOption
from ancr.selection.search import Search

__all__ = ["ANCRClassifierCV", "RejectOption", "RepresentationClassifierCV", "Search"]
