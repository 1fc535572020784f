"""What leaves a studio equals what it holds, and comes back from Label Studio."""

import csv
import io
import json
import subprocess
import sys
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.datasets import load_iris

from ancr.studio import exports
from ancr.studio.openings import open_source
from tests.studio.test_nothing_lost import folder, image  # noqa: F401

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


def test_each_class_has_a_folder_of_its_own_wherever_it_is_unpacked(photos, folder):  # noqa: F811
    """Classes that differ in case, in signs or in how an accent is encoded do not become one."""
    _, client, ids = photos
    classes = ["a_b", "A/B", "🐱", "🐶", "..", "unlabelled", "x" * 200, "語" * 200]
    for name, label in zip(list(ids)[4:], classes, strict=True):
        assert client.post("/api/act", json={"do": "label", "sample": ids[name], "label": label}).status_code == 200
    archive = zipfile.ZipFile(io.BytesIO(client.get("/api/export/sorted.zip").content))
    found = {name.partition("/")[2]: name.partition("/")[0] for name in archive.namelist()}
    assert sorted(found) == sorted(ids)
    assert len({one.casefold() for one in found.values()} | {"unlabelled"}) == len(classes) + 4
    assert all(len(one.encode()) < 255 and one.strip(". ") == one for one in found.values())
    assert (found["p06.png"], found["p07.png"]) == ("🐱", "🐶")


def test_only_the_image_that_was_labelled_is_sorted(photos, folder, tmp_path):  # noqa: F811
    """Another file in its place, or what a link leads to, is not of that class."""
    _, client, _ = photos
    (folder / "p00.png").write_bytes((folder / "p01.png").read_bytes())
    (tmp_path / "secret.png").write_bytes(image(99))
    (folder / "p02.png").unlink()
    (folder / "p02.png").symlink_to(tmp_path / "secret.png")
    archive = zipfile.ZipFile(io.BytesIO(client.get("/api/export/sorted.zip").content))
    assert len(archive.namelist()) == 10
    assert {name for name in archive.namelist() if not name.startswith("unlabelled")} == {"bee/p01.png", "bee/p03.png"}
    assert image(99) not in [archive.read(name) for name in archive.namelist()]


def test_a_file_of_label_studio_that_could_be_of_two_samples_is_of_none(tmp_path, make_studio, make_client):
    for seed, name in enumerate(["left/1.png", "right/1.png", "right/2.png", "3.png"]):
        (tmp_path / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "data" / name).write_bytes(image(seed))
    studio = make_studio(open_source(tmp_path / "data"))
    annotations = [{"result": [{"value": {"choices": ["new"]}}]}]
    texts = [{"image": "/upload/1.png"}, {"image": "/upload/2.png"}, {"sample": "9.png", "image": "/upload/3.png"}]
    content = json.dumps([{"data": data, "annotations": annotations} for data in texts]).encode()
    kind = {"content-type": "application/octet-stream"}
    answer = make_client(studio).post("/api/import/label-studio", content=content, headers=kind)
    assert len(answer.json()["refused"]) == 2
    assert dict(zip(studio.state.names, studio.state.labels, strict=True)) == {
        "left/1.png": "left",
        "right/1.png": "right",
        "right/2.png": "new",
        "3.png": None,
    }


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


def test_an_export_of_label_studio_may_be_large(photos):
    studio, client, ids = photos
    task = {"data": {"ancr_id": ids["p05.png"], "about": "x" * 2**25}}
    task["annotations"] = [{"result": [{"value": {"choices": ["cat"]}}]}]
    kind = {"content-type": "application/octet-stream"}
    answer = client.post("/api/import/label-studio", content=json.dumps([task]).encode(), headers=kind)
    assert answer.status_code == 200
    assert studio.state.labels[studio.state.index(ids["p05.png"])] == "cat"
    assert client.post("/api/import/label-studio", content=b"", headers={"content-length": str(2**29)}).is_error


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("whole_table", "table.csv"),
        ("label_studio", "label-studio.json"),
        ("labels_jsonl", "labels.jsonl"),
        ("sorted_images", "sorted.zip"),
    ],
)
def test_labels_do_not_wait_for_an_export_that_holds_what_was_there(photos, monkeypatch, name, path):
    studio, client, ids = photos
    begun, goes_on, write = threading.Event(), threading.Event(), getattr(exports, name)

    def slowly(*arguments):
        begun.set()
        assert goes_on.wait(60)
        return write(*arguments)

    monkeypatch.setattr(exports, name, slowly)
    with ThreadPoolExecutor(1) as beside:
        export = beside.submit(client.get, f"/api/export/{path}")
        try:
            assert begun.wait(30)
            action = {"do": "label", "sample": ids["p06.png"], "label": "later"}
            assert client.post("/api/act", json=action).status_code == 200
            assert studio.state.labels[studio.state.index(ids["p06.png"])] == "later"
        finally:
            goes_on.set()
        answer = export.result()
    assert answer.status_code == 200
    assert b"later" not in answer.content


@pytest.mark.parametrize("units", [False, True])
def test_the_table_and_the_code_give_the_same_classifier(units, tmp_path, make_studio, make_client):
    X, y = load_iris(return_X_y=True)
    names = ["NA", "None", "2"]  # as pandas reads a table by itself, two of them are gaps
    labels = [names[k] if i % 2 else "" for i, k in enumerate(y)]
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
