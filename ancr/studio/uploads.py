"""Files that a page brings: streamed into a folder of the user's own, kept by the digest of their content.

A body is a line of JSON, ``[["photos/ant/1.png", 1234], …]`` with names and sizes, and then one file after another.
Nothing is seen under its name before all of it is on the disk. An archive is unpacked within limits, images alone.
"""

import errno
import hashlib
import json
import os
import shutil
import stat
import time
import zipfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ancr._core.files import draft_folder, write_text
from ancr._core.messages import counted, shown
from ancr.samples.image_folders import is_image
from ancr.samples.table_files import TABLES, some
from ancr.studio.actions import ActionError
from ancr.studio.openings import copies_home
from ancr.studio.security import MOST_UPLOAD

ARRAYS, ARCHIVE = (".npz", ".npy", ".mat"), ".zip"
# Files of one upload, and of an archive when it is unpacked; bytes are limited to MOST_UPLOAD.
MOST_FILES = 200_000
# An archive may unpack to so many times its own size, or to so many bytes if it is small.
_MOST_TIMES, _SMALL = 100, 2**28
_LONGEST_LIST, _LONGEST_NAME, _PIECE = 2**25, 200, 2**20
_ABOUT, _ROOM = "about.json", 2**26
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class NoRoomError(ActionError):
    """The disk is full; the message is a sentence."""


@dataclass(frozen=True)
class Upload:
    """What a page brought.

    Attributes
    ----------
    key : str
        Digest of the content: the same files are the same upload.
    path : Path
        The copy: a file, or a folder of images.
    notes : tuple of str
        What was left out.
    """

    key: str
    path: Path
    notes: tuple[str, ...] = ()


def kept_upload(key: Any) -> Upload:
    """What was brought before, by its key."""
    if isinstance(key, str) and key.isalnum() and key.isascii():
        with suppress(OSError, ValueError, KeyError, TypeError):
            folder = copies_home() / key
            about = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
            if (folder / about["name"]).exists():
                return Upload(key, folder / about["name"], tuple(about["notes"]))
    raise ActionError("The copy of these files was deleted; choose them again.")


class Receiver:
    r"""Takes a body piece by piece and writes its files into a folder; `kept` gives it its place.

    Parameters
    ----------
    folder : Path
        An empty folder.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from ancr.studio.uploads import Receiver
    >>> with TemporaryDirectory() as folder:
    ...     receiver = Receiver(Path(folder))
    ...     for piece in (b'[["a.csv", 4], ["b', b'.csv", 2]]\nx,y\nz', b'\n'):
    ...         receiver.feed(piece)
    ...     receiver.end()
    ...     sorted(file.read_text() for file in Path(folder).iterdir())
    ['x,y\n', 'z\n']
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.files = folder, list[tuple[Path, int]]()
        self._head, self._place, self._left = b"", 0, 0
        self._file: Any = None
        self._digest = hashlib.blake2b(digest_size=12)
        self._digests: list[tuple[str, str]] = []
        self._has_list = False

    def feed(self, piece: bytes) -> None:
        """Take the next bytes."""
        if not self._has_list:
            self._head += piece
            line, end, piece = self._head.partition(b"\n")
            if len(line) > _LONGEST_LIST:
                raise ActionError("The list of files is too long.")
            if not end:
                return
            self._begin(line)
        while piece or (self._file is not None and not self._left):
            if self._file is None:
                raise ActionError("The upload holds more than the files that were announced.")
            part, piece = piece[: self._left], piece[self._left :]
            self._file.write(part)
            self._digest.update(part)
            self._left -= len(part)
            if not self._left:
                self._next()

    def end(self) -> None:
        """Nothing follows: everything that was announced must be there."""
        self.close()
        if not self._has_list or self._place < len(self.files):
            raise ActionError("The upload is incomplete; choose the files again.")

    def close(self) -> None:
        """Close the file that is written."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _begin(self, line: bytes) -> None:
        self._has_list, self._head = True, b""
        try:
            listed = [(str(name), int(size)) for name, size in json.loads(line)]
        except (ValueError, TypeError, RecursionError, OverflowError):
            raise ActionError("The list of files is not names with sizes.") from None
        total = sum(size for _, size in listed)
        if not listed or len(listed) > MOST_FILES or total > MOST_UPLOAD or any(size < 0 for _, size in listed):
            most = f"{MOST_FILES:,} files and {MOST_UPLOAD // 2**30} GB"
            raise ActionError(f"Choose at least one file; {most} can be brought at once, or use `ancr studio`.")
        check_room(self.folder, total)
        names = places(name for name, _ in listed)
        self.files = [(self.folder / name, size) for name, (_, size) in zip(names, listed, strict=True)]
        self._open()

    def _open(self) -> None:
        path, self._left = self.files[self._place]
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("xb")

    def _next(self) -> None:
        """The file is whole."""
        self.close()
        name = self.files[self._place][0].relative_to(self.folder).as_posix()
        self._digests.append((name, self._digest.hexdigest()))
        self._digest = hashlib.blake2b(digest_size=12)
        self._place += 1
        if self._place < len(self.files):
            self._open()

    def kept(self) -> Upload:
        """Give the files their place, unpacked if they are an archive; the same files are kept once."""
        self.end()
        name, notes, chosen = _chosen([path for path, _ in self.files], self.folder)
        is_file = len(self._digests) == 1 and not is_image(chosen)
        # The name of a table says nothing about its content but for its kind; those of images are labels.
        known = [(Path(self._digests[0][0]).suffix, self._digests[0][1])] if is_file else sorted(self._digests)
        key = hashlib.blake2b(json.dumps(known).encode(), digest_size=12).hexdigest()
        with suppress(ActionError):
            return kept_upload(key)
        if chosen.suffix.lower() == ARCHIVE:
            chosen, notes = unpacked(chosen, self.folder / ".unpacked" / name)
        return _placed(chosen, name, key, notes)


def _placed(chosen: Path, name: str, key: str, notes: list[str]) -> Upload:
    """Rename what is whole: into a folder that is named after its content."""
    target = copies_home() / key
    with draft_folder(copies_home()) as folder:
        os.replace(chosen, folder / name)
        write_text(folder / _ABOUT, json.dumps({"name": name, "notes": notes}))
        if hasattr(os, "sync"):  # labels will refer to these files
            os.sync()
        if not target.exists():
            folder.rename(target)
        else:  # somebody has deleted a part of it: labels that are there stay
            for part in (name, _ABOUT):
                if part == _ABOUT or not (target / part).exists():
                    os.replace(folder / part, target / part)
    return kept_upload(key)


def _chosen(files: list[Path], folder: Path) -> tuple[str, list[str], Path]:
    """What of the files is opened: its name, what a person should know, and where it is."""
    images = [file for file in files if is_image(file)]
    if not images:
        known = [file for file in files if file.suffix.lower() in (*TABLES, *ARRAYS, ARCHIVE)]
        if len(known) != 1:
            names = some([file.name for file in files], 3)
            what = "hold neither images nor a single table" if len(files) > 1 else "is of no kind that can be opened"
            raise ActionError(
                f"{names} {what}: choose a table ({', '.join(TABLES)}), arrays ({', '.join(ARRAYS)}), a .zip of images "
                "or a folder of images."
            )
        name = known[0].stem if known[0].suffix.lower() == ARCHIVE else known[0].name
        return name, [], known[0]
    others = len(files) - len(images)
    for file in files:
        if not is_image(file):
            file.unlink()
    verb = "is not an image was" if others == 1 else "are not images were"
    notes = [f"{counted(others, 'file')} that {verb} left out."]
    tops = {file.relative_to(folder).parts[0] for file in files}
    if len(tops) == 1 and (folder / next(iter(tops))).is_dir():
        return tops.pop(), notes if others else [], folder / files[0].relative_to(folder).parts[0]
    within = folder / ".images"
    within.mkdir()
    for top in tops:
        os.replace(folder / top, within / top)
    return "images", notes if others else [], within


def check_room(folder: Path, size: int) -> None:
    """A `NoRoomError` if a folder's disk has no room for so many bytes, and some more."""
    free = shutil.disk_usage(folder).free
    if free < size + _ROOM:
        raise NoRoomError(
            f"Nothing was kept: it takes {size / 2**20:,.0f} MB, and {free / 2**20:,.0f} MB are free there."
        )


def no_room(error: OSError) -> NoRoomError | None:
    """The sentence about a full disk, if that is what an error says."""
    if error.errno not in _FULL:
        return None
    return NoRoomError(f"Nothing was kept: the disk of {copies_home()} is full. Free some space, then try again.")


def places(names: Iterable[str]) -> list[Path]:
    r"""Names of files as paths that stay in their folder: no name leads out, none is too long, no two are alike.

    Examples
    --------
    >>> from ancr.studio.uploads import places
    >>> [path.as_posix() for path in places(["a/1.png", "a/1.png", "b/\ud800.png"])]
    ['a/1.png', 'a/1 (2).png', 'b/_ud800.png']
    """
    found: dict[str, Path] = {}
    for name in names:
        parts = [component(part) for part in name.replace("\\", "/").split("/") if part != "."]
        if not parts or not all(parts) or len(parts) > 64:
            raise ActionError(f"{shown(name)} is not a name of a file within a folder; nothing was kept.")
        *folders, last = parts
        count, stem, suffix = 1, Path(last).stem, Path(last).suffix
        while (path := "/".join([*folders, last])).casefold() in found:
            count += 1
            last = f"{stem} ({count}){suffix}"
        found[path.casefold()] = Path(path)
    return list(found.values())


def component(part: str) -> str:
    """A part of a path that can be written anywhere; empty if it leads out."""
    if part in ("", ".."):
        return ""
    text = part.encode("utf-8", "backslashreplace").decode()
    text = "".join(letter if letter.isprintable() and letter not in '\\:*?"<>|' else "_" for letter in text)
    if len(text.encode()) <= _LONGEST_NAME:
        return text
    mark, suffix = hashlib.blake2b(text.encode(), digest_size=6).hexdigest(), Path(text).suffix[:12]
    return f"{text.encode()[: _LONGEST_NAME - 40].decode(errors='ignore')}…{mark}{suffix}"


def unpacked(archive: Path, folder: Path) -> tuple[Path, list[str]]:
    """The images of an archive in a folder, and what a person should know; an `ActionError` if it is not harmless."""
    name = archive.name
    try:
        with zipfile.ZipFile(archive) as opened:
            return folder, _unpack(opened, archive, folder)
    except ActionError:
        raise
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError, EOFError, ValueError) as error:
        raise ActionError(f"{name} cannot be unpacked; unpack it yourself and choose the folder.") from error
    except OSError as error:
        raise (no_room(error) or error) from error


def _unpack(opened: zipfile.ZipFile, archive: Path, folder: Path) -> list[str]:
    entries = [entry for entry in opened.infolist() if not entry.filename.startswith("__MACOSX/")]
    if any(entry.flag_bits & 1 for entry in entries):
        raise ActionError(f"{archive.name} is encrypted; unpack it yourself and choose the folder.")
    links = [entry for entry in entries if stat.S_ISLNK(entry.external_attr >> 16)]
    files = [entry for entry in entries if not entry.is_dir() and entry not in links]
    images = [entry for entry in files if is_image(Path(entry.filename))]
    _check_archive(archive, entries, images, folder)
    most = max(_SMALL, _MOST_TIMES * archive.stat().st_size)
    folder.mkdir(parents=True)
    within = {entry.filename.partition("/")[0] for entry in images if "/" in entry.filename}
    top = within.pop() if len(within) == 1 and all("/" in entry.filename for entry in images) else ""
    inner = [entry.filename.removeprefix(f"{top}/" if top else "") for entry in images]
    for entry, place in zip(images, places(inner), strict=True):
        most -= _extract(opened, entry, folder / place, most, archive.name)
    for entry in entries:  # a class without an image is told of
        if entry.is_dir() and (name := entry.filename.rstrip("/").removeprefix(f"{top}/" if top else "")) != top:
            with suppress(FileExistsError):
                (folder / places([name])[0]).mkdir(parents=True, exist_ok=True)
    others = len(files) - len(images)
    notes = [f"{counted(others, 'file')} of the archive {'is not an image' if others == 1 else 'are not images'}."]
    left = [f"{counted(len(links), 'link')} of the archive {'was' if len(links) == 1 else 'were'} left out."]
    return [*(notes if others else []), *(left if links else [])]


def _check_archive(archive: Path, entries: list[Any], images: list[Any], folder: Path) -> None:
    name = archive.name
    if not images:
        raise ActionError(f"{name} holds no image; unpack it, and open the table or the folder that you want.")
    if len(entries) > MOST_FILES:
        raise ActionError(f"{name} holds more than {MOST_FILES:,} files; unpack it and use `ancr studio FOLDER`.")
    try:
        places(entry.filename.rstrip("/") for entry in entries)
    except ActionError:
        raise ActionError(f"{name} holds names that lead out of it; nothing of it was unpacked.") from None
    check_room(archive.parent, min(sum(entry.file_size for entry in images), MOST_UPLOAD))


def _extract(opened: zipfile.ZipFile, entry: zipfile.ZipInfo, path: Path, most: int, name: str) -> int:
    """Unpack one file; the bytes are counted as they come, whatever the archive says about its size."""
    path.parent.mkdir(parents=True, exist_ok=True)
    size = 0
    with opened.open(entry) as packed, path.open("xb") as file:
        while piece := packed.read(_PIECE):
            size += len(piece)
            if size > most or size > MOST_UPLOAD:
                raise ActionError(f"{name} unpacks to far more than its size; nothing of it was unpacked.")
            file.write(piece)
    return size


def clean(seconds: float = 86400.0) -> None:
    """Delete copies that were brought some time ago and never opened."""
    for folder in copies_home().glob("*"):
        with suppress(OSError):
            is_old = folder.stat().st_mtime < time.time() - seconds
            if is_old and not [*folder.glob("*.ancr-studio"), *folder.glob("*/.ancr-studio")]:
                shutil.rmtree(folder)
