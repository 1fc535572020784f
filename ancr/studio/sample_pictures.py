"""Pictures of samples, and samples from pictures: drawn, dropped or pasted, decoded within limits."""

import os
import stat
from base64 import b64decode
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import product
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ancr._core.arrays import unit_rows
from ancr._core.thumbnails import png_uri
from ancr.axes.spaces import Space, signed_power
from ancr.features.decoding import DECODING, UnreadableImageError, grey_pixels, small_picture, whole_picture
from ancr.samples.image_vectors import image_vectors
from ancr.samples.sample_set import of_images
from ancr.studio.actions import ActionError
from ancr.studio.identities import digest
from ancr.studio.openings import Source
from ancr.studio.picture_cache import PictureCache

# A picture for a page: its bytes and their media type.
Shown: TypeAlias = tuple[bytes, str]
# Pixels of the longer side: enough for a list on a screen of high resolution.
_THUMBNAIL = 320
# The largest file that is read to be shown.
_LARGEST_FILE = 600 * 2**20
# A drawing is worked on with a side of _FINE pixels; each pixel of the data is the mean of _BLOCK x _BLOCK.
_FINE, _BLOCK = 32, 4
# Slants and widths that a drawing is tried in, and widths of the pen as shares of the height.
_FORMS = list(product((-0.3, -0.15, 0.0, 0.15, 0.3), (0.7, 0.85, 1.0, 1.2)))
_PENS = (0.155, 0.2)
# Samples that a drawing is brought near to.
_NEAREST = 5000


class Pictures:
    """Between images and the vectors of a source.

    Parameters
    ----------
    source : Source
        The data.
    cache : PictureCache or None
        Keeps small pictures of files; None keeps none.
    """

    def __init__(self, source: Source, cache: PictureCache | None = None) -> None:
        self.source, self._cache = source, cache
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
        return self.source.draws or of_images(data.features) or data.image_shape is not None

    def thumbnail(self, index: int) -> Shown | None:
        """A small picture of a sample, or None."""
        data, source = self.source.data, self.source
        if not data.image_paths:
            return self._of_vector(index)
        content = None if source.shows_content else self.file(index)
        if content is None and not source.shows_content:
            return None
        key = f"{source.contents[index] if content is None else digest(content)}-{_THUMBNAIL}-{DECODING}"
        if self._cache and (kept := self._cache.get(key)) is not None:
            return kept, "image/png" if kept.startswith(b"\x89PNG") else "image/jpeg"
        made = _made(self.file(index) if content is None else content, small_picture, _THUMBNAIL)
        if self._cache and made is not None:
            self._cache.put(key, made[0])
        return made

    def whole(self, index: int) -> Shown | None:
        """The picture of a sample at full size, or None."""
        return _made(self.file(index), whole_picture) if self.source.data.image_paths else self._of_vector(index)

    def _of_vector(self, index: int) -> Shown | None:
        data = self.source.data
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

    def file(self, index: int) -> bytes | None:
        """The image file of a sample; None if it is gone, too large, or not the file that was there at the start."""
        path = self.source.data.image_paths[index]
        if path is None or (content := _regular(path)) is None:
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
        if of_images(data.features):
            return image_vectors([content], data.features)[0][0].astype(data.vectors.dtype)
        if data.image_shape is None:
            raise ActionError("This data is a table, not images; pick or edit a row instead.")
        if self._drawing is None:
            return grey_pixels(content, data.image_shape).ravel() * float(data.vectors.max())
        grey = grey_pixels(content)
        return self._drawing.vector(grey if drawn or np.median(grey) < 0.5 else 1.0 - grey)


class _Drawing:
    """A drawing as the data is: centred, as high, and with the slant, width and pen that bring it nearest to a sample.

    People draw rounder, more slanted and with another pen than those whose digits were scanned. A drawing is
    therefore tried in some slants, widths and strengths of stroke, and the one with the largest cosine to any sample of
    the data, labelled or not, is taken.
    """

    def __init__(self, vectors: np.ndarray, shape: tuple[int, ...]) -> None:
        self._shape, self._top, self._dtype = shape, float(vectors.max()), vectors.dtype
        ink = vectors[:500].reshape(-1, *shape) > 0.2 * self._top
        self._height = float(np.median(ink.any(axis=2).sum(axis=1)))
        self._directions = unit_rows(vectors[:_NEAREST].astype(np.float32))

    def vector(self, grey: np.ndarray) -> np.ndarray:
        """The vector of light strokes on dark."""
        if (grey > 0.5).sum() < 4:
            raise ActionError("Draw something first.")
        part = _inked(grey)
        fine = _FINE / max(part.shape)
        part = _resized(part, tuple(max(2, round(size * fine)) for size in part.shape))
        forms = (form for slant, width in _FORMS for form in _with_pens(_sheared(part, slant, width)))
        rows = np.array([self._placed(form).ravel() for form in forms], np.float32)
        nearest = (unit_rows(rows) @ self._directions.T).max(axis=1).argmax()
        return (rows[nearest] / max(rows[nearest].max(), 1e-9) * self._top).astype(self._dtype)

    def _placed(self, part: np.ndarray) -> np.ndarray:
        """A drawing in the middle of an image of the data's shape, as high as the data's ink."""
        height, width = self._shape
        scale = min(_BLOCK * self._height / part.shape[0], _BLOCK * width / part.shape[1])
        rows, columns = (max(1, round(size * scale)) for size in part.shape)
        fine = np.zeros((_BLOCK * height, _BLOCK * width))
        y, x = (fine.shape[0] - rows) // 2, (fine.shape[1] - columns) // 2
        fine[y : y + rows, x : x + columns] = _resized(part, (rows, columns))
        return fine.reshape(height, _BLOCK, width, _BLOCK).mean(axis=(1, 3))


def _inked(grey: np.ndarray) -> np.ndarray:
    """The part of an image that has ink."""
    ink = np.argwhere(grey > 0.5)
    (top, left), (bottom, right) = ink.min(axis=0), ink.max(axis=0) + 1
    return grey[top:bottom, left:right]


def _sheared(grey: np.ndarray, slant: float, width: float) -> np.ndarray:
    """A drawing that leans by ``slant`` and is ``width`` times as wide."""
    from scipy.ndimage import affine_transform

    height, old = grey.shape
    room = round(abs(slant) * height) + 2
    new = max(2, round(width * (old + 2 * room)))
    middle = np.array([(height - 1) / 2, (old + 2 * room - 1) / 2])
    turn = np.array([[1.0, 0.0], [slant, 1.0 / width]])
    offset = middle - turn @ np.array([(height - 1) / 2, (new - 1) / 2])
    return affine_transform(np.pad(grey, ((0, 0), (room, room))), turn, offset, (height, new), order=1)


def _with_pens(grey: np.ndarray) -> Iterator[np.ndarray]:
    """A drawing whose strokes are as wide as each pen.

    In a stroke of width w the mean distance to the border is w / 4, so that the width is known; the ink then grows by
    g on either side, where (w + 2 g) / (height + 2 g) is the width of the pen for a height of 1.
    """
    from scipy.ndimage import distance_transform_edt as distance

    height = grey.shape[0]
    ink = np.pad(grey > 0.5, height // 4)
    depth = distance(ink)
    stroke = 4.0 * depth[ink].mean()
    depth = np.where(ink, depth - 0.5, 0.5 - distance(~ink))
    for pen in _PENS:
        growth = (pen * height - stroke) / (2.0 * (1.0 - pen))
        yield _inked((depth > -np.clip(growth, -0.35 * stroke, height // 4 - 1)).astype(float))


def _without_waiting(path: str, flags: int) -> int:
    """A descriptor, at once where a pipe would wait for a writer."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _regular(path: Path) -> bytes | None:
    """The content of a file; None where a pipe or a device, which may never end, has its name, or a file too large."""
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            about = os.fstat(file.fileno())
            is_fit = stat.S_ISREG(about.st_mode) and about.st_size <= _LARGEST_FILE
            return file.read(about.st_size) if is_fit else None
    except OSError:
        return None


def _made(content: bytes | None, make: Callable[..., Shown], *options: Any) -> Shown | None:
    """What is made of an image file; None if there is none, or none that can be read."""
    try:
        return None if content is None else make(content, *options)
    except UnreadableImageError:
        return None


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
