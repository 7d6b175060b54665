"""Runs the app under uvicorn, with limits on the number and the slowness of connections."""

from __future__ import annotations

import asyncio
import fcntl
import math
import resource
import socket
import struct
import sys
import termios
from contextlib import suppress

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from elasticrec.errors import InputError
from elasticrec.serve.app import create_app
from elasticrec.serve.middleware import ServeConfig
from elasticrec.serve.models import check_models
from elasticrec.serve.monitoring import to_json_lines
from elasticrec.serve.tokens import Keys

BACKLOG = 512
"""Connections that the system accepts before the loop looks at them."""
SPARE_FILES = BACKLOG + 128
"""File descriptors beyond those of connections: new ones, models, logs, the loop's own."""
SWEEP_TICKS = 5
"""Tenths of a second between two looks at all connections."""
LEAST_PATIENCE = 1.0
"""Seconds that a client may take nothing of its download where all places are taken."""


def run_service(config: ServeConfig, *, host: str = "127.0.0.1", port: int = 8000) -> None:
    """Serve until told to end (SIGTERM, Ctrl-C); downloads under way are then finished."""
    check_models(config.models)
    Keys.load(config.keys)
    with listening(host, port) as place:
        with suppress(OSError):  # no place for the line is no reason not to serve
            print(f"elasticrec serves {url_of(place)} (Ctrl-C ends it)", file=sys.stderr)
        to_json_lines()
        Server(config, host=host, port=port).run(sockets=[place])


class Server(uvicorn.Server):
    """uvicorn with the limits of a ServeConfig."""

    def __init__(self, config: ServeConfig, *, host: str, port: int) -> None:
        self.limits = config
        files = open_files()
        connections = min(config.connections, files - SPARE_FILES)
        if connections < 1:
            raise InputError(f"{files} open files are allowed, expected more than {SPARE_FILES}")
        protocol = type("Limited", (Connection,), {"most": connections, "waiting": {}})
        settings = uvicorn.Config(
            create_app(config), host=host, port=port, http=protocol, ws="none",
            log_config=None, access_log=False, server_header=False,
            timeout_keep_alive=math.ceil(config.idle_seconds),
            timeout_graceful_shutdown=config.shutdown_seconds,
            h11_max_incomplete_event_size=config.header_bytes, backlog=BACKLOG,
        )  # fmt: skip
        super().__init__(settings)

    async def on_tick(self, counter: int) -> bool:
        """Close slow connections now and then; whether to end."""
        if counter % SWEEP_TICKS == 0:
            self.sweep(asyncio.get_running_loop().time())
        return await super().on_tick(counter)

    def sweep(self, now: float) -> None:
        """Close slow connections; the fewer places are free, the less patience is had."""
        limits = self.limits
        connections: list[Connection] = [*self.server_state.connections]  # type: ignore[list-item]
        busy = sum(each.look(now) for each in connections)
        patience = limits.stall_seconds * (1 - busy / limits.requests)
        patience = min(limits.stall_seconds, max(LEAST_PATIENCE, patience))
        for each in connections:
            if each.is_slow(now, limits, patience):
                each.end()


class Connection(H11Protocol):
    """One of a limited number of connections, which knows how long it has been doing nothing."""

    most: int
    """Connections that a server keeps open."""
    waiting: dict[Connection, None]
    """Those that wait for a request, the longest first."""
    _since = 0.0
    _unsent = 0
    _is_busy = False
    _is_new = True

    def look(self, now: float) -> bool:
        """True if a request is being answered; what the client took counts as something done."""
        unsent, held = self.transport.get_write_buffer_size(), unacknowledged(self.transport)
        waiting = self.cycle is not None and not self.cycle.response_complete
        if unsent + held != self._unsent or (waiting and not unsent):
            self._unsent, self._since = unsent + held, now
        self._is_busy = bool(unsent or waiting)
        return self._is_busy

    def is_slow(self, now: float, limits: ServeConfig, patience: float) -> bool:
        """True if the client takes too long to send a request, or to take its answer."""
        if self._is_busy:
            return now - self._since > patience
        return now - self._since > (limits.header_seconds if self._is_new else limits.idle_seconds)

    def end(self) -> None:
        """Close the connection; an answer that was sent whole can still be read by the client."""
        if self._is_busy or self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            self.transport.close()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, in place of the one that has waited longest if need be."""
        if len(self.connections) >= self.most:
            if not self.waiting:
                transport.abort()
                return
            oldest = next(iter(self.waiting))
            del self.waiting[oldest]
            oldest.end()
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self.waiting.pop(self, None)
        if self.transport is not None:
            super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes of a request."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self.waiting.pop(self, None)

    def on_response_complete(self) -> None:
        """Wait for the next request, unless it is there already."""
        self._is_new = False
        self._wait()
        super().on_response_complete()
        if not self.cycle.response_complete:
            self.waiting.pop(self, None)

    def _wait(self) -> None:
        self.waiting[self] = None
        self._since = self.loop.time()


def unacknowledged(transport: asyncio.Transport) -> int:
    """Bytes that the system holds for a client until it takes them; 0 where it does not say."""
    try:
        handle = transport.get_extra_info("socket").fileno()
        return int(struct.unpack("i", fcntl.ioctl(handle, termios.TIOCOUTQ, bytes(4)))[0])
    except (OSError, ValueError):  # ValueError: it was closed just now
        return 0


def open_files() -> int:
    """The number of files that the process may open, after its limit was raised."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = 65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        soft = most
    return most if soft == resource.RLIM_INFINITY else soft


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens, so that clients wait while models are loaded."""
    if not 0 <= port < 2**16:
        raise InputError(f"port {port}, expected 0 to {2**16 - 1}")
    place = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        place.bind((host, port))
        place.listen(BACKLOG)
    except OSError as error:
        place.close()
        raise InputError(f"cannot listen on {host}, port {port}: {error.strerror}") from None
    return place


def url_of(place: socket.socket) -> str:
    """The address at which a browser on this machine finds a socket."""
    host, port = place.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
