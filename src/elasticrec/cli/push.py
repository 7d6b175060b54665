"""`elasticrec push`: a model folder into a hub folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

REPOSITORY = Annotated[str, typer.Argument(help="Its name in the hub: owner/name.")]
HUB = Annotated[
    Path | None,
    typer.Option(help="The hub folder; by default that of Hugging Face's tools.", metavar="FOLDER"),
]


def push(
    model: Annotated[Path, typer.Argument(help="A finished model folder.")],
    repository: REPOSITORY,
    hub: HUB = None,
) -> None:
    """Put a model into a hub folder, as Hugging Face's tools keep models.

    A team shares the folder, or uploads what is in it: a model folder is a repository with a model
    card. It holds who took what, so it must stay as private as the data; `elasticrec publish`
    writes what everyone may see.

    \b
    Example:
      elasticrec push MODEL shop/books --hub ../hub
    """
    from elasticrec.hub import push as push_model

    version = push_model(model, repository, hub)
    print(f"{repository} is version {version}; it holds who took what: keep it private")
