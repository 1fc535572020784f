"""A pooch downloader that resumes an interrupted download."""

import hashlib
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ancr._core.files import PathLike
from ancr._core.locations import cache_home
from ancr._core.progress import progress_bar

if TYPE_CHECKING:
    import requests

_CHUNK = 1 << 18


class ResumingDownloader:
    """Download over HTTP through a partial file outside the data folders.

    When the connection breaks, the part received stays in ``partial_dir``, together with the server's validator
    (ETag or Last-Modified). The next attempt, in this process or a later one, requests the rest with ``Range``
    and ``If-Range``, so that a file that has changed in the meantime is downloaded in full. Without a validator
    the download starts again.

    Parameters
    ----------
    partial_dir : path-like or None
        Folder for partial files; None means ``partial`` in the cache folder.
    timeout : float
        Seconds without data after which the connection counts as broken.
    progress : bool
        Show a progress bar on a terminal.
    """

    def __init__(self, partial_dir: PathLike | None = None, timeout: float = 30.0, progress: bool = True) -> None:
        self.partial_dir = Path(partial_dir) if partial_dir else cache_home() / "partial"
        self.timeout = timeout
        self.progress = progress

    def __call__(self, url: str, output_file: str, pooch: Any = None) -> None:
        """Download ``url`` to ``output_file``; pooch calls this."""
        from filelock import FileLock

        self.partial_dir.mkdir(parents=True, exist_ok=True)
        stem = self.partial_dir / hashlib.sha256(url.encode()).hexdigest()[:24]
        # two processes that fetch the same address must not write to the same partial file
        with FileLock(stem.with_suffix(".lock")):
            part, validator = stem.with_suffix(".part"), stem.with_suffix(".validator")
            self._receive(url, part, validator)
            validator.unlink(missing_ok=True)
            shutil.move(part, output_file)

    def _receive(self, url: str, part: Path, validator: Path) -> None:
        import requests

        offset = part.stat().st_size if part.exists() and validator.exists() else 0
        headers = {"Accept-Encoding": "identity"}
        if offset:
            headers |= {"Range": f"bytes={offset}-", "If-Range": validator.read_text()}
        with requests.get(url, headers=headers, stream=True, timeout=self.timeout) as response:
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
