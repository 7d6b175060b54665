"""ServeConfig, and what every request gets: limits, an id, headers, a log line and metrics.

A refusal is a problem document (RFC 9457) with a type that programs can read.
"""

from __future__ import annotations

import json
import logging
import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from elasticrec.errors import InputError
from elasticrec.serve.monitoring import Metrics
from elasticrec.settings import Range, check

log = logging.getLogger(__name__)

REQUEST_ID = "elasticrec.request_id"
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_PUBLIC = re.compile(r"/models(/.*)?(?<!/vector)")
"""Paths that pages of other sites may read: everything of the models but users' vectors."""
QUIET = ("/healthz", "/readyz", "/metrics")
"""Asked all the time: logged for debugging only, and answered by a busy service too."""
CORS = {
    "access-control-allow-origin": "*",
    "access-control-expose-headers": "ETag, Content-Range, Accept-Ranges, X-Request-Id",
}
PREFLIGHT = {
    "access-control-allow-methods": "GET, HEAD",
    "access-control-allow-headers": "Accept, If-Match, If-None-Match, If-Range, Range",
    "access-control-max-age": "86400",
}


@dataclass(frozen=True)
class ServeConfig:
    """The models to serve, and the limits within which they are served."""

    models: tuple[Path | str, ...]
    """Model folders, or folders of model folders, or addresses of such; a model is called as its
    folder is."""
    keys: Path | None = None
    """The file with the keys of tokens; by default the environment holds them."""
    poll_seconds: Annotated[float, Range(0.01, 1e6)] = 5
    """Seconds between looks at the model folders for new versions."""
    connections: Annotated[int, Range(8, 10**6)] = 4_000
    """Open connections; beyond them the one that has waited longest for a request is closed."""
    requests: Annotated[int, Range(1, 10**6)] = 2_000
    """Requests that are answered at the same time, downloads included."""
    url_bytes: Annotated[int, Range(128, 10**6)] = 2_048
    """The longest path and query."""
    header_bytes: Annotated[int, Range(512, 10**7)] = 16_384
    """The longest request line and headers."""
    header_seconds: Annotated[float, Range(0.1, 1e6)] = 10
    """Seconds that a client has to send the headers of a request."""
    idle_seconds: Annotated[float, Range(0.1, 1e6)] = 30
    """Seconds after which a connection without requests is closed."""
    stall_seconds: Annotated[float, Range(0.01, 1e6)] = 60
    """Seconds that a client may take nothing of its download; less where many others wait."""
    shutdown_seconds: Annotated[int, Range(0, 10**6)] = 120
    """Seconds that downloads may go on after the service was told to end."""

    def __post_init__(self) -> None:
        check(self)
        if not self.models:
            raise InputError("no model folder was given, expected at least one")


PREFIX = "urn:elasticrec:problem:"

KINDS: dict[str, tuple[int, str]] = {
    "malformed": (400, "The request is malformed"),
    "unauthorized": (401, "A valid token is needed"),
    "forbidden": (403, "The token is for another model"),
    "not-found": (404, "There is nothing here"),
    "unknown-model": (404, "There is no such model"),
    "no-file": (404, "The model has no such file"),
    "no-vector": (404, "There is no such vector"),
    "budget-too-small": (404, "No stream is that small"),
    "method-not-allowed": (405, "This can only be read"),
    "precondition-failed": (412, "The file is not the expected one"),
    "body-too-large": (413, "Requests have no body"),
    "url-too-long": (414, "The URL is too long"),
    "range-not-satisfiable": (416, "The file has no such range"),
    "headers-too-large": (431, "The headers are too long"),
    "internal": (500, "The service made a mistake"),
    "busy": (503, "The service is busy"),
    "not-ready": (503, "The model is not ready"),
}
"""All kinds of problems: status and title. The kind is the end of the document's `type`."""


class Problem(Exception):  # noqa: N818 - the standard's own word
    """A refusal."""

    def __init__(
        self, kind: str, detail: str, *, headers: Mapping[str, str] | None = None, **members: Any
    ) -> None:
        """A refusal of a kind; `members` are further facts that programs may read."""
        super().__init__(detail)
        self.kind, self.detail, self.members = kind, detail, members
        self.status, self.title = KINDS[kind]
        self.headers = dict(headers or {})

    @classmethod
    def of_status(cls, status: int, detail: str) -> Problem:
        """The problem behind a bare status of the framework."""
        fallback = "malformed" if status < HTTPStatus.INTERNAL_SERVER_ERROR else "internal"
        kind = {404: "not-found", 405: "method-not-allowed"}.get(status, fallback)
        return cls(kind, detail, headers={"allow": "GET, HEAD"} if status == 405 else None)

    def response(self, request_id: str) -> Response:
        """The document as a response."""
        content = {
            "type": PREFIX + self.kind, "title": self.title, "status": self.status,
            "detail": self.detail, "request_id": request_id, **self.members,
        }  # fmt: skip
        headers = {"cache-control": "no-store", **self.headers}
        body = json.dumps(content, ensure_ascii=False)
        return Response(body, self.status, headers, "application/problem+json")


class RequestMiddleware:
    """The outermost part of the app."""

    def __init__(self, app: ASGIApp, config: ServeConfig, metrics: Metrics) -> None:
        self._app, self._config, self._metrics = app, config, metrics
        self._in_flight = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")
        scope[REQUEST_ID] = given if _ID.fullmatch(given) else secrets.token_hex(8)
        sent = Sent(send, scope)
        self._in_flight += 1
        self._metrics.in_flight.set(self._in_flight)
        try:
            await self._answer(scope, headers, receive, sent)
        finally:
            self._in_flight -= 1
            self._metrics.in_flight.set(self._in_flight)
            self._note(scope, sent, time.perf_counter() - started)

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
            log.exception("mistake", extra={"request_id": scope[REQUEST_ID]})
            if sent.status:
                raise
            mistake = Problem("internal", "the log of the service says more")
            await mistake.response(scope[REQUEST_ID])(scope, receive, sent)

    def _check(self, scope: Scope, headers: Headers) -> None:
        """Refuse requests beyond the limits."""
        limits = self._config
        url_bytes = len(scope.get("raw_path", b"")) + len(scope["query_string"])
        if url_bytes > limits.url_bytes:
            raise Problem("url-too-long", f"{url_bytes} bytes, expected {limits.url_bytes} at most")
        header_bytes = url_bytes + sum(len(k) + len(v) + 4 for k, v in scope["headers"])
        if header_bytes > limits.header_bytes:
            detail = f"{header_bytes} bytes, expected {limits.header_bytes} at most"
            raise Problem("headers-too-large", detail, headers={"connection": "close"})
        if headers.get("content-length", "0") != "0" or "transfer-encoding" in headers:
            detail = "the request has a body, expected none"
            raise Problem("body-too-large", detail, headers={"connection": "close"})
        if self._in_flight > limits.requests and scope["path"] not in QUIET:
            detail = f"{self._in_flight} requests are being answered"
            raise Problem("busy", detail, headers={"retry-after": "1"})

    def _note(self, scope: Scope, sent: Sent, seconds: float) -> None:
        """Count the request, and log it in one line."""
        route = getattr(scope.get("endpoint"), "__name__", "other")
        method = scope["method"] if scope["method"] in ("GET", "HEAD", "OPTIONS") else "other"
        self._metrics.requests.add(1, route, method, str(sent.status))
        self._metrics.seconds.observe(seconds, route)
        self._metrics.sent.add(sent.n_bytes, route)
        level = logging.DEBUG if scope["path"] in QUIET else logging.INFO
        if log.isEnabledFor(level):
            about = {
                "request_id": scope[REQUEST_ID], "method": method, "route": route,
                "status": sent.status, "bytes": sent.n_bytes, "ms": round(seconds * 1e3, 2),
            }  # fmt: skip
            log.log(level, "request", extra=about)


class Sent:
    """A response on its way out: adds headers, drops the body of a HEAD, and counts."""

    def __init__(self, send: Send, scope: Scope) -> None:
        self._send, self._is_head = send, scope["method"] == "HEAD"
        added = {"x-request-id": scope[REQUEST_ID], "x-content-type-options": "nosniff"}
        added |= CORS if _PUBLIC.fullmatch(scope["path"]) else {}
        self._added = [(name.encode(), value.encode()) for name, value in added.items()]
        self.status, self.n_bytes = 0, 0

    async def __call__(self, message: Message) -> None:
        """Pass one message on."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message = {**message, "headers": [*message["headers"], *self._added]}
        elif message["type"] == "http.response.body":
            if self._is_head:
                message = {**message, "body": b""}
            self.n_bytes += len(message.get("body", b""))
        await self._send(message)


def _is_preflight(scope: Scope, headers: Headers) -> bool:
    """True if a browser asks for the permission of a page of another site."""
    asked = scope["method"] == "OPTIONS" and "access-control-request-method" in headers
    return asked and bool(_PUBLIC.fullmatch(scope["path"]))
