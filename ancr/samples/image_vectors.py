"""Images as vectors: grey pixels, histograms of gradients, or the features of a network."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from ancr.features.decoding import Picture, UnreadableImageError, grey_pixels
from ancr.features.deep import DeepFeatures
from ancr.features.hog import SIDE as HOG_SIDE
from ancr.features.hog import hog
from ancr.features.images import image_name

SIDE = 32
# Called with how many images are done, and of how many.
Advance: TypeAlias = Callable[[int, int], object]


def image_vectors(
    images: Sequence[Picture], features: str, strict: bool = True, advance: Advance | None = None
) -> tuple[np.ndarray, dict[int, str]]:
    """Vectors of images in single precision: 32 × 32 grey pixels, histograms of gradients, or features of a network.

    Parameters
    ----------
    images : sequence
        Files, contents of files, or images as arrays.
    features : str
        ``"pixels"``, ``"hog"``, or a network that `ancr.features.DeepFeatures` knows.
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
    if features in ("pixels", "hog"):
        vectors, broken = _grey_vectors(images, features, strict, advance)
    else:
        vectors, broken = _network_vectors(images, features, strict)
    return vectors.astype(np.float32, copy=False), broken


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
    network = DeepFeatures(features, on_error="raise" if strict else "nan")
    try:
        vectors = network.fit_transform(images)
    except UnreadableImageError:
        if strict:
            raise
        vectors = np.full((len(images), 1), np.nan)  # none can be read
    readable = ~np.isnan(vectors).any(axis=1)
    numbers = np.flatnonzero(~readable).tolist()
    return vectors[readable], {i: network.unreadable_[image_name(images[i], i)] for i in numbers}
