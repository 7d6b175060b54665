"""`elasticrec train`: from a prepared split to a model folder."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from elasticrec.errors import InputError


def train(
    split: Annotated[Path, typer.Argument(help="A split that `elasticrec data prepare` wrote.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The model folder to write.")],
    preset: Annotated[
        str, typer.Option(help="default, demo, paper-amazon-book or paper-yelp.")
    ] = "default",
    base: Annotated[str | None, typer.Option(help="mf, lightgcn or history.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Passes over the train pairs.")] = None,
    blocks: Annotated[int | None, typer.Option(help="Blocks of 8 numbers per item.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Any setting of TrainConfig as name=value; may be repeated."),
    ] = None,
    groups: Annotated[
        str | None, typer.Option(help="How items are grouped: popularity, random or cluster.")
    ] = None,
    n_groups: Annotated[int | None, typer.Option(help="G: how many groups.")] = None,
    seed: Annotated[int, typer.Option(help="Fixes everything that is drawn.")] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    resume: Annotated[bool, typer.Option(help="Go on with a training that was cut off.")] = False,
    force: Annotated[bool, typer.Option(help="Replace a model that is there already.")] = False,
) -> None:
    """Train a model and save it.

    Ctrl-C saves; the same command with --resume goes on from there.

    Example: elasticrec train split.npz -o MODEL --preset default --set temperature=0.1
    """
    from elasticrec.blocks.folder import ModelFolder
    from elasticrec.cli._progress import stop_on_interrupt, training_bar
    from elasticrec.data.splitting import Split
    from elasticrec.evaluation.ranking import pick_device
    from elasticrec.presets import check_split
    from elasticrec.presets import preset as named
    from elasticrec.training.loop import InterruptedTraining
    from elasticrec.training.model import train_model

    chosen = named(preset)
    given: dict[str, Any] = {"base": base, "epochs": epochs, "n_blocks": blocks, "seed": seed}
    if base not in (None, "mf"):
        given["aggregation"] = False  # the preset's belongs to `mf`
    given |= dict(_parse_setting(text) for text in settings or [])
    config = replace(chosen.train, **{k: v for k, v in given.items() if v is not None})
    grouping: dict[str, Any] = {"kind": groups, "n_groups": n_groups, "seed": seed}
    space = replace(chosen.space, **{k: v for k, v in grouping.items() if v is not None})
    data = Split.load(split)
    check_split(preset, data)
    device = pick_device(device)
    folder = ModelFolder.create(output)
    if folder.has("table") and not force:
        raise InputError(f"{output} holds a model already; choose another folder, or --force")
    try:
        with stop_on_interrupt() as stop, training_bar(config) as report:
            trained = train_model(
                folder, data, config, space,
                device=device, resume=resume, stop=stop, report=report,
            )  # fmt: skip
    except InterruptedTraining:
        print(f"stopped and saved; go on with --resume -o {output}")
        raise KeyboardInterrupt from None
    print(
        f"{output}: {config.base}, {config.dimensions} dimensions, {trained.progress.epoch} epochs "
        f"in {trained.progress.seconds:.0f} s, validation {config.metric} "
        f"{trained.progress.best:.4f}, model {folder.model_id[:12]}"
    )


def _parse_setting(text: str) -> tuple[str, Any]:
    """A field of TrainConfig and its value from `name=value`."""
    from elasticrec.training.config import TrainConfig

    name, equals, value = text.partition("=")
    kinds: dict[str, type] = {each.name: type(each.default) for each in fields(TrainConfig)}
    if not equals or name not in kinds:
        known = ", ".join(sorted(kinds))
        raise InputError(f"--set {text}: expected name=value with a name of {known}")
    kind = kinds[name]
    try:
        if kind is bool:
            return name, {"true": True, "false": False}[value.lower()]
        return name, kind(value)
    except (ValueError, KeyError) as error:
        raise InputError(f"--set {text}: expected a value of type {kind.__name__}") from error
