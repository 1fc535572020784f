"""Trees that torchvision reads too give the same images and labels."""

import pytest

from ancr.datasets import load_aircraft, load_cars
from tests.components import component
from tests.datasets import trees

pytestmark = pytest.mark.all


def compare(bunch, parts):
    """Paths and labels of our training and test part against torchvision's."""
    for indices, (paths, labels) in zip((bunch.train_indices, bunch.test_indices), parts, strict=True):
        assert bunch.filenames[indices].tolist() == list(map(str, paths))
        assert bunch.target[indices].tolist() == list(labels)


def test_cars(tmp_path):
    vision = component("torchvision")
    trees.cars(tmp_path)
    theirs = [vision.datasets.StanfordCars(tmp_path, split=part) for part in ("train", "test")]
    compare(load_cars(tmp_path), [zip(*data._samples, strict=True) for data in theirs])
    assert load_cars(tmp_path).target_names.tolist() == theirs[0].classes


def test_aircraft(tmp_path):
    vision = component("torchvision")
    root = trees.aircraft(tmp_path)
    theirs = [vision.datasets.FGVCAircraft(root.parent, split=part) for part in ("trainval", "test")]
    compare(load_aircraft(tmp_path), [(data._image_files, data._labels) for data in theirs])
