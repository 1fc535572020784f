"""Loaders for the paper's data sets, scikit-learn's digits, and a user's own folders and tables."""

from ancr._core.locations import DataNotFoundError, WrongTreeError, find_data
from ancr.datasets.bunches import per_class_split
from ancr.datasets.fetch import fetch
from ancr.datasets.image_sets import load_aircraft, load_cars, load_cub200, load_stanford40
from ancr.datasets.own_data import load_folder, load_table
from ancr.datasets.pixel_sets import load_ar, load_digits, load_usps
from ancr.datasets.registry import REGISTRY, DatasetInfo, dataset_info
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
