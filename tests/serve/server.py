"""A real server: the command in a process of its own, which can be killed at any moment."""

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
    """A server of this package, by default `elasticrec serve`."""

    def __init__(self, *words, log, command=("elasticrec", "serve")):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = log
        self._command = [sys.executable, "-m", *command, *map(str, words)]
        self._command += ["--port", str(self.port)]
        self.process = None

    def start(self):
        """Start it; `wait` tells when it is ready."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command, stdout=log, stderr=log, start_new_session=True
            )
        return self

    def wait(self, path="/readyz", seconds=60):
        """Wait until it is ready."""
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended: {self.log.read_text()[-2000:]}")
            try:
                with urllib.request.urlopen(f"{self.url}{path}", timeout=5):
                    return self
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                time.sleep(0.02)
        raise RuntimeError(f"the server was not ready after {seconds} s")

    def kill(self):
        """End it at once, as a power failure would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self, seconds=30):
        """Ask it to end; its exit code."""
        self.process.terminate()
        return self.process.wait(seconds)

    def __enter__(self):
        return self.start().wait()

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()
