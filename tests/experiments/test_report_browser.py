"""The report in a real browser: no console error, tables that sort, nothing wider than the screen."""

import shutil

import pytest

from ancr.experiments.figures import draw_all
from ancr.experiments.report import Report
from ancr.experiments.sources import Digits, source
from tests.experiments.stand_ins import Blobs, cell

pytestmark = pytest.mark.all

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
METHODS = {"NSC": 91.2, "SVM": 91.6, "SA-CRC": 86.4, "ProCRC": 90.9, "CRC": 89.0, "NRC": 90.3, "ANCR": 92.1}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A page with everything on it: draws, a large set with quoted rows, figures."""
    folder = tmp_path_factory.mktemp("report")
    cells = [
        cell(method, accuracy - draw, setting=setting, draw=draw, protocol=protocol, certified=1.0)
        for method, accuracy in METHODS.items()
        for setting in ("N=50", "N=100", "N=200", "N=300")
        for draw in range(2)
        for protocol in ("paper", "exact")
    ]
    cells += [
        cell(method, value, dataset="cub200", features="x", setting="official") for method, value in METHODS.items()
    ]

    class Birds(Blobs):
        name, title, features, settings, typical = "cub200", "CUB-200-2011", "x", ("official",), "official"

    drawings = draw_all([Digits()], folder / "figures")
    Report.make("Report", [source("usps"), Birds()], cells, drawings, "ancr reproduce " + "usps " * 40).write(
        folder / "report.html"
    )
    return folder / "report.html"


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser, report):
    """Open the report at a width; every message of the console and every request is kept."""
    contexts = []

    def open_page(width, **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, offline=True, **options)
        contexts.append(context)
        page = context.new_page()
        page.messages, page.requests = [], []
        page.on("console", lambda message: page.messages.append(message.text))
        page.on("pageerror", lambda error: page.messages.append(str(error)))
        page.on("request", lambda request: page.requests.append(request.url))
        page.goto(report.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()


@pytest.mark.parametrize("width", [390, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_overflows_and_the_console_is_quiet(visit, width, scheme):
    page = visit(width, color_scheme=scheme)
    assert page.messages == []
    assert [url for url in page.requests if not url.startswith(("file:", "data:"))] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # Not even inside a scrolling box: every element ends within the screen.
    wide = page.evaluate(
        "[...document.body.querySelectorAll('*')].filter(e => e.getBoundingClientRect().right > innerWidth + 1)"
        ".map(e => e.tagName + ' ' + e.textContent.slice(0, 40))"
    )
    assert wide == []
    images = page.evaluate("[...document.images].map(i => i.complete && i.naturalWidth > 0)")
    assert images
    assert all(images)


def column(page, number):
    return page.locator(f"#table-1 tbody tr td:nth-child({number})").all_inner_texts()


def test_tables_sort_on_click(visit):
    page = visit(1400)
    title = page.locator("#table-1 th button", has_text="N=50").first
    before = column(page, 3)
    title.click()
    falling = [float(text.split()[0]) for text in column(page, 3)]
    assert falling == sorted(falling, reverse=True)
    assert column(page, 3) != before
    title.click()
    rising = [float(text.split()[0]) for text in column(page, 3)]
    assert rising == sorted(falling)
    page.locator("#table-1 th button", has_text="method").click()
    assert column(page, 1) == sorted(column(page, 1), key=str.lower)
    assert page.messages == []


def test_dark_and_light_differ(visit):
    background = "getComputedStyle(document.body).backgroundColor"
    assert visit(1400, color_scheme="dark").evaluate(background) != visit(1400, color_scheme="light").evaluate(
        background
    )
