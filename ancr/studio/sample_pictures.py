"""Pictures of samples, and samples from pictures: drawn, dropped or pasted, decoded within limits."""

import os
from base64 import b64decode
from functools import cached_property
from threading import Lock

import numpy as np
from numpy.typing import ArrayLike

from ancr._core.arrays import unit_rows
from ancr._core.thumbnails import png_uri
from ancr.axes.spaces import Space, signed_power
from ancr.features.decoding import UnreadableImageError, grey_pixels, small_picture
from ancr.samples.image_vectors import image_vectors
from ancr.studio.actions import ActionError
from ancr.studio.identities import digest
from ancr.studio.openings import Source

_THUMBNAIL = 160
# The most pixels that are decoded, uncompressed and in colour.
_LARGEST_FILE = 600 * 2**20


class Pictures:
    """Between images and the vectors of a source.

    Parameters
    ----------
    source : Source
        The data.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        shape = source.data.image_shape
        self._drawing = _Drawing(source.data.vectors, shape) if source.draws and shape is not None else None
        # An image of the largest size takes a gigabyte while it is decoded.
        self._one_upload = Lock()

    @property
    def has_pictures(self) -> bool:
        """Whether samples can be shown."""
        return self.source.data.image_shape is not None or bool(self.source.data.image_paths)

    @property
    def takes_images(self) -> bool:
        """Whether an image can be classified: samples are images, or pixels of known shape."""
        data = self.source.data
        return self.source.draws or data.features != "table" or data.image_shape is not None

    def thumbnail(self, index: int) -> tuple[bytes, str] | None:
        """``(bytes, media type)`` of a small picture of a sample, or None."""
        data = self.source.data
        if data.image_paths:
            content = self._file(index)
            try:
                return None if content is None else (small_picture(content, _THUMBNAIL), "image/png")
            except UnreadableImageError:
                return None
        if data.image_shape is None:
            return None
        return b64decode(self.address(data.vectors[index]).partition(",")[2]), "image/png"

    def address(self, vector: np.ndarray) -> str:
        """A vector of pixels as the address of an image; white is the same for all, so that they can be compared."""
        data = self.source.data
        return data_uri(vector.reshape(data.image_shape), 1.0 if data.features == "pixels" else self._white)

    @cached_property
    def _white(self) -> float:
        return float(self.source.data.vectors.max())

    def _file(self, index: int) -> bytes | None:
        """The image file of a sample; None if it is gone, too large, or not the file that was there at the start."""
        path = self.source.data.image_paths[index]
        try:
            if path is None or path.stat().st_size > _LARGEST_FILE:
                return None
            content = path.read_bytes()
        except OSError:
            return None
        if self.source.shows_content:
            return content if digest(content) == self.source.contents[index] else None
        return content if os.path.realpath(path) == str(path) else None  # it was a real path at the start

    def vector(self, content: bytes, drawn: bool) -> np.ndarray:
        """The vector of an uploaded image.

        Parameters
        ----------
        content : bytes
            The file.
        drawn : bool
            Light strokes on dark, as the canvas makes them.
        """
        try:
            with self._one_upload:
                return self._vector(content, drawn)
        except UnreadableImageError as error:
            raise ActionError(f"This file cannot be read as an image: {error.reason.rstrip('.')}.") from error
        except ImportError as error:
            raise ActionError(str(error)) from error

    def _vector(self, content: bytes, drawn: bool) -> np.ndarray:
        data = self.source.data
        if data.features != "table":
            return image_vectors([content], data.features)[0][0].astype(data.vectors.dtype)
        if data.image_shape is None:
            raise ActionError("This data is a table, not images; pick or edit a row instead.")
        if self._drawing is None:
            return grey_pixels(content, data.image_shape).ravel() * float(data.vectors.max())
        grey = grey_pixels(content)
        return self._drawing.vector(grey if drawn or np.median(grey) < 0.5 else 1.0 - grey)


class _Drawing:
    """A drawing centred and scaled as the data is: its ink fills the box that samples usually fill."""

    def __init__(self, vectors: np.ndarray, shape: tuple[int, ...]) -> None:
        self._shape, self._top, self._dtype = shape, float(vectors.max()), vectors.dtype
        ink = vectors[:500].reshape(-1, *shape) > 0.2 * self._top
        self._height = float(np.median(ink.any(axis=2).sum(axis=1)))

    def vector(self, grey: np.ndarray) -> np.ndarray:
        """The vector of light strokes on dark."""
        ink = np.argwhere(grey > 0.15)
        if len(ink) < 4:
            raise ActionError("Draw something first.")
        (top, left), (bottom, right) = ink.min(axis=0), ink.max(axis=0) + 1
        part = grey[top:bottom, left:right]
        height, width = self._shape
        scale = min(self._height / part.shape[0], width / part.shape[1])
        rows, columns = (max(1, round(size * scale)) for size in part.shape)
        picture = np.zeros((height, width))
        y, x = (height - rows) // 2, (width - columns) // 2
        picture[y : y + rows, x : x + columns] = _resized(part, (rows, columns))
        return (picture / max(picture.max(), 1e-9) * self._top).ravel().astype(self._dtype)


def _resized(grey: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """An image of values from 0 to 1 at another height and width."""
    from PIL import Image

    height, width = shape
    image = Image.fromarray(grey.astype(np.float32)).resize((width, height), Image.Resampling.BOX)
    return np.asarray(image, float)


def data_uri(image: ArrayLike, top: float | None = None) -> str:
    """A grey image as an address: black at zero, white at ``top`` (None: the image's largest value) and above."""
    grey = np.asarray(image, float)
    top = float(grey.max()) if top is None else top
    return png_uri(np.rint(255.0 * np.clip(grey / (top if top > 0 else 1.0), 0.0, 1.0)).astype(np.uint8))


def reconstruction(space: Space, samples: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Xc as an image: samples at the power and norm of the space, weighted by the code, then without the power."""
    rows = signed_power(samples.astype(float), space.power)
    return signed_power(weights @ (unit_rows(rows) if space.normalize else rows), 1.0 / space.power)
