"""Start a studio: bind the port, announce the address, serve until Ctrl-C."""

import gc
import os
import secrets
import socket
import sys
import warnings
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

from ancr.studio.app import make_app
from ancr.studio.connections import bind, run_server
from ancr.studio.desk import Desk
from ancr.studio.openings import Source, state_home
from ancr.studio.recent import remember
from ancr.studio.security import leading_to
from ancr.studio.workbench import Studio

PORTS = (*range(8710, 8730), 0)


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

    warnings.filterwarnings("ignore", message="Image size .* exceeds limit")  # up to twice that many pixels are shown
    # The thread that answers and the one that talks to pages take turns more often than Python's 5 ms.
    sys.setswitchinterval(5e-4)
    try:
        with bind(port or PORTS) as listener:  # first of all: a port in use is reported before the work
            say("Preparing.")
            warm_up(dtypes=(source.data.vectors.dtype.name,))
            desk = Desk(Studio(source), f"http://127.0.0.1:{listener.getsockname()[1]}/")
            gc.freeze()  # what is there now stays; looking through it again would hold up answers
            try:
                _serve(desk, listener, browser, say)
            finally:
                desk.close()
    except KeyboardInterrupt:  # before the server runs
        pass


def _serve(desk: Desk, listener: socket.socket, browser: bool, say: Callable[[str], object]) -> None:
    port, token, studio = listener.getsockname()[1], secrets.token_urlsafe(24), desk.studio
    studio.journal.announce(desk.address)
    remember(studio.source, studio.journal.path)
    address = f"{desk.address}?token={token}"
    for note in studio.notes:
        say(note)
    say(f"What you do is kept in {studio.journal.path}")
    say(f"Studio: {address}  (Ctrl-C ends it)")
    with opened(address) if browser else nullcontext():
        # A page that listens would keep the server waiting.
        run_server(make_app(desk, token, port), listener, 1, desk.end_streams)


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
