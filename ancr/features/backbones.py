"""Networks by name: preprocessing, output layer and weights.

torch, torchvision and timm are imported on first use, with errors that say what to install.
"""

import hashlib
import importlib
import os
import re
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias
from urllib.parse import urlparse
from urllib.request import getproxies

from ancr._core.files import PathLike
from ancr._core.messages import counted

# Where the weights of timm and of torchvision are, and how many seconds may pass until a host answers.
_HUB, _PYTORCH, _PATIENCE = "huggingface.co", "download.pytorch.org", 1.5
_INSTALL = "pip install torch torchvision timm"
# Libraries of placeholder operators; torch drops a definition when its library object is deleted.
_placeholders: list[Any] = []
# The paper's networks, with fully connected layers; all others come from timm.
TORCHVISION_BACKBONES = ("alexnet", "vgg16", "vgg19")
# torch is imported on first use, so that its types are not known here.
Module: TypeAlias = Any
Tensor: TypeAlias = Any
# A network, the function that gives the output of its layer, and the preprocessing of an image.
Parts: TypeAlias = tuple[Module, Callable[[Tensor], Tensor], Callable[[Any], Tensor]]


@dataclass
class Backbone:
    """A network with the output of one of its layers.

    Parameters
    ----------
    module : torch.nn.Module
        The network, in evaluation mode.
    forward : callable
        Maps a batch of images to vectors (n, width), or to local descriptors (n, positions, channels) if the
        layer is ``"conv"``.
    transform : callable
        Maps an image to a tensor, with the preprocessing that the weights were trained with.
    identity : dict
        Identifies the features: backbone, layer, preprocessing and a digest of the weights.
    """

    module: Any
    forward: Callable[[Any], Any]
    transform: Callable[[Any], Any]
    identity: dict[str, str]


def load_backbone(
    name: str, layer: str, weights: PathLike | None, image_size: int | None, random_state: int
) -> Backbone:
    """Build a :class:`Backbone`.

    Parameters
    ----------
    name : str
        ``"alexnet"``, ``"vgg16"``, ``"vgg19"``, or a timm model name (``"timm/…"`` forces timm).
    layer : {"fc6", "fc7", "pool", "conv"}
        Output layer: a fully connected layer after its ReLU, timm's pooled vector, or the last convolution.
    weights : str, path-like or None
        ``"default"``, a name in torchvision or timm, or a local file; None means random weights.
    image_size : int or None
        Side length of the square input; None means the backbone's default.
    random_state : int
        Seed of random weights.
    """
    check_name(name)
    build = _from_torchvision if name in TORCHVISION_BACKBONES else _from_timm
    torch = import_torch()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(random_state)
        module, forward, transform = build(name, layer, weights, image_size)
    identity = {
        "backbone": name,
        "layer": layer,
        "weights": _digest(module),
        "preprocessing": repr(transform),
    }
    return Backbone(module, forward, transform, identity)


def check_name(name: str) -> None:
    """Raise a ValueError with similar names if a backbone is unknown."""
    if name in TORCHVISION_BACKBONES:
        return
    timm = import_timm()
    known = timm.list_models()
    model = str(name).removeprefix("timm/")
    if timm.is_model(model.partition(".")[0]):
        return
    near = get_close_matches(model, {*TORCHVISION_BACKBONES, *known}, n=4, cutoff=0.3)
    raise ValueError(f"backbone={name!r} is unknown; similar names: {', '.join(near) or 'none'}")


def check_weights_in_reach(name: str, weights: PathLike | None) -> None:
    """Raise a ConnectionError if weights are not on this machine and their host cannot be reached.

    Of the default weights it is found out before torch is imported, which takes seconds: where no file could be theirs,
    none is looked for. Whether a name of others is right only their library knows; a file that is named must exist.
    """
    _weights_file(weights)
    if weights != "default" or find_spec("torch") is None or _may_be_here(name) or getproxies():
        return
    host = _PYTORCH if name in TORCHVISION_BACKBONES else _HUB
    if not _is_reached(host):
        raise _out_of_reach(name, host)


def _may_be_here(name: str) -> bool:
    """Whether a file that was downloaded once has a name like that of the network: resnet for resnet18."""
    kind = re.match("[a-z]*", name.removeprefix("timm/").lower())
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    torch_home = Path(os.environ.get("TORCH_HOME") or cache / "torch").expanduser()
    hub_home = Path(os.environ.get("HF_HOME") or cache / "huggingface").expanduser() / "hub"
    given = (os.environ.get(variable) for variable in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"))
    folders = (torch_home / "hub" / "checkpoints", hub_home, *(Path(one).expanduser() for one in given if one))
    assert kind is not None  # an empty text matches
    return any(kind[0] in file.name.lower() for folder in folders if folder.is_dir() for file in folder.iterdir())


def layers_of(name: str) -> tuple[str, ...]:
    """Output layers of a backbone, the default first."""
    return ("fc7", "fc6", "conv") if name in TORCHVISION_BACKBONES else ("pool", "conv")


def _from_torchvision(name: str, layer: str, weights: PathLike | None, image_size: int | None) -> Parts:
    torch, torchvision = import_torch(), import_torchvision()
    members = torchvision.models.get_model_weights(name)
    file = _weights_file(weights)
    chosen = None if weights is None or file else _torchvision_weights(members, weights)
    with _one_line_offline(name, chosen and urlparse(chosen.url).hostname):
        module = torchvision.models.get_model(name, weights=chosen).eval()
    if file:
        _load_file(module, file)
    size = {}
    if image_size is not None:
        size = {"crop_size": image_size, "resize_size": round(image_size * 256 / 224)}
    transform = (chosen or members.DEFAULT).transforms(**size)
    if layer == "conv":
        trunk = module.features[:-1]  # up to the last ReLU, without the final max pooling
        return module, lambda images: trunk(images).flatten(2).transpose(1, 2), transform
    head = module.classifier[: _end_of_fully_connected(module.classifier, ("fc6", "fc7").index(layer))]

    def forward(images: Tensor) -> Tensor:
        return head(torch.flatten(module.avgpool(module.features(images)), 1))

    return module, forward, transform


def _end_of_fully_connected(classifier: Module, which: int) -> int:
    """Index after the ReLU of a fully connected layer, where Caffe's fc6 and fc7 are defined."""
    torch = import_torch()
    return [i for i, part in enumerate(classifier) if isinstance(part, torch.nn.ReLU)][which] + 1


def _torchvision_weights(members: Any, weights: PathLike) -> Any:
    if weights == "default":
        return members.DEFAULT
    if weights not in members.__members__:
        raise ValueError(f"weights={weights!r} is neither a file nor one of {', '.join(members.__members__)}")
    return members[weights]


def _from_timm(name: str, layer: str, weights: PathLike | None, image_size: int | None) -> Parts:
    timm = import_timm()
    name, file = name.removeprefix("timm/"), _weights_file(weights)
    if weights not in (None, "default") and not file:
        name = _timm_weights(timm, name, weights)
    options = {} if image_size is None else {"img_size": image_size}
    pretrained = weights is not None and not file
    with _one_line_offline(name, _HUB if pretrained else None):
        try:
            module = timm.create_model(name, pretrained=pretrained, num_classes=0, **options)
        except TypeError:  # convolutional networks accept any size and have no such argument
            module = timm.create_model(name, pretrained=pretrained, num_classes=0)
    if file:
        _load_file(module, file, strict=False)  # the file has a classifier, the module does not
    module.eval()
    config = timm.data.resolve_model_data_config(module)
    if image_size is not None:
        config["input_size"] = (3, image_size, image_size)
    transform = timm.data.create_transform(**config, is_training=False)
    if layer == "pool":
        return module, module, transform
    return module, lambda images: _local(module, module.forward_features(images)), transform


@contextmanager
def _one_line_offline(name: str, host: str | None) -> Iterator[None]:
    """Where the host of a network's weights cannot be reached, take them from this machine, or say so at once.

    Libraries would try again for a minute, and end with messages of their own. With a proxy they know better.
    """
    if host is None or getproxies() or _is_reached(host):
        yield
        return
    with _hub_offline():
        try:
            yield
        except (OSError, RuntimeError) as error:
            raise _out_of_reach(name, host) from error


def _out_of_reach(name: str, host: str) -> ConnectionError:
    return ConnectionError(
        f"the weights of {name!r} are not on this machine, and {host} cannot be reached: check the name, "
        "copy their file here and name it (--weights FILE, weights=FILE), or take features that need none "
        "(--features hog)"
    )


def _is_reached(host: str) -> bool:
    try:
        socket.create_connection((host, 443), timeout=_PATIENCE).close()
    except OSError:
        return False
    return True


@contextmanager
def _hub_offline() -> Iterator[None]:
    """The hub of timm's weights looks on this machine alone."""
    try:
        from huggingface_hub import constants
    except ImportError:  # an older timm
        yield
        return
    before, constants.HF_HUB_OFFLINE = constants.HF_HUB_OFFLINE, True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


def _timm_weights(timm: ModuleType, name: str, weights: PathLike) -> str:
    tagged = f"{name.partition('.')[0]}.{weights}"
    known = timm.list_pretrained(f"{name.partition('.')[0]}.*")
    if tagged not in known:
        tags = ", ".join(model.partition(".")[2] for model in known) or "none"
        raise ValueError(f"weights={weights!r} is neither a file nor one of {tags}")
    return tagged


def _local(module: Module, maps: Tensor) -> Tensor:
    """Local descriptors (n, positions, channels) of feature maps or tokens, for any position of the channels."""
    if maps.ndim == 3:
        return maps[:, getattr(module, "num_prefix_tokens", 0) :]
    if maps.shape[1] == module.num_features:
        return maps.flatten(2).transpose(1, 2)
    return maps.flatten(1, 2)


def _weights_file(weights: PathLike | None) -> Path | None:
    """Path of a local file of weights, or None if ``weights`` is a name."""
    if weights is None:
        return None
    path = Path(weights).expanduser()
    if path.is_file():
        return path
    if isinstance(weights, Path) or path.suffix in (".bin", ".pt", ".pth", ".safetensors"):
        raise FileNotFoundError(f"weights={str(weights)!r} does not exist")
    return None


def _load_file(module: Module, path: Path, strict: bool = True) -> None:
    named = f"weights={str(path)!r}"
    try:
        state = _read_weights(path)
    except Exception as error:  # of many kinds, with advice to turn off what protects from code in a file
        expected = "expected a state_dict that torch.save wrote, or .safetensors"
        raise ValueError(f"{named} cannot be read as weights; {expected}") from error
    try:
        report = module.load_state_dict(state, strict=False)
    except (RuntimeError, TypeError) as error:  # other shapes, each in a line after the first
        raise ValueError(f"{named} is of another network: {str(error).splitlines()[-1].strip()}") from error
    unexpected = report.unexpected_keys if strict else []
    for does, names in (("lacks", report.missing_keys), ("is of another network: it also has", unexpected)):
        if names:
            raise ValueError(f"{named} {does} {counted(len(names), 'tensor')}, such as {', '.join(names[:5])}")


def _read_weights(path: Path) -> Any:
    if path.suffix == ".safetensors":
        from safetensors.torch import load_file

        return load_file(path)
    state = import_torch().load(path, map_location="cpu", weights_only=True)
    return state.get("state_dict", state)


def _digest(module: Module) -> str:
    """Digest of all weights: cached features are shared only by identical networks."""
    digest = hashlib.blake2b(digest_size=16)
    for name, tensor in module.state_dict().items():
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def choose_device(device: str) -> Any:
    """``"auto"`` is a CUDA GPU, otherwise an Apple GPU, otherwise the CPU; other values are torch's device names."""
    torch = import_torch()
    if device != "auto":
        return torch.device(device)
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


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
