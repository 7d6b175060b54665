"""Files over HTTP: strong ETags, conditions and ranges (RFC 9110), sent without blocking others."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import os
import re
import weakref
from collections.abc import Iterable, Mapping
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from elasticrec.serve.middleware import Problem

CHUNK_BYTES = 128 * 1024
GZIP_LEVEL = 6
_RANGE = re.compile(r"bytes=[ \t]*([0-9]{0,18})-([0-9]{0,18})[ \t]*", re.IGNORECASE)
_TAG = re.compile(r'(W/)?"([\x21\x23-\x7e\x80-\xff]*)"')
Bytes = bytes | bytearray | memoryview


class OpenFile:
    """A file that stays open, so that another one in its place changes no download."""

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        """Of the whole content, such as its hash; with a length it is the ETag."""
        self._handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self._handle)
        self.n_bytes = os.fstat(self._handle).st_size

    def read_now(self, at: int, length: int) -> Bytes | None:
        """Bytes that the system has in memory; None where they would have to be read."""
        if not hasattr(os, "RWF_NOWAIT"):
            return None
        buffer = bytearray(length)
        try:
            count = os.preadv(self._handle, [buffer], at, os.RWF_NOWAIT)
        except OSError:  # if it is not for the wait, `read` meets it too
            return None
        return buffer if count == length else buffer[:count] or None

    def read(self, at: int, length: int) -> Bytes:
        """Bytes of the file; waits for the disk."""
        return os.pread(self._handle, length, at)


class InMemory:
    """A file whose bytes are held."""

    def __init__(self, content: bytes, name: str) -> None:
        self.name = name
        self._content = memoryview(content)
        self.n_bytes = len(content)

    def read(self, at: int, length: int) -> Bytes:
        """Bytes of the file."""
        return self._content[at : at + length]

    read_now = read


def held(contents: Mapping[str, bytes], packed: Iterable[str]) -> dict[str, InMemory]:
    """Contents as files by name, and some of them after gzip as NAME.gz."""
    files = {name: InMemory(b, hashlib.sha256(b).hexdigest()) for name, b in contents.items()}
    for name in packed:
        content = gzip.compress(contents[name], GZIP_LEVEL, mtime=0)
        files[f"{name}.gz"] = InMemory(content, f"{files[name].name}-gzip")
    return files


def held_response(
    request: Request, files: Mapping[str, InMemory], name: str, headers: Mapping[str, str]
) -> Response:
    """The answer to a request for a file, packed where it can be and the client unpacks it."""
    headers = {**headers, "vary": "Accept-Encoding"}
    if f"{name}.gz" in files and "gzip" in request.headers.get("accept-encoding", ""):
        name, headers["content-encoding"] = f"{name}.gz", "gzip"
    return file_response(request, files[name], headers)


def file_response(
    request: Request,
    file: OpenFile | InMemory,
    headers: Mapping[str, str],
    *,
    n_bytes: int | None = None,
) -> Response:
    """The answer to a request for the first bytes of a file, by default all: 200, 206, 304, 4xx."""
    name, length = file.name, file.n_bytes if n_bytes is None else n_bytes
    tag = f"{name}-{length}"
    if _is_known(request.headers, tag):
        kept = {k: headers[k] for k in ("cache-control", "vary") if k in headers}
        return Response(None, 304, {"etag": f'"{tag}"'} | kept)
    span = _wanted_range(request.headers, name, length) if request.method == "GET" else None
    start, stop = span or (0, length)
    headers = {**headers, "etag": f'"{tag}"', "accept-ranges": "bytes"}
    headers["content-length"] = str(stop - start)
    if span:
        headers["content-range"] = f"bytes {start}-{stop - 1}/{length}"
    return FileBody(file, start, stop, 206 if span else 200, headers)


def _is_known(headers: Headers, tag: str) -> bool:
    """True if the client has the file already; a failed If-Match is refused."""
    expected = headers.get("if-match")
    if expected is not None and not _matches(expected, tag, weak=False):
        raise Problem("precondition-failed", f'the ETag of the file is "{tag}"')
    known = headers.get("if-none-match")
    return known is not None and _matches(known, tag, weak=True)


def _matches(field: str, tag: str, *, weak: bool) -> bool:
    """True if a list of entity tags names this one."""
    if field.strip() == "*":
        return True
    return any(match[2] == tag and (weak or not match[1]) for match in _TAG.finditer(field))


def _wanted_range(headers: Headers, name: str, length: int) -> tuple[int, int] | None:
    """Start and stop of the one range asked for; None where the whole file is to be sent.

    A malformed range, and several at once, get the whole file, as the standard allows. If-Range
    may name any prefix of the same file: their bytes are equal, so a longer one continues a
    shorter one.
    """
    text, condition = headers.get("range"), headers.get("if-range")
    if text is None:
        return None
    if condition is not None:
        known = _TAG.fullmatch(condition.strip())
        if known is None or known[1] or known[2].rpartition("-")[0] != name:
            return None
    match = _RANGE.fullmatch(text.strip())
    if match is None or match[1] == match[2] == "":
        return None
    if match[1]:
        start, stop = int(match[1]), min(int(match[2] or length - 1) + 1, length)
        if match[2] and int(match[2]) < start:
            return None
    else:
        start, stop = max(0, length - int(match[2])), length
    if start >= stop:
        unsatisfied = {"content-range": f"bytes */{length}"}
        raise Problem("range-not-satisfiable", f"the file has {length} bytes", headers=unsatisfied)
    return start, stop


class FileBody(Response):
    """A part of a file as the body of a response."""

    def __init__(
        self, file: OpenFile | InMemory, start: int, stop: int, status: int, headers: dict[str, str]
    ) -> None:
        super().__init__(None, status, headers)
        self._file, self._start, self._stop = file, start, stop

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send headers and body."""
        start = {"type": "http.response.start", "status": self.status_code}
        await send({**start, "headers": self.raw_headers})
        if scope["method"] == "HEAD" or self._start == self._stop:
            await send({"type": "http.response.body", "body": b""})
        elif self._stop - self._start <= CHUNK_BYTES:
            await self._send_chunk(send, self._start)
        else:
            await self._send_chunks(receive, send)

    async def _send_chunks(self, receive: Receive, send: Send) -> None:
        """Send all chunks, or those before the client left."""
        await receive()  # the empty body of the request
        gone = asyncio.ensure_future(receive())
        try:
            at = self._start
            while at < self._stop and not gone.done():
                at = await self._send_chunk(send, at)
                await asyncio.sleep(0)  # a quick client must not keep the others waiting
        finally:
            gone.cancel()

    async def _send_chunk(self, send: Send, at: int) -> int:
        """Send the bytes from here on; the place after them."""
        length = min(CHUNK_BYTES, self._stop - at)
        chunk = self._file.read_now(at, length)
        if chunk is None:  # not in memory: a thread waits for the disk
            chunk = await run_in_threadpool(self._file.read, at, length)
        if not chunk:
            raise OSError(f"a file ends at byte {at}, expected {self._stop}")
        at += len(chunk)
        await send({"type": "http.response.body", "body": chunk, "more_body": at < self._stop})
        return at
