"""Networks by name: what comes in, which layer goes out, and which weights."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ancr.features._torch import import_timm, import_torch, import_torchvision

# Networks of the paper, with fully connected layers; everything else is timm's.
TORCHVISION_BACKBONES = ("alexnet", "vgg16", "vgg19")


@dataclass
class Backbone:
    """A network cut at a layer.

    Parameters
    ----------
    module : torch.nn.Module
        The network, in evaluation mode.
    forward : callable
        Batch of images to vectors (n, width), or to local descriptors (n, positions, channels) if
        ``is_local``.
    transform : callable
        Image to tensor: the preprocessing the weights were trained with.
    is_local : bool
        Whether a pooling has to follow.
    identity : dict
        What names the features: backbone, layer, preprocessing and a digest of the weights.
    """

    module: Any
    forward: Callable
    transform: Callable
    is_local: bool
    identity: dict


def load_backbone(name, layer, weights, image_size, random_state):
    """Build a :class:`Backbone`.

    Parameters
    ----------
    name : str
        ``"alexnet"``, ``"vgg16"``, ``"vgg19"``, or a name of timm (``"timm/…"`` forces timm).
    layer : {"fc6", "fc7", "pool", "conv"}
        Where to cut: a fully connected layer after its ReLU, timm's pooled vector, or the last convolution.
    weights : str, path-like or None
        ``"default"``, a name of torchvision or timm, a local file; None is a random network.
    image_size : int or None
        Side of the square the network sees; None is the backbone's own.
    random_state : int
        Seed of a random network.
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
    return Backbone(module, forward, transform, layer == "conv", identity)


def check_name(name):
    """Raise a ValueError with the nearest names where a backbone is unknown."""
    if name in TORCHVISION_BACKBONES:
        return
    timm = import_timm()
    known = timm.list_models()
    model = str(name).removeprefix("timm/")
    if timm.is_model(model.partition(".")[0]):
        return
    near = get_close_matches(model, {*TORCHVISION_BACKBONES, *known}, n=4, cutoff=0.3)
    raise ValueError(f"backbone={name!r} is unknown; the nearest: {', '.join(near) or 'none'}")


def layers_of(name):
    """Layers a backbone can be cut at, the default first."""
    return ("fc7", "fc6", "conv") if name in TORCHVISION_BACKBONES else ("pool", "conv")


def _from_torchvision(name, layer, weights, image_size):
    torch, torchvision = import_torch(), import_torchvision()
    members = torchvision.models.get_model_weights(name)
    file = _weights_file(weights)
    chosen = None if weights is None or file else _torchvision_weights(members, weights)
    module = torchvision.models.get_model(name, weights=chosen).eval()
    if file:
        _load_file(module, file)
    size = {}
    if image_size is not None:
        size = {"crop_size": image_size, "resize_size": round(image_size * 256 / 224)}
    transform = (chosen or members.DEFAULT).transforms(**size)
    if layer == "conv":
        trunk = module.features[:-1]  # up to the last ReLU: the final max pooling belongs to the head
        return module, lambda images: trunk(images).flatten(2).transpose(1, 2), transform
    head = module.classifier[: _end_of_fully_connected(module.classifier, ("fc6", "fc7").index(layer))]

    def forward(images):
        return head(torch.flatten(module.avgpool(module.features(images)), 1))

    return module, forward, transform


def _end_of_fully_connected(classifier, which):
    """Index just after the ReLU of the given fully connected layer, where Caffe's fc6 and fc7 are read."""
    torch = import_torch()
    return [i for i, part in enumerate(classifier) if isinstance(part, torch.nn.ReLU)][which] + 1


def _torchvision_weights(members, weights):
    if weights == "default":
        return members.DEFAULT
    if weights not in members.__members__:
        raise ValueError(f"weights={weights!r} is neither a file nor one of {', '.join(members.__members__)}")
    return members[weights]


def _from_timm(name, layer, weights, image_size):
    timm = import_timm()
    name, file = name.removeprefix("timm/"), _weights_file(weights)
    if weights not in (None, "default") and not file:
        name = _timm_weights(timm, name, weights)
    options = {} if image_size is None else {"img_size": image_size}
    pretrained = weights is not None and not file
    try:
        module = timm.create_model(name, pretrained=pretrained, num_classes=0, **options)
    except TypeError:  # convolutional networks take any size, and no argument for it
        module = timm.create_model(name, pretrained=pretrained, num_classes=0)
    if file:
        _load_file(module, file, strict=False)  # the file has a classifier, the module none
    module.eval()
    config = timm.data.resolve_model_data_config(module)
    if image_size is not None:
        config["input_size"] = (3, image_size, image_size)
    transform = timm.data.create_transform(**config, is_training=False)
    if layer == "pool":
        return module, module, transform
    return module, lambda images: _local(module, module.forward_features(images)), transform


def _timm_weights(timm, name, weights):
    tagged = f"{name.partition('.')[0]}.{weights}"
    known = timm.list_pretrained(f"{name.partition('.')[0]}.*")
    if tagged not in known:
        tags = ", ".join(model.partition(".")[2] for model in known) or "none"
        raise ValueError(f"weights={weights!r} is neither a file nor one of {tags}")
    return tagged


def _local(module, maps):
    """Local descriptors (n, positions, channels) of maps or tokens, wherever timm puts the channels."""
    if maps.ndim == 3:
        return maps[:, getattr(module, "num_prefix_tokens", 0) :]
    if maps.shape[1] == module.num_features:
        return maps.flatten(2).transpose(1, 2)
    return maps.flatten(1, 2)


def _weights_file(weights):
    """Path of a local file of weights, or None where ``weights`` is a name."""
    if weights is None:
        return None
    path = Path(weights).expanduser()
    if path.is_file():
        return path
    if isinstance(weights, Path) or path.suffix in (".bin", ".pt", ".pth", ".safetensors"):
        raise FileNotFoundError(f"weights={str(weights)!r} does not exist")
    return None


def _load_file(module, path, strict=True):
    if path.suffix == ".safetensors":
        from safetensors.torch import load_file

        state = load_file(path)
    else:
        state = import_torch().load(path, map_location="cpu", weights_only=True)
    state = state.get("state_dict", state)
    report = module.load_state_dict(state, strict=strict)
    if report.missing_keys:
        missing = ", ".join(report.missing_keys[:5])
        raise ValueError(f"weights={str(path)!r} lacks {len(report.missing_keys)} tensors, such as {missing}")


def _digest(module):
    """Digest of all weights: two networks share cached features only if they are the same network."""
    digest = hashlib.blake2b(digest_size=16)
    for name, tensor in module.state_dict().items():
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
