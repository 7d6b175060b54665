"""The order of the stream: the one that `fit` finds beside two simple ones.

    python -m experiments.orders run --data local [--dataset gowalla] [--person history] [--jobs 4]
    python -m experiments.orders draw

All orders have the same table, codes, lists and vote weights. The found order and the vote weights
are chosen on one half of the validation users; every order is reported on the other half.
"""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from typing import Literal

from elasticrec.data.split import Split
from elasticrec.data.splitting import by_popularity
from elasticrec.evaluation.measure import Person
from elasticrec.ordering.order import Order, make_order
from elasticrec.ordering.search import FoundOrder
from elasticrec.presets import PRESETS, Preset
from experiments import command, comparing, figures, lines, tables
from experiments.command import Task, Text
from experiments.provenance import LIBRARY, code_hash
from experiments.streams import Coded, chooser, trained

EXPERIMENT = "orders"
DATASETS = "gowalla,yelp2018,amazon-book,goodbooks"
SIZES = (4, 6, 11, 20, 33, 54, 110, 270)
ALIKE, POPULAR, FOUND = "all alike", "popular first", "found"
COLOURS = {FOUND: figures.OURS, POPULAR: figures.SECOND, ALIKE: figures.OTHERS[0]}
BASES: dict[Person, Literal["history", "mf"]] = {"history": "history", "vector": "mf"}
"""The base that is trained for each kind of person."""
FORMAT = 4
CODE = (*LIBRARY, "experiments/orders.py", "experiments/streams.py")
app = command.make_app(__doc__)


@app.command()
def run(
    dataset: command.Datasets = DATASETS,
    data: command.Data = command.LOCAL,
    person: Text = "history,vector",
    seeds: command.Seeds = "0",
    tables_in: command.Tables = None,
    users: command.Users = 0,
    device: command.Device = "auto",
    jobs: command.Jobs = 1,
    minutes: command.Minutes = None,
    again: command.Again = False,
) -> None:
    """Measure the three orders at every size, and compare them."""
    wanted = [
        Task(name, seed, data, device, users, tables_in, kind)
        for name in command.datasets_in(data, dataset)
        for kind in command.persons_of(person)
        for seed in command.seeds_of(seeds)
    ]
    last = {"method": FOUND, "bytes_per_item": SIZES[-1], "code_hash": code_hash(*CODE)}
    command.measure_missing(
        EXPERIMENT, wanted, work, lambda _: last, jobs=jobs, minutes=minutes, again=again
    )
    print(f"{comparing.compare(EXPERIMENT, (FOUND, POPULAR))} tests made")


def work(task: Task) -> str:
    """Measure three orders of one table; what the found one is."""
    split, order = by_popularity(Split.load(task.path))
    halves = comparing.halves(split, most=task.users)
    preset = preset_of(task)
    learnt = chooser(split, halves.choosing)
    table = trained(task, learnt, preset.train, order)
    coded = Coded.make(split, table, preset, halves.choosing, task.device)
    found = coded.find(halves.choosing, preset.order, task.device)
    for method, made in orders_of(coded, found).items():
        started = time.perf_counter()
        for point in coded.points(
            made, found.weights, SIZES,
            users=halves.reporting, person=task.person, device=task.device,
        ):  # fmt: skip
            fields = {
                **task.about, "method": method, "bytes_per_item": point.bytes_per_item,
                "file_bytes": point.file_bytes, "dimensions": table.dimensions, "format": FORMAT,
                "seconds": round(time.perf_counter() - started, 2), "code_hash": code_hash(*CODE),
                "config": preset.seeded(0).as_dict(),
                "chosen": {"order": asdict(found.config), "choices": list(map(str, found.choices))},
            }  # fmt: skip
            comparing.record(EXPERIMENT, fields, point.found, split=split)
            started = time.perf_counter()
    return f"{task}: {found.config.name}"


def preset_of(task: Task) -> Preset:
    """The default preset, with the base that serves the task's kind of person."""
    preset = PRESETS["default"].seeded(task.seed)
    return replace(preset, train=replace(preset.train, base=BASES[task.person]))


def orders_of(coded: Coded, found: FoundOrder) -> dict[str, Order]:
    """The two simple orders, popular items by the smallest lead, and the found one, by name."""
    default = coded.preset.order.order
    least = min(lead for lead in coded.preset.order.leads if lead)
    simple = {ALIKE: replace(default, lead=0), POPULAR: replace(default, lead=least)}
    codes, slots = coded.codes, coded.neighbours.slots
    made = {
        name: make_order(codes.n_items, codes.n_columns, slots, config, least=coded.least)
        for name, config in simple.items()
    }
    return made | {FOUND: found.order}


@app.command()
def draw() -> None:
    """Print leads of the found order, and draw the curves of all three."""
    for person in BASES:
        for simple in (ALIKE, POPULAR):
            if shown := leads(person, simple):
                print(f"{person}:\n{shown}")
    figures.quality_by_size("orders", lines.latest(EXPERIMENT), COLOURS, person="history")


def leads(person: Person, simple: str, metric: str = "recall@50") -> str:
    """The found order beside a simple one, by data set and size."""
    found = tables.leads(EXPERIMENT, FOUND, simple, metric, person=person)
    return tables.leads_table(found, FOUND, simple)


if __name__ == "__main__":
    app()
