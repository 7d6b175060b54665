"""`elasticrec order`: the last stages of a model, from codes to a measured stream."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def order(
    model: Annotated[Path, typer.Argument(help="A model folder with codes.")],
    preset: Annotated[str, typer.Option(help="The preset of the settings.")] = "default",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="A setting as stage.name=value; may be repeated."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Fixes everything that is drawn.")] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
) -> None:
    """Choose vote weights and the order, write the stream and measure it; `fit` runs this stage.

    Example: elasticrec order MODEL --set order.leads=0,4
    """
    from elasticrec import pipeline
    from elasticrec.cli._log import logged_to_stderr
    from elasticrec.cli._settings import configured
    from elasticrec.cli.fit import summary
    from elasticrec.model import Model

    opened, config = Model.open(model), configured(preset, settings, seed)
    with logged_to_stderr(), opened.locked():
        pipeline.order(opened, config, device=device)
        pipeline.write(opened)
        pipeline.measure_curve(opened, config, device=device)
    print(summary(opened))
