"""`elasticrec fit`, its stages `train`, `compress` and `order` one by one, and `tune`."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from elasticrec.cli import _settings as options
from elasticrec.cli._output import logged_to_stderr, print_json, resumable
from elasticrec.cli._settings import configured, configured_as
from elasticrec.errors import InputError

if TYPE_CHECKING:
    from elasticrec.model import Model

OUTPUT = Annotated[Path, Option("--output", "-o", help="The model folder to write.")]


@options.by_engine
@options.reads_interactions
def fit(
    source: Annotated[
        str, Argument(help="A file, folder, pattern or address of tables; a split; goodbooks.")
    ],
    output: OUTPUT,
    reading: Any,
    preset: options.PRESET = "default",
    settings: options.SETTINGS = None,
    device: options.DEVICE = "auto",
    minutes: Annotated[
        float | None,
        Option(
            help="Spend about so many, on trials of other training settings.", min=0, max=525_600
        ),
    ] = None,
    force: Annotated[
        bool, Option("--force", help="Replace a model of other data, once the new one is finished.")
    ] = False,
) -> None:
    """Train a model and write its stream, of which every prefix is a recommender.

    Reads, filters, splits, trains, compresses, orders, writes and measures. Each stage is saved:
    the same command goes on where an earlier one was cut off. A finished model is replaced at the
    end, all at once. A split of `elasticrec data prepare` is taken as it is.

    \b
    Example:
      elasticrec fit ratings.csv -o MODEL
      elasticrec fit ratings.csv --user member --item sku --time bought_at -o MODEL
      elasticrec fit ratings.csv -o MODEL --minutes 60
      elasticrec fit split.npz -o MODEL --set train.epochs=64
    """
    from elasticrec import pipeline
    from elasticrec.data.preparation import prepare
    from elasticrec.evaluation.ranking import pick_device
    from elasticrec.model_folder import check_folder

    config = configured(preset, settings, reading.seed)
    check_folder(output)
    pick_device(device)
    with resumable() as listening:
        split = prepare(source, reading)
        model = pipeline.fit(
            split, output, config, device=device, force=force, minutes=minutes, **listening
        )
    print(summary(model))


def summary(model: Model) -> str:
    """A few lines on a finished model: how good it is, by size, and beside baselines."""
    from elasticrec.card import enough_bytes, verdict
    from elasticrec.evaluation.baselines import BASELINES
    from elasticrec.stream.curve import whom

    if not model.has("curve"):
        return f"{model.root}: trained; tiled scores have no stream"
    curve = model.curve
    metric, points = curve["metric"], curve["points"]
    beside = ", ".join(f"{name} {curve[name][metric]:.4f}" for name in BASELINES)
    lines = [
        f"{model.root}: {model.split.n_items:,} items, stream of {points[-1]['bytes']:,} bytes",
        f"{metric} on {whom(curve)}: {beside}, trained vectors alone {curve['full'][metric]:.4f}",
        *(f"{point['bytes']:>14,} bytes  {point[metric]:.4f}" for point in points),
        f"next: elasticrec customize {model.root} --budget {enough_bytes(curve)} -o device.elastic",
        verdict(model),
    ]
    return "\n".join(lines)


def train(
    split: Annotated[Path, Argument(help="A split that `elasticrec data prepare` wrote.")],
    output: OUTPUT,
    preset: options.PRESET = "default",
    settings: options.SETTINGS = None,
    seed: options.SEED = 0,
    device: options.DEVICE = "auto",
    force: Annotated[
        bool, Option("--force", help="Begin anew where data or settings are others.")
    ] = False,
) -> None:
    """Train the table of a model: the first stage of `elasticrec fit`.

    Ctrl-C saves, and the same command goes on.

    \b
    Example:
      elasticrec train split.npz -o MODEL --set train.temperature=0.07
    """
    from elasticrec.changing import changed
    from elasticrec.data.split import Split
    from elasticrec.stages import Stages

    config, data = configured(preset, settings, seed), Split.load(split)
    with resumable() as listening, changed(output) as model:
        stages = Stages(model, device, force=force, **listening)
        stages.prepare(data, config)
        if model.has("table") and not model.fresh("table", asdict(config.train)) and not force:
            raise InputError(
                f"{output}: holds a table of other settings; give another folder, or --force"
            )
        stages.train(config)
    metric, value = next(iter(model.about["validation"].items()))
    print(f"{output}: {model.about['epochs']} epochs, validation {metric} {value:.4f}")


@options.by_engine
def compress(
    model: Annotated[Path, Argument(help="A model folder with a trained table.")],
    preset: options.OWN_PRESET = None,
    settings: options.SETTINGS = None,
    seed: options.OWN_SEED = None,
    device: options.DEVICE = "auto",
) -> None:
    """Code the items of a model and list their neighbours: the second stage.

    \b
    Example:
      elasticrec compress MODEL --set compression.min_support=5
    """
    from elasticrec.changing import changed
    from elasticrec.model import Model
    from elasticrec.stages import Stages

    Model.open(model)
    with logged_to_stderr(), changed(model) as opened:
        Stages(opened, device).compress(configured_as(opened, preset, settings, seed))
    codes, lists = opened.codes, opened.neighbours
    print(
        f"{model}: {codes.n_columns} columns of a byte per item, lists of up to {lists.slots} "
        f"neighbours with at least {lists.min_support} persons behind each"
    )


@options.by_engine
def order(
    model: Annotated[Path, Argument(help="A model folder with codes.")],
    preset: options.OWN_PRESET = None,
    settings: options.SETTINGS = None,
    seed: options.OWN_SEED = None,
    device: options.DEVICE = "auto",
) -> None:
    """Choose vote weights and the order, write the stream, and measure it.

    \b
    Example:
      elasticrec order MODEL --set order.leads=0,4
    """
    from elasticrec.changing import changed
    from elasticrec.model import Model
    from elasticrec.stages import Stages

    Model.open(model)
    with logged_to_stderr(), changed(model) as opened:
        config = configured_as(opened, preset, settings, seed)
        stages = Stages(opened, device)
        stages.order(config)
        stages.write()
        stages.measure(config)
        stages.describe()
    print(summary(opened))


def tune(
    source: Annotated[str, Argument(help="A prepared split, a table, or `goodbooks`.")],
    trials: Annotated[int, Option(help="Trainings; the first has the preset's.", min=2)] = 20,
    seconds: Annotated[
        float | None, Option(help="Begin no further trial after so many.", min=0)
    ] = None,
    preset: options.PRESET = "default",
    settings: options.SETTINGS = None,
    seed: options.SEED = 0,
    device: options.DEVICE = "auto",
    json: options.JSON = False,
) -> None:
    """Try other training settings with Optuna, and judge them on validation users.

    A trial replaces the preset's settings only if its lead is more than chance among so many
    trials; often none does. The test part is not read. Ctrl-C ends with what was tried so far.

    \b
    Example:
      elasticrec tune split.npz --trials 30
      elasticrec tune split.npz --seconds 3600 --set train.n_blocks=8
    """
    from elasticrec import tuning
    from elasticrec.data.preparation import PrepareConfig, prepare

    chosen = configured(preset, settings, seed)
    config, trying = chosen.train, replace(chosen.tuning, trials=trials)
    with logged_to_stderr():
        split = prepare(source, PrepareConfig(seed=seed))
        found = tuning.tune(split, config, trying, seconds=seconds, device=device)
    if json:
        return print_json({**asdict(found), "choice": found.choice.as_dict()})
    own, best = found.values[tuning.DEFAULT], max(found.values.values())
    print(
        f"{config.metric} of the preset {own:.4f}, best of {len(found.values)} trials {best:.4f}, "
        f"on {found.choice.persons:,} validation users"
    )
    if not found.settings:
        return print("no trial leads beyond chance: keep the settings")
    lead, low = found.choice.leads[found.choice.chosen]
    words = [*(settings or []), *(f"train.{n}={v:.6g}" for n, v in found.settings.items())]
    given = "" if preset == "default" else f" --preset {preset}"
    print(f"{found.choice.chosen} leads by {100 * lead:.1f} % (at least {100 * low:.1f} %)")
    print(f"next: elasticrec fit {source} -o MODEL{given}", *(f"--set {word}" for word in words))
