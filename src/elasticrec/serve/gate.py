"""Gate: what every request passes: limits, a request id, headers for browsers, log and metrics."""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Mapping
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from elasticrec.serve.config import ServeConfig
from elasticrec.serve.files import HEAD_ONLY
from elasticrec.serve.metrics import Metrics
from elasticrec.serve.problems import Problem

log = logging.getLogger(__name__)

REQUEST_ID = "elasticrec.request_id"
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_PRIVATE = re.compile(r"/v1/models/[^/]*/users(/|$)")
QUIET = ("/healthz", "/readyz", "/metrics")
"""Asked all the time: their lines are for debugging, and a busy service answers them too."""
CORS = {
    "access-control-allow-origin": "*",
    "access-control-expose-headers": "ETag, Content-Range, Accept-Ranges, X-Request-Id",
}
PREFLIGHT = CORS | {
    "access-control-allow-methods": "GET, HEAD",
    "access-control-allow-headers": "Accept, If-Match, If-None-Match, If-Range, Range",
    "access-control-max-age": "86400",
}


class Gate:
    """The outermost part of the app; everything behind it sees HEAD as GET."""

    def __init__(self, app: ASGIApp, config: ServeConfig, metrics: Metrics) -> None:
        self._app, self._config, self._metrics = app, config, metrics
        self._in_flight = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        if scope["path"] not in QUIET:
            self._metrics.asked = time.monotonic()
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")
        inner = dict(scope) | {REQUEST_ID: given if _ID.fullmatch(given) else secrets.token_hex(8)}
        if scope["method"] == "HEAD":
            inner |= {"method": "GET", HEAD_ONLY: True}
        sent = Sent(send, inner)
        self._in_flight += 1
        self._metrics.in_flight.set(self._in_flight)
        try:
            await self._answer(inner, headers, receive, sent)
        finally:
            self._in_flight -= 1
            self._metrics.in_flight.set(self._in_flight)
            self._note(scope["method"], inner, sent, time.perf_counter() - started)

    async def _answer(self, scope: Scope, headers: Headers, receive: Receive, sent: Sent) -> None:
        try:
            self._check(scope, headers)
            if _is_preflight(scope, headers):
                await Response(None, 204, PREFLIGHT)(scope, receive, sent)
            else:
                await self._app(scope, receive, sent)
        except Problem as problem:
            await problem.response(scope[REQUEST_ID])(scope, receive, sent)
        except Exception:
            if sent.status:
                log.warning("cut off", extra={"request_id": scope[REQUEST_ID]}, exc_info=True)
                raise
            log.exception("mistake", extra={"request_id": scope[REQUEST_ID]})
            mistake = Problem("internal", "the log of the service says more")
            await mistake.response(scope[REQUEST_ID])(scope, receive, sent)

    def _check(self, scope: Scope, headers: Headers) -> None:
        """Refuse what is too much."""
        url_bytes = len(scope.get("raw_path", b"")) + len(scope["query_string"])
        if url_bytes > self._config.url_bytes:
            raise Problem(
                "url-too-long", f"{url_bytes} bytes, the most is {self._config.url_bytes}"
            )
        length = headers.get("content-length", "0")
        body_bytes = int(length) if length.isdecimal() and len(length) < 16 else None
        too_long = body_bytes is None or body_bytes > self._config.body_bytes
        if too_long or "transfer-encoding" in headers:
            detail = f"a request has a body of {self._config.body_bytes} bytes at most"
            raise Problem("body-too-large", detail, headers={"connection": "close"})
        if self._in_flight > self._config.requests and scope["path"] not in QUIET:
            again = {"retry-after": str(self._config.retry_seconds)}
            raise Problem("busy", f"{self._in_flight} requests are being answered", headers=again)

    def _note(self, method: str, scope: Scope, sent: Sent, seconds: float) -> None:
        """One line of the log, and the numbers."""
        route = getattr(scope.get("route"), "path", "other")
        method = method if method in ("GET", "HEAD", "OPTIONS") else "other"
        self._metrics.requests.add(1, route, method, str(sent.status))
        self._metrics.seconds.observe(seconds, route)
        self._metrics.sent.add(sent.n_bytes, route)
        level = logging.DEBUG if route in QUIET else logging.INFO
        if log.isEnabledFor(level):
            about: Mapping[str, Any] = {
                "request_id": scope[REQUEST_ID],
                "method": method,
                "route": route,
                "status": sent.status,
                "bytes": sent.n_bytes,
                "ms": round(seconds * 1e3, 2),
            }
            log.log(level, "request", extra=about)


class Sent:
    """A response on its way out: adds headers, drops the body of a HEAD, and counts."""

    def __init__(self, send: Send, scope: Scope) -> None:
        self._send, self._head = send, HEAD_ONLY in scope
        self._added = {"x-request-id": scope[REQUEST_ID], "x-content-type-options": "nosniff"}
        if _is_public(scope):
            self._added |= CORS
        self.status, self.n_bytes = 0, 0

    async def __call__(self, message: Message) -> None:
        """Pass one message on."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            present = {name for name, _ in message["headers"]}
            more = [(k.encode(), v.encode()) for k, v in self._added.items()]
            listed = [*message["headers"], *(pair for pair in more if pair[0] not in present)]
            message = {**message, "headers": listed}
        elif message["type"] == "http.response.body":
            if self._head:
                message = {**message, "body": b""}
            self.n_bytes += len(message.get("body", b""))
        await self._send(message)


def _is_preflight(scope: Scope, headers: Headers) -> bool:
    """Whether a browser asks if it may ask."""
    asked = scope["method"] == "OPTIONS" and "access-control-request-method" in headers
    return asked and _is_public(scope)


def _is_public(scope: Scope) -> bool:
    """Whether pages of other sites may read what is asked for."""
    root, path = scope.get("root_path", ""), scope["path"]
    path = path.removeprefix(root) if path.startswith(f"{root}/") else path
    return path.startswith("/v1/") and not _PRIVATE.match(path)
