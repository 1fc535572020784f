"""Heavy components, or a skip that names the missing one; and small images."""

import numpy as np
import pytest

from tests.datasets.trees import write_image


def _component(name, load):
    try:
        return load()
    except ImportError as error:
        pytest.skip(f"{name} is not installed ({error})")


@pytest.fixture
def torch():
    """torch, or a skip."""
    from ancr.features._torch import import_torch

    return _component("torch", import_torch)


@pytest.fixture
def torchvision():
    """torchvision, or a skip."""
    from ancr.features._torch import import_torchvision

    return _component("torchvision", import_torchvision)


@pytest.fixture
def timm():
    """timm, or a skip."""
    from ancr.features._torch import import_timm

    return _component("timm", import_timm)


@pytest.fixture
def pixels():
    """Three images as one array."""
    return np.random.default_rng(0).integers(0, 256, (3, 48, 64, 3), dtype=np.uint8)


@pytest.fixture
def paths(tmp_path):
    """Ten images on disk."""
    return [str(write_image(tmp_path / "images" / f"{i}.jpg", i)) for i in range(10)]
