"""Whatever field is typed into, at the pace of a person, while another tab labels: nothing that was typed is lost."""

import random

import numpy as np
import pytest

from tests.studio.browsing import Process, held

pytestmark = pytest.mark.all


@pytest.fixture(scope="module")
def process(tmp_path_factory):
    """A table with numbers, words and sentences, most of it without a label."""
    rng, home = np.random.default_rng(0), tmp_path_factory.mktemp("typing")
    rows = ["height,colour,remark,kind"]
    for i in range(240):
        k = i % 2
        remark = " ".join(rng.choice(["soft", "loud", "early", "wet", "round", "steep", "plain"], 6 + i % 5))
        rows.append(
            f"{10 * k + rng.normal():.2f},{['red', 'blue'][k]},{remark} {i},{['ant', 'bee'][k] if i < 40 else ''}"
        )
    (home / "typed.csv").write_text("\n".join(rows) + "\n")
    with Process(home, home / "typed.csv", "--label", "kind", "--column", "remark=text") as process:
        yield process


def in_try(page):
    page.get_by_role("button", name="Labelled").click()
    page.wait_for_selector("text=Its label is")  # not the answer to the sample that is shown at first


def in_browse(page):
    page.wait_for_selector("#samples [role=option] .name")


def with_some_selected(page):
    in_browse(page)
    page.select_option("#by-status", "waiting")
    page.wait_for_function("() => !document.querySelector('#found').textContent.startsWith('240')")
    page.focus("#samples")
    page.keyboard.press("End")
    page.keyboard.press(" ")
    page.keyboard.press("Shift+ArrowLeft")


def on_the_map(page):
    page.wait_for_selector("#plane [role=option] .name", state="attached")
    page.focus("#plane")
    page.keyboard.press("End")
    page.keyboard.press(" ")


def at_full_size(page):
    in_browse(page)
    page.focus("#samples")
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    page.wait_for_selector("#viewer-class")


FIELDS = {
    "a class in Label": ("label", lambda page: page.wait_for_selector("#current"), "class-name", "sea lion 24 u s z"),
    "a search in Browse": ("browse", in_browse, "search", "height>4 wet round"),
    "a class for many in Browse": ("browse", with_some_selected, "many-class", "summer suit 2024"),
    "a class for many on the map": ("map", on_the_map, "many-class", "summer suit 2024"),
    "a class in the dialog": ("browse", at_full_size, "viewer-class", "zebra / 10 finches"),
    "words in Try": ("try", in_try, "words", "loud early 2024"),
    "a number in Try": ("try", in_try, "cell-0", "12345.678"),
    "a category in Try": ("try", in_try, "cell-1", "reddish blue"),
    "a text in Try": ("try", in_try, "cell-2", "plain and steep, k r x"),
}


@pytest.mark.parametrize("field", list(FIELDS))
def test_a_field_keeps_focus_and_letters_while_another_tab_labels(process, visit, field):
    view, prepare, name, text = FIELDS[field]
    page, other = visit(process, view=view), visit(process, view="label")
    other.wait_for_selector("#current")
    prepare(page)
    page.focus(f"#{name}")
    page.fill(f"#{name}", "")
    facts = page.text_content("#facts")
    scrolled = page.evaluate("() => window.scrollY")
    pace = random.Random(0)
    for place, letter in enumerate(text):
        page.keyboard.type(letter)
        if place % 3 == 0:
            other.keyboard.press("12"[place % 2])
        page.wait_for_timeout(pace.uniform(50, 200))
        assert page.evaluate("() => document.activeElement.id") == name
        typed = page.input_value(f"#{name}")
        assert typed in (text[: place + 1], text[: place + 1].rstrip("."))  # a number that ends in a point has no value
    page.wait_for_function("before => document.querySelector('#facts').textContent !== before", arg=facts)
    page.wait_for_timeout(1500)  # what follows a label: the estimate, the ranking, the guesses
    assert page.input_value(f"#{name}") == text
    assert page.evaluate("() => document.activeElement.id") == name
    assert page.evaluate("() => window.scrollY") == scrolled
    # What was typed did not reach the keys of the view: all that this tab did was type.
    assert page.locator("#undo").is_disabled()
    for _ in range(20):
        if other.locator("#undo").is_disabled():
            break
        other.evaluate("() => document.getElementById('undo').click()")  # which does nothing once it is disabled
        other.wait_for_timeout(150)


@pytest.mark.parametrize("slider", ["alpha", "power"])
def test_a_slider_stays_under_the_hand(process, visit, slider):
    page, other = visit(process), visit(process, view="label")
    other.wait_for_selector("#current")
    in_try(page)
    page.focus(f"#{slider}")
    before = float(page.input_value(f"#{slider}"))
    for place in range(8):
        page.keyboard.press("ArrowRight")
        if place % 2:
            other.keyboard.press("s")
        page.wait_for_timeout(90)
        assert page.evaluate("() => document.activeElement.id") == slider
    page.wait_for_timeout(1000)
    assert float(page.input_value(f"#{slider}")) == pytest.approx(before + 8 * 0.05)


def test_a_sample_that_comes_late_replaces_no_edited_row_and_no_later_sample(process, visit):
    page = visit(process)
    in_try(page)
    name = page.text_content("h3:has-text('Edit')")
    release = held(page, "**/api/random?kind=pool", lambda: page.click("[data-kind=pool]"))
    page.fill("#cell-0", "7.5")
    release()
    page.wait_for_selector("text=The edited row")
    page.wait_for_timeout(500)
    assert page.text_content("h3:has-text('Edit')") == name
    assert page.input_value("#cell-0") == "7.5"
    page.unroute("**/api/random?kind=pool")
    release = held(page, "**/api/random?kind=pool", lambda: page.click("[data-kind=pool]"))
    in_try(page)
    release()
    page.wait_for_timeout(500)
    assert page.locator("text=Its label is").count() == 1
