"""torch, torchvision and timm: imported when first needed, with errors that say what to install."""

import importlib
import re
import sys

_INSTALL = "pip install 'ancr[features]'"
# Libraries of placeholder operators; torch forgets a definition when its library object goes.
_placeholders = []


def import_torch():
    """The module ``torch``, or an ImportError that names the extra."""
    return _import("torch")


def import_timm():
    """The module ``timm``, or an ImportError that names the extra."""
    import_torchvision()  # timm's transforms import it
    return _import("timm")


def import_torchvision():
    """The module ``torchvision``, also where its compiled operators do not load.

    A CPU build of torch beside a torchvision built for CUDA is a common pair, and ``import torchvision`` then
    stops at operators of object detection that nothing here uses ("operator torchvision::nms does not
    exist"). Models and transforms are plain Python; an empty definition of each missing operator lets the
    import through.
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


def _define_placeholder(torch, operator):
    library = torch.library.Library("torchvision", "FRAGMENT")
    library.define(f"{operator}() -> ()")
    _placeholders.append(library)
    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        del sys.modules[name]  # half-imported


def _import(name):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"deep features need {name} ({error}): {_INSTALL}") from error


def choose_device(device):
    """``"auto"`` is a CUDA card, else Apple's, else the CPU; anything else is torch's own name."""
    torch = import_torch()
    if device != "auto":
        return torch.device(device)
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
