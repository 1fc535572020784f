"""The model format is versioned and plain, and nothing in it is executed."""

import json
import pickle

import numpy as np
import pytest
from sklearn.datasets import load_digits

import ancr
from ancr import ANCRClassifier, NRCClassifier, Space
from ancr.classifiers.settings import is_same, methods, reproducible
from ancr.samples.model_file import VERSION, Model, ModelFileError
from tests.recipes.box import Box
from tests.recipes.histogram_intersection import histogram_intersection


@pytest.fixture
def saved(tmp_path):
    rng = np.random.default_rng(0)
    labels = np.array(["left", "right"] * 10)
    model = Model(NRCClassifier(rule="res"), rng.standard_normal((20, 4)), labels, np.arange(20).astype(str))
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
    expected = NRCClassifier(rule="res").fit(model.samples, model.labels).predict(model.samples)
    np.testing.assert_array_equal(model.build().predict(model.samples), expected)
    assert is_same(model.classifier, NRCClassifier(rule="res"))
    assert (model.method, model.version) == ("NRC", VERSION)


SAVED = {
    **{name: kind() for name, kind in methods().items() if not name.endswith("-CV")},
    "power": ANCRClassifier(space=Space("rbf", gamma=0.5, power=0.5), temperature=0.3),
    "lift": ANCRClassifier(space=Space("rbf", gamma=0.5, lift=0.7)),
    "poly": ANCRClassifier(space=Space("poly", degree=2, coef0=1.0)),
    "landmarks": ANCRClassifier(space=Space("rbf", n_landmarks=8, random_state=0)),
    "landmarks without a seed": ANCRClassifier(space=Space("rbf", n_landmarks=8)),
    "weights": ANCRClassifier(class_weight={"left": 2.0, "right": 1.0}),
}


@pytest.mark.parametrize("name", sorted(SAVED))
def test_every_classifier_is_saved_with_all_that_decides_it(tmp_path, name):
    samples, labels = np.random.default_rng(0).standard_normal((20, 4)), np.array(["left", "right"] * 10)
    model = Model(SAVED[name], samples, labels, np.arange(20).astype(str))
    model.save(tmp_path / "model.npz")
    loaded = Model.load(tmp_path / "model.npz")
    assert is_same(loaded.classifier, reproducible(SAVED[name]))
    expected = model.build().predict_proba(samples + 0.1)
    np.testing.assert_allclose(loaded.build().predict_proba(samples + 0.1), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "classifier",
    [
        ancr.RepresentationClassifier(constraint=Box(0.5), solver="admm"),
        ANCRClassifier(space=Space(histogram_intersection)),
    ],
)
def test_objects_of_ones_own_are_loaded_only_if_allowed(tmp_path, classifier):
    samples, labels = np.random.default_rng(0).random((20, 4)), np.array(["left", "right"] * 10)
    model = Model(classifier, samples, labels, np.arange(20).astype(str))
    model.save(tmp_path / "model.npz")
    with pytest.raises(
        ModelFileError, match=r"model.npz: .*tests\.recipes\..* is not part of ancr; load it with allow="
    ):
        Model.load(tmp_path / "model.npz")
    loaded = Model.load(tmp_path / "model.npz", allow=["tests.recipes"]).build()
    np.testing.assert_array_equal(loaded.decision_function(samples), model.build().decision_function(samples))


def test_code_is_not_saved(tmp_path):
    samples, labels = np.random.default_rng(0).standard_normal((20, 4)), np.array(["left", "right"] * 10)
    model = Model(ANCRClassifier(space=lambda a, b: a @ b.T), samples, labels, np.arange(20).astype(str))
    with pytest.raises(ValueError, match=r"^space=<function .* cannot be saved: it has no name"):
        model.save(tmp_path / "model.npz")
    assert not (tmp_path / "model.npz").exists()


def test_other_major_versions_are_refused_and_a_newer_minor_is_read(saved):
    assert Model.load(rewritten(saved, version=[VERSION[0], 99], novelty=1)).version == (VERSION[0], 99)
    with pytest.raises(ModelFileError, match=rf"format {VERSION[0] + 1}\.0, but ancr .* reads 2\.x; a newer release"):
        Model.load(rewritten(saved, version=[VERSION[0] + 1, 0]))
    with pytest.raises(ModelFileError, match=r"model format 1\.0, but ancr .* reads 2\.x; train it again"):
        Model.load(rewritten(saved, version=[1, 0]))


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


@pytest.mark.parametrize("name", ["os:system", "ancr:compare", "__class__", "", "ancr.cli:main", "ancr:Space"])
def test_only_classifiers_of_this_package_can_be_named(saved, name):
    with pytest.raises(ModelFileError, match=r"^.*model.npz: .+$"):
        Model.load(rewritten(saved, classifier={"class": name, "params": {}}))


@pytest.mark.parametrize("header", ["[]", '{"format": "other"}', "no json", '{"format": "ancr-model"}'])
def test_damaged_headers_are_refused(saved, header):
    with np.load(saved) as content:
        arrays = dict(content)
    np.savez(saved, **{**arrays, "header": np.array(header)})
    with pytest.raises(ModelFileError, match="is not an ancr model"):
        Model.load(saved)


def test_a_model_of_ancr_cv_is_what_was_chosen(tmp_path):
    X, y = load_digits(return_X_y=True)
    X, labels, names = X[:200], y[:200].astype(str), np.arange(200).astype(str)
    search = ancr.ANCRClassifierCV(spaces=["linear", Space("rbf", gamma=1.0)], relaxations=[0.3, None])
    fitted = Model(search, X, labels, names).build()
    Model(search, X, labels, names).settled(fitted).save(tmp_path / "model.npz")
    loaded = Model.load(tmp_path / "model.npz")
    assert is_same(loaded.classifier, fitted[-1].best_estimator_)
    np.testing.assert_array_equal(loaded.build().predict(X), fitted.predict(X))
    np.testing.assert_allclose(loaded.build().predict_proba(X), fitted.predict_proba(X), rtol=0, atol=1e-12)
