"""A soak: three browsers label a folder and a table while files come and go, the server is killed and the disk fills.

A person gives the class of what the page shows, by the colour of the picture or a cell of the row, and skips what has
no picture; so a label that reached another sample than the one on the page is a wrong one, and is found at the end.
``ANCR_SOAK`` is the number of seconds for each of the two (12 unless set; the full soak is 600).
"""

import base64
import csv
import io
import os
import resource
import socket
import sqlite3
import sys
import threading
import time
import zipfile
from contextlib import closing, suppress

import httpx
import numpy as np
import pytest
from PIL import Image

from ancr.studio.identities import digest
from tests.studio.browsing import Process
from tests.studio.test_process import client_of

SECONDS = float(os.environ.get("ANCR_SOAK", "12"))
IS_LONG = SECONDS >= 60
SIDE, WAIT, PARTS = 12, 60_000, 3
pytestmark = [
    pytest.mark.all,
    pytest.mark.skipif(sys.platform != "linux", reason="a full disk is made by a limit of Linux"),
]
# What a page shows: the sample, its picture in pixels and the file of its full size.
SEEN = """async () => {
    const name = document.querySelector('#current')?.textContent, image = document.querySelector('#current-box img');
    const coded = (bytes) => btoa(String.fromCharCode(...bytes));
    const cells = [...document.querySelectorAll('#current-box dd')].map((one) => one.textContent);
    const keys = [...document.querySelectorAll('.classes kbd')].map((one) => one.textContent);
    if (!name || !image) return { name, cells, keys };
    const id = image.src.split('/').pop();
    await image.decode().catch(() => {});
    if (!image.naturalWidth) return { name, id, keys };
    const canvas = new OffscreenCanvas(SIDE, SIDE), brush = canvas.getContext('2d');
    brush.drawImage(image, 0, 0, SIDE, SIDE);
    const answer = await fetch(`/api/picture/${id}?full=1`).catch(() => null);
    const file = answer?.ok ? coded(new Uint8Array(await answer.arrayBuffer())) : null;
    return { name, id, keys, pixels: coded(brush.getImageData(0, 0, SIDE, SIDE).data), file };
}""".replace("SIDE", str(SIDE))
GONE_ON = """before => document.querySelector('#current')?.textContent !== before
    || document.querySelector('#alert').textContent"""


def image(seed):
    """A picture in the colour of its class."""
    pixels = np.random.default_rng(seed).integers(0, 255, (SIDE, SIDE, 3), np.uint8)
    pixels[..., [channel for channel in range(3) if channel != seed % 3]] //= 2
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


def class_of_pixels(pixels):
    return "123"[pixels[..., :3].reshape(-1, 3).mean(axis=0).argmax()]


def class_of_file(content):
    return class_of_pixels(np.asarray(Image.open(io.BytesIO(content))))


class Told:
    """What browsers were told: labels and skips saved, refused, and not known to be either; and what they saw."""

    def __init__(self):
        self.saved, self.refused, self.open, self.names = {}, set(), {}, {}
        self.wrong, self.unseen, self.n_seen, self.n_refused, self.sentences = [], set(), 0, 0, set()
        self.on_the_way = set()

    def follow(self, page):
        """Listen to the labels that a page sends, and to what is answered."""
        page.on("request", lambda request: self._sent(request) if request.url.endswith("/api/act") else None)
        page.on("response", lambda answer: self._answered(answer) if answer.url.endswith("/api/act") else None)
        for end in ("requestfinished", "requestfailed"):
            page.on(end, lambda request: self.on_the_way.discard(request))

    def _sent(self, request):
        action = request.post_data_json
        self.on_the_way.add(request)
        self.open[action["sample"]] = action.get("label", "skipped")
        self.refused.discard(action["sample"])  # asked for again: what was refused before may be saved now

    def _answered(self, answer):
        action = answer.request.post_data_json
        id, label = action["sample"], action.get("label", "skipped")
        self.open.pop(id, None)
        if answer.status == 200:
            self.saved[id] = label
            self.refused.discard(id)
        else:
            self.n_refused += answer.status == 507
            self.refused |= {id} - set(self.saved)

    def look(self, seen):
        """Compare a picture with the sample that it should be of: the file by its hash, what is shown by its pixels."""
        if (id := seen.get("id")) is None:
            return
        if seen.get("pixels") is None:
            self.unseen.add(id)
        elif seen["file"] is not None:
            content, shown = base64.b64decode(seen["file"]), pixels_of(seen)
            there = np.asarray(Image.open(io.BytesIO(content)).convert("RGB"), float)
            apart = np.abs(shown[..., :3] - there).mean()  # 60 for two of these images
            self.n_seen += 1
            self.wrong += [id] if digest(content) != id or apart > 30 else []


def pixels_of(seen):
    """A picture as the page shows it."""
    return np.frombuffer(base64.b64decode(seen["pixels"]), np.uint8).reshape(SIDE, SIDE, 4)


class Person:
    """One browser, which labels what it is shown."""

    def __init__(self, browser, told):
        self.context = browser.new_context(viewport={"width": 1000, "height": 800})
        self.page, self.told, self.n, self.before = self.context.new_page(), told, 0, None
        told.follow(self.page)

    def enter(self, process):
        self.page.goto(process.address)
        self.page.wait_for_selector("[role=tab][aria-selected=true]", timeout=WAIT)
        self.page.click("#tab-label")
        self.page.wait_for_selector("#current, .empty", timeout=WAIT)

    def give(self):
        """Look at the sample, then label it: by a key where there is one, every fifth time by a word; or skip it."""
        seen = self.page.evaluate(SEEN)
        self.told.look(seen)
        self.before = seen["name"]
        if self.before is None:
            return
        if "id" in seen and seen.get("pixels") is None:  # another file has its name now, or a server was killed
            self.page.keyboard.press("s")
            return
        label = class_of_pixels(pixels_of(seen)) if "id" in seen else seen["cells"][-1].removesuffix(".0")
        if self.n % 5 and label in seen["keys"]:
            self.page.keyboard.press(label)
        else:
            self.page.fill("#class-name", label)
            self.page.press("#class-name", "Enter")
            self.page.evaluate("() => document.activeElement.blur()")
        self.n += 1

    def wait(self):
        """Until the page shows another sample, or says what is wrong."""
        if self.before is not None:
            self.page.wait_for_function(GONE_ON, arg=self.before, timeout=WAIT)
            self.told.sentences |= {self.page.text_content("#alert")} - {""}


class Soak:
    """Three browsers on one project, which stay the same while servers come and go at one address."""

    def __init__(self, home, path, browser, n):
        self.home, self.path, self.told = home, path, Told()
        self.pace = 1.2 * SECONDS * 3 / n  # seconds for three labels, so that samples are left until the end
        with socket.create_server(("127.0.0.1", 0)) as listener:  # one that no other studio takes meanwhile
            self.port = listener.getsockname()[1]
        self.people = [Person(browser, self.told) for _ in range(3)]

    def serve(self, seconds, fill=False, kill=False, meanwhile=lambda part: None):
        """Run a server with three browsers for so long; something happens to the data in several parts."""
        failures = pytest.importorskip("playwright.sync_api").Error
        with Process(self.home, self.path, "--port", self.port) as process:
            for person in self.people:
                person.enter(process)
            begin = time.monotonic()
            if kill:  # whatever is on its way then
                threading.Timer(seconds, process.kill).start()
            with suppress(*([failures] if kill else [])):
                for part in range(PARTS):
                    self._label_until(begin + seconds * (part + 1) / (PARTS + 2), process)
                    meanwhile(part)
                if fill:
                    self._on_a_full_disk(process, min(20.0, seconds / 3))
                self._label_until(np.inf if kill else begin + seconds, process)
                self._hear_all()
            if kill:
                process.process.wait(60)

    def _hear_all(self):
        """Wait for the answers to what was asked last: the browsers tell of them only while they are listened to."""
        end = time.monotonic() + WAIT / 1000
        while self.told.on_the_way:
            assert time.monotonic() < end, "a label was never answered"
            self.people[0].page.wait_for_timeout(20)

    def _on_a_full_disk(self, process, seconds):
        before = self.told.n_refused
        resource.prlimit(process.process.pid, resource.RLIMIT_FSIZE, (600, resource.RLIM_INFINITY))
        self._label_until(time.monotonic() + seconds, process)
        resource.prlimit(process.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        assert self.told.n_refused > before

    def _label_until(self, end, process):
        """Label in all browsers at once, and wait for each; twice at least, however slow the machine is."""
        rounds = 0
        while (rounds < 2 or time.monotonic() < end) and process.process.poll() is None:
            rounds, then = rounds + 1, time.monotonic() + self.pace
            for person in self.people:
                person.give()
            for person in self.people:
                person.wait()
            time.sleep(max(0.0, then - time.monotonic()))

    def check(self, database, class_of, gone=frozenset()):
        """Everything acknowledged is there and of its sample, nothing refused is, and exports equal the database.

        ``class_of(row)`` is the class that the data says, for a line of the export.
        """
        with Process(self.home, self.path) as process:
            client, missed = client_of(process), self.told.unseen - gone  # on their way when a server was killed
            lines = client.get("/api/export/labels.jsonl").text.splitlines()
            pictures = {id: digest(client.get(f"/api/picture/{id}?full=1").content) for id in missed}
            rows = [httpx.Response(200, text=line).json() for line in lines]
            labelled = [row for row in rows if row["status"] == "labelled"]
            assert [row["label"] for row in labelled] == [class_of(row) for row in labelled]
        exported = {row["id"]: row["label"] or row["status"] for row in rows}
        told = self.told
        kept = {id: label for id, label in told.saved.items() if id not in gone}
        assert {id: exported.get(id) for id in kept} == kept
        assert not told.refused & set(exported)
        assert {id: exported[id] for id in set(exported) - set(kept)}.items() <= told.open.items()
        with closing(sqlite3.connect(database)) as connection:
            query = "SELECT sample, field, new FROM actions WHERE field IN ('label', 'skipped') ORDER BY number"
            found = [
                (id, new if field == "label" else "skipped") for id, field, new in connection.execute(query) if new
            ]
        written = dict(found)
        assert {id: written.get(id) for id in told.saved} == told.saved  # also of images that are gone
        assert {id: label for id, label in written.items() if id not in gone} == exported
        assert told.wrong == []
        assert pictures == {id: id for id in missed}  # only what was deleted has no picture
        assert any("was not saved" in one for one in told.sentences), told.sentences
        assert len(told.saved) > max(20.0, SECONDS / 2)
        print(f"{len(told.saved)} saved, {told.n_refused} refused, {len(told.open)} unknown, {told.n_seen} pictures")


def test_a_folder_of_images(tmp_path, browser):
    folder, n = tmp_path / "photos", 5000 if IS_LONG else 300
    folder.mkdir()
    for number in range(n):
        (folder / f"{number:05d}.png").write_bytes(image(number))
    soak, gone, places = Soak(tmp_path, folder, browser, n), set(), iter(np.array_split(range(0, n, 10), 3 * PARTS))

    def change(part):
        """Delete some images, put others under the names of some, and add some."""
        for number in next(places).tolist():
            path = folder / f"{number:05d}.png"
            gone.add(digest(path.read_bytes()))
            path.write_bytes(image(n + number)) if number % 20 else path.unlink()
            (folder / f"new {number:05d}.png").write_bytes(image(2 * n + number))

    soak.serve(SECONDS / 3, kill=True, meanwhile=change)
    soak.serve(SECONDS / 3, kill=True, meanwhile=change)
    soak.serve(SECONDS / 3, fill=True, meanwhile=change)
    assert next(places, None) is None
    assert soak.told.n_seen > 20
    there = {digest(path.read_bytes()): class_of_file(path.read_bytes()) for path in folder.glob("*.png")}
    soak.check(folder / ".ancr-studio" / "studio.db", lambda row: there[row["id"]], gone)
    with Process(tmp_path, folder) as process:
        archive = zipfile.ZipFile(io.BytesIO(client_of(process).get("/api/export/sorted.zip").content))
    sorted_ = {name: class_of_file(archive.read(name)) for name in archive.namelist() if name[0] != "u"}
    assert len(archive.namelist()) == len(there)
    assert {name: name[0] for name in sorted_} == sorted_


def test_a_table(tmp_path, browser):
    n, path = 10_000 if IS_LONG else 1000, tmp_path / "rows.csv"
    random = np.random.default_rng(0)
    rows = np.column_stack([random.normal(size=(n, 4)) * [1, 10, 100, 1000], random.integers(1, 4, n)])
    np.savetxt(path, rows, delimiter=",", header="a,b,c,d,e", comments="", fmt=["%.5f"] * 4 + ["%d"])
    soak, class_of = Soak(tmp_path, path, browser, n), {f"row {i + 1}": str(int(row[-1])) for i, row in enumerate(rows)}
    soak.serve(SECONDS / 3, kill=True)
    soak.serve(SECONDS / 3, kill=True)
    soak.serve(SECONDS / 3, fill=True)
    soak.check(tmp_path / "rows.csv.ancr-studio" / "studio.db", lambda row: class_of[row["sample"]])
    with Process(tmp_path, path) as process:
        table = list(csv.DictReader(io.StringIO(client_of(process).get("/api/export/table.csv").text)))
    labelled = [row for row in table if row["label"]]
    assert len(table) == n
    assert len(labelled) >= len(soak.told.saved)
    assert [float(row["label"]) for row in labelled] == [float(row["e"]) for row in labelled]
