"""Images as input of a network: identified by content, decoded in the background."""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ancr.features.decoding import Picture, UnreadableImageError, colour_picture


def as_image_list(X: Sequence[Picture] | np.ndarray) -> list[Picture]:
    """Check a sequence of images and return it as a list.

    Parameters
    ----------
    X : sequence
        Paths, or contents of files as bytes; or images as arrays (height, width) or (height, width, channels), uint8,
        uint16 or floats in [0, 1]; or a stack of such arrays.

    Raises
    ------
    ValueError
        If it is something else.
    """
    if isinstance(X, str | Path):
        raise ValueError(f"X={str(X)!r} is one path, but expected a sequence of images")
    if isinstance(X, np.ndarray) and X.dtype.kind not in "UO" and X.ndim not in (3, 4):
        raise ValueError(
            f"X has shape {X.shape}, but expected paths, or images stacked to (n, height, width[, channels])"
        )
    images = list(X)
    for i, image in enumerate(images):
        if not isinstance(image, str | Path | bytes) and np.ndim(image) not in (2, 3):
            raise ValueError(f"X[{i}] is {type(image).__name__}, but expected a path or an image")
    return images


def image_name(image: Picture, position: int) -> str:
    """Name of an image in messages."""
    return str(image) if isinstance(image, str | Path) else f"image {position}"


def content_digest(image: Picture) -> bytes:
    """16-byte digest of an image: of the file's bytes, or of an array with its shape and type."""
    digest = hashlib.blake2b(digest_size=16)
    if isinstance(image, str | Path | bytes):
        digest.update(image if isinstance(image, bytes) else Path(image).read_bytes())
    else:
        pixels = np.ascontiguousarray(image)
        digest.update(f"{pixels.shape}{pixels.dtype}".encode())
        digest.update(pixels.tobytes())
    return digest.digest()


class DecodedImages:
    """Images for a DataLoader: decoded and preprocessed, or an error message."""

    def __init__(self, images: Sequence[Picture], transform: Callable[[Any], Any]) -> None:
        self.images = images
        self.transform = transform

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, i: int) -> tuple[int, Any, str | None]:
        try:
            return i, self.transform(colour_picture(self.images[i])), None
        except UnreadableImageError as error:
            return i, None, error.reason
        except Exception as error:  # of a network's own preparation, such as on an image of one row
            return i, None, f"{type(error).__name__}: {error}"


def collate(samples: list[tuple[int, Any, str | None]]) -> tuple[list[int], Any, dict[int, str]]:
    """Positions of a batch; its readable images as one tensor, or None; the errors of the others by position."""
    import torch

    tensors = [tensor for _, tensor, reason in samples if reason is None]
    reasons = {i: reason for i, _, reason in samples if reason is not None}
    return [i for i, _, _ in samples], torch.stack(tensors) if tensors else None, reasons
