"""A studio without a process, and a client that has been let in."""

import numpy as np
import pytest

from tests.studio.browsing import Process

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
    from ancr.studio.desk import Desk

    def make(studio, inside=True, **headers):
        app = make_app(Desk(studio), TOKEN, PORT)
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


@pytest.fixture
def visit(browser):
    """Open a studio at a width; at the end nothing may be on the console, and nothing asked for from elsewhere."""
    pages, contexts = [], []

    def open_page(process, width=1280, height=900, view="", **options):
        context = browser.new_context(viewport={"width": width, "height": height}, accept_downloads=True, **options)
        contexts.append(context)
        page = context.new_page()
        page.messages, page.foreign = [], []
        page.on("console", lambda message: page.messages.append(message.text))
        page.on("pageerror", lambda error: page.messages.append(str(error)))
        page.on("dialog", lambda dialog: page.messages.append("a dialog"))
        home = process.address.partition("?")[0]
        page.on(
            "request",
            lambda request: (
                None if request.url.startswith((home, "data:", "blob:")) else page.foreign.append(request.url)
            ),
        )
        page.goto(process.address)
        page.wait_for_selector("[role=tab][aria-selected=true]")
        if view:
            page.click(f"#tab-{view}")
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        assert page.messages == []
        assert page.foreign == []
    for context in contexts:
        context.close()


@pytest.fixture
def digits(tmp_path):
    with Process(tmp_path) as process:
        yield process
