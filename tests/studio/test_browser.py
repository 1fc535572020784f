"""The page in a real browser: every view, by keyboard, at every width, without a message on the console."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from tests.chromium import check_accessible
from tests.studio.browsing import Process, held
from tests.studio.test_process import client_of

pytestmark = pytest.mark.all

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


def draw_seven(page):
    box = page.locator("canvas.drawing").bounding_box()

    def at(x, y):
        return box["x"] + x * box["width"], box["y"] + y * box["height"]

    page.mouse.move(*at(0.3, 0.25))
    page.mouse.down()
    page.mouse.move(*at(0.7, 0.25), steps=8)
    page.mouse.move(*at(0.45, 0.8), steps=8)
    page.mouse.up()


def export_labels(page):
    page.click("#more summary")
    page.click("#export-labels")


def label(page, key):
    """Give the sample that is shown a label by a key, and wait for the next."""
    before = page.text_content("#current")
    page.keyboard.press(key)
    page.wait_for_function("before => document.querySelector('#current')?.textContent !== before", arg=before)
    return before


def test_draw_answer_witnesses_and_sliders(digits, visit):
    page = visit(digits)
    draw_seven(page)
    # The answer follows the pen: that of half a stroke may come first.
    page.wait_for_function("() => document.querySelector('#answer')?.textContent === '7'")
    first = page.locator("table.bars tbody").inner_text()
    assert page.locator("#witnesses li").count() >= 3
    assert page.get_by_alt_text("The reconstruction of the query").count() == 1
    page.focus("#alpha")
    for _ in range(12):
        page.keyboard.press("ArrowRight")
    page.wait_for_function("before => document.querySelector('table.bars tbody').innerText !== before", arg=first)
    assert page.locator("#alpha").evaluate("node => node === document.activeElement")
    page.select_option("#kernel", "rbf")
    page.wait_for_selector("#gamma")
    second = page.locator("table.bars tbody").inner_text()
    page.focus("#gamma")
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
    page.wait_for_function("before => document.querySelector('table.bars tbody').innerText !== before", arg=second)
    page.get_by_role("button", name="Use these settings").click()
    page.wait_for_function("() => document.querySelector('.accepted, .unsure')")
    page.get_by_role("button", name="Undo").first.click()
    page.wait_for_function("() => document.querySelector('#kernel').value === 'linear'")
    check_accessible(page, "try")


def test_choose_for_me(digits, visit):
    page = visit(digits)
    page.get_by_role("button", name="Held out").click()
    page.wait_for_selector("#answer")
    page.get_by_role("button", name="Choose for me").click()
    page.wait_for_function(
        "() => document.querySelector('#chosen').textContent.startsWith('Chosen from')", timeout=120_000
    )
    page.get_by_role("button", name="Use these settings").click()
    page.wait_for_function("() => document.querySelector('.accepted, .unsure')")


def test_keys_are_for_the_sample_that_is_seen(digits, visit):
    page = visit(digits)
    page.get_by_role("tab", name="Try").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#current")
    first = page.locator("#current").text_content()
    # Two keys at once: the second would be meant for a sample that is not shown yet.
    page.evaluate(
        "for (const key of '37') document.body.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}))"
    )
    page.wait_for_function("name => document.querySelector('#current').textContent !== name", arg=first)
    page.wait_for_timeout(1500)  # until the others are ranked anew
    page.keyboard.press("u")
    page.wait_for_function("name => document.querySelector('#current').textContent === name", arg=first)
    # Enter takes the guess, with the focus still on the tab.
    page.wait_for_selector("#guess button")
    page.keyboard.press("Enter")
    page.wait_for_function("name => document.querySelector('#current').textContent !== name", arg=first)


def test_an_image_is_dropped_and_what_is_none_is_a_sentence(digits, visit, tmp_path):
    from PIL import Image

    page = visit(digits)
    picture = tmp_path / "digit.png"
    Image.fromarray((load_digits().images[3] * 15).astype(np.uint8)).resize((80, 80)).save(picture)
    page.set_input_files("#file", picture)
    page.wait_for_selector("#answer")
    (tmp_path / "text.png").write_text("no image")
    page.set_input_files("#file", tmp_path / "text.png")
    page.wait_for_function("() => document.querySelector('#alert').textContent.includes('cannot be read as an image')")
    assert [text for text in page.messages if "400" not in text] == []
    page.messages.clear()  # the browser itself reports the answer 400


def test_label_thirty_undo_kill_restart_same_state(tmp_path, visit):
    truth = load_digits().target
    with Process(tmp_path) as process:
        page = visit(process, view="label")
        page.wait_for_selector("#current")
        given = [label(page, str(truth[int(page.text_content("#current").split()[1]) - 1])) for _ in range(30)]
        assert len(set(given)) == 30
        label(page, "s")
        page.keyboard.press("u")
        page.wait_for_function("() => document.querySelector('#facts').textContent.startsWith('530 labelled')")
        page.keyboard.press("u")
        page.wait_for_function("() => document.querySelector('#facts').textContent.startsWith('529 labelled')")
        other = visit(process, view="label")
        other.wait_for_function("() => document.querySelector('#facts').textContent.startsWith('529 labelled')")
        page.reload()
        page.wait_for_function("() => document.querySelector('#facts').textContent.startsWith('529 labelled')")
        for each in (page, other):
            each.goto("about:blank")
            assert each.messages == []
        process.kill()
    with Process(tmp_path) as process:
        page = visit(process, view="label")
        page.wait_for_function("() => document.querySelector('#facts').textContent.startsWith('529 labelled')")
        with page.expect_download() as download:
            export_labels(page)
        text = download.value.path().read_text()
        assert all(f"\n{name}," in text for name in given[:29])
        check_accessible(page, "label")


def test_new_class_by_typing_and_guesses_at_once(digits, visit):
    page = visit(digits, view="label")
    page.wait_for_selector("#guesses [role=option]")
    page.wait_for_selector("#current")
    page.keyboard.press("/")
    page.keyboard.type(HOSTILE)
    page.keyboard.press("Enter")
    page.wait_for_function(
        "name => [...document.querySelectorAll('.classes button')].some(b => b.textContent.includes(name))", arg=HOSTILE
    )
    assert page.locator(".classes img").count() == 0
    page.select_option("#filter", "0")
    page.wait_for_function("() => document.querySelectorAll('#guesses [role=option]').length > 5")
    page.locator("[data-key=tick]").press("Enter")
    page.wait_for_function("() => /Accept [1-9]/.test(document.querySelector('[data-key=accept]').textContent)")
    before = page.text_content("#facts")
    page.locator("[data-key=accept]").press("Enter")
    page.wait_for_function("before => document.querySelector('#facts').textContent !== before", arg=before)
    page.keyboard.press("Control+z")


@pytest.mark.parametrize("pause", [50, 110, 200])
def test_what_is_typed_stays_while_events_arrive(tmp_path, visit, pause):
    """Press 1, then /, and type a class while another tab labels: every letter is in the box, and no key did more."""
    with Process(tmp_path) as process:
        page, other = visit(process, view="label"), visit(process, view="label")
        for each in (page, other):
            each.wait_for_selector("#guesses [role=option]")
        label(page, "1")
        facts = page.text_content("#facts").split()[0]
        page.keyboard.press("/")
        text = "summer suit 2024"
        for place, letter in enumerate(text):
            page.keyboard.type(letter)
            if place % 3 == 0:
                other.keyboard.press("7")
            page.wait_for_timeout(pause)
            assert page.input_value("#class-name") == text[: place + 1]
        other.wait_for_function(
            "n => Number(document.querySelector('#facts').textContent.split(' ')[0]) > n", arg=int(facts)
        )
        page.wait_for_function(
            "n => Number(document.querySelector('#facts').textContent.split(' ')[0]) > n", arg=int(facts)
        )
        assert page.input_value("#class-name") == text
        assert page.evaluate("() => document.activeElement.id") == "class-name"
        before = page.text_content("#current")
        page.keyboard.press("Enter")
        page.wait_for_function("name => document.querySelector('#current').textContent !== name", arg=before)
        with page.expect_download() as download:
            export_labels(page)
        lines = [line.split(",") for line in download.value.path().read_text().splitlines()]
        given = {line[0]: line[1] for line in lines if line[3] == "labelled"}
        assert given[before] == text
        assert set(given.values()) == {"1", "7", text}


def picture_colour(page):
    """The colour in the middle of the picture of the sample that is shown."""
    return page.evaluate(
        """async () => {
            const image = document.querySelector('section.current img');
            await image.decode();
            const canvas = document.createElement('canvas');
            canvas.width = canvas.height = 1;
            const brush = canvas.getContext('2d');
            brush.drawImage(image, 0, 0, 1, 1);
            return [...brush.getImageData(0, 0, 1, 1).data].slice(0, 3);
        }"""
    )


def test_the_picture_is_that_of_the_sample_after_an_image_was_added(tmp_path, visit, browser):
    """The same browser, the same port, one more image in front: every picture has the colour that its name says."""
    from PIL import Image

    folder, port = tmp_path / "photos", "8733"
    folder.mkdir()

    def add(name):
        red = int(name[1:3])
        Image.new("RGB", (40, 40), (red, 255 - red, 80)).save(folder / name)

    for red in range(20, 90, 10):
        add(f"p{red}.png")
    context = browser.new_context()
    for _ in range(2):
        with Process(tmp_path, folder, "--port", port) as process:
            page = context.new_page()
            page.goto(process.address)
            page.wait_for_selector("[role=tab][aria-selected=true]")
            page.click("#tab-label")
            page.wait_for_selector("#current")
            for _ in range(3):
                name = page.text_content("#current")
                page.wait_for_function("() => document.querySelector('section.current img')?.complete")
                red, green, _ = picture_colour(page)
                assert abs(red - int(name[1:3])) < 4, name
                assert abs(green - (255 - int(name[1:3]))) < 4, name
                label(page, "s")
            page.keyboard.press("u")
            page.close()
        add("p10.png")
    context.close()


def test_the_list_does_not_change_under_the_hand(digits, visit):
    page, other = visit(digits, view="label"), visit(digits, view="label")
    for each in (page, other):
        each.wait_for_selector("#guesses [role=option]")
    names = page.locator("#guesses .name").all_text_contents()
    page.locator("#guesses [role=option]").nth(2).hover()
    for key in "3579":
        label(other, key)
    page.wait_for_selector("[data-key=newer]")
    assert page.locator("#guesses .name").all_text_contents() == names
    page.click("[data-key=newer]")
    page.wait_for_selector("[data-key=newer]", state="detached")


def test_browse_by_keyboard_search_select_label_and_undo(digits, visit):
    page = visit(digits, view="browse")
    page.wait_for_selector("#samples [role=option]")
    assert page.locator("#samples [role=option]").count() < 200  # only what is seen
    page.focus("#search")
    text = '"digit 17"'
    for place, letter in enumerate(text):
        page.keyboard.type(letter)
        page.wait_for_timeout(80)
        assert page.input_value("#search") == text[: place + 1]
    page.wait_for_function("() => document.querySelector('#found').textContent.startsWith('109 of')")
    page.select_option("#by-status", "waiting")
    page.wait_for_function("() => !document.querySelector('#found').textContent.startsWith('109')")
    page.focus("#samples")
    page.keyboard.press(" ")
    for _ in range(2):
        page.keyboard.press("Shift+ArrowRight")
    assert page.text_content("#selected") == "3 selected"
    check_accessible(page, "browse")
    page.fill("#many-class", "new class")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('#facts').textContent.startsWith('503 labelled')")
    page.keyboard.press("Tab")
    page.keyboard.press("Control+z")
    page.wait_for_function("() => document.querySelector('#facts').textContent.startsWith('500 labelled')")
    page.focus("#samples")
    page.keyboard.press("Enter")
    page.wait_for_selector("#viewer[open] h2")
    first = page.text_content("#viewer h2")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("name => document.querySelector('#viewer h2').textContent !== name", arg=first)
    check_accessible(page, "a sample")
    page.keyboard.press("Escape")
    page.click("#as-table")
    page.wait_for_selector("#samples [role=row]")
    page.get_by_role("button", name="Name").press("Enter")
    page.wait_for_selector("[aria-sort=ascending]")
    check_accessible(page, "table of samples")


def test_undo_that_comes_before_the_answer_to_the_label_takes_it_back(digits, visit):
    """News of a label come before the answer to it, on a slow machine; whoever sees them may press Ctrl+Z."""
    page = visit(digits, view="label")
    page.wait_for_selector("#current")
    first = page.text_content("#current")
    release = held(page, "**/api/act", lambda: page.keyboard.press("3"))
    page.wait_for_function("() => document.querySelector('#facts').textContent.startsWith('501 labelled')")
    page.keyboard.press("Control+z")
    release()
    page.wait_for_function("() => document.querySelector('#facts').textContent.startsWith('500 labelled')")
    page.wait_for_function("name => document.querySelector('#current').textContent === name", arg=first)
    assert page.is_disabled("#undo")


def test_a_state_that_is_older_than_an_action_is_not_kept(digits, visit):
    """After an undo the page asks for everything; a label that is given meanwhile can be undone all the same."""
    page = visit(digits, view="label")
    page.wait_for_selector("#current")
    label(page, "3")
    release = held(page, "**/api/state", lambda: page.keyboard.press("u"))
    page.wait_for_function("() => document.querySelector('#facts').textContent.startsWith('500 labelled')")
    page.keyboard.press("4")
    page.wait_for_function("() => document.querySelector('#facts').textContent.startsWith('501 labelled')")
    page.wait_for_selector("#undo:enabled")
    with page.expect_response("**/api/state"):
        release()
    page.wait_for_timeout(500)
    assert page.text_content("#facts").startswith("501 labelled")
    assert page.is_enabled("#undo")


def test_news_that_come_before_the_page_knows_anything_are_not_lost(digits, visit):
    page, client = visit(digits), client_of(digits)
    release = held(page, "**/api/state", page.reload)
    sample = client.post("/api/next", json={"n": 1}).json()["next"][0]["id"]
    assert client.post("/api/act", json={"do": "label", "sample": sample, "label": "3"}).status_code == 200
    page.wait_for_timeout(1500)
    release()
    page.wait_for_function("() => document.querySelector('#facts').textContent.startsWith('501 labelled')")
    page.wait_for_function("() => document.querySelector('#accuracy').textContent.includes('on 501')")


def test_an_answer_that_is_older_than_the_news_does_not_replace_them(digits, visit):
    """The accuracy and the guesses that follow a label come before the answer to it: they stay."""
    page = visit(digits, view="label")
    page.wait_for_selector("#guess button")
    first = page.text_content("#current")
    release = held(page, "**/api/act", lambda: page.keyboard.press("3"))
    page.wait_for_function("() => document.querySelector('#accuracy').textContent.includes('on 501')")
    page.wait_for_timeout(500)
    release()
    page.wait_for_function("name => document.querySelector('#current').textContent !== name", arg=first)
    page.wait_for_selector("#guess button")
    assert "on 501" in page.text_content("#accuracy")
    assert page.locator("#accuracy .unseen").count() == 1  # it is not being updated
    assert page.is_enabled("#undo")


def test_undo_twice_before_any_answer_takes_back_what_there_is(digits, visit):
    page = visit(digits, view="label")
    page.wait_for_selector("#current")
    first = label(page, "3")
    page.evaluate("for (let i = 0; i < 3; i++) document.getElementById('undo').click()")
    page.wait_for_function("name => document.querySelector('#current').textContent === name", arg=first)
    page.wait_for_timeout(500)
    assert page.text_content("#alert").strip() == ""


def test_what_comes_late_for_a_sample_that_was_closed_is_not_shown(digits, visit):
    """The row of the first sample comes after that sample is closed, and after another one is open in its place."""
    page = visit(digits, view="browse")
    page.wait_for_selector("#samples [role=option]")
    late = []
    page.route("**/api/row/*", lambda route: late.append(route) if not late else route.continue_())
    page.focus("#samples")
    page.keyboard.press("Enter")
    page.wait_for_selector("#viewer[open] h2")
    first = page.text_content("#viewer h2")
    page.keyboard.press("Escape")
    page.wait_for_selector("#viewer[open]", state="detached")
    page.fill("#search", '"digit 17"')
    page.wait_for_function("() => document.querySelector('#found').textContent.startsWith('109 of')")
    page.focus("#samples")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    page.wait_for_selector("#viewer[open] h2")
    second = page.text_content("#viewer h2")
    assert second != first
    (row,) = late
    with page.expect_response("**/api/row/*"):
        row.continue_()
    page.wait_for_timeout(200)
    assert page.text_content("#viewer h2") == second


def test_a_server_that_ends_is_mentioned(tmp_path, visit, browser):
    with Process(tmp_path) as process:
        page = browser.new_page()
        page.goto(process.address)
        page.wait_for_selector("[role=tab][aria-selected=true]")
        process.kill()
        page.wait_for_function("() => document.querySelector('#alert').textContent.includes('does not answer')")
        page.click("#tab-label")  # it stays said, and nothing is said that nobody could ask
        page.wait_for_selector("#current-box")
        page.wait_for_timeout(300)
        assert "does not answer" in page.text_content("#alert")
        assert "Nothing waits" not in page.text_content("main")
        page.close()


def test_seven_tabs_share_one_stream(digits, browser):
    """A browser keeps six connections to a server: a stream for each tab would leave none for the seventh."""
    context = browser.new_context()
    pages = [context.new_page() for _ in range(8)]
    for page in pages:
        page.goto(digits.address)
        page.wait_for_selector("[role=tab][aria-selected=true]")
    pages[-1].click("#tab-label")
    pages[-1].wait_for_selector("#current")
    label(pages[-1], "3")
    for page in pages:
        page.wait_for_function("() => document.querySelector('#facts').textContent.startsWith('501 labelled')")
    context.close()


def test_audit_relabel_export(digits, visit):
    page = visit(digits, view="label")
    page.wait_for_selector("#guesses [role=option]")
    for _ in range(3):  # wrong on purpose: as far from the guess as can be
        page.wait_for_selector("#guess button")
        guess = page.text_content("#guess button").split("It is ")[1].split()[0]
        label(page, str((int(guess) + 5) % 10) if guess.isdigit() else "1")
    page.click("#tab-audit")
    page.get_by_role("button", name="Audit the labels").click()
    page.wait_for_selector("#case button.main", timeout=120_000)
    name = page.text_content("#case h3 .name")
    wanted = page.text_content("#case button.main").partition("It is ")[2]
    check_accessible(page, "audit")
    page.focus("#cases")
    page.keyboard.press("r")
    page.wait_for_function("name => document.querySelector('#case h3 .name').textContent !== name", arg=name)
    page.keyboard.press("Home")
    page.wait_for_selector("section.decided")
    with page.expect_download() as download:
        export_labels(page)
    row = next(line for line in download.value.path().read_text().splitlines() if line.startswith(f"{name},"))
    assert row.split(",")[1] == wanted
    page.wait_for_function("() => document.querySelector('#effect').textContent.includes('now')")


def test_compare_sort_and_open_a_cell(tmp_path, visit):
    X, y = load_digits(return_X_y=True)
    small = np.isin(y[:300], [1, 7, 9])
    np.savez(tmp_path / "small.npz", features=X[:300][small], labels=y[:300][small])
    with Process(tmp_path, tmp_path / "small.npz") as process:
        page = visit(process, view="compare")
        page.get_by_role("button", name="Compare methods").click()
        page.wait_for_selector("#methods tbody tr", timeout=240_000)
        page.get_by_role("button", name="Method").first.press("Enter")
        names = page.locator("#methods tbody th").all_text_contents()
        assert names == sorted(names, key=str.lower)
        page.locator("#confusion button").first.press("Enter")
        page.wait_for_selector("#cell-samples [role=option]")
        assert page.locator("svg.curve").count() == 1
        check_accessible(page, "compare")
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
        assert page.locator("#methods thead tr").bounding_box()["height"] < 60  # a line, not a letter a line
        page.emulate_media(color_scheme="dark")
        check_accessible(page, "compare on a phone")


def test_a_table_with_hostile_names_edits_a_row(tmp_path, visit):
    rng = np.random.default_rng(0)
    lines = [f'"{HOSTILE}",b,c,name,label']
    for i in range(40):
        kind = i % 2
        lines.append(
            f'{3 * kind + rng.normal():.3f},{rng.normal():.3f},{rng.normal():.3f},"<b>{i}</b>","<script>{kind}"'
        )
    (tmp_path / "hostile.csv").write_text("\n".join(lines) + "\n")
    with Process(tmp_path, tmp_path / "hostile.csv") as process:
        page = visit(process)
        page.wait_for_selector("#answer")
        with page.expect_response(lambda response: "/api/row/" in response.url):  # it brings other fields
            page.get_by_role("button", name="Labelled").click()
        page.wait_for_timeout(500)
        page.fill("#cell-0", "9")
        page.wait_for_function("() => document.querySelector('#answer').textContent === '<script>1'")
        page.fill("#cell-0", "-9")
        page.wait_for_function("() => document.querySelector('#answer').textContent === '<script>0'")
        assert page.locator("#unlike tbody tr").first.locator("th, td").all_text_contents()[:2] == [HOSTILE, "-9"]
        assert page.locator("main script, main b, main img").count() == 0
        check_accessible(page, "table")


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1280, 800), (3840, 2160)])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_width_and_theme(home, visit, width, height, scheme):
    with Process(home) as process:
        page = visit(process, width, height, color_scheme=scheme, reduced_motion="reduce")
        for view in ("try", "label", "browse", "map", "audit", "compare"):
            page.click(f"#tab-{view}")
            page.wait_for_selector("main h2")
            page.wait_for_timeout(250)
            wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wider <= 0, view
            check_accessible(page, (view, width, scheme))


def test_names_keep_together_and_the_header_does_not_jump(tmp_path, visit):
    rows = "".join(f"{i % 3},{i % 5},{('seven', 'eleven', 'nineteen')[i % 3]}\n" for i in range(30))
    (tmp_path / "words.csv").write_text(f"a,b,label\n{rows}")
    with Process(tmp_path, tmp_path / "words.csv") as process:
        page = visit(process, 390, 844)
        page.get_by_role("button", name="Labelled").click()
        page.wait_for_selector(".bars")
        heights = page.locator(".bars th[scope=row]").evaluate_all("cells => cells.map(cell => cell.clientHeight)")
        assert max(heights) < 40  # one line each
        page.set_viewport_size({"width": 1280, "height": 800})
        height = "document.querySelector('header').clientHeight"
        page.wait_for_function("() => document.querySelector('#accuracy').textContent.startsWith('Accuracy')")
        before = page.evaluate(height)
        page.evaluate("document.querySelector('#accuracy span').classList.toggle('unseen')")
        assert page.evaluate(height) == before < 90
        page.click("#tab-label")
        page.wait_for_selector("text=No sample is waiting for a label.")


def test_a_key_that_comes_with_the_first_frame_moves_the_pen(digits, visit):
    """The pen was made after the canvas was painted, and until then a key was an error."""
    page = visit(digits, view="label")
    page.wait_for_selector("#current")
    page.evaluate(
        """() => {
            document.getElementById("tab-try").click();
            return new Promise((done) => addEventListener("hashchange", () => queueMicrotask(() => {
                document.querySelector("canvas.drawing").dispatchEvent(new KeyboardEvent("keydown", { key: " " }));
                done();
            }), { once: true }));
        }"""
    )
    page.wait_for_function("() => document.querySelector('#status').textContent === 'The pen draws.'")


def test_everything_by_keyboard(digits, visit):
    page = visit(digits)
    page.focus("#tab-try")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => document.activeElement.id === 'tab-label'")
    page.keyboard.press("ArrowLeft")
    page.focus("canvas.drawing")
    for _ in range(9):  # the pen starts at the top in the middle: a one
        page.keyboard.press("ArrowUp")
    page.keyboard.press(" ")
    for _ in range(22):
        page.keyboard.press("ArrowDown")
    page.keyboard.press(" ")
    page.wait_for_function("() => document.querySelector('.headline')?.textContent.startsWith('Your drawing is1')")
    outline = page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none"
    reached = set()
    for _ in range(25):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("() => document.activeElement.id || document.activeElement.textContent"))
    assert {"alpha", "kernel", "power", "Choose for me", "Held out"} <= reached
