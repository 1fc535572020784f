"""What a person did, written down before it is acknowledged: one JSON line per action, beside the data."""

import json
import os
from pathlib import Path

from ancr._core.messages import one_line

try:
    import fcntl
except ImportError:  # Windows has no such locks; there two studios are not told apart
    fcntl = None

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

    def __init__(self, folder, fingerprint):
        self.folder = Path(folder)
        self.path = self.folder / "journal.jsonl"
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = _Lock(self.folder / "lock")
        try:
            self._open(fingerprint)
        except BaseException:
            self._lock.release()
            raise

    def _open(self, fingerprint):
        header = {"format": FORMAT, "version": VERSION, "data": fingerprint}
        content = self.path.read_bytes() if self.path.exists() else b""
        # A line without its end was being written when the process was killed: it was never acknowledged.
        complete = content[: content.rfind(b"\n") + 1]
        lines = [self._parse(number, line) for number, line in enumerate(complete.splitlines(), start=1)]
        if lines:
            self._check(lines[0], header)
        self.actions = lines[1:]
        self._file = self.path.open("r+b" if self.path.exists() else "w+b")
        self._file.truncate(len(complete))
        self._file.seek(len(complete))
        if not lines:
            self.append([header])
            _sync_folder(self.folder)

    def _parse(self, number, line):
        try:
            entry = json.loads(line)
        except ValueError as error:
            raise ValueError(f"{self.path}, line {number} is damaged: {one_line(error)}; move the file away") from error
        if not isinstance(entry, dict):
            raise ValueError(f"{self.path}, line {number} is not an action; move the file away")
        return entry

    def _check(self, found, header):
        if found.get("format") != FORMAT or found.get("version") != VERSION:
            raise ValueError(f"{self.path} is not a journal that this release of ancr can read; move it away")
        if found.get("data") != header["data"]:
            raise ValueError(
                f"{self.path} belongs to other data: {found.get('data')}, but this is {header['data']}; "
                "move the file away to start anew"
            )

    def append(self, actions):
        """Write actions and wait until they are on disk."""
        start = self._file.tell()
        try:
            self._file.write("".join(json.dumps(action) + "\n" for action in actions).encode())
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:  # a full disk must not leave half a line before the next one
            self._file.seek(start)
            self._file.truncate(start)
            raise OSError(error.errno, error.strerror, str(self.path)) from error

    def announce(self, address):
        """Tell a second studio on the same data where this one is."""
        self._lock.announce(address)

    def close(self):
        """Close the file and let another studio open it."""
        if not self._file.closed:
            self._file.close()
            self._lock.release()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


class _Lock:
    """A file that one process holds; the system lets go of it when the process ends, however it ends."""

    def __init__(self, path):
        self._descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        if fcntl is None:
            return
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            address = os.read(self._descriptor, 200).decode(errors="replace").strip() or "an address not yet known"
            os.close(self._descriptor)
            raise StudioIsOpenError(f"a studio is already open on this data at {address}; use it or end it") from None

    def announce(self, address):
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, address.encode(), 0)

    def release(self):
        os.close(self._descriptor)


def _sync_folder(folder):
    """Make the name of a new file last, where folders can be synchronised."""
    if fcntl is None:
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
