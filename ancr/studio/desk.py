"""The one project that a server has open, and how another takes its place without anything being lost.

Pages of one server show one project. When another is opened, every page that listens is told and follows; the one
before stays on the disk as it is.
"""

import gc
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ancr._core.messages import one_line
from ancr.studio import recent
from ancr.studio.actions import ActionError, ConflictError
from ancr.studio.apart import CancelledError, return_memory
from ancr.studio.journal import JournalError
from ancr.studio.openings import Source, copies_home, open_source
from ancr.studio.previews import failed_preview, folder_preview, options_of, source_preview
from ancr.studio.uploads import Upload, kept_upload
from ancr.studio.workbench import Studio

# What a page calls the table that is open now, where others are called by the digest of their content.
HERE = "."
_FORESEEN = (ValueError, OSError, ImportError)


class Desk:
    """The studio that is open, and what is being opened.

    Parameters
    ----------
    studio : Studio
        The first one.
    address : str
        Where the server is, for a second studio on the same data.

    Attributes
    ----------
    studio : Studio
        The one that pages see.
    is_closing : bool
        Whether the server ends.
    progress : dict or None
        What is being opened and how far that is; None if nothing is.
    """

    def __init__(self, studio: Studio, address: str = "") -> None:
        self.studio, self.address = studio, address
        self.is_closing = False
        self.progress: dict[str, Any] | None = None
        self._busy, self._cancelled = threading.Lock(), threading.Event()
        self._seen: tuple[str, Source] | None = None  # what was previewed last, which is what is opened next

    def end_streams(self) -> None:
        """Let every page that listens go."""
        self.is_closing = True
        self.studio.end_streams()

    def close(self) -> None:
        """End the studio that is open."""
        self.studio.close()

    def _brought(self, key: Any) -> Upload:
        """The files that a page means: those that it brought, or the table that is open now."""
        asked = self.studio.source.asked
        if key == HERE and asked.get("path") and self.studio.source.plan.columns:
            return Upload(HERE, Path(asked["path"]))
        return kept_upload(key)

    def preview(self, key: Any, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """What data would be if it were opened so; ``problem`` says why it cannot be."""
        upload = self._brought(key)
        shown = {"key": upload.key, "name": upload.path.name, "problem": ""}
        with _told(upload.path):
            options = self._options(upload, wanted)
            if upload.path.is_dir():
                found = folder_preview(upload.path, options["features"])
            else:
                found = self._table_preview(upload, options)
        found["notes"] = [*upload.notes, *(_without(upload.path, note) for note in found["notes"])]
        return {**shown, **found}

    def _table_preview(self, upload: Upload, options: dict[str, Any]) -> dict[str, Any]:
        try:
            source = self._source(options)
        except _FORESEEN as error:
            shown = failed_preview(options, _sentence(upload.path, error))
            if shown is None:
                raise
            return shown
        return {**source_preview(source, options.get("label")), "kinds": options.get("kinds", {})}

    def _options(self, upload: Upload, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments of `open_source`; the table that is open keeps those that a page does not choose."""
        if upload.key != HERE:
            return options_of(upload.path, wanted)
        asked = self.studio.source.asked
        return {**options_of(upload.path, {"kinds": asked["kinds"], **wanted}), "images": asked["images"]}

    def _source(self, options: dict[str, Any]) -> Source:
        """The data; what was read for the preview is not read again."""
        known = repr(sorted((name, str(value)) for name, value in options.items()))
        if self._seen is None or self._seen[0] != known:
            self._seen = None
            self._seen = known, open_source(**options, advance=self._advance)
        return self._seen[1]

    def open_upload(self, key: Any, wanted: Mapping[str, Any]) -> None:
        """Open what a page brought, or the table that is open with another column of labels."""
        upload = self._brought(key)
        with self._opening(upload.path.name), _told(upload.path):
            self._take(self._source(self._options(upload, wanted)))

    def open_again(self, id: Any) -> None:
        """Open a project of the list of recent ones."""
        entry = recent.entry_of(id)
        if entry is None:
            raise ActionError("This project is not in the list any more.")
        path = Path(entry["asked"].get("path", ""))
        with self._opening(entry["name"]), _told(path):
            self._take(open_source(**entry["asked"], advance=self._advance))

    def open_digits(self) -> None:
        """Open the digits of scikit-learn."""
        with self._opening("Digits"):
            self._take(open_source())

    def cancel(self) -> None:
        """End an opening that is under way; what is open stays open."""
        self._cancelled.set()

    @contextmanager
    def _opening(self, name: str) -> Iterator[None]:
        if not self._busy.acquire(blocking=False):
            raise ConflictError("Another tab is opening data; wait for it.")
        try:
            self._cancelled.clear()
            self.progress = {"name": name, "done": 0, "total": 0}
            yield
        except CancelledError:
            raise ConflictError("The opening was cancelled; what was open is still open.") from None
        finally:
            self.progress, self._seen = None, None
            self._busy.release()

    def _advance(self, done: int, total: int) -> None:
        if self._cancelled.is_set():
            raise CancelledError
        if self.progress is not None:
            self.progress = {**self.progress, "done": done, "total": total}

    def _take(self, source: Source) -> None:
        """Put the studio of a source in the place of the one that is open."""
        old = self.studio
        is_same = old.source.state.resolve() == source.state.resolve()  # the terminal may have named it relatively
        if is_same:  # its journal can be open once
            old.end_streams()
            old.close()
        try:
            new = Studio(source)
        except BaseException:
            if is_same:
                self.studio = Studio(old.source)
            raise
        new.journal.announce(self.address)
        self.studio = new
        recent.remember(source, new.journal.path)
        if not is_same:
            old.end_streams()
            old.close()
        del old
        # What was there at the start was set aside for good; now it may go.
        gc.unfreeze()
        gc.collect()
        return_memory()
        gc.freeze()


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Turn what readers say about data into a sentence for a page."""
    try:
        yield
    except (ActionError, ConflictError, JournalError):
        raise
    except _FORESEEN as error:
        raise ActionError(_sentence(path, error)) from error


def _sentence(path: Path, error: Exception) -> str:
    text = _without(path, one_line(error)).rstrip(".")
    return f"{text[:1].upper() if not text.startswith(path.name) else text[:1]}{text[1:]}."


def _without(path: Path, text: str) -> str:
    """A text that does not say where copies are kept: a person knows the file by its name."""
    return text.replace(f"{path.parent}{os.sep}", "") if path.is_relative_to(copies_home()) else text
