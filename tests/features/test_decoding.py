"""Pixels as they are: pictures of every mode with known values, the same in features, report, audit page and studio."""

import html
import io
import re
import struct
import warnings
from base64 import b64decode

import numpy as np
import pytest
from PIL import Image, ImageCms

from ancr._core.thumbnails import png_uri
from ancr.comparison.split_sources import UserSource
from ancr.features.decoding import UnreadableImageError, _decoded, colour_picture, grey_pixels, small_picture
from ancr.features.images import DecodedImages
from ancr.samples.image_vectors import image_vectors
from ancr.samples.readers import read_samples
from ancr.studio.openings import open_source
from ancr.studio.sample_pictures import Pictures
from tests.command_line import invoke

SIDE = 64
# Four quarters, no two alike, so that a turned or mirrored picture shows.
GREY = np.array([[0, 64], [160, 255]])
COLOUR = np.array([[[255, 0, 0], [0, 200, 0]], [[20, 40, 240], [250, 250, 90]]])
# Far from the edge of what sRGB can show, where a step of L, a or b is many of a colour.
MUTED = np.array([[[200, 120, 100], [90, 160, 110]], [[90, 100, 180], [220, 210, 140]]])
LUMA = np.array([0.299, 0.587, 0.114])


def spread(quarters, dtype):
    """A picture whose quarters have these values."""
    return np.asarray(quarters).repeat(SIDE // 2, 0).repeat(SIDE // 2, 1).astype(dtype)


def saved(image, kind, **options):
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def image(quarters=GREY, dtype=np.uint8):
    return Image.fromarray(spread(quarters, dtype))


def tiff(values, bits, sample_format=1, photometric=1):
    """A TIFF that Pillow does not write, little endian: of 12 bits, of unsigned 32, with a sign, or with white zero."""
    content = np.ascontiguousarray(values).tobytes()
    if bits == 12:
        first, second = values.reshape(-1, 2).T.astype(int)
        content = np.stack([first >> 4, (first & 15) << 4 | second >> 8, second & 255], 1).astype(np.uint8).tobytes()
    samples = values.shape[2] if values.ndim == 3 else 1
    tags = {256: SIDE, 257: SIDE, 258: bits, 259: 1, 262: photometric, 273: 8, 277: samples, 278: SIDE}
    tags |= {279: len(content), 339: sample_format}
    extra = b""
    if samples > 1:
        extra = struct.pack(f"<{samples}H", *[bits] * samples) + bytes(samples * 2 % 4)
    entries = b"".join(
        struct.pack("<HHII", tag, 3, samples, 8 + len(content))
        if extra and tag == 258
        else struct.pack("<HHII", tag, 4, 1, value)
        for tag, value in sorted(tags.items())
    )
    start = 8 + len(content) + len(extra)
    return struct.pack("<2sHI", b"II", 42, start) + content + extra + struct.pack("<H", len(tags)) + entries + bytes(4)


def turned(orientation, kind="JPEG"):
    """A picture that is stored turned, with the orientation that sets it right."""
    back = {1: None, 2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}[orientation]  # of Image.Transpose
    exif = Image.Exif()
    exif[274] = orientation
    stored = image() if back is None else image().transpose(Image.Transpose(back))
    return saved(stored, kind, quality=95, exif=exif)


def with_alpha(mode, quarters, alpha):
    bands = [*image(quarters).split(), Image.new("L", (SIDE, SIDE), alpha)]
    return Image.merge(mode, bands)


def palette(**options):
    indices = image([[0, 1], [2, 3]]).convert("P")
    indices.putpalette(COLOUR.reshape(-1).tolist())
    return saved(indices, "PNG", **options)


def lab(quarters):
    profiles = [ImageCms.createProfile(name) for name in ("sRGB", "LAB")]
    return ImageCms.profileToProfile(image(quarters), *profiles, outputMode="LAB")


def on_white(quarters, alpha):
    return (np.asarray(quarters) * alpha + 255.0 * (255 - alpha)) / 255.0


SIXTEEN = GREY * 257
FIRST_GONE = np.array([[255, 64], [160, 255]])
WITHOUT_RED = np.concatenate([np.full((1, 1, 3), 255), COLOUR[:1, 1:]], axis=1)
CASES = {
    "1.png": (lambda: saved(image([[0, 255], [255, 0]]).convert("1"), "PNG"), [[0, 255], [255, 0]]),
    "L.png": (lambda: saved(image(), "PNG"), GREY),
    "L, one grey transparent.png": (lambda: saved(image(), "PNG", transparency=0), FIRST_GONE),
    "L, white is 0.tif": (lambda: tiff(spread(255 - GREY, "u1"), 8, photometric=0), GREY),
    "LA.png": (lambda: saved(with_alpha("LA", GREY, 128), "PNG"), on_white(GREY, 128)),
    "P.png": (palette, COLOUR),
    "P, transparent.png": (lambda: palette(transparency=0), np.concatenate([WITHOUT_RED, COLOUR[1:]])),
    "P, half transparent.png": (
        lambda: palette(transparency=bytes([128, 255, 255, 255])),
        np.concatenate([[[on_white(COLOUR[0, 0], 128), COLOUR[0, 1]]], COLOUR[1:]]),
    ),
    "RGB.png": (lambda: saved(image(COLOUR), "PNG"), COLOUR),
    "RGB.gif": (lambda: saved(image(COLOUR), "GIF"), COLOUR),
    "RGB.bmp": (lambda: saved(image(COLOUR), "BMP"), COLOUR),
    "RGB.webp": (lambda: saved(image(COLOUR), "WEBP", lossless=True), COLOUR),
    "RGBA.png": (lambda: saved(with_alpha("RGBA", COLOUR, 51), "PNG"), on_white(COLOUR, 51)),
    "CMYK.tif": (lambda: saved(image(COLOUR).convert("CMYK"), "TIFF"), COLOUR),
    "CMYK.jpg": (lambda: saved(image(COLOUR).convert("CMYK"), "JPEG", quality=95), COLOUR),
    "YCbCr.tif": (lambda: saved(image(COLOUR).convert("YCbCr"), "TIFF"), COLOUR),
    "LAB.tif": (lambda: saved(lab(MUTED), "TIFF"), MUTED),
    "RGB.jpg": (lambda: saved(image(COLOUR), "JPEG", quality=95, subsampling=0), COLOUR),
    "I;16.png": (lambda: saved(image(SIXTEEN, np.uint16), "PNG"), GREY),
    "I;16, one grey transparent.png": (
        lambda: saved(image(SIXTEEN, np.uint16), "PNG", transparency=0),
        FIRST_GONE,
    ),
    "I;16.tif": (lambda: saved(image(SIXTEEN, np.uint16), "TIFF", compression="tiff_lzw"), GREY),
    "I;16B.tif": (lambda: saved(image(SIXTEEN, ">u2"), "TIFF"), GREY),
    "I;16, white is 0.tif": (lambda: tiff(spread(65535 - SIXTEEN, "<u2"), 16, photometric=0), GREY),
    "12 bits.tif": (lambda: tiff(spread(np.rint(GREY * 4095 / 255), int), 12), GREY),
    "12 bits.pgm": (
        lambda: b"P5 64 64 4095\n" + spread(np.rint(GREY * 4095 / 255), ">u2").tobytes(),
        GREY,
    ),
    "16 bits.pgm": (lambda: b"P5 64 64 65535\n" + spread(SIXTEEN, ">u2").tobytes(), GREY),
    "RGB of 16 bits.tif": (lambda: tiff(spread(COLOUR * 257, "<u2"), 16, photometric=2), COLOUR),
    "I.tif": (lambda: saved(image(GREY / 255 * (2**31 - 1), np.int32), "TIFF"), GREY),
    "I, unsigned.tif": (lambda: tiff(spread(GREY / 255 * (2**32 - 1), "<u4"), 32), GREY),
    "I, 16 bits with a sign.tif": (lambda: tiff(spread(GREY / 255 * 32767, "<i2"), 16, sample_format=2), GREY),
    "8 bits with a sign.tif": (lambda: tiff(spread(GREY // 2, "i1"), 8, sample_format=2), GREY // 2 * 255 / 127),
    "F.tif": (lambda: saved(image(GREY / 255, np.float32), "TIFF"), GREY),
} | {
    f"EXIF {turn}.{kind}": (
        lambda turn=turn, kind=kind: turned(turn, {"jpg": "JPEG", "tif": "TIFF"}.get(kind, kind)),
        GREY,
    )
    for kind, turns in {"jpg": range(1, 9), "png": [6], "tif": [5, 8], "webp": [3]}.items()
    for turn in turns
}


def expected_colours(quarters):
    quarters = np.asarray(quarters, float)
    return quarters if quarters.ndim == 3 else np.repeat(quarters[:, :, None], 3, axis=2)


def quarters_of(pixels):
    """The mean of the middle of each quarter of a picture."""
    pixels = np.asarray(pixels, float)
    half, inset = pixels.shape[0] // 2, pixels.shape[0] // 8
    inner = slice(inset, half - inset)
    parts = [[pixels[i * half :][inner][:, j * half :][:, inner].mean(axis=(0, 1)) for j in (0, 1)] for i in (0, 1)]
    return np.array(parts)


def of_png(content):
    return quarters_of(Image.open(io.BytesIO(content)).convert("RGB"))


def of_address(address):
    return of_png(b64decode(address.partition(",")[2]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A picture of every mode in one class, grey noise in another."""
    root = tmp_path_factory.mktemp("modes") / "photos"
    for label in ("modes", "noise"):
        (root / label).mkdir(parents=True)
    for name, (make, _) in CASES.items():
        (root / "modes" / name).write_bytes(make())
    rng = np.random.default_rng(0)
    for number in range(8):
        Image.fromarray(rng.integers(0, 256, (SIDE, SIDE), dtype=np.uint8)).save(root / "noise" / f"noise {number}.png")
    return root


@pytest.fixture(scope="module")
def samples(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # none is left out
        return read_samples(folder, features="pixels")


@pytest.fixture(scope="module")
def shown(folder, samples, tmp_path_factory):
    """What every surface has of a picture, by its name: grey for features, colours for what is shown."""
    out = tmp_path_factory.mktemp("audit")
    assert invoke(["audit", folder, "-o", out / "audit"]).exit_code == 0
    page = (out / "audit" / "audit.html").read_text(encoding="utf-8")
    figures = re.findall(r'<figure><img alt="" src="([^"]+)"[^>]*><figcaption>([^<]*?)</figcaption>', page)
    audited = {html.unescape(caption).split(" · ")[0].rpartition("/")[2]: address for address, caption in figures}
    report, studio = UserSource(samples, folds=2), Pictures(open_source(folder, features="pixels"))

    def surfaces(name):
        row = samples.names.tolist().index(str(folder / "modes" / name))
        content = (folder / "modes" / name).read_bytes()
        grey = {
            "features": samples.vectors[row].reshape(32, 32),
            "upload": studio.vector(content, drawn=False).reshape(32, 32),
        }
        colours = {
            "report": of_address(png_uri(report.picture(row))),
            "audit page": of_address(audited[name]),
            "studio": of_png(studio.thumbnail(row)[0]),
            "network": quarters_of(DecodedImages([content], np.asarray)[0][1]),
        }
        return {where: quarters_of(pixels) for where, pixels in grey.items()}, colours

    return surfaces


@pytest.mark.parametrize("name", CASES)
def test_every_surface_has_the_pixels_of_the_file(shown, name):
    grey, colours = shown(name)
    right = expected_colours(CASES[name][1])
    # Colours have 8 bits; JPEG, and colours kept as brightness and difference, are off by a few steps more.
    steps = 3.0 if name.endswith((".jpg", ".webp")) or name.startswith(("YCbCr", "LAB")) else 1.0
    for where, found in colours.items():
        np.testing.assert_allclose(found, right, rtol=0, atol=steps, err_msg=where)
    for where, found in grey.items():
        np.testing.assert_allclose(255 * found, right @ LUMA, rtol=0, atol=steps, err_msg=where)


def test_more_than_eight_bits_are_kept_in_grey_values():
    dark = spread([[1, 2], [3, 40]], np.uint16)
    for content in (saved(Image.fromarray(dark), "PNG"), saved(Image.fromarray(dark), "TIFF"), dark):
        np.testing.assert_allclose(grey_pixels(content), dark / 65535, rtol=1e-6)
    assert np.ptp(np.asarray(colour_picture(dark))) == 0  # all of them are black to eight bits


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (
            lambda: saved(image(GREY, np.float32), "TIFF"),
            r"from 0 to 255, but floating-point values must be in \[0, 1\]",
        ),
        (lambda: saved(image([[0.5, np.nan], [0, 1]], np.float32), "TIFF"), "from nan to nan"),
        (
            lambda: tiff(spread([[-5, 0], [1, 2]], "<i2"), 16, sample_format=2),
            "from -5 to 2, but signed values must be",
        ),
        (lambda: saved(image(COLOUR), "JPEG")[:-300], "Truncated|truncated"),
        (lambda: saved(image(COLOUR), "PNG")[:-60], "truncated|broken"),
        (lambda: b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n", "EPS is a program"),
        (lambda: b"words", "not an image of a known kind"),
        (lambda: b"", "not an image of a known kind"),
    ],
    ids=["counts", "nan", "negative", "cut jpg", "cut png", "eps", "text", "empty"],
)
def test_what_cannot_be_read_right_is_refused_by_name(tmp_path, content, reason):
    path = tmp_path / "picture.tif"
    path.write_bytes(content())
    for read in (grey_pixels, colour_picture, small_picture, lambda path: image_vectors([str(path)], "hog")):
        with pytest.raises(UnreadableImageError, match=reason) as raised:
            read(path)
        assert str(raised.value).startswith(f"{path} cannot be read as an image: ")
        assert "\n" not in str(raised.value)


def test_arrays_follow_the_same_rules():
    np.testing.assert_array_equal(grey_pixels(spread(GREY, np.uint8)), spread(GREY, float) / 255)
    np.testing.assert_allclose(grey_pixels(spread(SIXTEEN, np.uint16)), spread(GREY, float) / 255, rtol=1e-6)
    np.testing.assert_array_equal(np.asarray(colour_picture(spread(COLOUR / 255, float))), spread(COLOUR, np.uint8))
    see_through = np.dstack([spread(COLOUR, np.uint8), np.zeros((SIDE, SIDE), np.uint8)])
    assert np.asarray(colour_picture(see_through)).min() == 255
    with pytest.raises(UnreadableImageError, match="int64"):
        grey_pixels(spread(GREY, int))


def test_a_large_jpeg_is_decoded_at_a_fraction_of_its_size_to_be_shown():
    photo = saved(Image.new("L", (4000, 3000), 77), "JPEG")
    assert _decoded(photo, 160).size == (500, 375)
    assert _decoded(photo).size == (4000, 3000)
