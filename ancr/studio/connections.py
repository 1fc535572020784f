"""Limits on connections: how long the head of a request may be, how long it may take, how many may be half-sent.

Without them one endless header, or some hundred requests that are never finished, would keep a page from being served.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LONGEST_HEAD = 2**16
# Seconds for the head of a request, and for its body.
HEAD_TIME, BODY_TIME = 5.0, 60.0
# Connections that may wait for the rest of a request; of more, the one that has waited longest is closed.
MOST_WAITING = 32


class LimitedProtocol(HttpToolsProtocol):
    """HTTP for one connection; it is closed when a request is too long in coming."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._timer: asyncio.TimerHandle | None = None
        self._head = 0
        self.waits_since: float | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock."""
        super().connection_made(transport)
        self._wait(HEAD_TIME)
        own = [each for each in self.connections if isinstance(each, LimitedProtocol)]
        waiting = sorted((each.waits_since, id(each), each) for each in own if each.waits_since is not None)
        for _, _, each in waiting[:-MOST_WAITING]:
            each._rest()
            each.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._rest()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Refuse a head that is too long before it is looked at."""
        if self._head >= 0:
            self._head += len(data)
            self._wait(HEAD_TIME, restart=False)
            # A body may come with the end of the head, so that only what is far too long is refused unseen.
            if self._head > LONGEST_HEAD and b"\r\n\r\n" not in data[: LONGEST_HEAD + 4]:
                self._rest()
                self.send_400_response("The head of the request is too long.")
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        """Nothing of this request has come yet."""
        self._head = max(self._head, 0)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The head is there; the body may take longer."""
        self._head = -1
        self._wait(BODY_TIME)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is there."""
        self._rest()
        self._head = 0
        super().on_message_complete()

    def _wait(self, seconds: float, restart: bool = True) -> None:
        if self._timer is not None:
            if not restart:
                return
            self._timer.cancel()
        self.waits_since = self.loop.time() if self.waits_since is None else self.waits_since
        self._timer = self.loop.call_later(seconds, self.transport.close)

    def _rest(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.waits_since = None
