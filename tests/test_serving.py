"""``ancr serve``: the same answers as ``ancr predict``, one line for what cannot be answered, a clean end."""

import asyncio
import csv
import json
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from PIL import Image
from sklearn.datasets import load_wine
from starlette.testclient import TestClient

from ancr import ANCRClassifier
from ancr.samples.answers import Answers
from ancr.samples.model_file import Model
from ancr.serving.model_app import make_model_app
from tests.command_line import invoke


@pytest.fixture(scope="module")
def penguins(tmp_path_factory):
    """A table with gaps and words, and a model of it."""
    folder, rng = tmp_path_factory.mktemp("penguins"), np.random.default_rng(0)
    lines = ["length,depth,island,species"]
    for i in range(60):
        gap = "" if i % 11 == 0 else f"{40 + 5 * (i % 2) + rng.normal():.2f}"
        lines.append(f"{gap},{18 - 3 * (i % 2) + rng.normal():.2f},{['Biscoe', 'Dream', ''][i % 3]},{'ag'[i % 2]}")
    (folder / "penguins.csv").write_text("\n".join(lines) + "\n")
    result = invoke(
        ["train", folder / "penguins.csv", "--label", "species", "-o", folder / "model.npz", "--method", "ANCR"]
    )
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture(scope="module")
def client(penguins):
    with TestClient(
        make_model_app(Answers(Model.load(penguins / "model.npz")), most_bytes=2**20, most_rows=200)
    ) as client:
        yield client


def test_answers_are_those_of_predict(client, penguins):
    invoke(["predict", penguins / "model.npz", penguins / "penguins.csv", "-o", penguins / "labels.csv"])
    with open(penguins / "labels.csv", newline="") as file:
        expected = list(csv.DictReader(file))
    with open(penguins / "penguins.csv", newline="") as file:
        rows = [{name: cell or None for name, cell in row.items()} for row in csv.DictReader(file)]
    numbers = [{**row, "depth": float(row["depth"])} for row in rows]
    for sent in (rows, numbers, [[row[name] for name in ("length", "depth", "island")] for row in numbers]):
        answers = client.post("/predict", json={"rows": sent, "top": 1}).json()["predictions"]
        assert [each["label"] for each in answers] == [row["label"] for row in expected]
        for name in ("probability", "margin"):
            found, written = [each[name] for each in answers], [float(row[name]) for row in expected]
            np.testing.assert_allclose(found, written, rtol=0, atol=1e-12)
        assert [each["because"][0]["sample"] for each in answers] == [row["because_1"] for row in expected]
    assert answers[0]["probabilities"].keys() == {"a", "g"}
    (bare,) = client.post("/predict", json={"rows": sent[:1], "top": 0, "probabilities": False}).json()["predictions"]
    assert bare.keys() == {"label", "probability", "margin", "because"}
    assert bare["because"] == []


ROW = {"length": 40.0, "depth": 18.0, "island": "Dream"}
BAD = {
    "no JSON": (b'{"rows": [', 400, "the body is not JSON: "),
    "NaN": (b'{"rows": [[NaN, 18.0, "Dream"]]}', 400, "the body is not JSON: NaN is not a JSON value"),
    "deep": (b"[" * 100_000, 400, "the body is not JSON: nested too deeply"),
    "bytes": (b"\xff\xfe\xfa", 400, "the body is not JSON: "),
    "list": ([ROW], 422, "expected an object such as"),
    "no rows": ({"rows": []}, 422, "rows is missing"),
    "typo": ({"row": [ROW]}, 422, "'row' is unknown; a request has probabilities, rows, top"),
    "width": ({"rows": [[1.0, 2.0]]}, 422, "row 1 has 2 values, but the model was trained on 3 columns"),
    "column": ({"rows": [ROW, {"depth": 1.0}]}, 422, "row 2 lacks the columns length, island; null stands"),
    "word": ({"rows": [{**ROW, "length": "long"}]}, 422, "rows, row 1, column 'length': 'long' is not a number"),
    "infinite": (b'{"rows": [[1e999, 1.0, "Dream"]]}', 422, "rows, row 1, column 'length': 'inf' is infinite"),
    "digits": (b'{"rows": [[' + b"9" * 5000 + b', 1.0, "Dream"]]}', 422, "rows, row 1, column 'length': 'inf'"),
    "nested": (
        {"rows": [[[1.0], 1.0, "Dream"]]},
        422,
        "row 1, column 'length': '[1.0]' is neither a number nor a text",
    ),
    "scalar": ({"rows": [3]}, 422, "row 1 is '3', but expected names with values"),
    "top": ({"rows": [ROW], "top": 1e9}, 422, "top must be a whole number from 0 to 100"),
    "many": ({"rows": [ROW] * 201}, 413, "201 rows, but at most 200 can be sent at once"),
    "huge": (b" " * (2**20 + 1), 413, "Only 1 MB can be sent at once."),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_requests_are_refused_in_one_line(client, case):
    body, status, start = BAD[case]
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = client.post("/predict", content=content, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json().keys()) == (status, {"error"})
    assert answer.json()["error"].startswith(start)
    assert "\n" not in answer.json()["error"]


def test_a_body_of_unknown_length_stops_at_the_limit(client):
    parts = (b" " * 2**16 for _ in range(32))
    answer = client.post("/predict", content=parts, headers={"content-type": "application/json"})
    assert answer.status_code == 413


def test_a_refused_body_without_an_end_is_not_read_for_ever(client):
    """What is refused is read on, so that the client sees why, but not more than some megabytes."""
    sent, parts = [], iter([{"type": "http.request", "body": b" " * 2**16, "more_body": True}] * 100)
    scope = {"type": "http", "path": "/predict", "headers": [(b"content-length", b"9" * 12)]}

    async def receive():
        return next(parts)

    async def send(message):
        sent.append(message)

    asyncio.run(client.app(scope, receive, send))
    assert sent[0]["status"] == 413
    assert sent[-1] == {"type": "http.response.body"}
    assert len(list(parts)) > 30  # 1 MB is the limit of a body here


def test_other_kinds_of_requests(client):
    assert client.post("/predict", content=b"a,b", headers={"content-type": "text/csv"}).status_code == 415
    image = client.post("/predict", content=b"GIF89a", headers={"content-type": "image/gif"})
    assert (image.status_code, image.json()["error"]) == (
        422,
        "an image was sent, but the model was not trained on images",
    )
    assert (client.get("/predict").status_code, client.get("/nothing").status_code) == (405, 404)


def test_health_model_and_metrics(client):
    assert client.get("/health").json() == {"status": "ok"}
    model = client.get("/model").json()
    assert (model["method"], model["samples"], model["classes"]) == ("ANCR", 60, ["a", "g"])
    assert model["columns"] == {"length": "number", "depth": "number", "island": "category"}
    client.post("/predict", json={"rows": [ROW]})
    metrics = client.get("/metrics").text
    assert re.search(r'^ancr_requests_total\{status="200"\} [1-9]', metrics, re.MULTILINE)
    assert re.search(r"^ancr_samples_total [1-9]", metrics, re.MULTILINE)


@pytest.mark.parametrize("method", ["ANCR-CV", "CRC-CV", "NRC"])
def test_a_model_is_called_what_was_trained(penguins, tmp_path, method):
    """A search leaves a classifier that has settings and no name of its own."""
    model = tmp_path / "model.npz"
    train = ["train", penguins / "penguins.csv", "--label", "species", "-o", model, "--method", method]
    assert invoke(train).exit_code == 0
    with TestClient(make_model_app(Answers(Model.load(model)))) as client:
        assert client.get("/model").json()["method"] == method
    Model.load(model).save(model)
    assert Model.load(model).method == method


def test_vectors_must_be_numbers():
    X, y = load_wine(return_X_y=True)
    answers = Answers(Model(ANCRClassifier(), X, y.astype(str), [f"row {i}" for i in range(len(X))], "array"))
    client = TestClient(make_model_app(answers))
    expected = answers.pipeline.predict(X[::10]).tolist()
    found = client.post("/predict", json={"rows": X[::10].tolist()}).json()["predictions"]
    assert [each["label"] for each in found] == expected
    for bad, start in [
        (None, "row 1, place 0: 'None' is not"),
        ("1", "row 1, place 0: '1' is not"),
        ({}, "row 1, place 0"),
    ]:
        answer = client.post("/predict", json={"rows": [[bad, *X[0, 1:]]]})
        assert (answer.status_code, answer.json()["error"][: len(start)]) == (422, start)
    assert client.post("/predict", json={"rows": [{"a": 1}]}).status_code == 422


def test_an_image_is_answered(tmp_path):
    rng = np.random.default_rng(0)
    for i in range(6):
        (tmp_path / "photos" / "ab"[i % 2]).mkdir(parents=True, exist_ok=True)
        pixels = np.where(np.arange(40)[:, None] < 20, 200 * (i % 2), 200 - 200 * (i % 2)) + rng.integers(
            0, 30, (40, 40)
        )
        Image.fromarray(pixels.astype(np.uint8)).save(tmp_path / "photos" / "ab"[i % 2] / f"{i}.png")
    invoke(["train", tmp_path / "photos", "--features", "pixels", "-o", tmp_path / "m.npz", "--method", "ANCR"])
    client = TestClient(make_model_app(Answers(Model.load(tmp_path / "m.npz"))))
    content = (tmp_path / "photos" / "a" / "0.png").read_bytes()
    (answer,) = client.post("/predict", content=content, headers={"content-type": "image/png"}).json()["predictions"]
    assert answer["label"] == "a"
    broken = client.post("/predict", content=content[:60], headers={"content-type": "image/png"})
    assert broken.status_code == 422
    assert broken.json()["error"].startswith("the body cannot be read as an image: ")


def test_a_token_is_asked_for(penguins):
    client = TestClient(make_model_app(Answers(Model.load(penguins / "model.npz")), "secret"))
    assert client.get("/health").status_code == 200
    for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "secret"}):
        assert client.post("/predict", json={"rows": [ROW]}, headers=headers).status_code == 401
    assert client.get("/metrics").status_code == 401
    assert client.post("/predict", json={"rows": [ROW]}, headers={"authorization": "Bearer secret"}).status_code == 200


def test_it_starts_answers_and_ends_on_sigterm(penguins):
    """A process of its own, as in a container."""
    import httpx

    command = [sys.executable, "-u", "-m", "ancr", "serve", str(penguins / "model.npz"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            for line in process.stdout:
                if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                    break
            answer = httpx.post(f"{found[0]}/predict", json={"rows": [ROW]}, timeout=60)
            assert answer.json()["predictions"][0]["label"] == "a"
            # urllib closes, and reads nothing before all is sent.
            huge = urllib.request.Request(f"{found[0]}/predict", b" " * (2**24 + 2**20))
            with pytest.raises(urllib.error.HTTPError, match="413") as refused:
                urllib.request.urlopen(huge, timeout=60)
            assert json.load(refused.value) == {"error": "Only 16 MB can be sent at once."}
        finally:
            process.send_signal(signal.SIGTERM)
            _, complaints = process.communicate(timeout=60)
    assert (process.returncode, complaints) == (0, "")


def test_what_cannot_be_served_is_one_line(penguins, tmp_path):
    (tmp_path / "no.npz").write_bytes(b"nothing")
    for arguments, words in [
        ([tmp_path / "no.npz"], "is not an ancr model"),
        ([tmp_path / "absent.npz"], "does not exist"),
        ([penguins / "model.npz", "--host", "203.0.113.7"], "--host 203.0.113.7 is not an address of this machine"),
    ]:
        result = invoke(["serve", *arguments, "--port", "0"])
        assert result.exit_code == 1
        assert words in result.stderr
        assert len(result.stderr.splitlines()) == 1
