"""Download a data set into the folder where its loader looks."""

import os
import shutil
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from ancr._core.files import PathLike
from ancr._core.locations import DataNotFoundError, download_home
from ancr.datasets._download import ResumingDownloader
from ancr.datasets.inventory import find_tree
from ancr.datasets.registry import DatasetInfo, RemoteFile, dataset_info


class FetchError(OSError):
    """A download failed; the message names the file and the reason."""


def fetch(name: str, data_home: PathLike | None = None, *, retries: int = 3, progress: bool = True) -> Path:
    """Download the public files of a data set and unpack its archives.

    A file is moved into the data folder only if it is complete and its checksum (if one is published) is right; a
    folder only if its archive was unpacked without error. The received part of an interrupted download stays in the
    cache folder, and the next call resumes it.

    Parameters
    ----------
    name : str
        Name in the registry: ``"usps"``, ``"cub200"``, …
    data_home : path-like or None
        Folder to store it in; None means ``ANCR_DATA``, otherwise the platform's cache folder.
    retries : int
        Further attempts after a broken connection; each resumes the download.
    progress : bool
        Show a progress bar on a terminal.

    Returns
    -------
    Path
        The folder of the data set.

    Raises
    ------
    FetchError
        If a download fails or a checksum is wrong.
    ValueError
        If the data set is unknown or has no public files.

    Examples
    --------
    >>> from ancr.datasets import fetch
    >>> fetch("usps")  # downloads what is missing  # doctest: +SKIP
    """
    info = dataset_info(name)
    if not info.sources:
        raise ValueError(f"name={name!r}: {info.how_to_get}" + (f"\n{info.tree}" if info.unavailable else ""))
    home = download_home(data_home)
    if all(source.archive for source in info.sources) and _is_laid_out(info, home):
        return home / info.folder
    for source in info.sources:
        if source.archive:
            _fetch_archive(source, home, retries, progress)
        else:
            _download(source, home / source.file, retries, progress)
    return home / info.folder


def _is_laid_out(info: DatasetInfo, home: Path) -> bool:
    """Whether the unpacked data set is there already."""
    try:
        return bool(info.markers) and find_tree(info, home).is_dir()
    except DataNotFoundError:
        return False


def _download(source: RemoteFile, path: Path, retries: int, progress: bool) -> Path:
    """Download one file with pooch: temporary name, checksum, then the final name."""
    pooch = _pooch()
    import requests

    try:
        pooch.retrieve(
            source.url,
            source.known_hash,
            fname=path.name,
            path=path.parent,
            downloader=_Retrying(ResumingDownloader(progress=progress), retries),
        )
    except (ValueError, requests.exceptions.RequestException) as error:
        _remove_empty(path.parent)
        raise FetchError(f"{source.url} could not be downloaded: {error}") from error
    return path


class _Retrying:
    """Retry a download only after a broken connection; pooch would also retry after a wrong checksum."""

    def __init__(self, downloader: ResumingDownloader, retries: int) -> None:
        self.downloader = downloader
        self.retries = retries

    def __call__(self, url: str, output_file: str, pooch: Any) -> None:
        import requests

        for attempt in range(self.retries + 1):
            try:
                self.downloader(url, output_file, pooch)
                return
            except (requests.exceptions.ConnectionError, requests.exceptions.ChunkedEncodingError):
                if attempt == self.retries:
                    raise


def _fetch_archive(source: RemoteFile, home: Path, retries: int, progress: bool) -> None:
    """Download and unpack into a temporary folder, then move the content to its final place."""
    target = (home / source.file).parent
    done = target / f".{Path(source.file).name}.unpacked"
    if done.exists():
        return
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".unpack-", dir=target) as work:
        try:
            archive = _download(source, Path(work) / Path(source.file).name, retries, progress)
            _unpack(archive, Path(work) / "content", source)
        except BaseException:
            shutil.rmtree(work, ignore_errors=True)
            _remove_empty(target)
            raise
        for entry in sorted((Path(work) / "content").iterdir()):
            _replace(entry, target / entry.name)
    done.touch()


def _unpack(archive: Path, content: Path, source: RemoteFile) -> None:
    pooch = _pooch()
    processor = pooch.Unzip if archive.suffix == ".zip" else pooch.Untar
    try:
        processor(extract_dir=str(content))(str(archive), "download", None)
    except Exception as error:
        raise FetchError(f"{source.url} was downloaded, but the archive is broken: {error}") from error


def _replace(entry: Path, target: Path) -> None:
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    os.replace(entry, target)


def _remove_empty(folder: Path) -> None:
    """Remove an empty folder, which would be reported as a wrong tree."""
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def _pooch() -> ModuleType:
    try:
        import pooch
    except ImportError as error:
        raise ImportError("fetching data needs pooch: pip install 'ancr[data]'") from error
    pooch.get_logger().setLevel("WARNING")
    return pooch
