"""Small pictures that are made once: kept by the digest of their files in the user's cache folder, within a limit."""

import os
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Lock

from ancr._core.files import PathLike

# Bytes on disk; beyond them the oldest go until a fifth of the room is free.
_MOST = 2**29
_LEFT = 0.8
# How the files end that are complete: JPEG, PNG.
_ENDS = (b"\xff\xd9", b"IEND\xaeB`\x82")


class PictureCache:
    r"""Pictures by key; a folder that cannot be written, or a full disk, only means that none are kept.

    Parameters
    ----------
    folder : path-like
        Where they are kept; several studios may share it.
    most : int
        Bytes that they may take.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from ancr.studio.picture_cache import PictureCache
    >>> with TemporaryDirectory() as folder:
    ...     cache = PictureCache(folder)
    ...     cache.put("a1", b"a small JPEG\xff\xd9")
    ...     cache.get("a1"), cache.get("b2")
    (b'a small JPEG\xff\xd9', None)
    """

    def __init__(self, folder: PathLike, most: int = _MOST) -> None:
        self._folder, self._most = Path(folder), most
        self._size: int | None = None  # counted when the first is kept
        self._lock = Lock()

    def get(self, key: str) -> bytes | None:
        """A picture that is kept; None if it is not, or not complete."""
        with suppress(OSError):
            content = self._path(key).read_bytes()
            return content if content.endswith(_ENDS) else None
        return None

    def put(self, key: str, content: bytes) -> None:
        """Keep a picture."""
        path = self._path(key)
        draft = path.with_name(f"{path.name}-{uuid.uuid4().hex[:8]}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            draft.write_bytes(content)
            os.replace(draft, path)
        except OSError:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
            return
        with self._lock:
            self._size = self._count() if self._size is None else self._size + len(content)
            if self._size > self._most:
                self._make_room()

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / key

    def _files(self) -> Iterator[os.DirEntry[str]]:
        with suppress(OSError):
            for part in os.scandir(self._folder):
                with suppress(OSError):
                    yield from os.scandir(part)

    def _count(self) -> int:
        return sum(size for _, size, _ in self._listed())

    def _listed(self) -> list[tuple[float, int, str]]:
        """Time, size and path of each file; another studio may delete some meanwhile."""
        found = []
        for file in self._files():
            with suppress(OSError):
                known = file.stat()
                found.append((known.st_mtime, known.st_size, file.path))
        return found

    def _make_room(self) -> None:
        listed = sorted(self._listed())
        self._size = sum(size for _, size, _ in listed)
        for _, size, path in listed:
            if self._size <= _LEFT * self._most:
                return
            with suppress(OSError):
                os.unlink(path)
            self._size -= size
