"""Label and Audit in a real browser: no key, click or word reaches a sample that the person has not seen."""

import json

import pytest

from tests.chromium import poll
from tests.studio.browsing import Process, held
from tests.studio.test_process import client_of

pytestmark = pytest.mark.all

# Press a key at the very moment at which an element shows something else.
PRESS = """([id, key]) => {
    window.pressed = null;
    const node = document.getElementById(id), before = node.textContent;
    new MutationObserver((changes, observer) => {
        if (node.textContent === before || !node.textContent.includes(window.waitFor || '')) return;
        observer.disconnect();
        document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
        window.pressed = node.textContent;
    }).observe(node, { childList: true, subtree: true, characterData: true });
}"""


@pytest.fixture
def process(tmp_path):
    with Process(tmp_path) as process:
        yield process


def given(client):
    """The labels that people gave, by sample."""
    lines = [json.loads(line) for line in client.get("/api/export/labels.jsonl").text.splitlines()]
    return {line["sample"]: line["label"] for line in lines if line["status"] == "labelled"}


def shown(page):
    return page.text_content("#current")


def in_the_end(page, client, wanted):
    poll(page, lambda: given(client) == wanted, wanted)


def take_away(client, name, label="7"):
    """Another tab labels the sample of a name."""
    number = int(name.split()[-1])
    id = client.get(f"/api/number/{number}").json()["id"]
    assert client.post("/api/act", json={"do": "label", "sample": id, "label": label}).status_code == 200


def test_a_key_is_not_for_the_sample_that_came_this_moment(process, visit):
    page, client = visit(process, view="label"), client_of(process)
    page.wait_for_selector("#guess button")
    before = shown(page)
    page.evaluate(PRESS, ["current", "1"])
    take_away(client, before)
    page.wait_for_function("() => window.pressed")
    page.wait_for_function("() => document.querySelector('#status').textContent.includes('just changed')")
    assert given(client) == {before: "7"}
    page.wait_for_timeout(450)
    second = shown(page)
    page.keyboard.press("1")
    in_the_end(page, client, {before: "7", second: "1"})


def test_enter_is_not_for_the_guess_that_came_this_moment(process, visit):
    page, client = visit(process, view="label"), client_of(process)
    page.wait_for_selector("#guess button")
    name, guess = shown(page), page.text_content("#guess").split()[2]
    other = str((int(guess) + 1) % 10)

    def another(route):
        answer = route.fetch()
        row = answer.json()
        route.fulfill(response=answer, json={**row, "guess": {"label": other, "confidence": 0.9}})

    page.route("**/api/row/*", another)
    page.evaluate(f"() => {{ window.waitFor = 'It is {other}'; }}")
    page.evaluate(PRESS, ["guess", "Enter"])
    away = client.post("/api/next", json={"n": 1}, headers={"x-ancr-tab": "other"}).json()["next"][0]["name"]
    take_away(client, away)  # new guesses follow
    page.wait_for_function("() => window.pressed", timeout=60_000)
    assert given(client) == {away: "7"}
    assert shown(page) == name
    page.wait_for_timeout(450)
    page.keyboard.press("Enter")
    in_the_end(page, client, {away: "7", name: other})


def test_a_class_that_is_half_typed_is_for_its_sample(process, visit):
    page, client = visit(process, view="label"), client_of(process)
    page.wait_for_selector("#guess button")
    before, facts = shown(page), page.text_content("#facts")
    page.keyboard.press("/")
    page.keyboard.type("summer su")
    take_away(client, before)
    page.wait_for_function("before => document.querySelector('#facts').textContent !== before", arg=facts)
    page.wait_for_timeout(300)
    assert shown(page) == before
    page.keyboard.type("it")
    page.messages.clear()
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('#alert').textContent.includes('another tab')")
    page.wait_for_function("before => document.querySelector('#current').textContent !== before", arg=before)
    page.wait_for_timeout(300)
    assert page.input_value("#class-name") == ""  # the word was not for the sample that is shown now
    assert given(client) == {before: "7"}
    assert all("409" in message for message in page.messages)  # Chromium notes every refusal
    page.messages.clear()


def test_a_class_that_was_refused_is_not_typed_again(process, visit):
    page, client = visit(process, view="label"), client_of(process)
    page.wait_for_selector("#guess button")
    before = shown(page)
    page.route("**/api/act", lambda route: route.fulfill(status=507, json={"error": "This was not saved."}))
    page.keyboard.press("/")
    page.keyboard.type("summer suit")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('#alert').textContent.includes('not saved')")
    page.wait_for_function("() => document.querySelector('#class-name').value === 'summer suit'")
    assert shown(page) == before
    page.unroute("**/api/act")
    page.keyboard.press("Enter")
    in_the_end(page, client, {before: "summer suit"})
    page.messages.clear()


def test_after_a_class_that_was_typed_keys_are_keys_again(process, visit):
    page, client = visit(process, view="label"), client_of(process)
    page.wait_for_selector("#guess button")
    first = shown(page)
    page.keyboard.press("/")
    page.keyboard.type("summer suit")
    page.keyboard.press("Enter")
    page.wait_for_function("name => document.querySelector('#current').textContent !== name", arg=first)
    page.wait_for_function("() => document.activeElement.id !== 'class-name'")
    page.wait_for_timeout(450)
    second = shown(page)
    page.keyboard.press("3")  # the class, not the name of a new one
    in_the_end(page, client, {first: "summer suit", second: "3"})
    page.keyboard.press("/")
    page.keyboard.type("half")
    page.keyboard.press("Escape")
    assert page.input_value("#class-name") == "half"
    assert page.evaluate("() => document.activeElement.id") != "class-name"


def test_a_tab_that_is_duplicated_is_another_tab(process, visit):
    page, client = visit(process, view="label"), client_of(process)
    page.wait_for_selector("#guess button")
    with page.expect_popup() as found:
        page.evaluate("() => window.open('/#label')")  # begins with a copy of the storage
    twin = found.value
    twin.wait_for_selector("#guess button")
    assert shown(twin) != shown(page)
    first, second = shown(page), shown(twin)
    for one, key in ((page, "1"), (twin, "2")):
        name = shown(one)
        one.keyboard.press(key)
        one.wait_for_function("name => document.querySelector('#current').textContent !== name", arg=name)
    page.keyboard.press("u")
    in_the_end(page, client, {second: "2"})
    twin.reload()
    twin.wait_for_selector("#guess button")
    twin.keyboard.press("u")  # it is the same tab as before
    in_the_end(page, client, {})
    assert first != second


def test_enter_after_a_click_takes_the_guess(process, visit):
    """A class that was clicked does not keep the focus, and gives no second sample its label."""
    page, client = visit(process, view="label"), client_of(process)
    page.wait_for_selector("#guess button.main")
    first, guess = shown(page), page.text_content("#guess").split()[2]
    other = str((int(guess) + 1) % 10)
    page.click(f"[data-key='class {other}']")
    page.wait_for_function("before => document.querySelector('#current').textContent !== before", arg=first)
    page.wait_for_selector("#guess button")
    second, guess = shown(page), page.text_content("#guess").split()[2]
    page.wait_for_timeout(450)
    if shown(page) == second:  # its guess may have become another by the first label
        guess = page.text_content("#guess").split()[2]
    page.keyboard.press("Enter")
    in_the_end(page, client, {first: other, second: guess})
    third = shown(page)
    page.click("[data-key=skip]")
    page.wait_for_function("before => document.querySelector('#current').textContent !== before", arg=third)
    page.wait_for_selector("#guess button")
    page.wait_for_timeout(450)
    fourth, guess = shown(page), page.text_content("#guess").split()[2]
    page.keyboard.press("Enter")
    in_the_end(page, client, {first: other, second: given(client)[second], fourth: guess})


def test_two_clicks_in_one_and_a_key_that_is_held_label_one_sample(process, visit):
    page, client = visit(process, view="label"), client_of(process)
    page.wait_for_selector("#guess button")
    first = shown(page)
    box = page.locator("[data-key='class 3']").bounding_box()
    place = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.click(*place)
    page.wait_for_function("before => document.querySelector('#current').textContent !== before", arg=first)
    page.mouse.down(click_count=2)
    page.mouse.up(click_count=2)
    page.wait_for_timeout(600)
    assert given(client) == {first: "3"}
    second = shown(page)
    page.keyboard.down("4")
    page.wait_for_function("before => document.querySelector('#current').textContent !== before", arg=second)
    for _ in range(5):
        page.keyboard.down("4")  # as the system repeats it
        page.wait_for_timeout(40)
    page.keyboard.up("4")
    page.wait_for_timeout(300)
    assert given(client) == {first: "3", second: "4"}


def test_what_enter_gives_is_what_the_field_shows(process, visit):
    """The rest of a known class is added and selected; taken off, the first letters are a class of their own."""
    page, client = visit(process, view="label"), client_of(process)
    page.wait_for_selector("#guess button")
    wanted = {}
    for typed, seen, also, label in (
        ("carpet", "carpet", [], "carpet"),
        ("car", "carpet", [], "carpet"),
        ("car", "carpet", ["Delete"], "car"),
        ("Carp", "Carpet", [], "carpet"),
        ("car", "car", [], "car"),
    ):
        before = shown(page)
        page.keyboard.press("/")
        page.keyboard.type(typed, delay=30)
        assert page.input_value("#class-name") == seen
        assert page.evaluate("() => document.querySelector('#class-name').selectionStart") == len(typed)
        for key in also:
            page.keyboard.press(key)
        page.wait_for_timeout(450)  # the sample has been seen
        page.keyboard.press("Enter")
        page.wait_for_function("name => document.querySelector('#current').textContent !== name", arg=before)
        wanted[before] = label
        in_the_end(page, client, wanted)


def test_a_decision_is_not_for_the_label_that_came_this_moment(process, visit):
    """Another tab audits anew, without the label that is looked at; and a second click that is still on its way."""
    page, client = visit(process, view="audit"), client_of(process)
    page.get_by_role("button", name="Audit the labels").click()
    page.wait_for_selector("#case")
    name, away = page.text_content("#case .name"), client.post("/api/next", json={"n": 1}).json()["next"][0]["name"]

    def without(route):
        answer = route.fetch()
        found = answer.json()
        kept = [one for one in found["suspicious"] if one["sample"]["name"] != name]
        route.fulfill(response=answer, json={**found, "suspicious": kept if found["n"] > 500 else found["suspicious"]})

    def decided():
        found = client.get("/api/audit").json()["suspicious"]
        return {one["sample"]["name"]: one["decided"] for one in found if one["decided"]}

    page.route("**/api/audit", without)
    page.evaluate(PRESS, ["case", "x"])
    take_away(client, away)
    assert client.post("/api/start/audit", json={}).status_code == 200
    page.wait_for_function("() => window.pressed")
    page.wait_for_function("() => document.querySelector('#status').textContent.includes('just changed')")
    assert page.text_content("#case .name") != name
    assert decided() == {}
    page.wait_for_timeout(450)
    second = page.text_content("#case .name")
    page.evaluate(
        """() => {
            new MutationObserver((changes, observer) => {
                observer.disconnect();
                const button = document.querySelector("#case [data-key$='keep']");
                button.dispatchEvent(new MouseEvent('click', { detail: 2, bubbles: true }));
            }).observe(document.querySelector('#case .name'), { childList: true, characterData: true, subtree: true });
        }"""
    )
    page.click("#case [data-key$='keep']")
    page.wait_for_function("name => document.querySelector('#case .name').textContent !== name", arg=second)
    page.wait_for_timeout(500)
    assert decided() == {second: "kept"}


def test_an_audit_that_was_asked_for_earlier_does_not_replace_a_later_one(process, visit):
    page, client = visit(process, view="audit"), client_of(process)
    page.get_by_role("button", name="Audit the labels").click()
    page.wait_for_selector("#case")
    sample = client.get("/api/audit").json()["suspicious"][0]["sample"]
    away = client.post("/api/next", json={"n": 1}).json()["next"][0]["name"]
    release = held(page, "**/api/audit", lambda: take_away(client, away))
    assert client.post("/api/act", json={"do": "keep", "sample": sample["id"]}).status_code == 200
    page.wait_for_selector("#case.decided")
    page.wait_for_function("() => document.querySelector('#accuracy').textContent.includes('on 501')")
    page.wait_for_timeout(1000)
    release()
    page.wait_for_timeout(1000)
    assert page.locator("#case.decided").count() == 1


def test_a_next_sample_that_was_asked_for_earlier_does_not_replace_a_later_one(process, visit):
    page, client = visit(process), client_of(process)
    own = {"headers": {"x-ancr-tab": "other"}}
    first = client.post("/api/next", json={"n": 1}, **own).json()["next"][0]["name"]
    client.post("/api/leave", json={"tab": "other"})
    release = held(page, "**/api/next", lambda: page.click("#tab-label"))  # it is the first for this tab, too
    take_away(client, first)
    page.wait_for_selector("#guess button")
    later = shown(page)
    release()
    page.wait_for_timeout(1000)
    assert shown(page) == later
    assert "just changed" not in page.text_content("#status")


def test_a_guess_that_comes_with_a_second_answer_is_shown(process, visit):
    """At first no guess is known; news of it come while the first answer is on its way, and it is asked for again."""
    page, client, kept = visit(process), client_of(process), []
    page.route("**/api/next", lambda route: kept.append(route))
    page.click("#tab-label")
    poll(page, lambda: kept, "nothing was asked for")
    take_away(client, client.post("/api/next", json={"n": 1}).json()["next"][0]["name"])
    page.wait_for_function("() => document.querySelector('#accuracy').textContent.includes('on 501')")
    page.wait_for_timeout(1000)
    assert len(kept) > 1
    answer = kept[0].fetch()
    (sample,) = answer.json()["next"]
    kept[0].fulfill(response=answer, json={"next": [{**sample, "guess": None}]})
    page.wait_for_selector("#current")
    for route in kept[1:]:
        route.continue_()
    page.wait_for_selector("#guess button")
