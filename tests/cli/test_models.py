"""``ancr train`` and ``ancr predict``: from a table or a folder to labels with reasons."""

import csv
import os
import re
import shlex
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import skops.io
from sklearn.datasets import load_digits, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from ancr import ANCRClassifier, CRCClassifier, RepresentationClassifier, Space
from ancr.classifiers.settings import is_same, make, methods, parse_settings
from ancr.cli import main
from ancr.comparison.protocols import methods_for, name_to_train, trainable
from ancr.comparison.split_sources import UserSource
from ancr.comparison.verdict import training_command
from ancr.samples.image_vectors import with_weights
from ancr.samples.model_file import Model
from ancr.samples.readers import read_queries, read_samples
from tests.cli.test_experiments import ancr, photos, wine  # noqa: F401  fixtures
from tests.marks import rarely


@pytest.fixture
def model(tmp_path, wine):  # noqa: F811
    path = tmp_path / "model.npz"
    result = ancr("train", wine, "-o", path, "--set", "alpha=0.01")
    assert result.stdout == f"{path}: ANCR on 178 samples of 3 classes\n"
    return path


def predictions(model, data, folder):
    result = ancr("predict", model, data, "-o", folder / "labels.csv")
    assert result.exit_code == 0, result.output
    with open(folder / "labels.csv", newline="") as file:
        return list(csv.DictReader(file))


def test_predictions_are_the_classifiers_own(model, wine, tmp_path):  # noqa: F811
    rows = predictions(model, wine, tmp_path)
    X, y = load_wine(return_X_y=True)
    clf = make_pipeline(StandardScaler(), ANCRClassifier(alpha=0.01)).fit(X, y.astype(str))
    assert [row["label"] for row in rows] == clf.predict(X).tolist()
    np.testing.assert_allclose([float(row["probability"]) for row in rows], clf.predict_proba(X).max(axis=1), rtol=1e-5)
    values = np.sort(clf.decision_function(X), axis=1)
    np.testing.assert_allclose([float(row["margin"]) for row in rows], values[:, -1] - values[:, -2], rtol=1e-4)
    # Every sample was trained on, so the one that decided first is itself.
    assert all(row["because_1"] == row["sample"] for row in rows)
    weights = [[float(row[f"weight_{i}"]) for i in range(1, 6) if row[f"weight_{i}"]] for row in rows]
    assert all(weight == sorted(weight, reverse=True) for weight in weights)


def test_columns_with_units_are_searched_by_default(wine, tmp_path):  # noqa: F811
    path = tmp_path / "model.npz"
    result = ancr("train", wine, "-o", path)
    assert result.stdout == f"{path}: ANCR-CV on 178 samples of 3 classes\n"
    chosen = Model.load(path).classifier
    assert type(chosen) is RepresentationClassifier
    assert not chosen.space.normalize
    labels = [row["label"] for row in predictions(path, wine, tmp_path)]
    assert np.mean(labels == load_wine().target.astype(str)) > 0.98


def test_every_search_looks_in_the_spaces_of_columns(wine, tmp_path):  # noqa: F811
    few = ["--set", "alphas=[0.1]", "--set", "relaxations=[1.0]", "--set", 'constraints=["simplex"]']
    ancr("train", wine, "-o", tmp_path / "m.npz", "--method", "Representation-CV", *few)
    assert not Model.load(tmp_path / "m.npz").classifier.space.normalize


def test_the_space_is_an_option(wine, tmp_path):  # noqa: F811
    path = tmp_path / "model.npz"
    result = ancr("train", wine, "-o", path, "--kernel", "rbf", "--gamma", "0.1", "--power", "0.5", "--method", "CRC")
    assert result.exit_code == 0, result.output
    assert is_same(Model.load(path).classifier, CRCClassifier(space=Space("rbf", gamma=0.1, power=0.5)))
    rows = predictions(path, wine, tmp_path)
    X, y = load_wine(return_X_y=True)
    clf = make_pipeline(StandardScaler(), CRCClassifier(space=Space("rbf", gamma=0.1, power=0.5))).fit(X, y.astype(str))
    assert [row["label"] for row in rows] == clf.predict(X).tolist()
    bad = ancr("train", wine, "-o", path, "--kernel", "rbf", "--gamma", "-1")
    assert bad.exit_code == 1
    assert "'gamma' parameter of Space must be" in bad.output


def test_a_number_may_be_written_without_its_zero(wine, tmp_path):  # noqa: F811
    path = tmp_path / "model.npz"
    assert ancr("train", wine, "-o", path, "--set", "alpha=.01").exit_code == 0
    assert is_same(Model.load(path).classifier, ANCRClassifier(alpha=0.01))


def test_landmarks_are_drawn_by_the_seed_that_is_set(wine, tmp_path):  # noqa: F811
    path = tmp_path / "model.npz"
    options = ("--kernel", "rbf", "--n-landmarks", "9", "--set", "space__random_state=3")
    assert ancr("train", wine, "-o", path, *options).exit_code == 0
    space = Space("rbf", n_landmarks=9, random_state=3)
    assert is_same(Model.load(path).classifier, ANCRClassifier(space=space))


@pytest.mark.parametrize("standardize", [None, True, False])
def test_the_command_that_a_comparison_proposes_reads_the_table_alike(wine, standardize):  # noqa: F811
    options = proposed(read_samples(wine, "target"), standardize)
    assert (options["label"], options["standardize"], options["method"]) == ("target", standardize, "ANCR-CV")


def test_the_command_that_a_comparison_proposes_has_the_features(photos):  # noqa: F811
    assert proposed(read_samples(photos, features="hog"), None)["features"] == "hog"


def test_the_command_that_a_comparison_proposes_has_the_weights(photos, tmp_path, monkeypatch):  # noqa: F811
    """Beside the network, and relative where they lie in the working folder: the report shows the command."""
    monkeypatch.chdir(tmp_path)
    Path("own.pth").touch()
    for network in ("resnet18", "vgg19?layer=fc6"):
        features = with_weights(network, "own.pth")
        options = proposed(replace(read_samples(photos), features=features), None)
        assert (options["features"], options["weights"]) == (network, "own.pth")
        assert with_weights(options["features"], options["weights"]) == features


PROPOSED = [
    ("ANCR", "--no-standardize"),
    ("ANCR", "--features"),
    ("kNN", "--features"),
    ("Softmax", "--standardize"),
    *rarely(("RBF SVM", "--features"), ("Random forest", "--standardize"), ("Gradient boosting", "--standardize")),
    *rarely(
        ("CRC", "--standardize"), ("SVM", "--features"), ("CROC", "--features"), ("ANCR (linear)", "--standardize")
    ),
]


@pytest.mark.parametrize(("method", "option"), PROPOSED)
def test_the_command_that_a_comparison_proposes_trains_what_was_compared(
    wine,  # noqa: F811
    photos,  # noqa: F811
    tmp_path,
    monkeypatch,
    method,
    option,
):
    """The answers of the trained model are those of the method compared, on columns prepared as for the comparison."""
    standardize = {"--standardize": True, "--no-standardize": False}.get(option)
    path = photos if option == "--features" else wine
    samples = read_samples(path, None, "hog") if path == photos else read_samples(path, "target")
    source = UserSource(samples, 2, standardize)
    monkeypatch.chdir(tmp_path)
    arguments = shlex.split(proposed_command(source, method))
    assert arguments[:2] == ["ancr", "train"]
    assert option in arguments
    assert ancr(*arguments[1:]).exit_code == 0
    compared = source.methods(source.typical, "cv")[method].build()
    prepare = source.plan.fit(samples.vectors)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # wine as it is: one column dominates
        compared.fit(prepare(samples.vectors), samples.target)
    rows = predictions("model.npz", path, tmp_path)
    predicted = compared.predict(prepare(samples.vectors))
    assert [row["label"] for row in rows] == samples.class_names[predicted].tolist()
    if hasattr(compared, "predict_proba"):
        expected = compared.predict_proba(prepare(samples.vectors)).max(axis=1)
        np.testing.assert_allclose([float(row["probability"]) for row in rows], expected, rtol=1e-4)
    else:
        assert {row["probability"] for row in rows} == {""}


@pytest.mark.parametrize(("protocol", "method"), [("paper", "NRC"), ("exact", "ANCR"), ("paper", "SRC")])
def test_published_settings_are_proposed_with_every_flag(wine, protocol, method):  # noqa: F811
    command = proposed_command(UserSource(read_samples(wine, "target"), 2), method, protocol)
    params = main.commands["train"].make_context("train", shlex.split(command)[2:]).params
    trained = make(params["method"], parse_settings(params["settings"]))
    assert is_same(trained, methods_for(protocol)[method].build())


def proposed_command(source, method="ANCR", protocol="cv"):
    """The command that a comparison proposes for a method."""
    return training_command(source, SimpleNamespace(name=method, protocol=protocol))


def proposed(samples, standardize):
    """The options of the command that a comparison proposes if ANCR is best."""
    command = proposed_command(UserSource(samples, 2, standardize))
    return main.commands["train"].make_context("train", shlex.split(command)[2:]).params


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such file names")
def test_a_line_break_in_a_name_does_not_break_the_line(wine, tmp_path):  # noqa: F811
    path = tmp_path / "my\nmodel.npz"
    result = ancr("train", wine, "-o", path, "--set", "alpha=0.01")
    assert result.stdout == f"{tmp_path}/my\\nmodel.npz: ANCR on 178 samples of 3 classes\n"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no /dev/null")
def test_a_device_is_no_model(wine, tmp_path):  # noqa: F811
    result = ancr("predict", "/dev/null", wine, "-o", tmp_path / "labels.csv")
    assert result.stderr == "Error: /dev/null is not an ancr model: it is not a regular file\n"


def test_columns_are_found_by_name(model, wine, tmp_path):  # noqa: F811
    frame = load_wine(as_frame=True).data
    shuffled = tmp_path / "shuffled.csv"
    frame[frame.columns[::-1]].head(20).to_csv(shuffled, index=False)
    assert [row["label"] for row in predictions(model, shuffled, tmp_path)] == ["0"] * 20
    frame.drop(columns="ash").to_csv(shuffled, index=False)
    result = ancr("predict", model, shuffled, "-o", tmp_path / "labels.csv")
    assert result.exit_code == 1
    assert "lacks the columns ash that the model was trained on" in result.output


def test_images_and_two_classes(tmp_path, photos):  # noqa: F811
    model = tmp_path / "photos.npz"
    assert ancr("train", photos, "-o", model, "--method", "CRC").exit_code == 0
    rows = predictions(model, photos, tmp_path)
    assert [row["label"] for row in rows] == ["dark"] * 8 + ["striped"] * 8
    assert all(float(row["margin"]) > 0 for row in rows)
    assert rows[0]["because_1"].endswith("0.png")
    result = ancr("predict", model, __file__, "-o", tmp_path / "labels.csv")
    assert "holds no image, but the model was trained on images (hog)" in result.output
    result = ancr("predict", model, photos, "-o", tmp_path / "labels.csv")
    assert "16 samples; 16 of 16 known labels are right" in result.stdout  # sub-folders are classes
    assert "the model was trained on these samples" in result.stdout


def test_the_spelling_of_a_method_does_not_count(tmp_path, wine):  # noqa: F811
    names = [*methods(), *trainable()]
    assert [name_to_train(spelled) for name in names for spelled in (name, name.lower(), name.replace(" ", "-"))] == [
        name for name in names for _ in range(3)
    ]
    trained = ancr("train", wine, "-o", tmp_path / "m.npz", "--method", "nsc cv")
    assert trained.stdout.endswith("NSC-CV on 178 samples of 3 classes\n")
    assert Model.load(tmp_path / "m.npz").method == "NSC-CV"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "Forest"], "method 'Forest' is unknown; choose from ACR, ANCR, "),
        (["--set", "alpha"], "--set 'alpha', but expected NAME=VALUE"),
        (["--set", "beta=1"], "ANCR has no parameter 'beta'; it has alpha, "),
        (["--set", "alpha=-1"], "alpha"),
        (["--label", "grape"], "label 'grape' is not in wine.csv"),
    ],
)
def test_train_bad_input_is_one_line_and_leaves_no_file(tmp_path, wine, options, message):  # noqa: F811
    result = ancr("train", wine, "-o", tmp_path / "model.npz", *options)
    assert result.exit_code == 1
    assert message in result.output
    assert len(result.output.splitlines()) == 1
    assert list(tmp_path.glob("*.npz")) == []


def test_predict_refuses_other_files(tmp_path, wine):  # noqa: F811
    result = ancr("predict", wine, wine, "-o", tmp_path / "labels.csv")
    assert (result.exit_code, result.output) == (1, f"Error: {wine} is not an ancr model\n")
    assert set(main.commands) >= {"train", "predict"}


def big_table(path, count):
    rng = np.random.default_rng(0)
    columns = load_wine(as_frame=True).data
    rows = columns.to_numpy()[rng.integers(0, len(columns), count)] * rng.uniform(0.9, 1.1, (count, columns.shape[1]))
    np.savetxt(path, rows, delimiter=",", header=",".join(columns.columns), comments="")
    return path


def test_answers_do_not_depend_on_the_chunks(model, tmp_path, monkeypatch):
    data = big_table(tmp_path / "big.csv", 1000)
    whole = predictions(model, data, tmp_path)
    monkeypatch.setattr(read_queries, "__defaults__", ((), None, 64))
    assert predictions(model, data, tmp_path) == whole
    assert [row["sample"] for row in whole] == [f"row {number}" for number in range(1, 1001)]


def test_predict_holds_only_a_chunk_in_memory(model, tmp_path):
    data = big_table(tmp_path / "big.csv", 2000)
    sizes = [len(samples) for samples in read_queries(data, "table", Model.load(model).plan, rows=300)]
    assert sizes == [300] * 6 + [200]


def test_an_error_in_the_last_row_keeps_the_old_answers(model, tmp_path):
    data, answers = big_table(tmp_path / "big.csv", 4000), tmp_path / "labels.csv"
    answers.write_text("old")
    data.write_text(data.read_text() + ",".join(["1"] * 12 + ["x"]) + "\n")
    result = ancr("predict", model, data, "-o", answers, "--strict")
    assert result.exit_code == 1
    assert "row 4001 (line 4002), column 'proline': 'x' is not a number" in result.stderr
    assert answers.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


FORMULAS = ["=HYPERLINK(1)", "+cmd|'/c calc'!A0", "@SUM(1)", "-2+3", "-1", "+2.5e3", "plain", "a=b"]


@pytest.mark.parametrize("raw", [False, True])
def test_formulas_do_not_reach_a_spreadsheet(tmp_path, raw):
    lines = [f'{i},{j},"{name}"' for i, name in enumerate(FORMULAS) for j in (5, 6)]
    data = tmp_path / "formulas.csv"
    data.write_text("\n".join(["a,b,label", *lines]) + "\n")
    assert ancr("train", data, "-o", tmp_path / "m.npz", "--method", "CRC").exit_code == 0
    options = ["--raw-text"] if raw else []
    assert ancr("predict", tmp_path / "m.npz", data, "-o", tmp_path / "out.csv", *options).exit_code == 0
    with open(tmp_path / "out.csv", newline="") as file:
        labels = {row["label"] for row in csv.DictReader(file)}
    runs = {name for name in labels if name[0] in "=+-@" and name not in ("-1", "+2.5e3")}
    assert bool(runs) == raw
    assert labels <= {*FORMULAS} if raw else labels <= {*FORMULAS[4:], *(f"'{name}" for name in FORMULAS[:4])}


def test_labels_stay_as_they_are_written(tmp_path):
    for name, labels in (
        ("zeros", "0011"),
        ("padded", ("01", "01", "02", "02")),
        ("points", ("0.0", "0.0", "1.5", "1.5")),
    ):
        data = tmp_path / f"{name}.csv"
        data.write_text("a,b,label\n" + "".join(f"{i},{i * i},{label}\n" for i, label in enumerate(labels)))
        assert ancr("train", data, "-o", tmp_path / "m.npz", "--method", "CRC").exit_code == 0
        assert Model.load(tmp_path / "m.npz").labels.tolist() == list(labels)


def test_training_samples_choose_whether_to_standardize_and_it_is_said(tmp_path, wine):  # noqa: F811
    digits = tmp_path / "digits.csv"
    load_digits(as_frame=True).frame.head(300).to_csv(digits, index=False)
    for data, options, expected, said in (
        (digits, [], False, "64 numbers; values are used as they are (nearest neighbours are right for 9"),
        (wine, [], True, "13 numbers; columns are standardized (nearest neighbours are right for 9"),
        (digits, ["--standardize"], True, "64 numbers; columns are standardized"),
        (wine, ["--no-standardize"], False, "13 numbers; values are used as they are"),
    ):
        result = ancr("train", data, "-o", tmp_path / "m.npz", "--method", "CRC", *options)
        assert f"{data}: {said}" in result.stderr
        assert Model.load(tmp_path / "m.npz").plan.standardize is expected


def test_settings_that_overflow_are_not_saved(tmp_path, wine):  # noqa: F811
    result = ancr("train", wine, "-o", tmp_path / "m.npz", "--set", "alpha=1e308", "--set", "relaxation=1e-300")
    if result.exit_code:
        assert len(result.stderr.splitlines()) == 1
        assert not (tmp_path / "m.npz").exists()
    else:
        assert ancr("predict", tmp_path / "m.npz", wine, "-o", tmp_path / "out.csv").exit_code == 0


def test_a_full_disk_keeps_the_old_answers_and_names_them(model, tmp_path):
    data, answers = big_table(tmp_path / "big.csv", 500), tmp_path / "labels.csv"
    answers.write_text("old")
    code = (
        "import resource, signal, sys; from ancr.cli import main; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (9999, resource.RLIM_INFINITY)); main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", code, "predict", model, data, "-o", answers]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (1, f"Error: {answers}: File too large\n")
    assert answers.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_score_says_which_samples_were_trained_on(tmp_path):
    """Gaps and words included; a share of right answers on training samples is no promise, and a line says so."""
    rows = [f"{'big' if i % 2 else 'small'},{i % 2 * 10 + i / 100},{'red' if i % 3 else ''}," for i in range(40)]
    rows = [row + ("" if i % 5 == 0 else str(i)) for i, row in enumerate(rows)]
    table, model, header = tmp_path / "train.csv", tmp_path / "m.npz", "size,length,colour,width"
    table.write_text("\n".join([header, *rows]) + "\n")
    assert ancr("train", table, "--label", "size", "--method", "CRC", "-o", model).exit_code == 0
    said = ancr("predict", model, table, "-o", tmp_path / "a.csv").stdout
    assert said.endswith("but the model was trained on these samples: this says nothing about new ones\n")
    new = tmp_path / "new.csv"
    new.write_text("\n".join([header, *rows[:10], "big,10.05,red,3.5", "small,10.07,red,9.5", ",10.07,red,2.5"]) + "\n")
    said = ancr("predict", model, new, "-o", tmp_path / "a.csv").stdout
    assert re.search(r"13 samples; \d+ of 12 known labels .* without 10 that equal a training sample, 1 of 2", said)
    new.write_text("\n".join([header, "big,10.05,red,3.5"]) + "\n")
    said = ancr("predict", model, new, "-o", tmp_path / "a.csv").stdout
    assert said.endswith("1 of 1 known labels are right (100.0%)\n")


def test_predict_scores_names_rows_and_goes_on_past_bad_ones(tmp_path):
    """Known labels are scored, the identifier names rows, and rows that cannot be read are listed; --strict stops."""
    rows = [f"{'big' if i % 2 else 'small'},{i % 2 * 10 + i / 100},{i % 7},p{i:03}" for i in range(40)]
    (tmp_path / "train.csv").write_text("\n".join(["size,length,width,code", *rows]) + "\n")
    new = ["big,10.2,3,n1", "small,0.1,5,n2", ",10.1,4,n3", "big,0.2,4,n4", "big,long,4,n5", "small,0.1"]
    (tmp_path / "new.csv").write_text("\n".join(["size,length,width,code", *new]) + "\n")
    model, answers = tmp_path / "m.npz", tmp_path / "a.csv"
    assert ancr("train", tmp_path / "train.csv", "--label", "size", "--method", "ANCR", "-o", model).exit_code == 0
    result = ancr("predict", model, tmp_path / "new.csv", "-o", answers)
    assert result.exit_code == 0, result.stderr
    assert "4 samples; 2 of 3 known labels are right (66.7%)" in result.stdout
    assert "2 rows cannot be read and are left out: " in result.stderr
    assert "row 5" in result.stderr
    assert "row 6" in result.stderr
    with answers.open(newline="") as file:
        found = [(row["sample"], row["given"]) for row in csv.DictReader(file)]
    assert found == [("n1", "big"), ("n2", "small"), ("n3", ""), ("n4", "big")]
    strict = ancr("predict", model, tmp_path / "new.csv", "-o", answers, "--strict")
    assert strict.exit_code == 1
    assert "row 6 (line 7) has 2 cells" in strict.stderr
    (tmp_path / "new.csv").write_text("size,length,width,code\nbig,long,4,n5\n")
    none = ancr("predict", model, tmp_path / "new.csv", "-o", answers)
    assert none.exit_code == 1
    assert none.stderr.splitlines()[-1].startswith("Error: no row of")


def test_rivals_are_saved_with_trusted_types_and_refused_where_they_cannot_serve(wine, tmp_path):  # noqa: F811
    """A model of kNN predicts; what needs training samples that decided, and a file of another type, is one line."""
    path = tmp_path / "knn.npz"
    assert "kNN on 178 samples" in ancr("train", wine, "--label", "target", "--method", "kNN", "-o", path).output
    rows = predictions(path, wine, tmp_path)
    assert len(rows) == 178
    assert {row["because_1"] for row in rows} == {""}
    for arguments in (
        ("predict", path, wine, "--explain", "-o", tmp_path / "x.csv"),
        ("next", path, wine),
        ("studio", path, "--no-browser"),
        ("train", wine, "--label", "target", "--method", "kNN", "--set", "alpha=1", "-o", tmp_path / "y.npz"),
    ):
        result = ancr(*arguments)
        assert (result.exit_code, result.stderr.count("\n")) == (1, 1), result.output
        assert "kNN" in result.stderr
    arrays = dict(np.load(path))
    saved = skops.io.dumps(FunctionTransformer(os.getcwd))
    np.savez(tmp_path / "other.npz", **{**arrays, "skops": np.frombuffer(saved, np.uint8)})
    result = ancr("predict", tmp_path / "other.npz", wine, "-o", tmp_path / "x.csv")
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "not trusted: " in result.stderr
    np.savez(tmp_path / "damaged.npz", **{**arrays, "skops": arrays["skops"][:100]})
    result = ancr("predict", tmp_path / "damaged.npz", wine, "-o", tmp_path / "x.csv")
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)


def test_without_skops_a_rival_is_one_line(wine, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setitem(sys.modules, "skops.io", None)
    result = ancr("train", wine, "--label", "target", "--method", "kNN", "-o", tmp_path / "knn.npz")
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (
        1, "Error: models of scikit-learn's classifiers are kept by skops: pip install skops"
    )  # fmt: skip
    assert not (tmp_path / "knn.npz").exists()
