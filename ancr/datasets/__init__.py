"""Data sets of the paper, and one that ships with scikit-learn."""

from ancr.datasets._locate import DataNotFoundError, find_data
from ancr.datasets.ar import load_ar
from ancr.datasets.digits import load_digits
from ancr.datasets.splits import per_class_split
from ancr.datasets.usps import load_usps

__all__ = ["DataNotFoundError", "find_data", "load_ar", "load_digits", "load_usps", "per_class_split"]
