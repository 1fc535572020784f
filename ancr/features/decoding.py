"""The one place where pictures are decoded: what features see is what reports, pages and the studio show.

Pixels are taken as they are, by rules that never depend on a single picture, so that the pictures of a data set stay
comparable:

- Integers are divided by the largest number that their stated depth holds: 255, 65,535 for 16 bits, 4,095 for a TIFF of
  12 bits, 2³² − 1 for one of 32. Nothing is clipped or stretched. Negative ones are refused.
- Floating-point values must be in [0, 1]; others are refused, since only the whole data set can tell how to scale them.
- Transparent pixels lie on white; palettes and CMYK become RGB; the orientation that a camera notes is applied; of
  several frames the first is taken.
- Grey pictures of more than 8 bits keep their precision in `grey_pixels`; colours have 8 bits, as Pillow reads them.

Whatever cannot be read is refused with one line that names the file, see `UnreadableImageError`.
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from ancr._core.files import PathLike
from ancr._core.messages import one_line

if TYPE_CHECKING:
    import PIL.Image

# A path, the content of a file, or an array of shape (height, width) or (height, width, channels).
Picture: TypeAlias = PathLike | bytes | np.ndarray
# Part of the key of cached vectors: another number whenever a picture is read differently.
DECODING = 2
_SHOWN_BY_BROWSERS = ("AVIF", "BMP", "GIF", "JPEG", "PNG", "WEBP")
# Pixels of a side, and bytes, of files that are left to a browser; of others it gets a copy of a quarter of that side.
_LARGEST_SIDE, _LARGEST_FILE = 2**14, 2**26
# Tags of TIFF.
_BITS, _PHOTOMETRIC, _SAMPLE_FORMAT = 258, 262, 339


class UnreadableImageError(OSError):
    """A file is a corrupt or truncated image, not an image, or one whose values have no known meaning.

    Attributes
    ----------
    reason : str
        What is wrong, in one line without the name of the file.
    """

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason or message


def grey_pixels(picture: Picture, shape: tuple[int, int] | None = None) -> np.ndarray:
    """Grey values of a picture.

    Parameters
    ----------
    picture : path-like, bytes or ndarray
        A file, its content, or an image of uint8, uint16, bool or floats in [0, 1].
    shape : tuple of int or None
        Height and width to scale to; None keeps the picture's own.

    Returns
    -------
    ndarray of shape (height, width), float64 in [0, 1]

    Raises
    ------
    UnreadableImageError
        If it cannot be read.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.features.decoding import grey_pixels
    >>> grey_pixels(np.array([[0, 65535]], dtype=np.uint16))
    array([[0., 1.]])
    """
    with _named(picture):
        image = _decoded(picture)
        grey = image if image.mode == "F" else image.convert("L")
        if shape is not None:
            grey = grey.resize(shape[::-1], _pillow().Resampling.BILINEAR)
        return np.asarray(grey, dtype=np.float64) / (1.0 if grey.mode == "F" else 255.0)


def colour_picture(picture: Picture) -> "PIL.Image.Image":
    """A picture as a Pillow image in RGB, as networks take it; parameters and errors as of `grey_pixels`."""
    with _named(picture):
        return _in_colour(_decoded(picture))


def square_picture(picture: Picture, side: int = 160) -> np.ndarray:
    """A picture to show in RGB, its middle cropped and scaled to ``side`` × ``side``; large JPEGs decode quickly."""
    from PIL import ImageOps

    with _named(picture):
        return np.asarray(ImageOps.fit(_in_colour(_decoded(picture, side)), (side, side)))


def small_picture(picture: Picture, side: int = 320) -> tuple[bytes, str]:
    """A whole picture to show and its media type: as it is (PNG), or scaled down to a side (JPEG, decoded quickly)."""
    with _named(picture):
        image = _in_colour(_decoded(picture, side))
        exact = max(image.size) <= side
        image.thumbnail((side, side))
    buffer = io.BytesIO()
    image.save(buffer, "PNG" if exact else "JPEG", **({} if exact else {"quality": 88}))
    return buffer.getvalue(), "image/png" if exact else "image/jpeg"


def whole_picture(content: bytes) -> tuple[bytes, str]:
    """A picture at full size and its media type: the file itself where browsers show its kind, otherwise a copy."""
    with _named(content), _pillow().open(io.BytesIO(content)) as image:
        kind, size = image.format, image.size
    if kind in _SHOWN_BY_BROWSERS and max(size) <= _LARGEST_SIDE and len(content) <= _LARGEST_FILE:
        return content, _pillow().MIME[kind]
    return small_picture(content, _LARGEST_SIDE // 4)


def _pillow() -> ModuleType:
    try:
        import PIL.Image
    except ImportError as error:
        raise ImportError("reading images needs pillow: pip install pillow") from error
    return PIL.Image


@contextmanager
def _named(picture: Picture) -> Iterator[None]:
    """Turn whatever a decoder raises, also on images of billions of pixels, into an `UnreadableImageError`."""
    try:
        yield
    except ImportError:  # of Pillow itself
        raise
    except Exception as error:  # decoders raise many kinds, from OSError to SyntaxError
        name, reason = picture if isinstance(picture, str | Path) else "the picture", one_line(error)
        if isinstance(error, _pillow().UnidentifiedImageError):
            reason = "it is damaged, or not an image of a known kind"
        elif isinstance(error, _pillow().DecompressionBombError):
            reason = f"it has more than {2e-6 * _pillow().MAX_IMAGE_PIXELS:.0f} million pixels"
        elif isinstance(error, OSError) and error.strerror:
            reason = error.strerror
        raise UnreadableImageError(f"{name} cannot be read as an image: {reason}", reason) from error


class _Depth(NamedTuple):
    """What a file says about its grey values: how many bits they have, whether one is a sign, whether 0 is white."""

    bits: int = 16
    signed: bool = False
    zero_is_white: bool = False


def _decoded(picture: Picture, least: int | None = None) -> "PIL.Image.Image":
    """A picture upright and opaque, in mode L, RGB or, with grey values in [0, 1], F.

    ``least`` is the side that is needed: JPEGs are then decoded at a half, a quarter or an eighth of their size.
    """
    from PIL import ImageOps

    if isinstance(picture, np.ndarray):
        return _opaque(_image_of(picture))
    file = io.BytesIO(picture) if isinstance(picture, bytes) else str(picture)
    with _pillow().open(file) as image:
        if image.format == "EPS":
            raise ValueError("EPS is a program, not pixels")
        if least is not None:
            image.draft(None, (2 * least, 2 * least))
        depth = _depth(image)
        image.load()
        ImageOps.exif_transpose(image, in_place=True)
        if image.mode in ("I", "F") or image.mode.startswith("I;16") or depth.signed:
            return _grey_of_depth(image, depth, 1 if least is None else max(1, min(image.size) // (4 * least)))
        return _opaque(image)


def _depth(image: "PIL.Image.Image") -> _Depth:
    """The depth that a file states; 16 bits where Pillow has scaled the values to them."""
    if image.format == "TIFF":
        tags = image.tag_v2  # type: ignore[attr-defined]  # of TIFF alone
        return _Depth(tags.get(_BITS, (1,))[0], tags.get(_SAMPLE_FORMAT, (1,))[0] == 2, tags.get(_PHOTOMETRIC) == 0)
    if image.mode == "I" and image.format not in ("PNG", "PPM"):
        raise ValueError(f"{image.format} does not say what the largest of its 32-bit numbers is")
    return _Depth()


def _grey_of_depth(image: "PIL.Image.Image", depth: _Depth, step: int = 1) -> "PIL.Image.Image":
    """Grey values of more than 8 bits, or with a sign, as an image of floats in [0, 1]; of a large one every few."""
    values = np.ascontiguousarray(np.asarray(image)[::step, ::step])
    if depth.signed:
        values = values.view(np.int8) if values.dtype == np.uint8 else values
    elif image.mode == "I":
        values = values.view(np.uint32)  # as Pillow holds numbers of 32 bits without a sign
    grey = values if image.mode == "F" else values / float(2 ** (depth.bits - depth.signed) - 1)
    _check_range(grey, values)
    if depth.zero_is_white and image.mode != "L":  # which Pillow has turned round
        grey = 1.0 - grey
    if "transparency" in image.info:  # the one value of a 16-bit PNG that stands for nothing
        grey = np.where(values == image.info["transparency"], 1.0, grey)
    return _pillow().fromarray(grey.astype(np.float32))


def _check_range(grey: np.ndarray, values: np.ndarray) -> None:
    low, high = float(values.min()), float(values.max())
    if not (grey.min() >= 0.0 and grey.max() <= 1.0):  # NaN is neither
        kind, expected = ("floating-point", "in [0, 1]") if values.dtype.kind == "f" else ("signed", "at least 0")
        raise ValueError(
            f"its values go from {low:g} to {high:g}, but {kind} values must be {expected}: scale all images of the "
            "data set alike"
        )


def _image_of(pixels: np.ndarray) -> "PIL.Image.Image":
    """An array as a Pillow image."""
    if pixels.ndim not in (2, 3) or not (pixels.dtype in (np.uint8, np.uint16, bool) or pixels.dtype.kind == "f"):
        raise ValueError(
            f"pixels of {pixels.dtype} and shape {pixels.shape}, but expected (height, width) or (height, width, "
            "channels) of uint8, uint16, bool or floats in [0, 1]"
        )
    pixels = pixels[:, :, 0] if pixels.ndim == 3 and pixels.shape[2] == 1 else pixels
    if pixels.dtype == np.uint8:
        return _pillow().fromarray(pixels)
    values = pixels / 65535.0 if pixels.dtype == np.uint16 else pixels.astype(np.float32)
    _check_range(values, pixels)
    return _pillow().fromarray(values.astype(np.float32) if values.ndim == 2 else _bytes_of(values))


def _opaque(image: "PIL.Image.Image") -> "PIL.Image.Image":
    """An image of 8 bits in mode L or RGB; what is transparent lies on white."""
    if image.has_transparency_data:
        image = (image.convert("LA") if image.mode == "La" else image).convert("RGBA")
        paper = _pillow().new("RGBA", image.size, "white")
        return _pillow().alpha_composite(paper, image).convert("RGB")
    if image.mode in ("L", "RGB", "F"):
        return image
    return image.convert("L" if image.mode == "1" else "RGB")


def _in_colour(image: "PIL.Image.Image") -> "PIL.Image.Image":
    return (_pillow().fromarray(_bytes_of(np.asarray(image))) if image.mode == "F" else image).convert("RGB")


def _bytes_of(values: np.ndarray) -> np.ndarray:
    return np.rint(255.0 * values).astype(np.uint8)
