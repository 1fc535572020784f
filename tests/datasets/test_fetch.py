"""Fetching from a server on this machine that can misbehave."""

import hashlib
import io
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from ancr.datasets import DataNotFoundError, fetch, load_stanford40, registry
from ancr.datasets.fetch import FetchError
from ancr.datasets.registry import DatasetInfo, RemoteFile
from tests.datasets import trees

CONTENT = bytes(range(256)) * 4096


class Server:
    """Serves files with ``Range`` and ``If-Range``; cuts the first ``cuts`` answers half way."""

    def __init__(self):
        self.files = {"/file.bin": CONTENT}
        self.cuts = 0
        self.etag = '"one"'
        self.requests = []
        handler = type("Handler", (_Handler,), {"state": self})
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.address = f"http://127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def close(self):
        self._http.shutdown()
        self._http.server_close()


class _Handler(BaseHTTPRequestHandler):
    state: Server

    def do_GET(self):
        self.state.requests.append(self.headers.get("Range"))
        if self.path not in self.state.files:
            return self.send_error(404)
        content, first = self.state.files[self.path], 0
        if self.headers.get("Range") and self.headers.get("If-Range") == self.state.etag:
            first = int(self.headers["Range"].removeprefix("bytes=").rstrip("-"))
        rest = content[first:]
        self.send_response(206 if first else 200)
        self.send_header("Content-Length", str(len(rest)))
        self.send_header("ETag", self.state.etag)
        self.end_headers()
        if self.state.cuts:
            self.state.cuts -= 1
            rest = rest[: len(rest) // 2]
        self.wfile.write(rest)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    """The server, running."""
    running = Server()
    yield running
    running.close()


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty data home, the cache elsewhere."""
    monkeypatch.setenv("ANCR_CACHE", str(tmp_path / "cache"))
    return tmp_path / "home"


@pytest.fixture
def register(monkeypatch):
    """Put one data set of given sources into the registry."""

    def put(*sources):
        words = dict.fromkeys(("home_page", "licence", "citation", "description", "size", "tree"), "")
        info = DatasetInfo(name="toy", title="Toy", roots=("toy",), sources=sources, **words)
        monkeypatch.setitem(registry.REGISTRY, "toy", info)

    return put


def sha256(content):
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def everything(folder):
    return [path for path in folder.rglob("*")] if folder.exists() else []


def test_right_checksum(server, home, register):
    register(RemoteFile(f"{server.address}/file.bin", "toy/file.bin", sha256(CONTENT)))
    assert fetch("toy", home) == home / "toy"
    assert (home / "toy" / "file.bin").read_bytes() == CONTENT
    fetch("toy", home)
    assert len(server.requests) == 1, "a file that is here is not downloaded again"


def test_wrong_checksum_leaves_nothing(server, home, register, tmp_path):
    register(RemoteFile(f"{server.address}/file.bin", "toy/file.bin", sha256(b"other")))
    with pytest.raises(FetchError, match=r"file\.bin could not be downloaded: .*hash"):
        fetch("toy", home)
    assert everything(home / "toy") == []
    assert list((tmp_path / "cache").rglob("*.part")) == []
    assert len(server.requests) == 1, "a wrong file is not asked for again"


def test_cut_connection_resumes_within_a_call(server, home, register):
    register(RemoteFile(f"{server.address}/file.bin", "toy/file.bin", sha256(CONTENT)))
    server.cuts = 2
    fetch("toy", home)
    half = len(CONTENT) // 2
    assert server.requests == [None, f"bytes={half}-", f"bytes={half + half // 2}-"]
    assert (home / "toy" / "file.bin").read_bytes() == CONTENT


def test_cut_connection_leaves_nothing_and_resumes_later(server, home, register):
    register(RemoteFile(f"{server.address}/file.bin", "toy/file.bin", sha256(CONTENT)))
    server.cuts = 1
    with pytest.raises(FetchError, match=r"file\.bin could not be downloaded"):
        fetch("toy", home, retries=0)
    assert everything(home / "toy") == []
    fetch("toy", home, retries=0)
    assert server.requests[1] == f"bytes={len(CONTENT) // 2}-"
    assert (home / "toy" / "file.bin").read_bytes() == CONTENT


def test_file_that_changed_meanwhile_comes_whole(server, home, register):
    changed = CONTENT[::-1]
    register(RemoteFile(f"{server.address}/file.bin", "toy/file.bin", sha256(changed)))
    server.cuts = 1
    with pytest.raises(FetchError):
        fetch("toy", home, retries=0)
    server.files["/file.bin"], server.etag = changed, '"two"'
    fetch("toy", home, retries=0)
    assert (home / "toy" / "file.bin").read_bytes() == changed


def test_missing_file_and_dead_server(server, home, register):
    register(RemoteFile(f"{server.address}/gone.bin", "toy/gone.bin"))
    with pytest.raises(FetchError, match="404"):
        fetch("toy", home)
    register(RemoteFile("http://127.0.0.1:9/file.bin", "toy/file.bin"))
    with pytest.raises(FetchError, match=r"127\.0\.0\.1"):
        fetch("toy", home, retries=0)
    assert everything(home) == []


def archive_of(files):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def test_archive_is_unpacked_once(server, home, register):
    server.files["/toy.tgz"] = archive_of({"inside/a.txt": b"a", "inside/b.txt": b"b"})
    register(RemoteFile(f"{server.address}/toy.tgz", "toy/toy.tgz", archive=True))
    fetch("toy", home)
    visible = {path.name for path in everything(home / "toy") if not path.name.startswith(".")}
    assert visible == {"inside", "a.txt", "b.txt"}
    fetch("toy", home)
    assert len(server.requests) == 1


def test_tree_laid_out_by_hand_is_not_fetched(home):
    trees.cub200(home)
    assert fetch("cub200", home) == home / "cub200_2011"


def test_broken_archive_leaves_nothing(server, home, register):
    server.files["/toy.tgz"] = archive_of({"inside/a.txt": CONTENT * 3})[:-2000]
    register(RemoteFile(f"{server.address}/toy.tgz", "toy/toy.tgz", archive=True))
    with pytest.raises(FetchError, match="archive is broken"):
        fetch("toy", home)
    assert everything(home / "toy") == []


def test_cars_cannot_be_fetched(home):
    with pytest.raises(ValueError, match=r"(?s)no working public link.*cars_meta\.mat"):
        fetch("cars", home)
    with pytest.raises(ValueError, match="Ships with scikit-learn"):
        fetch("digits", home)


def test_failed_fetch_still_reads_as_absent(home, monkeypatch):
    dead = RemoteFile("http://127.0.0.1:9/x.zip", "stanford40/x.zip", archive=True)
    info = registry.REGISTRY["stanford40"]
    monkeypatch.setitem(registry.REGISTRY, "stanford40", DatasetInfo(**{**vars(info), "sources": (dead,)}))
    with pytest.raises(FetchError):
        fetch("stanford40", home, retries=0)
    with pytest.raises(DataNotFoundError, match="not found"):
        load_stanford40(home)
