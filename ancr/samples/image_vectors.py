"""Images as vectors: grey pixels, histograms of gradients, or the features of a network."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ancr.features.deep import DeepFeatures
from ancr.features.hog import SIDE as HOG_SIDE
from ancr.features.hog import hog
from ancr.features.images import UnreadableImageError, reading

SIDE = 32


def image_vectors(images: Sequence[Any], features: str) -> np.ndarray:
    """Vectors of images in single precision: 32 × 32 grey pixels, histograms of gradients, or features of a network.

    Parameters
    ----------
    images : sequence
        Files, which may be open; for a network also images as arrays.
    features : str
        ``"pixels"``, ``"hog"``, or a network that `ancr.features.DeepFeatures` knows.
    """
    if features == "pixels":
        vectors = np.array([_grey(image, SIDE).ravel() for image in images])
    elif features == "hog":
        vectors = np.array([hog(_grey(image, HOG_SIDE)) for image in images])
    else:
        vectors = DeepFeatures(features).fit_transform(images)
    return vectors.astype(np.float32, copy=False)


def readable_vectors(names: Sequence[str], features: str) -> tuple[np.ndarray, dict[int, str]]:
    """Vectors of the images that can be read, and what is wrong with the others, by their number.

    Raises
    ------
    UnreadableImageError
        If no image can be read.
    """
    try:
        return image_vectors(names, features), {}
    except UnreadableImageError:
        pass
    vectors, broken = [], {}
    for number, name in enumerate(names):
        try:
            vectors.append(image_vectors([name], features)[0])
        except UnreadableImageError as error:
            broken[number] = str(error)
    if not vectors:
        raise UnreadableImageError(f"none of the {len(names)} images can be read; the first: {broken[0]}")
    return np.array(vectors), broken


def _grey(image: Any, side: int) -> np.ndarray:
    """A grey image of side × side pixels in [0, 1]; ``image`` may be a file that is open."""
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError("reading images needs pillow: pip install 'ancr[plot]'") from error
    image = str(image) if isinstance(image, str) else image  # a text of NumPy would show its type in messages
    with reading(image), Image.open(image) as opened:
        small = opened.convert("L").resize((side, side), Image.Resampling.BILINEAR)
    return np.asarray(small, dtype=np.float64) / 255.0
