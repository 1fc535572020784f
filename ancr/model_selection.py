"""Classifiers that choose their settings on the training set alone."""

from ancr.selection.cross_validation import ANCRClassifierCV, RepresentationClassifierCV

__all__ = ["ANCRClassifierCV", "RepresentationClassifierCV"]
