"""A studio without a process, and a client that has been let in."""

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the studio needs starlette")
pytest.importorskip("httpx", reason="the client of the tests needs httpx")

PORT, TOKEN = 8765, "the-token-of-these-tests"
HOME = f"http://127.0.0.1:{PORT}"


@pytest.fixture
def make_studio(tmp_path, monkeypatch):
    """A function that opens a studio on a source; all are closed at the end."""
    monkeypatch.setenv("ANCR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("ancr.studio.openings.DIGITS_PER_CLASS", 10)  # fewer labels, quicker tests
    from ancr.studio.openings import open_source
    from ancr.studio.workbench import Studio

    studios = []

    def make(source=None):
        studio = Studio(open_source(home=tmp_path) if source is None else source)
        studios.append(studio)
        return studio

    yield make
    for studio in studios:
        studio.close()


@pytest.fixture
def studio(make_studio):
    """Digits."""
    return make_studio()


@pytest.fixture
def make_client():
    """A function that makes a client of a studio; by default one that has the cookie."""
    from starlette.testclient import TestClient

    from ancr.studio.app import make_app

    def make(studio, inside=True, **headers):
        app = make_app(studio, TOKEN, PORT)
        client = TestClient(app, base_url=HOME, headers={"origin": HOME, **headers}, raise_server_exceptions=False)
        if inside:
            assert client.get(f"/?token={TOKEN}").status_code == 200
        return client

    return make


@pytest.fixture
def client(studio, make_client):
    return make_client(studio)


@pytest.fixture
def blobs(tmp_path):
    """A table of three classes with some labels missing; and the true ones."""
    rng = np.random.default_rng(0)
    truth = np.repeat(["ant", "bee", "cat"], 30)
    X = rng.normal(size=(90, 4)) + 4 * np.eye(3, 4)[np.repeat(range(3), 30)]
    lines = ["a,b,c,d,label"]
    for i, row in enumerate(X):
        lines.append(",".join(f"{value:.4f}" for value in row) + f",{truth[i] if i % 3 == 0 else ''}")
    path = tmp_path / "blobs.csv"
    path.write_text("\n".join(lines) + "\n")
    return path, truth
