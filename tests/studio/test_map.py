"""The map: where samples lie, what colours them, and that it follows labels."""

import time

import numpy as np
import pytest
from sklearn.datasets import load_digits

from ancr import Space
from ancr.samples.column_plan import ColumnPlan
from ancr.studio.layouts import grained, neighbourhoods, principal


def silent(done, total):
    pass


def test_directions_are_those_of_the_singular_vectors():
    """Against the singular values of the centred matrix: coordinates are equal but for the sign."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(80, 6)) * [5, 3, 1, 1, 0.5, 0.1]
    centred = rows - rows.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    found = principal(rows, ColumnPlan(), Space(normalize=False))
    np.testing.assert_allclose(np.abs(found), np.abs(left[:, :2] * sizes[:2]), atol=1e-8)


def test_directions_are_of_samples_as_the_classifier_sees_them():
    """At unit norm, the length of a sample does not count; with columns of units, each counts the same."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(40, 5))
    lengths = rng.uniform(0.1, 9.0, size=(40, 1))
    np.testing.assert_allclose(
        np.abs(principal(rows * lengths, ColumnPlan(), Space())),
        np.abs(principal(rows, ColumnPlan(), Space())),
        atol=1e-7,
    )
    units, plain = np.array([1.0, 1000.0, 1.0, 1.0, 1.0]), ColumnPlan(standardize=True)
    np.testing.assert_allclose(
        np.abs(principal(rows * units, plain, Space(normalize=False))),
        np.abs(principal(rows, plain, Space(normalize=False))),
        atol=1e-7,
    )


@pytest.mark.parametrize("rows", [np.zeros((7, 3)), np.ones((1, 4)), np.arange(9.0)[:, None], np.eye(2)])
def test_few_and_equal_samples_have_a_map_too(rows):
    for places in (
        grained(principal(rows, ColumnPlan(), Space())),
        neighbourhoods(rows, ColumnPlan(), Space(), silent)["places"],
    ):
        assert places.shape == (len(rows), 2)
        assert places.min() >= 0
        assert places.max() <= 65_535


@pytest.mark.all
def test_neighbours_stay_together(monkeypatch):
    """Of digits, t-SNE keeps those of a class together; those that were not laid out lie among their own, too."""
    from ancr.studio import layouts

    monkeypatch.setattr(layouts, "_MOST_LAID_OUT", 250)
    X, y = load_digits(return_X_y=True)
    X, y = X[:400].astype(np.float32), y[:400]
    told = []
    found = neighbourhoods(X, ColumnPlan(), Space(), lambda *step: told.append(step))
    assert found["laid_out"] == 250
    assert told == [(0, 3), (1, 3), (2, 3)]
    others = np.setdiff1d(np.arange(400), layouts._part(400, 250))
    for group, places in (("all", found["places"]), ("directions", grained(principal(X, ColumnPlan(), Space())))):
        gaps = np.linalg.norm(places[:, None] - places[None], axis=2) + 1e9 * np.eye(400)
        right = y[gaps.argmin(axis=1)] == y
        if group == "all":
            assert right.mean() > 0.85
            assert right[others].mean() > 0.8
        else:  # two directions alone do not keep the classes apart: the check above can fail
            assert right.mean() < 0.75


def test_places_and_colours_by_number(blobs, make_studio, make_client):
    from ancr.studio.openings import open_source

    path, truth = blobs
    studio = make_studio(open_source(path))
    client = make_client(studio)
    found = client.get("/api/map").json()
    assert found["start"] == studio.start
    assert len(found["x"]) == len(found["y"]) == found["laid_out"] == 90
    places = np.column_stack([found["x"], found["y"]])
    gaps = np.linalg.norm(places[:, None] - places[None], axis=2) + 1e9 * np.eye(90)
    assert np.mean(truth[gaps.argmin(axis=1)] == truth) > 0.9  # three blobs stay three
    colours = client.get("/api/map/colours", params={"by": "label"}).json()
    named = [colours["names"][code] if code >= 0 else "" for code in colours["codes"]]
    assert named == [truth[i] if i % 3 == 0 else "" for i in range(90)]
    act = {"do": "label", "numbers": [1, 2], "start": studio.start, "label": "dog"}
    assert client.post("/api/act", json=act).status_code == 200
    colours = client.get("/api/map/colours").json()
    assert [colours["names"][colours["codes"][i]] for i in (0, 1, 2)] == ["ant", "dog", "dog"]
    exclude = {"do": "exclude", "numbers": [1], "start": studio.start}
    client.post("/api/act", json=exclude)
    assert client.get("/api/map/colours").json()["codes"][1] == -1
    assert client.get("/api/map").json()["x"] == found["x"]  # labels move nothing
    for wrong in ("/api/map?layout=tsne", "/api/map?layout=globe", "/api/map/colours?by=mood"):
        assert client.get(wrong).status_code == 400, wrong


def wait_for(check, seconds=60):
    deadline = time.monotonic() + seconds
    while not (found := check()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


@pytest.mark.all
def test_guesses_and_suspicion_colour_what_they_are_of(blobs, make_studio, make_client):
    from ancr.studio.openings import open_source

    path, truth = blobs
    studio = make_studio(open_source(path))
    client = make_client(studio)
    wait_for(lambda: client.get("/api/state").json()["guessed"])
    colours = client.get("/api/map/colours", params={"by": "guess"}).json()
    guessed = [i for i, code in enumerate(colours["codes"]) if code >= 0]
    assert guessed == [i for i in range(90) if i % 3]
    assert np.mean([colours["names"][colours["codes"][i]] == truth[i] for i in guessed]) > 0.9
    wrong = {"do": "label", "numbers": [0], "start": studio.start, "label": "cat"}
    client.post("/api/act", json=wrong)
    client.post("/api/start/audit", json={})
    wait_for(lambda: "audit" in client.get("/api/state").json()["done"])
    doubts = client.get("/api/map/colours", params={"by": "doubt"}).json()["codes"]
    assert doubts[0] == max(doubts) > 50
    assert all(code == -1 for i, code in enumerate(doubts) if i % 3)  # without a label nothing is doubted


@pytest.mark.all
def test_neighbourhoods_are_worked_out_in_the_background(blobs, make_studio, make_client):
    from ancr.studio.openings import open_source

    path, _ = blobs
    client = make_client(make_studio(open_source(path)))
    client.post("/api/start/layout", json={})
    wait_for(lambda: "layout" in client.get("/api/state").json()["done"])
    found = client.get("/api/map", params={"layout": "tsne"}).json()
    assert len(found["x"]) == found["laid_out"] == 90


def test_a_table_of_words_has_a_map(tmp_path, make_studio, make_client):
    from ancr.studio.openings import open_source

    rows = [
        f'"{word} number {i}",{i},{kind}' for i in range(12) for word, kind in (("red fox", "a"), ("blue sea", "b"))
    ]
    path = tmp_path / "words.csv"
    path.write_text("\n".join(["what,size,label", *rows]) + "\n")
    studio = make_studio(open_source(path, kinds={"what": "text"}))
    assert len(make_client(studio).get("/api/map").json()["x"]) == 24
