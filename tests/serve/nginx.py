"""nginx as docs/deploy.md configures it for a published folder."""

import os
import re
import shutil
import subprocess
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.serve.server import free_port

PAGE = Path(__file__).resolve().parents[2] / "docs" / "deploy.md"


def published_server():
    """The server block of the page for a published folder."""
    text = PAGE.read_text(encoding="utf-8")
    (found,) = re.findall(
        r"```nginx\n(server \{\n(?:(?!```).)*root [^\n]+\n.*?)```", text, re.DOTALL
    )
    return found


def configuration(place, root, port):
    """A whole configuration in which that server has another folder and port."""
    server = re.sub(r"root [^;]+;", f"root {root};", published_server())
    server = re.sub(r"listen [^;]+;", f"listen 127.0.0.1:{port};", server)
    user = "user root;" if os.getuid() == 0 else ""  # its workers must be able to read the folder
    paths = " ".join(
        f"{kind}_temp_path {place}/{kind};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return (
        f"{user} daemon off; worker_processes 1; pid {place}/nginx.pid; "
        f"error_log {place}/nginx.log;\nevents {{}}\n"
        f"http {{ access_log off; sendfile on; {paths}\n"
        "types { text/html html; text/javascript js; text/css css; image/svg+xml svg;"
        " application/json json; application/manifest+json webmanifest; }\n"
        f"{server} }}\n"
    )


@contextmanager
def serving(place, root):
    """The URL of an nginx that serves a published folder; skips where there is no nginx."""
    program = shutil.which("nginx")
    if program is None:
        pytest.skip("no nginx on this machine: the published folder was not tested behind it")
    port = free_port()
    (place / "nginx.conf").write_text(configuration(place, root, port))
    process = subprocess.Popen([program, "-c", place / "nginx.conf", "-p", place])
    url = f"http://127.0.0.1:{port}/"
    try:
        for _ in range(200):
            try:
                urllib.request.urlopen(url + "models.json").close()
                break
            except OSError:
                time.sleep(0.02)
        yield url
    finally:
        process.terminate()
        process.wait()
