"""Pictures of samples: upright, in every format, of any size, made once and kept within a limit."""

import io
import os
import warnings

import numpy as np
import pytest
from PIL import Image, ImageDraw

from ancr.studio import insights, sample_pictures
from ancr.studio.openings import open_source
from ancr.studio.picture_cache import PictureCache


def shown(answer):
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("image/")
    return Image.open(io.BytesIO(answer.content))


def noise(seed, size=(40, 30)):
    return Image.fromarray(np.random.default_rng(seed).integers(0, 255, (*size[::-1], 3), np.uint8))


def formats():
    """A suffix of every format that Pillow can both write and read as pixels."""
    Image.init()
    by_format = {}
    for suffix, name in Image.registered_extensions().items():
        if name in Image.OPEN and name in Image.SAVE and name not in ("EPS", "IM", "WMF", "BUFR", "GRIB", "HDF5"):
            by_format.setdefault(name, suffix)
    return by_format


def test_every_format_that_pillow_reads_is_shown(tmp_path, make_studio, make_client):
    folder = tmp_path / "photos"
    folder.mkdir()
    for number, (name, suffix) in enumerate(formats().items()):
        for mode in ("RGB", "L", "1", "RGBA"):
            try:
                noise(number, (48, 48)).convert(mode).save(folder / f"{name}{suffix}", name)
            except (OSError, ValueError, SystemError):  # a mode that the format has not
                (folder / f"{name}{suffix}").unlink(missing_ok=True)
                continue
            break
    names = {file.name for file in folder.iterdir()}
    assert len(names) > 15
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # none is left out
        studio = make_studio(open_source(folder))
    assert set(studio.state.names) == names
    client = make_client(studio)
    for name, id in zip(studio.state.names, studio.state.ids, strict=True):
        for end in ("", "?full=1"):
            assert min(shown(client.get(f"/api/picture/{id}{end}")).size) >= 48, name  # icons have sizes of their own


def test_a_photo_is_shown_upright_and_small_and_at_full_size(tmp_path, make_studio, make_client):
    folder, exif = tmp_path / "photos", Image.Exif()
    folder.mkdir()
    exif[274] = 6  # the camera was held upright
    half = noise(0, (1600, 1200))
    half.paste((250, 10, 10), (0, 0, 800, 1200))  # its left half is at the top of the photo
    half.save(folder / "a.jpg", exif=exif)
    noise(1, (900, 700)).save(folder / "b.tif")
    deep = np.linspace(0, 65535, 3000 * 2000, dtype=np.uint16).reshape(3000, 2000)
    Image.fromarray(deep).save(folder / "c.tif")
    studio = make_studio(open_source(folder))
    client = make_client(studio)
    first, second, third = studio.state.ids
    small = shown(client.get(f"/api/picture/{first}"))
    assert (small.size, small.format) == ((240, 320), "JPEG")
    top = np.asarray(small, float)[20:140].mean(axis=(0, 1))
    assert top[0] > 200 > 60 > top[1]
    answer = client.get(f"/api/picture/{first}?full=1")
    assert answer.content == (folder / "a.jpg").read_bytes()  # a browser turns it itself
    assert "immutable" in answer.headers["cache-control"]
    assert shown(client.get(f"/api/picture/{second}?full=1")).size == (900, 700)
    grey = np.asarray(shown(client.get(f"/api/picture/{third}")).convert("L"), float)
    np.testing.assert_allclose(grey[:, 100], np.linspace(0, 255, 320), atol=4)


@pytest.mark.all
def test_a_hundred_million_pixels_are_shown(tmp_path, make_studio, make_client):
    folder = tmp_path / "photos"
    folder.mkdir()
    Image.new("RGB", (10_000, 10_000), (200, 30, 30)).save(folder / "large.jpg", quality=50)
    Image.new("L", (10_000, 10_000), 77).save(folder / "large.png")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        studio = make_studio(open_source(folder, features="pixels"))
        client = make_client(studio)
        for id, value in zip(studio.state.ids, (200, 77), strict=True):
            small = shown(client.get(f"/api/picture/{id}"))
            assert small.size == (320, 320)
            assert abs(int(np.asarray(small)[5, 5].flat[0]) - value) < 4


def test_a_small_picture_is_made_once(tmp_path, make_studio, make_client, monkeypatch):
    folder = tmp_path / "photos"
    folder.mkdir()
    for number in range(4):
        noise(number, (800, 600)).save(folder / f"{number}.jpg")
    made = []
    small = sample_pictures.small_picture
    monkeypatch.setattr(sample_pictures, "small_picture", lambda *given: made.append(1) or small(*given))
    seen = []
    for _ in range(2):
        studio = make_studio(open_source(folder))
        client = make_client(studio)
        seen.append([client.get(f"/api/picture/{id}").content for id in studio.state.ids])
        studio.close()
    assert seen[0] == seen[1]
    assert len(made) == 4


def test_kept_pictures_stay_within_their_limit(tmp_path):
    cache = PictureCache(tmp_path / "kept", most=10_000)
    for number in range(40):
        cache.put(f"{number:02d}", bytes(498) + b"\xff\xd9")
        os.utime(tmp_path / "kept" / f"{number:02d}" / f"{number:02d}", (number, number))
        assert sum(file.stat().st_size for file in (tmp_path / "kept").rglob("*") if file.is_file()) <= 10_000
    assert cache.get("39") is not None
    assert cache.get("00") is None
    (tmp_path / "kept" / "39" / "39").write_bytes(b"cut short")
    assert cache.get("39") is None


def test_where_nothing_can_be_kept_pictures_are_made_all_the_same(tmp_path):
    (tmp_path / "a file").write_bytes(b"")
    cache = PictureCache(tmp_path / "a file" / "kept")
    cache.put("a", b"\xff\xd9")
    assert cache.get("a") is None


def _arc(x, y, across, down, begin, end):
    turn = np.radians(np.linspace(begin, end, 24))
    return [*zip(x + across * np.cos(turn), y + down * np.sin(turn), strict=True)]


# Digits as two people write them, as strokes in a box of side 1.
HANDS = [
    {
        0: [_arc(0.5, 0.5, 0.22, 0.34, -90, 270)],
        1: [[(0.36, 0.3), (0.52, 0.15), (0.52, 0.85)]],
        2: [[*_arc(0.5, 0.34, 0.2, 0.19, -170, 40), (0.3, 0.85), (0.72, 0.85)]],
        3: [_arc(0.47, 0.32, 0.2, 0.17, -150, 80) + _arc(0.47, 0.67, 0.23, 0.18, -80, 150)],
        4: [[(0.6, 0.85), (0.6, 0.15), (0.28, 0.62), (0.76, 0.62)]],
        5: [[(0.7, 0.15), (0.36, 0.15), (0.33, 0.46), *_arc(0.48, 0.64, 0.22, 0.21, -120, 140)]],
        6: [[(0.62, 0.15), (0.44, 0.35), *_arc(0.5, 0.65, 0.19, 0.2, -170, 190)]],
        7: [[(0.28, 0.15), (0.72, 0.15), (0.44, 0.85)]],
        8: [_arc(0.5, 0.32, 0.17, 0.17, 90, -270) + _arc(0.5, 0.67, 0.2, 0.18, -90, 270)],
        9: [[*_arc(0.5, 0.34, 0.19, 0.19, 0, -360), (0.68, 0.5), (0.58, 0.85)]],
    },
    {
        0: [_arc(0.5, 0.5, 0.27, 0.32, -60, 300)],
        1: [[(0.5, 0.15), (0.5, 0.85)]],
        2: [[*_arc(0.48, 0.33, 0.21, 0.18, -180, 30), (0.5, 0.62), (0.3, 0.84), (0.42, 0.82), (0.74, 0.86)]],
        3: [[(0.3, 0.15), (0.68, 0.15), (0.46, 0.42), *_arc(0.46, 0.64, 0.22, 0.22, -90, 150)]],
        4: [[(0.36, 0.15), (0.3, 0.55), (0.74, 0.55)], [(0.64, 0.2), (0.6, 0.85)]],
        5: [[(0.7, 0.15), (0.36, 0.15), (0.36, 0.46), *_arc(0.48, 0.64, 0.22, 0.2, -130, 140)]],
        6: [_arc(0.62, 0.45, 0.32, 0.3, -80, -170) + _arc(0.5, 0.66, 0.2, 0.19, 180, -180)],
        7: [[(0.28, 0.18), (0.7, 0.15), (0.5, 0.5), (0.45, 0.85)]],
        8: [
            [
                (0.65, 0.24),
                *_arc(0.5, 0.32, 0.16, 0.16, -40, -220),
                *_arc(0.5, 0.67, 0.2, 0.18, -120, 250),
                (0.65, 0.24),
            ]
        ],
        9: [[*_arc(0.48, 0.34, 0.18, 0.19, -20, -340), (0.66, 0.28), (0.66, 0.85)]],
    },
]


def drawn(strokes, slant, scale, side=256):
    """A drawing as the canvas sends it."""
    canvas = Image.new("L", (side, side))
    brush, radius = ImageDraw.Draw(canvas), side / 18
    for stroke in strokes:
        points = [
            (side * (0.5 + scale * (x - 0.5 - slant * (y - 0.5))), side * (0.5 + scale * (y - 0.5))) for x, y in stroke
        ]
        brush.line(points, 255, round(2 * radius))
        for x, y in points:
            brush.ellipse((x - radius, y - radius, x + radius, y + radius), 255)
    file = io.BytesIO()
    canvas.save(file, "PNG")
    return file.getvalue()


def test_clean_drawn_digits_are_right_and_sure(make_studio, monkeypatch, tmp_path):
    """At least nine of ten, of two hands, upright and slanted, large and small."""
    monkeypatch.setattr("ancr.studio.openings.DIGITS_PER_CLASS", 50)
    studio, good = make_studio(open_source(home=tmp_path)), 0
    snapshot = studio.recogniser.snapshot()
    studio.recogniser.estimate = insights.estimate_of(snapshot.samples, snapshot)
    for hand in HANDS:
        for slant, scale in ((0.0, 1.0), (0.2, 0.7)):
            for digit, strokes in hand.items():
                vector = studio.pictures.vector(drawn(strokes, slant, scale), True)
                answer = studio.answer(studio.query({}, vector)).result()
                good += answer["label"] == str(digit) and answer["accepted"]
    assert good >= 36
