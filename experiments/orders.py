"""The order of the stream: the one that `fit` finds beside two simple ones.

    python -m experiments.orders run --data local [--dataset gowalla] [--person history] [--jobs 4]
    python -m experiments.orders draw

All orders have the table, codes, lists and vote weights of one fit of the default preset, or of
one table trained before. The found order and the vote weights are chosen on one half of the
validation users; every order is reported on the other half. Fits are shared with `blocks`.
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
from experiments import command, comparing, default, figures, lines, tables
from experiments.command import Task, Text
from experiments.provenance import code_hash
from experiments.streams import Coded

EXPERIMENT = "orders"
DATASETS = "amazon-book,yelp2018,gowalla,goodbooks,amazon-sports,anime"
SIZES = (4, 6, 11, 20, 33, 54, 110, 270)
ALIKE, POPULAR, FOUND = "all alike", "popular first", "found"
COLOURS = {FOUND: figures.OURS, POPULAR: figures.SECOND, ALIKE: figures.OTHERS[0]}
BASES: dict[Person, Literal["history", "mf"]] = {"history": "history", "vector": "mf"}
"""The base that is trained for each kind of person."""
FORMAT = 4
CODE = (*default.CODE, "experiments/orders.py")
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
        Task(name, seed, data, device, users, tables_in, kind, base=BASES[kind])
        for seed in command.seeds_of(seeds)
        for name in command.datasets_in(data, dataset)
        for kind in command.persons_of(person)
    ]
    last = {"method": FOUND, "bytes_per_item": SIZES[-1], "code_hash": code_hash(*CODE)}
    command.measure_missing(
        EXPERIMENT,
        wanted,
        work,
        lambda _: last,
        jobs=jobs,
        minutes=minutes,
        again=again,
        expected=expected_seconds,
    )
    print(f"{comparing.compare(EXPERIMENT, (FOUND, POPULAR))} tests made")


def expected_seconds(task: Task, split: Split) -> float:
    """Seconds of a process beside a dozen others; 10 + 20 · scores where `blocks` made the fit."""
    del task  # all are alike
    pairs, scores = len(split.train) / 1e6, split.n_users * split.n_items / 1e9
    return 70 + 140 * pairs + 20 * scores


def work(task: Task) -> str:
    """Measure three orders of one table; what the found one is."""
    split, order = by_popularity(Split.load(task.path))
    reporting = comparing.halves(split, most=task.users).reporting
    coded, found = default.compressed(task, split, order)
    for method, made in orders_of(coded, found).items():
        started = time.perf_counter()
        for point in coded.points(
            made, found.weights, SIZES,
            users=reporting, person=task.person, device=task.device,
        ):  # fmt: skip
            fields = {
                **task.about, "method": method, "bytes_per_item": point.bytes_per_item,
                "file_bytes": point.file_bytes, "dimensions": coded.table.dimensions,
                "format": FORMAT,
                "seconds": round(time.perf_counter() - started, 2), "code_hash": code_hash(*CODE),
                "config": coded.preset.seeded(0).as_dict(),
                "chosen": {"order": asdict(found.config)},
            }  # fmt: skip
            comparing.record(EXPERIMENT, fields, point.found, split=split)
            started = time.perf_counter()
    return f"{task}: {found.config.name}"


def orders_of(coded: Coded, found: FoundOrder) -> dict[str, Order]:
    """The two simple orders, popular items by the default lead, and the found one, by name."""
    config = coded.preset.order.order
    simple = {ALIKE: replace(config, lead=0), POPULAR: config}
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
