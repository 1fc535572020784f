"""Folders of data on this machine."""

import os
from collections.abc import Iterator
from pathlib import Path

import platformdirs

from ancr._core.files import PathLike


class DataNotFoundError(FileNotFoundError):
    """A data set is not on this machine; the message lists the folders searched and how to get it."""


class WrongTreeError(DataNotFoundError):
    """A folder exists but has another layout than expected; the message shows both trees."""


def cache_home() -> Path:
    """Folder for files that can be recreated: ``ANCR_CACHE``, otherwise the platform's cache folder."""
    return Path(os.environ.get("ANCR_CACHE") or platformdirs.user_cache_dir("ancr", appauthor=False))


def data_homes(data_home: PathLike | None = None) -> list[Path]:
    """Folders to search, in order.

    The argument alone if given; otherwise ``ANCR_DATA``, then ``shared/data`` beside the checkout, then the
    platform's cache folder, where fetched data is stored.
    """
    if data_home is not None:
        return [Path(data_home).expanduser()]
    homes = [Path(os.environ["ANCR_DATA"]).expanduser()] if os.environ.get("ANCR_DATA") else []
    beside_checkout = Path(__file__).resolve().parents[2].parent / "shared" / "data"
    return [*homes, beside_checkout, cache_home() / "data"]


def download_home(data_home: PathLike | None = None) -> Path:
    """Folder for fetched data: the argument, ``ANCR_DATA`` or the platform's cache folder."""
    return Path(data_home or os.environ.get("ANCR_DATA") or cache_home() / "data").expanduser()


def find_data(
    name: str, data_home: PathLike | None = None, hint: str = "Set ANCR_DATA to the folder that holds it."
) -> Path:
    """Path of a file in the first data home that has it.

    Parameters
    ----------
    name : str
        Path relative to a data home, such as ``"ar/AR_DAT.mat"``.
    data_home : path-like or None
        The only folder to search; None searches all of :func:`data_homes`.
    hint : str
        Advice at the end of the error message.

    Raises
    ------
    DataNotFoundError
        If no data home has it.

    Examples
    --------
    >>> from ancr.datasets import DataNotFoundError, find_data
    >>> try:
    ...     find_data("usps/nothing.h5", "/nowhere")
    ... except DataNotFoundError:
    ...     print("not found")
    not found
    """
    homes = data_homes(data_home)
    for home in homes:
        if (home / name).is_file():
            return home / name
    looked = ", ".join(str(home / name) for home in homes)
    raise DataNotFoundError(f"{name} not found. Searched for {looked}. {hint}")


def describe_tree(folder: PathLike, depth: int = 2, most: int = 8) -> str:
    """Folder tree as text, with a few entries per level, for error messages."""
    return "\n".join([f"{Path(folder).name}/", *_tree_lines(Path(folder), depth, most, "  ")])


def _tree_lines(folder: Path, depth: int, most: int, indent: str) -> Iterator[str]:
    entries = sorted(folder.iterdir())
    for entry in entries[:most]:
        yield f"{indent}{entry.name}{'/' if entry.is_dir() else ''}"
        if entry.is_dir() and depth > 1:
            yield from _tree_lines(entry, depth - 1, most, indent + "  ")
    if len(entries) > most:
        yield f"{indent}… and {len(entries) - most} more"
    if not entries:
        yield f"{indent}(empty)"
