"""`elasticrec serve`: offer streams over HTTP; `token`: let one user's device read her vector."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option


def serve(
    models: Annotated[
        list[str] | None,
        Argument(help="Model folders, folders of them, or addresses.", metavar="MODEL..."),
    ] = None,
    host: Annotated[str, Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, Option(help="The port to listen on.")] = 8000,
    keys: Annotated[
        Path | None,
        Option(help="The file with the keys of tokens; else $ELASTICREC_TOKEN_KEYS."),
    ] = None,
    poll: Annotated[float, Option(help="Seconds between looks for new versions.")] = 5.0,
    demo: Annotated[
        bool, Option("--demo", help="Serve the model that comes with the package.")
    ] = False,
) -> None:
    """Serve streams over HTTP, with a page that ranks in the browser.

    \b
    Example:
      elasticrec serve models/books --port 8000
      elasticrec serve s3://bucket/models
      curl -o watch.elastic 'localhost:8000/models/books/stream.elastic?budget=5MB'
    """
    from elasticrec.files import demo_folder

    # Before the imports below, so that a missing demo is named first.
    listed = (*(models or ()), *((demo_folder() / "models",) if demo else ()))
    from elasticrec.serve.config import ServeConfig
    from elasticrec.serve.connections import run_service

    run_service(ServeConfig(listed, keys=keys, poll_seconds=poll), host=host, port=port)


def _new_key(wanted: bool) -> None:
    if wanted:
        from elasticrec.serve.tokens import new_key

        print(new_key())
        raise typer.Exit()


def token(
    model: Annotated[str, Argument(help="The name of the model.")],
    user: Annotated[str, Argument(help="The user's original id.")],
    expires: Annotated[
        str, Option(help="How long it is valid: 90s, 15m, 12h or 30d.", metavar="TIME")
    ] = "1h",
    keys: Annotated[
        Path | None,
        Option(help="The file with the keys, whose first signs; else $ELASTICREC_TOKEN_KEYS."),
    ] = None,
    new_key: Annotated[  # noqa: ARG001
        bool,
        Option("--new-key", callback=_new_key, is_eager=True, help="Print a new key instead."),
    ] = False,
) -> None:
    """Print a token that opens one user's vector of one model.

    \b
    Example:
      elasticrec token --new-key > keys.txt
      elasticrec token books 42 --expires 15m --keys keys.txt
    """
    from elasticrec.serve.tokens import Keys, parse_seconds

    print(Keys.load(keys).sign(model, user, parse_seconds(expires)))
