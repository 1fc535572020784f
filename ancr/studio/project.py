"""A project on disk: where its journal lies, and the state that the journal makes of the data."""

import errno
from pathlib import Path

import numpy as np

from ancr._core.messages import counted
from ancr.studio import old_journal
from ancr.studio.actions import ActionError
from ancr.studio.identities import Known, digest, encoded, has_counted_names, identities
from ancr.studio.journal import FILE, Journal
from ancr.studio.openings import Source, state_home
from ancr.studio.state import State

_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)


def open_journal(folder: Path) -> tuple[Journal, list[str]]:
    """The journal beside the data, or in the user's folder where nothing can be written there; and notes for people."""
    try:
        return Journal(folder), []
    except OSError as error:
        if error.errno not in _FORBIDDEN or (folder / FILE).exists():
            raise
    other = state_home(f"{folder.name.removesuffix('.ancr-studio')}-{digest(encoded(str(folder.absolute())))[:8]}")
    note = f"Nothing can be written beside the data ({folder.parent}), so what you do is kept in {other}."
    try:
        return Journal(other), [note]
    except OSError as error:
        if error.errno not in _FORBIDDEN:
            raise
        raise OSError(
            f"what you do can be kept neither beside the data ({folder.parent}) nor in {other}: {error.strerror}; "
            "make one of them writable"
        ) from error


def opened_state(source: Source, journal: Journal) -> tuple[State, list[str]]:
    """What a person has decided, as the journal has it, and what became of samples that it knew."""
    ids = _identified(source, journal)
    held_out = np.flatnonzero(source.is_held_out).tolist()
    state = State(ids, source.labels, source.names, source.classifier, held_out)
    if not journal.batches:
        batches, notes = old_journal.take_over(source.state, source.data, state)
        if batches:
            journal.append(batches)
            old_journal.put_aside(source.state)
        return state, notes
    refused = 0
    for number, batch in journal.batches:
        try:
            state.done(number, batch)
        except ActionError:  # settings of another release
            refused += 1
    notes = [f"{counted(refused, 'choice')} of settings could not be repeated with this release."] if refused else []
    gone = sum(field == "label" and value is not None for (_, field), value in state.absent.items())
    if gone:
        are = "sample that was labelled is" if gone == 1 else "samples that were labelled are"
        notes.append(f"{gone} {are} not in the data any more; {counted(gone, 'label')} kept in case they come back.")
    return state, notes


def _identified(source: Source, journal: Journal) -> list[str]:
    """The identity of each sample; those that are new, or have another name, are written down."""
    known = {one.id: one for one in journal.known()}
    are_keys = source.is_copy or not has_counted_names(source.data)
    names, are_keys = source.names, are_keys and source.data.features == "table"
    ids = identities(source.contents, names, known.values(), are_keys)
    seen = (Known(*one) for one in zip(ids, source.contents, names, strict=True))
    journal.remember(one for one in seen if known.get(one.id) != one)
    return ids
