"""Access control: only requests of this page, from this machine, with the token of this start, within limits.

A page of another site can make a browser send requests to 127.0.0.1, and by DNS rebinding even under a name of its own.
So a request must name our host, must not come from another origin, and must bring the cookie that the address with the
token has set. Everything else is refused before the body is read.
"""

import hmac
import html
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_JSON, MOST_IMAGE, MOST_IMPORT, MOST_UPLOAD = 2**20, 2**24, 2**28, 2**33
POLICY = (
    "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Refusal(Exception):
    """A request that is not answered; ``status`` and a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


class Guard:
    """ASGI middleware that lets only this page in.

    Parameters
    ----------
    app : ASGI application
        What is guarded.
    token : str
        The secret of this start.
    port : int
        The port that the server listens on.
    """

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self.app, self._token, self._port = app, token, port
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._origins = {f"http://{host}" for host in self._hosts}
        self.cookie = f"ancr-studio-{port}"  # cookies know no port, and two studios may be open

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, let in, or exchange the token in the address for the cookie."""
        app = self.app
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        try:
            if scope["type"] == "http":
                self._check_sender(scope)
                if self._brings_token(scope):
                    # Not a redirect: a browser would follow it without the cookie if a file led here.
                    app = HTMLResponse(leading_to("/"), headers={"set-cookie": self._set_cookie()})
                else:
                    self._check_cookie(scope)
                    receive = limited(scope, receive, _most(scope))
        except Refusal as refusal:
            app = JSONResponse({"error": refusal.sentence}, refusal.status)
        await app(scope, receive, _with_headers(send))

    def _check_sender(self, scope: Scope) -> None:
        if _header(scope, "host") not in self._hosts:
            raise Refusal(421, "This address does not belong to the studio.")
        origin = _header(scope, "origin", "none")
        if origin not in ("none", *self._origins):
            raise Refusal(403, "Requests of other pages are refused.")
        if _header(scope, "sec-fetch-site", "none") not in ("none", "same-origin") and scope["path"] != "/":
            raise Refusal(403, "Requests of other pages are refused.")
        if scope["method"] not in ("GET", "HEAD") and origin == "none":
            raise Refusal(403, "Requests that change something must say where they come from (Origin).")

    def _brings_token(self, scope: Scope) -> bool:
        """Whether the address has the token; a wrong one is refused, whatever cookie there is."""
        query = parse_qs(scope["query_string"].decode("latin-1"))
        if scope["path"] != "/" or "token" not in query:
            return False
        if scope["method"] != "GET" or not self._is_token(query["token"][0]):
            raise Refusal(403, "The token in this address is not that of this studio.")
        return True

    def _check_cookie(self, scope: Scope) -> None:
        if not self._is_token(cookie_parser(_header(scope, "cookie")).get(self.cookie, "")):
            raise Refusal(401, "Open the studio by the address that the terminal shows.")

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), self._token.encode())

    def _set_cookie(self) -> str:
        return f"{self.cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict"


def _most(scope: Scope) -> int:
    """Bytes that a request may bring."""
    of_path = {"/api/upload": MOST_UPLOAD, "/api/import/label-studio": MOST_IMPORT}
    if scope["path"] in of_path:
        return of_path[scope["path"]]
    kind = _header(scope, "content-type").partition(";")[0]
    return MOST_IMAGE if kind.startswith("image/") or kind == "application/octet-stream" else MOST_JSON


def limited(scope: Scope, receive: Receive, most: int) -> Receive:
    """A receiver that stops at a limit; a body that says it is larger is refused before it is read."""
    too_large = Refusal(413, f"Only {most // 2**20} MB can be sent at once.")
    length = _header(scope, "content-length", "0")
    if not length.isdecimal() or len(length) > 15 or int(length) > most:
        raise too_large
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > most:
            raise too_large
        return message

    return counted


def _header(scope: Scope, name: str, default: str = "") -> str:
    """A header by name; one that comes twice counts as neither, unless both are the same."""
    found = set(Headers(scope=scope).getlist(name))
    return found.pop() if len(found) == 1 else "\0" if found else default


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending


def leading_to(address: str) -> str:
    """A page that leads to an address."""
    there = html.escape(address, quote=True)
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><link rel="icon" href="data:,">'  # none is asked for
        f'<meta http-equiv="refresh" content="0;url={there}">'
        f'<title>ancr studio</title><p><a href="{there}">Open the studio</a></p></html>'
    )
