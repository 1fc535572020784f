"""Requests by which a page brings data, looks at it and opens it, and the list of what was opened before."""

import asyncio
from contextlib import ExitStack

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from ancr._core.files import draft_folder
from ancr.samples.image_folders import IMAGE_SUFFIXES
from ancr.samples.table_files import TABLES
from ancr.studio import recent
from ancr.studio.actions import ActionError
from ancr.studio.connections import Json, json_body
from ancr.studio.desk import Desk
from ancr.studio.openings import copies_home
from ancr.studio.security import MOST_UPLOAD
from ancr.studio.uploads import ARCHIVE, ARRAYS, Receiver, Upload, clean, no_room

# Bytes that are handed to a thread at a time: the loop that answers others never writes to a disk.
_PIECE = 2**20


def opening_routes(desk: Desk) -> list[Route]:
    """The routes of a desk."""
    site = _Openings(desk)
    return [
        Route("/api/recent", site.recent),
        Route("/api/opening", site.progress),
        Route("/api/upload", site.upload, methods=["POST"]),
        Route("/api/preview", site.preview, methods=["POST"]),
        Route("/api/open", site.open, methods=["POST"]),
        Route("/api/open/cancel", site.cancel, methods=["POST"]),
        Route("/api/forget", site.forget, methods=["POST"]),
    ]


class _Openings:
    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    async def recent(self, request: Request) -> Response:
        """What was opened before, and what can be brought."""
        studio = self.desk.studio
        projects = await asyncio.to_thread(recent.projects, studio.state, studio.journal.path)
        kinds = {"images": sorted(IMAGE_SUFFIXES), "files": [*TABLES, *ARRAYS, ARCHIVE], "most": MOST_UPLOAD}
        return Json({"projects": projects, **kinds})

    async def progress(self, request: Request) -> Response:
        """What is being opened, and how far that is."""
        return Json(self.desk.progress)

    async def upload(self, request: Request) -> Response:
        """Keep files that a page brings."""
        if request.headers.get("content-type") != "application/octet-stream":
            raise HTTPException(415, "Send files.")
        try:
            upload = await _received(request)
        except ClientDisconnect:  # nobody waits for an answer
            return Response(status_code=400)
        except OSError as error:
            told: ActionError | None = no_room(error)
            if told is None and error.strerror:
                told = ActionError(f"Nothing was kept: {copies_home()} cannot be written ({error.strerror}).")
            raise (told or error) from error
        return Json({"key": upload.key, "name": upload.path.name})

    async def preview(self, request: Request) -> Response:
        """What data would be if it were opened as the page wants it."""
        body = await json_body(request)
        return Json(await asyncio.to_thread(self.desk.preview, body.get("key"), body))

    async def open(self, request: Request) -> Response:
        """Open data in the place of what is open; the answer comes when it is."""
        body, desk = await json_body(request), self.desk
        if "project" in body:
            await asyncio.to_thread(desk.open_again, body["project"])
        elif body.get("digits") is True:
            await asyncio.to_thread(desk.open_digits)
        else:
            await asyncio.to_thread(desk.open_upload, body.get("key"), body)
        return Json({"start": self.desk.studio.start})

    async def cancel(self, request: Request) -> Response:
        """End an opening."""
        self.desk.cancel()
        return Json(None)

    async def forget(self, request: Request) -> Response:
        """Take a project from the list."""
        body = await json_body(request)
        await asyncio.to_thread(recent.forget, body.get("project"))
        return await self.recent(request)


async def _received(request: Request) -> Upload:
    """Files of a request, on the disk; nothing is left of those that do not come whole."""
    stack, waiting = ExitStack(), bytearray()

    def begin() -> Receiver:
        copies_home().mkdir(parents=True, exist_ok=True)
        clean()
        receiver = Receiver(stack.enter_context(draft_folder(copies_home())))
        stack.callback(receiver.close)
        return receiver

    try:
        receiver = await asyncio.to_thread(begin)
        async for chunk in request.stream():
            waiting += chunk
            if len(waiting) >= _PIECE:
                await asyncio.to_thread(receiver.feed, bytes(waiting))
                waiting.clear()
        await asyncio.to_thread(receiver.feed, bytes(waiting))
        return await asyncio.to_thread(receiver.kept)
    finally:
        await asyncio.to_thread(stack.close)
