"""Nothing lost: the journal, and a state that can be undone."""

import multiprocessing
import os

import numpy as np
import pytest

from ancr.classifiers.settings import key
from ancr.studio.journal import Journal, StudioIsOpenError
from ancr.studio.state import ActionError, State

ACTION = {"do": "label", "sample": "a", "label": "x"}


def test_a_line_that_was_cut_is_dropped_and_the_others_stay(tmp_path):
    with Journal(tmp_path, "data") as journal:
        journal.append([ACTION, {"do": "undo"}])
    content = journal.path.read_bytes()
    for cut in range(len(content)):
        journal.path.write_bytes(content[:cut])
        with Journal(tmp_path, "data") as again:
            whole = content[:cut].count(b"\n") - 1
            assert again.actions == [ACTION, {"do": "undo"}][: max(whole, 0)]
            again.append([ACTION])
        with Journal(tmp_path, "data") as again:
            assert again.actions[-1] == ACTION


def test_damage_and_other_data_are_one_line(tmp_path):
    with Journal(tmp_path, "data"):
        pass
    with pytest.raises(ValueError, match="belongs to other data"):
        Journal(tmp_path, "other")
    (tmp_path / "journal.jsonl").write_text("{}\nnot json\n")
    with pytest.raises(ValueError, match="line 2 is damaged"):
        Journal(tmp_path, "data")
    (tmp_path / "journal.jsonl").write_text("{}\n")
    with pytest.raises(ValueError, match="not a journal"):
        Journal(tmp_path, "data")


def _hold(folder, ready, done):
    with Journal(folder, "data") as journal:
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
        Journal(tmp_path, "data")
    process.kill()
    process.join()
    with Journal(tmp_path, "data"):
        pass


def test_a_full_disk_leaves_no_half_line(tmp_path, monkeypatch):
    with Journal(tmp_path, "data") as journal:
        journal.append([ACTION])

        def full(descriptor):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            journal.append([ACTION])
        monkeypatch.undo()
        journal.append([{"do": "undo"}])
    with Journal(tmp_path, "data") as again:
        assert again.actions == [ACTION, {"do": "undo"}]


def _seen(state):
    return (
        state.labels,
        sorted(state.excluded),
        sorted(state.skipped),
        sorted(state.kept),
        list(state.classes),
        key(state.classifier),
    )


def test_any_sequence_of_actions_can_be_undone_step_by_step():
    rng, names = np.random.default_rng(0), [f"s{i}" for i in range(12)]
    state = State(names, ["a", "b", None] * 4)
    before = []
    for _ in range(200):
        name, label = str(rng.choice(names)), str(rng.choice(["a", "b", "c", "d"]))
        action = [
            {"do": "label", "sample": name, "label": label},
            {"do": "accept", "labels": [[name, label], ["s3", "e"]]},
            {"do": "skip", "sample": name},
            {"do": "exclude", "sample": name},
            {"do": "include", "sample": name},
            {"do": "keep", "sample": name},
            {"do": "class", "label": label},
            {"do": "settings", "settings": {"alpha": float(rng.choice([0.1, 0.2]))}},
        ][rng.integers(8)]
        before.append(repr(_seen(state)))
        state.apply(state.check(action))
    for expected in reversed(before):
        state.apply(state.check({"do": "undo"}))
        assert repr(_seen(state)) == expected
    with pytest.raises(ActionError, match="nothing to undo"):
        state.check({"do": "undo"})


@pytest.mark.parametrize(
    "action",
    [
        {"do": "fly"},
        {"do": "label", "sample": "z", "label": "a"},
        {"do": "label", "sample": "s1"},
        {"do": "label", "sample": "s0", "label": "a"},
        {"do": "accept", "labels": []},
        {"do": "accept", "labels": [["s1"]]},
        {"do": "settings", "settings": {"speed": 1}},
        {"do": "settings", "settings": {"alpha": True}},
        {"do": "settings", "settings": {"alpha": float("nan")}},
        {"do": "settings", "settings": {"space__kernel": "quantum"}},
        {"do": "settings", "settings": {"class": "ancr:ANCRClassifierCV", "params": {}}},
    ],
)
def test_what_cannot_be_done_is_a_sentence(action):
    state = State(["s0", "s1"], [None, None], closed={0})
    with pytest.raises(ActionError, match=r"\.$"):
        state.check(action)
