"""Browse: search, filter, order and windows of samples, and actions on many."""

import numpy as np
import pytest


@pytest.fixture
def animals(tmp_path, make_studio):
    """Four rows of numbers and texts, two of them labelled."""
    from ancr.studio.openings import open_source

    rows = ["mass,legs,what,label", "3.5,4,a red fox,mammal", "2,2,a hen,bird", "4,4,a grey wolf,", ",2,a red kite,"]
    path = tmp_path / "animals.csv"
    path.write_text("\n".join(rows) + "\n")
    return make_studio(open_source(path))


def found(client, **wanted):
    """Numbers of samples, from 1."""
    answer = client.get("/api/browse", params=wanted)
    assert answer.status_code == 200, answer.text
    return [number + 1 for number in answer.json()["numbers"]]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("", [1, 2, 3, 4]),
        ("RED", [1, 4]),
        ("red fox", [1]),
        ('"a red kite"', [4]),
        ("mass>2.5", [1, 3]),
        ("legs=2 what=kite", [4]),
        ("3.5", [1]),
        ("what=nothing", []),
        ("colour=red", []),  # no such column: looked for as it is written
    ],
)
def test_search_by_name_text_and_cell(animals, make_client, text, numbers):
    assert found(make_client(animals), text=text) == numbers


def test_filters_and_orders(animals, make_client):
    client = make_client(animals)
    assert found(client, status="waiting") == [3, 4]
    assert found(client, label="bird") == [2]
    assert found(client, sort="0", down="1") == [3, 1, 2, 4]  # what has no value comes last
    assert found(client, sort="label") == [2, 1, 3, 4]
    assert found(client, sort="2") == [3, 2, 1, 4]
    for wanted in ({"status": "lost"}, {"sort": "colour"}, {"least": "2"}, {"text": "what>fox"}):
        assert client.get("/api/browse", params=wanted).status_code == 400


def test_windows_are_of_this_start_and_within_limits(animals, make_client):
    client = make_client(animals)
    start = client.get("/api/browse").json()["start"]
    names = [one["name"] for one in client.get("/api/samples", params={"start": start, "numbers": "0,2-3"}).json()]
    assert names == ["row 1", "row 3", "row 4"]
    assert client.get("/api/samples", params={"start": "other", "numbers": "0"}).status_code == 409
    for numbers in ("4", "2-1", "x", "", "0-999999999", "-1"):
        assert client.get("/api/samples", params={"start": start, "numbers": numbers}).status_code == 400


def test_many_are_labelled_and_undone_at_once(animals, make_client):
    client = make_client(animals, **{"x-ancr-tab": "one"})
    other = make_client(animals, **{"x-ancr-tab": "two"})
    state = client.get("/api/state").json()
    third = client.get("/api/number/3").json()["id"]
    other.post("/api/act", json={"do": "label", "sample": third, "label": "mammal"})
    many = {"do": "label", "numbers": [1, 2, 3], "start": state["start"], "seen": state["version"], "label": "bird"}
    assert client.post("/api/act", json={**many, "start": "other"}).status_code == 409
    after = client.post("/api/act", json=many).json()
    assert len(after["refused"]) == 1
    assert animals.state.labels == ["mammal", "bird", "mammal", "bird"]
    client.post("/api/act", json={"do": "undo"})
    assert animals.state.labels == ["mammal", "bird", "mammal", None]
    now = client.get("/api/state").json()
    client.post("/api/act", json={**many, "do": "unlabel", "seen": now["version"], "numbers": [0, 1]})
    assert animals.state.labels[:2] == [None, None]


def test_fifty_thousand_are_found_by_number():
    from ancr.samples.sample_set import Samples
    from ancr.studio.browse import Search

    cells = np.arange(50_000.0)[:, None]
    search = Search(Samples.of(cells, columns=("count",)))
    assert np.flatnonzero(search.matches("count>=49998")).tolist() == [49_998, 49_999]
    assert np.flatnonzero(search.matches('"row 123" count<200')).tolist() == [122]
