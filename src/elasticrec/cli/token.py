"""`elasticrec token`: let one user's device read her vector for a while."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def _new_key(wanted: bool) -> None:
    if wanted:
        from elasticrec.serve.tokens import new_key

        print(new_key())
        raise typer.Exit()


def token(
    model: Annotated[str, typer.Argument(help="The name of the model.")],
    user: Annotated[str, typer.Argument(help="The user's original id.")],
    expires: Annotated[
        str, typer.Option(help="How long it is valid: 90s, 15m, 12h or 30d.", metavar="TIME")
    ] = "1h",
    keys: Annotated[
        Path | None,
        typer.Option(
            help="The file with the keys, whose first signs; else $ELASTICREC_TOKEN_KEYS."
        ),
    ] = None,
    new_key: Annotated[  # noqa: ARG001
        bool,
        typer.Option(
            "--new-key", callback=_new_key, is_eager=True, help="Print a new key instead."
        ),
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
