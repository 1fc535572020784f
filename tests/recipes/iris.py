"""A data set for experiments: iris, ten samples per class to train on, the others to test on."""

from sklearn.datasets import load_iris
from sklearn.utils import Bunch

from ancr.datasets import per_class_split
from ancr.experiments.sources import Source


class Iris(Source):
    """Tables, figures and report for it come from ``Experiment`` in ``ancr.experiments.experiment``."""

    name, title, features = "iris", "Iris", "measurements"
    settings, typical, draws = ("N=10",), "N=10", 3

    def load(self):
        """A Bunch with ``data``, ``target`` and ``target_names``."""
        return Bunch(**load_iris(), image_shape=None)

    def indices(self, setting, draw):
        """Rows of the training and of the test samples; the draw is the seed."""
        return per_class_split(self.bunch.target, 10, draw)
