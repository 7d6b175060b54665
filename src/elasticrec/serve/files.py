"""Files over HTTP: strong ETag, conditions, ranges (RFC 9110), streamed without blocking others."""

from __future__ import annotations

import asyncio
import errno
import os
import re
from collections.abc import Mapping

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from elasticrec.serve.kept import Kept
from elasticrec.serve.problems import Problem
from elasticrec.serve.store import Store

FOREVER = "public, max-age=31536000, immutable"
"""How long caches may keep what is called by its hash."""
CHUNK_BYTES = 256 * 1024
HEAD_ONLY = "elasticrec.head"
"""The scope's flag for a HEAD request, which is routed as a GET."""
_RANGE = re.compile(r"bytes=[ \t]*([0-9]{0,18})-([0-9]{0,18})[ \t]*", re.IGNORECASE)
_TAG = re.compile(r'(W/)?("[\x21\x23-\x7e\x80-\xff]*")')
_NOT_NOW = (errno.EAGAIN, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)


async def file_response(
    request: Request, store: Store, name: str, media_type: str, *, stall_seconds: float
) -> Response:
    """The answer to a request for a file of the shelf: 200, 206, 304, or a refusal.

    Args:
        stall_seconds: how long a client may take nothing before it is cut off.
    """
    opening = (
        store.open(name) if store.is_checked(name) else await run_in_threadpool(store.open, name)
    )
    if opening is None:
        raise Problem("unknown-file", f"{name.partition('.')[0]} is not on the shelf")
    handle, kept = opening
    try:
        headers = _headers(kept, media_type)
        if not_modified(request.headers, headers["etag"]):
            os.close(handle)
            return Response(None, 304, {k: headers[k] for k in ("etag", "cache-control")})
        span = None if HEAD_ONLY in request.scope else wanted_range(request.headers, kept)
    except Problem:
        os.close(handle)
        raise
    start, stop = span or (0, kept.n_bytes)
    headers["content-length"] = str(stop - start)
    if span is not None:
        headers["content-range"] = f"bytes {start}-{stop - 1}/{kept.n_bytes}"
    return FileBody(handle, start, stop, 206 if span else 200, headers, stall_seconds)


def not_modified(headers: Headers, etag: str) -> bool:
    """Whether the client has the file already; a failed If-Match is refused."""
    expected = headers.get("if-match")
    if expected is not None and not _matches(expected, etag, weak=False):
        raise Problem("precondition-failed", f"the file's ETag is {etag}")
    known = headers.get("if-none-match")
    return known is not None and _matches(known, etag, weak=True)


def wanted_range(headers: Headers, kept: Kept) -> tuple[int, int] | None:
    """Start and stop of the one range asked for; None where the whole file is to be sent.

    What is malformed, and several ranges at once, get the whole file, as the standard allows.
    """
    text, condition = headers.get("range"), headers.get("if-range")
    if text is None or (condition is not None and condition.strip() != f'"{kept.sha256}"'):
        return None
    match = _RANGE.fullmatch(text.strip())
    if match is None or match[1] == match[2] == "":
        return None
    if match[1]:
        start = int(match[1])
        stop = min(int(match[2]) + 1, kept.n_bytes) if match[2] else kept.n_bytes
        if match[2] and int(match[2]) < start:
            return None
    else:
        start, stop = max(0, kept.n_bytes - int(match[2])), kept.n_bytes
    if start >= stop:
        raise Problem(
            "range-not-satisfiable",
            f"the file has {kept.n_bytes} bytes",
            headers={"content-range": f"bytes */{kept.n_bytes}"},
        )
    return start, stop


class FileBody(Response):
    """A part of an open file as the body of a response; closes the file."""

    def __init__(
        self,
        handle: int,
        start: int,
        stop: int,
        status_code: int,
        headers: Mapping[str, str],
        stall_seconds: float,
    ) -> None:
        self.status_code, self.background = status_code, None
        self.body = b""
        self._handle, self._start, self._stop = handle, start, stop
        self._stall_seconds = stall_seconds
        self.raw_headers = [(k.encode("latin-1"), v.encode("latin-1")) for k, v in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Send headers and body."""
        try:
            start = {"type": "http.response.start", "status": self.status_code}
            await send({**start, "headers": self.raw_headers})
            if HEAD_ONLY in scope:
                await send({"type": "http.response.body", "body": b""})
            else:
                await self._stream(send)
        finally:
            os.close(self._handle)

    async def _stream(self, send: Send) -> None:
        at = self._start
        while at < self._stop:
            chunk = read_now(self._handle, at, min(CHUNK_BYTES, self._stop - at))
            if chunk is None:  # not in memory: let a thread wait for the disk
                length = min(CHUNK_BYTES, self._stop - at)
                chunk = await run_in_threadpool(os.pread, self._handle, length, at)
            if not chunk:
                raise OSError(f"a file on the shelf ends at byte {at}, expected {self._stop}")
            at += len(chunk)
            async with asyncio.timeout(self._stall_seconds):
                body = {"type": "http.response.body", "body": chunk}
                await send({**body, "more_body": at < self._stop})
            await asyncio.sleep(0)  # a quick client must not keep the others waiting


def read_now(handle: int, at: int, length: int) -> bytes | bytearray | None:
    """Bytes of a file that the system has in memory; None where they would have to be read."""
    if not hasattr(os, "RWF_NOWAIT"):
        return None
    buffer = bytearray(length)
    try:
        count = os.preadv(handle, [buffer], at, os.RWF_NOWAIT)
    except OSError as error:
        if error.errno not in _NOT_NOW:
            raise
        return None
    return buffer if count == length else buffer[:count] or None


def _headers(kept: Kept, media_type: str) -> dict[str, str]:
    return {
        "content-type": media_type,
        "etag": f'"{kept.sha256}"',
        "cache-control": FOREVER,
        "accept-ranges": "bytes",
    }


def _matches(field: str, etag: str, *, weak: bool) -> bool:
    """Whether a list of entity tags names this one."""
    if field.strip() == "*":
        return True
    return any(match[2] == etag and (weak or not match[1]) for match in _TAG.finditer(field))
