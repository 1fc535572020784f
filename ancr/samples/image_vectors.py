"""Images as vectors: grey pixels, histograms of gradients, or the features of a network.

Features are a text, such as ``"hog"`` or ``"resnet18"``; options of a network follow its name as in an address:
``"vgg19?layer=fc6&weights=/home/me/vgg19.pth"``.
"""

import json
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, urlencode

import numpy as np

from ancr._core.messages import shown_path
from ancr.features.decoding import Picture, UnreadableImageError, grey_pixels
from ancr.features.deep import DeepFeatures
from ancr.features.hog import SIDE as HOG_SIDE
from ancr.features.hog import hog
from ancr.features.images import image_name

SIDE = 32
# Called with how many images are done, and of how many.
Advance: TypeAlias = Callable[[int, int], object]
# What images are compared by where a user says nothing: no training, no network, and better than pixels on photos.
USUAL_FEATURES = "hog"
_WITHOUT_NETWORK = ("pixels", "hog")
# What says how a network makes vectors; the others, such as the size of a batch, do not change them.
_OPTIONS = ("layer", "pooling", "weights", "image_size")


def image_vectors(
    images: Sequence[Picture], features: str, strict: bool = True, advance: Advance | None = None
) -> tuple[np.ndarray, dict[int, str]]:
    """Vectors of images in single precision: 32 × 32 grey pixels, histograms of gradients, or features of a network.

    Parameters
    ----------
    images : sequence
        Files, contents of files, or images as arrays.
    features : str
        ``"pixels"``, ``"hog"``, or a network that `ancr.features.DeepFeatures` knows, with options.
    strict : bool
        Whether the first image that cannot be read is an error; otherwise it is left out.
    advance : callable or None
        ``advance(done, total)`` is called after each image that is not read by a network.

    Returns
    -------
    vectors : ndarray of shape (n_readable, n_features)
        Vectors of the images that can be read.
    broken : dict
        What is wrong with the others, by their numbers.

    Raises
    ------
    UnreadableImageError
        If an image cannot be read and ``strict`` is set.
    """
    if features not in _WITHOUT_NETWORK and get_close_matches(features, _WITHOUT_NETWORK, cutoff=0.75):
        known = "pixels, hog, vgg16, vgg19, alexnet, and every model of timm, such as resnet18"
        raise ValueError(f"features {features!r} is unknown; choose from {known}")
    if features in _WITHOUT_NETWORK:
        vectors, broken = _grey_vectors(images, features, strict, advance)
    else:
        vectors, broken = _network_vectors(images, features, strict)
    return vectors.astype(np.float32, copy=False), broken


def with_weights(features: str, weights: str | Path | None) -> str:
    """The features of a network with its weights from elsewhere; unchanged without any.

    Examples
    --------
    >>> from ancr.samples.image_vectors import with_weights
    >>> with_weights("resnet18", "/data/own.pth"), with_weights("hog", None)
    ('resnet18?weights=/data/own.pth', 'hog')
    """
    if weights is None:
        return features
    if features in _WITHOUT_NETWORK:
        raise ValueError(f"--weights {weights}: {features} needs no weights; name a network with --features")
    name, options = _parsed(features)
    file = Path(weights).expanduser()
    return _spelled(name, {**options, "weights": str(file.resolve()) if file.is_file() else str(weights)})


def features_options(features: str) -> list[str]:
    """Options of a command that turns images into the same vectors.

    Examples
    --------
    >>> from ancr.samples.image_vectors import features_options
    >>> features_options("hog"), features_options("resnet18?weights=/data/own.pth")
    (['--features', 'hog'], ['--features', 'resnet18', '--weights', '/data/own.pth'])
    """
    name, options = _parsed(features)
    if not options.get("weights"):
        return ["--features", features]
    weights = shown_path(options.pop("weights"))
    return ["--features", _spelled(name, options), "--weights", weights]


def extracted_features(made_by: str) -> str:
    """The features that ``ancr extract`` says a file was made with; empty where images cannot be turned into such.

    Examples
    --------
    >>> from ancr.samples.image_vectors import extracted_features
    >>> extracted_features('{"backbone": "vgg19", "layer": "fc6", "weights": "default", "batch_size": 32}')
    'vgg19?layer=fc6'
    """
    try:
        made = dict(json.loads(made_by))
    except (ValueError, TypeError):
        return ""
    if made.get("features") in _WITHOUT_NETWORK:
        return str(made["features"])
    learned = made.get("pooling") == "fisher"  # its mixture is not in the file
    if learned or not isinstance(made.get("backbone"), str):
        return ""
    options = {name: made[name] for name in _OPTIONS if name in made}
    return _spelled(made["backbone"], {k: v for k, v in options.items() if v not in (None, "None", "default")})


def _spelled(name: str, options: dict[str, Any]) -> str:
    return f"{name}?{urlencode(options, safe='/')}" if options else name


def _parsed(features: str) -> tuple[str, dict[str, Any]]:
    name, _, query = features.partition("?")
    options: dict[str, Any] = {key: value for key, value in parse_qsl(query) if key in _OPTIONS}
    if "image_size" in options:
        options["image_size"] = int(options["image_size"])
    return name, {key: None if value == "none" else value for key, value in options.items()}


def none_readable(names: Sequence[str], broken: dict[int, str]) -> UnreadableImageError:
    """The error that no image can be read, with the reason for the first."""
    first = f"{names[0]} cannot be read as an image: {broken[0]}"
    return UnreadableImageError(f"none of the {len(names)} images can be read: {first}" if len(names) > 1 else first)


def _grey_vectors(
    images: Sequence[Picture], features: str, strict: bool, advance: Advance | None
) -> tuple[np.ndarray, dict[int, str]]:
    vectors, broken = [], {}
    for number, image in enumerate(images):
        try:
            vectors.append(_hog(image) if features == "hog" else grey_pixels(image, (SIDE, SIDE)).ravel())
        except UnreadableImageError as error:
            if strict:
                raise
            broken[number] = error.reason
        if advance is not None:
            advance(number + 1, len(images))
    return np.array(vectors), broken


def _hog(image: Picture) -> np.ndarray:
    return hog(grey_pixels(image, (HOG_SIDE, HOG_SIDE)))


def _network_vectors(images: Sequence[Picture], features: str, strict: bool) -> tuple[np.ndarray, dict[int, str]]:
    name, options = _parsed(features)
    network = DeepFeatures(name, **options, on_error="raise" if strict else "nan")
    try:
        vectors = network.fit_transform(images)
    except UnreadableImageError:
        if strict:
            raise
        vectors = np.full((len(images), 1), np.nan)  # none can be read
    readable = ~np.isnan(vectors).any(axis=1)
    numbers = np.flatnonzero(~readable).tolist()
    return vectors[readable], {i: network.unreadable_[image_name(images[i], i)] for i in numbers}
