"""The commands about data, as a user calls them."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ancr import ANCRClassifier
from ancr.datasets import DataNotFoundError, find_data, load_table
from ancr.features import DeepFeatures, backbones
from tests.command_line import invoke
from tests.components import component
from tests.datasets import trees


def ancr(*arguments):
    return invoke(arguments)


def test_import_stays_light():
    heavy = "numba", "torch", "matplotlib", "dask", "pandas"
    code = f"import ancr, ancr.cli, sys; print([name for name in {heavy} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_datasets_shows_what_is_here(tmp_path):
    trees.cub200(tmp_path)
    output = ancr("datasets", "--data-home", tmp_path).output
    rows = {line.split("│")[1].strip(): line for line in output.splitlines() if "│" in line}
    assert "yes" in rows["digits"]
    assert "yes" in rows["cub200"]
    assert "no" in rows["aircraft"]
    assert "ancr fetch aircraft" in rows["aircraft"]


def test_fetch_of_unknown_or_unavailable_set():
    unknown, cars = ancr("fetch", "stanford_40"), ancr("fetch", "cars")
    assert (unknown.exit_code, cars.exit_code) == (1, 1)
    assert "stanford40" in unknown.output
    assert "cars_test_annos_withlabels.mat" in cars.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere", "-o", "x.npz"], "neither a path nor one of the data sets"),
        (["usps", "-o", "x.npz"], "consists of pixel vectors"),
        (["{images}", "-o", "x.csv"], "ends in .npz"),
        (["{images}", "-o", "no/such/folder/x.npz"], "does not exist"),
    ],
)
def test_extract_bad_input(tmp_path, arguments, message):
    trees.write_image(tmp_path / "cat" / "1.jpg")
    result = ancr("extract", *(argument.format(images=tmp_path) for argument in arguments))
    assert result.exit_code == 1
    assert message in result.output


@pytest.fixture
def extract(tmp_path):
    """``ancr extract`` with a small random network; gives the result and the file."""
    component("timm")

    def run(source, *options):
        output = tmp_path / "features.npz"
        small = ["--backbone", "test_resnet", "--weights", "none", "--cache-dir", tmp_path / "cache"]
        return ancr("extract", source, "-o", output, *small, *options), output

    return run


@pytest.mark.all
def test_extract_folder_then_load(tmp_path, extract):
    for seed, name in enumerate(["cat/1.jpg", "cat/2.jpg", "dog/1.jpg"]):
        trees.write_image(tmp_path / "images" / name, seed)
    result, output = extract(tmp_path / "images")
    assert result.exit_code == 0, result.output
    assert "3 images" in result.output
    assert "3 computed, 0 from the cache, 0 unreadable" in result.output
    bunch = load_table(output)
    assert bunch.target_names[bunch.target].tolist() == ["cat", "cat", "dog"]
    assert bunch.filenames.tolist() == ["cat/1.jpg", "cat/2.jpg", "dog/1.jpg"]
    again, _ = extract(tmp_path / "images")
    assert "0 computed, 3 from the cache" in again.output


@pytest.mark.all
def test_extract_data_set_keeps_the_split(tmp_path, extract):
    trees.cub200(tmp_path)
    result, output = extract("cub200", "--data-home", tmp_path, "--pooling", "bilinear")
    assert result.exit_code == 0, result.output
    bunch = load_table(output)
    assert (len(bunch.train_indices), len(bunch.test_indices)) == (4, 2)
    shutil.copy(output, tmp_path / "cub200_2011" / "mine.npz")
    from ancr.datasets import load_cub200

    np.testing.assert_array_equal(load_cub200(tmp_path, features="mine").data, bunch.data)


@pytest.mark.all
def test_extract_names_and_counts_unreadable_images(tmp_path, extract):
    for seed, name in enumerate(["cat/1.jpg", "cat/2.jpg", "dog/1.jpg"]):
        trees.write_image(tmp_path / "images" / name, seed)
    cut = tmp_path / "images" / "cat" / "2.jpg"
    cut.write_bytes(cut.read_bytes()[:300])
    result, output = extract(tmp_path / "images")
    assert result.exit_code == 0
    assert f"unreadable: {cut}: " in result.output
    assert "2 images" in result.output
    assert "1 unreadable" in result.output
    assert load_table(output).filenames.tolist() == ["cat/1.jpg", "dog/1.jpg"]
    output.unlink()
    strict, _ = extract(tmp_path / "images", "--strict")
    assert strict.exit_code == 1
    assert f"{cut} cannot be read" in strict.output
    assert not output.exists()


@pytest.mark.all
def test_real_sample_images_reach_a_classifier(tmp_path, extract):
    rows = ["path,label"]
    for folder in ("stanford40", "cub200_2011", "stanford_cars"):
        try:
            table = find_data(f"{folder}/efficientnet_lite0_1280.npz")
        except DataNotFoundError as missing:
            pytest.skip(str(missing))
        rows += [f"{image},{folder}" for image in sorted((table.parent / "sample_images").glob("*.jpg"))]
    (tmp_path / "samples.csv").write_text("\n".join(rows))
    result, output = extract(tmp_path / "samples.csv")
    assert result.exit_code == 0, result.output
    bunch = load_table(output)
    assert bunch.data.shape[0] == 72
    classifier = ANCRClassifier(alpha=1e-3).fit(bunch.data, bunch.target)
    assert classifier.score(bunch.data, bunch.target) == 1.0
    flat, _ = extract(Path(rows[1].split(",")[0]).parent)
    assert "24 images" in flat.output
    assert len(load_table(output).target_names) == 24


def test_weights_that_cannot_be_had_are_one_line_within_three_seconds(monkeypatch):
    """A host that does not answer is waited for two seconds, once; what a library then says becomes what to do."""
    waited, hub = [], backbones._HUB

    def no_answer(address, timeout):
        waited.append(timeout)
        raise TimeoutError("timed out")

    monkeypatch.setattr(backbones.socket, "create_connection", no_answer)
    monkeypatch.setattr(backbones, "getproxies", dict)
    expected = "weights of 'resnet18' are not on this machine, and huggingface.co cannot be reached: check the name"
    with (
        pytest.raises(ConnectionError, match=expected) as error,
        backbones._one_line_offline("resnet18", hub),
    ):
        raise OSError("Cannot find an appropriate cached snapshot folder\nfor the specified revision")
    assert "\n" not in str(error.value)
    assert sum(waited) <= 3
    with backbones._one_line_offline("resnet18", hub):
        pass  # weights in the cache of this machine are taken


def test_without_network_nothing_is_imported_to_find_out_that_weights_are_missing(monkeypatch, tmp_path):
    """Importing torch takes seconds: only where a file may be here, one is named or a host answers is that worth it."""
    asked = []

    def no_answer(address, timeout):
        asked.append(address[0])
        raise TimeoutError("timed out")

    def imported(name):
        raise ImportError(name)

    monkeypatch.setattr(backbones.socket, "create_connection", no_answer)
    monkeypatch.setattr(backbones, "getproxies", dict)
    monkeypatch.setattr(backbones, "find_spec", lambda name: name)
    monkeypatch.setattr(backbones, "_import", imported)
    for variable in ("XDG_CACHE_HOME", "TORCH_HOME", "HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    image = np.zeros((8, 8), np.uint8)
    for name, host in (("resnet18", "huggingface.co"), ("vgg19", "download.pytorch.org")):
        with pytest.raises(ConnectionError, match=f"weights of {name!r} are not on this machine, and {host} cannot"):
            DeepFeatures(name).fit_transform([image])
    assert asked == ["huggingface.co", "download.pytorch.org"]
    own = tmp_path / "own.pth"
    own.write_bytes(b"")
    with pytest.raises(ImportError, match="torch"):
        DeepFeatures("resnet18", weights=own).fit_transform([image])
    (tmp_path / "HF_HOME" / "hub" / "models--timm--resnet18.a1_in1k").mkdir(parents=True)
    with pytest.raises(ImportError, match="torch"):
        DeepFeatures("resnet18").fit_transform([image])
    assert len(asked) == 2
