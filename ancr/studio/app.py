"""The web side of the studio: routes, JSON in and out, events. Everything else is in `ancr.studio.workbench`."""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Callable
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from ancr.studio.security import Guard, Refusal
from ancr.studio.state import ActionError

if TYPE_CHECKING:
    from ancr.samples.model_file import Model
    from ancr.studio.workbench import Studio

# Files of the page: nothing that is not in this list is ever opened.
_KINDS = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
_BEAT = 15.0


def make_app(studio: "Studio", token: str, port: int) -> Guard:
    """The application of a studio.

    Parameters
    ----------
    studio : Studio
        What it shows.
    token : str
        The secret that the first address carries.
    port : int
        The port that it will listen on.
    """
    site = _Site(studio)
    routes = [
        Route("/", site.page),
        Route("/static/{name}", site.static),
        Route("/api/state", site.state),
        Route("/api/events", site.events),
        Route("/api/picture/{index:int}", site.picture),
        Route("/api/row/{index:int}", site.row),
        Route("/api/random", site.random),
        Route("/api/controls", site.controls, methods=["POST"]),
        Route("/api/answer", site.answer, methods=["POST"]),
        Route("/api/image", site.image, methods=["POST"]),
        Route("/api/act", site.act, methods=["POST"]),
        Route("/api/next", site.next, methods=["POST"]),
        Route("/api/surest", site.surest),
        Route("/api/members", site.members),
        Route("/api/start/{name}", site.start, methods=["POST"]),
        Route("/api/audit", site.audit),
        Route("/api/compare", site.compare),
        Route("/api/confused", site.confused),
        Route("/api/export/labels.csv", site.labels),
        Route("/api/export/model.npz", site.model),
    ]
    handlers: dict[Any, Any] = {ActionError: _sentence, HTTPException: _http, Refusal: _refused, Exception: _unforeseen}
    return Guard(Starlette(routes=routes, exception_handlers=handlers), token, port)


async def _sentence(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, 400)


async def _http(request: Request, error: HTTPException) -> Response:
    return JSONResponse({"error": error.detail}, error.status_code)


async def _refused(request: Request, error: Refusal) -> Response:
    return JSONResponse({"error": error.sentence}, error.status)


async def _unforeseen(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": f"Something went wrong: {type(error).__name__}. The terminal says more."}, 500)


async def _body(request: Request) -> dict[str, Any]:
    """The JSON object of a request."""
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise HTTPException(415, "Send JSON.")
    try:
        body = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise ActionError("The request is not JSON.") from None
    if not isinstance(body, dict):
        raise ActionError("The request is not a JSON object.")
    if not isinstance(body.get("settings", {}), dict):
        raise ActionError("The settings are not names with values.")
    return body


class _Site:
    def __init__(self, studio: "Studio") -> None:
        self.studio, self.worker, self.jobs, self.views = studio, studio.worker, studio.jobs, studio.views
        folder = resources.files("ancr.studio") / "static"
        self._files = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}

    async def _read(self, function: Callable[[], Any]) -> Response:
        return JSONResponse(await self.worker.ask("read", function))

    async def page(self, request: Request) -> Response:
        return Response(self._files["index.html"], media_type="text/html")

    async def static(self, request: Request) -> Response:
        name = request.path_params["name"]
        kind = _KINDS.get(Path(name).suffix)
        if kind is None or name not in self._files:
            raise HTTPException(404, "There is no such file.")
        return Response(self._files[name], headers={"content-type": kind})

    async def state(self, request: Request) -> Response:
        return await self._read(self.studio.overview)

    async def events(self, request: Request) -> Response:
        return StreamingResponse(self._changes(request), media_type="text/event-stream")

    async def _changes(self, request: Request) -> AsyncIterator[str]:
        """A line after every change, and one now and then so that a page that is gone is noticed."""
        changed, loop = asyncio.Event(), asyncio.get_running_loop()
        end = self.studio.listen(lambda: loop.call_soon_threadsafe(changed.set))
        try:
            yield f"data: {self.studio.serial}\n\n"
            while not (self.studio.is_closing or await request.is_disconnected()):
                try:
                    await asyncio.wait_for(changed.wait(), _BEAT)
                except TimeoutError:
                    yield ": still here\n\n"
                    continue
                changed.clear()
                yield f"data: {self.studio.serial}\n\n"
        finally:
            end()

    def _index(self, request: Request) -> int:
        index = request.path_params["index"]
        if index >= len(self.studio.source.data):
            raise HTTPException(404, "There is no such sample.")
        return index

    async def picture(self, request: Request) -> Response:
        found = await asyncio.to_thread(self.studio.pictures.thumbnail, self._index(request))
        if found is None:
            raise HTTPException(404, "There is no picture of this sample.")
        # A sample never changes while the studio runs.
        return Response(found[0], media_type=found[1], headers={"cache-control": "private, max-age=3600"})

    async def row(self, request: Request) -> Response:
        index = self._index(request)
        return await self._read(lambda: {**self.views.describe(index), "row": self.views.row(index)})

    async def random(self, request: Request) -> Response:
        kind = request.query_params.get("kind", "")
        return await self._read(lambda: self.views.describe(self.views.random_sample(kind)))

    async def controls(self, request: Request) -> Response:
        changes = (await _body(request)).get("settings", {})
        return await self._read(lambda: self.views.settings(changes))

    async def answer(self, request: Request) -> Response:
        body = await _body(request)
        query = self.studio.query(body)
        return JSONResponse(await self.worker.ask("answer", query))

    async def image(self, request: Request) -> Response:
        content, drawn = await request.body(), request.query_params.get("drawn") == "1"
        try:
            settings = json.loads(request.query_params.get("settings", "{}"))
        except ValueError:
            settings = None
        if not isinstance(settings, dict):
            raise ActionError("The settings are not names with values.")
        vector = await asyncio.to_thread(self.studio.pictures.vector, content, drawn)
        query = self.studio.query({"settings": settings}, vector)
        return JSONResponse(await self.worker.ask("answer", query))

    async def act(self, request: Request) -> Response:
        return JSONResponse(await self.worker.ask("act", await _body(request)))

    async def next(self, request: Request) -> Response:
        body = await _body(request)
        n = body.get("n", 1)
        if not isinstance(n, int) or not 1 <= n <= 1000:
            raise ActionError("n must be a whole number from 1 to 1000.")
        seed = body.get("seed", 0)
        if not isinstance(seed, int) or not 0 <= seed < 2**32:
            raise ActionError("seed must be a whole number from 0.")
        ranked: list[int] = []
        if body.get("fresh"):
            future = await self.worker.ask("read", lambda: self.jobs.awaited_queue(n, seed))
            ranked = (await asyncio.wrap_future(future) or [])[:n]
        return await self._read(lambda: {"next": [self.views.describe(i) for i in ranked or self.studio.following(n)]})

    async def surest(self, request: Request) -> Response:
        label = request.query_params.get("label")
        return await self._read(lambda: self.views.surest(label))

    async def members(self, request: Request) -> Response:
        label = request.query_params.get("label", "")
        return await self._read(lambda: self.views.members(label))

    async def start(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in ("audit", "choose", "compare"):
            raise HTTPException(404, "There is no such work.")
        return await self._read(lambda: self.jobs.start(name))

    async def audit(self, request: Request) -> Response:
        return await self._read(self.views.audit)

    async def compare(self, request: Request) -> Response:
        return await self._read(self.views.comparison)

    async def confused(self, request: Request) -> Response:
        query = request.query_params
        try:
            truth, predicted = int(query.get("truth", "")), int(query.get("predicted", ""))
        except ValueError:
            raise ActionError("A cell has two numbers.") from None
        return await self._read(lambda: self.views.confused(query.get("method", ""), truth, predicted))

    async def labels(self, request: Request) -> Response:
        raw = request.query_params.get("raw") == "1"
        text = await self.worker.ask("read", lambda: self.studio.labels_csv(raw))
        return _download(text.encode("utf-8", "surrogateescape"), "text/csv; charset=utf-8", "labels.csv")

    async def model(self, request: Request) -> Response:
        model = await self.worker.ask("read", self.studio.model)
        content = await asyncio.to_thread(_saved, model)
        return _download(content, "application/octet-stream", "model.npz")


def _saved(model: "Model") -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        model.save(path)
        return path.read_bytes()


def _download(content: bytes, kind: str, name: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="{name}"', "content-type": kind}
    return Response(content, headers=headers)
