"""A trained model as a small web application: rows or an image in, labels with reasons out, all in JSON.

It keeps nothing and writes nothing. What cannot be answered is refused with 4xx and ``{"error": one line}``.
"""

import asyncio
import hmac
import json
import math
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from ancr._core.messages import one_line, shown
from ancr.features.decoding import UnreadableImageError
from ancr.samples.answers import Answer, Answers
from ancr.samples.image_vectors import image_vectors
from ancr.samples.sample_set import of_images
from ancr.studio.connections import WENT_AWAY, Json, told
from ancr.studio.security import Refusal, limited

_TOP, _MOST_TOP = 5, 100
_LONGEST_NUMBER = 300  # digits; a longer one is infinite
_ASKED = {"rows", "top", "probabilities"}


def make_model_app(answers: Answers, token: str = "", most_bytes: int = 2**24, most_rows: int = 10_000) -> "ModelApp":
    """The application of a model.

    Parameters
    ----------
    answers : Answers
        The model, fitted.
    token : str
        What ``Authorization: Bearer …`` must bring; empty lets everyone in. Health needs none.
    most_bytes, most_rows : int
        Limits on the body of a request and on its rows.
    """
    site = _Endpoints(answers, most_rows)
    routes = [
        Route("/health", site.health),
        Route("/metrics", site.metrics),
        Route("/model", site.model),
        Route("/predict", site.predict, methods=["POST"]),
    ]
    handlers: dict[Any, Any] = {
        **WENT_AWAY,
        HTTPException: told(lambda error: (error.detail, error.status_code)),
        Refusal: told(lambda error: (error.sentence, error.status)),
        Exception: told(lambda error: (f"unforeseen: {type(error).__name__}; the server's log says more", 500)),
    }
    return ModelApp(Starlette(routes=routes, exception_handlers=handlers), site, token, most_bytes)


class ModelApp:
    """ASGI middleware: the token, the limit on a body, and the count of answers by status."""

    def __init__(self, app: ASGIApp, endpoints: "_Endpoints", token: str, most_bytes: int) -> None:
        self.app, self._endpoints, self._token, self._most = app, endpoints, token, most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or hand it on."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)

        async def counting(message: Any) -> None:
            if message["type"] == "http.response.start":
                self._endpoints.statuses[message["status"]] += 1
            await send(message)

        try:
            self._check_token(scope)
            receive = limited(scope, receive, self._most)
        except Refusal as refusal:
            refused = Json({"error": refusal.sentence}, refusal.status)
            return await _to_the_end(refused, scope, receive, counting, 4 * self._most)
        await self.app(scope, receive, counting)

    def _check_token(self, scope: Scope) -> None:
        wanted = f"Bearer {self._token}".encode()
        given = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        if self._token and scope["path"] != "/health" and not hmac.compare_digest(given, wanted):
            raise Refusal(401, "the header Authorization must be 'Bearer' and the token")


async def _to_the_end(answer: Response, scope: Scope, receive: Receive, send: Send, most_bytes: int) -> None:
    """Answer, then let the rest of the body come: a client that is cut off while it sends never reads the answer.

    Not more than so many bytes of it: a body without an end would keep the connection.
    """

    async def sending(message: Any) -> None:
        is_body = message["type"] == "http.response.body"
        await send({**message, "more_body": True} if is_body else message)

    await answer(scope, receive, sending)
    while most_bytes > 0 and (message := await receive()).get("more_body"):
        most_bytes -= len(message.get("body", b""))
    await send({"type": "http.response.body"})


class _Endpoints:
    def __init__(self, answers: Answers, most_rows: int) -> None:
        self.answers, self._most_rows = answers, most_rows
        # One at a time: a prediction uses all cores, and two at once would only take twice the memory.
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="ancr-serve")
        self.statuses: Counter[int] = Counter()
        self._samples, self._seconds = 0, 0.0

    async def health(self, request: Request) -> Response:
        return Json({"status": "ok"})

    async def model(self, request: Request) -> Response:
        model, kinds = self.answers.model, self.answers.model.plan.kinds
        takes = {"columns": kinds} if model.features == "table" else {"width": model.samples.shape[1]}
        facts = {"method": model.method, "samples": len(model.samples), "features": model.features, **takes}
        return Json({**facts, "classes": self.answers.classes})

    async def metrics(self, request: Request) -> Response:
        lines = [f'ancr_requests_total{{status="{code}"}} {n}' for code, n in sorted(self.statuses.items())]
        lines += [f"ancr_samples_total {self._samples}", f"ancr_predict_seconds_total {self._seconds:.6f}"]
        return PlainTextResponse("\n".join([*lines, ""]))

    async def predict(self, request: Request) -> Response:
        """Answer in the order in which requests come."""
        kind, body = request.headers.get("content-type", "").partition(";")[0].strip(), await request.body()
        if kind == "application/json":
            work: Callable[[], Any] = lambda: self._of_rows(body)  # noqa: E731
        elif kind.startswith("image/"):
            work = lambda: self._of_image(body)  # noqa: E731
        else:
            raise HTTPException(415, "expected the content type application/json, or image/… for one image")
        return Json({"predictions": await asyncio.get_running_loop().run_in_executor(self._worker, work)})

    def _of_rows(self, body: bytes) -> list[dict[str, Any]]:
        asked = _parsed(body)
        rows, top, chances = asked.get("rows"), asked.get("top", _TOP), asked.get("probabilities", True)
        if not isinstance(rows, list) or not rows:
            raise Refusal(422, "rows is missing or is not a list of rows")
        if len(rows) > self._most_rows:
            raise Refusal(413, f"{len(rows)} rows, but at most {self._most_rows} can be sent at once")
        if not isinstance(top, int) or isinstance(top, bool) or not 0 <= top <= _MOST_TOP:
            raise Refusal(422, f"top must be a whole number from 0 to {_MOST_TOP}")
        if not isinstance(chances, bool):
            raise Refusal(422, "probabilities must be true or false")
        try:
            return self._answered(self.answers.rows(rows), top, chances)
        except ValueError as error:
            raise Refusal(422, one_line(error)) from error

    def _of_image(self, body: bytes) -> list[dict[str, Any]]:
        features = self.answers.model.features
        if not of_images(features):
            raise Refusal(422, "an image was sent, but the model was not trained on images")
        try:
            vectors, _ = image_vectors([body], features)
        except UnreadableImageError as error:
            raise Refusal(422, f"the body cannot be read as an image: {error.reason}") from error
        return self._answered(vectors, _TOP, True)

    def _answered(self, vectors: np.ndarray, top: int, chances: bool) -> list[dict[str, Any]]:
        start = time.perf_counter()
        found = [self._plain(answer, top, chances) for answer in self.answers.of(vectors, max(top, 1))]
        self._seconds += time.perf_counter() - start
        self._samples += len(found)
        return found

    def _by_class(self, answer: Answer) -> dict[str, float] | None:
        if answer.probability is None:
            return None
        return dict(zip(self.answers.classes, map(float, answer.probabilities), strict=True))

    def _plain(self, answer: Answer, top: int, chances: bool) -> dict[str, Any]:
        """An answer as JSON has it."""
        why = zip(answer.why.indices[:top], answer.why.labels[:top], answer.why.weights[:top], strict=True)
        return {
            "label": answer.label,
            "probability": answer.probability,
            "margin": answer.margin if math.isfinite(answer.margin) else None,
            **({"probabilities": self._by_class(answer)} if chances else {}),
            "because": [
                {"sample": self.answers.called(index), "label": str(label), "weight": float(weight)}
                for index, label, weight in why
            ],
        }


def _parsed(body: bytes) -> dict[str, Any]:
    """The JSON object of a request; NaN and Infinity, which Python would take, are no JSON."""
    try:
        asked = json.loads(body, parse_constant=_refuse_constant, parse_int=_whole_number)
    except (ValueError, RecursionError) as error:
        reason = one_line(error) if isinstance(error, ValueError) else "nested too deeply"
        raise Refusal(400, f"the body is not JSON: {reason}") from None
    if not isinstance(asked, dict):
        raise Refusal(422, 'expected an object such as {"rows": [[1.0, 2.0]]}')
    if unknown := sorted(asked.keys() - _ASKED):
        raise Refusal(422, f"{shown(unknown[0])} is unknown; a request has {', '.join(sorted(_ASKED))}")
    return asked


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is not a JSON value; null stands for a missing value")


def _whole_number(text: str) -> float:
    return int(text) if len(text) <= _LONGEST_NUMBER else float(text)
