"""`elasticrec serve`: offer streams over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def serve(
    models: Annotated[
        list[Path] | None,
        typer.Argument(help="Model folders, or folders of model folders.", metavar="MODEL..."),
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on.")] = 8000,
    keys: Annotated[
        Path | None,
        typer.Option(help="The file with the keys of tokens; else $ELASTICREC_TOKEN_KEYS."),
    ] = None,
    poll: Annotated[float, typer.Option(help="Seconds between looks for new versions.")] = 5.0,
    demo: Annotated[
        bool, typer.Option("--demo", help="Serve the model that comes with the package.")
    ] = False,
) -> None:
    """Serve streams over HTTP, with a page that ranks in the browser.

    \b
    Example:
      elasticrec serve models/books --port 8000
      curl -o watch.elastic 'localhost:8000/models/books/stream.elastic?budget=5MB'
    """
    from elasticrec.files import demo_folder

    listed = (*(models or ()), *((demo_folder() / "models",) if demo else ()))
    from elasticrec.serve.config import ServeConfig
    from elasticrec.serve.connections import run_service

    run_service(ServeConfig(listed, keys=keys, poll_seconds=poll), host=host, port=port)
