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
from ancr.studio.connections import WENT_AWAY, Json, json_body, told
from ancr.studio.jobs import LONG
from ancr.studio.journal import JournalError
from ancr.studio.opening_routes import opening_routes
from ancr.studio.security import Guard, Refusal
from ancr.studio.uploads import NoRoomError
from ancr.studio.worker import EndedError

if TYPE_CHECKING:
    from ancr.samples.model_file import Model
    from ancr.studio.desk import Desk
    from ancr.studio.views import Views
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
_OTHER_DATA = "The studio shows other data now. Nothing was done."
_UNFORESEEN = "Something went wrong: {}. The terminal says more."


def make_app(desk: "Desk", token: str, port: int) -> Guard:
    """The application of a server.

    Parameters
    ----------
    desk : Desk
        What it shows: the studio that is open.
    token : str
        The secret that the first address carries.
    port : int
        The port that it will listen on.
    """
    site = _Site(desk)
    reads: dict[str, Callable[[Request], Any]] = {
        "/api/state": lambda request: site.studio.overview(_tab(request)),
        "/api/row/{id}": lambda request: site.studio.views.whole(site.index(request)),
        "/api/number/{number}": lambda request: site.studio.views.describe(site.numbered(request)),
        "/api/random": lambda request: _random(site.studio.views, request),
        "/api/surest": lambda request: site.studio.views.surest(request.query_params.get("label")),
        "/api/samples": lambda request: site.samples(request),
        "/api/map/colours": lambda request: {
            **site.studio.map.colours(request.query_params.get("by", "label")),
            "start": site.studio.start,
        },
        "/api/audit": lambda request: site.studio.views.audit(),
        "/api/compare": lambda request: site.studio.views.comparison(),
        "/api/confused": lambda request: site.studio.views.confused(request.query_params),
    }
    routes = [
        *(Route(path, site.read(function)) for path, function in reads.items()),
        *(Route(f"/api/start/{name}", site.begin(name), methods=["POST"]) for name in LONG),
        *(Route(f"/api/cancel/{name}", site.cancel(name), methods=["POST"]) for name in LONG),
        Route("/", site.page),
        Route("/static/{name}", site.static),
        Route("/api/events", _News(desk).events),
        Route("/api/picture/{id}", site.picture),
        Route("/api/browse", site.browse),
        Route("/api/map", site.map),
        Route("/api/controls", site.controls, methods=["POST"]),
        Route("/api/answer", site.answer, methods=["POST"]),
        Route("/api/image", site.image, methods=["POST"]),
        Route("/api/act", site.act, methods=["POST"]),
        Route("/api/next", site.next, methods=["POST"]),
        Route("/api/leave", site.leave, methods=["POST"]),
        *(Route(f"/api/export/{name}", site.text(name, make)) for name, make in _WRITERS.items()),
        Route("/api/export/sorted.zip", site.sorted),
        Route("/api/export/model.npz", site.model),
        Route("/api/import/label-studio", site.take_in, methods=["POST"]),
        *opening_routes(desk),
    ]
    return Guard(Starlette(routes=routes, exception_handlers=_handlers()), token, port)


def _handlers() -> dict[Any, Any]:
    """What a page is told about each kind of error."""
    return {
        **WENT_AWAY,
        EndedError: told(lambda error: (_OTHER_DATA, 409)),
        NoRoomError: told(lambda error: (str(error), 507)),
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
    """The JSON object of a request, with settings as they must be."""
    body = await json_body(request)
    if not isinstance(body.get("settings", {}), dict):
        raise ActionError("The settings are not names with values.")
    return body


# Files of text that can be had, by name.
_WRITERS: dict[str, Callable[["Views", Request], str]] = {
    "labels.csv": lambda views, request: exports.labels_csv(views.state, request.query_params.get("raw") == "1"),
    "labels.jsonl": lambda views, request: exports.labels_jsonl(views.state),
    "table.csv": lambda views, request: exports.whole_table(views.source, views.state),
    "suspicious.csv": lambda views, request: exports.suspicious_csv(views),
    "label-studio.json": lambda views, request: exports.label_studio(views),
    "train.py": lambda views, request: exports.python_code(views.source, views.state),
}


class _Site:
    def __init__(self, desk: "Desk") -> None:
        self.desk = desk
        # Threads of their own: a page of large photos must not keep an answer waiting, nor fill the memory.
        self._painters = ThreadPoolExecutor(2, thread_name_prefix="ancr-studio-pictures")
        folder = resources.files("ancr.studio") / "static"
        self._files = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}

    @property
    def studio(self) -> "Studio":
        """The studio that is open at this moment."""
        return self.desk.studio

    def meant(self, request: Request) -> "Studio":
        """The studio that is open, if it is the one that the page knows: an action is never done to other data."""
        if (start := request.headers.get("x-ancr-start")) is not None:
            self.studio.check_start(start)
        return self.studio

    def read(self, function: Callable[[Request], Any]) -> Callable[[Request], Any]:
        """An endpoint that answers with what a function of the request reads."""

        async def endpoint(request: Request) -> Response:
            return await self._read(lambda: function(request))

        return endpoint

    def begin(self, name: str) -> Callable[[Request], Any]:
        """An endpoint that begins a long job."""
        return self.read(lambda request: self.meant(request).jobs.start(name))

    def cancel(self, name: str) -> Callable[[Request], Any]:
        """An endpoint that ends a long job."""
        return self.read(lambda request: self.studio.jobs.cancel(name))

    async def _read(self, function: Callable[[], Any]) -> Response:
        return Json(await self.studio.worker.ask("read", function))

    async def page(self, request: Request) -> Response:
        return Response(self._files["index.html"], media_type="text/html")

    async def static(self, request: Request) -> Response:
        name = request.path_params["name"]
        kind = _KINDS.get(Path(name).suffix)
        if kind is None or name not in self._files:
            raise HTTPException(404, "There is no such file.")
        return Response(self._files[name], headers={"content-type": kind})

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
        studio = self.studio
        return Json({**await asyncio.to_thread(studio.map.places, layout), "start": studio.start})

    def samples(self, request: Request) -> list[dict[str, Any]]:
        """Samples by the numbers that a page has from this start."""
        self.studio.check_start(request.query_params.get("start"))
        return self.studio.browse.samples(request.query_params.get("numbers", ""))

    async def picture(self, request: Request) -> Response:
        """A small picture, or with ``?full=1`` the whole one; at most two are made at a time."""
        studio, index = self.studio, self.index(request)
        pictures = studio.pictures
        make = pictures.whole if request.query_params.get("full") == "1" else pictures.thumbnail
        found = await asyncio.get_running_loop().run_in_executor(self._painters, make, index)
        if found is None:
            raise HTTPException(404, "There is no picture of this sample.")
        # An identity is that of the content, so that its picture never changes; a row may get another image.
        kept = "private, max-age=31536000, immutable" if studio.source.shows_content else "no-store"
        return Response(found[0], media_type=found[1], headers={"cache-control": kept})

    async def controls(self, request: Request) -> Response:
        changes = (await _body(request)).get("settings", {})
        return await self._read(lambda: self.studio.views.settings(changes))

    async def answer(self, request: Request) -> Response:
        body = await _body(request)
        studio = self.meant(request)
        return Json(await asyncio.wrap_future(studio.answer(studio.query(body))))

    async def image(self, request: Request) -> Response:
        content, drawn = await request.body(), request.query_params.get("drawn") == "1"
        try:
            settings = json.loads(request.query_params.get("settings", "{}"))
        except (ValueError, RecursionError):
            settings = None
        if not isinstance(settings, dict):
            raise ActionError("The settings are not names with values.")
        studio = self.meant(request)
        vector = await asyncio.to_thread(studio.pictures.vector, content, drawn)
        query = studio.query({"settings": settings}, vector)
        return Json(await asyncio.wrap_future(studio.answer(query)))

    async def act(self, request: Request) -> Response:
        action = await _body(request)
        return Json(await self.meant(request).worker.ask("act", (_tab(request), action)))

    async def next(self, request: Request) -> Response:
        body = await _body(request)
        n = body.get("n", 1)
        if not isinstance(n, int) or isinstance(n, bool) or not 1 <= n <= 1000:
            raise ActionError("n must be a whole number from 1 to 1000.")
        seed = body.get("seed", 0)
        if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**32:
            raise ActionError("seed must be a whole number from 0.")
        ranked: list[int] = []
        tab, studio = _tab(request), self.meant(request)
        if body.get("fresh"):
            future = await studio.worker.ask("read", lambda: studio.jobs.awaited_queue(n, seed))
            ranked = (await asyncio.wrap_future(future) or [])[:n]
        return Json(await studio.worker.ask("read", lambda: _next(studio, n, tab, ranked)))

    async def leave(self, request: Request) -> Response:
        """A tab was closed: what it showed is free."""
        tab = _named_tab((await _body(request)).get("tab"))
        return await self._read(lambda: self.studio.leases.give(tab, []))

    def text(self, name: str, make: Callable[["Views", Request], str]) -> Callable[[Request], Any]:
        """An endpoint that gives a file of text, written beside the thread of the state: labels do not wait for it."""

        async def endpoint(request: Request) -> Response:
            content = await asyncio.to_thread(lambda views: make(views, request).encode(), await _kept(self.studio))
            return _download(content, _TEXTS[Path(name).suffix], name)

        return endpoint

    async def sorted(self, request: Request) -> Response:
        views = await _kept(self.studio)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "sorted.zip"
            await asyncio.to_thread(exports.sorted_images, views, path)
            return _download(await asyncio.to_thread(path.read_bytes), "application/zip", "sorted.zip")

    async def take_in(self, request: Request) -> Response:
        content = await request.body()
        studio = self.meant(request)
        labels = await asyncio.to_thread(exports.from_label_studio, content, (await _kept(studio)).state)
        return Json(await studio.worker.ask("act", (_tab(request), {"do": "import", "labels": labels})))

    async def model(self, request: Request) -> Response:
        model = await self.studio.worker.ask("read", lambda: exports.model(self.studio.recogniser))
        content = await asyncio.to_thread(_saved, model)
        return _download(content, "application/octet-stream", "model.npz")


class _News:
    """One stream for all that a desk shows, one project after another."""

    def __init__(self, desk: "Desk") -> None:
        self.desk = desk

    async def events(self, request: Request) -> Response:
        return StreamingResponse(self._changes(request), media_type="text/event-stream")

    async def _changes(self, request: Request) -> AsyncIterator[str]:
        """What changed, at first everything, also when other data is opened."""
        while not (self.desk.is_closing or await request.is_disconnected()):
            async for line in self._changes_of(self.desk.studio, request):
                yield line

    async def _changes_of(self, studio: "Studio", request: Request) -> AsyncIterator[str]:
        """What changes while a studio is open; and a line now and then so that a page that is gone is noticed."""
        changed, loop = asyncio.Event(), asyncio.get_running_loop()
        end = studio.listen(lambda: loop.call_soon_threadsafe(changed.set))
        known: dict[str, Any] = {}
        seen = len(studio.state.changes)
        try:
            while not (studio.is_closing or await request.is_disconnected()):
                changed.clear()
                news, seen = await studio.worker.ask("read", partial(studio.news, known, seen))
                yield f"data: {json.dumps(news, separators=(',', ':'))}\n\n"
                await asyncio.sleep(_REST)  # what happens at once is told at once
                while not changed.is_set():
                    try:
                        await asyncio.wait_for(changed.wait(), _BEAT)
                    except TimeoutError:
                        yield ": still here\n\n"
                        if studio.is_closing or await request.is_disconnected():
                            return
        except EndedError:  # other data was opened
            await asyncio.sleep(_REST)
        finally:
            end()


async def _kept(studio: "Studio") -> "Views":
    """What is decided at this moment."""
    return await studio.worker.ask("read", studio.views.kept)


def _next(studio: "Studio", n: int, tab: str, ranked: list[int]) -> dict[str, Any]:
    """The next samples for a tab."""
    return {"next": [studio.views.describe(i) for i in studio.following(n, tab, ranked)]}


def _random(views: "Views", request: Request) -> dict[str, Any]:
    """A sample of the kind that a page asks for."""
    return views.describe(views.random_sample(request.query_params.get("kind", "")))


def _saved(model: "Model") -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        model.save(path)
        return path.read_bytes()


def _download(content: bytes, kind: str, name: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="{name}"', "content-type": kind}
    return Response(content, headers=headers)
