"""`elasticrec catalogue`: ids and titles of a model's items, for whoever shows recommendations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def catalogue(
    model: Annotated[Path, typer.Argument(help="A model folder.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The JSON file to write.")],
) -> None:
    """Write ids and titles in model order, as one JSON file beside the bundles.

    A bundle that holds no ids speaks of items by their numbers, which are places in this file. The
    file's hash stands in every bundle of the model, so that a device notices a wrong one.

    \b
    Example:
      elasticrec catalogue MODEL -o catalogue.json
    """
    import hashlib

    from elasticrec.blocks.folder import ModelFolder
    from elasticrec.stream.catalogue import write_catalogue

    folder = ModelFolder.open(model)
    content = write_catalogue(folder, output)
    print(
        f"{output}: {folder.split().n_items:,} items, {len(content):,} bytes, "
        f"sha256 {hashlib.sha256(content).hexdigest()}"
    )
