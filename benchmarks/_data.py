"""Real problems for the benchmarks: (train, labels, test) by name."""

from pathlib import Path

import numpy as np

from ancr.datasets import DataNotFoundError, find_data, load_digits, load_usps, per_class_split

FEATURE_SETS = {"Stanford 40": "stanford40", "CUB-200-2011": "cub200_2011", "Cars": "stanford_cars"}


def usps(n_per_class=300, dtype=np.float64):
    """USPS digits: N training samples per class, and the official test set."""
    data = load_usps()
    train, _ = per_class_split(data.target, n_per_class, seed=0, pool=data.train_indices)
    pixels = data.data.astype(dtype)
    return pixels[train], data.target[train], pixels[data.test_indices]


def digits(n_per_class=100):
    """scikit-learn's digits: N training samples per class, all others as queries."""
    data = load_digits()
    train, test = per_class_split(data.target, n_per_class, seed=0)
    return data.data[train], data.target[train], data.data[test]


def features(name):
    """Real deep features (EfficientNet-Lite0, float32) on the official split, or None if they are not available."""
    try:
        path = find_data(str(Path(FEATURE_SETS[name]) / "efficientnet_lite0_1280.npz"))
    except DataNotFoundError:
        return None
    content = np.load(path)
    vectors, train = content["features"].astype(np.float32), content["is_train"].astype(bool)
    return vectors[train], content["labels"][train], vectors[~train]
