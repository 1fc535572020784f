"""Nothing lost, nothing wrong: the journal, its damage, and a state that can be undone."""

import json
import multiprocessing
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import numpy as np
import pytest

from ancr.classifiers.settings import key
from ancr.studio.actions import ActionError, Batch, ConflictError, Step
from ancr.studio.identities import Known, identities
from ancr.studio.journal import Journal, JournalError, StudioIsOpenError
from ancr.studio.plans import planned
from ancr.studio.state import State


def label(sample, new, old=None, tab="t"):
    return Batch("label", (Step(sample, "label", old, new),), tab)


def test_what_is_appended_is_there_again_with_its_tab_and_what_it_undoes(tmp_path):
    with Journal(tmp_path) as journal:
        assert journal.append([label("a", "x"), label("b", "y", tab="u")]) == [1, 2]
        back = Batch("undo", (Step("a", "label", "x", None),), "t", undoes=1)
        assert journal.append([back]) == [3]
    with Journal(tmp_path) as again:
        assert again.batches == [(1, label("a", "x")), (2, label("b", "y", tab="u")), (3, back)]
        assert again.append([label("c", "z")]) == [4]
    with closing(sqlite3.connect(tmp_path / "studio.db")) as database:
        rows = database.execute("SELECT sample, old, new FROM actions").fetchall()
    assert rows == [("a", None, "x"), ("b", None, "y"), ("a", "x", None), ("c", None, "z")]


def test_each_action_is_synchronised_with_the_disk(tmp_path):
    with Journal(tmp_path) as journal:
        settings = [
            journal._database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")
        ]
    assert settings == ["wal", 2]  # 2 is FULL


def _damage_cell(path):
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE actions SET new = 'wrong' WHERE number = 31")


def _damage_all(path):
    path.write_bytes(b"x" * 5000)


def _damage_middle(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 3000] = bytes(3000)
    path.write_bytes(content)


def _damage_head(path):
    content = path.read_bytes()
    path.write_bytes(b"no database" + content[11:])


@pytest.mark.parametrize(
    ("damage", "least"),
    [(_damage_cell, 30), (_damage_middle, 0), (_damage_head, 0), (lambda p: p.write_bytes(b"x"), 0)],
)
def test_a_damaged_file_is_put_aside_and_what_was_good_is_taken_over(tmp_path, damage, least):
    with Journal(tmp_path) as journal:
        journal.append([label(f"s{i}", "x") for i in range(400)])
    (tmp_path / "backup.db").unlink(missing_ok=True)
    damage(tmp_path / "studio.db")
    with Journal(tmp_path) as again:
        count = len(again.batches)
        assert least <= count < 400
        assert again.batches == [(i + 1, label(f"s{i}", "x")) for i in range(count)]
        assert "damaged" in again.notes[0]
        again.append([label("new", "y")])
    assert len(list(tmp_path.glob("damaged-*.db"))) == 1
    with Journal(tmp_path) as again:
        assert again.batches[-1][1] == label("new", "y")
        assert again.notes == []


def test_the_copy_of_the_last_start_helps_where_nothing_can_be_read(tmp_path):
    for _ in range(2):  # the second start copies what the first wrote
        with Journal(tmp_path) as journal:
            if not journal.batches:
                journal.append([label(f"s{i}", "x") for i in range(40)])
                journal.remember([Known("s1", "c", "n")])
    _damage_head(tmp_path / "studio.db")
    with Journal(tmp_path) as again:
        assert len(again.batches) == 40
        assert again.known() == [Known("s1", "c", "n")]


def test_a_full_disk_refuses_and_what_was_refused_stays_refused(tmp_path):
    with Journal(tmp_path) as journal:
        journal.append([label("a", "x")])
        (pages,) = journal._database.execute("PRAGMA page_count").fetchone()
        journal._database.execute(f"PRAGMA max_page_count={pages}")
        with pytest.raises(JournalError, match=r"not saved.*the disk is full\.$"):
            journal.append([label("b" * 50, "y" * 200) for _ in range(100)])
        journal._database.execute("PRAGMA max_page_count=100000")
        journal.append([label("c", "z")])
    with Journal(tmp_path) as again:
        assert [batch for _, batch in again.batches] == [label("a", "x"), label("c", "z")]


KILLED = """
import os, signal, sys
from ancr.studio.actions import Batch, Step
from ancr.studio.journal import Journal, JournalError

with Journal(sys.argv[1]) as journal:
    try:
        journal.append([Batch("label", (Step("b", "label", None, "y"),))])
        print("saved", flush=True)
    except JournalError:
        print("refused", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""
TRACED = ["strace", "-f", "-qq", "-o", os.devnull]


@pytest.mark.all
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace makes a disk that writes and cannot make it last")
def test_what_was_written_but_not_made_to_last_is_refused_and_stays_so_after_kill_9(tmp_path):
    """As on a disk in the network whose quota is found to be used up only when what was written is sent there."""
    if subprocess.run([*TRACED, "true"], check=False).returncode:
        pytest.skip("processes cannot be traced here")
    told = []
    for first in range(1, 7):  # the first time that it fails: when the file is opened, or when the row is written
        folder = tmp_path / str(first)
        with Journal(folder) as journal:
            journal.append([label("a", "x")])
        fails = ["-e", "trace=fdatasync", "-e", f"inject=fdatasync:error=EDQUOT:when={first}+"]
        command = [*TRACED, *fails, sys.executable, "-c", KILLED, str(folder)]
        told.append(subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip())
        with Journal(folder) as again:
            kept = [label("a", "x")] + ([label("b", "y")] if told[-1] == "saved" else [])
            assert [batch for _, batch in again.batches] == kept
            assert again.append([label("c", "z")]) == [len(kept) + 1]
    assert "refused" in told


def test_the_log_is_emptied_now_and_then(tmp_path, monkeypatch):
    monkeypatch.setattr("ancr.studio.journal._LONGEST_LOG", 50_000)
    with Journal(tmp_path) as journal:
        sizes = []
        for number in range(40):
            journal.append([label(f"s{number}", "x")])
            sizes.append((tmp_path / "studio.db-wal").stat().st_size)
    assert max(sizes) > 20_000
    assert sizes.count(0) > 1
    with Journal(tmp_path) as again:
        assert len(again.batches) == 40


def _hold(folder, ready, done):
    with Journal(folder) as journal:
        journal.announce("http://127.0.0.1:8710/")
        ready.set()
        done.wait(30)


def test_a_second_studio_is_told_where_the_first_is(tmp_path):
    context = multiprocessing.get_context("spawn")
    ready, done = context.Event(), context.Event()
    process = context.Process(target=_hold, args=(tmp_path, ready, done))
    process.start()
    assert ready.wait(60)
    with pytest.raises(StudioIsOpenError, match=r"http://127\.0\.0\.1:8710/"):
        Journal(tmp_path)
    process.kill()
    process.join()
    with Journal(tmp_path):
        pass


# --- identities


def test_identities_survive_adding_deleting_renaming_and_reordering():
    rng = np.random.default_rng(0)
    names, digests = [f"n{i}" for i in range(30)], [f"c{i // 2}" for i in range(30)]  # every content is there twice
    first = identities(digests, names, [], False)
    known = [Known(*one) for one in zip(first, digests, names, strict=True)]
    kept = rng.permutation(30)[:20]
    again = identities([digests[i] for i in kept], [names[i] for i in kept], known, False)
    assert again == [first[i] for i in kept]
    alone = identities(["new", *digests], ["first", *(f"renamed {i}" for i in range(30))], known, False)
    assert alone == ["new", *first]


def test_thousands_of_equal_samples_are_told_apart_at_once():
    n = 20_000
    names, begin = [f"row {i}" for i in range(n)], time.perf_counter()
    ids = identities(["aa"] * n, names, [], False)
    assert len(set(ids)) == n
    assert ids[:2] == ["aa", "aa-2"]
    known = [Known(id, "aa", name) for id, name in zip(ids, names, strict=True)]
    assert identities(["aa"] * n, names[::-1], known, False) == ids[::-1]
    assert time.perf_counter() - begin < 30  # each with each would take minutes


def test_a_class_is_one_however_its_accents_are_encoded():
    composed, apart = "caf\u00e9", "cafe\u0301"
    state = State(["a", "b", "c"], [apart, None, None])
    state.done(1, planned(state, {"do": "label", "sample": "b", "label": composed}))
    assert state.labels == [apart, apart, None]
    state.done(2, planned(state, {"do": "import", "labels": [["c", "Stra\u0301sse"]]}))
    assert list(state.classes) == [apart, "Str\u00e1sse"]


def test_a_row_with_a_key_stays_the_same_sample_when_its_numbers_are_corrected():
    known = [Known("a", "a", "Ada"), Known("b", "b", "Bob")]
    assert identities(["b", "changed"], ["Bob", "Ada"], known, True) == ["b", "a"]
    assert identities(["b", "changed"], ["row 1", "row 2"], known, False) == ["b", "changed"]


# --- state


def do(state, number=None, tab="", **action):
    batch = planned(state, action, tab)
    state.done(len(state.changes) + 1000 * state.version if number is None else number, batch)
    return batch


def _seen(state):
    return (
        state.labels,
        {name: sorted(marked) for name, marked in state.marks.items()},
        list(state.classes),
        key(state.classifier),
    )


def test_any_sequence_of_actions_can_be_undone_step_by_step():
    rng, names = np.random.default_rng(0), [f"s{i}" for i in range(12)]
    state = State(names, ["a", "b", None] * 4)
    before = []
    for _ in range(200):
        name, text = str(rng.choice(names)), str(rng.choice(["a", "b", "c", "d"]))
        action = [
            {"do": "label", "sample": name, "label": text},
            {"do": "accept", "labels": [[name, text], ["s5", "e"]]},
            {"do": "skip", "sample": name},
            {"do": "exclude", "sample": name},
            {"do": "include", "sample": name},
            {"do": "keep", "sample": name},
            {"do": "class", "label": text},
            {"do": "settings", "settings": {"alpha": float(rng.choice([0.1, 0.2]))}},
        ][rng.integers(8)]
        expected = repr(_seen(state))
        try:
            batch = planned(state, action)
        except ActionError:
            continue
        if batch.steps:
            before.append(expected)
            state.done(len(before), batch)
    assert len(before) > 100
    counts = {name: state.labels.count(name) for name in state.classes}
    excluded = [state.labels[i] for i in state.marks["excluded"]]
    assert state.classes == {name: count - excluded.count(name) for name, count in counts.items()}
    for number, expected in enumerate(reversed(before)):
        state.done(10_000 + number, planned(state, {"do": "undo"}))
        assert repr(_seen(state)) == expected
    with pytest.raises(ActionError, match="nothing to undo"):
        planned(state, {"do": "undo"})


def test_a_tab_undoes_its_own_and_never_overwrites_another():
    state = State(["a", "b", "c"], [None] * 3)
    for tab in ("left", "right"):
        state.history.hear(tab)
    do(state, 1, "left", do="label", sample="a", label="x")
    do(state, 2, "right", do="label", sample="b", label="y")
    do(state, 3, "left", do="undo")
    assert state.labels == [None, "y", None]
    with pytest.raises(ActionError, match="nothing to undo"):
        planned(state, {"do": "undo"}, "left")
    do(state, 4, "left", do="label", sample="c", label="x")
    do(state, 5, "right", do="label", sample="c", label="z")
    with pytest.raises(ConflictError, match="Another tab has changed"):
        planned(state, {"do": "undo"}, "left")
    assert state.labels == [None, "y", "z"]
    with pytest.raises(ConflictError, match="another tab"):
        planned(state, {"do": "label", "sample": "c", "label": "x", "was": "x"}, "left")


def test_labels_of_samples_that_are_gone_wait_for_them():
    state = State(["a"], [None])
    do(state, 1, do="label", sample="a", label="x")
    smaller = State(["b"], [None])
    batch = state.history.last("")[1]
    smaller.done(1, batch)
    assert smaller.labels == [None]
    assert smaller.absent == {("a", "label"): "x"}
    smaller.done(2, planned(smaller, {"do": "undo"}))
    assert smaller.absent == {("a", "label"): None}


@pytest.mark.parametrize(
    "action",
    [
        {"do": "fly"},
        {"do": ["label"]},
        {"do": 10**5000},
        {},
        {"do": "label", "sample": "z", "label": "a"},
        {"do": "label", "sample": 10**5000, "label": "a"},
        {"do": "label", "sample": "s1"},
        {"do": "label", "sample": "s1", "label": "\ud800"},
        {"do": "label", "sample": "s0", "label": "a"},
        {"do": "accept", "labels": []},
        {"do": "accept", "labels": [["s1"]]},
        {"do": "settings", "settings": {"speed": 1}},
        {"do": "settings", "settings": {"alpha": True}},
        {"do": "settings", "settings": {"alpha": 10**400}},
        {"do": "settings", "settings": {"alpha": float("nan")}},
        {"do": "settings", "settings": {"space__kernel": "quantum"}},
        {"do": "settings", "settings": {"class": "ancr:ANCRClassifierCV", "params": {}}},
    ],
)
def test_what_cannot_be_done_is_a_sentence(action):
    state = State(["s0", "s1"], [None, None], closed={0})
    with pytest.raises(ActionError, match=r"\.$"):
        planned(state, action)


def test_of_several_labels_those_that_can_be_given_are():
    state = State(["s0", "s1", "s2", "s3"], [None, None, None, "k"], closed={0})
    pairs = [["s1", "a"], ["s0", "a"], ["s2", ""], "s2", ["s1", "b"], ["s3", "a"], ["s2", "a"]]
    batch = do(state, 1, do="accept", labels=pairs)
    assert state.labels == [None, "a", "a", "k"]
    assert len(batch.refused) == 5


def test_a_journal_of_lines_is_taken_over_once(tmp_path, make_studio):
    from ancr.studio.old_journal import _fingerprint
    from ancr.studio.openings import open_source

    source = open_source(home=tmp_path)
    free = [name for name, label in zip(source.names, source.labels, strict=True) if label is None][:600]
    free = [name for name in free if not source.is_held_out[source.names.index(name)]]
    entries = [
        {"format": "ancr-studio", "version": 1, "data": _fingerprint(source.data)},
        {"do": "label", "sample": free[0], "label": "3"},
        {"do": "label", "sample": "gone", "label": "3"},
        {"do": "undo"},
        {"do": "accept", "labels": [[free[1], "4"], ["gone", "4"]]},
        {"do": "skip", "sample": free[2]},
        {"do": "undo"},
        {"do": "label", "sample": free[3], "label": "5"},
    ]
    source.state.mkdir(parents=True)
    text = "".join(json.dumps(entry) + "\n" for entry in entries) + "{damaged\n"
    (source.state / "journal.jsonl").write_text(text)
    studio = make_studio(source)
    found = {studio.state.names[i]: label for i, label in enumerate(studio.state.labels) if not studio.state.given[i]}
    assert {name: label for name, label in found.items() if label} == {free[0]: "3", free[1]: "4", free[3]: "5"}
    assert studio.state.marks["skipped"] == set()
    assert "damaged after line 8" in studio.notes[-1]
    studio.close()
    assert not (source.state / "journal.jsonl").exists()
    again = make_studio(open_source(home=tmp_path))
    assert again.state.labels == studio.state.labels
