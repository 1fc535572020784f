"""Append-only files of JSON lines: every line is on disk before it counts, and none is ever half there."""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


class JsonLines:
    """A file of JSON lines that a killed process leaves whole.

    An incomplete last line was being written when the process was killed and was never acknowledged: it is removed when
    the file is opened again.

    Parameters
    ----------
    path : path-like
        The file; its folder is created if it does not exist, the file itself with the first line.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from ancr._core.jsonl import JsonLines
    >>> with TemporaryDirectory() as folder:
    ...     file = JsonLines(Path(folder) / "cells.jsonl")
    ...     file.append([{"method": "CRC"}, {"method": "ANCR"}])
    ...     file.lines()
    [b'{"method": "CRC"}', b'{"method": "ANCR"}']
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        content = self.path.read_bytes() if self.path.exists() else b""
        complete = content.rfind(b"\n") + 1
        if complete < len(content):
            os.truncate(self.path, complete)

    def lines(self) -> list[bytes]:
        """The lines of the file, in the order in which they were appended."""
        return self.path.read_bytes().splitlines() if self.path.exists() else []

    def append(self, records: Iterable[Mapping[str, Any]], *, sort_keys: bool = False) -> None:
        """Write records and wait until they are on disk: all of them, or none if the disk is full."""
        content = "".join(json.dumps(record, sort_keys=sort_keys) + "\n" for record in records).encode()
        # O_APPEND: two processes may append to the same file.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
        descriptor = os.open(self.path, flags, 0o666)
        start = os.fstat(descriptor).st_size
        try:
            while content:  # the system may write less than asked for
                content = content[os.write(descriptor, content) :]
            os.fsync(descriptor)
        except OSError as error:
            os.ftruncate(descriptor, start)
            raise OSError(error.errno, error.strerror, str(self.path)) from error
        finally:
            os.close(descriptor)
