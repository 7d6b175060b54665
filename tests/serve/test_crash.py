"""A server that is killed or told to end while clients download."""

import hashlib
import http.client
import signal
import socket
import threading
import time

import numpy as np

from tests.serve.server import Server

PATH = "/models/large/stream.elastic?budget=9MB"
SLOW_BYTES = 64 * 1024


class SlowConnection(http.client.HTTPConnection):
    """One that takes little at a time, so that a download lasts."""

    def connect(self):
        self.sock = socket.socket()
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SLOW_BYTES)
        self.sock.settimeout(self.timeout)
        self.sock.connect((self.host, self.port))


class Download:
    """A file that a client has in part."""

    def __init__(self):
        self.content, self.etag = bytearray(), '"-1"'
        self.begun = threading.Event()

    @property
    def is_done(self):
        return len(self.content) == int(self.etag.strip('"').rpartition("-")[2])

    def go_on(self, port, pause=0.0):
        """Take the file bit by bit, until it is there or the server is not."""
        connection = SlowConnection("127.0.0.1", port, timeout=30)
        headers = {}
        if self.content:
            headers = {"Range": f"bytes={len(self.content)}-", "If-Range": self.etag}
        try:
            connection.request("GET", PATH, headers=headers)
            answer = connection.getresponse()
            assert answer.status == (206 if headers else 200)
            self.etag = answer.headers["etag"]
            while part := answer.read1(SLOW_BYTES):
                self.content += part
                self.begun.set()
                time.sleep(pause)
        except (OSError, http.client.HTTPException):
            pass  # the server is gone
        finally:
            connection.close()


def killed(root, log, rounds, rng):
    """Downloads that were resumed over so many rounds; each is byte-identical.

    The server is killed in every other round, and in the others told to end, when it finishes what
    it began.
    """
    from elasticrec.stream.chunk import read_index

    path = root / "stream.elastic"
    expected = hashlib.sha256(
        path.read_bytes()[: read_index(path).longest_prefix(9_000_000)]
    ).hexdigest()
    resumed = 0
    for number in range(rounds):
        found = [Download() for _ in range(3)]
        with Server(root, log=log) as server:
            threads = [threading.Thread(target=each.go_on, args=(server.port, 0.002))
                       for each in found]  # fmt: skip
            for thread in threads:
                thread.start()
            time.sleep(rng.uniform(0, 0.4))
            server.stop() if number % 2 else server.kill()
            for thread in threads:
                thread.join()
        begun = [each for each in found if each.content]
        assert all(each.is_done for each in begun) or number % 2 == 0
        with Server(root, log=log) as server:
            for each in found:
                if not each.is_done:
                    resumed += bool(each.content)
                    each.go_on(server.port)
                assert hashlib.sha256(each.content).hexdigest() == expected
            server.kill()
    return resumed


def test_a_download_goes_on_after_the_servers_end(large, tmp_path):
    assert killed(large, tmp_path / "log", 3, np.random.default_rng(1)) > 0


def test_told_to_end_it_finishes_downloads(large, tmp_path):
    found = Download()
    with Server(large, log=tmp_path / "log") as server:
        taking = threading.Thread(target=found.go_on, args=(server.port, 0.002))
        taking.start()
        assert found.begun.wait(30), "no byte in 30 seconds"
        assert server.stop() in (0, -signal.SIGTERM)
        taking.join()
    assert found.is_done
    assert "Traceback" not in (tmp_path / "log").read_text()
