"""Slow, broken and too many connections, over real sockets."""

import contextlib
import json
import resource
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from elasticrec.errors import InputError
from elasticrec.serve import connections
from elasticrec.serve.middleware import ServeConfig
from tests.serve.server import free_port

STREAM = b"GET /models/large/stream.elastic HTTP/1.1\r\nHost: x\r\n\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.fixture
def serve(large):
    """Starts a server with small limits; gives its port."""
    running = []

    def begin(**limits):
        port = free_port()
        server = connections.Server(ServeConfig((large,), **limits), host="127.0.0.1", port=port)
        thread = threading.Thread(target=server.run)
        thread.start()
        running.append((server, thread))
        while not server.started:
            time.sleep(0.01)
        return port

    begin.running = running
    yield begin
    for server, thread in running:
        server.should_exit = True
        thread.join()


@pytest.fixture
def connect():
    """Opens connections on which some bytes are sent, and closes them."""
    opened = []

    def begin(port, content=b"", receive_bytes=None):
        client = socket.socket()
        opened.append(client)
        client.settimeout(20)
        if receive_bytes:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        client.connect(("127.0.0.1", port))
        with contextlib.suppress(ConnectionError):
            client.sendall(content)
        return client

    yield begin
    for client in opened:
        client.close()


def status(client):
    """The status that a connection answers with; None where it is closed."""
    try:
        line = client.recv(100)
    except ConnectionError:
        return None
    return int(line.split()[1]) if line else None


def closes_within(client, seconds):
    client.settimeout(seconds)
    try:
        while client.recv(1 << 20):
            pass
    except ConnectionError:
        pass
    return True


def test_who_sends_no_request_or_half_of_one_is_closed(serve, connect):
    port = serve(header_seconds=0.3, idle_seconds=0.3)
    silent, half = connect(port), connect(port, HEALTH[:20])
    assert closes_within(silent, 5)
    assert closes_within(half, 5)


def test_dripping_headers_win_no_time(serve, connect):
    port = serve(header_seconds=0.5, idle_seconds=0.5)
    client, started = connect(port), time.monotonic()
    with contextlib.suppress(ConnectionError):
        for byte in HEALTH * 100:
            client.sendall(bytes([byte]))
            time.sleep(0.02)
            if time.monotonic() - started > 10:
                pytest.fail("the connection stayed open")


def test_an_idle_connection_is_closed_after_its_answer(serve, connect):
    client = connect(serve(idle_seconds=0.3), HEALTH)
    assert status(client) == 200
    assert closes_within(client, 5)


def test_too_many_connections_do_not_stop_others(serve, connect):
    port = serve(connections=20)
    silent = [connect(port) for _ in range(100)]
    assert status(connect(port, HEALTH)) == 200
    closed = 0
    for client in silent:
        client.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            closed += status(client) is None
    assert closed >= 80


def test_downloads_are_not_closed_for_new_connections(serve, connect, large):
    port = serve(connections=8, stall_seconds=30)
    busy = [connect(port, STREAM, 4096) for _ in range(8)]
    assert [status(client) for client in busy] == [200] * 8
    assert status(connect(port, HEALTH)) is None  # all of them are at work
    content = busy[0].recv(1 << 16)
    assert content
    busy[0].close()
    for _ in range(100):
        if status(connect(port, HEALTH)) == 200:
            return
        time.sleep(0.02)
    pytest.fail("a place that became free was not taken")


def test_who_takes_nothing_of_a_download_is_cut_off(serve, connect):
    client = connect(serve(stall_seconds=0.5), STREAM, 4096)
    assert status(client) == 200
    time.sleep(3)
    received = 0
    with contextlib.suppress(ConnectionError):
        while part := client.recv(1 << 20):
            received += len(part)
    assert received < 12_000_000


def test_a_slow_client_gets_everything(serve, connect, large):
    client = connect(serve(stall_seconds=1, idle_seconds=0.2), STREAM, 1 << 16)
    whole, received = (large / "stream.elastic").stat().st_size, -200
    while received < whole:
        received += len(client.recv(1 << 18))
        time.sleep(0.01)


def test_what_the_system_holds_is_taken_too(serve, connect):
    client = connect(serve(stall_seconds=0.6), STREAM, 1 << 16)
    for _ in range(10):  # 150 KB per second: the system asks for no more in that time
        client.recv(1 << 15)
        time.sleep(0.2)
    assert serve.running[0][0].server_state.connections, "cut off"


def test_stalled_downloads_do_not_keep_all_places(serve, connect):
    port = serve(requests=10, stall_seconds=600)
    stalled = [connect(port, STREAM, 4096) for _ in range(10)]
    assert [status(client) for client in stalled] == [200] * 10
    assert status(connect(port, STREAM, 4096)) == 503
    end = time.monotonic() + 8
    while status(connect(port, STREAM, 4096)) != 200:
        assert time.monotonic() < end, "no place became free"
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 40_000 + b"\r\n\r\n", (400, 431)),
        (b"GET /" + b"y" * 40_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", (400, 414)),
        (b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 16_380 + b"\r\n\r\n", (400, 431)),
        (b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 5_000 + b"\r\n", (400, 431)),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n0123456789", (413,)),
        (b"\x16\x03\x01 not http at all\r\n\r\n", (400,)),
    ],
)
def test_bounded_requests(serve, connect, request_, expected):
    client = connect(serve(idle_seconds=0.3), request_)
    assert status(client) in expected
    assert closes_within(client, 5)


def test_headers_without_an_end_are_not_collected(serve, connect):
    client, sent = connect(serve()), 0
    with contextlib.suppress(ConnectionError):
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")
        while sent < 50_000_000:
            client.sendall(b"X: " + b"y" * 9_990 + b"\r\n")
            sent += 10_000
    assert sent < 10_000_000


def test_pipelined_requests_are_all_answered(serve, connect):
    client = connect(serve(idle_seconds=0.2), HEALTH * 50)
    content = b""
    while part := client.recv(1 << 16):
        content += part
    assert content.count(b"HTTP/1.1 200") == 50


def test_the_limit_of_open_files_is_raised():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(1024, hard), hard))
        found = connections.open_files()
        assert found == min(hard, 65_536) == resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


ACCEPT = """
import os, resource, socket, sys, threading, time
from pathlib import Path
from elasticrec.serve.middleware import ServeConfig
from elasticrec.serve.connections import Server
from elasticrec.serve.monitoring import to_json_lines

to_json_lines()
server = Server(ServeConfig((Path(sys.argv[1]),)), host="127.0.0.1", port=int(sys.argv[2]))
threading.Thread(target=server.run).start()
while not server.started:
    time.sleep(0.01)
clients, limits = [socket.socket() for _ in range(30)], resource.getrlimit(resource.RLIMIT_NOFILE)
used = len(os.listdir("/proc/self/fd"))
resource.setrlimit(resource.RLIMIT_NOFILE, (used + 2, limits[1]))
for client in clients:
    client.connect(("127.0.0.1", int(sys.argv[2])))
time.sleep(1.2)  # asyncio tries again each second
resource.setrlimit(resource.RLIMIT_NOFILE, limits)
os._exit(0)
"""


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_failed_accepts_are_logged_once_per_interval(large):
    command = [sys.executable, "-c", ACCEPT, str(large), str(free_port())]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    failed = [line for line in lines if "out of system resource" in line["event"]]
    assert len(failed) == 1
    assert ran.stderr == ""


def test_too_few_open_files_are_refused(large, monkeypatch):
    monkeypatch.setattr(connections, "open_files", lambda: 256)
    with pytest.raises(InputError, match="256 open files"):
        connections.Server(ServeConfig((large,)), host="127.0.0.1", port=1)
