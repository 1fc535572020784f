"""Who is refused: every row of the table in docs/studio.md."""

import asyncio
import io
import json
import os
from urllib.parse import unquote

import numpy as np
import pytest
from PIL import Image

from ancr.studio.app import make_app
from ancr.studio.connections import bind
from ancr.studio.desk import Desk
from ancr.studio.openings import open_source
from ancr.studio.security import POLICY
from ancr.studio.server import PORTS
from tests.studio.conftest import HOME, PORT, TOKEN

LABEL = {"do": "label", "sample": "0", "label": "0"}


def picture(size=(8, 8)):
    buffer = io.BytesIO()
    Image.new("L", size).save(buffer, "PNG")
    return buffer.getvalue()


def test_the_token_is_exchanged_for_a_strict_cookie(studio, make_client):
    client = make_client(studio, inside=False)
    answer = client.get(f"/?token={TOKEN}", follow_redirects=False)
    assert answer.status_code == 200
    assert 'content="0;url=/"' in answer.text
    assert TOKEN not in answer.text
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert TOKEN not in client.get("/").text


@pytest.mark.parametrize("path", ["/", "/api/state", "/api/picture/0", "/api/events", "/static/main.js"])
def test_nothing_is_shown_without_a_token(studio, make_client, path):
    client = make_client(studio, inside=False)
    assert client.get(path).status_code == 401


@pytest.mark.parametrize("token", ["", "wrong", TOKEN[:-1], TOKEN + "x", "ä" * 30])
def test_a_wrong_token_is_refused(studio, make_client, token):
    client = make_client(studio, inside=False)
    assert client.get("/", params={"token": token}).status_code in (401, 403)
    client.cookies.set(f"ancr-studio-{PORT}", "wrong")
    assert client.get("/api/state").status_code == 401
    assert client.post("/api/act", json=LABEL).status_code == 401
    assert studio.state.version == 0


@pytest.mark.parametrize(
    "host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1:1", "127.0.0.1", f"0.0.0.0:{PORT}"]
)
def test_a_foreign_host_is_refused(studio, make_client, host):
    """DNS rebinding: the browser sends the cookie of a name that leads here."""
    client = make_client(studio)
    assert client.get("/api/state", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("origin", ["http://evil.example", "null", f"https://127.0.0.1:{PORT}", "http://127.0.0.1:1"])
def test_a_foreign_origin_is_refused(client, studio, origin):
    answer = client.post("/api/act", json=LABEL, headers={"origin": origin})
    assert answer.status_code == 403
    assert client.get("/api/state", headers={"origin": origin}).status_code == 403
    assert studio.state.version == 0


def test_an_action_without_an_origin_and_a_request_of_another_site_are_refused(studio, client):
    del client.headers["origin"]
    assert client.post("/api/act", json=LABEL).status_code == 403
    assert client.get("/api/export/labels.csv", headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert studio.state.version == 0


def test_a_form_of_another_page_cannot_act(client, studio):
    answer = client.post("/api/act", content="{}", headers={"content-type": "text/plain"})
    assert answer.status_code == 415
    assert studio.state.version == 0


PATHS = ["..", "../app.py", "..%2fapp.py", "%2e%2e%2fapp.py", "..%5capp.py", "%252e%252e%252fapp.py", "/etc/passwd"]


def raw_get(studio, path):
    """``(status, body)`` of a request whose path no client has tidied up."""
    sent = []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    headers = [(b"host", HOME[7:].encode()), (b"cookie", f"ancr-studio-{PORT}={TOKEN}".encode())]
    scope = {"type": "http", "method": "GET", "path": unquote(path), "raw_path": path.encode(), "query_string": b""}
    scope |= {"headers": headers, "http_version": "1.1", "scheme": "http", "root_path": "", "asgi": {"version": "3.0"}}
    asyncio.run(make_app(Desk(studio), TOKEN, PORT)(scope, receive, send))
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


@pytest.mark.parametrize("path", [*PATHS, "main.js%00.css", "main.js%0a", "main.js\n", "__init__.py", "index.html"])
def test_no_path_leads_out_of_the_page(studio, path):
    assert raw_get(studio, "/static/main.js")[0] == 200
    for start in ("/static/", "/api/picture/", "/api/export/", "/api/row/", "/"):
        status, body = raw_get(studio, start + path)
        assert status == 404
        assert b"import" not in body


def test_a_link_out_of_the_folder_is_not_served(tmp_path, make_studio, make_client):
    folder, secret = tmp_path / "data", tmp_path / "secret.png"
    for name in ("ant", "bee"):
        (folder / name).mkdir(parents=True)
        for i in range(3):
            Image.fromarray(np.random.default_rng(i).integers(0, 255, (20, 20), np.uint8)).save(
                folder / name / f"{i}.png"
            )
    secret.write_bytes(picture())
    os.symlink(secret, folder / "ant" / "link.png")
    os.symlink(tmp_path, folder / "bee" / "everything")
    source = open_source(folder)
    assert len(source.names) == 6
    assert not any("link" in name or "everything" in name for name in source.names)
    studio = make_studio(source)
    client = make_client(studio)
    notes = client.get("/api/state").json()["notes"]
    assert any(note.startswith("1 link leads out of the folder and was left out") for note in notes)
    assert client.get(f"/api/picture/{studio.state.ids[0]}").status_code == 200
    assert client.get("/api/picture/6").status_code == 404


def test_an_upload_of_a_gigabyte_is_refused_before_it_is_read(client):
    sent = 0

    def content():
        nonlocal sent
        for _ in range(1024):
            sent += 2**20
            yield bytes(2**20)

    declared = client.post(
        "/api/image", content=b"x", headers={"content-type": "image/png", "content-length": str(2**30)}
    )
    assert declared.status_code == 413
    answer = client.post("/api/image", content=content(), headers={"content-type": "image/png"})
    assert answer.status_code == 413
    answer = client.post("/api/act", content=bytes(2**21), headers={"content-type": "application/json"})
    assert answer.status_code == 413


def test_a_bomb_is_not_unpacked(client):
    """An image of a billion pixels takes a few kilobytes."""
    Image.MAX_IMAGE_PIXELS, most = None, Image.MAX_IMAGE_PIXELS
    try:
        bomb = picture((20_000, 20_000))
    finally:
        Image.MAX_IMAGE_PIXELS = most
    assert len(bomb) < 2**20
    answer = client.post("/api/image", content=bomb, headers={"content-type": "image/png"})
    assert answer.status_code == 400
    assert "million" in answer.json()["error"] or "cannot be read" in answer.json()["error"]


@pytest.mark.parametrize(
    "content", [b"", b"GIF89a", b"\x89PNG\r\n\x1a\n" + bytes(50), b"%PDF-1.4", b"<svg onload='x'/>"]
)
def test_what_is_no_image_is_a_sentence(client, content):
    answer = client.post("/api/image", content=content, headers={"content-type": "image/png"})
    assert answer.status_code == 400
    assert answer.json()["error"].endswith(".")


def test_scripts_in_names_stay_text(client, studio):
    name = "<script>alert(1)</script>"
    free = client.post("/api/next", json={"n": 1}).json()["next"][0]["id"]
    answer = client.post("/api/act", json={**LABEL, "sample": free, "label": name})
    assert answer.status_code == 200
    state = client.get("/api/state")
    assert state.headers["content-type"] == "application/json"
    assert name in [one["label"] for one in state.json()["classes"]]
    page = client.get("/")
    assert name not in page.text
    assert page.headers["content-security-policy"] == POLICY
    assert "unsafe" not in POLICY
    assert page.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "label", ["two\nlines", "", "  ", "x" * 300, 7, None, ["a"], "nul\0", "nan", " NaN ", "\u200b"]
)
def test_a_label_is_one_line_of_text(client, studio, label):
    free = client.post("/api/next", json={"n": 1}).json()["next"][0]["id"]
    answer = client.post("/api/act", json={"do": "label", "sample": free, "label": label})
    assert answer.status_code == 400
    assert answer.json()["error"].endswith(".")
    assert studio.state.version == 0


def test_a_file_name_with_a_newline_does_not_break_the_journal(tmp_path, make_studio, make_client):
    folder = tmp_path / "data"
    for i, name in enumerate(["ant", "bee", "ant", "bee", "unlabelled"]):
        (folder / name).mkdir(parents=True, exist_ok=True)
        image = np.random.default_rng(i).integers(0, 255, (20, 20), np.uint8)
        Image.fromarray(image).save(folder / name / f"a\nb{i}.png", "PNG")
    studio = make_studio(open_source(folder))
    client = make_client(studio)
    waiting = client.post("/api/next", json={"n": 1}).json()["next"][0]
    assert "\n" in waiting["name"]
    assert client.post("/api/act", json={"do": "label", "sample": waiting["id"], "label": "ant"}).status_code == 200
    studio.close()
    again = make_studio(open_source(folder))
    assert again.state.labels[again.state.index(waiting["id"])] == "ant"


def test_no_event_stream_and_no_websocket_without_a_token(studio, make_client):
    from starlette.websockets import WebSocketDisconnect

    outside, inside = make_client(studio, inside=False), make_client(studio)
    assert outside.get("/api/events").status_code == 401
    for client in (outside, inside):
        with pytest.raises(WebSocketDisconnect), client.websocket_connect("/api/events"):
            pass


def test_it_listens_on_this_machine_alone():
    with bind(PORTS) as listener:
        host, port = listener.getsockname()
        assert host == "127.0.0.1"
        listener.listen()
        with pytest.raises(OSError, match=f"--port {port} is in use"):
            bind(port)


@pytest.mark.parametrize("body", [[], "x", {"settings": 3}, {"settings": {"alpha": "x"}}, {"settings": {"alpha": 1e9}}])
def test_bad_requests_are_sentences(client, body):
    answer = client.post("/api/answer", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"].endswith(".")


WEIRD = [None, True, [], {}, -1, 10**400, 1e308, "\ud800", "x" * 5000, [[[[]]]], {"class": 5}, {"class": "os:system"}]


@pytest.mark.parametrize("value", WEIRD, ids=[str(place) for place in range(len(WEIRD))])
def test_no_value_is_more_than_a_refusal(client, studio, value):
    """Whatever is sent in place of a value: an answer, or a sentence; never an error of the server."""
    free = client.post("/api/next", json={"n": 1}).json()["next"][0]["id"]
    bodies = {
        "/api/answer": [{"sample": value}, {"sample": free, "settings": value}, {"row": value}, {"row": [value]}],
        "/api/controls": [{"settings": value}, {"settings": {"alpha": value}}, {"settings": {"method": value}}],
        "/api/next": [{"n": value}, {"seed": value, "n": 1}],
        "/api/act": [
            {"do": value},
            {"do": "skip", "sample": value},
            {"do": "accept", "labels": value},
            {"do": "accept", "labels": [[value, value]]},
            {"do": "settings", "settings": value},
            {"do": "settings", "settings": {"space__gamma": value}},
        ],
    }
    for path, several in bodies.items():
        for body in several:
            content = json.dumps(body)
            answer = client.post(path, content=content, headers={"content-type": "application/json"})
            assert answer.status_code in (200, 400), (path, content[:80], answer.text)
    assert client.get("/api/state").status_code == 200


# What is sent in place of every value in an address.
ODD = [
    "",
    "x",
    "-1",
    "1" * 400,
    "1e999",
    "nan",
    "[" * 5000,
    "\0",
    "a=",
    'a>"',
    "é" * 3000,
    "5-0",
    ",",
    "9999999",
    "1.5",
]
ASKED = {
    "/api/browse": ("text", "label", "guess", "confidence", "status", "sort", "least", "most"),
    "/api/samples": ("numbers", "start"),
    "/api/map": ("layout",),
    "/api/map/colours": ("by",),
    "/api/random": ("kind",),
    "/api/surest": ("label",),
    "/api/confused": ("method", "truth", "predicted"),
    "/api/export/labels.csv": ("raw",),
}


def is_told(answer):
    """An answer, or a sentence; never an error of the server."""
    return answer.status_code == 200 or (answer.status_code < 500 and answer.json()["error"].endswith("."))


@pytest.mark.parametrize("value", ODD, ids=[str(place) for place in range(len(ODD))])
def test_no_value_in_an_address_is_more_than_a_refusal(client, studio, value):
    for path, names in ASKED.items():
        for name in names:
            answer = client.get(path, params={"start": studio.start, name: value})
            assert is_told(answer), (path, name, answer.text)
    for body in ({"key": value}, {"project": value}, {"key": ".", "label": value, "kinds": {value: value}}):
        for path in ("/api/preview", "/api/open", "/api/forget", "/api/leave"):
            assert is_told(client.post(path, json=body)), (path, body)


@pytest.mark.parametrize(
    "listed",
    [b"", b"x", b"[]", b'[["a.csv", -1]]', b'[["a.csv", 1e400]]', b'[["a.csv", "3"]]', b"[[null, 3]]", b"[" * 5000],
)
def test_a_list_of_files_that_makes_no_sense_is_refused(client, listed):
    answer = client.post("/api/upload", content=listed + b"\n", headers={"content-type": "application/octet-stream"})
    assert answer.status_code == 400
    assert answer.json()["error"].endswith(".")


def test_numbers_and_depths_that_no_page_sends(client):
    long, deep = "1" * 5000, "[" * 100_000
    for path in (f"/api/number/{long}", "/api/number/0", "/api/number/-1", f"/api/row/{long}", "/api/picture/%ff"):
        assert client.get(path).status_code == 404
    assert client.get(f"/api/confused?method=a&truth={long}&predicted=1").status_code == 400
    for content in (f'{{"n": {long}}}', f'{{"settings": {deep}}}', deep):
        answer = client.post("/api/next", content=content, headers={"content-type": "application/json"})
        assert answer.status_code == 400
    for settings in ("[" * 5000, '{"alpha":1' + "0" * 400 + "}"):
        answer = client.post(
            "/api/image", params={"settings": settings}, content=picture(), headers={"content-type": "image/png"}
        )
        assert answer.status_code == 400


def test_names_that_are_not_utf_8_are_shown(tmp_path, make_studio, make_client):
    folder = os.fsencode(tmp_path / "data")
    for i, name in enumerate([b"ant", b"b\xffe", b"ant", b"b\xffe", b"unlabelled"]):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
        image = np.random.default_rng(i).integers(0, 255, (20, 20), np.uint8)
        with open(os.path.join(folder, name, b"p\xfe%d.png" % i), "wb") as file:
            Image.fromarray(image).save(file, "PNG")
    studio = make_studio(open_source(tmp_path / "data"))
    client = make_client(studio)
    state = client.get("/api/state")
    assert state.status_code == 200
    assert len(state.json()["classes"]) == 2
    waiting = client.post("/api/next", json={"n": 1}).json()["next"][0]
    assert waiting["name"].isprintable()
    assert client.get(f"/api/picture/{waiting['id']}").status_code == 200
    label = state.json()["classes"][1]["label"]
    answer = client.post("/api/act", json={"do": "label", "sample": waiting["id"], "label": label})
    assert answer.status_code == 200
    assert label in client.get("/api/export/labels.csv").text


def test_no_formula_for_tables_of_semicolons(client):
    free = client.post("/api/next", json={"n": 1}).json()["next"][0]["id"]
    assert client.post("/api/act", json={"do": "label", "sample": free, "label": "a;=1+1"}).status_code == 200
    assert ",a;'=1+1," in client.get("/api/export/labels.csv").text


def test_home_is_the_only_origin():
    assert HOME == f"http://127.0.0.1:{PORT}"
