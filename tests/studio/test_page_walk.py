"""Every view by keyboard alone, with names that are words, at a height that a phone can scroll through."""

import re

import numpy as np
import pytest

from tests.chromium import check_accessible
from tests.studio.browsing import Process

pytestmark = pytest.mark.all

# What a person comes for in each view, and the most presses of Tab before it.
CONTENT = {
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
    page.wait_for_selector(wanted)
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
