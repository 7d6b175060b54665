"""Kill a server at random moments while it searches, packs and sends; then look at what is left."""

import hashlib
import http.client
import json
import socket
import threading
import time
from dataclasses import dataclass, field

from tests.serve.server import Server

SLOW_BYTES = 64 * 1024


@dataclass
class Download:
    """A file that a client has in part."""

    sha256: str
    etag: str
    length: int
    content: bytearray = field(default_factory=bytearray)

    @property
    def is_done(self):
        return len(self.content) == self.length


class SlowConnection(http.client.HTTPConnection):
    """One that takes little at a time, so that a download lasts."""

    def connect(self):
        self.sock = socket.socket()
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SLOW_BYTES)
        self.sock.settimeout(self.timeout)
        self.sock.connect((self.host, self.port))


def ask(port, path, headers=None):
    """Status, headers and body."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def download(port, sha256, into, pause):
    """Take a bundle bit by bit, until it is there or the server is not."""
    connection = SlowConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", f"/v1/bundles/{sha256}")
    answer = connection.getresponse()
    assert answer.status == 200
    found = Download(sha256, answer.headers["etag"], int(answer.headers["content-length"]))
    into.append(found)
    try:
        while part := answer.read(SLOW_BYTES):
            found.content += part
            time.sleep(pause)
    except (OSError, http.client.HTTPException) as error:
        found.content += getattr(error, "partial", b"")
    finally:
        connection.close()


def client(port, budgets, into, asked):
    """Asks for budget after budget, and for what it gets."""
    for budget in budgets:
        try:
            path = f"/v1/models/books/bundles?budget={budget}"
            status, _, body = ask(port, path, {"accept": "application/json"})
            assert status == 200, body
            asked.append((budget, json.loads(body)["sha256"]))
            download(port, asked[-1][1], into, 0.005)
        except (OSError, http.client.HTTPException):
            return  # the server is gone


def whole_files(shelf):
    """Names of the shelf's bundles and patches, after each was found to be whole."""
    names = []
    for path in (shelf / "files").iterdir():
        if path.name.endswith((".elastic", ".catalogue")):
            content = path.read_bytes()
            assert hashlib.sha256(content).hexdigest() == path.stem, f"{path.name} is not whole"
            beside = json.loads(path.with_name(path.name + ".json").read_text())
            assert beside["n_bytes"] == len(content)
            names.append(path.name)
    return names


def kill_rounds(models, shelf, log, budgets, rounds, rng, *, clients=3, options=()):
    """What happened in so many rounds: files found whole, downloads resumed, bundles made."""
    told = {"rounds": rounds, "files": 0, "resumed": 0, "cut off": 0, "bundles": {}}
    for number in range(rounds):
        server = Server(models, shelf, log, "--no-plan-ahead", *options).start()
        server.wait()
        into, asked = [], []
        threads = [
            threading.Thread(
                target=client, args=(server.port, rng.permutation(budgets).tolist(), into, asked)
            )
            for _ in range(clients)
        ]
        for thread in threads:
            thread.start()
        if number % 2:  # in every other round not before a download is under way
            while not into and any(thread.is_alive() for thread in threads):
                time.sleep(0.001)
            time.sleep(rng.uniform(0, 0.15))
        else:
            time.sleep(rng.uniform(0, 1))
        server.kill()
        for thread in threads:
            thread.join()
        whole_files(shelf)
        with Server(models, shelf, log, "--no-plan-ahead", *options) as server:
            names = whole_files(shelf)
            told["files"] += len(names)
            assert not list((shelf / "files").glob(".*")), "something unfinished was left"
            for found in into:
                told["cut off"] += not found.is_done
                resume(server.port, found)
                told["resumed"] += 1
            for budget, sha256 in asked:
                assert told["bundles"].setdefault(budget, sha256) == sha256
                assert f"{sha256}.elastic" in names
            server.kill()
    return told


def resume(port, found):
    """Get the rest of a download; together they must be the file."""
    if not found.is_done:
        headers = {"range": f"bytes={len(found.content)}-", "if-range": found.etag}
        status, _, rest = ask(port, f"/v1/bundles/{found.sha256}", headers)
        assert status == 206
        found.content += rest
    assert hashlib.sha256(found.content).hexdigest() == found.sha256
