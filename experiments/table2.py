"""Table 2: the product beside its rivals at equal bytes, for users known by their history alone.

    python -m experiments.table2 run --data local [--dataset gowalla] [--part test] [--jobs 12]
    python -m experiments.table2 draw

`ours` fits the default preset and measures it (`experiments.default`), simple orders of the same
codes, and the codes without lists. Rivals with codes take the very table that ours ships, refitted
alike, with its neighbour lists beside their codes; their settings are chosen on validation users by
the table of seed 0 before its refit. Lists alone (ItemKNN, a sparse linear model) and popularity
need no table and have no seeds. `int8 of plain loss` is the first step of the decomposition.
Whoever needs a table or settings first makes them; others wait.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated

import typer

from elasticrec.data.split import Split
from elasticrec.errors import InputError
from elasticrec.model import Model
from elasticrec.ordering.order import Order, make_order
from elasticrec.stream.chunk import read_index
from experiments import command, comparing, default, equal_bytes, figures, lines, tables, verdicts
from experiments.baselines.neighbours import LISTS_ALONE
from experiments.baselines.quantisers import QUANTISERS
from experiments.command import Task
from experiments.equal_bytes import BASE, POPULARITY
from experiments.provenance import energy
from experiments.streams import Coded, measured

DATASETS = "amazon-book,yelp2018,gowalla,amazon-sports,anime"
RUNS = "table2-runs"
"""Seconds and energy of each run."""
OPEN_ON = ("amazon-book",)
"""Data sets on which privacy costs a cell: ours without support stands beside ours there."""
ALIKE, POPULAR, CODES = "ours, all alike", "ours, popular first", "ours, codes alone"
STEPS = {
    BASE: "base",
    "int8": "+ loss",
    CODES: "+ coding",
    ALIKE: "+ lists",
    default.METHOD: "+ order",
}
"""The decomposition of ours."""
STEP_SIZES = (11, 54, 270)
app = command.make_app(__doc__)


@app.command()
def run(
    dataset: command.Datasets = DATASETS,
    data: command.Data = command.LOCAL,
    seeds: command.Seeds = "0,1,2",
    part: Annotated[
        str, typer.Option(help="validation; or test, once per release.")
    ] = "validation",
    only: Annotated[str, typer.Option("--methods", help="Methods; all by default.")] = "",
    users: command.Users = 0,
    device: command.Device = "auto",
    jobs: command.Jobs = 1,
    minutes: command.Minutes = None,
    again: command.Again = False,
) -> None:
    """Measure ours and all rivals at every size, and compare them."""
    kind, names = command.part_of(part), command.datasets_in(data, dataset)
    wanted = [
        Task(name, seed, data, device, users, part=kind, method=method)
        for methods, order in phases(methods_of(only), names)
        for seed in command.seeds_of(seeds)
        for name in order
        for method in methods
        if seed == 0 or method not in (*equal_bytes.UNTRAINED, BASE)
        if method != default.OPEN or name in OPEN_ON or only
    ]
    found = lines.read(equal_bytes.EXPERIMENT)
    left = [task for task in wanted if again or not is_done(task, found)]
    print(f"{len(left)} of {len(wanted)} tasks are left", flush=True)
    command.plan(left, expected_seconds, jobs)
    with energy() as used:
        command.measure_all(left, work, jobs, minutes)
    lines.append(RUNS, {"dataset": dataset, "part": kind, "metrics": used, "jobs": jobs})
    tests = comparing.compare(
        equal_bytes.EXPERIMENT, (default.METHOD,), beside=(default.EXPERIMENT,)
    )
    print(f"{tests} tests made")


def methods_of(names: str) -> list[str]:
    """The methods of a list; all where none is named."""
    known = [default.METHOD, default.OPEN, *reversed(LISTS_ALONE), POPULARITY, BASE, *QUANTISERS]
    if unknown := set(command.named(names)) - set(known):
        raise InputError(f"no method is called {min(unknown)}; expected {', '.join(known)}")
    return [name for name in known if name in command.named(names) or not names]


def phases(methods: list[str], names: list[str]) -> Iterator[tuple[list[str], list[str]]]:
    """Methods and data sets in the order in which they begin.

    Codes need tables of ours, which those of the data sets named last have first.
    """
    yield [name for name in methods if name == default.METHOD], names
    rest = [name for name in methods if name not in (default.METHOD, *QUANTISERS)]
    yield sorted(rest, key=lambda name: name == default.OPEN), names
    yield [name for name in methods if name in QUANTISERS], names[::-1]


def is_done(task: Task, found: list[lines.Line]) -> bool:
    """True if the last line of a task is there."""
    if task.method == default.METHOD:
        task = replace(task, method=CODES)
    return equal_bytes.is_done(task, found)


def expected_seconds(task: Task, split: Split) -> float:
    """Seconds of one process beside a dozen others, by what former lines took."""
    pairs, scores = len(split.train) / 1e6, split.n_users * split.n_items / 1e9
    if task.method in (default.METHOD, default.OPEN):
        return (110 + 180 * pairs) / (1 if task.method == default.METHOD else 1.5)
    if task.method == BASE:
        return 10 + 15 * pairs
    if task.method in LISTS_ALONE:
        return 20 + 90 * pairs
    return (30 if task.seed == 0 else 5) + 4 * scores


def work(task: Task) -> str:
    """Measure ours or one rival."""
    if task.method == default.OPEN:
        return fit_without_support(task)
    return fit(task) if task.method == default.METHOD else equal_bytes.measure(task)


def fit_without_support(task: Task) -> str:
    """Fit and measure ours with neighbours that one person's support is enough for."""
    started, model = time.perf_counter(), default.fitted(task)[1]
    split, users = default.reported(task, model)
    said = []
    for point in measured(
        read_index(model.stream_path), model.codes, model.neighbours, model.weights, split,
        default.SIZES, users=users, person=task.person, vectors=None, device=task.device,
        part=task.part,
    ):  # fmt: skip
        more = {"file_bytes": point.file_bytes, "dimensions": model.table.dimensions}
        size, config = point.bytes_per_item, {"min_support": 1}
        equal_bytes.record(task, task.method, size, point.found, split, started, config, **more)
        said.append(f"{size:g}: {point.found.metrics['recall@50']:.4f}")
    return f"{task}: {', '.join(said)}"


def fit(task: Task) -> str:
    """Fit and measure ours; then the simple orders, and its codes without lists."""
    said = default.work(task)
    _, model = default.fitted(task)
    split, users = default.reported(task, model)
    preset = default.preset_of(task)
    coded = Coded(split, model.table, model.codes, model.neighbours, preset)
    started = time.perf_counter()
    for method, order in orders_of(coded, model).items():
        for point in coded.points(
            order, model.weights, default.SIZES,
            users=users, person=task.person, device=task.device, part=task.part,
        ):  # fmt: skip
            more = {"file_bytes": point.file_bytes, "dimensions": model.table.dimensions}
            size = point.bytes_per_item
            equal_bytes.record(task, method, size, point.found, split, started, {}, **more)
    return said


def orders_of(coded: Coded, model: Model) -> dict[str, Order]:
    """The simple orders by name, with as many columns for each neighbour as the found one."""
    chosen = model.about["order"]
    config = replace(coded.preset.order.order, columns_per_slot=chosen["columns_per_slot"])

    def made(slots: int, lead: int) -> Order:
        codes = coded.codes
        return make_order(codes.n_items, codes.n_columns, slots, replace(config, lead=lead),
                          least=coded.least)  # fmt: skip

    slots = coded.neighbours.slots
    return {ALIKE: made(slots, 0), POPULAR: made(slots, config.lead), CODES: made(0, 0)}


@app.command()
def draw() -> None:
    """Print the tables, and draw ours beside the strongest rivals."""
    part = verdicts.best_part()
    found = verdicts.measured(part)
    for dataset in tables.datasets(found):
        for metric in verdicts.METRICS:
            print(f"{tables.title(dataset)}, {metric}, {part}")
            print(verdicts.whole_table(dataset, metric, part))
    print(decomposition())
    shown = {default.METHOD: figures.OURS}
    others = ("opq + lists", "int8 + lists", "sparse linear", "itemknn", POPULARITY)
    figures.quality_by_size(
        equal_bytes.EXPERIMENT,
        found,
        shown | dict(zip(others, (figures.SECOND, *figures.OTHERS), strict=False)),
    )


def decomposition(metric: str = "recall@50") -> str:
    """What each step of ours is worth, by data set and size."""
    found = verdicts.measured(verdicts.best_part())
    rows = []
    for dataset in tables.datasets(found):
        for size in STEP_SIZES:
            here = [
                tables.cells(found, dataset=dataset, method=method).get(size, [])
                for method in STEPS
            ]
            if any(here):
                values = [tables.shown(cell, metric) for cell in here]
                rows.append([tables.title(dataset), f"{size:g}", *values])
    return tables.table(["data set", "bytes per item", *STEPS.values()], rows)


if __name__ == "__main__":
    app()
