"""The rival of the download service: Starlette's StaticFiles under the same uvicorn.

python -m benchmarks.plain.static FOLDER PORT
"""

from __future__ import annotations

import sys

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from elasticrec.serve.running import HEADER_BYTES, KEEP_ALIVE_SECONDS


def main(folder: str, port: str) -> None:
    """Serve the files of a folder until the process ends."""
    app = Starlette(routes=[Mount("/", StaticFiles(directory=folder))])
    uvicorn.run(
        app,
        port=int(port),
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        h11_max_incomplete_event_size=HEADER_BYTES,
        backlog=4096,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
