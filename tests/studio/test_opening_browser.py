"""A new user in a real browser: photos and a table of their own, opened from the page, labelled, audited, exported."""

import csv
import io
import json

import numpy as np
import pytest
from PIL import Image

from tests.chromium import check_accessible, poll
from tests.studio.browsing import Process

pytestmark = pytest.mark.all

CLASSES = ("ball", "box", "bar")


@pytest.fixture(scope="module")
def process(tmp_path_factory):
    with Process(tmp_path_factory.mktemp("home")) as process:
        yield process


def shape(kind, seed):
    """A photo of a ball, a box or a bar."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:90, :120]
    a, b = x - rng.integers(40, 80), y - rng.integers(30, 60)
    inside = {"ball": a**2 + b**2 < 600, "box": (abs(a) < 26) & (abs(b) < 18), "bar": (abs(a) < 60) & (abs(b) < 5)}[
        kind
    ]
    pixels = np.where(inside[..., None], rng.integers(0, 60, 3), rng.integers(150, 230)) + rng.integers(
        0, 20, (90, 120, 3)
    )
    return Image.fromarray(pixels.astype(np.uint8))


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """Sixty photos: one broken, one of 16 bits, one turned by EXIF, odd names, and a class without any."""
    folder = tmp_path_factory.mktemp("data") / "my photos"
    for number in range(54):
        kind = CLASSES[number % 3]
        place = folder / (kind if number < 30 else "unlabelled")
        place.mkdir(parents=True, exist_ok=True)
        shape(kind, number).save(place / f"{kind} {number}.jpg")
    (folder / "empty class").mkdir()
    (folder / "ball" / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 not more")
    (folder / "ball" / "nothing.png").write_bytes(b"")
    grey = np.random.default_rng(7).integers(0, 2**16, (60, 80)).astype(np.uint16)
    Image.fromarray(grey).save(folder / "box" / "sixteen.png")
    turned = Image.Exif()
    turned[274] = 6
    shape("bar", 99).save(folder / "bar" / "turned.jpg", exif=turned)
    shape("bar", 98).save(folder / "bar" / ("x" * 200 + ".jpg"))
    shape("ball", 97).save(folder / "ball" / "😀 é.jpg")
    (folder / "notes.md").write_text("not a picture")
    return folder


@pytest.fixture(scope="module")
def animals(tmp_path_factory):
    """A table with gaps, words, an identifier, and a cell that is no number."""
    rng, rows = np.random.default_rng(0), ["id,Height (cm),colour,paid,constant,species"]
    for i in range(120):
        k = i % 3
        height = "" if i % 11 == 0 else f"{150 + 20 * k + 6 * rng.normal():.1f}"
        species = "" if i % 4 == 0 else "bee" if i == 3 else ["ant", "bee", "cat"][k]  # row 4 is wrong
        rows.append(f"P{i:04d},{height},{['red', 'blue', 'green'][k]},{'yes' if i % 2 else 'no'},1,{species}")
    path = tmp_path_factory.mktemp("data") / "animals.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


def opened(page, name):
    """Open what is previewed, and wait for it."""
    page.click("#go")
    page.wait_for_function("name => document.title.startsWith(name)", arg=name)
    page.wait_for_selector("#current")


def label_some(page, number, answer):
    """Label by the button of a class; ``answer(name)`` is the class.

    A click on a sample that has just come by itself is not taken, and on a slow machine it may come at any time.
    """
    labelled = "async () => (await (await fetch('/api/state')).json()).labelled"
    wanted = page.evaluate(labelled) + number
    while page.evaluate(labelled) < wanted:
        page.wait_for_timeout(450)
        name = page.text_content("#current")
        page.get_by_role("button", name=answer(name)).last.click()
        page.wait_for_function(
            """before => document.querySelector('#current')?.textContent !== before
                || document.querySelector('#status').textContent.includes('Look again')""",
            arg=name,
        )


def download(page, words):
    page.click("#more summary")
    with page.expect_download() as found:
        page.get_by_role("link", name=words, exact=True).click()
    return found.value.path()


def test_photos_from_choosing_to_export(process, photos, visit):
    page = visit(process, view="open")
    page.set_input_files("#choose-folder", str(photos))
    page.wait_for_selector("#go")
    assert "60 images, 36 with a label of 3 classes" in page.inner_text(".preview .lead")
    check_accessible(page, "a folder before it is opened")
    opened(page, "my photos")
    assert page.evaluate("location.hash") == "#label"
    notes = page.inner_text("#foot")
    assert "my photos/ball/broken.jpg" in notes
    assert "my photos/ball/nothing.png" in notes
    label_some(page, 6, lambda name: name.split("/")[-1].split()[0])
    page.click("#tab-audit")
    page.get_by_role("button", name="Audit the labels").click()
    page.wait_for_selector(".case, .empty")
    rows = list(csv.DictReader(io.StringIO(download(page, "Labels (CSV)").read_text())))
    assert len(rows) == 40  # 34 that came with one, 6 given
    assert all(row["sample"].split("/")[-1].startswith(row["label"]) for row in rows if row["given"] == "")
    page.click("#tab-browse")
    page.fill("#search", "turned")
    page.wait_for_function("() => document.querySelector('#found')?.textContent.startsWith('1 of')")
    page.wait_for_function("() => document.querySelector('#samples img')?.naturalHeight > 0")
    turned = page.locator("#samples img").first.evaluate("image => [image.naturalWidth, image.naturalHeight]")
    assert turned == [90, 120]


def test_a_table_from_dropping_to_export(process, animals, visit):
    page = visit(process, view="try")
    # A file that is dropped anywhere is one to open.
    transfer = page.evaluate_handle(
        "text => { const data = new DataTransfer(); data.items.add(new File([text], 'animals.csv')); return data; }",
        animals.read_text(),
    )
    page.dispatch_event("footer", "drop", {"dataTransfer": transfer})
    page.wait_for_selector("#go")
    assert page.evaluate("location.hash") == "#open"
    page.select_option("#label-column", "species")
    page.wait_for_function("() => document.querySelector('.preview .lead').textContent.includes('90 with a label')")
    plan = page.inner_text(".plan")
    assert "left out: identifier; choose “name of the row” to call rows by it" in plan
    assert "left out: constant" in plan
    assert "11 missing" in plan
    page.get_by_label("id", exact=True).select_option("id")
    page.wait_for_function("() => !document.querySelector('#go').disabled")
    check_accessible(page, "a table before it is opened")
    opened(page, "animals.csv")
    truth = {f"P{i:04d}": ["ant", "bee", "cat"][i % 3] for i in range(120)}
    label_some(page, 10, truth.get)
    page.click("#tab-audit")
    page.get_by_role("button", name="Audit the labels").click()
    page.wait_for_selector(".case")
    assert "P0003" in page.inner_text("main")
    rows = list(csv.DictReader(io.StringIO(download(page, "Table with labels (CSV)").read_text())))
    assert sum(row["label"] != "" for row in rows) == 100
    assert all(row["label"] in ("", truth[row["sample"]]) for row in rows if row["sample"] != "P0003")


def test_two_tabs_one_follows_and_says_so_and_typing_survives_events(process, animals, visit, browser):
    page = visit(process, view="open")
    page.set_input_files("#choose-file", str(animals))
    page.wait_for_selector("#go")
    page.select_option("#label-column", "species")
    page.wait_for_function("() => document.querySelector('.preview .lead').textContent.includes('90 with')")
    other = page.context.new_page()
    other.goto(process.address)
    other.wait_for_selector("[role=tab][aria-selected=true]")
    # A preview stays as it is while labels come in from another tab.
    page.get_by_label("paid").focus()
    other.click("#tab-label")
    other.wait_for_selector("#current")
    other.keyboard.press("s")
    other.wait_for_timeout(500)
    assert page.get_by_label("paid").evaluate("node => node === document.activeElement")
    opened(page, "animals.csv")
    other.wait_for_function(
        "() => document.querySelector('#told')?.textContent.includes('Another tab has opened animals.csv')"
    )
    assert other.title().startswith("animals.csv")
    assert page.inner_text("#told") == ""
    # Words typed slowly, while another tab labels.
    page.focus("#class-name")
    for letter in "sea lion 24":
        page.keyboard.press("Space" if letter == " " else letter)
        if letter in "a2":
            other.evaluate("() => fetch('/api/state')")
            other.get_by_role("button", name="Skip").click()
        page.wait_for_timeout(110)
    assert page.input_value("#class-name") == "sea lion 24"
    # Back to the digits by the list of recent projects, by keyboard.
    page.click("#tab-open")
    button = page.get_by_role("button", name="Open Digits")
    button.wait_for()
    button.focus()
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.title.startsWith('Digits')")
    other.wait_for_function("() => document.title.startsWith('Digits')")


def test_what_cannot_be_opened_is_a_sentence_and_can_often_be_put_right(process, visit, tmp_path):
    page = visit(process, view="open")

    def bring(name, content):
        (tmp_path / name).write_bytes(content)
        page.set_input_files("#choose-file", str(tmp_path / name))

    def alert(words):
        page.wait_for_function("words => document.querySelector('#alert').textContent.includes(words)", arg=words)

    bring("letter.pdf", b"%PDF")
    alert("letter.pdf is not of a kind that can be opened")
    page.messages.clear()
    bring("empty.csv", b"")
    alert("empty.csv is empty")
    bring("broken.zip", b"PK")
    alert("broken.zip cannot be unpacked")
    page.messages.clear()  # browsers note refused requests on the console
    rows = "".join(f"{i},{'about 7' if i == 40 else i * 2},{'ab'[i % 2]}\n" for i in range(60))
    bring("mixed.csv", f"x,y,label\n{rows}".encode())
    page.wait_for_selector(".preview .problem")
    assert "'about 7' is not a number" in page.inner_text(".preview .problem")
    assert page.locator("#go").is_disabled()
    page.get_by_label("y", exact=True).select_option("drop")
    page.wait_for_function(
        "() => !document.querySelector('.preview .problem') && !document.querySelector('#go').disabled"
    )
    page.get_by_role("button", name="Not this").click()
    page.wait_for_selector(".bring")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_cut_at_any_width(process, visit, animals, scheme):
    page = visit(process, view="open", color_scheme=scheme)
    page.wait_for_selector(".recent li")
    for width in (320, 390, 768, 1024, 1440, 1920):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    check_accessible(page, "open")
    wide = ",".join(f"a rather long name of a column {i}" for i in range(60)) + ",species\n"
    rows = "".join(",".join(str((i * j) % 17 + 0.5) for j in range(60)) + f",{'ab'[i % 2]}\n" for i in range(30))
    payload = {"name": "wide.csv", "mimeType": "text/csv", "buffer": (wide + rows).encode()}
    page.set_input_files("#choose-file", payload)
    page.wait_for_selector("#go")
    for width in (320, 390, 768, 1024, 1440, 1920):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    assert page.locator(".plan li").count() == 40
    page.get_by_role("button", name="Show the other 21 columns").click()
    assert page.locator(".plan li").count() == 61
    check_accessible(page, "preview")


def test_by_keyboard_alone(process, visit, animals):
    page = visit(process)
    choosers = []
    # Asked for from the start: a key pressed at once can be faster than asking for it.
    page.on("filechooser", lambda chooser: choosers.append(chooser))
    page.focus("#tab-try")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("() => document.activeElement.id") == "tab-open"
    page.wait_for_selector(".recent li")
    seen = []
    for _ in range(10):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("() => document.activeElement.id"))
    assert {"choose-file", "choose-folder"} <= set(seen)
    page.focus("#choose-file")
    page.keyboard.press("Enter")
    poll(page, lambda: choosers, "no file can be chosen")
    choosers[0].set_files(str(animals))
    page.wait_for_selector("#go")
    assert page.evaluate("() => document.activeElement.id") == "preview"
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.id") == "label-column"
    assert json.dumps(page.messages) == "[]"


def test_a_table_of_the_terminal_without_a_usual_label_begins_with_the_choice(animals, tmp_path, visit):
    path = tmp_path / "animals.csv"
    path.write_text(animals.read_text())
    with Process(tmp_path, path.name, folder=tmp_path) as process:  # as a person types it
        page = visit(process)
        page.wait_for_selector("#label-column")
        assert "No column of labels is chosen" in page.inner_text(".preview")
        page.select_option("#label-column", "species")
        page.wait_for_function("() => document.querySelector('.preview .lead').textContent.includes('90 with a label')")
        opened(page, "animals.csv")
        assert page.evaluate("location.hash") == "#label"
        assert str(path) in page.inner_text("#foot")  # where the file lies, not a copy
    with Process(tmp_path, path, "--label", "species") as process:
        visit(process).wait_for_selector("#tab-try[aria-selected=true]")
