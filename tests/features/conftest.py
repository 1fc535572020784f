"""Heavy components as fixtures, and small images."""

import numpy as np
import pytest

from tests.components import component
from tests.datasets.trees import write_image


@pytest.fixture
def torch():
    """torch, or a skip."""
    return component("torch")


@pytest.fixture
def torchvision():
    """torchvision, or a skip."""
    return component("torchvision")


@pytest.fixture
def timm():
    """timm, or a skip."""
    return component("timm")


@pytest.fixture
def pixels():
    """Three images as one array."""
    return np.random.default_rng(0).integers(0, 256, (3, 48, 64, 3), dtype=np.uint8)


@pytest.fixture
def paths(tmp_path):
    """Ten images on disk."""
    return [str(write_image(tmp_path / "images" / f"{i}.jpg", i)) for i in range(10)]
