"""`elasticrec keys`: keys that sign streams."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def keys() -> None:
    """Make keys that sign streams, so that devices refuse what others publish."""


@app.command()
def new(
    output: Annotated[Path, typer.Option("--output", "-o", help="The private key to write.")],
) -> None:
    """Write a new private key (readable by its owner alone), and its public key beside it.

    \b
    Example:
      elasticrec keys new -o publisher.key
    """
    from elasticrec.files import check_writable
    from elasticrec.stream.signing import new_key

    check_writable(output)
    public = new_key(output)
    print(f"{output}: keep it secret; give {public} to devices")
