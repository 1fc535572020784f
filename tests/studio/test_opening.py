"""Data that a page brings: what is kept, what is shown of it, what is opened, and what is refused."""

import errno
import io
import json
import shutil
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ancr.studio import recent
from ancr.studio.desk import HERE, Desk
from ancr.studio.openings import copies_home, open_source
from ancr.studio.uploads import MOST_FILES, Receiver, places
from tests.studio.conftest import HOME

KIND = {"content-type": "application/octet-stream"}
TABLE = "id,height,colour,when,empty,kind\n" + "".join(
    f"{1000 + 7 * i},{'' if i % 9 == 0 else 150 + i},{'red' if i % 2 else 'blue'},2024-01-{i % 28 + 1:02d},,"
    f"{'' if i % 4 == 0 else 'ant' if i % 2 else 'bee'}\n"
    for i in range(60)
)


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """The user's data folder."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def body(files):
    """What a page sends."""
    listed = json.dumps([[name, len(content)] for name, content in files])
    return listed.encode() + b"\n" + b"".join(content for _, content in files)


def bring(client, *files):
    answer = client.post("/api/upload", content=body(files), headers=KIND)
    assert answer.status_code == 200, answer.text
    return answer.json()["key"]


def refused(client, *files):
    answer = client.post("/api/upload", content=body(files), headers=KIND)
    assert answer.status_code in (400, 413, 507), answer.text
    assert [*copies_home().glob("*"), *copies_home().glob(".*")] == []
    return answer.json()["error"]


def preview(client, key, **wanted):
    answer = client.post("/api/preview", json={"key": key, **wanted})
    assert answer.status_code == 200, answer.text
    return answer.json()


def picture(seed, size=(24, 24), kind="PNG"):
    file = io.BytesIO()
    Image.fromarray(np.random.default_rng(seed).integers(0, 255, size, np.uint8)).save(file, kind)
    return file.getvalue()


def archive(entries, **options):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in entries:
            packed.writestr(name, content)
    return file.getvalue()


def columns_of(shown):
    return {column["name"]: column for column in shown["columns"]}


def test_a_table_is_shown_with_its_plan_and_opened(client, studio):
    key = bring(client, ("people.csv", TABLE.encode()))
    shown = preview(client, key)
    assert (shown["what"], shown["samples"], shown["label"], shown["problem"]) == ("table", 60, "", "")
    shown = preview(client, key, label="kind")
    assert (shown["labelled"], shown["n_classes"]) == (45, 2)
    found = columns_of(shown)
    assert {name: one["kind"] for name, one in found.items()} == {
        "id": "drop",
        "height": "number",
        "colour": "category",
        "when": "date",
        "empty": "drop",
        "kind": "label",
    }
    assert (found["id"]["why"], found["empty"]["why"]) == ("identifier", "empty")
    assert (found["height"]["gaps"], found["kind"]["gaps"]) == (7, 15)
    assert found["colour"]["values"] == ["blue", "red"]
    before = client.get("/api/state").json()
    assert client.post("/api/open", json={"key": key, "label": "kind"}).status_code == 200
    state = client.get("/api/state").json()
    assert state["start"] != before["start"]
    assert (state["name"], state["labelled"], state["waiting"]) == ("people.csv", 45, 15)
    assert studio.worker.submit("read", int).exception() is not None  # the one before has ended


def test_the_plan_of_the_page_is_that_of_the_command_line(client, tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(TABLE)
    source = open_source(path, "kind", kinds={"height": "category", "id": "number"})
    key = bring(client, ("people.csv", TABLE.encode()))
    shown = preview(client, key, label="kind", kinds={"height": "category", "id": "number"})
    found = columns_of(shown)
    assert {name: found[name]["kind"] for name in source.plan.names} == {c.name: c.asked for c in source.plan.columns}
    assert shown["labelled"] == np.count_nonzero(source.data.target >= 0)


def test_labels_stay_when_a_column_is_changed_and_are_others_for_another_question(client):
    key = bring(client, ("people.csv", TABLE.encode()))
    client.post("/api/open", json={"key": key, "label": "kind"})
    first = client.post("/api/next", json={"n": 1}).json()["next"][0]
    client.post("/api/act", json={"do": "label", "sample": first["id"], "label": "cat"})
    answer = client.post("/api/open", json={"key": key, "label": "kind", "kinds": {"height": "category"}})
    assert answer.status_code == 200, answer.text
    assert client.get(f"/api/row/{first['id']}").json()["label"] == "cat"
    client.post("/api/open", json={"key": key, "label": "colour"})
    assert [one["label"] for one in client.get("/api/state").json()["classes"]] == ["blue", "red"]
    client.post("/api/open", json={"key": key, "label": "kind"})
    assert client.get(f"/api/row/{first['id']}").json()["label"] == "cat"


def test_a_column_that_keeps_a_table_from_being_read_can_be_left_out(client):
    rows = "".join(f"{i},{'about 7' if i == 40 else i * 2},{'ab'[i % 2]}\n" for i in range(60))
    key = bring(client, ("mixed.csv", f"x,y,label\n{rows}".encode()))
    shown = preview(client, key)
    assert shown["problem"].startswith("mixed.csv, row 41 (line 42), column 'y': 'about 7' is not a number")
    assert [column["name"] for column in shown["columns"]] == ["x", "y", "label"]
    assert client.post("/api/open", json={"key": key, "label": "label"}).status_code == 400
    shown = preview(client, key, label="label", kinds={"y": "drop", "x": "number"})
    assert shown["problem"] == ""
    assert client.post(
        "/api/open", json={"key": key, "label": "label", "kinds": {"y": "drop", "x": "number"}}
    ).is_success


def test_a_folder_of_images(client, tmp_path):
    files = [(f"pets/{name}/{i}.png", picture(i)) for name in ("ant", "bee") for i in range(4)]
    files = [(name, picture(k)) for k, (name, _) in enumerate(files)]
    broken = ("pets/bee/broken.jpg", b"not an image")
    key = bring(client, *files, broken, ("pets/notes.md", b"hello"), ("pets/loose.png", picture(99)))
    shown = preview(client, key)
    assert (shown["what"], shown["name"], shown["samples"], shown["labelled"]) == ("images", "pets", 10, 9)
    assert shown["classes"] == [{"label": "ant", "count": 4}, {"label": "bee", "count": 5}]
    assert any("1 file that is not an image was left out" in note for note in shown["notes"])
    assert client.post("/api/open", json={"key": key}).status_code == 200
    state = client.get("/api/state").json()
    assert (state["samples"], state["labelled"], state["waiting"]) == (9, 8, 1)
    assert any("bee/broken.jpg" in note and str(copies_home()) not in note for note in state["notes"])
    id = client.post("/api/next", json={"n": 1}).json()["next"][0]["id"]
    assert client.get(f"/api/picture/{id}?full=1").content == picture(99)
    assert bring(client, *reversed(files), broken, ("pets/loose.png", picture(99))) != key  # without the notes
    assert bring(client, ("pets/notes.md", b"hello"), ("pets/loose.png", picture(99)), broken, *files) == key


def test_an_archive_is_unpacked_with_its_empty_class(client):
    entries = [(f"pets/{name}/{i}.png", picture(i + len(name))) for name in ("ant", "beetle") for i in range(3)]
    content = archive([*entries, ("pets/none/", b""), ("__MACOSX/pets/._1.png", b"x"), ("pets/readme.txt", b"x")])
    shown = preview(client, bring(client, ("pets.zip", content)))
    assert (shown["samples"], shown["name"], shown["n_classes"]) == (6, "pets", 2)
    assert any("Class 'none' is empty" in note for note in shown["notes"])
    assert any("1 file of the archive is not an image" in note for note in shown["notes"])
    assert not list(copies_home().rglob("*.zip"))


def bomb():
    """An image of zeros that unpacks to a thousand times its size."""
    return archive([("a/big.bmp", bytes(2**29))])


def link():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        entry = zipfile.ZipInfo("a/secret.png")
        entry.external_attr = 0o120777 << 16
        packed.writestr(entry, "/etc/passwd")
        packed.writestr("a/1.png", picture(1))
    return file.getvalue()


@pytest.mark.parametrize("name", ["../out.png", "/etc/out.png", "a/../../out.png", "a//out.png", "..\\out.png"])
def test_no_name_leads_out_of_its_folder(client, home, name):
    assert "nothing was kept" in refused(client, (name, picture(1)))
    assert "lead out of it" in refused(client, ("pets.zip", archive([("a/1.png", picture(2)), (name, picture(1))])))
    assert not list(home.parent.rglob("out.png"))


@pytest.mark.parametrize("name", [".", "./", "./.", ""])
def test_a_name_that_names_nothing_is_refused(client, name):
    assert "nothing was kept" in refused(client, (name, picture(1)))


def test_archives_made_to_harm_are_refused(client):
    assert "far more than its size" in refused(client, ("bomb.zip", bomb()))
    assert "cannot be unpacked" in refused(client, ("broken.zip", archive([("a.png", picture(1))])[:-30]))
    assert "holds no image" in refused(client, ("texts.zip", archive([("a.csv", b"a,b\n1,2\n")])))
    assert "holds no image" in refused(client, ("nested.zip", archive([("in.zip", archive([("a.png", b"x")]))])))
    assert "cannot be unpacked" in refused(client, ("empty.zip", b""))


def test_a_link_in_an_archive_is_left_out(client):
    shown = preview(client, bring(client, ("links.zip", link())))
    assert shown["samples"] == 1
    assert any("1 link of the archive was left out" in note for note in shown["notes"])
    assert not any(path.is_symlink() or path.name == "secret.png" for path in copies_home().rglob("*"))


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.csv", b"", "empty.csv is empty"),
        ("head.csv", b"a,b,label\n", "head.csv has a header but no rows"),
        ("only.csv", b"label\na\nb\n", "no column to learn from"),
        ("twice.csv", b"a,a,label\n1,2,x\n3,4,y\n", "several columns named 'a'"),
        ("list.csv", b"path,label\na/1.png,x\nb/2.png,y\n", "bring their folder"),
        ("latin.csv", "a,label\nä,x\n".encode("latin-1"), "is not UTF-8"),
        ("empty.txt", b"\n \n", "empty.txt is empty"),
        ("zeros.txt", b"a\0b\n", "zero bytes"),
        ("fake.xlsx", b"PK no", "is not an Excel file"),
        ("fake.parquet", b"PAR1", "is not a Parquet file"),
        ("fake.npz", b"PK", "fake.npz"),
        ("short.csv", b"a,b,label\n1,2,x\n3,y\n", "row 2 (line 3) has 2 cells"),
    ],
)
def test_a_broken_file_is_told_in_a_sentence(client, studio, name, content, words):
    key = bring(client, (name, content))
    answer = client.post("/api/preview", json={"key": key, "label": "label"} if b"label" in content else {"key": key})
    sentence = answer.json().get("error") or answer.json()["problem"]
    assert words in sentence
    assert str(copies_home()) not in sentence
    assert sentence.endswith(".")
    assert client.post("/api/open", json={"key": key}).status_code == 400
    assert client.get("/api/state").json()["start"] == studio.start


def test_tables_that_are_odd_but_whole(client):
    wide = ",".join(f"c{i}" for i in range(300)) + ",label\n"
    rows = "".join(",".join(str((i * j) % 17 + 0.5) for j in range(300)) + f",{'ab'[i % 2]}\n" for i in range(30))
    shown = preview(client, bring(client, ("wide.csv", (wide + rows).encode())))
    assert (len(shown["columns"]), shown["samples"], shown["problem"]) == (301, 30, "")
    shown = preview(client, bring(client, ("none.csv", b"a,label\n1,\n2,\n3,\n")))
    assert (shown["labelled"], shown["label"]) == (0, "label")
    shown = preview(client, bring(client, ("one.csv", b"note\nfine day\nbad day\n")))
    assert (shown["samples"], shown["columns"][0]["kind"]) == (2, "text")
    shown = preview(client, bring(client, ("unnamed.csv", b",a,label\n0,1,x\n1,5,y\n2,9,x\n")))
    assert columns_of(shown)[""]["kind"] == "row number"


def test_of_an_excel_file_with_several_sheets_the_first_is_read_and_that_is_said(client):
    openpyxl = pytest.importorskip("openpyxl")
    book, file = openpyxl.Workbook(), io.BytesIO()
    for row in [["a", "label"], [1, "x"], [2, "y"], [5, "x"]]:
        book.active.append(row)
    book.create_sheet("other")
    book.save(file)
    shown = preview(client, bring(client, ("book.xlsx", file.getvalue())))
    assert shown["samples"] == 3
    assert any("of 2 sheets only the first, 'Sheet', is read" in note for note in shown["notes"])


def test_texts_with_and_without_labels(client):
    texts = [f"{word} number {i} is here" for i in range(12) for word in ("good", "bad")]
    key = bring(client, ("plain.txt", "\n".join(texts).encode()))
    shown = preview(client, key)
    assert (shown["samples"], shown["labelled"]) == (24, 0)
    labelled = "\n".join(f"{text}\t{text.split()[0] if i % 3 else ''}" for i, text in enumerate(texts))
    shown = preview(client, bring(client, ("labelled.txt", labelled.encode())))
    assert (shown["labelled"], shown["label"], columns_of(shown)["text"]["kind"]) == (16, "label", "text")


def test_names_become_paths_that_can_be_written_anywhere():
    found = places(["😀/ü.png", "a/" + "x" * 400 + ".png", "b/\udce9.png", "A/1.png", "a/1.png", "c/a\nb:c.png"])
    assert [path.as_posix() for path in found if len(path.name) < 50] == [
        *("😀/ü.png", "b/_udce9.png", "A/1.png", "a/1 (2).png", "c/a_b_c.png")
    ]
    assert len(found[1].name.encode()) <= 255
    assert found[1].suffix == ".png"


def test_an_upload_that_does_not_come_whole_leaves_nothing(client):
    good = body([("a.csv", b"a,b\n1,2\n")])
    for content in (
        good[:-1],
        good + b"x",
        b"",
        b"no list\n",
        b'[["a.csv", -1]]\n',
        b'[["a.csv"]]\n',
        b"[]\n",
        b"[" * 9999 + b"\n",
    ):
        answer = client.post("/api/upload", content=content, headers=KIND)
        assert answer.status_code == 400, content[:40]
        assert list(copies_home().glob("*")) == []
        assert list(copies_home().glob(".*")) == []
    many = json.dumps([[f"{i}.png", 0] for i in range(MOST_FILES + 1)]).encode() + b"\n"
    assert client.post("/api/upload", content=many, headers=KIND).status_code == 400


def test_a_full_disk_keeps_nothing_and_says_so(client, monkeypatch):

    def full(self, piece):
        (self.folder / "part").write_bytes(piece)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Receiver, "feed", full)
    answer = client.post("/api/upload", content=body([("a.csv", b"a\n")]), headers=KIND)
    assert answer.status_code == 507
    assert "is full. Free some space" in answer.json()["error"]
    assert [*copies_home().glob("*"), *copies_home().glob(".*")] == []


def test_what_does_not_fit_is_refused_before_it_is_sent(client, monkeypatch):
    monkeypatch.setattr("ancr.studio.uploads.shutil.disk_usage", lambda path: shutil._ntuple_diskusage(9, 8, 2**20))
    sentence = refused(client, ("a.csv", b"a,b\n1,2\n"))
    assert sentence.startswith("Nothing was kept: it takes 0 MB, and 1 MB are free")


def test_uploads_are_refused_as_every_other_request_is(studio, make_client, client):
    content = body([("a.csv", b"a\n")])
    assert make_client(studio, inside=False).post("/api/upload", content=content, headers=KIND).status_code == 401
    assert client.post("/api/upload", content=content, headers={**KIND, "host": "evil.example"}).status_code == 421
    assert (
        client.post("/api/upload", content=content, headers={**KIND, "origin": "http://evil.example"}).status_code
        == 403
    )
    assert client.post("/api/upload", content=content, headers={"content-type": "text/plain"}).status_code == 415
    for path in ("/api/preview", "/api/open", "/api/forget"):
        assert client.post(path, content="{}", headers={"content-type": "text/plain"}).status_code == 415
    for key in ("../../etc", "", None, 7, "f" * 24, ["a"], "a/b"):
        assert client.post("/api/preview", json={"key": key}).status_code == 400
        assert client.post("/api/open", json={"key": key}).status_code == 400
        assert client.post("/api/open", json={"project": key}).status_code == 400
    assert client.get("/api/state").json()["start"] == studio.start


def test_an_action_meant_for_the_data_before_is_not_done_to_other_data(client, studio):
    """The same picture may be in two projects."""
    start, files = studio.start, [(f"pets/{name}/{i}.png", picture(i)) for i, name in enumerate(("ant", "bee") * 3)]
    client.post("/api/open", json={"key": bring(client, *files, ("pets/x.png", picture(50)))})
    first = client.get("/api/state").json()["start"]
    id = client.post("/api/next", json={"n": 1}).json()["next"][0]["id"]
    client.post(
        "/api/open", json={"key": bring(client, *files, ("pets/y.png", picture(50)), ("pets/z.png", picture(51)))}
    )
    for old in (start, first):
        answer = client.post(
            "/api/act", json={"do": "label", "sample": id, "label": "ant"}, headers={"x-ancr-start": old}
        )
        assert answer.status_code == 409
        assert "Nothing was done" in answer.json()["error"]
    assert client.get(f"/api/row/{id}").json()["label"] is None


def test_recent_projects_have_counts_and_say_what_is_missing(client, blobs, home):
    key = bring(client, ("people.csv", TABLE.encode()))
    client.post("/api/open", json={"key": key, "label": "kind"})
    id = client.post("/api/next", json={"n": 1}).json()["next"][0]["id"]
    client.post("/api/act", json={"do": "label", "sample": id, "label": "cat"})
    assert [one["given"] for one in client.get("/api/recent").json()["projects"]] == [1]
    client.post("/api/open", json={"digits": True})
    projects = client.get("/api/recent").json()["projects"]
    assert [(one["name"], one["given"], one["samples"], one["here"]) for one in projects] == [
        ("Digits", 0, 1797, True),
        ("people.csv", 1, 60, False),
    ]
    people = next(one for one in projects if one["name"] == "people.csv")
    assert (people["missing"], people["where"], people["label"]) == (False, "", "kind")
    assert client.post("/api/open", json={"project": people["id"]}).status_code == 200
    assert client.get(f"/api/row/{id}").json()["label"] == "cat"
    client.post("/api/open", json={"digits": True})
    (copies_home() / key / "people.csv").unlink()
    people = next(one for one in client.get("/api/recent").json()["projects"] if one["name"] == "people.csv")
    assert people["missing"]
    answer = client.post("/api/open", json={"project": people["id"]})
    assert (answer.status_code, "does not exist" in answer.json()["error"]) == (400, True)
    assert bring(client, ("people.csv", TABLE.encode())) == key  # brought again, its labels are there
    client.post("/api/open", json={"project": people["id"]})
    assert client.get(f"/api/row/{id}").json()["label"] == "cat"
    client.post("/api/open", json={"digits": True})
    left = client.post("/api/forget", json={"project": people["id"]}).json()["projects"]
    assert [one["name"] for one in left] == ["Digits"]
    assert (copies_home() / key / "people.csv").exists()


def test_a_project_that_another_studio_has_open_is_refused_with_its_address(client, make_studio, studio, blobs):
    key = bring(client, ("people.csv", TABLE.encode()))
    path = next((copies_home() / key).glob("*.csv"))
    other = make_studio(open_source(path, "kind"))
    other.journal.announce("http://127.0.0.1:8999/")
    answer = client.post("/api/open", json={"key": key, "label": "kind"})
    assert answer.status_code == 400
    assert answer.json()["error"] == (
        "A studio is already open on this data at http://127.0.0.1:8999/; use it or end it."
    )
    assert client.get("/api/state").json()["start"] == studio.start


def test_two_openings_at_once_and_one_that_is_cancelled(studio, monkeypatch, tmp_path):
    desk, begun, go = Desk(studio, HOME), threading.Event(), threading.Event()

    def slow(**options):
        options["advance"](3, 10)
        begun.set()
        go.wait(20)
        options["advance"](4, 10)

    monkeypatch.setattr("ancr.studio.desk.open_source", slow)
    folder = copies_home() / "abc"
    (folder / "pets").mkdir(parents=True)
    (folder / "about.json").write_text('{"name": "pets", "notes": []}')
    failures = []

    def run():
        try:
            desk.open_upload("abc", {})
        except Exception as error:
            failures.append(str(error))

    thread = threading.Thread(target=run)
    thread.start()
    assert begun.wait(20)
    assert desk.progress == {"name": "pets", "done": 3, "total": 10}
    with pytest.raises(ValueError, match="Another tab is opening data"):
        desk.open_upload("abc", {})
    desk.cancel()
    go.set()
    thread.join(20)
    assert failures == ["The opening was cancelled; what was open is still open."]
    assert desk.progress is None
    assert desk.studio is studio


def test_a_table_without_a_usual_label_asks_for_its_column(tmp_path, make_studio, make_client):
    path = tmp_path / "people.csv"
    path.write_text(TABLE)
    client = make_client(make_studio(open_source(path, kinds={"height": "category"})))
    state = client.get("/api/state").json()
    assert state["asks_label"]
    assert "choose it in Open, or start with --label COLUMN" in state["notes"][0]
    shown = preview(client, HERE)
    assert (shown["name"], shown["label"], shown["labelled"]) == ("people.csv", "", 0)
    assert columns_of(shown)["height"]["kind"] == "category"  # as the command line said
    shown = preview(client, HERE, label="kind")
    assert shown["labelled"] == 45
    assert client.post("/api/open", json={"key": HERE, "label": "kind", "kinds": shown["kinds"]}).status_code == 200
    state = client.get("/api/state").json()
    assert (state["asks_label"], state["labelled"], state["waiting"]) == (False, 45, 15)
    assert state["kinds"][state["columns"].index("height")] == "category"
    assert state["journal"].startswith(str(path))  # the file where it lies, not a copy
    assert client.post("/api/open", json={"key": HERE, "label": ""}).status_code == 200
    assert not client.get("/api/state").json()["asks_label"]  # that there is none was said
    assert not open_source(path, "").asks_label


def test_data_that_is_no_table_has_no_columns_to_choose(client):
    assert client.post("/api/preview", json={"key": HERE}).status_code == 400


def test_a_project_is_the_same_however_its_path_was_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert recent.project_id(Path("data/studio.db")) == recent.project_id(tmp_path / "data" / "studio.db")
