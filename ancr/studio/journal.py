"""What a person did, written down before it is acknowledged: one row per change, in an SQLite file beside the data."""

import datetime
import errno
import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path
from typing import Any, Self, TypeAlias

from ancr._core.files import CAN_LOCK, PathLike, lock
from ancr.studio.actions import Batch, Step
from ancr.studio.identities import Known

FILE, BACKUP = "studio.db", "backup.db"
_VERSION = 1
# Bytes before the first page of a database: SQLite takes a shorter file for a new one.
_HEADER = 512
# Bytes of the write-ahead log at which it is emptied.
_LONGEST_LOG = 2**22
_TABLES = """
CREATE TABLE samples (id TEXT PRIMARY KEY, content TEXT NOT NULL, name TEXT NOT NULL);
CREATE TABLE actions (
  number INTEGER PRIMARY KEY, batch INTEGER NOT NULL, time TEXT NOT NULL, tab TEXT NOT NULL, do TEXT NOT NULL,
  sample TEXT, field TEXT NOT NULL, old TEXT, new TEXT, undoes INTEGER, digest TEXT NOT NULL
);
"""
_COLUMNS = "number, batch, time, tab, do, sample, field, old, new, undoes"
_PLACES = ", ".join("?" * 11)
Row: TypeAlias = tuple[Any, ...]


class StudioIsOpenError(ValueError):
    """Another studio works on the same data; the message has its address."""


class JournalError(OSError):
    """What was to be written down is not on disk; the message is a sentence."""


class Journal:
    """Actions of a person, on disk before `append` returns, and the samples that they were about.

    Every row carries a digest of itself and of the row before. A file that is damaged is put aside, and what was
    good up to the first damage is taken over.

    Parameters
    ----------
    folder : path-like
        Folder of the journal; it is made if it does not exist.

    Attributes
    ----------
    path : Path
        The file.
    batches : list of tuple
        ``(number, Batch)`` of what the journal held when it was opened.
    notes : list of str
        What a person should know about the opening.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from ancr.studio.actions import Batch, Step
    >>> from ancr.studio.journal import Journal
    >>> with TemporaryDirectory() as folder:
    ...     with Journal(folder) as journal:
    ...         numbers = journal.append([Batch("label", (Step("a1", "label", None, "cat"),))])
    ...     with Journal(folder) as journal:
    ...         print(numbers, journal.batches[0][1].steps)
    [1] (Step(sample='a1', field='label', old=None, new='cat'),)
    """

    def __init__(self, folder: PathLike) -> None:
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / FILE
        self.notes: list[str] = []
        self._number, self._batch, self._digest = 0, 0, ""
        self._lock: int | None = _locked(folder / "lock")
        self._database: sqlite3.Connection | None = None
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        backup = self.path.with_name(BACKUP)
        size = self.path.stat().st_size if self.path.exists() else None
        if size is None and backup.exists():  # a person has moved the file away to start anew
            os.replace(backup, self.path.with_name(f"previous-{BACKUP}"))
        try:
            self._database = _connected(self.path)
            rows, is_whole = _good_rows(self._database)
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise JournalError(f"{self.path} cannot be opened: {error}") from error
            rows, is_whole = [], False
        was_cut = not rows and (0 < (size or 0) < _HEADER or (size is not None and bool(_backed_up(backup))))
        if not is_whole or was_cut:
            rows = self._salvage(rows)
        elif rows:
            _back_up(self._connection, backup)
        _empty_log(self._connection)
        if size is None:
            _sync_folder(self.path.parent)
        if rows:
            self._number, self._batch, self._digest = rows[-1][0], rows[-1][1], rows[-1][-1]
        self.batches = list(_batches(rows))

    @property
    def _connection(self) -> sqlite3.Connection:
        if self._database is None:
            raise ValueError(f"{self.path} is closed")
        return self._database

    def _salvage(self, rows: list[Row]) -> list[Row]:
        """Put a damaged file aside and begin a new one with what is good in it, or in the copy of the last start."""
        if self._database is not None:
            self._database.close()
        backup = self.path.with_name(BACKUP)
        rows = max(rows, _backed_up(backup), key=len)
        known = max(*(_read(path, _known) for path in (self.path, backup)), key=len)
        aside = self.path.with_name(f"damaged-{datetime.datetime.now():%Y%m%d-%H%M%S}.db")
        for end in ("", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                os.replace(f"{self.path}{end}", f"{aside}{end}")
        self._database = _connected(self.path)
        with _written(self.path, self._database):
            self._database.executemany(f"INSERT INTO actions VALUES ({_PLACES})", rows)
            self._database.executemany("INSERT OR REPLACE INTO samples VALUES (?, ?, ?)", known)
        last = f"up to {rows[-1][2]}" if rows else "none"
        count = len({row[1] for row in rows})
        self.notes.append(
            f"The file of what you did was damaged. {count} actions could be read, {last}; the damaged file is kept as "
            f"{aside}."
        )
        return rows

    def known(self) -> list[Known]:
        """The samples that this project has seen."""
        return [Known(*row) for row in _known(self._connection)]

    def remember(self, samples: Iterable[Known]) -> None:
        """Write down samples that are new or have another content or name."""
        rows = [(one.id, one.content, one.name) for one in samples]
        if rows:
            with _written(self.path, self._connection):
                self._connection.executemany("INSERT OR REPLACE INTO samples VALUES (?, ?, ?)", rows)

    def append(self, batches: Sequence[Batch]) -> list[int]:
        """Write batches and wait until they are on disk: all of them, or none. Returns their numbers."""
        connection = self._connection
        number, first, digest = self._number, self._batch + 1, self._digest
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        rows: list[Row] = []
        for place, batch in enumerate(batches, start=first):
            for step in batch.steps:
                number += 1
                row = (
                    number,
                    place,
                    now,
                    batch.tab,
                    batch.do,
                    step.sample,
                    step.field,
                    step.old,
                    step.new,
                    batch.undoes,
                )
                digest = _digest(digest, row)
                rows.append((*row, digest))
        with _written(self.path, connection):
            connection.executemany(f"INSERT INTO actions VALUES ({_PLACES})", rows)
        if _size(self.path) > _LONGEST_LOG:
            _empty_log(connection)
        self._number, self._batch, self._digest = number, first + len(batches) - 1, digest
        return list(range(first, first + len(batches)))

    def announce(self, address: str) -> None:
        """Tell a second studio on the same data where this one is."""
        assert self._lock is not None
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, address.encode(), 0)

    def close(self) -> None:
        """Let another studio open the journal."""
        if self._database is not None:
            with suppress(sqlite3.Error):
                self._database.close()
            self._database = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def labels_given(path: Path) -> int | None:
    """How many samples have a label that a person gave, by the file of a journal; None if another studio has it."""
    if not path.exists():
        return 0
    try:
        connection = sqlite3.connect(path, timeout=0.0)
        try:
            last = "SELECT new, MAX(number) FROM actions WHERE field = 'label' GROUP BY sample"
            return int(connection.execute(f"SELECT COUNT(new) FROM ({last})").fetchone()[0])
        finally:
            connection.close()
    except sqlite3.Error:
        return None


def _connected(path: Path) -> sqlite3.Connection:
    """A connection with the tables; nobody else may have one."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=1.0)
    try:
        connection.execute("PRAGMA locking_mode=EXCLUSIVE")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA wal_autocheckpoint=0")  # the log only grows, see `_written`
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version == 0:
            connection.executescript(f"BEGIN; {_TABLES} PRAGMA user_version={_VERSION}; COMMIT;")
        elif version != _VERSION:
            raise ValueError(f"{path} is of another release of ancr; move it away")
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def _written(path: Path, connection: sqlite3.Connection) -> Iterator[None]:
    """A transaction that is on disk at the end; a `JournalError` if that fails.

    What could be written but not made to last, as where a quota is found to be used up late, is cut off the
    write-ahead log again: what was refused must not be found there after a crash.
    """
    size = _size(path)
    try:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("COMMIT")
    except BaseException as error:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        with suppress(OSError):
            os.truncate(_log(path), size)
        if isinstance(error, sqlite3.Error | OSError):
            raise JournalError(_sentence(path, error)) from error
        raise


def _log(path: Path) -> Path:
    """The write-ahead log of a database."""
    return path.with_name(f"{path.name}-wal")


def _size(path: Path) -> int:
    """Bytes of the write-ahead log of a database; 0 if it has none."""
    try:
        return _log(path).stat().st_size
    except FileNotFoundError:
        return 0


def _empty_log(connection: sqlite3.Connection) -> None:
    """Bring what is in the write-ahead log into the database; where there is no room for that now, it stays there."""
    with suppress(sqlite3.Error):
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()


def _sentence(path: Path, error: Exception) -> str:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    full = code == sqlite3.SQLITE_FULL or getattr(error, "errno", 0) == errno.ENOSPC
    why = "the disk is full" if full else "it is read-only" if code == sqlite3.SQLITE_READONLY else str(error)
    return f"This was not saved, and has no effect: {path} cannot be written, {why}."


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _digest(before: str, row: Row) -> str:
    return hashlib.blake2b(json.dumps([before, *row]).encode(), digest_size=8).hexdigest()


def _good_rows(connection: sqlite3.Connection) -> tuple[list[Row], bool]:
    """The actions up to the first that is damaged, and whether none is."""
    rows: list[Row] = []
    before = ""
    try:
        for row in connection.execute(f"SELECT {_COLUMNS}, digest FROM actions ORDER BY number"):
            if _digest(before, row[:-1]) != row[-1]:
                return rows, False
            rows.append(row)
            before = row[-1]
        whole = connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok"
    except (sqlite3.DatabaseError, TypeError) as error:  # a damaged cell may have another type
        if isinstance(error, sqlite3.DatabaseError) and not _is_damage(error):
            raise
        return rows, False
    return rows, whole


def _backed_up(path: Path) -> list[Row]:
    return _read(path, lambda connection: _good_rows(connection)[0])


def _known(connection: sqlite3.Connection) -> list[Row]:
    return connection.execute("SELECT id, content, name FROM samples ORDER BY rowid").fetchall()


def _read(path: Path, read: Callable[[sqlite3.Connection], list[Row]]) -> list[Row]:
    """Rows of a file that may be damaged or absent; none where nothing can be read."""
    if not path.exists():
        return []
    try:
        connection = sqlite3.connect(path)
        try:
            return read(connection)
        finally:
            connection.close()
    except sqlite3.Error:
        return []


def _back_up(connection: sqlite3.Connection, path: Path) -> None:
    """A copy of a good file, for the day on which it is not; without one the work goes on."""
    draft = path.with_suffix(".draft")
    with suppress(sqlite3.Error, OSError):
        draft.unlink(missing_ok=True)
        copy = sqlite3.connect(draft)
        try:
            connection.backup(copy)
        finally:
            copy.close()
        os.replace(draft, path)


def _batches(rows: list[Row]) -> Iterator[tuple[int, Batch]]:
    for number, group in groupby(rows, key=lambda row: row[1]):
        part = list(group)
        _, _, _, tab, do, *_, undoes, _ = part[0]
        yield number, Batch(do, tuple(Step(*row[5:9]) for row in part), tab, undoes)


def _locked(path: Path) -> int:
    """The descriptor of a file that this process holds; a `StudioIsOpenError` if another does."""
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    if CAN_LOCK and not lock(descriptor):  # elsewhere the database itself can be open only once
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
