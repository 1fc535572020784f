"""The built site in a real browser: search, no errors, a phone, the dark theme. ``make docs`` builds it first."""

from pathlib import Path

import pytest

SITE = Path(__file__).parents[1] / "docs" / "_build" / "html"
pytestmark = [
    pytest.mark.all,
    pytest.mark.skipif(not (SITE / "index.html").exists(), reason="the site is not built: make docs"),
]
PAGES = (
    "index",
    "get_started",
    "when_to_use",
    "comparing",
    "api",
    "auto_examples/index",
    "generated/ancr.ANCRClassifier",
)


def visit(browser, page, width=1280, **options):
    """Open a page of the site; errors are kept, those of fonts and formulas that the network would bring left out."""
    opened = browser.new_context(viewport={"width": width, "height": 900}, **options).new_page()
    opened.errors = []
    opened.route("http*://**", lambda route: route.fulfill(status=200, body=""))
    opened.on("console", lambda message: message.type == "error" and opened.errors.append(message.text))
    opened.on("pageerror", lambda error: opened.errors.append(str(error)))
    opened.goto((SITE / f"{page}.html").as_uri())
    return opened


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("width", [390, 1280])
def test_pages_fit_the_screen_without_errors(browser, page, width):
    opened = visit(browser, page, width)
    assert opened.errors == []
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    assert opened.locator("h1").first.is_visible()


def test_the_search_finds_a_classifier(browser):
    opened = visit(browser, "search")
    opened.goto((SITE / "search.html").as_uri() + "?q=ANCRClassifier")
    opened.wait_for_selector("#search-results li a")
    found = opened.locator("#search-results li a").all_inner_texts()
    assert any("ANCRClassifier" in text for text in found)


def test_dark_and_light_differ(browser):
    paint = "getComputedStyle(document.querySelector('.bd-content')).color"
    colours = {visit(browser, "index", color_scheme=scheme).evaluate(paint) for scheme in ("dark", "light")}
    assert len(colours) == 2


def test_every_example_has_a_page(browser):
    opened = visit(browser, "auto_examples/index")
    assert opened.locator(".sphx-glr-thumbcontainer").count() >= 14
