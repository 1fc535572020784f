"""Histograms of gradients against scikit-image, where it is installed, and against what they must be."""

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_digits

from ancr.cli import main
from ancr.datasets import load_table
from ancr.features.hog import hog


def test_a_direction_falls_into_its_bin():
    column, row = np.meshgrid(np.arange(64), np.arange(64))
    for angle in range(0, 180, 20):  # the left end of a bin: all of the gradient is in it
        slope = np.cos(np.radians(angle)) * column + np.sin(np.radians(angle)) * row
        blocks = hog(slope).reshape(49, 4, 9)
        assert (blocks.argmax(axis=2) == angle // 20).all()


def test_brightness_and_contrast_do_not_count():
    image = np.random.default_rng(0).random((64, 64))
    np.testing.assert_allclose(hog(image), hog(3.0 * image + 7.0), atol=1e-6)
    assert hog(np.zeros((64, 64))).max() == 0.0
    with pytest.raises(ValueError, match="64 × 64"):
        hog(np.zeros((8, 8)))


def test_close_to_scikit_image():
    feature = pytest.importorskip("skimage.feature")
    image = np.asarray(Image.fromarray(load_digits().images[3].astype(np.uint8) * 15).resize((64, 64)), float)
    theirs = feature.hog(image, 9, (8, 8), (2, 2), block_norm="L2-Hys")
    assert np.corrcoef(hog(image), theirs)[0, 1] > 0.7  # they do not share a gradient between two bins


@pytest.mark.parametrize("features", ["hog", "pixels", "eigenfaces"])
def test_extract_without_a_network(features, tmp_path):
    from click.testing import CliRunner

    for i in range(20):
        folder = tmp_path / "data" / str(load_digits().target[i] % 2)
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(load_digits().images[i].astype(np.uint8) * 15).resize((40, 40)).save(folder / f"{i}.png")
    (tmp_path / "data" / "0" / "broken.png").write_bytes(b"no image")
    output = tmp_path / "out.npz"
    result = CliRunner().invoke(main, ["extract", str(tmp_path / "data"), "--features", features, "-o", str(output)])
    assert result.exit_code == 0, result.output
    assert "1 unreadable" in result.output
    bunch = load_table(output)
    assert bunch.data.shape == (20, {"hog": 1764, "pixels": 1024, "eigenfaces": 20}[features])
    assert np.isfinite(bunch.data).all()
    strict = ["extract", str(tmp_path / "data"), "--features", features, "--strict", "-o", str(output)]
    assert CliRunner().invoke(main, strict).exit_code == 1
