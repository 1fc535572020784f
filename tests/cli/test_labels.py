"""``ancr audit`` and ``ancr next``: files that are right, in words and in a real browser."""

import csv

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_digits

from tests.command_line import invoke

HOSTILE = "<img src=x onerror=alert(1)>&\"'</script>"


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A CSV of digits with 12 wrong labels, one class with a hostile name, and which rows are wrong."""
    X, y = load_digits(return_X_y=True)
    rows = np.flatnonzero(y < 4)[:240]
    names = np.array([HOSTILE, "=1+1", "two", "three"])
    X, truth = X[rows], y[rows]
    wrong = np.random.default_rng(0).choice(240, 12, replace=False)
    given = truth.copy()
    given[wrong] = (given[wrong] + 1) % 4
    path = tmp_path_factory.mktemp("table") / "digits.csv"
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"p{i}" for i in range(64)), "label"])
        writer.writerows([*row, names[k]] for row, k in zip(X, given, strict=True))
    return path, wrong, names[truth], names[given]


@pytest.fixture(scope="module")
def audited(table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("audit") / "out"
    result = invoke(["audit", table[0], "--label", "label", "-o", folder])
    assert result.exit_code == 0, result.output
    return folder, result


def rows_of(folder):
    with open(folder / "audit.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_table_has_the_wrong_labels_first(table, audited):
    _, wrong, truth, given = table
    folder, result = audited
    assert "240 labels, about" in result.stdout
    rows = rows_of(folder)
    assert len(rows) == 240
    assert len({int(row["sample"].split()[1]) - 1 for row in rows[:12]} & set(wrong.tolist())) >= 11
    for row in rows[:8]:
        place = int(row["sample"].split()[1]) - 1
        assert row["suggested"].lstrip("'") == truth[place]  # what starts like a formula has an apostrophe in front
        assert row["label"].lstrip("'") == given[place]
        assert float(row["probability_of_label"]) < 0.9
        assert row["against_1"].startswith("row ")
    assert (np.diff([float(row["score"]) for row in rows]) <= 0).all()


def test_a_sample_that_cannot_be_judged_comes_last_and_is_said(tmp_path):
    rng = np.random.default_rng(0)
    rows = [",".join([*map(repr, row.tolist()), "ab"[i % 2]]) for i, row in enumerate(rng.normal(size=(40, 3)))]
    path = tmp_path / "few.csv"
    path.write_text("\n".join(["p,q,r,label", *rows, "9,9,9,alone"]) + "\n")
    result = invoke(["audit", path, "-o", tmp_path / "out"])
    assert result.exit_code == 0, result.output
    assert ", 1 cannot be judged" in result.stdout.splitlines()[0]
    last = rows_of(tmp_path / "out")[-1]
    assert (last["sample"], last["suggested"]) == ("row 41", "alone")
    assert last["score"] == last["probability_of_label"] == "cannot be judged"


def test_formulas_are_disarmed_unless_asked_for(table, audited, tmp_path):
    assert any(row["label"] == "'=1+1" for row in rows_of(audited[0]))
    assert invoke(["audit", table[0], "--label", "label", "-o", tmp_path, "--raw-text"]).exit_code == 0
    assert any(row["label"] == "=1+1" for row in rows_of(tmp_path))


def test_the_page_holds_no_markup_of_names(audited):
    page = (audited[0] / "audit.html").read_text(encoding="utf-8")
    assert "<img src=x" not in page
    assert "Content-Security-Policy" in page


def test_the_files_are_named_and_an_audit_of_other_data_is_not_replaced(table, audited, tmp_path):
    folder, result = audited
    for name in ("audit.html", "audit.csv"):
        assert str(folder / name) in result.stdout
    other = tmp_path / "other.csv"
    other.write_bytes(table[0].read_bytes())
    before = (folder / "audit.csv").read_bytes()
    refused = invoke(["audit", other, "--label", "label", "-o", folder])
    assert refused.exit_code != 0
    assert f"holds the audit of {table[0].resolve()}, which would be replaced; choose another folder" in refused.stderr
    assert (folder / "audit.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (["missing.csv"], "missing.csv does not exist"),
        (["{table}", "--label", "nothing"], "nothing"),
        (["{table}", "--label", "label", "--top", "0"], "top"),
    ],
)
def test_errors_are_one_line(table, tmp_path, arguments, match):
    result = invoke(["audit", *(text.format(table=table[0]) for text in arguments), "-o", tmp_path / "x"])
    assert result.exit_code != 0
    assert match in result.stderr
    assert "Traceback" not in result.output
    assert not (tmp_path / "x").exists()


def test_next_names_samples_of_the_pool(table, tmp_path):
    model = tmp_path / "model.npz"
    assert invoke(["train", table[0], "--label", "label", "-o", model, "--set", "alpha=0.1"]).exit_code == 0
    result = invoke(["next", model, table[0], "-n", "5"])
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert len(set(lines)) == 5
    assert all(line.startswith("row ") for line in lines)
    assert invoke(["next", model, table[0], "-n", "5", "-o", tmp_path / "next.txt"]).exit_code == 0
    assert (tmp_path / "next.txt").read_text().splitlines() == lines
    failed = invoke(["next", table[0], table[0]])
    assert failed.exit_code != 0
    assert "is not an ancr model" in failed.stderr


# --- in a real browser


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """A folder of images of digits; one class and one file have hostile names, and one image is in the wrong class."""
    root = tmp_path_factory.mktemp("photos") / "photos"
    X, y = load_digits(return_X_y=True)
    hostile = "<b onclick=alert(1)>&'"
    for label, name in enumerate([hostile, "one", "two"]):
        (root / name).mkdir(parents=True)
        for i, image in enumerate(X[y == label][:25]):
            pixels = np.kron(image.reshape(8, 8), np.ones((4, 4))) * 15
            Image.fromarray(pixels.astype(np.uint8)).save(root / name / f"{i}.png")
    wrong = X[y == 0][30].reshape(8, 8)
    path = root / "two" / "<script>alert(2)<.png"
    Image.fromarray((np.kron(wrong, np.ones((4, 4))) * 15).astype(np.uint8)).save(path)
    folder = root.parent / "audit"
    result = invoke(["audit", root, "-o", folder])
    assert result.exit_code == 0, result.output
    return folder, path, hostile


@pytest.fixture
def visit(browser):
    contexts = []

    def open_page(path):
        context = browser.new_context(offline=True, accept_downloads=True)
        contexts.append(context)
        page = context.new_page()
        page.messages = []
        page.on("console", lambda message: page.messages.append(message.text))
        page.on("pageerror", lambda error: page.messages.append(str(error)))
        page.on("dialog", lambda dialog: page.messages.append(f"dialog {dialog.message}"))
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()


def exported(page):
    with page.expect_download() as download:
        page.click("#export")
    with open(download.value.path(), newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.all
def test_a_folder_of_images_in_a_browser(photos, visit):
    folder, path, hostile = photos
    page = visit(folder / "audit.html")
    assert page.messages == []
    first = page.locator("tr[data-row]").first
    cells = first.locator("> td")
    assert str(path) in cells.nth(0).inner_text()
    assert cells.nth(1).inner_text() == "two"
    assert cells.nth(2).inner_text() == hostile
    # Thumbnails are shown, of the sample and of those that speak against its label.
    loaded = "images => images.every(image => image.complete && image.naturalWidth > 0)"
    images = page.locator("img")
    assert images.count() > 50
    assert images.evaluate_all(loaded)
    # Each is in the file once, however many labels it speaks about.
    assert (folder / "audit.html").read_text(encoding="utf-8").count("data:image/") <= 76 < images.count()
    assert cells.nth(4).locator("img").count() >= 1
    chances = [float(text) for text in page.locator("td.number").all_inner_texts()]
    assert chances == sorted(chances)
    # Names of classes and files are text.
    assert page.locator("b").count() == 0
    assert page.locator("option", has_text=hostile).count() > 0
    before = exported(page)
    assert {row["label"] for row in before} == {hostile, "one", "two"}
    first.locator("input[value=relabel]").check()
    assert page.inner_text("#count") == "1 relabelled"
    after = exported(page)
    changed = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    assert changed == [({"sample": str(path), "label": "two"}, {"sample": str(path), "label": hostile})]
    assert page.messages == []


@pytest.mark.all
def test_a_table_in_a_browser(table, audited, visit):
    page = visit(audited[0] / "audit.html")
    second = page.locator("tr[data-row]").nth(1)
    second.locator("select").select_option(HOSTILE)
    changed = [row for row, given in zip(exported(page), table[3], strict=True) if row["label"] != given]
    name = second.locator("> td").first.inner_text().splitlines()[0]  # the row's values stand below
    assert [(row["sample"], row["label"]) for row in changed] in ([(name, HOSTILE)], [])
    assert page.locator("img").count() == 0
    assert page.messages == []


@pytest.mark.all
@pytest.mark.parametrize("width", [1280, 900, 390])
def test_the_decision_is_in_sight_and_no_header_breaks(photos, visit, width):
    page = visit(photos[0] / "audit.html")
    page.set_viewport_size({"width": width, "height": 900})
    box = page.locator("td.decision").first.bounding_box()
    assert 0 <= box["x"] < box["x"] + box["width"] <= width
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if width > 760:
        broken = "cells => cells.filter(cell => cell.scrollWidth > cell.clientWidth).length"
        assert page.locator("th").evaluate_all(broken) == 0


@pytest.mark.all
def test_leaving_with_decisions_that_are_not_exported_is_asked_about(photos, visit):
    page = visit(photos[0] / "audit.html")
    page.locator("tr[data-row]").first.locator("input[value=relabel]").check()
    with page.expect_event("dialog") as asked:
        page.close(run_before_unload=True)
    assert asked.value.type == "beforeunload"
    asked.value.dismiss()
    page.wait_for_timeout(200)
    assert not page.is_closed()
    exported(page)
    page.close(run_before_unload=True)
    page.wait_for_event("close")
