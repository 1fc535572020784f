"""Small images as text: PNG data that a page can hold, without an imaging library."""

import struct
import zlib
from base64 import b64encode

import numpy as np
from numpy.typing import ArrayLike


def png_uri(image: ArrayLike, invert: bool = False) -> str:
    """A grey or RGB image as a ``data:`` address.

    Parameters
    ----------
    image : array-like of shape (height, width) or (height, width, 3)
        Integers up to 255 are taken as they are; anything else is stretched from its least to its largest value.
    invert : bool
        Dark on light instead of light on dark.

    Examples
    --------
    >>> from ancr._core.thumbnails import png_uri
    >>> png_uri([[0, 255], [255, 0]])[:22]
    'data:image/png;base64,'
    """
    pixels = _as_bytes(np.asarray(image))
    return "data:image/png;base64," + b64encode(_png(255 - pixels if invert else pixels)).decode()


def _as_bytes(image: np.ndarray) -> np.ndarray:
    if image.dtype == np.uint8:
        return image
    low, high = float(image.min()), float(image.max())
    return ((image - low) * (255.0 / ((high - low) or 1.0))).astype(np.uint8)


def _png(pixels: np.ndarray) -> bytes:
    height, width = pixels.shape[:2]
    colour = 2 if pixels.ndim == 3 else 0
    # Each row starts with the number of its filter: none.
    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1)
    header = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_part(*part) for part in parts)


def _part(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
