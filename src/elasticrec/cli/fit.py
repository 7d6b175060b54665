"""`elasticrec fit`: from raw interactions to a finished model and its stream."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from elasticrec.cli._options import (
    COLUMNS,
    DEVICE,
    ITEM,
    MIN_INTERACTIONS,
    MIN_RATING,
    PRESET,
    RATING,
    SEED,
    SETTINGS,
    TEST,
    TIME,
    TITLES,
    USER,
    WEIGHT,
    WHERE,
    listed,
)

if TYPE_CHECKING:
    from elasticrec.model import Model


def fit(
    source: Annotated[
        str,
        typer.Argument(help="A CSV, TSV, Parquet or lists file, a prepared split, or `goodbooks`."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The model folder to write.")],
    columns: COLUMNS = None,
    user: USER = None,
    item: ITEM = None,
    time: TIME = None,
    rating: RATING = None,
    min_rating: MIN_RATING = None,
    where: WHERE = None,
    weight: WEIGHT = None,
    min_interactions: MIN_INTERACTIONS = None,
    titles: TITLES = None,
    test: TEST = None,
    preset: PRESET = "default",
    settings: SETTINGS = None,
    seed: SEED = 0,
    device: DEVICE = "auto",
    minutes: Annotated[
        float | None,
        typer.Option(help="Spend about so many, on trials of other training settings.", min=0),
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Replace a model of other data, once the new one is finished."
        ),
    ] = False,
) -> None:
    """Train a model and write its stream, of which every prefix is a recommender.

    Reads, filters, splits, trains, compresses, orders, writes and measures. Each stage is saved:
    the same command goes on where an earlier one was cut off. A finished model is replaced at the
    end, all at once. More ways to read are options of `elasticrec data prepare`, whose split this
    command takes as well.

    \b
    Example:
      elasticrec fit ratings.csv -o MODEL
      elasticrec fit ratings.csv --user member --item sku --time bought_at -o MODEL
      elasticrec fit ratings.csv -o MODEL --minutes 60
      elasticrec fit split.npz -o MODEL --set train.epochs=64
    """
    from elasticrec.cli._output import resumable
    from elasticrec.cli._settings import configured
    from elasticrec.data.preparation import PrepareConfig, prepare
    from elasticrec.data.readers.columns import Columns
    from elasticrec.pipeline import fit as fit_model

    config = configured(preset, settings, seed)
    names = listed(columns)
    reading = PrepareConfig(
        columns=Columns(
            user, item, rating, time, min_rating, names=names, where=where, weight=weight
        ),
        min_interactions=min_interactions,
        test=test,
        titles=titles,
        seed=seed,
    )
    with resumable() as listening:
        split = prepare(source, reading)
        model = fit_model(
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
    enough = enough_bytes(curve)
    beside = ", ".join(f"{name} {curve[name][metric]:.4f}" for name in BASELINES)
    lines = [
        f"{model.root}: {model.split.n_items:,} items, stream of {points[-1]['bytes']:,} bytes",
        f"{metric} on {whom(curve)}: {beside}, trained vectors alone {curve['full'][metric]:.4f}",
        *(f"{point['bytes']:>14,} bytes  {point[metric]:.4f}" for point in points),
        f"next: elasticrec customize {model.root} --budget {enough} -o device.elastic",
        verdict(model),
    ]
    return "\n".join(lines)
