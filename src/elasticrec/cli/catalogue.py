"""`elasticrec catalogue`: ids and titles by item number, for devices that show titles."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def catalogue(
    model: Annotated[Path, typer.Argument(help="A finished model folder.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The JSON file to write.")],
) -> None:
    """Copy the catalogue of a model: the ids and titles behind its item numbers.

    \b
    Example:
      elasticrec catalogue MODEL -o catalogue.json
    """
    from elasticrec.files import check_writable, written_whole
    from elasticrec.model import Model

    check_writable(output)
    opened = Model.open(model)
    content = opened.check("catalogue").read_bytes()
    with written_whole(output) as file:
        file.write(content)
    print(f"{output}: {len(content):,} bytes, {opened.split.n_items:,} items")
