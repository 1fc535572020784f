"""The map in a real browser: by pointer and by keyboard, with labels that come from another tab."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_digits

from tests.chromium import check_accessible, poll
from tests.studio.browsing import Process

pytestmark = pytest.mark.all


def colours(page):
    """How many pixels of the map have each colour."""
    return page.evaluate(
        """() => {
            const canvas = document.querySelector('#plane canvas'), counts = {};
            const copy = document.createElement('canvas');
            copy.width = canvas.width;
            copy.height = canvas.height;
            const brush = copy.getContext('2d', { willReadFrequently: true });
            brush.drawImage(canvas, 0, 0);
            const pixels = new Uint32Array(brush.getImageData(0, 0, copy.width, copy.height).data.buffer);
            for (const pixel of pixels) counts[pixel] = (counts[pixel] || 0) + 1;
            return counts;
        }"""
    )


def colour(page, name):
    """A colour of the page, as the pixels have it."""
    return page.evaluate(
        """name => {
            const brush = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
            brush.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
            brush.fillRect(0, 0, 1, 1);
            return String(new Uint32Array(brush.getImageData(0, 0, 1, 1).data.buffer)[0]);
        }""",
        name,
    )


def settled(page):
    """Colours of the map once they do not change any more."""
    seen = [colours(page)]

    def is_same():
        seen.append(colours(page))
        return seen[-1] == seen[-2]

    poll(page, is_same, "the map does not come to rest")
    return seen[-1]


def open_map(page):
    page.click("#tab-map")
    page.wait_for_selector("#plane [role=option] .name", state="attached")
    ground = colour(page, "--sunken")
    poll(page, lambda: ground in colours(page), "the map is not drawn")


def lasso(page, corners):
    """Draw a polygon, in shares of the map."""
    box = page.locator("#plane").bounding_box()
    places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in corners]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=6)
    page.mouse.up()


EVERYTHING = [(0.01, 0.01), (0.99, 0.01), (0.99, 0.99), (0.01, 0.99)]


def test_lasso_selects_what_it_surrounds_and_labels_it(tmp_path, visit):
    """Two heaps of rows: a lasso around the left one selects that heap and labels it; undo takes it back."""
    rng = np.random.default_rng(0)
    heaps = np.repeat([0, 1], 40)
    rows = rng.normal(size=(80, 3)) + 10 * np.eye(2, 3)[heaps]
    labels = ["ab"[heap] if i % 20 == 0 else "" for i, heap in enumerate(heaps)]
    lines = [f"{u:.4f},{v:.4f},{w:.4f},{label}" for (u, v, w), label in zip(rows, labels, strict=True)]
    (tmp_path / "heaps.csv").write_text("\n".join(["u,v,w,label", *lines]) + "\n")
    with Process(tmp_path, tmp_path / "heaps.csv") as process:
        page = visit(process)
        open_map(page)
        lasso(page, [(0.01, 0.01), (0.45, 0.01), (0.45, 0.99), (0.01, 0.99)])
        assert page.text_content("#selected") == "40 selected"
        page.wait_for_function("() => document.querySelectorAll('#chosen .name').length > 2")
        names = set(page.locator("#chosen .name").all_text_contents())
        first = {f"row {i + 1}" for i in range(40)}
        assert names <= first or names.isdisjoint(first)  # one heap, not a mixture
        check_accessible(page, "map with a selection")
        page.focus("#plane")
        page.keyboard.press("/")
        assert page.evaluate("() => document.activeElement.id") == "many-class"
        page.keyboard.type("left")
        page.keyboard.press("Enter")
        page.wait_for_selector("text=left 40")
        page.wait_for_selector("#chosen", state="detached")  # with the answer, which may come after the news
        text = page.evaluate("async () => (await fetch('/api/export/labels.jsonl')).text()")
        labels = [json.loads(line) for line in text.splitlines()]
        left = {row["sample"] for row in labels if row["label"] == "left"}
        assert len(left) == 40
        assert names <= left
        page.keyboard.press("Tab")
        page.keyboard.press("Control+z")
        page.wait_for_function("() => document.querySelector('#facts').textContent.startsWith('4 labelled')")


def test_by_keyboard_alone(digits, visit):
    page = visit(digits)
    page.focus("#tab-try")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.wait_for_selector("#plane [role=option] .name", state="attached")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("() => document.activeElement.id") == "plane":
            break
    assert page.evaluate("() => document.activeElement.id") == "plane"
    name = "() => document.querySelector('#plane [role=option]:not(.unread) .name')?.textContent"
    seen = set()
    for key in ("ArrowRight", "ArrowUp", "ArrowLeft", "ArrowLeft", "ArrowDown", "PageDown", "End", "Home"):
        before = page.get_attribute("#plane", "aria-activedescendant")
        page.keyboard.press(key)
        page.wait_for_function(name)
        after = page.get_attribute("#plane", "aria-activedescendant")
        assert after != before, key
        page.wait_for_function("id => document.getElementById(id)?.querySelector('.name')", arg=after)
        assert page.locator(f"#{after}").count() == 1
        seen.add(page.evaluate(name))
    assert seen >= {"digit 1", "digit 1797"}
    for _ in range(30):  # held-out ones are not for labelling
        page.keyboard.press("PageDown")
        page.wait_for_selector("#plane [role=option] .name", state="attached")
        if "held out" not in page.inner_text("#plane [role=option]"):
            break
    page.keyboard.press(" ")
    page.wait_for_function("() => document.querySelector('#selected')?.textContent === '1 selected'")
    page.keyboard.press("Control+a")
    assert page.text_content("#selected") == "1,280 selected"
    page.keyboard.press("Escape")
    page.wait_for_selector("#chosen", state="detached")
    before = page.evaluate("() => document.querySelector('#plane canvas').toDataURL().length")
    page.keyboard.press("+")
    page.wait_for_function("n => document.querySelector('#plane canvas').toDataURL().length !== n", arg=before)
    page.keyboard.press("0")
    page.keyboard.press("Enter")
    page.wait_for_selector("#viewer[open] h2")
    first = page.text_content("#viewer h2")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("name => document.querySelector('#viewer h2').textContent !== name", arg=first)
    page.keyboard.press("Escape")
    page.wait_for_function("() => document.activeElement.id === 'plane'")
    check_accessible(page, "map")


def test_hover_shows_click_opens_and_labels_of_another_tab_colour(digits, visit):
    page, other = visit(digits), visit(digits, view="label")
    open_map(page)
    page.select_option("#map-only", "3")
    threes = colour(page, "--class-3")
    page.wait_for_function("() => document.querySelector('#map-only').value === '3'")
    poll(page, lambda: colours(page).get(threes), "no point is a three")
    before = settled(page)[threes]
    other.wait_for_selector("#current")
    for _ in range(4):
        shown = other.text_content("#current")
        other.keyboard.press("3")
        other.wait_for_function("name => document.querySelector('#current').textContent !== name", arg=shown)
    page.wait_for_function("() => document.querySelector('.legend').textContent.includes('3 54')")
    poll(page, lambda: colours(page)[threes] > before, "the new labels are not drawn")
    page.select_option("#map-colour", "guess")
    page.wait_for_function("() => /no guess/.test(document.querySelector('.legend').textContent)")
    box = page.locator("#plane").bounding_box()
    found = None
    for step in range(1, 240):  # somewhere in the middle there is a point; a busy page may need more than one look
        place = box["x"] + box["width"] * (step % 60) / 60, box["y"] + box["height"] / 2
        page.mouse.move(*place)
        page.wait_for_timeout(30 + step)
        if page.locator("#plane .tip:not(.unread)").count():
            found = place
            break
    assert found
    page.wait_for_selector("#plane .tip:not(.unread) .name")
    name = page.text_content("#plane .tip .name")
    page.mouse.click(*found)
    page.wait_for_function("name => document.querySelector('#viewer[open] h2')?.textContent === name", arg=name)


def test_neighbourhoods_come_in_the_background_and_can_be_cancelled(tmp_path, visit):
    X, y = load_digits(return_X_y=True)
    np.savez(tmp_path / "some.npz", features=X[:200], labels=y[:200])
    with Process(tmp_path, tmp_path / "some.npz") as process:
        page = visit(process)
        open_map(page)
        image = "() => document.querySelector('#plane canvas').toDataURL()"
        before = page.evaluate(image)
        page.select_option("#map-layout", "tsne")
        page.locator("[data-key=cancel]").press("Enter")
        page.wait_for_selector("[data-key=cancel]", state="detached")
        assert page.input_value("#map-layout") == "pca"
        page.select_option("#map-layout", "tsne")
        page.wait_for_selector("[data-key=cancel]")
        check_accessible(page, "map that is being worked out")
        page.wait_for_selector("[data-key=cancel]", state="detached", timeout=120_000)
        page.wait_for_function(f"before => ({image})() !== before", arg=before)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_fifty_thousand_points(tmp_path, visit, scheme):
    """All of them are drawn and selected, and a hover answers, without holding fifty thousand samples."""
    rng = np.random.default_rng(0)
    kinds = np.arange(50_000) % 12
    X = rng.normal(size=(50_000, 8)) + 6 * rng.normal(size=(12, 8))[kinds]
    labels = np.where(np.arange(50_000) % 5 == 0, kinds.astype(str), "")
    np.savez(tmp_path / "many.npz", features=X.astype(np.float32), labels=labels)
    with Process(tmp_path, tmp_path / "many.npz") as process:
        page = visit(process, color_scheme=scheme)
        open_map(page)
        assert page.locator(".legend li").count() == 13
        lasso(page, EVERYTHING)
        page.wait_for_function("() => document.querySelector('#selected').textContent === '50,000 selected'")
        page.wait_for_selector("#chosen [role=option]")
        assert page.locator("#chosen [role=option]").count() < 200
        page.locator("[data-key=none]").press("Enter")
        wanted = [colour(page, f"--class-{number}") for number in range(10)]
        poll(page, lambda: all(colours(page).get(one, 0) > 50 for one in wanted), "not all classes are drawn")
        check_accessible(page, scheme)
