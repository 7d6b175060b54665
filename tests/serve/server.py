"""A real server: the command in a process of its own, which can be killed at any moment."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request


def free_port():
    """A port that nobody listens on."""
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return trial.getsockname()[1]


class Server:
    """`elasticrec serve` with a shelf that outlives it."""

    def __init__(self, models, shelf, log, *options):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = log
        self._command = [sys.executable, "-m", "elasticrec", "serve", str(models)]
        self._command += ["--shelf", str(shelf), "--port", str(self.port), *options]
        self.process = None
        self.ready_seconds = None

    def start(self):
        """Start it; `wait` tells when it is ready."""
        self._started = time.perf_counter()
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command, stdout=log, stderr=log, start_new_session=True
            )
        return self

    def wait(self, seconds=60):
        """Seconds from its start until it was ready."""
        while time.perf_counter() - self._started < seconds:
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended: {self.log.read_text()[-2000:]}")
            try:
                with urllib.request.urlopen(f"{self.url}/readyz", timeout=5):
                    self.ready_seconds = time.perf_counter() - self._started
                    return self.ready_seconds
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                time.sleep(0.02)
        raise RuntimeError(f"the server was not ready after {seconds} s")

    def kill(self):
        """End it and its workers at once, as a power failure would."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self, seconds=30):
        """Ask it to end; its exit code."""
        self.process.terminate()
        return self.process.wait(seconds)

    def __enter__(self):
        self.start().wait()
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()
