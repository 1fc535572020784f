"""Every view by keyboard alone, with names that are words, at a height that a phone can scroll through."""

import re

import numpy as np
import pytest

from tests.chromium import check_accessible
from tests.studio.browsing import Process

pytestmark = pytest.mark.all

# What a person comes for in each view, and the most presses of Tab before it.
CONTENT = {
    "open": "#choose-file",
    "try": "canvas.drawing",
    "label": "#guesses",
    "browse": "#samples",
    "map": "#plane",
    "audit": "#cases",
    "compare": "[data-key=start]",
}
MOST_STOPS = 40


@pytest.fixture(scope="module")
def worked(tmp_path_factory, browser):
    """A studio on digits with an audit, and a page on it that is used by keys alone."""
    from sklearn.datasets import load_digits

    home = tmp_path_factory.mktemp("walk")
    X, y = load_digits(return_X_y=True)
    keep = np.flatnonzero(y < 4)[:260]
    labels = np.where(np.arange(260) % 4 == 0, "", y[keep].astype(str))
    np.savez(home / "some.npz", features=X[keep], labels=labels)
    with Process(home, home / "some.npz") as process:
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        page.goto(process.address)
        page.wait_for_selector("[role=tab][aria-selected=true]")
        walk_to(page, "audit")
        press_until(page, "[data-key=start]")
        page.keyboard.press("Enter")
        page.wait_for_selector("#cases", timeout=240_000)
        yield page, process
        context.close()


def walk_to(page, view):
    """Reach the tabs by Tab from the top of the page, then a view by arrows."""
    page.evaluate(
        "() => { document.activeElement.blur(); window.getSelection().removeAllRanges(); window.scrollTo(0, 0); }"
    )
    press_until(page, "[role=tab]", first=True)
    for _ in range(10):
        if page.evaluate("() => document.activeElement.dataset.view") == view:
            break
        page.keyboard.press("ArrowRight")
    assert page.evaluate("() => document.activeElement.dataset.view") == view
    page.wait_for_selector("main h2", state="attached")


def press_until(page, wanted, first=False):
    """Press Tab until an element has the focus; how often that was."""
    if first:  # begin at the top
        page.evaluate(
            "() => { document.body.tabIndex = -1; document.body.focus(); document.body.removeAttribute('tabindex'); }"
        )
    for presses in range(1, 2 * MOST_STOPS):
        page.keyboard.press("Tab")
        if page.evaluate("wanted => document.activeElement.matches(wanted)", wanted):
            return presses
    raise AssertionError(f"{wanted} is not reached by Tab")


@pytest.mark.parametrize("view", list(CONTENT))
def test_the_content_of_a_view_is_near_and_works_by_keys(worked, view):
    page, _ = worked
    walk_to(page, view)
    wanted = CONTENT[view] if view != "try" or page.locator("canvas.drawing").count() else "#file"
    page.wait_for_selector(wanted, state="attached")
    stops = press_until(page, "[role=tab]", first=True) + press_until(page, wanted)
    assert stops <= MOST_STOPS, view
    assert page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle") != "none"
    check_accessible(page, view)
    if view == "audit":
        name = page.text_content("#case h3 .name")
        page.keyboard.press("ArrowRight")
        page.wait_for_function("name => document.querySelector('#case h3 .name').textContent !== name", arg=name)
    elif view in ("label", "browse", "map"):
        page.keyboard.press("Enter")
        page.wait_for_selector("#viewer[open] h2")
        page.keyboard.press("Escape")
        page.wait_for_selector("#viewer[open]", state="detached")
        assert page.evaluate("wanted => document.activeElement.matches(wanted)", wanted)  # back where it was
    elif view == "compare":
        page.keyboard.press("Enter")
        page.wait_for_selector("[data-key=cancel]")
        press_until(page, "[data-key=cancel]")
        page.keyboard.press("Enter")
        page.wait_for_selector("[data-key=start]")


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_any_view_with_its_contents(worked, browser, width, scheme):
    """With an audit, a selection, what was found, the menu of exports and a sample at full size."""
    _, process = worked
    context = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme)
    page = context.new_page()
    page.goto(process.address)
    page.wait_for_selector("[role=tab][aria-selected=true]")

    def check(what):
        check_accessible(page, (what, width, scheme))
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, what

    for view, wanted in CONTENT.items():
        page.click(f"#tab-{view}")
        page.wait_for_selector(wanted if view != "try" else "#answer")
        check(view)
    page.click("#tab-try")
    page.fill("#words", "1")
    page.keyboard.press("Enter")
    page.wait_for_selector("#hits [role=option] .name")
    check("what was found")
    page.click("#tab-browse")
    page.wait_for_selector("#samples [role=option] .name")
    page.focus("#samples")
    page.keyboard.press(" ")
    page.wait_for_selector("#many-class")
    check("a selection")
    page.click("#tab-map")
    page.wait_for_selector("#chosen [role=option] .name")
    check("a selection on the map")
    page.click("#tab-browse")
    page.click("#as-table")
    page.wait_for_selector("#samples [role=row] .label")
    check("a table")
    page.click("#as-table")
    page.wait_for_selector("#samples [role=option] .name")
    page.focus("#samples")
    page.keyboard.press("Enter")
    page.wait_for_selector("#viewer[open] h2")
    check("a sample at full size")
    page.keyboard.press("Escape")
    page.click("#more summary")
    sheet = page.locator("#more .sheet").bounding_box()
    assert sheet["x"] >= 0
    assert sheet["x"] + sheet["width"] <= width
    check("the menu of exports")
    context.close()


def test_a_sample_at_full_size_and_the_menu_by_keys(worked):
    """Keys stay in the dialog; a class is given in it; the menu opens, closes and gives the focus back."""
    page, _ = worked
    page.click("#tab-browse")
    page.wait_for_selector("#samples [role=option] .name")
    page.focus("#samples")
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    page.wait_for_selector("#viewer[open] h2")
    name, seen = page.text_content("#viewer h2"), []
    where = "() => document.activeElement.closest('dialog, body').tagName + ' ' + document.activeElement.innerText"
    for _ in range(14):
        page.keyboard.press("Tab")
        seen.append(page.evaluate(where))
    inside = [text for text in seen if text.startswith("DIALOG")]
    assert {"DIALOG Close", "DIALOG Exclude", "DIALOG Give"} <= set(inside)
    # After the last one the browser's own buttons come, never the page below.
    assert not any(text.startswith("BODY") and "\n" not in text for text in seen)
    page.keyboard.press("/")
    page.keyboard.type("a new class")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('.verdict-line').textContent === 'a new class'")
    page.focus("#viewer .bar button:not(:disabled)")
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("name => document.querySelector('#viewer h2').textContent !== name", arg=name)
    page.keyboard.press("Escape")
    page.wait_for_selector("#viewer[open]", state="detached")
    page.keyboard.press("Control+z")
    page.wait_for_function("() => document.querySelector('#undo').disabled")
    page.focus("#more summary")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.id") == "export-labels"
    page.keyboard.press("Escape")
    assert page.evaluate(
        "() => document.activeElement.matches('#more summary') && !document.querySelector('#more').open"
    )


@pytest.mark.parametrize("width", [390, 1440])
def test_the_head_of_a_table_is_in_line_with_its_rows(visit, tmp_path, width):
    """Whatever is in them: long names, gaps, categories beside numbers."""
    rows = [
        f"{i % 7}.5,{'' if i % 3 else 'a remark'},{['red', 'ultramarine'][i % 2]},{1000 * i},{'ab'[i % 2]}"
        for i in range(60)
    ]
    head = "height above the sea (m),what was noted,colour,n,label"
    (tmp_path / "long.csv").write_text("\n".join([head, *rows]) + "\n")
    with Process(tmp_path, tmp_path / "long.csv") as process:
        page = visit(process, view="browse", width=width)
        page.wait_for_selector("#samples [role=option] .name")
        page.click("#as-table")
        page.wait_for_selector("#samples [role=row] .label")
        edges = """selector => [...document.querySelectorAll(selector)].map(one => {
            const { left, right } = one.getBoundingClientRect();
            return [Math.round(left), Math.round(right)];
        })"""
        titles = page.evaluate(edges, "#samples [role=columnheader]")
        cells = page.evaluate(edges, "#samples [aria-rowindex='2'] [role=gridcell]")
        assert len(titles) == 9
        assert titles == cells
        check_accessible(page, "table")


@pytest.mark.parametrize("width", [390, 1440])
def test_views_without_labels_say_what_to_do(visit, tmp_path, width):
    rows = "".join(f"{i % 7}.5,{i % 5},row {i}\n" for i in range(40))
    (tmp_path / "bare.csv").write_text("height,width,name\n" + rows)
    with Process(tmp_path, tmp_path / "bare.csv", "--label", "") as process:
        page = visit(process, width=width)
        wanted = {
            "try": "Give labels of at least two classes",
            "label": "Give labels of two classes",
            "browse": "40 samples",
            "map": "Draw around points",
            "audit": "Give labels of at least two classes",
            "compare": "Give labels of at least two classes",
            "open": "Drop a file or a folder here",
        }
        for view, sentence in wanted.items():
            page.click(f"#tab-{view}")
            page.get_by_text(sentence).first.wait_for()
            check_accessible(page, (view, width))
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, view


@pytest.mark.parametrize("width", [320, 768, 1024, 1180, 1280, 1366, 1920])
def test_the_head_of_the_page_is_whole_at_every_width(worked, browser, width):
    """A long name gives way; the menu of exports opens inside the window; nothing scrolls sideways."""
    _, process = worked
    context = browser.new_context(viewport={"width": width, "height": 800})
    page = context.new_page()
    page.goto(process.address)
    page.wait_for_selector("[role=tab][aria-selected=true]")
    page.evaluate("document.querySelector('#name').textContent = 'customers of the last twelve years, with gaps.csv'")
    page.click("#more summary")
    for part in ("#more .sheet", "#more summary", "#undo", "#tabs", "#facts", "h1"):
        box = page.locator(part).bounding_box()
        assert box["x"] >= 0, (part, width)
        assert box["x"] + box["width"] <= width, (part, width)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert page.locator("header").bounding_box()["height"] < (90 if width >= 1280 else 220)
    context.close()


@pytest.mark.parametrize("view", list(CONTENT))
def test_names_are_words(worked, view):
    """What a screen reader calls everything that can be pressed or filled in has letters or digits, not signs alone."""
    page, _ = worked
    page.click(f"#tab-{view}")
    page.wait_for_selector(CONTENT[view] if view != "try" else "#file")
    told = page.locator("body").aria_snapshot()
    named = re.findall(r"- '?(button|link|textbox|combobox|searchbox|listbox|option|checkbox|slider|tab)\b(.*)", told)
    assert len(named) >= 9  # the head of the page has as many
    for role, rest in named:
        name = re.match(r'\s*"((?:[^"\\]|\\.)*)"', rest)
        assert re.search(r"\w", name.group(1) if name else ""), (view, role, rest)


def test_no_view_is_endless_on_a_phone(worked, browser):
    _, process = worked
    context = browser.new_context(viewport={"width": 390, "height": 844})
    phone = context.new_page()
    phone.goto(process.address)
    phone.wait_for_selector("[role=tab][aria-selected=true]")
    for view in CONTENT:
        phone.click(f"#tab-{view}")
        phone.wait_for_timeout(800)
        height = phone.evaluate("document.documentElement.scrollHeight")
        assert height < 6 * 844, view
    context.close()


def test_an_answer_has_one_probability_and_unsure_is_amber(worked):
    page, _ = worked
    page.click("#tab-try")
    page.get_by_role("button", name="Waiting").click()
    page.wait_for_selector("#answer")
    chance = page.text_content(".headline .chance")
    first = page.locator(".bars tr.own .number").first.text_content()
    assert chance == first
    colours = page.evaluate(
        """() => ['unsure', 'problem'].map(name => {
            const one = document.createElement('span');
            one.className = name;
            document.body.append(one);
            const { color } = getComputedStyle(one);
            one.remove();
            return color;
        })"""
    )
    assert colours[0] != colours[1]
