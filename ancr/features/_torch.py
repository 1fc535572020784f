"""torch, torchvision and timm, imported on first use, with errors that say what to install."""

import importlib
import re
import sys
from types import ModuleType
from typing import Any

_INSTALL = "pip install 'ancr[features]'"
# Libraries of placeholder operators; torch drops a definition when its library object is deleted.
_placeholders: list[Any] = []


def import_torch() -> ModuleType:
    """The module ``torch``, or an ImportError that names the extra."""
    return _import("torch")


def import_timm() -> ModuleType:
    """The module ``timm``, or an ImportError that names the extra."""
    import_torchvision()  # timm's transforms import it
    return _import("timm")


def import_torchvision() -> ModuleType:
    """The module ``torchvision``, even if its compiled operators do not load.

    A CPU build of torch together with a torchvision built for CUDA is common, and ``import torchvision`` then
    fails at operators for object detection that are not used here ("operator torchvision::nms does not exist").
    Models and transforms are plain Python; with an empty definition of each missing operator the import works.
    """
    torch = import_torch()
    while True:
        try:
            return _import("torchvision")
        except RuntimeError as error:
            missing = re.search(r"operator torchvision::(\w+) does not exist", str(error))
            if missing is None:
                raise
            _define_placeholder(torch, missing[1])


def _define_placeholder(torch: ModuleType, operator: str) -> None:
    library = torch.library.Library("torchvision", "FRAGMENT")
    library.define(f"{operator}() -> ()")
    _placeholders.append(library)
    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        del sys.modules[name]  # half-imported


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"deep features need {name} ({error}): {_INSTALL}") from error


def choose_device(device: str) -> Any:
    """``"auto"`` is a CUDA GPU, otherwise an Apple GPU, otherwise the CPU; other values are torch's device names."""
    torch = import_torch()
    if device != "auto":
        return torch.device(device)
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
