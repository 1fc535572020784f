"""What every server of this package does alike: bind, run until told to stop, limit connections, answer in JSON.

Limits are how long the head of a request may be, how long it may take, how many may be half-sent. Without them one
endless header, or some hundred requests that are never finished, would keep others from being served.
"""

import asyncio
import errno
import json
import os
import socket
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import uvicorn
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LONGEST_HEAD = 2**16
# Seconds for the head of a request, and for its body; a body may go on if it brought so many bytes in that time.
HEAD_TIME, BODY_TIME, LEAST_BODY = 5.0, 60.0, 2**20
# Connections that may wait for the rest of a request, and that may rest between two; of more, the oldest is closed.
# Together they are fewer than the server takes, so that nobody without the token keeps others out.
MOST_WAITING, MOST_RESTING, MOST_CONNECTIONS = 32, 128, 200


class Json(JSONResponse):
    """Plain data in ASCII: half a character in a name must not keep a page from being shown."""

    def render(self, content: Any) -> bytes:
        """The bytes of an answer."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()


async def json_body(request: Request) -> dict[str, Any]:
    """The JSON object of a request."""
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise HTTPException(415, "Send JSON.")
    try:
        body = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise HTTPException(400, "The request is not JSON.") from None
    if not isinstance(body, dict):
        raise HTTPException(400, "The request is not a JSON object.")
    return body


def told(words: Callable[[Any], tuple[str, int]]) -> Callable[[Request, Exception], Any]:
    """A handler that tells the client about an error: a sentence and a status."""

    async def handler(request: Request, error: Exception) -> Response:
        sentence, status = words(error)
        return Json({"error": sentence}, status)

    return handler


# Who went away in the middle of a request gets no answer, and the terminal no traceback.
WENT_AWAY: dict[Any, Any] = {ClientDisconnect: told(lambda error: ("The request did not come whole.", 400))}


def bind(ports: int | Sequence[int], host: str = "127.0.0.1") -> socket.socket:
    """A socket that listens: at a port, or at the first free one of some."""
    wanted = [ports] if isinstance(ports, int) else list(ports)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for number in wanted:
        # With the protocol named, asyncio sends every answer at once (TCP_NODELAY) instead of waiting for more.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        if os.name == "posix":  # elsewhere it would let two programs share a port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, number))
            # Two that start together can both bind; only one can listen. And a page that comes at once is kept waiting.
            listener.listen()
            return listener
        except socket.gaierror as error:
            listener.close()
            raise OSError(f"--host {host} is not an address of this machine") from error
        except OSError as error:
            listener.close()
            if isinstance(error, PermissionError):
                raise OSError(f"--port {number} is reserved; choose one from 1024") from error
            if error.errno == errno.EADDRNOTAVAIL:
                raise OSError(f"--host {host} is not an address of this machine") from error
    raise OSError(f"--port {wanted[0]} is in use; choose another, or none to take one that is free")


def run_server(app: ASGIApp, listener: socket.socket, patience: int, at_end: Callable[[], object] = int) -> None:
    """Answer requests until SIGTERM or Ctrl-C, then those that are on their way, for some seconds at most."""

    class Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            """End without raising the signal once more: what a person asked for is no failure."""
            at_end()
            self.force_exit = self.should_exit
            self.should_exit = True

    config = uvicorn.Config(
        app,
        http=LimitedProtocol,
        log_level="error",
        access_log=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=patience,
        limit_concurrency=MOST_CONNECTIONS,
    )
    Server(config).run(sockets=[listener])


class LimitedProtocol(HttpToolsProtocol):
    """HTTP for one connection; it is closed when a request is too long in coming."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._timer: asyncio.TimerHandle | None = None
        self._head = self._body = 0
        self.waits_since: float | None = None
        self.rests_since: float | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock."""
        super().connection_made(transport)
        self._wait(HEAD_TIME)
        own = [each for each in self.connections if isinstance(each, LimitedProtocol)]
        for most, times in (
            (MOST_WAITING, [each.waits_since for each in own]),
            (MOST_RESTING, [each.rests_since for each in own]),
        ):
            since = sorted((time, place) for place, time in enumerate(times) if time is not None)
            for _, place in since[:-most]:
                own[place]._rest()
                own[place].transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._rest()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Refuse a head that is too long before it is looked at."""
        self.rests_since = None
        if self._head >= 0:
            self._head += len(data)
            self._wait(HEAD_TIME, restart=False)
            # A body may come with the end of the head, so that only what is far too long is refused unseen.
            if self._head > LONGEST_HEAD and b"\r\n\r\n" not in data[: LONGEST_HEAD + 4]:
                self._rest()
                self.send_400_response("The head of the request is too long.")
                return
        else:
            self._body += len(data)
        super().data_received(data)

    def on_message_begin(self) -> None:
        """Nothing of this request has come yet."""
        self._head = max(self._head, 0)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The head is there; the body may take longer."""
        self._head, self._body = -1, 0
        self._wait(BODY_TIME)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is there."""
        self._rest()
        self._head = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """The next request may come, or not."""
        self.rests_since = self.loop.time()
        super().on_response_complete()

    def _wait(self, seconds: float, restart: bool = True) -> None:
        if self._timer is not None:
            if not restart:
                return
            self._timer.cancel()
        self.waits_since = self.loop.time() if self.waits_since is None else self.waits_since
        self._timer = self.loop.call_later(seconds, self._late)

    def _late(self) -> None:
        """The time is over: a body that comes as fast as files do may go on, everything else has waited long enough."""
        if self._head < 0 and self._body >= LEAST_BODY:
            self._body = 0
            self._wait(BODY_TIME)
        else:
            self.transport.close()

    def _rest(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.waits_since = None
