"""Running the service under uvicorn: one process, or several that share a shelf."""

from __future__ import annotations

import logging
import os
import socket

from elasticrec.errors import InputError
from elasticrec.serve.config import ServeConfig
from elasticrec.serve.registry import check_models
from elasticrec.serve.tokens import Keys

log = logging.getLogger(__name__)

HEADER_BYTES = 16 * 1024
"""The longest request line and headers."""
KEEP_ALIVE_SECONDS = 30


def run_service(
    config: ServeConfig,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    workers: int = 1,
    root_path: str = "",
) -> None:
    """Serve until told to end (SIGTERM, Ctrl-C); downloads under way are then finished.

    Args:
        workers: processes; each holds the models in its own memory.
        root_path: what a proxy puts before all paths.
    """
    import uvicorn

    from elasticrec.serve import app

    if workers < 1:
        raise InputError(f"{workers} workers, expected at least 1")
    check_models(config.models)
    Keys.load(config.keys)
    check_port(host, port)
    os.environ[app.VARIABLE] = config.to_json()
    uvicorn.run(
        f"{app.__name__}:{app.from_environment.__name__}",
        factory=True,
        host=host,
        port=port,
        workers=workers,
        root_path=root_path,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=config.shutdown_seconds,
        h11_max_incomplete_event_size=HEADER_BYTES,
        backlog=4096,
    )


def check_port(host: str, port: int) -> None:
    """Refuse a port that cannot be listened on, before anything is loaded."""
    if not 0 <= port < 2**16:
        raise InputError(f"port {port}, expected 0 to {2**16 - 1}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((host, port))
        except OSError as error:
            raise InputError(f"cannot listen on {host}, port {port}: {error.strerror}") from None
