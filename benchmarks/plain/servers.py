"""Servers beside the service in its benchmark, and the memory of a process."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.plain.http import Connection
from tests.serve.server import free_port


@contextmanager
def static_server(folder: Path) -> Iterator[int]:
    """The port of a StaticFiles server."""
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.plain.static", str(folder), str(port)]
    with subprocess.Popen(command) as process:
        try:
            asyncio.run(listening(port))
            yield port
        finally:
            process.kill()


@contextmanager
def nginx_server(folder: Path, place: Path) -> Iterator[int | None]:
    """The port of an nginx server; None where nginx is not installed."""
    program = shutil.which("nginx")
    if program is None:
        yield None
        return
    port = free_port()
    config = place / "nginx.conf"
    user = "user root; " if os.getuid() == 0 else ""  # its workers must be able to read the folder
    config.write_text(
        f"{user}daemon off; worker_processes 1; pid {place}/nginx.pid;"
        f" error_log {place}/nginx.log;\n"
        f"events {{}} http {{ access_log off; sendfile on; server {{ listen 127.0.0.1:{port};"
        f" root {folder}; }} }}\n"
    )
    with subprocess.Popen([program, "-c", str(config)]) as process:
        try:
            asyncio.run(listening(port))
            yield port
        finally:
            process.terminate()


async def listening(port: int) -> None:
    """Return once somebody listens on the port."""
    for _ in range(500):
        try:
            (await Connection(port).open()).close()
            return
        except OSError:
            await asyncio.sleep(0.02)
    raise RuntimeError(f"nobody listens on port {port}")


def resident_bytes(process: int) -> int:
    """Memory of a process."""
    for line in Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"process {process} says nothing about its memory")
