"""`elasticrec pull`: a model folder out of a hub folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from elasticrec.cli.push import HUB, REPOSITORY


def pull(
    repository: REPOSITORY,
    output: Annotated[Path, typer.Option("--output", "-o", help="The model folder to write.")],
    hub: HUB = None,
    version: Annotated[str, typer.Option(help="A version that `push` printed, or a ref.")] = "main",
) -> None:
    """Copy a model out of a hub folder, every part checked against its hash.

    \b
    Example:
      elasticrec pull shop/books -o MODEL --hub ../hub
    """
    from elasticrec.hub import pull as pull_model

    model = pull_model(repository, output, hub, version=version)
    print(f"{output}: {model.about.get('name')}, model {model.id[:16]}")
