"""Files and folders that are complete or absent."""

import errno
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows: there a draft of a killed run stays until it is deleted by hand
    fcntl = None

PathLike: TypeAlias = str | os.PathLike[str]
CAN_LOCK = fcntl is not None
_DRAFT = ".ancr-draft-"
_DISK_IS_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def atomic_path(path: PathLike) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` to write to, and rename it to ``path`` if no error occurs.

    Drafts that killed processes left in the folder are deleted. A process holds a lock on its draft, and the system
    releases the lock when the process ends, so drafts of processes that are running are kept. What is not a regular
    file, such as ``/dev/stdout``, is written to directly.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        yield path
        return
    target = Path(os.path.realpath(path))  # a link stays a link
    draft = target.with_name(f"{_DRAFT}{uuid.uuid4().hex[:8]}{target.suffix}")
    check_folder(path)
    try:
        with _locked(draft, _locked_file):
            yield draft
            os.replace(draft, target)
    except OSError as error:
        full = error.filename is None and error.errno in _DISK_IS_FULL
        if full or error.filename == str(draft):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


@contextmanager
def atomic_folder(path: PathLike) -> Iterator[Path]:
    """Yield a temporary folder beside ``path`` to fill, and rename it to ``path``, which is new, if no error occurs.

    Drafts of killed processes are deleted as `atomic_path` does it.
    """
    path = Path(path)
    with draft_folder(path.parent) as draft:
        yield draft
        draft.rename(path)


@contextmanager
def draft_folder(parent: PathLike) -> Iterator[Path]:
    """Yield a new folder in ``parent`` to fill, and then to rename; what is not renamed in the end is deleted."""
    draft = Path(parent) / f"{_DRAFT}{uuid.uuid4().hex[:8]}"
    with _locked(draft, _locked_folder):
        yield draft


@contextmanager
def _locked(draft: Path, create: Callable[[Path], int | None]) -> Iterator[None]:
    """Create a draft, and keep it locked; what is left of it in the end is deleted."""
    descriptor = None
    try:
        _delete_stale_drafts(draft.parent)
        descriptor = create(draft)
        yield
    finally:
        _delete(draft)
        if descriptor is not None:
            os.close(descriptor)


def write_text(path: PathLike, text: str) -> None:
    """Write a text file in UTF-8, completely or not at all."""
    with atomic_path(path) as draft:
        draft.write_text(text, encoding="utf-8")


def check_folder(path: PathLike, create: bool = False) -> None:
    """Raise an OSError that names ``path`` if no file can be written there, because of its folder.

    Parameters
    ----------
    path : Path
        The file.
    create : bool
        Whether folders that are missing will be created; then the nearest one that exists must be a folder.
    """
    folder = Path(path).parent
    while create and not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not folder.exists():
        raise FileNotFoundError(f"{path} cannot be written: the folder {folder} does not exist")
    if not folder.is_dir():
        raise NotADirectoryError(f"{path} cannot be written: {folder} is not a folder")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"{path} cannot be written: no permission to write to the folder {folder}")


def _locked_file(path: Path) -> int | None:
    """Create a file, and return its locked descriptor; None where there are no such locks."""
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
    if not CAN_LOCK:  # Windows cannot rename a file that is open
        os.close(descriptor)
        return None
    lock(descriptor)
    return descriptor


def _locked_folder(path: Path) -> int | None:
    """Create a folder, and return its locked descriptor; None where there are no such locks."""
    path.mkdir()
    if not CAN_LOCK:
        return None
    descriptor = os.open(path, os.O_RDONLY)
    lock(descriptor)
    return descriptor


def _delete_stale_drafts(folder: Path) -> None:
    for draft in folder.glob(f"{_DRAFT}*"):
        try:
            descriptor = os.open(draft, os.O_RDONLY if draft.is_dir() else os.O_RDWR)
        except OSError:  # another process has just deleted it, or it belongs to another user
            continue
        try:
            if lock(descriptor):
                _delete(draft)
        finally:
            os.close(descriptor)


def _delete(draft: Path) -> None:
    if draft.is_dir():
        shutil.rmtree(draft, ignore_errors=True)
    else:
        draft.unlink(missing_ok=True)


def lock(descriptor: int) -> bool:
    """Lock an open file, and say whether it could be locked; the lock ends with the process, however that ends."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
