"""A saved model in the studio: it answers as the file does, whatever its classifier is."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine

from ancr import ANCRClassifier, ANCRClassifierCV, CRCClassifier, CROCClassifier, RepresentationClassifier, Space
from ancr.classifiers.settings import is_same
from ancr.samples.column_plan import ColumnPlan
from ancr.samples.model_file import Model
from ancr.studio.openings import open_source
from ancr.studio.recogniser import Query, Recogniser
from ancr.studio.sample_pictures import reconstruction

MODELS = {  # beside those of tests/test_surfaces.py
    "CRC": CRCClassifier(),
    "CROC": CROCClassifier(),
    "temperature": ANCRClassifier(alpha=0.1, temperature=0.02, rule="label"),
    "space": RepresentationClassifier(constraint="affine", rule="pro", space=Space("rbf", gamma=0.3, power=0.5)),
    "ADMM": ANCRClassifier(solver="admm", rho=0.01, max_iter=5, code="c"),
    "least squares": RepresentationClassifier(quadratic="least_squares", constraint="simplex", relaxation=0.3),
    "landmarks": ANCRClassifier(space=Space("rbf", n_landmarks=20)),
    "search": ANCRClassifierCV(alphas=[0.1, 1.0], relaxations=[0.3, None], spaces=["linear", Space("rbf", gamma=1.0)]),
}
X, TARGET = load_iris(return_X_y=True)
LABELS = load_iris().target_names[TARGET]
QUERIES = X + np.random.default_rng(0).normal(scale=0.1, size=X.shape)


@pytest.fixture
def saved(tmp_path):
    """A function that trains and saves a model of iris, and returns its path and the fitted pipeline."""

    def save(classifier, standardize=False):
        names = np.array([f"row {i}" for i in range(150)])
        model = Model(classifier, X, LABELS, names, plan=ColumnPlan(standardize=standardize))
        fitted = model.build()
        model.settled(fitted).save(tmp_path / "model.npz")
        return tmp_path / "model.npz", fitted

    return save


@pytest.mark.filterwarnings("ignore:.*could not be certified")  # least squares come within rounding of zero
@pytest.mark.parametrize("name", sorted(MODELS))
def test_the_studio_is_the_classifier_of_the_file(name, saved, make_studio, make_client):
    path, fitted = saved(MODELS[name])
    loaded = Model.load(path)
    np.testing.assert_array_equal(loaded.build().predict(QUERIES), fitted.predict(QUERIES))
    expected, chances = fitted.predict(QUERIES), fitted.predict_proba(QUERIES)
    np.testing.assert_allclose(loaded.build().predict_proba(QUERIES), chances, rtol=0, atol=1e-12)
    studio = make_studio(open_source(path))
    classifier = studio.state.classifier
    assert is_same(classifier, loaded.classifier)
    judged = studio.recogniser.judge([Query(row, None, classifier) for row in QUERIES])
    assert [one.label for one in judged] == expected.tolist()
    shares = [studio.recogniser.probabilities(one, classifier)[0] for one in judged]
    np.testing.assert_allclose(shares, chances, rtol=0, atol=1e-12)
    client = make_client(studio)
    answers = [client.post("/api/answer", json={"row": row.tolist()}).json() for row in QUERIES[::10]]
    assert [answer["label"] for answer in answers] == expected[::10].tolist()
    for answer, row in zip(answers, chances[::10], strict=True):
        found = {one["label"]: one["probability"] for one in answer["classes"]}
        np.testing.assert_allclose([found[label] for label in fitted.classes_], row, rtol=0, atol=1e-12)
    state = client.get("/api/state").json()
    # A search hands the studio what it found, whose controls are those of a plain classifier.
    assert state["settings"]["method"] == replace(loaded, trained_as="").method
    assert client.post("/api/controls", json={"settings": state["settings"]}).json()["controls"] == state["controls"]


@pytest.mark.parametrize("standardize", [False, True])
def test_landmarks_are_the_same_everywhere(standardize, tmp_path, make_studio):
    few = Space("rbf", n_landmarks=10)
    given = (X, LABELS, np.array([f"row {i}" for i in range(150)]))
    path, plan = tmp_path / "model.npz", ColumnPlan(standardize=standardize)
    Model(ANCRClassifier(space=few), *given, plan=plan).save(path)
    fitted, studio = Model.load(path).build(), make_studio(open_source(path))
    judged = studio.recogniser.judge([Query(row, None, studio.state.classifier) for row in QUERIES])
    assert [one.label for one in judged] == fitted.predict(QUERIES).tolist()
    shares = [studio.recogniser.probabilities(one, studio.state.classifier)[0] for one in judged]
    np.testing.assert_allclose(shares, fitted.predict_proba(QUERIES), rtol=0, atol=1e-12)
    adjusted = studio.state.adjusted({"space__gamma": 2.0})
    assert adjusted.space.random_state == 0
    search = Model(ANCRClassifierCV(spaces=[few], alphas=[0.1], relaxations=[None]), *given, plan=plan)
    fitted = search.build()
    search.settled(fitted).save(path)
    np.testing.assert_allclose(Model.load(path).build().predict_proba(X), fitted.predict_proba(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize(("data", "alpha"), [(load_iris, 1e-3), (load_wine, 1e-5)])
def test_quick_answers_are_those_of_the_whole_classifier(data, alpha, tmp_path, make_studio):
    samples, labels = data(return_X_y=True)
    names = np.array([f"row {i}" for i in range(len(samples))])
    model = Model(ANCRClassifier(alpha=alpha), samples, labels.astype(str), names)
    model.save(tmp_path / "model.npz")
    studio = make_studio(open_source(tmp_path / "model.npz"))
    quick, queries = Recogniser(studio.source, studio.state), samples * 1.01 + 0.01
    judged = quick.judge([Query(row, None, studio.state.classifier) for row in queries])
    assert quick.fitted is None
    shares = [quick.probabilities(one, studio.state.classifier)[0] for one in judged]
    np.testing.assert_allclose(shares, model.build().predict_proba(queries), rtol=0, atol=1e-10)


@pytest.mark.parametrize("space", [Space(), Space(normalize=False), Space(power=0.5)])
def test_the_reconstruction_is_the_code_in_its_space(space):
    samples, weights = np.array([[9.0, 16.0], [1.0, 0.0]]), np.array([0.5, 0.5])
    rows = space.prepare(samples).rows(samples)
    expected = (weights @ rows) ** (1 / space.power)
    np.testing.assert_allclose(reconstruction(space, samples, weights), expected)


@pytest.mark.parametrize("name", ["CRC", "CROC", "search"])
def test_what_the_studio_exports_is_what_it_answers_with(name, saved, make_studio, make_client, tmp_path):
    path, fitted = saved(MODELS[name], standardize=True)
    client = make_client(make_studio(open_source(path)))
    (tmp_path / "again.npz").write_bytes(client.get("/api/export/model.npz").content)
    again = Model.load(tmp_path / "again.npz").build()
    np.testing.assert_allclose(again.predict_proba(QUERIES), fitted.predict_proba(QUERIES), rtol=0, atol=1e-12)


def test_other_settings_are_those_of_the_classifier_with_them(saved, make_studio, make_client):
    path, _ = saved(MODELS["CRC"])
    client = make_client(make_studio(open_source(path)))
    for settings, classifier in (
        ({"alpha": 0.3, "rule": "label"}, clone(MODELS["CRC"]).set_params(alpha=0.3, rule="label")),
        ({"method": "ANCR", "alpha": 0.05}, ANCRClassifier(alpha=0.05)),
        ({"space__kernel": "poly", "space__degree": 2}, clone(MODELS["CRC"]).set_params(space=Space("poly", degree=2))),
    ):
        fitted = classifier.fit(X, LABELS)
        bodies = [{"row": row.tolist(), "settings": settings} for row in QUERIES[::5]]
        answers = [client.post("/api/answer", json=body).json()["label"] for body in bodies]
        assert answers == fitted.predict(QUERIES[::5]).tolist()


def test_settings_that_cannot_be_solved_are_one_sentence(saved, make_studio, make_client):
    path, _ = saved(RepresentationClassifier(quadratic="l1"))
    client = make_client(make_studio(open_source(path)))
    body = {"row": QUERIES[0].tolist(), "settings": {"constraint": "simplex", "relaxation": 0.5}}
    answer = client.post("/api/answer", json=body)
    assert answer.status_code == 400
    assert "cannot be combined with" in answer.json()["error"]
