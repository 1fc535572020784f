"""A soak: clients label a folder and a table while files come and go, the server is killed and the disk fills.

``ANCR_SOAK`` is the number of seconds for each of the two (5 unless set; the full soak is 300).
"""

import io
import os
import resource
import sqlite3
import sys
import threading
import time
from contextlib import closing

import httpx
import numpy as np
import pytest
from PIL import Image

from ancr.studio.identities import digest
from tests.studio.browsing import Process
from tests.studio.test_process import client_of

SECONDS = float(os.environ.get("ANCR_SOAK", "5"))
IS_LONG = SECONDS >= 60
pytestmark = [
    pytest.mark.all,
    pytest.mark.skipif(sys.platform != "linux", reason="a full disk is made by a limit of Linux"),
]


def image(seed):
    buffer = io.BytesIO()
    Image.fromarray(np.random.default_rng(seed).integers(0, 255, (12, 12, 3), np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()


class Soak:
    """Three clients of one project, and what they were told: labels saved, refused, and not known to be either."""

    def __init__(self, home, path, n, has_pictures):
        self.pause = 4.5 * SECONDS / n  # of each client, so that samples are left to the end
        self.home, self.path, self.has_pictures = home, path, has_pictures
        self.saved, self.refused, self.open, self.wrong, self.n_refused = {}, set(), {}, [], 0
        self._lock = threading.Lock()

    def one(self, client, tab, label):
        """Take the next sample, look at its picture, label it."""
        headers = {"x-ancr-tab": tab}
        found = client.post("/api/next", json={"n": 1}, headers=headers).json()["next"]
        if not found:
            time.sleep(0.1)
            return
        id = found[0]["id"]
        if self.has_pictures:
            answer = client.get(f"/api/picture/{id}?full=1")
            if answer.status_code == 200 and digest(answer.content) != id:
                self.wrong.append(id)
        with self._lock:
            self.open[id] = label
        action = {"do": "label", "sample": id, "label": label, "was": None}
        answer = client.post("/api/act", json=action, headers=headers)
        with self._lock:
            del self.open[id]
            if answer.status_code == 200:
                self.saved[id] = label
                self.refused.discard(id)
            else:
                self.n_refused += answer.status_code == 507
                self.refused |= {id} - set(self.saved)

    def serve(self, seconds, fill=False, kill=False, meanwhile=lambda: None):
        """Run a server with three clients for so long."""
        with Process(self.home, self.path) as process:
            end = threading.Event()

            def work(tab):
                client = client_of(process)
                try:
                    while not end.is_set():
                        self.one(client, tab, f"class {tab}")
                        time.sleep(self.pause)
                except httpx.HTTPError:
                    pass  # killed: what was on its way may be there or not

            threads = [threading.Thread(target=work, args=(f"tab{number}",)) for number in range(3)]
            for thread in threads:
                thread.start()
            time.sleep(seconds / 2)
            meanwhile()
            if fill:
                resource.prlimit(process.process.pid, resource.RLIMIT_FSIZE, (600, resource.RLIM_INFINITY))
                time.sleep(min(2.0, seconds))
                resource.prlimit(process.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
            time.sleep(seconds / 2)
            if kill:
                process.kill()
            end.set()
            for thread in threads:
                thread.join()

    def check(self, database, gone=frozenset()):
        """Everything acknowledged is there, nothing refused is, and the export equals the database."""
        with Process(self.home, self.path) as process:
            lines = client_of(process).get("/api/export/labels.jsonl").text.splitlines()
        rows = [httpx.Response(200, text=line).json() for line in lines]
        exported = {row["id"]: row["label"] for row in rows if row["status"] == "labelled"}
        kept = {id: label for id, label in self.saved.items() if id not in gone}
        assert {id: exported.get(id) for id in kept} == kept
        assert not self.refused & set(exported)
        assert {id: exported[id] for id in set(exported) - set(kept)}.items() <= self.open.items()
        with closing(sqlite3.connect(database)) as connection:
            query = "SELECT sample, new FROM actions WHERE field = 'label' ORDER BY number"
            written = {id: label for id, label in connection.execute(query) if label and id not in gone}
        assert written == exported
        assert self.wrong == []
        assert len(self.saved) > 20


def test_a_folder_of_images(tmp_path):
    folder, n = tmp_path / "photos", 5000 if IS_LONG else 300
    folder.mkdir()
    for number in range(n):
        (folder / f"{number:05d}.png").write_bytes(image(number))
    soak, gone = Soak(tmp_path, folder, n, True), set()

    def change():
        """Delete some images and add others under their names."""
        for number in range(0, n, 10):
            path = folder / f"{number:05d}.png"
            if path.exists():
                gone.add(digest(path.read_bytes()))
                path.write_bytes(image(n + number)) if number % 20 else path.unlink()

    soak.serve(SECONDS / 3, kill=True, meanwhile=change)
    soak.serve(SECONDS / 3, kill=True)
    soak.serve(SECONDS / 3, fill=True)
    assert soak.n_refused
    soak.check(folder / ".ancr-studio" / "studio.db", gone)


def test_a_table(tmp_path):
    n, path = 10_000 if IS_LONG else 1000, tmp_path / "rows.csv"
    rows = np.random.default_rng(0).normal(size=(n, 5)) * [1, 10, 100, 1000, 1]
    np.savetxt(path, rows, delimiter=",", header="a,b,c,d,e", comments="", fmt="%.5f")
    soak = Soak(tmp_path, path, n, False)
    soak.serve(SECONDS / 3, kill=True)
    soak.serve(SECONDS / 3, kill=True)
    soak.serve(SECONDS / 3, fill=True)
    assert soak.n_refused
    soak.check(tmp_path / "rows.csv.ancr-studio" / "studio.db")
