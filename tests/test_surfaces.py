"""Python, command line and studio read the same data and give the same answers."""

import csv
import json
import shlex
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ancr
from ancr.classifiers.probabilities import Temperatures
from ancr.classifiers.settings import is_same, methods
from ancr.comparison.split_sources import UserSource
from ancr.datasets import load_folder, load_table
from ancr.samples.column_plan import ColumnPlan
from ancr.samples.model_file import Model
from ancr.samples.readers import read_samples
from ancr.samples.sample_set import DataWarning
from tests.command_line import invoke
from tests.marks import rarely
from tests.studio.conftest import make_client, make_studio  # noqa: F401  (fixtures)

pytest.importorskip("starlette", reason="the studio needs starlette")
from ancr.studio.openings import open_source
from ancr.studio.recogniser import Query
from ancr.studio.workbench import Studio

N = 60


def units(rng):
    """Three columns with units, of which one tells the classes apart; and the classes."""
    truth = np.arange(N) % 3
    return np.column_stack([5000 + 900 * rng.normal(size=N), truth + 0.3 * rng.normal(size=N), rng.random(N)]), truth


def write_csv(path, X, labels, columns=("big", "small", "share")):
    lines = [",".join([*map(repr, row.tolist()), label]) for row, label in zip(X, labels, strict=True)]
    path.write_text("\n".join([",".join([*columns, "label"]), *lines]) + "\n")
    return path


@pytest.fixture
def table(tmp_path):
    """A table with units, text labels and gaps in them, some of whose labels look like gaps and are none."""
    X, truth = units(np.random.default_rng(0))
    labels = np.array(["none", "NA", "ok"])[truth]
    labels[7:20] = ["", " ", "nan", "NaN", "", "", "", "", "", "", "", "", ""]
    return write_csv(tmp_path / "table.csv", X, labels), X, labels


@pytest.fixture
def parquet(table):
    """The same table as Parquet, where a label that is absent has no value."""
    import pandas as pd

    path, X, labels = table
    frame = pd.DataFrame(X, columns=["big", "small", "share"])
    frame["label"] = [None if label.strip().lower() in ("", "nan") else label for label in labels]
    frame.to_parquet(path.with_suffix(".parquet"))
    return path.with_suffix(".parquet"), X, labels


@pytest.fixture
def arrays(tmp_path):
    """Vectors with whole numbers as labels, and −1 where a name is absent."""
    X, truth = units(np.random.default_rng(1))
    names = np.array(["dark", "light", "none"])
    np.savez(tmp_path / "arrays.npz", X=X, y=np.where(np.arange(N) < 9, -1, truth), class_names=names)
    return tmp_path / "arrays.npz", X, np.where(np.arange(N) < 9, "", names[truth])


@pytest.fixture
def folder(tmp_path):
    """Images of two classes, a pool, one file that is broken and one that is no image."""
    from PIL import Image

    rng = np.random.default_rng(2)
    for number in range(24):
        name = ("dark", "light", "unlabelled")[number % 3]
        pixels = rng.integers(0, 120, (20, 20, 3)) + (100 if name == "light" else 0)
        (tmp_path / "photos" / name).mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels.astype(np.uint8)).save(tmp_path / "photos" / name / f"{number:02}.png")
    (tmp_path / "photos" / "dark" / "broken.png").write_text("no image")
    (tmp_path / "photos" / "dark" / "notes.txt").write_text("no image")
    return tmp_path / "photos"


def quietly(read, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return read(*arguments, **options)


def counts(labels):
    """How many samples have no label, and how many each class has."""
    known = [label for label in labels if label is not None]
    return len(labels) - len(known), {label: known.count(label) for label in known}


def train(path, tmp_path, *options):
    model = tmp_path / "model.npz"
    result = invoke(["train", path, "-o", model, "--method", "ANCR", "--set", "alpha=0.1", *options])
    assert result.exit_code == 0, result.output
    return Model.load(model), result


def studio_answers(source, vectors):
    """Labels and probabilities that a studio gives, at the temperature that a classifier has without calibration."""

    def answers():  # in the worker's thread, which alone touches the state
        classifier = studio.state.adjusted({"alpha": 0.1, "space__normalize": True})
        fitted = studio.recogniser.snapshot(classifier).fit()
        judged = studio.recogniser.judge([Query(vector, None, classifier) for vector in vectors])
        return [answer.label for answer in judged], fitted.classifier.predict_proba(fitted.rows(vectors))

    studio = Studio(source)
    try:
        return studio.worker.submit("read", answers).result()
    finally:
        studio.close()


@pytest.mark.parametrize("kind", ["table", "parquet", "arrays"])
def test_a_file_is_read_alike_everywhere(kind, request, tmp_path):
    path, X, written = request.getfixturevalue(kind)
    expected = [None if text.strip().lower() in ("", "nan") else text for text in written.tolist()]
    missing, classes = counts(expected)
    # Python
    samples = quietly(read_samples, path)
    assert samples.labels == expected
    with pytest.warns(DataWarning, match=f"{missing} of {N} samples have no label and are left out"):
        bunch = load_table(path)
    assert bunch.n_unlabelled == missing
    assert counts(bunch.target_names[bunch.target].tolist()) == (0, classes)
    # command line
    model, result = train(path, tmp_path)
    assert f"{path}: {missing} of {N} samples have no label and are left out" in result.stderr.splitlines()
    assert counts(model.labels.tolist()) == (0, classes)
    # studio
    source = quietly(open_source, path)
    assert source.labels == expected
    # and the answers
    known = np.array([label is not None for label in expected])
    labels = np.array([label for label in expected if label is not None])
    plan = ColumnPlan.of(X[known], samples.columns).settled(X[known], labels)
    clf = plan.pipeline(ancr.ANCRClassifier(alpha=0.1))
    clf.fit(X[known], labels)
    proba = clf.predict_proba(X)
    np.testing.assert_allclose(model.build().predict_proba(X), proba, rtol=0, atol=1e-12)
    assert model.build().predict(X).tolist() == clf.predict(X).tolist()
    answers, chances = studio_answers(source, X)
    assert answers == clf.predict(X).tolist()
    np.testing.assert_allclose(chances, proba, rtol=0, atol=1e-12)
    assert invoke(["predict", tmp_path / "model.npz", path, "-o", tmp_path / "out.csv"]).exit_code == 0
    with open(tmp_path / "out.csv", newline="") as file:
        assert [row["label"] for row in csv.DictReader(file)] == answers


def test_an_array_is_prepared_alike_in_memory_and_in_a_file(tmp_path):
    X, truth = units(np.random.default_rng(4))
    path = tmp_path / "units.npz"
    np.savez(path, X=X, y=truth)
    _, result = train(path, tmp_path)
    assert "3 numbers; columns are standardized (nearest neighbours" in result.stderr
    assert Model.load(tmp_path / "model.npz").plan.standardize is open_source(path).plan.standardize is True
    options = ["--methods", "CRC", "--no-figures", "-o", tmp_path / "compared"]
    assert invoke(["compare", path, *options]).exit_code == 0
    cells = [json.loads(line) for line in (tmp_path / "compared" / "cells.jsonl").read_text().splitlines()]
    in_memory = ancr.compare(X, truth, "CRC", learning_curve=False)
    assert {cell["features"] for cell in cells} == {in_memory.source.features} == {"array, standardized"}
    answers = [cell["accuracy"] for cell in sorted(cells, key=lambda cell: cell["draw"])]
    assert answers == in_memory.results[0].accuracies.tolist()


def test_values_used_as_they_are_stay_as_they_are():
    X = np.append(np.random.default_rng(5).random((40, 3)), [[1e9, 0.5, 0.5]], axis=0)
    plan = ColumnPlan.of(X, ["a", "b", "c"], standardize=False)
    assert not plan.prepares
    np.testing.assert_array_equal(plan.fit(X)(X), X)


def test_compare_and_audit_leave_out_what_train_leaves_out(table, tmp_path):
    path, X, labels = table
    said = f"{path}: 13 of {N} samples have no label and are left out"
    result = invoke(["compare", path, "--methods", "CRC", "--no-figures", "-o", tmp_path / "compared"])
    assert said in result.stderr.splitlines(), result.output
    audited = invoke(["audit", path, "-o", tmp_path / "audit"])
    assert said in audited.stderr.splitlines(), audited.output
    assert f"{N - 13} labels" in audited.stdout
    with pytest.warns(UserWarning, match=f"13 of {N} samples have no label"):
        comparison = ancr.compare(X, labels, "CRC", standardize=True, learning_curve=False, name="table")
    assert comparison.classes == ["NA", "none", "ok"]
    assert len(comparison.truth) == N - 13
    cells = [json.loads(line) for line in (tmp_path / "compared" / "cells.jsonl").read_text().splitlines()]
    assert [cell["accuracy"] for cell in sorted(cells, key=lambda cell: cell["draw"])] == comparison.results[
        0
    ].accuracies.tolist()


def test_whole_numbers_beside_a_gap_are_one_label_in_every_file(tmp_path):
    import pandas as pd

    X, truth = units(np.random.default_rng(0))
    frame = pd.DataFrame(X, columns=["big", "small", "share"])
    frame["label"] = np.where(np.arange(N) == 3, np.nan, truth)
    frame["is_train"] = (np.arange(N) % 2).astype(int)
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    np.savez(tmp_path / "t.npz", X=X, y=frame["label"])
    for suffix in ("csv", "parquet", "npz"):
        assert quietly(read_samples, tmp_path / f"t.{suffix}").class_names.tolist() == ["0", "1", "2"]
    _, result = train(tmp_path / "t.csv", tmp_path)
    assert "is_train sets 30 of 59 samples aside, but a model is trained on all of them" in result.stderr


def test_labels_that_look_absent_are_classes_and_it_is_said(table):
    path, _, _ = table
    with pytest.warns(DataWarning, match="the label 'NA', 'none' is taken as a class; only an empty cell has no label"):
        read_samples(path)
    assert any("is taken as a class" in note for note in open_source(path).notes)


def test_a_missing_cell_is_a_gap_everywhere(tmp_path):
    marks = ["", "NA", "n/a", "NaN", "null", "None", "?", "#N/A", "<NA>", "-"]
    path = tmp_path / "gaps.csv"
    cells = [*marks, *(f"{i}.5" for i in range(20))]
    path.write_text("a,b,label\n" + "".join(f"{i % 4},{cell},{'xy'[i % 2]}\n" for i, cell in enumerate(cells)))
    for vectors in (load_table(path).data, open_source(path).data.vectors, read_samples(path).vectors):
        assert np.isnan(vectors[:, 1]).tolist() == [True] * 10 + [False] * 20
    model, result = train(path, tmp_path)
    assert "2 numbers" in result.stderr
    for command in ("predict", "next"):
        assert invoke([command, tmp_path / "model.npz", path, "-o", tmp_path / "out.csv"]).exit_code == 0
    answers, _ = studio_answers(open_source(path), read_samples(path).vectors)
    assert answers == model.build().predict(read_samples(path).vectors).tolist()


def test_a_folder_is_read_alike_everywhere(folder, tmp_path):
    with pytest.warns(DataWarning, match="8 of 25 samples have no label and are left out"):
        bunch = load_folder(folder)
    assert (bunch.n_unlabelled, bunch.target_names.tolist()) == (8, ["dark", "light"])
    samples = quietly(read_samples, folder)
    assert counts(samples.labels) == (8, {"dark": 8, "light": 8})
    model, result = train(folder, tmp_path)
    assert f"{folder}: 8 of 24 samples have no label and are left out" in result.stderr.splitlines()
    assert f"1 file cannot be read as an image and is left out: {folder / 'dark' / 'broken.png'} (" in result.stderr
    source = quietly(open_source, folder)
    assert source.labels == samples.labels
    known = samples.labelled()
    clf = ancr.ANCRClassifier(alpha=0.1).fit(known.vectors, known.class_names[known.target])
    proba = clf.predict_proba(samples.vectors)
    np.testing.assert_allclose(model.build().predict_proba(samples.vectors), proba, rtol=0, atol=1e-12)
    answers, chances = studio_answers(source, samples.vectors)
    assert answers == clf.predict(samples.vectors).tolist() == model.build().predict(samples.vectors).tolist()
    np.testing.assert_allclose(chances, proba, rtol=0, atol=1e-12)
    # Features that are written to a file keep what has no label.
    assert invoke(["extract", folder, "--features", "hog", "-o", tmp_path / "hog.npz"]).exit_code == 0
    extracted = read_samples(tmp_path / "hog.npz")
    assert extracted.labels == samples.labels
    np.testing.assert_array_equal(extracted.vectors, samples.vectors)


def test_a_broken_image_and_an_empty_class_stop_no_command(folder, tmp_path):
    broken, model = folder / "dark" / "broken.png", tmp_path / "model.npz"
    (folder / "empty").mkdir()
    compare = ["compare", folder, "--methods", "CRC", "--folds", "2", "--no-figures", "-o", tmp_path / "compared"]
    for command in (["train", folder, "-o", model], compare, ["audit", folder, "-o", tmp_path / "audited"]):
        result = invoke(command)
        assert result.exit_code == 0, result.output
        left_out = [line for line in result.stderr.splitlines() if str(broken) in line]
        assert len(left_out) == 1, result.stderr
        assert "1 file cannot be read as an image and is left out" in left_out[0]
        assert "Class 'empty' is empty" in result.stderr
        assert result.stderr.startswith("warning: ")  # before the work, which may be long
        assert invoke([*command, "--strict"]).stderr.endswith(
            f"Error: {broken} cannot be read as an image: it is damaged, or not an image of a known kind\n"
        )
    for command in (["predict", model, folder, "-o", tmp_path / "out.csv"], ["next", model, folder, "-n", "2"]):
        result = invoke(command)
        assert result.exit_code == 0, result.output
        assert f"1 file cannot be read as an image and is left out: {broken} (" in result.stderr
        assert f"Error: {broken} cannot be read as an image" in invoke([*command, "--strict"]).stderr
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 1 + 24
    assert "holds no image that can be read" in invoke(["predict", model, broken, "-o", tmp_path / "none.csv"]).stderr


def test_the_audit_of_a_studio_works_on_columns_with_units(tmp_path):
    from ancr.studio.insights import audit_of

    X, truth = units(np.random.default_rng(3))
    source = open_source(write_csv(tmp_path / "units.csv", X, np.array(["a", "b", "c"])[truth]))
    studio = Studio(source)
    try:
        assert source.plan.standardize
        assert audit_of(studio.recogniser.snapshot(), studio.jobs.held_out, lambda done, total: None)["n"] == N
    finally:
        studio.close()


@pytest.mark.parametrize("command", ["train", "compare", "audit", "predict", "next", "studio"])
def test_a_table_is_opened_once(command, table, tmp_path, monkeypatch):
    path, _, _ = table
    train(path, tmp_path)
    opened, original = [], type(path).open

    def count(self, *arguments, **options):
        opened.append(self)
        return original(self, *arguments, **options)

    monkeypatch.setattr(type(path), "open", count)
    if command == "studio":
        quietly(open_source, path)
    else:
        given = [tmp_path / "model.npz", path] if command in ("predict", "next") else [path]
        options = ["--methods", "CRC", "--no-figures"] if command == "compare" else []
        result = invoke([command, *given, *options, "-o", tmp_path / ("o.npz" if command == "train" else "o.csv")])
        assert result.exit_code == 0, result.output
    assert opened.count(path) == 1


def pets(rng, count):
    """Animals as people write them down: units, gaps, a number that is a category, words; and their kinds."""
    import pandas as pd

    truth = rng.integers(0, 3, count)
    frame = pd.DataFrame({"weight": 3000 + 2000 * truth + 900 * rng.normal(size=count), "age": rng.random(count)})
    frame["size"] = truth + 36.0 + rng.integers(0, 2, count)
    frame["coat"] = np.where(rng.random(count) < 0.7, np.array(["long", "curly", "short"])[truth], "none")
    frame.loc[rng.integers(0, count, count // 10), ["weight", "coat"]] = [np.nan, None]
    return frame, np.array(["cat", "dog", "pig"])[truth]


@pytest.mark.parametrize("method", methods())
def test_a_saved_model_of_every_method_answers_alike_everywhere(method, tmp_path, make_studio, make_client):  # noqa: F811
    rng = np.random.default_rng(6)
    (frame, labels), (queries, _) = pets(rng, 40), pets(rng, 12)
    queries.loc[3, "age"] = np.nan  # where the training table has no gap
    frame.assign(label=labels).to_csv(tmp_path / "pets.csv", index=False)
    queries.to_csv(tmp_path / "new.csv", index=False)
    # Python
    classifier = methods()[method]()
    python = ancr.table_pipeline(classifier, kinds={"size": "category"}).fit(frame, labels)
    expected, chances = python.predict(queries).tolist(), python.predict_proba(queries)
    # command line
    path, asked = tmp_path / "model.npz", ["--column", "size=category"]
    result = invoke(["train", tmp_path / "pets.csv", "--method", method, *asked, "-o", path])
    assert result.exit_code == 0, result.output
    assert invoke(["predict", path, tmp_path / "new.csv", "-o", tmp_path / "out.csv"]).exit_code == 0
    with open(tmp_path / "out.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["label"] for line in lines] == expected
    np.testing.assert_allclose([float(line["probability"]) for line in lines], chances.max(axis=1), rtol=0, atol=1e-12)
    # the model file
    loaded = Model.load(path)
    assert loaded.build().predict(queries).tolist() == expected
    np.testing.assert_allclose(loaded.build().predict_proba(queries), chances, rtol=0, atol=1e-12)
    # studio
    studio = make_studio(open_source(path))
    assert is_same(studio.state.classifier, loaded.classifier)
    client = make_client(studio)
    # A search hands the studio what it found, whose controls are those of a plain classifier.
    assert client.get("/api/state").json()["settings"]["method"] == replace(loaded, trained_as="").method
    rows = [[None if value != value else value for value in row] for row in queries.to_numpy().tolist()]
    answers = [client.post("/api/answer", json={"row": row}).json() for row in rows]
    assert [answer["label"] for answer in answers] == expected
    # One at a time, as the page asks: where NRC has several optimal codes, the block decides which one is found.
    chances = np.vstack([python.predict_proba(queries.iloc[[i]]) for i in range(len(queries))])
    found = [{one["label"]: one["probability"] for one in answer["classes"]} for answer in answers]
    np.testing.assert_allclose([[one[k] for k in python.classes_] for one in found], chances, rtol=0, atol=1e-12)


def test_an_empty_cell_of_a_table_without_gaps(tmp_path, make_studio, make_client):  # noqa: F811
    X = np.random.default_rng(7).random((30, 4)) + np.eye(3, 4)[np.arange(30) % 3]  # one range: nothing is prepared
    labels = np.array(["a", "b", "c"])[np.arange(30) % 3]
    source = open_source(write_csv(tmp_path / "plain.csv", X, labels, "pqrs"))
    assert not source.plan.prepares
    client = make_client(make_studio(source))
    python = source.plan.pipeline(source.classifier).fit(X, labels)
    for row in (X[0] + 0.1, X[1] * 1.1):
        for place in range(4):
            empty = [None if j == place else value for j, value in enumerate(row.tolist())]
            answer = client.post("/api/answer", json={"row": empty}).json()
            query = np.array([[np.nan if value is None else value for value in empty]])
            assert answer["label"] == python.predict(query)[0]
            residuals = {one["label"]: one["residual"] for one in answer["classes"]}
            np.testing.assert_allclose(
                [residuals[k] for k in "abc"], python[-1].residuals(python[:-1].transform(query))[0]
            )
    assert client.post("/api/answer", json={"row": X[0, :2].tolist()}).json()["label"] == python.predict(
        [[*X[0, :2], np.nan, np.nan]]
    )


def answers_of(model, data, folder):
    """Names, labels and probabilities that ``ancr predict`` writes."""
    result = invoke(["predict", model, data, "-o", folder / "answers.csv"])
    assert result.exit_code == 0, result.output
    with open(folder / "answers.csv", newline="") as file:
        return {Path(row["sample"]).name: (row["label"], row["probability"]) for row in csv.DictReader(file)}


FEATURES = [("hog", None), ("pixels", None), *rarely(("resnet18", "none"))]


@pytest.mark.parametrize(("features", "weights"), FEATURES)
def test_a_model_of_extracted_features_is_that_of_the_folder(folder, tmp_path, features, weights):
    """It predicts the folder, the extracted file and single images, with the weights that it was trained on."""
    network = ["--backbone", features, "--weights", weights, "--cache-dir", "none"] if weights else []
    how = network or ["--features", features]
    assert invoke(["extract", folder, *how, "-o", tmp_path / "vectors.npz"]).exit_code == 0
    assert invoke(["train", tmp_path / "vectors.npz", "-o", tmp_path / "extracted.npz"]).exit_code == 0
    options = ["--features", features, *(["--weights", weights] if weights else [])]
    assert invoke(["train", folder, *options, "-o", tmp_path / "direct.npz"]).exit_code == 0
    expected = answers_of(tmp_path / "direct.npz", folder, tmp_path)
    assert answers_of(tmp_path / "extracted.npz", folder, tmp_path) == expected
    assert answers_of(tmp_path / "direct.npz", tmp_path / "vectors.npz", tmp_path) == expected
    image = next((folder / "light").glob("*.png"))
    ((name, (label, probability)),) = answers_of(tmp_path / "extracted.npz", image, tmp_path).items()
    assert (name, label) == (image.name, expected[name][0])
    # One row takes another path through BLAS than many, and pixels are in single precision.
    assert float(probability) == pytest.approx(float(expected[name][1]), rel=1e-5)


def test_images_are_compared_by_hog_everywhere_unless_asked(folder, tmp_path):
    assert read_samples(folder).features == "hog"
    assert open_source(folder).data.features == "hog"
    assert invoke(["train", folder, "-o", tmp_path / "model.npz"]).exit_code == 0
    model = Model.load(tmp_path / "model.npz")
    assert model.features == "hog"
    assert isinstance(model.classifier.temperature, Temperatures)  # chosen and calibrated, as for a table
    source = UserSource(read_samples(folder).labelled(), 2)
    assert "--features hog" in shlex.join(source.options)


def test_features_that_cannot_be_made_are_one_line(folder, tmp_path):
    assert invoke(["extract", folder, "--features", "eigenfaces", "-o", tmp_path / "faces.npz"]).exit_code == 0
    assert invoke(["train", tmp_path / "faces.npz", "-o", tmp_path / "faces-model.npz"]).exit_code == 0
    model = tmp_path / "model.npz"
    for arguments, message in [
        (["predict", tmp_path / "faces-model.npz", folder], "arrays that do not say how images become such"),
        (["train", folder, "--features", "hogg"], "features 'hogg' is unknown; choose from pixels, hog, vgg16"),
        (["train", folder, "--weights", "own.pth"], "hog needs no weights; name a network with --features"),
        (["predict", tmp_path / "faces-model.npz", folder, "--weights", "x.pth"], "was not trained on images"),
    ]:
        result = invoke([*arguments, "-o", model])
        assert result.exit_code == 1
        assert message in result.stderr.splitlines()[-1]
        assert not model.exists()
