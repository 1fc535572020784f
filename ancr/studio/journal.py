"""What a person did, written down before it is acknowledged: one JSON line per action, beside the data."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from ancr._core.files import CAN_LOCK, PathLike, lock
from ancr._core.jsonl import JsonLines
from ancr._core.messages import one_line

FORMAT, VERSION = "ancr-studio", 1


class StudioIsOpenError(ValueError):
    """Another studio works on the same data; the message has its address."""


class Journal:
    """Actions of a person, one JSON line each, on disk before `append` returns.

    Parameters
    ----------
    folder : path-like
        Folder of the journal; it is made if it does not exist.
    fingerprint : str
        Identifies the data. A journal of other data is refused.

    Attributes
    ----------
    actions : list of dict
        What the journal held when it was opened.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from ancr.studio.journal import Journal
    >>> with TemporaryDirectory() as folder:
    ...     with Journal(folder, "data 1") as journal:
    ...         journal.append([{"do": "label", "sample": "row 3", "label": "cat"}])
    ...     with Journal(folder, "data 1") as journal:
    ...         print(journal.actions)
    [{'do': 'label', 'sample': 'row 3', 'label': 'cat'}]
    """

    def __init__(self, folder: PathLike, fingerprint: str) -> None:
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        self._lock: int | None = _locked(folder / "lock")
        try:
            self._lines = JsonLines(folder / "journal.jsonl")
            self.path = self._lines.path
            self._open(fingerprint)
        except BaseException:
            self.close()
            raise

    def _open(self, fingerprint: str) -> None:
        header = {"format": FORMAT, "version": VERSION, "data": fingerprint}
        lines = [self._parse(number, line) for number, line in enumerate(self._lines.lines(), start=1)]
        self.actions = lines[1:]
        if lines:
            self._check(lines[0], header)
        else:
            self.append([header])
            _sync_folder(self.path.parent)

    def _parse(self, number: int, line: Any) -> dict[str, Any]:
        try:
            entry = json.loads(line)
        except ValueError as error:
            raise ValueError(f"{self.path}, line {number} is damaged: {one_line(error)}; move the file away") from error
        if not isinstance(entry, dict):
            raise ValueError(f"{self.path}, line {number} is not an action; move the file away")
        return entry

    def _check(self, found: dict[str, Any], header: dict[str, Any]) -> None:
        if found.get("format") != FORMAT or found.get("version") != VERSION:
            raise ValueError(f"{self.path} is not a journal that this release of ancr can read; move it away")
        if found.get("data") != header["data"]:
            raise ValueError(
                f"{self.path} belongs to other data: {found.get('data')}, but this is {header['data']}; "
                "move the file away to start anew"
            )

    def append(self, actions: Sequence[dict[str, Any]]) -> None:
        """Write actions and wait until they are on disk."""
        if self._lock is None:
            raise ValueError(f"{self.path} is closed")
        self._lines.append(actions)

    def announce(self, address: str) -> None:
        """Tell a second studio on the same data where this one is."""
        assert self._lock is not None
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, address.encode(), 0)

    def close(self) -> None:
        """Let another studio open the journal."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _locked(path: Path) -> int:
    """The descriptor of a file that this process holds; a `StudioIsOpenError` if another does."""
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    if CAN_LOCK and not lock(descriptor):  # elsewhere two studios are not told apart
        address = os.read(descriptor, 200).decode(errors="replace").strip() or "an address not yet known"
        os.close(descriptor)
        raise StudioIsOpenError(f"a studio is already open on this data at {address}; use it or end it")
    return descriptor


def _sync_folder(folder: Path) -> None:
    """Make the name of a new file last, where folders can be synchronised."""
    if not CAN_LOCK:
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
