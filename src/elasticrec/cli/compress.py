"""`elasticrec compress`: the second stage of a model, from table to codes and lists."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from elasticrec.cli._options import OWN_PRESET, OWN_SEED, SETTINGS


def compress(
    model: Annotated[Path, typer.Argument(help="A model folder with a trained table.")],
    preset: OWN_PRESET = None,
    settings: SETTINGS = None,
    seed: OWN_SEED = None,
) -> None:
    """Code the items of a model and list their neighbours: the second stage.

    \b
    Example:
      elasticrec compress MODEL --set compression.min_support=5
    """
    from elasticrec import pipeline
    from elasticrec.changing import changed
    from elasticrec.cli._output import logged_to_stderr
    from elasticrec.cli._settings import configured_as
    from elasticrec.model import Model

    Model.open(model)
    with logged_to_stderr(), changed(model) as opened:
        config = configured_as(opened, preset, settings, seed)
        pipeline.compress_model(opened, config)
    codes, lists = opened.codes, opened.neighbours
    print(
        f"{model}: {codes.n_columns} columns of a byte per item, lists of up to {lists.slots} "
        f"neighbours with at least {lists.min_support} persons behind each"
    )
