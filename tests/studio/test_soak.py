"""A soak: three browsers label a folder and a table while files come and go, the server is killed and the disk fills.

``ANCR_SOAK`` is the number of seconds for each of the two (12 unless set; the full soak is 600).
"""

import base64
import io
import os
import resource
import socket
import sqlite3
import sys
import threading
import time
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
SIDE, WAIT = 12, 60_000
pytestmark = [
    pytest.mark.all,
    pytest.mark.skipif(sys.platform != "linux", reason="a full disk is made by a limit of Linux"),
]
# What a page shows: the sample, its picture in pixels and the file of its full size, and what is wrong.
SEEN = """async () => {
    const name = document.querySelector('#current')?.textContent, image = document.querySelector('#current-box img');
    const alert = document.querySelector('#alert').textContent;
    const coded = (bytes) => btoa(String.fromCharCode(...bytes));
    if (!name || !image) return { name, alert };
    const id = image.src.split('/').pop();
    await image.decode().catch(() => {});
    if (!image.naturalWidth) return { name, alert, id };
    const canvas = new OffscreenCanvas(SIDE, SIDE), brush = canvas.getContext('2d');
    brush.drawImage(image, 0, 0, SIDE, SIDE);
    const answer = await fetch(`/api/picture/${id}?full=1`).catch(() => null);
    const file = answer?.ok ? coded(new Uint8Array(await answer.arrayBuffer())) : null;
    return { name, alert, id, pixels: coded(brush.getImageData(0, 0, SIDE, SIDE).data), file };
}""".replace("SIDE", str(SIDE))
GONE_ON = """before => document.querySelector('#current')?.textContent !== before
    || document.querySelector('#alert').textContent"""


def image(seed):
    buffer = io.BytesIO()
    Image.fromarray(np.random.default_rng(seed).integers(0, 255, (SIDE, SIDE, 3), np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()


class Told:
    """What browsers were told: labels saved, refused, and not known to be either; and what they saw."""

    def __init__(self):
        self.saved, self.refused, self.open, self.names = {}, set(), {}, {}
        self.wrong, self.unseen, self.n_seen, self.n_refused, self.sentences = [], set(), 0, 0, set()

    def follow(self, page):
        """Listen to the labels that a page sends, and to what is answered."""
        page.on("request", lambda request: self._sent(request) if request.url.endswith("/api/act") else None)
        page.on("response", lambda answer: self._answered(answer) if answer.url.endswith("/api/act") else None)

    def _sent(self, request):
        self.open[request.post_data_json["sample"]] = request.post_data_json["label"]

    def _answered(self, answer):
        action = answer.request.post_data_json
        id, label = action["sample"], action["label"]
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
            content, shown = base64.b64decode(seen["file"]), np.frombuffer(base64.b64decode(seen["pixels"]), np.uint8)
            there = np.asarray(Image.open(io.BytesIO(content)).convert("RGB"), float)
            apart = np.abs(shown.reshape(SIDE, SIDE, 4)[..., :3] - there).mean()  # 85 for two of these images
            self.n_seen += 1
            self.wrong += [id] if digest(content) != id or apart > 40 else []


class Person:
    """One browser, which labels what it is shown."""

    def __init__(self, browser, told, label):
        self.context = browser.new_context(viewport={"width": 1000, "height": 800})
        self.page, self.told, self.label, self.n, self.before = self.context.new_page(), told, label, 0, None
        told.follow(self.page)

    def enter(self, process):
        self.page.goto(process.address)
        self.page.wait_for_selector("[role=tab][aria-selected=true]", timeout=WAIT)
        self.page.click("#tab-label")
        self.page.wait_for_selector("#current, .empty", timeout=WAIT)

    def give(self):
        """Look at the sample, then label it: by a key where there is one, every fifth time by a word."""
        seen = self.page.evaluate(SEEN)
        self.told.look(seen)
        self.told.sentences |= {seen["alert"]} - {""}
        self.before = seen["name"]
        if self.before is None:
            return
        if self.n % 5:
            self.page.keyboard.press(self.label)
        else:
            self.page.fill("#class-name", self.label)
            self.page.press("#class-name", "Enter")
            self.page.evaluate("() => document.activeElement.blur()")
        self.n += 1

    def wait(self):
        """Until the page shows another sample, or says what is wrong."""
        if self.before is not None:
            self.page.wait_for_function(GONE_ON, arg=self.before, timeout=WAIT)


class Soak:
    """Three browsers on one project, which stay the same while servers come and go at one address."""

    def __init__(self, home, path, browser):
        self.home, self.path, self.told = home, path, Told()
        with socket.create_server(("127.0.0.1", 0)) as listener:  # one that no other studio takes meanwhile
            self.port = listener.getsockname()[1]
        self.people = [Person(browser, self.told, label) for label in "123"]

    def serve(self, seconds, fill=False, kill=False, meanwhile=lambda: None):
        """Run a server with three browsers for so long."""
        failures = pytest.importorskip("playwright.sync_api").Error
        with Process(self.home, self.path, "--port", self.port) as process:
            for person in self.people:
                person.enter(process)
            middle, end = (time.monotonic() + part * seconds for part in (0.5, 1.0))
            if kill:  # whatever is on its way then
                threading.Timer(seconds, process.kill).start()
            with suppress(*([failures] if kill else [])):
                self._label_until(middle, process)
                meanwhile()
                if fill:
                    self._on_a_full_disk(process, min(20.0, seconds / 3))
                self._label_until(np.inf if kill else end, process)
            if kill:
                process.process.wait(60)

    def _on_a_full_disk(self, process, seconds):
        before = self.told.n_refused
        resource.prlimit(process.process.pid, resource.RLIMIT_FSIZE, (600, resource.RLIM_INFINITY))
        self._label_until(time.monotonic() + seconds, process)
        resource.prlimit(process.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        assert self.told.n_refused > before

    def _label_until(self, end, process):
        """Label in all browsers at once, and wait for each."""
        while time.monotonic() < end and process.process.poll() is None:
            for person in self.people:
                person.give()
            for person in self.people:
                person.wait()

    def check(self, database, gone=frozenset()):
        """Everything acknowledged is there, nothing refused is, and the export equals the database."""
        with Process(self.home, self.path) as process:
            client, missed = client_of(process), self.told.unseen - gone  # on their way when a server was killed
            lines = client.get("/api/export/labels.jsonl").text.splitlines()
            pictures = {id: digest(client.get(f"/api/picture/{id}?full=1").content) for id in missed}
        rows = [httpx.Response(200, text=line).json() for line in lines]
        exported = {row["id"]: row["label"] for row in rows if row["status"] == "labelled"}
        told = self.told
        kept = {id: label for id, label in told.saved.items() if id not in gone}
        assert {id: exported.get(id) for id in kept} == kept
        assert not told.refused & set(exported)
        assert {id: exported[id] for id in set(exported) - set(kept)}.items() <= told.open.items()
        with closing(sqlite3.connect(database)) as connection:
            query = "SELECT sample, new FROM actions WHERE field = 'label' ORDER BY number"
            written = {id: label for id, label in connection.execute(query) if label}
        assert {id: written.get(id) for id in told.saved} == told.saved  # also of images that are gone
        assert {id: label for id, label in written.items() if id not in gone} == exported
        assert told.wrong == []
        assert pictures == {id: id for id in missed}  # only what was deleted has no picture
        assert any("was not saved" in one for one in told.sentences), told.sentences
        assert len(told.saved) > 20
        print(f"{len(told.saved)} saved, {told.n_refused} refused, {len(told.open)} unknown, {told.n_seen} pictures")


def test_a_folder_of_images(tmp_path, browser):
    folder, n = tmp_path / "photos", 5000 if IS_LONG else 300
    folder.mkdir()
    for number in range(n):
        (folder / f"{number:05d}.png").write_bytes(image(number))
    soak, gone = Soak(tmp_path, folder, browser), set()

    def change():
        """Delete some images, put others under the names of some, and add some."""
        for number in range(0, n, 10):
            path = folder / f"{number:05d}.png"
            if path.exists():
                gone.add(digest(path.read_bytes()))
                path.write_bytes(image(n + number)) if number % 20 else path.unlink()
            (folder / f"new {number:05d}.png").write_bytes(image(2 * n + number))

    soak.serve(SECONDS / 3, kill=True, meanwhile=change)
    soak.serve(SECONDS / 3, kill=True)
    soak.serve(SECONDS / 3, fill=True)
    assert soak.told.n_seen > 20
    soak.check(folder / ".ancr-studio" / "studio.db", gone)


def test_a_table(tmp_path, browser):
    n, path = 10_000 if IS_LONG else 1000, tmp_path / "rows.csv"
    rows = np.random.default_rng(0).normal(size=(n, 5)) * [1, 10, 100, 1000, 1]
    np.savetxt(path, rows, delimiter=",", header="a,b,c,d,e", comments="", fmt="%.5f")
    soak = Soak(tmp_path, path, browser)
    soak.serve(SECONDS / 3, kill=True)
    soak.serve(SECONDS / 3, kill=True)
    soak.serve(SECONDS / 3, fill=True)
    soak.check(tmp_path / "rows.csv.ancr-studio" / "studio.db")
