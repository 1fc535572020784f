"""The web side of the studio: routes, JSON in and out, events. Everything else is in `ancr.studio.workbench`."""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from ancr.studio import exports
from ancr.studio.actions import ActionError, ConflictError
from ancr.studio.connections import Json, told
from ancr.studio.jobs import LONG
from ancr.studio.journal import JournalError
from ancr.studio.security import Guard, Refusal

if TYPE_CHECKING:
    from ancr.samples.model_file import Model
    from ancr.studio.workbench import Studio

# Files of the page: nothing that is not in this list is ever opened.
_KINDS = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
_TEXTS = {
    ".csv": "text/csv; charset=utf-8",
    ".jsonl": "application/jsonl; charset=utf-8",
    ".json": "application/json; charset=utf-8",
    ".py": "text/x-python; charset=utf-8",
}
_BEAT, _REST = 15.0, 0.04
_LONGEST_SEARCH = 1000
_UNFORESEEN = "Something went wrong: {}. The terminal says more."


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
    site, views = _Site(studio), studio.views
    reads: dict[str, Callable[[Request], Any]] = {
        "/api/state": lambda request: studio.overview(_tab(request)),
        "/api/row/{id}": lambda request: views.whole(site.index(request)),
        "/api/number/{number}": lambda request: views.describe(site.numbered(request)),
        "/api/random": lambda request: views.describe(views.random_sample(request.query_params.get("kind", ""))),
        "/api/surest": lambda request: views.surest(request.query_params.get("label")),
        "/api/samples": lambda request: site.samples(request),
        "/api/map/colours": lambda request: {
            **studio.map.colours(request.query_params.get("by", "label")),
            "start": studio.start,
        },
        "/api/audit": lambda request: views.audit(),
        "/api/compare": lambda request: views.comparison(),
        "/api/confused": lambda request: views.confused(request.query_params),
    }
    routes = [
        *(Route(path, site.read(function)) for path, function in reads.items()),
        *(Route(f"/api/start/{name}", site.begin(name), methods=["POST"]) for name in LONG),
        *(Route(f"/api/cancel/{name}", site.cancel(name), methods=["POST"]) for name in LONG),
        Route("/", site.page),
        Route("/static/{name}", site.static),
        Route("/api/events", site.events),
        Route("/api/picture/{id}", site.picture),
        Route("/api/browse", site.browse),
        Route("/api/map", site.map),
        Route("/api/controls", site.controls, methods=["POST"]),
        Route("/api/answer", site.answer, methods=["POST"]),
        Route("/api/image", site.image, methods=["POST"]),
        Route("/api/act", site.act, methods=["POST"]),
        Route("/api/next", site.next, methods=["POST"]),
        Route("/api/leave", site.leave, methods=["POST"]),
        *(Route(f"/api/export/{name}", site.text(name, make)) for name, make in _texts(studio).items()),
        Route("/api/export/sorted.zip", site.sorted),
        Route("/api/export/model.npz", site.model),
        Route("/api/import/label-studio", site.take_in, methods=["POST"]),
    ]
    return Guard(Starlette(routes=routes, exception_handlers=_handlers()), token, port)


def _handlers() -> dict[Any, Any]:
    """What a page is told about each kind of error."""
    return {
        ConflictError: told(lambda error: (str(error), 409)),
        ActionError: told(lambda error: (str(error), 400)),
        JournalError: told(lambda error: (str(error), 507)),
        HTTPException: told(lambda error: (error.detail, error.status_code)),
        Refusal: told(lambda error: (error.sentence, error.status)),
        Exception: told(lambda error: (_UNFORESEEN.format(type(error).__name__), 500)),
    }


def _tab(request: Request) -> str:
    """The tab of the browser that asks, as it calls itself."""
    return _named_tab(request.headers.get("x-ancr-tab"))


def _named_tab(name: Any) -> str:
    return name if isinstance(name, str) and name.isascii() and name.isalnum() and len(name) <= 40 else ""


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


def _texts(studio: "Studio") -> dict[str, Callable[[Request], str]]:
    """Files of text that can be had, by name."""
    source, state, views = studio.source, studio.state, studio.views
    return {
        "labels.csv": lambda request: exports.labels_csv(state, request.query_params.get("raw") == "1"),
        "labels.jsonl": lambda request: exports.labels_jsonl(state),
        "table.csv": lambda request: exports.whole_table(source, state),
        "suspicious.csv": lambda request: exports.suspicious_csv(views),
        "label-studio.json": lambda request: exports.label_studio(views),
        "train.py": lambda request: exports.python_code(source, state),
    }


class _Site:
    def __init__(self, studio: "Studio") -> None:
        self.studio, self.worker, self.views = studio, studio.worker, studio.views
        # Threads of their own: a page of large photos must not keep an answer waiting, nor fill the memory.
        self._painters = ThreadPoolExecutor(2, thread_name_prefix="ancr-studio-pictures")
        folder = resources.files("ancr.studio") / "static"
        self._files = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}

    def read(self, function: Callable[[Request], Any]) -> Callable[[Request], Any]:
        """An endpoint that answers with what a function of the request reads."""

        async def endpoint(request: Request) -> Response:
            return await self._read(lambda: function(request))

        return endpoint

    def begin(self, name: str) -> Callable[[Request], Any]:
        """An endpoint that begins a long job."""
        return self.read(lambda request: self.studio.jobs.start(name))

    def cancel(self, name: str) -> Callable[[Request], Any]:
        """An endpoint that ends a long job."""
        return self.read(lambda request: self.studio.jobs.cancel(name))

    async def _read(self, function: Callable[[], Any]) -> Response:
        return Json(await self.worker.ask("read", function))

    async def page(self, request: Request) -> Response:
        return Response(self._files["index.html"], media_type="text/html")

    async def static(self, request: Request) -> Response:
        name = request.path_params["name"]
        kind = _KINDS.get(Path(name).suffix)
        if kind is None or name not in self._files:
            raise HTTPException(404, "There is no such file.")
        return Response(self._files[name], headers={"content-type": kind})

    async def events(self, request: Request) -> Response:
        return StreamingResponse(self._changes(request), media_type="text/event-stream")

    async def _changes(self, request: Request) -> AsyncIterator[str]:
        """What changed, at first everything; and a line now and then so that a page that is gone is noticed."""
        changed, loop = asyncio.Event(), asyncio.get_running_loop()
        end = self.studio.listen(lambda: loop.call_soon_threadsafe(changed.set))
        known: dict[str, Any] = {}
        seen = len(self.studio.state.changes)
        try:
            while not (self.studio.is_closing or await request.is_disconnected()):
                changed.clear()
                news, seen = await self.worker.ask("read", partial(self.studio.news, known, seen))
                yield f"data: {json.dumps(news, separators=(',', ':'))}\n\n"
                await asyncio.sleep(_REST)  # what happens at once is told at once
                while not changed.is_set():
                    try:
                        await asyncio.wait_for(changed.wait(), _BEAT)
                    except TimeoutError:
                        yield ": still here\n\n"
                        if self.studio.is_closing or await request.is_disconnected():
                            return
        finally:
            end()

    def index(self, request: Request) -> int:
        """The sample whose identity an address has."""
        index = self.studio.state.place(request.path_params["id"])
        if index is None:
            raise HTTPException(404, "There is no such sample.")
        return index

    def numbered(self, request: Request) -> int:
        """The sample whose number an address has, counted from 1."""
        text, count = request.path_params["number"], len(self.studio.source.data)
        number = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
        if not 1 <= number <= count:
            raise HTTPException(404, f"There are {count} samples; choose a number from 1 to {count}.")
        return number - 1

    async def browse(self, request: Request) -> Response:
        """Numbers of samples by search, filter and order; a search is done beside the thread of the state."""
        wanted, browse = request.query_params, self.studio.browse
        matching = await asyncio.to_thread(browse.search.matches, wanted.get("text", "")[:_LONGEST_SEARCH])
        return await self._read(lambda: {**browse.order(wanted, matching), "start": self.studio.start})

    async def map(self, request: Request) -> Response:
        """Where samples lie; worked out beside the thread of the state."""
        layout = request.query_params.get("layout", "pca")
        return Json({**await asyncio.to_thread(self.studio.map.places, layout), "start": self.studio.start})

    def samples(self, request: Request) -> list[dict[str, Any]]:
        """Samples by the numbers that a page has from this start."""
        self.studio.check_start(request.query_params.get("start"))
        return self.studio.browse.samples(request.query_params.get("numbers", ""))

    async def picture(self, request: Request) -> Response:
        """A small picture, or with ``?full=1`` the whole one; at most two are made at a time."""
        pictures, index = self.studio.pictures, self.index(request)
        make = pictures.whole if request.query_params.get("full") == "1" else pictures.thumbnail
        found = await asyncio.get_running_loop().run_in_executor(self._painters, make, index)
        if found is None:
            raise HTTPException(404, "There is no picture of this sample.")
        # An identity is that of the content, so that its picture never changes; a row may get another image.
        kept = "private, max-age=31536000, immutable" if self.studio.source.shows_content else "no-store"
        return Response(found[0], media_type=found[1], headers={"cache-control": kept})

    async def controls(self, request: Request) -> Response:
        changes = (await _body(request)).get("settings", {})
        return await self._read(lambda: self.views.settings(changes))

    async def answer(self, request: Request) -> Response:
        body = await _body(request)
        query = self.studio.query(body)
        return Json(await asyncio.wrap_future(self.studio.answer(query)))

    async def image(self, request: Request) -> Response:
        content, drawn = await request.body(), request.query_params.get("drawn") == "1"
        try:
            settings = json.loads(request.query_params.get("settings", "{}"))
        except (ValueError, RecursionError):
            settings = None
        if not isinstance(settings, dict):
            raise ActionError("The settings are not names with values.")
        vector = await asyncio.to_thread(self.studio.pictures.vector, content, drawn)
        query = self.studio.query({"settings": settings}, vector)
        return Json(await asyncio.wrap_future(self.studio.answer(query)))

    async def act(self, request: Request) -> Response:
        return Json(await self.worker.ask("act", (_tab(request), await _body(request))))

    async def next(self, request: Request) -> Response:
        body = await _body(request)
        n = body.get("n", 1)
        if not isinstance(n, int) or isinstance(n, bool) or not 1 <= n <= 1000:
            raise ActionError("n must be a whole number from 1 to 1000.")
        seed = body.get("seed", 0)
        if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**32:
            raise ActionError("seed must be a whole number from 0.")
        ranked: list[int] = []
        if body.get("fresh"):
            future = await self.worker.ask("read", lambda: self.studio.jobs.awaited_queue(n, seed))
            ranked = (await asyncio.wrap_future(future) or [])[:n]
        tab, studio = _tab(request), self.studio
        return await self._read(lambda: {"next": [self.views.describe(i) for i in studio.following(n, tab, ranked)]})

    async def leave(self, request: Request) -> Response:
        """A tab was closed: what it showed is free."""
        tab = _named_tab((await _body(request)).get("tab"))
        return await self._read(lambda: self.studio.leases.give(tab, []))

    def text(self, name: str, make: Callable[[Request], str]) -> Callable[[Request], Any]:
        """An endpoint that gives a file of text."""

        async def endpoint(request: Request) -> Response:
            text = await self.worker.ask("read", lambda: make(request))
            return _download(text.encode(), _TEXTS[Path(name).suffix], name)

        return endpoint

    async def sorted(self, request: Request) -> Response:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "sorted.zip"
            await asyncio.to_thread(exports.sorted_images, self.studio.source, self.studio.state, path)
            return _download(await asyncio.to_thread(path.read_bytes), "application/zip", "sorted.zip")

    async def take_in(self, request: Request) -> Response:
        content = await request.body()
        labels = await self.worker.ask("read", lambda: exports.from_label_studio(content, self.studio.state))
        return Json(await self.worker.ask("act", (_tab(request), {"do": "import", "labels": labels})))

    async def model(self, request: Request) -> Response:
        model = await self.worker.ask("read", lambda: exports.model(self.studio.recogniser))
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
