"""Small sources, so that what is tested is the engine and not a data set."""

import numpy as np
from sklearn.utils import Bunch

from ancr.comparison.cells import Cell
from ancr.comparison.split_sources import SplitSource


class Blobs(SplitSource):
    """Three classes that no method gets all right, under the names of the paper's USPS columns."""

    name, title, features = "blobs", "Blobs", "vectors"
    settings, typical, draws = ("N=50", "N=100"), "N=50", 2

    def load(self):
        rng = np.random.default_rng(0)
        target = np.repeat([0, 1, 2], 30)
        data = rng.standard_normal((90, 12)) + 1.2 * np.eye(3, 12)[target]
        return Bunch(data=data, target=target, target_names=np.array(["a", "b", "c"]), image_shape=None)

    def indices(self, setting, draw):
        """Two thirds to train on, by the draw."""
        rows = np.random.default_rng([draw, len(setting)]).permutation(90)
        return np.sort(rows[:60]), np.sort(rows[60:])


def cell(method="ANCR", accuracy=90.0, **changes):
    """A cell with plausible values."""
    values = {
        "dataset": "usps", "features": "pixels", "setting": "N=50", "method": method, "protocol": "paper", "draw": 0,
        "seed": 0, "params": {"alpha": 1e-3}, "accuracy": accuracy, "n_test": 100, "fit_s": 0.5, "predict_s": 1.5,
    }  # fmt: skip
    return Cell.from_line({**values, **changes})
