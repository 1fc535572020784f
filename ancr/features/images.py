"""Images as input of a network: identified by content, decoded in the background."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ancr._core.files import PathLike
from ancr._core.messages import one_line

if TYPE_CHECKING:
    import PIL.Image

# A path, or an array of shape (height, width) or (height, width, 3).
Image: TypeAlias = PathLike | np.ndarray


class UnreadableImageError(OSError):
    """A file is a corrupt or truncated image, or not an image; the message names it."""


@contextmanager
def reading(path: PathLike) -> Iterator[None]:
    """Turn whatever a decoder raises, also on images of billions of pixels, into an `UnreadableImageError`."""
    try:
        yield
    except Exception as error:  # decoders raise many kinds, from OSError to SyntaxError
        raise UnreadableImageError(f"{path} cannot be read as an image: {one_line(error)}") from error


def square_picture(path: PathLike, side: int = 160) -> np.ndarray:
    """Read an image as an array, cropped to a square that is small enough for a report."""
    from PIL import Image as pillow
    from PIL import ImageOps

    with reading(path), pillow.open(path) as image:
        return np.asarray(ImageOps.fit(image.convert("RGB"), (side, side)))


def as_image_list(X: Sequence[Image] | np.ndarray) -> list[Image]:
    """Check a sequence of images and return it as a list.

    Parameters
    ----------
    X : sequence
        Paths; or images as arrays (height, width) or (height, width, 3), uint8 or floats in [0, 1]; or a stack
        of such arrays.

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
        if not isinstance(image, str | Path) and np.ndim(image) not in (2, 3):
            raise ValueError(f"X[{i}] is {type(image).__name__}, but expected a path or an image")
    return images


def image_name(image: Image, position: int) -> str:
    """Name of an image in messages."""
    return str(image) if isinstance(image, str | Path) else f"image {position}"


def content_digest(image: Image) -> bytes:
    """16-byte digest of an image: of the file's bytes, or of an array with its shape and type."""
    digest = hashlib.blake2b(digest_size=16)
    if isinstance(image, str | Path):
        digest.update(Path(image).read_bytes())
    else:
        pixels = np.ascontiguousarray(image)
        digest.update(f"{pixels.shape}{pixels.dtype}".encode())
        digest.update(pixels.tobytes())
    return digest.digest()


def decode(image: Image) -> "PIL.Image.Image":
    """Read an image completely, as a Pillow image in RGB."""
    import PIL.Image

    if isinstance(image, str | Path):
        with PIL.Image.open(str(image)) as file:  # a text of NumPy would show its type in messages
            return file.convert("RGB")
    pixels = np.asarray(image)
    if np.issubdtype(pixels.dtype, np.floating):
        if pixels.min() < 0 or pixels.max() > 1:
            raise ValueError(f"float pixels from {pixels.min():g} to {pixels.max():g}, but expected [0, 1]")
        pixels = np.rint(pixels * 255)
    return PIL.Image.fromarray(pixels.astype(np.uint8)).convert("RGB")


class DecodedImages:
    """Images for a DataLoader: decoded and preprocessed, or an error message."""

    def __init__(self, images: Sequence[Image], transform: Callable[[Any], Any]) -> None:
        self.images = images
        self.transform = transform

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, i: int) -> tuple[int, Any, str | None]:
        try:
            return i, self.transform(decode(self.images[i])), None
        except Exception as error:  # decoders raise many kinds, from OSError to SyntaxError
            return i, None, f"{type(error).__name__}: {error}"


def collate(samples: list[tuple[int, Any, str | None]]) -> tuple[list[int], Any, dict[int, str]]:
    """Positions of a batch; its readable images as one tensor, or None; the errors of the others by position."""
    import torch

    tensors = [tensor for _, tensor, reason in samples if reason is None]
    reasons = {i: reason for i, _, reason in samples if reason is not None}
    return [i for i, _, _ in samples], torch.stack(tensors) if tensors else None, reasons
