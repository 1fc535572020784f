"""The report in a real browser: no console error, tables that sort, nothing wider than the screen."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from sklearn.datasets import load_digits

from ancr import compare
from ancr.paper.experiment import Report
from ancr.paper.figures import draw_all
from ancr.paper.paper_sources import Digits, paper_source
from tests.chromium import check_accessible
from tests.comparison.stand_ins import Blobs, cell

pytestmark = pytest.mark.all

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
    Report("Report", [paper_source("usps"), Birds()], cells, drawings, "ancr reproduce " + "usps " * 40).write(
        folder / "report.html"
    )
    return folder / "report.html"


@pytest.fixture(scope="module")
def comparison(tmp_path_factory):
    """The report on a user's own images."""
    X, y = load_digits(return_X_y=True)
    folder = tmp_path_factory.mktemp("comparison")
    methods = ["ANCR", "kNN", "sklearn.naive_bayes:GaussianNB"]
    compare(X[:300], y[:300], methods, name="digits", image_shape=(8, 8), folds=3, jobs=1, output=folder)
    return folder / "report.html"


@pytest.fixture(params=["paper", "own data"])
def page_file(request):
    return request.getfixturevalue("report" if request.param == "paper" else "comparison")


@pytest.fixture
def visit(browser, report):
    """Open a report at a width; every message of the console and every request is kept."""
    contexts = []

    def open_page(width, path=report, **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, offline=True, **options)
        contexts.append(context)
        page = context.new_page()
        page.messages, page.requests = [], []
        page.on("console", lambda message: page.messages.append(message.text))
        page.on("pageerror", lambda error: page.messages.append(str(error)))
        page.on("request", lambda request: page.requests.append(request.url))
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()


@pytest.mark.parametrize("width", [390, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_overflows_and_the_console_is_quiet(visit, page_file, width, scheme):
    page = visit(width, page_file, color_scheme=scheme)
    assert page.messages == []
    assert [url for url in page.requests if not url.startswith(("file:", "data:"))] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # Not even inside a scrolling box: every element ends within the screen.
    wide = page.evaluate(
        "[...document.body.querySelectorAll('*')].filter(e => e.getBoundingClientRect().right > innerWidth + 1)"
        ".map(e => e.tagName + ' ' + e.textContent.slice(0, 40))"
    )
    assert wide == []
    charts = page.evaluate(
        "[...document.querySelectorAll('figure svg[role=img]')].map(i => i.getBoundingClientRect().width)"
    )
    assert len(charts) >= 4
    assert min(charts) > 250
    sizes = page.evaluate(
        "[...document.querySelectorAll('figure svg[role=img] text')].map(t => t.getBoundingClientRect())"
        ".map(b => Math.max(b.width, b.height))"
    )
    assert min(sizes) >= 9  # legible on a phone; turned words are wider than high


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


def test_the_answer_is_above_the_fold(visit, comparison):
    for width in (390, 1280):
        page = visit(width, comparison)
        for text in ("How sure", "How long", "What next"):
            assert page.get_by_text(text, exact=True).bounding_box()["y"] < 900


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_inaccessible(visit, page_file, scheme):
    check_accessible(visit(1280, page_file, color_scheme=scheme))


def test_figures_follow_the_theme(visit, comparison):
    paint = "getComputedStyle(document.querySelector('figure svg text')).fill"
    assert visit(1280, comparison, color_scheme="dark").evaluate(paint) != visit(1280, comparison).evaluate(paint)


@pytest.mark.parametrize(("kind", "start"), [("svg", "<svg "), ("csv", "method,")])
def test_figures_can_be_downloaded(visit, comparison, kind, start):
    page = visit(1280, comparison)
    with page.expect_download() as download:
        page.locator(f"#figure-accuracy [data-download={kind}]").click()
    assert download.value.suggested_filename == f"accuracy.{kind}"
    text = Path(download.value.path()).read_text(encoding="utf-8")
    assert text.startswith(start)
    if kind == "svg":
        ElementTree.fromstring(text)


def test_it_prints(visit, page_file, tmp_path):
    page = visit(1280, page_file)
    page.pdf(path=tmp_path / "report.pdf", format="A4", print_background=True)
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
    page.emulate_media(media="print")
    assert not page.locator(".tools").first.is_visible()
