"""`elasticrec publish`: write a model's stream and page for a static host."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def publish(
    model: Annotated[Path, typer.Argument(help="The model folder.", metavar="MODEL")],
    place: Annotated[Path, typer.Argument(help="The folder to publish into.", metavar="DIR")],
    name: Annotated[
        str | None, typer.Option(help="The model's name; by default that of its folder.")
    ] = None,
    sign: Annotated[
        Path | None,
        typer.Option(help="Sign the stream with this private key (`elasticrec keys new`)."),
    ] = None,
    keep: Annotated[int, typer.Option(help="Versions of each file that stay in the folder.")] = 3,
) -> None:
    """Write the stream, and a page that ranks in the browser, as static files.

    \b
    Example:
      elasticrec publish models/books site
      curl -r 0-4999999 https://cdn.example/models/books/stream-0123456789abcdef.elastic
    """
    from elasticrec.serve.page import published
    from elasticrec.stream.publish import publish as write

    key = None
    if sign is not None:
        from elasticrec.stream.signing import load_key

        key = load_key(sign)
    entry = write(model, place, name=name, page=published(), key=key, keep=keep)
    print(f"{place / entry['files']['stream']}: {entry['bytes']:,} bytes, sha256 {entry['sha256']}")
