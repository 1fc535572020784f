"""Download a data set into the folder where its loader looks."""

import hashlib
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ancr._core.files import PathLike
from ancr._core.locations import cache_home, download_home
from ancr._core.progress import progress_bar
from ancr.datasets.registry import RemoteFile, dataset_info, found_tree

if TYPE_CHECKING:
    import requests

_CHUNK = 1 << 18
_TIMEOUT = 30.0  # seconds without data after which the connection counts as broken


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
    if info.markers and all(source.archive for source in info.sources) and found_tree(info, home):
        return home / info.folder
    for source in info.sources:
        if source.archive:
            _fetch_archive(source, home, retries, progress)
        else:
            _download(source, home / source.file, retries, progress)
    return home / info.folder


def _download(source: RemoteFile, path: Path, retries: int, progress: bool) -> Path:
    """Download one file with pooch: temporary name, checksum, then the final name."""
    pooch = _pooch()
    import requests

    try:
        downloader = ResumingDownloader(retries, progress)
        pooch.retrieve(source.url, source.known_hash, fname=path.name, path=path.parent, downloader=downloader)
    except (ValueError, requests.exceptions.RequestException) as error:
        _remove_empty(path.parent)
        raise FetchError(f"{source.url} could not be downloaded: {error}") from error
    return path


@dataclass(frozen=True)
class ResumingDownloader:
    """A downloader for pooch, over HTTP, through a partial file outside the data folders.

    When the connection breaks, the part received stays in ``partial`` in the cache folder, together with the server's
    validator (ETag or Last-Modified). The next attempt, in this process or a later one, requests the rest with
    ``Range`` and ``If-Range``, so that a file that has changed in the meantime is downloaded in full. Without a
    validator the download starts again. Only a broken connection is retried; pooch would also retry after a wrong
    checksum.

    Parameters
    ----------
    retries : int
        Further attempts after a broken connection.
    progress : bool
        Show a progress bar on a terminal.
    """

    retries: int = 3
    progress: bool = True

    def __call__(self, url: str, output_file: str, pooch: Any = None) -> None:
        """Download ``url`` to ``output_file``; pooch calls this."""
        import requests
        from filelock import FileLock

        stem = cache_home() / "partial" / hashlib.sha256(url.encode()).hexdigest()[:24]
        stem.parent.mkdir(parents=True, exist_ok=True)
        # two processes that fetch the same address must not write to the same partial file
        with FileLock(stem.with_suffix(".lock")):
            part, validator = stem.with_suffix(".part"), stem.with_suffix(".validator")
            for left in reversed(range(self.retries + 1)):
                try:
                    self._receive(url, part, validator)
                    break
                except (requests.exceptions.ConnectionError, requests.exceptions.ChunkedEncodingError):
                    if not left:
                        raise
            validator.unlink(missing_ok=True)
            shutil.move(part, output_file)

    def _receive(self, url: str, part: Path, validator: Path) -> None:
        import requests

        offset = part.stat().st_size if part.exists() and validator.exists() else 0
        headers = {"Accept-Encoding": "identity"}
        if offset:
            headers |= {"Range": f"bytes={offset}-", "If-Range": validator.read_text()}
        with requests.get(url, headers=headers, stream=True, timeout=_TIMEOUT) as response:
            if response.status_code == 416:  # the partial file is at least as long as the whole file
                part.unlink()
                validator.unlink()
                raise requests.exceptions.ConnectionError(f"{url}: the partial file did not match and was deleted")
            response.raise_for_status()
            resumed = response.status_code == 206
            _remember_validator(response, validator)
            start = offset if resumed else 0
            length = response.headers.get("Content-Length")
            expected = start + int(length) if length else None
            with (
                part.open("ab" if resumed else "wb") as out,
                progress_bar(Path(url).name, expected, enabled=self.progress, as_bytes=True) as advance,
            ):
                advance(start)
                for chunk in response.iter_content(_CHUNK):
                    out.write(chunk)
                    advance(len(chunk))
        if expected is not None and part.stat().st_size != expected:
            raise requests.exceptions.ConnectionError(f"{url}: {part.stat().st_size} of {expected} bytes were received")


def _remember_validator(response: "requests.Response", path: Path) -> None:
    """Store a validator that proves later that the file is unchanged; a weak ETag does not."""
    etag = response.headers.get("ETag", "")
    mark = etag if etag and not etag.startswith("W/") else response.headers.get("Last-Modified", "")
    if mark:
        path.write_text(mark)
    else:
        path.unlink(missing_ok=True)


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
        raise ImportError("fetching data needs pooch: pip install pooch requests filelock") from error
    pooch.get_logger().setLevel("WARNING")
    return pooch
