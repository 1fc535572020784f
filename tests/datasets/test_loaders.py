"""Every loader on a tiny tree of the official layout, and on the real data where it is here."""

import numpy as np
import pytest
from scipy.io import savemat

from ancr import datasets
from ancr.datasets import REGISTRY, DataNotFoundError, WrongTreeError, dataset_info
from tests.datasets import trees

IMAGE_SETS = {
    "stanford40": trees.stanford40,
    "cub200": trees.cub200,
    "aircraft": trees.aircraft,
    "cars": trees.cars,
}
COUNTS = {"stanford40": (4, 2), "cub200": (4, 2), "aircraft": (3, 1), "cars": (3, 2)}


@pytest.fixture(params=IMAGE_SETS)
def image_set(request):
    """Name, tree builder and loader of each image data set."""
    name = request.param
    return name, IMAGE_SETS[name], getattr(datasets, dataset_info(name).loader)


def test_official_layout_loads(image_set, tmp_path):
    name, build, load = image_set
    root = build(tmp_path)
    bunch = load(tmp_path)
    assert (len(bunch.train_indices), len(bunch.test_indices)) == COUNTS[name]
    assert not set(bunch.train_indices) & set(bunch.test_indices)
    assert len(bunch.data) == len(bunch.target) == sum(COUNTS[name])
    assert all(str(root) in path for path in bunch.filenames)
    assert set(bunch.target) == {0, 1}
    assert bunch.licence == dataset_info(name).licence
    assert bunch.citation in bunch.DESCR


def test_labels_follow_the_annotation(tmp_path):
    trees.cub200(tmp_path)
    cub = datasets.load_cub200(tmp_path)
    assert all(cub.target_names[y] in path for path, y in zip(cub.filenames, cub.target, strict=True))
    trees.stanford40(tmp_path)
    actions = datasets.load_stanford40(tmp_path)
    assert all(actions.target_names[y] in path for path, y in zip(actions.filenames, actions.target, strict=True))
    trees.aircraft(tmp_path)
    aircraft = datasets.load_aircraft(tmp_path)
    assert aircraft.target_names.tolist() == ["707-320", "Boeing 717"]
    assert aircraft.target.tolist() == [1, 0, 1, 0]
    trees.cars(tmp_path)
    assert datasets.load_cars(tmp_path).target.tolist() == [0, 1, 0, 0, 1]


def test_wrong_tree_shows_both_trees(image_set, tmp_path):
    name, build, load = image_set
    root = build(tmp_path)
    marker = root / dataset_info(name).markers[0]
    marker.rename(marker.with_name("elsewhere"))
    with pytest.raises(WrongTreeError) as error:
        load(tmp_path)
    message = str(error.value)
    assert dataset_info(name).tree in message
    assert "elsewhere" in message.split("Found:")[1]


def test_missing_image_is_named(tmp_path):
    root = trees.cub200(tmp_path)
    lost = next((root / "images").rglob("*.jpg"))
    lost.unlink()
    with pytest.raises(FileNotFoundError, match=lost.name):
        datasets.load_cub200(tmp_path)


def test_absent_set_says_how_to_get_it(image_set, tmp_path):
    name, _, load = image_set
    with pytest.raises(DataNotFoundError) as error:
        load(tmp_path)
    assert dataset_info(name).how_to_get in str(error.value)


def test_argument_before_environment_before_cache(tmp_path, monkeypatch):
    homes = {name: tmp_path / name for name in ("argument", "environment")}
    homes["cache"] = tmp_path / "cache" / "data"
    for name, home in homes.items():
        trees.stanford40(home, actions=(name, "other"))
    monkeypatch.setenv("ANCR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("ANCR_DATA", str(homes["environment"]))
    assert datasets.load_stanford40(homes["argument"]).target_names[0] == "argument"
    assert datasets.load_stanford40().target_names[0] == "environment"


def test_cache_folder_is_looked_in_last(tmp_path, monkeypatch):
    monkeypatch.setenv("ANCR_CACHE", str(tmp_path))
    monkeypatch.delenv("ANCR_DATA", raising=False)
    trees.aircraft(tmp_path / "data")
    assert len(datasets.load_aircraft().data) == 4


def test_the_set_own_folder_may_be_given(tmp_path):
    root = trees.cub200(tmp_path)
    assert len(datasets.load_cub200(root).data) == 6


def test_stanford40_random_split(tmp_path):
    trees.stanford40(tmp_path, n_train=3, n_test=3)
    first = datasets.load_stanford40(tmp_path, split="random", n_per_class=2, seed=1)
    again = datasets.load_stanford40(tmp_path, split="random", n_per_class=2, seed=1)
    other = datasets.load_stanford40(tmp_path, split="random", n_per_class=2, seed=2)
    assert np.bincount(first.target[first.train_indices]).tolist() == [2, 2]
    np.testing.assert_array_equal(first.train_indices, again.train_indices)
    assert first.train_indices.tolist() != other.train_indices.tolist()
    with pytest.raises(ValueError, match="split='half'"):
        datasets.load_stanford40(tmp_path, split="half")


def test_stored_features_keep_their_label(tmp_path):
    folder = tmp_path / "stanford40"
    folder.mkdir()
    arrays = {
        "features": np.ones((3, 5), np.float16),
        "labels": np.array([0, 1, 1]),
        "is_train": np.array([True, True, False]),
        "class_names": np.array(["a", "b"]),
        "image_names": np.array(["1.jpg", "2.jpg", "3.jpg"]),
    }
    np.savez(folder / "efficientnet_lite0_5.npz", **arrays)
    bunch = datasets.load_stanford40(tmp_path, features="efficientnet_lite0")
    assert bunch.features == "EfficientNet-Lite0 (substitute)"
    assert bunch.data.dtype == np.float32
    assert bunch.test_indices.tolist() == [2]
    with pytest.raises(DataNotFoundError, match="efficientnet_lite0_5"):
        datasets.load_stanford40(tmp_path, features="vgg19_fc7")
    np.savez(folder / "half.npz", features=arrays["features"])
    with pytest.raises(ValueError, match="lacks the arrays labels"):
        datasets.load_stanford40(tmp_path, features="half")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": np.array([0, 1])}, r"labels of shape \(2,\), but 3 features"),
        ({"labels": np.array([0, 1, 2])}, "labels must be integers from 0 to 1"),
        ({"labels": np.array(["a", "b", "b"])}, "labels must be integers"),
        ({"features": np.ones(3)}, r"features of shape \(3,\)"),
        ({"image_names": np.array([None] * 3)}, "Object arrays cannot be loaded"),
        (None, "not an .npz file that can be read"),
    ],
)
def test_broken_features_are_one_line_with_the_file(tmp_path, changes, message):
    path = tmp_path / "stanford40" / "broken.npz"
    path.parent.mkdir()
    arrays = {
        "features": np.ones((3, 5)),
        "labels": np.array([0, 1, 1]),
        "is_train": np.array([True, True, False]),
        "class_names": np.array(["a", "b"]),
        "image_names": np.array(["1.jpg", "2.jpg", "3.jpg"]),
    }
    np.savez(path, **arrays | (changes or {}))
    if changes is None:
        path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(ValueError, match=message) as caught:
        datasets.load_stanford40(tmp_path, features="broken")
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no MATLAB file", "is not a MATLAB file that can be read"),
        ({"NewTrain_DAT": np.ones((2580, 1))}, "lacks the arrays NewTest_DAT, trainlabels, testlabels"),
        (dict.fromkeys(("NewTrain_DAT", "NewTest_DAT", "trainlabels", "testlabels"), np.ones((4, 1))), "60 × 43"),
    ],
)
def test_a_broken_ar_file_is_one_line_with_its_name(tmp_path, content, message):
    path = tmp_path / "ar" / "AR_DAT.mat"
    path.parent.mkdir()
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        savemat(path, content)
    with pytest.raises(ValueError, match=message) as caught:
        datasets.load_ar(tmp_path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("content", [b"no MATLAB file", {"other": 1.0}, {"annotations": np.ones(3)}])
def test_broken_annotations_of_cars_are_one_line_with_the_file(tmp_path, content):
    path = trees.cars(tmp_path) / "devkit" / "cars_train_annos.mat"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        savemat(path, content)
    with pytest.raises(ValueError, match=r"cars_train_annos\.mat") as caught:
        datasets.load_cars(tmp_path)
    assert "\n" not in str(caught.value)


def test_digits_are_embedded():
    digits = datasets.load_digits()
    assert digits.data.shape == (1797, 64)
    assert digits.data.min() == 0
    assert digits.data.max() == 1


def test_ar_has_the_paper_counts(ar):
    assert ar.data.shape == (1399, 2580)
    assert (len(ar.train_indices), len(ar.test_indices)) == (700, 699)
    assert np.bincount(ar.target[ar.train_indices]).tolist() == [7] * 100


def test_usps_has_the_paper_counts(usps):
    assert usps.data.shape == (9298, 256)
    assert (len(usps.train_indices), len(usps.test_indices)) == (7291, 2007)
    assert (usps.data.min(), usps.data.max()) == (0, 1)


def test_usps_draws_from_the_training_part(usps):
    drawn = datasets.load_usps(n_per_class=50, seed=3)
    assert np.bincount(drawn.target[drawn.train_indices]).tolist() == [50] * 10
    assert drawn.train_indices.max() < 7291
    np.testing.assert_array_equal(drawn.test_indices, usps.test_indices)


@pytest.mark.parametrize(
    ("name", "shape", "split", "n_classes"),
    [
        ("stanford40", (9532, 1280), (4000, 5532), 40),
        ("cub200", (11788, 1280), (5994, 5794), 200),
        ("cars", (16170, 1280), (8137, 8033), 196),
    ],
)
def test_substitute_features(name, shape, split, n_classes):
    try:
        bunch = getattr(datasets, f"load_{name}")(features="efficientnet_lite0")
    except DataNotFoundError as missing:
        pytest.skip(str(missing))
    assert bunch.data.shape == shape
    assert (len(bunch.train_indices), len(bunch.test_indices)) == split
    assert len(bunch.target_names) == len(np.unique(bunch.target)) == n_classes
    assert bunch.features == "EfficientNet-Lite0 (substitute)"


def test_registry_is_complete():
    for info in REGISTRY.values():
        assert callable(getattr(datasets, info.loader))
        assert info.licence
        assert info.citation
        assert info.sources or info.unavailable or info.name == "digits"
        for source in info.sources:
            assert source.file.startswith(f"{info.folder}/")


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match="stanford40"):
        dataset_info("stanford_40")
