"""The pictures of docs/studio.md: ``make pictures``, or ``python -m docs.studio_pictures NAME`` for one."""

import io
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tests.chromium import chromium
from tests.studio.browsing import Process

IMAGES = Path(__file__).parent / "images"
WIDTH, HEIGHT = 1280, 800
_LONG = 900_000  # milliseconds that a comparison may take


def write_pictures(names: list[str]) -> None:
    """Take the pictures of these views, in a studio of its own; of all where none is named."""
    with tempfile.TemporaryDirectory() as folder, Process(folder) as process, chromium() as browser:
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, reduced_motion="reduce")
        page.goto(process.address)
        page.wait_for_selector("[role=tab][aria-selected=true]")
        page.wait_for_function("() => document.querySelector('#accuracy').textContent.startsWith('Accuracy')")
        for name in names or list(VIEWS):
            page.click(f"#tab-{name}")
            VIEWS[name](page)
            page.wait_for_timeout(800)
            page.evaluate("() => scrollTo(0, 0)")
            _save(page.screenshot(full_page=name != "browse"), IMAGES / f"studio-{name}.png")


def _save(content: bytes, path: Path) -> None:
    """With the colours that there are, in a third of the bytes."""
    image = Image.open(io.BytesIO(content)).convert("RGB")
    image.quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)


def _table() -> bytes:
    """Animals, with gaps, words, an identifier and a column that is the same everywhere."""
    rng, rows = np.random.default_rng(0), ["id,Height (cm),colour,note,paid,constant,species"]
    for i in range(120):
        k = i % 3
        height = "" if i % 11 == 0 else f"{150 + 20 * k + 6 * rng.normal():.1f}"
        note = "" if i % 5 == 0 else f"seen near the {['wood', 'hill', 'river'][int(rng.integers(3))]}"
        species = "" if i % 4 == 0 else ["ant", "bee", "cat"][k]
        colour = ["red", "blue", "green"][(k + int(rng.integers(5) == 0)) % 3]
        rows.append(f"P{i:04d},{height},{colour},{note},{'yes' if i % 2 else 'no'},1,{species}")
    return ("\n".join(rows) + "\n").encode()


def _open(page: Any) -> None:
    page.set_input_files("#choose-file", {"name": "animals.csv", "mimeType": "text/csv", "buffer": _table()})
    page.wait_for_selector("#label-column")
    page.select_option("#label-column", "species")
    page.wait_for_function("() => document.querySelector('.preview .lead').textContent.includes('90 with')")


def _try(page: Any) -> None:
    box = page.locator("canvas.drawing").bounding_box()
    corners = [(0.28, 0.2), (0.72, 0.2), (0.44, 0.84)]
    places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in corners]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=12)
    page.mouse.up()
    page.wait_for_function("() => document.querySelector('.headline')?.textContent.startsWith('Your drawing is7')")
    page.wait_for_selector(".headline .badge")


def _label(page: Any) -> None:
    page.wait_for_selector("#guess button")
    page.wait_for_selector("#guesses [role=option]")


def _browse(page: Any) -> None:
    page.wait_for_selector("#found")
    for tidy in ("#clear", "[data-key=none]"):  # filters, and what another view has selected
        if page.locator(tidy).is_visible():
            page.click(tidy)
    page.select_option("#by-status", "waiting")
    page.wait_for_function("() => document.querySelector('#found')?.textContent.startsWith('780 of')")
    page.select_option("#by-guess", "3")
    page.wait_for_function("() => !document.querySelector('#found').textContent.startsWith('780')")
    page.focus("#samples")
    page.keyboard.press(" ")
    for _ in range(3):
        page.keyboard.press("Shift+ArrowRight")
    page.wait_for_selector("#many-class")


def _map(page: Any) -> None:
    page.evaluate("() => document.activeElement.blur()")
    page.wait_for_selector("#plane [role=option]", state="attached")
    page.locator("[data-key=none]").click()
    page.select_option("#map-layout", "tsne")
    page.wait_for_selector("[data-key=cancel]")
    page.wait_for_selector("[data-key=cancel]", state="detached", timeout=_LONG)
    page.wait_for_timeout(1500)
    box = page.locator("#plane").bounding_box()
    corners = [(0.06, 0.1), (0.36, 0.06), (0.4, 0.4), (0.1, 0.42)]
    places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in corners]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in [*places[1:], places[0]]:
        page.mouse.move(*place, steps=8)
    page.mouse.up()
    page.mouse.move(0, 0)
    page.wait_for_selector("#chosen .name")


def _audit(page: Any) -> None:
    """Four labels are wrong on purpose: threes that are called eight."""
    page.click("#tab-browse")
    _browse(page)
    page.fill("#many-class", "8")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('#facts').textContent.startsWith('504 labelled')")
    page.click("#tab-audit")
    page.click("[data-key=start]")
    page.wait_for_selector("#case", timeout=_LONG)
    page.wait_for_function("() => document.querySelector('#effect')?.textContent.includes('now')")
    page.mouse.move(0, 0)


def _compare(page: Any) -> None:
    page.click("[data-key=start]")
    page.wait_for_selector("#methods tbody tr", timeout=_LONG)
    page.locator("#confusion .wrong button").first.press("Enter")
    page.wait_for_selector("#cell-samples [role=option]")


# Each brings its view to where its picture is taken.
VIEWS = {
    "open": _open,
    "try": _try,
    "label": _label,
    "browse": _browse,
    "map": _map,
    "audit": _audit,
    "compare": _compare,
}

if __name__ == "__main__":
    write_pictures(sys.argv[1:])
