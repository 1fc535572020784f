"""A data set for experiments: iris, ten samples per class to train on, the others to test on."""

from sklearn.datasets import load_iris
from sklearn.utils import Bunch

from ancr.comparison.split_sources import SplitSource
from ancr.datasets import per_class_split


class Iris(SplitSource):
    """Tables, figures and report for it come from ``Experiment`` in ``ancr.paper.experiment``."""

    name, title, features = "iris", "Iris", "measurements"
    settings, typical, draws = ("N=10",), "N=10", 3

    def load(self):
        """A Bunch with ``data``, ``target`` and ``target_names``."""
        return Bunch(**load_iris(), image_shape=None)

    def indices(self, setting, draw):
        """Rows of the training and of the test samples; the draw is the seed."""
        return per_class_split(self.bunch.target, 10, draw)
