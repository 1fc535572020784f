"""Pictures of samples, and samples from pictures: drawn, dropped or pasted, decoded within limits."""

import io
import warnings
from base64 import b64decode

import numpy as np

from ancr._core.thumbnails import png_uri
from ancr.features.images import UnreadableImageError
from ancr.samples.image_vectors import image_vectors
from ancr.studio.state import ActionError

MOST_PIXELS = 24_000_000
_FORMATS = ("PNG", "JPEG", "GIF", "BMP", "WEBP")
_THUMBNAIL = 160


def decode(content):
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

    def __init__(self, source):
        self.source = source
        self._box = _usual_box(source) if source.draws else None

    @property
    def has_pictures(self):
        """Whether samples can be shown."""
        return self.source.data.image_shape is not None or bool(self.source.data.image_paths)

    @property
    def takes_images(self):
        """Whether an image can be classified: samples are images, or pixels of known shape."""
        return self.source.draws or self.source.data.features != "table" or self._is_square

    @property
    def _is_square(self):
        return self.source.data.image_shape is not None

    def thumbnail(self, index):
        """``(bytes, media type)`` of a small picture of a sample, or None."""
        data = self.source.data
        if data.image_paths:
            return self._from_file(data.image_paths[index])
        if data.image_shape is None:
            return None
        uri = data_uri(data.vectors[index].reshape(data.image_shape))
        return b64decode(uri.partition(",")[2]), "image/png"

    def _from_file(self, path):
        if path is None:
            return None
        try:
            if path.stat().st_size > 64 * 2**20:
                return None
            image = decode(path.read_bytes()).convert("RGB")
        except (OSError, ActionError):
            return None
        image.thumbnail((_THUMBNAIL, _THUMBNAIL))
        buffer = io.BytesIO()
        image.save(buffer, "PNG")
        return buffer.getvalue(), "image/png"

    def vector(self, content, drawn):
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
            if self.source.draws:
                grey = grey if drawn or np.median(grey) < 0.5 else 1.0 - grey
                return self._as_digit(grey)
            return self._resized(grey, data.image_shape[::-1]).ravel() * float(data.vectors.max())
        buffer = io.BytesIO()
        image.convert("RGB").save(buffer, "PNG")
        buffer.seek(0)
        try:
            images = [buffer] if data.features in ("pixels", "hog") else [np.asarray(image.convert("RGB"))]
            return image_vectors(images, data.features)[0].astype(data.vectors.dtype)
        except (UnreadableImageError, ImportError) as error:
            raise ActionError(str(error)) from error

    def _as_digit(self, grey):
        """A drawing centred and scaled as the data is: its ink fills the box that digits usually fill."""
        ink = np.argwhere(grey > 0.15)
        if len(ink) < 4:
            raise ActionError("Draw something first.")
        (top, left), (bottom, right) = ink.min(axis=0), ink.max(axis=0) + 1
        part = grey[top:bottom, left:right]
        height, width = self.source.data.image_shape
        scale = min(self._box[0] / part.shape[0], width / part.shape[1])
        rows, columns = (max(1, round(size * scale)) for size in part.shape)
        small = self._resized(part, (columns, rows))
        picture = np.zeros((height, width))
        y, x = (height - rows) // 2, (width - columns) // 2
        picture[y : y + rows, x : x + columns] = small
        return (
            (picture / max(picture.max(), 1e-9) * float(self.source.data.vectors.max()))
            .ravel()
            .astype(self.source.data.vectors.dtype)
        )

    @staticmethod
    def _resized(grey, size):
        from PIL import Image

        image = Image.fromarray((grey * 255).astype(np.uint8)).resize(size, Image.Resampling.BOX)
        return np.asarray(image, float) / 255.0


def _usual_box(source):
    """Height and width that the ink of a sample usually fills."""
    vectors = source.data.vectors
    images = vectors[:500].reshape(-1, *source.data.image_shape) > 0.2 * vectors.max()
    return np.median(images.any(axis=2).sum(axis=1)), np.median(images.any(axis=1).sum(axis=1))


def data_uri(image):
    """A grey image as an address, black at zero, so that pictures of one data set can be compared."""
    image = np.clip(np.asarray(image, float), 0.0, None)
    return png_uri((image * (255.0 / (image.max() or 1.0))).astype(np.uint8))


def reconstruction(source, support, weights):
    """Xc as an image: the samples at unit norm, weighted by the code."""
    rows = source.data.vectors[support].astype(float)
    norms = np.linalg.norm(rows, axis=1)
    return (weights / np.where(norms > 0, norms, 1.0)) @ rows
