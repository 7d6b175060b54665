"""The product as it comes: `fit` with its default preset, on every data set alike.

    python -m experiments.default run --data local [--dataset gowalla] [--seeds 0,1,2] [--jobs 3]
    python -m experiments.default draw

On validation, `fit` sees one half of the validation users and is measured on the other half, before
the refit. With `--part test` it sees all of them, and what it ships is measured on test: once per
release, when nothing will be changed any more. A model's size is that of the whole file, with dense
ids.
"""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Annotated

import numpy as np
import typer

from elasticrec.data.split import Split
from elasticrec.data.splitting import by_popularity
from elasticrec.evaluation.ranking import Part
from elasticrec.model import Model
from elasticrec.ordering.order import OrderConfig
from elasticrec.ordering.search import FoundOrder
from elasticrec.pipeline import fit
from elasticrec.presets import PRESETS, Preset
from elasticrec.stream.chunk import read_index
from elasticrec.stream.picture import Line
from experiments import command, comparing, figures, lines, tables
from experiments.command import Task
from experiments.provenance import LIBRARY, code_hash
from experiments.streams import Coded, alone, chooser, kept_table, measured

EXPERIMENT = "default"
DATASETS = "gowalla,yelp2018,amazon-book,goodbooks"
SIZES = (3, 6, 11, 20, 54, 110, 270)
MODELS = command.LOCAL / "models"
METHOD, FORMAT, METRIC = "ours", 4, "recall@50"
OPEN = "ours without support"
"""The same where a neighbour needs one person's support alone."""
CODE = (*LIBRARY, "experiments/default.py", "experiments/streams.py")
PLAIN = {
    "gowalla": "Gowalla: places",
    "yelp2018": "Yelp: businesses",
    "amazon-book": "Amazon: books",
    "goodbooks": "goodbooks: books",
    "amazon-sports": "Amazon: sports goods",
    "anime": "MyAnimeList: series",
}
"""What the data sets are, for readers who do not know them."""
app = command.make_app(__doc__)


@app.command()
def run(
    dataset: command.Datasets = DATASETS,
    data: command.Data = command.LOCAL,
    seeds: command.Seeds = "0",
    part: Annotated[
        str, typer.Option(help="validation; or test, once per release.")
    ] = "validation",
    users: command.Users = 0,
    device: command.Device = "auto",
    jobs: command.Jobs = 1,
    minutes: command.Minutes = None,
    again: command.Again = False,
) -> None:
    """Fit the default preset and measure its stream at every size."""
    wanted = [
        Task(name, seed, data, device, users, part=command.part_of(part))
        for name in command.datasets_in(data, dataset)
        for seed in command.seeds_of(seeds)
    ]
    last = {"method": METHOD, "bytes_per_item": SIZES[-1], "code_hash": code_hash(*CODE)}
    command.measure_missing(
        EXPERIMENT, wanted, work, lambda _: last, jobs=jobs, minutes=minutes, again=again
    )


def work(task: Task) -> str:
    """Fit one model and measure its stream; Recall@50 at every size."""
    started, said = time.perf_counter(), []
    model = fitted(task)[1]
    split, users = reported(task, model)
    beside = {"chosen": model.about.get("choices"), "stages": model.about.get("seconds")}
    for point in measured(
        read_index(model.stream_path), model.codes, model.neighbours, model.weights, split, SIZES,
        users=users, person=task.person, vectors=model.server_vectors(), device=task.device,
        part=task.part,
    ):  # fmt: skip
        fields = {
            **task.about, "method": METHOD, "bytes_per_item": point.bytes_per_item,
            "file_bytes": point.file_bytes, "dimensions": model.table.dimensions,
            "format": FORMAT, "seconds": round(time.perf_counter() - started, 2),
            "config": preset_of(task).seeded(0).as_dict(), "code_hash": code_hash(*CODE), **beside,
        }  # fmt: skip
        comparing.record(EXPERIMENT, fields, point.found, split=split)
        beside = {}  # once for all sizes
        said.append(f"{point.bytes_per_item:g}: {point.found.metrics['recall@50']:.4f}")
    return f"{task}: {', '.join(said)}"


def preset_of(task: Task) -> Preset:
    """The default preset, which refits what is measured on test; its base may be another."""
    preset = replace(PRESETS["default"].seeded(task.seed), refit=task.part == "test")
    if task.base:
        preset = replace(preset, train=replace(preset.train, base=task.base))
    if task.method == OPEN:
        preset = replace(preset, compression=replace(preset.compression, min_support=1))
    return preset


def fitted(task: Task) -> tuple[Model, Model]:
    """The model before its refit, which knows validation, and the one that ships; kept in `local`.

    On validation nothing is refitted, and both are the same.
    """
    split, _ = by_popularity(Split.load(task.path))
    learnt, _ = shown_to_fit(split, task.part, task.users)
    preset = preset_of(task)
    key = lines.config_hash([preset.as_dict(), learnt.fingerprint(), code_hash(*LIBRARY)])
    before, shipped = (
        MODELS / f"{task.dataset}-{task.seed}-{key}-{name}" for name in ("before", "shipped")
    )
    with alone(before.name):
        if task.method == OPEN and not before.exists():  # the table is the same
            _copy(fitted(replace(task, method=METHOD))[0].root, before)
        first = fit(learnt, before, replace(preset, refit=False), device=task.device)
        if not preset.refit:
            return first, first
        if not shipped.exists():
            _copy(before, shipped)
        return first, fit(learnt, shipped, preset, device=task.device)


def compressed(task: Task, split: Split, order: np.ndarray) -> tuple[Coded, FoundOrder]:
    """What `fit` compresses and orders on validation; or the same with a table trained before.

    Args:
        split: the task's, its items by falling popularity.
        order: (V,) the prepared split's number of each of them.
    """
    preset = preset_of(task)
    if task.tables is None:
        model = fitted(task)[1]
        coded = Coded(split, model.table, model.codes, model.neighbours, preset)
        config = OrderConfig(**model.about["order"])
        return coded, FoundOrder(model.order, config, model.weights, [])
    choosing = comparing.halves(split, most=task.users).choosing
    table = kept_table(task.tables, task.dataset, task.seed, split, order)
    coded = Coded.make(split, table, preset, task.device)
    return coded, coded.find(choosing, preset.order, task.device)


def _copy(model: Path, to: Path) -> None:
    """Copy a model's folder, whole or not at all."""
    copy = to.with_suffix(".copy")
    shutil.copytree(model, copy, dirs_exist_ok=True)
    copy.rename(to)


def reported(task: Task, model: Model) -> tuple[Split, np.ndarray | None]:
    """The split by whose train a model's lists are made, and the users it is measured on."""
    if task.part == "test":
        return model.split, None
    split, _ = by_popularity(Split.load(task.path))
    return split, shown_to_fit(split, task.part, task.users)[1]


def shown_to_fit(split: Split, part: Part, most: int = 0) -> tuple[Split, np.ndarray | None]:
    """The split that `fit` sees, and the users it is measured on; None stands for everyone.

    Args:
        most: users of each half of validation, at most; 0 takes all.
    """
    if part == "test":
        return split, None
    halves = comparing.halves(split, most=most)
    return chooser(split, halves.choosing), halves.reporting


@app.command()
def draw() -> None:
    """Print Recall@50 by size, and draw all data sets in one picture."""
    for metric in ("recall@50", "recall@20"):
        print(tables.by_size(EXPERIMENT, (METHOD,), metric))
    found, colours = quality(), (figures.OURS, figures.SECOND, *figures.OTHERS)
    with figures.panels(EXPERIMENT, about=drawn(), width=6.6, height=3.6) as axes:
        shown = [
            Line(PLAIN[name], points, colour)
            for (name, points), colour in zip(found.items(), colours, strict=False)
        ]
        figures.draw(axes[0, 0], shown, METRIC)


def drawn() -> str:
    """The numbers of the picture, which its file holds, too."""
    return "; ".join(
        f"{name} " + ", ".join(f"{size:g}: {value:.4f}" for size, value in points.items())
        for name, points in quality().items()
    )


def quality() -> dict[str, dict[float, float]]:
    """By data set and bytes per item: the mean over seeds, on test where that was measured."""
    everything = lines.latest(EXPERIMENT)
    part = "test" if lines.holds(everything, part="test") else "validation"
    found = [line for line in everything if line["part"] == part]
    return {
        name: {
            size: mean(line["metrics"][METRIC] for line in cell)
            for size, cell in tables.cells(found, dataset=name, method=METHOD).items()
        }
        for name in tables.datasets(found)
    }


if __name__ == "__main__":
    app()
