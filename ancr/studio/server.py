"""Start a studio: bind the port, announce the address, serve until Ctrl-C."""

import gc
import os
import secrets
import socket
import sys
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from types import FrameType

from ancr.studio.app import make_app
from ancr.studio.openings import Source, state_home
from ancr.studio.security import leading_to
from ancr.studio.workbench import Studio

FIRST_PORT, _TRIED = 8710, 20


def bind(port: int | None) -> socket.socket:
    """A socket that listens on 127.0.0.1 alone: at ``port``, or at the first free one of some if it is None."""
    wanted = [port] if port is not None else [*range(FIRST_PORT, FIRST_PORT + _TRIED), 0]
    for number in wanted:
        # With the protocol named, asyncio sends every answer at once (TCP_NODELAY) instead of waiting for more.
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        if os.name == "posix":  # elsewhere it would let two programs share a port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", number))
            # Two that start together can both bind; only one can listen. And a page that comes at once is kept waiting.
            listener.listen()
            return listener
        except OSError:
            listener.close()
    raise OSError(f"--port {port} is in use; choose another, or none to take one that is free")


def serve(source: Source, port: int | None = None, browser: bool = True, say: Callable[[str], object] = print) -> None:
    """Serve a studio until it is interrupted.

    Parameters
    ----------
    source : Source
        The data.
    port : int or None
        The port; None takes the first that is free.
    browser : bool
        Whether to open the page.
    say : callable
        Prints a line.
    """
    from ancr.classifiers.warmup import warm_up

    # The thread that answers and the one that talks to pages take turns more often than Python's 5 ms.
    sys.setswitchinterval(5e-4)
    try:
        with bind(port) as listener:  # first of all: a port in use is reported before the work
            say("Preparing.")
            warm_up(dtypes=(source.data.vectors.dtype.name,))
            studio = Studio(source)
            gc.freeze()  # what is there now stays; looking through it again would hold up answers
            try:
                _serve(studio, listener, browser, say)
            finally:
                studio.close()
    except KeyboardInterrupt:  # before the server runs
        pass


def _serve(studio: Studio, listener: socket.socket, browser: bool, say: Callable[[str], object]) -> None:
    import uvicorn

    from ancr.studio.connections import LimitedProtocol

    class Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            """End without raising the signal once more: what a person asked for is no failure."""
            studio.end_streams()  # a page that listens would keep the server waiting
            self.force_exit = self.should_exit
            self.should_exit = True

    port, token = listener.getsockname()[1], secrets.token_urlsafe(24)
    studio.journal.announce(f"http://127.0.0.1:{port}/")
    address = f"http://127.0.0.1:{port}/?token={token}"
    for note in studio.notes:
        say(note)
    say(f"What you do is kept in {studio.journal.path}")
    say(f"Studio: {address}  (Ctrl-C ends it)")
    config = uvicorn.Config(
        make_app(studio, token, port),
        http=LimitedProtocol,
        log_level="error",
        access_log=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=1,
        limit_concurrency=200,
    )
    with opened(address) if browser else nullcontext():
        Server(config).run(sockets=[listener])


@contextmanager
def opened(address: str) -> Iterator[None]:
    """Open the page by a file that only this user can read: others can see the command line of a browser."""
    path = state_home(f"open-{secrets.token_hex(8)}.html")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(leading_to(address))
        webbrowser.open(path.absolute().as_uri())
    except OSError:  # the terminal shows the address
        pass
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
