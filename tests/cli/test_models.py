"""``ancr train`` and ``ancr predict``: from a table or a folder to labels with reasons."""

import csv

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ancr import ANCRClassifier
from ancr.cli import main
from tests.cli.test_experiments import ancr, photos, wine  # noqa: F401  fixtures


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
    assert "holds no image, but the model was trained on images (pixels)" in result.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "Forest"], "method 'Forest' is unknown; choose from ACR, ANCR, "),
        (["--set", "alpha"], "--set 'alpha', but expected NAME=VALUE"),
        (["--set", "beta=1"], "ANCR has no parameter 'beta'; it has alpha, "),
        (["--set", "alpha=-1"], "alpha"),
        (["--label", "grape"], "--label 'grape' is not in wine.csv"),
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
