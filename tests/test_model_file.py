"""The model format is versioned and plain, and nothing in it is executed."""

import json
import pickle

import numpy as np
import pytest
from sklearn.datasets import load_digits

import ancr
from ancr.samples.model_file import VERSION, Model, ModelFileError, make_classifier, method_names
from tests.grids import spaces_with


@pytest.fixture
def saved(tmp_path):
    rng = np.random.default_rng(0)
    labels = np.array(["left", "right"] * 10)
    model = Model("NRC", {"rule": "res"}, rng.standard_normal((20, 4)), labels, np.arange(20).astype(str))
    model.save(tmp_path / "model.npz")
    return tmp_path / "model.npz"


def rewritten(path, **changes):
    """The same file with another header."""
    with np.load(path) as content:
        arrays = dict(content)
    header = {**json.loads(str(arrays.pop("header"))), **changes}
    np.savez(path, header=np.array(json.dumps(header)), **arrays)
    return path


def test_a_loaded_model_predicts_the_same(saved):
    model = Model.load(saved)
    expected = ancr.NRCClassifier(rule="res").fit(model.samples, model.labels).predict(model.samples)
    np.testing.assert_array_equal(model.build().predict(model.samples), expected)
    assert (model.method, model.params, model.version) == ("NRC", {"rule": "res"}, VERSION)


@pytest.mark.parametrize(
    "params",
    [
        {"space": "rbf", "space__gamma": 0.5, "space__power": 0.5},
        {"space__kernel": "poly", "space__degree": 2, "space__coef0": 1.0},
        {"space__kernel": "rbf", "space__n_landmarks": 8, "space__random_state": 0},
    ],
    ids=str,
)
def test_the_space_of_a_model_is_saved(tmp_path, params):
    samples, labels = np.random.default_rng(0).standard_normal((20, 4)), np.array(["left", "right"] * 10)
    Model("ANCR", params, samples, labels, np.arange(20).astype(str)).save(tmp_path / "model.npz")
    loaded = Model.load(tmp_path / "model.npz").build()
    expected = ancr.ANCRClassifier().set_params(**params).fit(samples, labels)
    np.testing.assert_array_equal(loaded.decision_function(samples + 0.1), expected.decision_function(samples + 0.1))


def test_code_is_not_saved(tmp_path):
    samples, labels = np.random.default_rng(0).standard_normal((20, 4)), np.array(["left", "right"] * 10)
    model = Model("ANCR", {"space": np.dot}, samples, labels, np.arange(20).astype(str))
    with pytest.raises(ModelFileError, match=r"space=.* cannot be saved: a model file holds names and numbers"):
        model.save(tmp_path / "model.npz")
    assert not (tmp_path / "model.npz").exists()


def test_newer_major_version_is_refused_and_newer_minor_is_read(saved):
    assert Model.load(rewritten(saved, version=[VERSION[0], 99], novelty=1)).version == (VERSION[0], 99)
    with pytest.raises(ModelFileError, match=rf"model format {VERSION[0] + 1}\.0, but ancr .* reads up to 1\.x"):
        Model.load(rewritten(saved, version=[VERSION[0] + 1, 0]))


def test_loading_executes_nothing(tmp_path, saved):
    class Bomb:
        def __reduce__(self):
            return (tmp_path.joinpath("exploded").touch, ())

    with np.load(saved) as content:
        arrays = dict(content)
    np.savez(saved, **{**arrays, "labels": np.array([Bomb()], dtype=object)}, allow_pickle=True)
    with pytest.raises(ModelFileError, match="is not an ancr model"):
        Model.load(saved)
    (tmp_path / "plain.pickle").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(ModelFileError, match="is not an ancr model"):
        Model.load(tmp_path / "plain.pickle")
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize("method", ["os.system", "Representation", "__class__", ""])
def test_only_methods_of_this_package_can_be_named(saved, method):
    with pytest.raises(ModelFileError, match="is unknown; choose from"):
        Model.load(rewritten(saved, method=method))


@pytest.mark.parametrize("header", ["[]", '{"format": "other"}', "no json", '{"format": "ancr-model"}'])
def test_damaged_headers_are_refused(saved, header):
    with np.load(saved) as content:
        arrays = dict(content)
    np.savez(saved, **{**arrays, "header": np.array(header)})
    with pytest.raises(ModelFileError, match="is not an ancr model"):
        Model.load(saved)


def test_every_method_name_makes_its_classifier():
    for name in method_names():
        expected = "ANCRClassifierCV" if name == "ANCR-CV" else name.replace("-", "") + "Classifier"
        assert type(make_classifier(name, {})).__name__ == expected


def test_a_model_of_ancr_cv_keeps_what_was_chosen(tmp_path):
    X, y = load_digits(return_X_y=True)
    X, labels, names = X[:200], y[:200].astype(str), np.arange(200).astype(str)
    model = Model("ANCR-CV", {"spaces": spaces_with(1.0), "relaxations": [0.3, None]}, X, labels, names)
    fitted = model.build()
    model.settled(fitted).save(tmp_path / "model.npz")
    loaded = Model.load(tmp_path / "model.npz")
    again = loaded.build()
    assert again[-1].best_params_ == fitted[-1].best_params_
    assert set(again[-1].cv_results_["param_alpha"]) == {fitted[-1].best_params_["alpha"]}
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    np.testing.assert_allclose(again[-1].best_estimator_.temperature, fitted[-1].best_estimator_.temperature, rtol=1e-2)
