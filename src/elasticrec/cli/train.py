"""`elasticrec train`: the first stage of a model, from a prepared split."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from elasticrec.cli._options import DEVICE, PRESET, SEED, SETTINGS


def train(
    split: Annotated[Path, typer.Argument(help="A split that `elasticrec data prepare` wrote.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The model folder to write.")],
    preset: PRESET = "default",
    settings: SETTINGS = None,
    seed: SEED = 0,
    device: DEVICE = "auto",
    force: Annotated[
        bool,
        typer.Option("--force", help="Begin anew where data or settings are others."),
    ] = False,
) -> None:
    """Train the table of a model: the first stage of `elasticrec fit`.

    Ctrl-C saves, and the same command goes on.

    \b
    Example:
      elasticrec train split.npz -o MODEL --set train.temperature=0.07
    """
    from elasticrec import pipeline
    from elasticrec.changing import changed
    from elasticrec.cli._output import resumable
    from elasticrec.cli._settings import configured
    from elasticrec.data.split import Split

    config, data = configured(preset, settings, seed), Split.load(split)
    with resumable() as listening, changed(output) as model:
        pipeline.prepare(model, data, config, listening["report"], force=force)
        pipeline.train(model, config, device=device, force=force, **listening)
    metric, value = next(iter(model.about["validation"].items()))
    print(f"{output}: {model.about['epochs']} epochs, validation {metric} {value:.4f}")
