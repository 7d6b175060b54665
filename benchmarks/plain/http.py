"""A small HTTP/1.1 client for the benchmarks: kept-open connections, bodies counted or kept."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass

BUFFER_BYTES = 1 << 20


@dataclass(frozen=True)
class Answer:
    """One response."""

    status: int
    headers: dict[str, str]
    """By names in lower case."""
    body: bytes
    """Empty where it was only counted."""
    n_bytes: int
    """Length of the body."""


class Connection:
    """One connection, which asks one thing after the other."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket: socket.socket | None = None
        self._buffer = bytearray(BUFFER_BYTES)

    async def open(self) -> Connection:
        """The same, connected."""
        loop = asyncio.get_running_loop()
        self._socket = socket.socket()
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await loop.sock_connect(self._socket, ("127.0.0.1", self._port))
        return self

    def close(self) -> None:
        """Let go."""
        if self._socket is not None:
            self._socket.close()

    async def get(self, path: str, *headers: str, keep: bool = False) -> Answer:
        """The response to a GET.

        Args:
            headers: whole lines.
            keep: whether the body is kept.
        """
        assert self._socket is not None
        loop = asyncio.get_running_loop()
        lines = [f"GET {path} HTTP/1.1", "Host: localhost", *headers, "", ""]
        await loop.sock_sendall(self._socket, "\r\n".join(lines).encode())
        head = b""
        while b"\r\n\r\n" not in head:
            part = await loop.sock_recv(self._socket, 65536)
            if not part:
                raise ConnectionError("the server closed the connection")
            head += part
        head, _, body = head.partition(b"\r\n\r\n")
        first, *rest = head.decode("latin-1").split("\r\n")
        named = {line.partition(":")[0].lower(): line.partition(":")[2].strip() for line in rest}
        status = int(first.split()[1])
        length = 0 if status in (204, 304) else int(named.get("content-length", "0"))
        kept, count = [body] if keep else [], len(body)
        while count < length:
            n = await loop.sock_recv_into(self._socket, self._buffer)
            if not n:
                raise ConnectionError("the server closed the connection")
            count += n
            if keep:
                kept.append(bytes(self._buffer[:n]))
        return Answer(status, named, b"".join(kept), count)
