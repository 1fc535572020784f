"""What was opened on this machine, newest first: one small file for each project, so that two studios never clash."""

import datetime
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from ancr._core.files import write_text
from ancr.studio.identities import digest, encoded
from ancr.studio.journal import labels_given
from ancr.studio.openings import Source, copies_home, state_home
from ancr.studio.state import State

# Projects that are remembered.
_MOST = 50


def _home() -> Path:
    return state_home("recent")


def remember(source: Source, journal: Path) -> None:
    """Note that a project was opened; without a place to note it, nothing happens."""
    data = source.data
    what = "model" if source.is_model else "images" if data.image_paths else "digits" if source.draws else "table"
    entry = {
        "asked": source.asked,
        "name": data.name,
        "what": what,
        "samples": len(data),
        "journal": str(journal.absolute()),
        "opened": datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds"),
    }
    with suppress(OSError):
        _home().mkdir(parents=True, exist_ok=True)
        write_text(_home() / f"{project_id(journal)}.json", json.dumps(entry))
        for old in sorted(_home().glob("*.json"), key=lambda file: file.stat().st_mtime)[:-_MOST]:
            old.unlink()


def project_id(journal: Path) -> str:
    """What a project is called in requests: a digest of where its journal is."""
    return digest(encoded(str(journal.absolute())))


def entry_of(id: Any) -> dict[str, Any] | None:
    """A project by its identity; None if it is not remembered."""
    if not isinstance(id, str) or not id.isalnum() or not id.isascii():
        return None
    with suppress(OSError, ValueError):
        entry = json.loads((_home() / f"{id}.json").read_text(encoding="utf-8"))
        if isinstance(entry, dict) and {"asked", "name", "what", "samples", "journal", "opened"} <= set(entry):
            return entry
    return None


def projects(open_now: State, journal: Path) -> list[dict[str, Any]]:
    """Projects for a page, the one opened last first.

    Parameters
    ----------
    open_now : State
        That of the project that is open, whose journal nobody else can read.
    journal : Path
        Its file.

    Returns
    -------
    list of dict
        Of each its name, what it is, how many samples it has and how many labels were given, and whether its data is
        missing.
    """
    here = project_id(journal)
    given = sum(label not in (None, came) for label, came in zip(open_now.labels, open_now.given, strict=True))
    found = []
    for file in _home().glob("*.json"):
        entry = entry_of(file.stem)
        if entry is not None:
            path = entry["asked"].get("path", "")
            found.append(
                {
                    "id": file.stem,
                    "name": entry["name"],
                    "what": entry["what"],
                    "samples": entry["samples"],
                    "opened": entry["opened"],
                    "label": entry["asked"].get("label") or "",
                    "where": "" if not path or Path(path).is_relative_to(copies_home()) else path,
                    "missing": bool(path) and path != "usps" and not Path(path).exists(),
                    "here": file.stem == here,
                    "given": given if file.stem == here else labels_given(Path(entry["journal"])),
                }
            )
    return sorted(found, key=lambda one: one["opened"], reverse=True)


def forget(id: Any) -> None:
    """Take a project from the list; its data and its labels stay."""
    if entry_of(id) is not None:
        (_home() / f"{id}.json").unlink(missing_ok=True)
