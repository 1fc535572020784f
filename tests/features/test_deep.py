"""Deep features against a direct forward pass and plain NumPy formulas."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from ancr import CRCClassifier
from ancr.features import DeepFeatures, UnreadableImageError

pytestmark = pytest.mark.all


def tiny(**options):
    """Features of a network small enough for a test."""
    return DeepFeatures("test_resnet", **{"weights": None, "cache_dir": None, **options})


def direct_inputs(torch, model_weights, pixels):
    transform = model_weights.transforms()
    return torch.stack([transform(Image.fromarray(image)) for image in pixels])


@pytest.mark.parametrize(
    ("backbone", "layer", "end"),
    [("vgg19", "fc7", 5), ("vgg16", "fc6", 2), ("alexnet", "fc7", 6), ("alexnet", "fc6", 3)],
)
def test_equals_a_direct_torchvision_pass(torch, torchvision, pixels, backbone, layer, end):
    features = DeepFeatures(backbone, layer=layer, weights=None, cache_dir=None).fit_transform(pixels)
    torch.manual_seed(0)
    model = torchvision.models.get_model(backbone, weights=None).eval()
    inputs = direct_inputs(torch, torchvision.models.get_model_weights(backbone).DEFAULT, pixels)
    with torch.inference_mode():
        expected = model.classifier[:end](model.avgpool(model.features(inputs)).flatten(1)).numpy()
    assert features.shape == (3, 4096)
    assert np.abs(expected).max() > 0
    np.testing.assert_allclose(features, expected, rtol=0, atol=1e-5)


def test_network_is_at_hand(torch, torchvision, pixels):
    transformer = DeepFeatures("alexnet", layer="fc6", weights=None, cache_dir=None, random_state=3)
    model = transformer.network_
    inputs = direct_inputs(torch, torchvision.models.AlexNet_Weights.DEFAULT, pixels)
    with torch.inference_mode():
        expected = model.classifier[:3](model.avgpool(model.features(inputs)).flatten(1)).numpy()
    np.testing.assert_allclose(transformer.transform(pixels), expected, rtol=0, atol=1e-5)


@pytest.fixture
def descriptors(torch, torchvision, pixels):
    """Last convolution of a random AlexNet, by hand: (images, positions, channels)."""
    torch.manual_seed(0)
    model = torchvision.models.alexnet(weights=None).eval()
    inputs = direct_inputs(torch, torchvision.models.AlexNet_Weights.DEFAULT, pixels)
    with torch.inference_mode():
        maps = model.features[:12](inputs).numpy()
    return maps.reshape(3, 256, -1).transpose(0, 2, 1).astype(np.float64)


def alexnet(pooling, **options):
    return DeepFeatures("alexnet", pooling=pooling, weights=None, cache_dir=None, **options)


def test_average_pooling(descriptors, pixels):
    features = alexnet("average").fit_transform(pixels)
    np.testing.assert_allclose(features, descriptors.mean(axis=1), atol=1e-6)


def test_bilinear_pooling(descriptors, pixels):
    features = alexnet("bilinear").fit_transform(pixels)
    for row, x in zip(features, descriptors, strict=True):
        flat = sum(np.outer(p, p) for p in x).ravel()
        flat = np.sign(flat) * np.sqrt(np.abs(flat))
        np.testing.assert_allclose(row, flat / np.linalg.norm(flat), atol=1e-5)


def test_fisher_pooling(descriptors, pixels):
    transformer = alexnet("fisher", n_modes=3)
    features = transformer.fit_transform(pixels)
    mixture = transformer.mixture_
    assert features.shape == (3, 3 + 2 * 3 * 256)
    weight, mean, variance = mixture.weights_, mixture.means_, mixture.covariances_
    for row, x in zip(features, descriptors, strict=True):
        density = np.stack(
            [
                np.log(w) - 0.5 * np.sum((x - m) ** 2 / v + np.log(2 * np.pi * v), axis=1)
                for w, m, v in zip(weight, mean, variance, strict=True)
            ],
            axis=1,
        )
        share = np.exp(density - density.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        parts_weight, parts_mean, parts_variance = [], [], []
        for k in range(3):
            z = (x - mean[k]) / np.sqrt(variance[k])
            parts_weight.append(np.mean(share[:, k] - weight[k]) / np.sqrt(weight[k]))
            parts_mean.append(np.mean(share[:, [k]] * z, axis=0) / np.sqrt(weight[k]))
            parts_variance.append(np.mean(share[:, [k]] * (1 - z**2), axis=0) / np.sqrt(2 * weight[k]))
        fisher = np.concatenate([parts_weight, *parts_mean, *parts_variance])
        fisher = np.sign(fisher) * np.sqrt(np.abs(fisher))
        np.testing.assert_allclose(row, fisher / np.linalg.norm(fisher), atol=1e-5)


def test_fisher_needs_fit(timm, pixels):
    with pytest.raises(NotFittedError, match="call fit first"):
        tiny(pooling="fisher").transform(pixels)
    with pytest.raises(ValueError, match="n_modes=5000"):
        tiny(pooling="fisher", n_modes=5000).fit(pixels)


def test_timm_backbone(torch, timm, pixels):
    features = tiny().fit_transform(pixels)
    torch.manual_seed(0)
    model = timm.create_model("test_resnet", num_classes=0).eval()
    transform = timm.data.create_transform(**timm.data.resolve_model_data_config(model))
    inputs = torch.stack([transform(Image.fromarray(image)) for image in pixels])
    with torch.inference_mode():
        np.testing.assert_allclose(features, model(inputs).numpy(), atol=1e-5)
        maps = model.forward_features(inputs).numpy()
    np.testing.assert_allclose(tiny(layer="conv").transform(pixels), maps.mean(axis=(2, 3)), atol=1e-5)


def test_tokens_of_a_transformer_are_descriptors(timm, pixels):
    assert DeepFeatures("test_vit", pooling="average", weights=None, cache_dir=None).transform(pixels).shape[0] == 3


def test_paths_and_arrays_agree(timm, paths):
    arrays = [np.asarray(Image.open(path)) for path in paths]
    np.testing.assert_array_equal(tiny().transform(paths), tiny().transform(arrays))
    np.testing.assert_array_equal(tiny().transform(arrays), tiny().transform([a / 255 for a in arrays]))


def test_grey_images(timm, pixels):
    grey = pixels[..., 0]
    np.testing.assert_array_equal(tiny().transform(grey), tiny().transform(np.repeat(grey[..., None], 3, axis=-1)))


def test_workers_change_nothing(timm, paths, monkeypatch):
    images = [*paths, *paths]
    monkeypatch.setenv("ANCR_NUM_THREADS", "1")
    alone = tiny(batch_size=1).transform(images)
    monkeypatch.setenv("ANCR_NUM_THREADS", "3")
    np.testing.assert_array_equal(alone, tiny(batch_size=1).transform(images))


def test_image_size(timm, pixels):
    assert tiny(image_size=96, layer="conv").transform(pixels).shape == tiny(layer="conv").transform(pixels).shape
    assert not np.allclose(tiny(image_size=96).transform(pixels), tiny().transform(pixels))


def test_weights_from_a_file(torch, torchvision, pixels, tmp_path):
    torch.manual_seed(5)
    model = torchvision.models.alexnet(weights=None)
    torch.save(model.state_dict(), tmp_path / "weights.pth")
    options = {"layer": "fc7", "cache_dir": None}
    features = DeepFeatures("alexnet", weights=tmp_path / "weights.pth", **options).transform(pixels)
    other = DeepFeatures("alexnet", weights=None, random_state=5, **options).transform(pixels)
    np.testing.assert_array_equal(features, other)
    state = model.state_dict()
    for name, content, message in (
        ("empty", {}, r"lacks 16 tensors, such as features\.0\.weight"),
        ("list", [1, 2], "cannot be read as weights; expected a state_dict"),
        ("more", {**state, "head": state["classifier.6.bias"]}, "another network: it also has 1 tensor, such as head"),
        ("shape", {**state, "classifier.6.bias": torch.zeros(3)}, r"another network: size mismatch for classifier\.6"),
    ):
        torch.save(content, tmp_path / f"{name}.pth")
        with pytest.raises(ValueError, match=message) as error:
            DeepFeatures("alexnet", weights=tmp_path / f"{name}.pth", **options).transform(pixels)
        assert "\n" not in str(error.value)
    for name in ("damaged.pth", "damaged.safetensors"):
        (tmp_path / name).write_bytes(b"no weights")
        with pytest.raises(ValueError, match=f"{name}' cannot be read as weights"):
            DeepFeatures("alexnet", weights=tmp_path / name, **options).transform(pixels)


def test_clone_pickle_and_pipeline(timm, paths):
    transformer = tiny().fit(paths)
    again = pickle.loads(pickle.dumps(transformer))
    np.testing.assert_array_equal(again.transform(paths), transformer.transform(paths))
    y = np.arange(10) % 2
    model = make_pipeline(clone(transformer), CRCClassifier(alpha=1e-3)).fit(paths, y)
    assert model.score(paths, y) == 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"backbone": "vgg91"}, "backbone='vgg91' is unknown; similar names: .*vgg19"),
        ({"layer": "fc9"}, "layer='fc9', but expected one of None, fc7, fc6, conv"),
        ({"pooling": "max"}, "pooling='max'"),
        ({"layer": "fc7", "pooling": "average"}, "needs layer='conv'"),
        ({"on_error": "ignore"}, "on_error='ignore'"),
        ({"precision": "float8"}, "precision='float8'"),
        ({"batch_size": 0}, "batch_size=0"),
        ({"weights": "IMAGENET9K"}, "weights='IMAGENET9K' is neither a file nor one of IMAGENET1K_V1"),
    ],
)
def test_bad_parameters(timm, pixels, options, message):
    with pytest.raises(ValueError, match=message):
        DeepFeatures(**{"backbone": "alexnet", "weights": None, "cache_dir": None, **options}).fit(pixels)


def test_weights_that_cannot_be_had_are_said_at_once(timm, pixels, monkeypatch):
    """Without a network: one line, and no library that tries for a minute."""

    def no_network(*address, **options):
        raise OSError("no network")

    monkeypatch.setattr("socket.create_connection", no_network)
    monkeypatch.setattr("ancr.features.backbones.getproxies", dict)
    monkeypatch.setattr(timm, "create_model", no_network)
    with pytest.raises(
        ConnectionError, match=r"weights of 'resnet18' are not on this machine, .*--weights FILE"
    ) as error:
        DeepFeatures("resnet18").fit(pixels)
    assert "\n" not in str(error.value)


def test_missing_weights_file(torchvision, pixels):
    with pytest.raises(FileNotFoundError, match=r"weights='nowhere\.pth' does not exist"):
        DeepFeatures("alexnet", weights="nowhere.pth").fit(pixels)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ("one.jpg", "one path, but expected a sequence"),
        (np.zeros((4, 64)), r"shape \(4, 64\)"),
        ([3.0], r"X\[0\] is float"),
    ],
)
def test_bad_images(timm, X, message):
    with pytest.raises(ValueError, match=message):
        tiny().transform(X)


@pytest.fixture
def damaged(paths):
    """Two of the ten images damaged: one truncated, one not an image; and one that does not exist."""
    whole = Path(paths[3]).read_bytes()
    Path(paths[3]).write_bytes(whole[: len(whole) // 2])
    Path(paths[7]).write_text("not an image")
    return [*paths, "nowhere.jpg"]


def test_unreadable_images_are_named_and_the_run_goes_on(timm, paths, damaged):
    transformer = tiny(on_error="nan", batch_size=4)
    features = transformer.transform(damaged)
    assert np.flatnonzero(np.isnan(features).all(axis=1)).tolist() == [3, 7, 10]
    assert list(transformer.unreadable_) == ["nowhere.jpg", paths[3], paths[7]]
    assert "truncated" in transformer.unreadable_[paths[3]]
    assert np.isfinite(features[[0, 1, 2, 4, 5, 6, 8, 9]]).all()


def test_strict_stops_at_the_first(timm, damaged):
    with pytest.raises(UnreadableImageError, match=r"nowhere\.jpg cannot be read"):
        tiny().transform(damaged)
    with pytest.raises(UnreadableImageError, match=r"3\.jpg cannot be read: .*truncated"):
        tiny().transform(damaged[:10])


def test_nothing_readable(timm, damaged):
    with pytest.raises(UnreadableImageError, match=r"none of 2 images could be read.*nowhere\.jpg"):
        tiny(on_error="nan").transform([damaged[7], damaged[10]])
