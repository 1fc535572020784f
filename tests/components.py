"""Heavy components; a test is skipped, naming the component, if one is missing."""

import pytest

from ancr.features import backbones


def component(name):
    """The module torch, torchvision or timm as the library itself imports it."""
    try:
        return getattr(backbones, f"import_{name}")()
    except ImportError as error:
        pytest.skip(f"{name} is not installed: {error}")
