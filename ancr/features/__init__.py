"""Features: from raw samples to the vectors of a dictionary."""

from importlib import import_module
from typing import Any

# name -> module that defines it, resolved on first use
_HOMES = {
    "DeepFeatures": "ancr.features.deep",
    "Eigenfaces": "ancr.features.eigenfaces",
    "UnreadableImageError": "ancr.features.images",
}

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'ancr.features' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
