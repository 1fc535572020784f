"""Loaders for the paper's data sets, scikit-learn's digits, and a user's own folders and tables."""

from ancr._core.locations import DataNotFoundError, WrongTreeError, find_data
from ancr.datasets.aircraft import load_aircraft
from ancr.datasets.ar import load_ar
from ancr.datasets.cars import load_cars
from ancr.datasets.cub200 import load_cub200
from ancr.datasets.digits import load_digits
from ancr.datasets.fetch import fetch
from ancr.datasets.own_data import load_folder, load_table
from ancr.datasets.registry import REGISTRY, DatasetInfo, dataset_info
from ancr.datasets.splits import per_class_split
from ancr.datasets.stanford40 import load_stanford40
from ancr.datasets.usps import load_usps
from ancr.samples.sample_set import DataWarning

__all__ = [
    "REGISTRY",
    "DataNotFoundError",
    "DataWarning",
    "DatasetInfo",
    "WrongTreeError",
    "dataset_info",
    "fetch",
    "find_data",
    "load_aircraft",
    "load_ar",
    "load_cars",
    "load_cub200",
    "load_digits",
    "load_folder",
    "load_stanford40",
    "load_table",
    "load_usps",
    "per_class_split",
]
