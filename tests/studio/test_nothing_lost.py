"""Labels, pictures and undo through the page's own requests, while data changes, disks fill and tabs disagree."""

import io
import os
import resource
import sys
import threading

import numpy as np
import pytest
from PIL import Image

from ancr.studio import project
from ancr.studio.openings import open_source
from tests.studio.browsing import Process
from tests.studio.test_process import client_of


def image(seed):
    buffer = io.BytesIO()
    Image.fromarray(np.random.default_rng(seed).integers(0, 255, (24, 24, 3), np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()


@pytest.fixture
def folder(tmp_path):
    """Twelve images without a label."""
    path = tmp_path / "photos"
    path.mkdir()
    for i in range(12):
        (path / f"p{i:02d}.png").write_bytes(image(i))
    return path


def by_name(client):
    """The identity of each waiting sample by its name."""
    found = client.post("/api/next", json={"n": 500}).json()["next"]
    return {one["name"]: one["id"] for one in found}


def labels(studio):
    """The labels that people gave, by name."""
    return {name: label for name, label in zip(studio.state.names, studio.state.labels, strict=True) if label}


def act(client, tab="", **action):
    return client.post("/api/act", json=action, headers={"x-ancr-tab": tab})


def test_images_come_go_and_are_renamed(folder, make_studio, make_client):
    studio = make_studio(open_source(folder))
    client = make_client(studio)
    ids = by_name(client)
    pictures = {name: client.get(f"/api/picture/{id}").content for name, id in ids.items()}
    for i, kind in enumerate(["ant", "bee"] * 2):
        assert act(client, do="label", sample=ids[f"p{i:02d}.png"], label=kind).status_code == 200
    accepted = [[ids[f"p{i:02d}.png"], "cat"] for i in range(5, 10)]
    assert act(client, do="accept", labels=accepted).status_code == 200
    assert act(client, do="label", sample=ids["p10.png"], label="dog").status_code == 200
    assert act(client, do="undo").status_code == 200
    studio.close()
    (folder / "a-new.png").write_bytes(image(99))
    (folder / "p10.png").unlink()  # its label was undone
    (folder / "p07.png").unlink()  # one of an accepted batch
    (folder / "p00.png").rename(folder / "z-renamed.png")
    studio = make_studio(open_source(folder))
    client = make_client(studio)
    wanted = {"z-renamed.png": "ant", "p01.png": "bee", "p02.png": "ant", "p03.png": "bee"}
    wanted |= {f"p{i:02d}.png": "cat" for i in (5, 6, 8, 9)}
    assert labels(studio) == wanted
    assert any("1 sample that was labelled is not in the data" in note for note in studio.notes)
    answer = client.get(f"/api/picture/{ids['p00.png']}")
    assert answer.content == pictures["p00.png"]
    assert "immutable" in answer.headers["cache-control"]
    assert client.get(f"/api/picture/{ids['p07.png']}").status_code == 404
    assert act(client, do="undo").status_code == 200  # the batch, in which one is missing
    assert labels(studio) == {name: label for name, label in wanted.items() if label != "cat"}
    studio.close()
    (folder / "p07.png").write_bytes(image(7))
    assert "p07.png" not in labels(make_studio(open_source(folder)))  # undone with the others


def test_a_picture_is_that_of_its_identity_or_none(folder, make_studio, make_client, tmp_path):
    client = make_client(make_studio(open_source(folder)))
    ids = by_name(client)
    (folder / "p03.png").write_bytes(image(50))
    secret = tmp_path / "secret.png"
    secret.write_bytes(image(51))
    (folder / "p04.png").unlink()
    (folder / "p04.png").symlink_to(secret)
    for name in ("p03.png", "p04.png"):
        assert client.get(f"/api/picture/{ids[name]}").status_code == 404
    assert client.get(f"/api/picture/{ids['p05.png']}").status_code == 200


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
@pytest.mark.parametrize("size", ["", "?full=1"])
def test_a_pipe_or_a_device_in_the_place_of_a_picture_keeps_nobody_waiting(folder, make_studio, make_client, size):
    """Reading the first would never begin, and reading the second never end."""
    client = make_client(make_studio(open_source(folder)))
    ids = by_name(client)
    for name in ("p03.png", "p04.png"):
        (folder / name).unlink()
    os.mkfifo(folder / "p03.png")
    (folder / "p04.png").symlink_to("/dev/full")
    for name in ("p03.png", "p04.png"):
        assert client.get(f"/api/picture/{ids[name]}{size}").status_code == 404
    assert client.get(f"/api/picture/{ids['p05.png']}{size}").status_code == 200


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="open files cannot be counted")
def test_a_folder_in_the_place_of_a_picture_leaves_no_file_open(folder, make_studio, make_client):
    """However often a page asks for it."""
    client = make_client(make_studio(open_source(folder)))
    ids = by_name(client)
    (folder / "p03.png").unlink()
    (folder / "p03.png").mkdir()

    def asked(times):
        codes = {client.get(f"/api/picture/{ids['p03.png']}").status_code for _ in range(times)}
        assert codes == {404}
        return len(os.listdir("/proc/self/fd"))

    before = asked(2)
    assert asked(20) < before + 10


def test_rows_are_added_sorted_and_removed(tmp_path, make_studio, make_client):
    rng = np.random.default_rng(0)
    rows = [f"{a:.3f},{b:.3f}" for a, b in rng.normal(size=(20, 2))]
    rows[7] = rows[6]  # an exact copy
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["a,b", *rows]) + "\n")
    studio = make_studio(open_source(path))
    client = make_client(studio)
    for place, id in enumerate(list(studio.state.ids)):
        assert act(client, do="label", sample=id, label=f"kind {place % 3}").status_code == 200
    given = dict(zip(rows, studio.state.labels, strict=True))
    studio.close()
    left = [rows[i] for i in rng.permutation(20)[:15]]
    path.write_text("\n".join(["a,b", "9.000,9.000", *left]) + "\n")
    studio = make_studio(open_source(path))
    assert studio.state.labels[0] is None
    twice = {rows[6]}
    for row, label in zip(left, studio.state.labels[1:], strict=True):
        assert label == given[row] or (row in twice and label in ("kind 0", "kind 1"))


def test_tabs_get_different_samples_and_undo_their_own(studio, make_client):
    client = make_client(studio)

    def shown(tab):
        return client.post("/api/next", json={"n": 1}, headers={"x-ancr-tab": tab}).json()["next"][0]["id"]

    left, right = shown("left"), shown("right")
    assert left != right
    assert shown("left") == left
    after = act(client, "left", do="label", sample=left, label="1").json()
    assert after["next"][0]["id"] not in (left, right)
    assert act(client, "right", do="label", sample=right, label="2").status_code == 200
    assert act(client, "left", do="undo").status_code == 200
    assert studio.state.labels[studio.state.index(left)] is None
    assert studio.state.labels[studio.state.index(right)] == "2"
    refused = act(client, "left", do="label", sample=right, label="3", was=None)
    assert refused.status_code == 409
    assert "another tab" in refused.json()["error"]
    assert studio.state.labels[studio.state.index(right)] == "2"


def test_one_malformed_action_fails_alone(studio, client):
    ids = [one["id"] for one in client.post("/api/next", json={"n": 30}).json()["next"]]
    actions = [{"do": "label", "sample": id, "label": "4"} for id in ids]
    for bad in ({"do": None}, {"do": "accept", "labels": {"a": 1}}, {"do": "settings", "settings": 3}):
        actions.insert(10, bad)
    results = studio.worker._handlers["act"]([("", action) for action in actions])
    assert sum(isinstance(result, dict) for result in results) == 30
    assert [type(result).__name__ for result in results[10:13]] == ["ActionError"] * 3
    assert all(studio.state.labels[studio.state.index(id)] == "4" for id in ids)


def test_nothing_can_be_written_beside_the_data(folder, make_studio, monkeypatch, tmp_path):
    monkeypatch.setattr(project, "state_home", lambda name: tmp_path / "home" / name)
    opened = project.Journal

    def journal(where):
        if where.is_relative_to(folder):
            raise PermissionError(13, "Permission denied")
        return opened(where)

    monkeypatch.setattr(project, "Journal", journal)
    studio = make_studio(open_source(folder))
    assert studio.journal.path.is_relative_to(tmp_path / "home")
    assert any("Nothing can be written beside the data" in note for note in studio.notes)


def test_nothing_can_be_written_anywhere(folder, make_studio, monkeypatch, tmp_path):
    def journal(where):
        raise OSError(30, "Read-only file system", str(where))

    monkeypatch.setattr(project, "state_home", lambda name: tmp_path / "home" / name)
    monkeypatch.setattr(project, "Journal", journal)
    with pytest.raises(
        OSError, match=r"kept neither beside the data \(.*photos\) nor in .*home.*: Read-only file system"
    ):
        make_studio(open_source(folder))


@pytest.mark.skipif(sys.platform != "linux", reason="a full disk is made by a limit of Linux")
def test_a_studio_does_not_start_where_nothing_can_be_kept(tmp_path):
    """No file can grow: the new database has no place, and that is one line."""
    path = tmp_path / "rows.csv"
    path.write_text("a,b,label\n1,2,x\n2,1,y\n")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (600, limits[1]))
    try:
        with pytest.raises(AssertionError) as refused:
            Process(tmp_path, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    last = str(refused.value).strip().splitlines()[-1]
    assert last.startswith(f"Error: {path}.ancr-studio/studio.db cannot be")
    assert "Traceback" not in str(refused.value)


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of a running process is set as on Linux")
def test_what_a_full_disk_refused_stays_refused(tmp_path):
    """No file can grow beyond 600 bytes: labels are refused with a sentence, then work again; a restart agrees."""
    saved, refused = {}, []

    def label_one(client, text):
        id = client.post("/api/next", json={"n": 1}).json()["next"][0]["id"]
        answer = act(client, do="label", sample=id, label=text, was=None)
        if answer.status_code == 200:
            saved[id] = text
        else:
            refused.append(answer)
        return id

    with Process(tmp_path) as process:
        client = client_of(process)
        before = client.get("/api/state").json()["labelled"]
        for _ in range(5):
            label_one(client, "1")
        resource.prlimit(process.process.pid, resource.RLIMIT_FSIZE, (600, resource.RLIM_INFINITY))
        for _ in range(30):
            label_one(client, "2")
        assert len(refused) > 10
        assert all(answer.status_code == 507 and "not saved" in answer.json()["error"] for answer in refused)
        assert client.get("/api/state").json()["labelled"] == before + len(saved)
        resource.prlimit(process.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        for _ in range(3):
            label_one(client, "3")
        assert "3" in saved.values()
        process.kill()
    with Process(tmp_path) as process:
        lines = [line.split(",") for line in client_of(process).get("/api/export/labels.csv").text.splitlines()]
        assert {line[4]: line[1] for line in lines if line[3] == "labelled"} == saved


def test_a_skipped_sample_is_found_and_comes_back(studio, client):
    (first,) = client.post("/api/next", json={"n": 1}).json()["next"]
    client.post("/api/act", json={"do": "skip", "sample": first["id"]})
    numbers = client.get("/api/browse", params={"status": "skipped"}).json()["numbers"]
    assert numbers == [first["number"] - 1]
    assert not studio.state.is_waiting(first["number"] - 1)
    client.post("/api/act", json={"do": "return"})
    assert client.get("/api/browse", params={"status": "skipped"}).json()["numbers"] == []
    assert studio.state.is_waiting(first["number"] - 1)


def test_labels_and_answers_do_not_wait_for_a_fit(studio, client, monkeypatch):
    """Ranks and estimates hang until the end of the test; labelling and asking go on."""
    from ancr.studio import insights

    begun, goes_on = threading.Event(), threading.Event()

    def hangs(*arguments):
        begun.set()
        goes_on.wait(60)
        raise ValueError("it was held up")

    monkeypatch.setattr(insights, "ranked_of", hangs)
    monkeypatch.setattr(insights, "estimate_of", hangs)
    try:
        for number in range(5):
            (sample,) = client.post("/api/next", json={"n": 1}).json()["next"]
            told = client.post("/api/act", json={"do": "label", "sample": sample["id"], "label": str(number)})
            assert told.status_code == 200
            assert client.post("/api/answer", json={"sample": sample["id"]}).status_code == 200
            assert begun.wait(30)
        assert not goes_on.is_set()
    finally:
        goes_on.set()
