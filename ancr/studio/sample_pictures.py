"""Pictures of samples, and samples from pictures: drawn, dropped or pasted, decoded within limits."""

import io
import os
import warnings
from base64 import b64decode
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ancr._core.thumbnails import png_uri
from ancr.features.images import UnreadableImageError
from ancr.samples.image_vectors import image_vectors
from ancr.studio.actions import ActionError
from ancr.studio.identities import digest
from ancr.studio.openings import Source

if TYPE_CHECKING:
    import PIL.Image

MOST_PIXELS = 24_000_000
_FORMATS = ("PNG", "JPEG", "GIF", "BMP", "WEBP")
_THUMBNAIL = 160
_LARGEST_FILE = 64 * 2**20


def decode(content: bytes) -> "PIL.Image.Image":
    """An uploaded image, decoded with limits on kind and size.

    Raises
    ------
    ActionError
        If it is no image, or one of too many pixels.
    """
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # Pillow warns of decompression bombs
            image = Image.open(io.BytesIO(content), formats=_FORMATS)
            if image.width * image.height > MOST_PIXELS:
                size, most = f"{image.width} × {image.height}", MOST_PIXELS // 10**6
                raise ActionError(f"The image has {size} pixels; at most {most} million are read.")
            image.load()
    except ActionError:
        raise
    except Exception as error:  # decoders raise many kinds
        raise ActionError("This file cannot be read as an image (PNG, JPEG, GIF, BMP or WebP).") from error
    return image


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
            return None if content is None else _small_picture(content)
        if data.image_shape is None:
            return None
        uri = data_uri(data.vectors[index].reshape(data.image_shape))
        return b64decode(uri.partition(",")[2]), "image/png"

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
        image, data = decode(content), self.source.data
        if data.features == "table":
            if data.image_shape is None:
                raise ActionError("This data is a table, not images; pick or edit a row instead.")
            grey = np.asarray(image.convert("L"), float) / 255.0
            if self._drawing is not None:
                return self._drawing.vector(grey if drawn or np.median(grey) < 0.5 else 1.0 - grey)
            return _resized(grey, data.image_shape).ravel() * float(data.vectors.max())
        buffer = io.BytesIO()
        image.convert("RGB").save(buffer, "PNG")
        buffer.seek(0)
        try:
            images = [buffer] if data.features in ("pixels", "hog") else [np.asarray(image.convert("RGB"))]
            return image_vectors(images, data.features)[0].astype(data.vectors.dtype)
        except (UnreadableImageError, ImportError) as error:
            raise ActionError(str(error)) from error


def _small_picture(content: bytes) -> tuple[bytes, str] | None:
    try:
        image = decode(content).convert("RGB")
    except ActionError:
        return None
    image.thumbnail((_THUMBNAIL, _THUMBNAIL))
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue(), "image/png"


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
    image = Image.fromarray((grey * 255).astype(np.uint8)).resize((width, height), Image.Resampling.BOX)
    return np.asarray(image, float) / 255.0


def data_uri(image: ArrayLike) -> str:
    """A grey image as an address, black at zero, so that pictures of one data set can be compared."""
    grey = np.clip(np.asarray(image, float), 0.0, None)
    return png_uri((grey * (255.0 / (grey.max() or 1.0))).astype(np.uint8))


def reconstruction(source: Source, support: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Xc as an image: the samples at unit norm, weighted by the code."""
    rows = source.data.vectors[support].astype(float)
    norms = np.linalg.norm(rows, axis=1)
    return (weights / np.where(norms > 0, norms, 1.0)) @ rows
