"""A journal of JSON lines, as studios wrote it before there was a database: taken over once."""

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ancr.samples.sample_set import Samples
from ancr.studio.actions import ActionError, Batch
from ancr.studio.plans import planned
from ancr.studio.state import State

FILE = "journal.jsonl"
_IMAGES = "a folder of images"


def take_over(folder: Path, samples: Samples, state: State) -> tuple[list[Batch], list[str]]:
    """What such a journal says, done in a state whose history is empty; and notes for people.

    Parameters
    ----------
    folder : Path
        Where it may lie.
    samples : Samples
        The data, which it knew by names.
    state : State
        What has happened afterwards.
    """
    path = folder / FILE
    if not path.exists():
        return [], []
    entries = list(_entries(path))
    fingerprint = entries[0].get("data") if entries else None
    if fingerprint not in (_IMAGES if samples.image_paths else _fingerprint(samples), None):
        return [], [f"{path} belongs to other data, or to another version of it, and was not taken over."]
    batches, lost = _replayed(entries[1:], dict(zip(samples.names.tolist(), state.ids, strict=True)), state)
    note = f"{len(batches)} actions were taken over from {path}"
    note += f"; {lost} were about samples that are not here" if lost else ""
    lines = path.read_bytes().count(b"\n")
    note += f"; the file is damaged after line {len(entries)}" if len(entries) < lines else ""
    return batches, [f"{note}."]


def put_aside(folder: Path) -> None:
    """Rename a journal that was taken over."""
    if (folder / FILE).exists():
        os.replace(folder / FILE, folder / f"{FILE}.imported")


def _entries(path: Path) -> Iterator[dict[str, Any]]:
    """The lines up to the first that is damaged."""
    for line in path.read_bytes().splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            return
        if not isinstance(entry, dict):
            return
        yield entry


def _replayed(entries: list[dict[str, Any]], ids: dict[str, str], state: State) -> tuple[list[Batch], int]:
    batches: list[Batch] = []
    is_done: list[bool] = []  # of the actions that are not undone
    lost = 0
    for entry in entries:
        if entry.get("do") == "undo" and is_done and not is_done.pop():
            continue
        before = len(batches)
        try:
            batch = planned(state, _by_identity(entry, ids))
            if batch.steps:
                batches.append(batch)
                state.done(len(batches), batch)
        except ActionError:
            lost += 1
        if entry.get("do") != "undo":
            is_done.append(len(batches) > before)
    return batches, lost


def _by_identity(entry: dict[str, Any], ids: dict[str, str]) -> dict[str, Any]:
    """An action with identities in place of names."""
    found = dict(entry)
    if "sample" in entry:
        found["sample"] = ids.get(entry["sample"], "")
    if isinstance(entry.get("labels"), list):
        found["labels"] = [[ids.get(name, ""), label] for name, label in entry["labels"]]
    return found


def _fingerprint(samples: Samples) -> str:
    """What the first line says about a table."""
    digest = hashlib.blake2b(np.ascontiguousarray(samples.vectors).tobytes(), digest_size=12)
    digest.update("\n".join(samples.names.tolist()).encode(errors="surrogateescape"))
    return f"{len(samples)} samples {digest.hexdigest()}"
