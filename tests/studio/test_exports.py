"""What leaves a studio equals what it holds, and comes back from Label Studio."""

import csv
import io
import json
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from sklearn.datasets import load_iris

from ancr.studio.openings import open_source
from tests.studio.test_nothing_lost import folder  # noqa: F401

LABELS = {"p00.png": "ant", "p01.png": "bee", "p02.png": "a/b", "p03.png": "bee"}


@pytest.fixture
def photos(folder, make_studio, make_client):  # noqa: F811
    studio = make_studio(open_source(folder))
    client = make_client(studio)
    ids = dict(zip(studio.state.names, studio.state.ids, strict=True))
    for name, label in LABELS.items():
        assert client.post("/api/act", json={"do": "label", "sample": ids[name], "label": label}).status_code == 200
    return studio, client, ids


def test_labels_as_lines_and_images_in_folders(photos):
    _, client, ids = photos
    lines = [json.loads(line) for line in client.get("/api/export/labels.jsonl").text.splitlines()]
    assert {line["sample"]: line["label"] for line in lines} == LABELS
    assert {line["sample"]: line["id"] for line in lines} == {name: ids[name] for name in LABELS}
    names = zipfile.ZipFile(io.BytesIO(client.get("/api/export/sorted.zip").content)).namelist()
    assert {"ant/p00.png", "bee/p01.png", "a_b/p02.png", "unlabelled/p04.png"} <= set(names)
    assert len(names) == 12
    assert client.get("/api/export/suspicious.csv").status_code == 400


def test_label_studio_both_ways(photos, tmp_path, make_studio, make_client):
    studio, client, _ = photos
    tasks = json.loads(client.get("/api/export/label-studio.json").text)
    assert len(tasks) == 12
    by_name = {task["data"]["image"]: task for task in tasks}
    assert by_name["p02.png"]["annotations"][0]["result"][0]["value"]["choices"] == ["a/b"]
    del by_name["p02.png"]["data"]["ancr_id"]  # as if another tool had made the task
    by_name["p02.png"]["data"] = {"image": "/data/upload/p02.png"}
    by_name["p01.png"]["annotations"][0]["result"][0]["value"]["choices"] = ["wasp"]
    tasks.append({"data": {"image": "nobody.png"}, "annotations": by_name["p01.png"]["annotations"]})
    for _ in LABELS:
        client.post("/api/act", json={"do": "undo"})
    content = json.dumps(tasks).encode()
    kind = {"content-type": "application/octet-stream"}
    answer = client.post("/api/import/label-studio", content=content, headers=kind)
    assert answer.status_code == 200
    assert len(answer.json()["refused"]) == 1
    found = {name: label for name, label in zip(studio.state.names, studio.state.labels, strict=True) if label}
    assert found == {**LABELS, "p01.png": "wasp"}
    assert client.post("/api/act", json={"do": "undo"}).status_code == 200
    assert studio.state.n_labelled == 0
    for bad in (
        b"",
        b"{}",
        b"[1]",
        b"[]",
        b"[" * 10_000,
        b'[{"data": 3, "annotations": [{"result": [{"value": 4}]}]}]',
    ):
        assert client.post("/api/import/label-studio", content=bad, headers=kind).status_code == 400


@pytest.mark.parametrize("units", [False, True])
def test_the_table_and_the_code_give_the_same_classifier(units, tmp_path, make_studio, make_client):
    X, y = load_iris(return_X_y=True)
    labels = [str(k) if i % 2 else "" for i, k in enumerate(y)]
    if units:
        X = X * [1, 10, 100, 1000]
        lines = [",".join([*map(str, row), label]) for row, label in zip(X.tolist(), labels, strict=True)]
        (tmp_path / "iris.csv").write_text("\n".join(["feature 1,feature 2,feature 3,feature 4,label", *lines]))
    np.savez(tmp_path / "iris.npz", features=X, labels=labels)
    studio = make_studio(open_source(tmp_path / ("iris.csv" if units else "iris.npz")))
    client = make_client(studio)
    (tmp_path / "table.csv").write_text(client.get("/api/export/table.csv").text)
    rows = list(csv.DictReader((tmp_path / "table.csv").open()))
    assert [row["label"] or None for row in rows] == studio.state.labels
    third = "feature 3" if units else "2"
    np.testing.assert_allclose([float(row[third]) for row in rows], X[:, 2], atol=1e-6)
    code = client.get("/api/export/train.py").text
    (tmp_path / "train.py").write_text(code + "\nprint(','.join(classifier.predict(X)))\n")
    run = subprocess.run([sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    told = run.stdout.splitlines()[-1].split(",")
    snapshot = studio.recogniser.snapshot()
    fitted = snapshot.fit()
    assert told == fitted.classifier.predict(fitted.rows(X[snapshot.members])).tolist()
