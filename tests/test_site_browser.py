"""The built site in a real browser: search, no errors, a phone, the dark theme. ``make docs`` builds it first."""

from pathlib import Path
from urllib.parse import quote

import pytest

from ancr.cli import main

SITE = Path(__file__).parents[1] / "docs" / "_build" / "html"
pytestmark = [
    pytest.mark.all,
    pytest.mark.skipif(not (SITE / "index.html").exists(), reason="the site is not built: make docs"),
]
PAGES = (
    "index",
    "get_started",
    "faq",
    "tables",
    "photos",
    "texts",
    "sizes",
    "how_many_labels",
    "labels",
    "imbalance",
    "when_to_use",
    "choosing",
    "comparing",
    "reproduce",
    "deploy",
    "gpu",
    "cluster",
    "offline",
    "api",
    "cli",
    "glossary",
    "guide",
    "background/choosing",
    "background/labels",
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


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("categorical", "My table"),
        ("missing", "My table"),
        ("tf-idf", "My texts"),
        ("deploy", "Deploy a model"),
        ("docker", "Deploy a model"),
        ("imbalanced", "Imbalanced classes"),
        ("active learning", "How many labels?"),
        ("windows", "Get started"),
        ("FAQ", "How do I …? (FAQ)"),
        ("fair comparison", "Compare methods"),
    ],
)
def test_the_search_finds_what_people_ask_for(browser, words, page):
    opened = visit(browser, "search")
    opened.goto((SITE / "search.html").as_uri() + f"?q={quote(words)}")
    opened.wait_for_function("document.querySelector('.search-summary')?.textContent.includes('found')")
    found = [text.strip() for text in opened.locator("#search-results li > a").all_inner_texts()]
    assert any(text.startswith(page) for text in found[:3]), found[:10]


@pytest.mark.parametrize("width", [390, 1280])
def test_every_question_is_answered_within_two_clicks(browser, width):
    """By a link in the text of the front page, and by *How do I …?*, to which it links as well."""
    opened = visit(browser, "index", width)
    for page in PAGES[3:18]:
        opened.locator(f".bd-article a[href='{page}.html']").first.click()
        opened.wait_for_url(f"**/{page}.html")
        opened.go_back()
    opened.locator(".bd-article a[href='faq.html']").first.click()
    answers = {link.get_attribute("href") for link in opened.locator(".bd-article a").all()}
    assert {f"{page}.html" for page in PAGES[3:18]} <= {link.partition("#")[0] for link in answers if link}


def test_the_page_of_the_command_line_has_every_option():
    page = (SITE / "cli.html").read_text(encoding="utf-8")
    for name, command in main.commands.items():
        assert f'id="ancr-{name}"' in page
        for option in (option for parameter in command.params for option in parameter.opts if option.startswith("--")):
            assert option in page


def test_dark_and_light_differ(browser):
    paint = "getComputedStyle(document.querySelector('.bd-content')).color"
    colours = {visit(browser, "index", color_scheme=scheme).evaluate(paint) for scheme in ("dark", "light")}
    assert len(colours) == 2


def test_every_example_has_a_page(browser):
    opened = visit(browser, "auto_examples/index")
    assert opened.locator(".sphx-glr-thumbcontainer").count() >= 14
