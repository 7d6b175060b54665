"""The rival of the service in its benchmark: Starlette's StaticFiles under the same uvicorn.

python -m benchmarks.plain.static FOLDER PORT
"""

from __future__ import annotations

import sys
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from elasticrec.serve.connections import BACKLOG
from elasticrec.serve.middleware import ServeConfig


def main(folder: str, port: str) -> None:
    """Serve the files of a folder until the process ends."""
    limits = ServeConfig((Path(folder),))
    app = Starlette(routes=[Mount("/", StaticFiles(directory=folder))])
    uvicorn.run(
        app,
        port=int(port),
        http="h11",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=int(limits.idle_seconds),
        h11_max_incomplete_event_size=limits.header_bytes,
        backlog=BACKLOG,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
