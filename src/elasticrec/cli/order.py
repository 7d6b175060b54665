"""`elasticrec order`: the last stages of a model, from codes to a measured stream."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from elasticrec.cli._options import DEVICE, OWN_PRESET, OWN_SEED, SETTINGS


def order(
    model: Annotated[Path, typer.Argument(help="A model folder with codes.")],
    preset: OWN_PRESET = None,
    settings: SETTINGS = None,
    seed: OWN_SEED = None,
    device: DEVICE = "auto",
) -> None:
    """Choose vote weights and the order, write the stream, and measure it.

    \b
    Example:
      elasticrec order MODEL --set order.leads=0,4
    """
    from elasticrec import pipeline
    from elasticrec.changing import changed
    from elasticrec.cli._output import logged_to_stderr
    from elasticrec.cli._settings import configured_as
    from elasticrec.cli.fit import summary
    from elasticrec.model import Model

    Model.open(model)
    with logged_to_stderr(), changed(model) as opened:
        config = configured_as(opened, preset, settings, seed)
        pipeline.order(opened, config, device=device)
        pipeline.write(opened)
        pipeline.measure_curve(opened, config, device=device)
        pipeline.describe(opened)
    print(summary(opened))
