"""Privacy: what a stream reveals of the people it is made from, and what support costs.

    python -m experiments.privacy run --data local [--dataset gowalla] [--kinds attack,cost]
    python -m experiments.privacy draw

`attack` makes a stream of a random half of the users, and counts what it tells an attacker about
them beyond what is true of the other half (`attacking`); of her ways to read it the worst counts.
`cost` measures streams of all users, the same but for the support behind each neighbour.
"""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from statistics import mean

import numpy as np

from elasticrec.compression.neighbours import Neighbours, make_neighbours
from elasticrec.data.split import Split
from elasticrec.data.splitting import by_popularity
from elasticrec.evaluation.measure import measure
from elasticrec.ordering.order import cut, make_order
from elasticrec.presets import PRESETS
from elasticrec.space import Composition
from elasticrec.training.table import unit
from experiments import command, comparing, default, lines, tables
from experiments.attacking import CODES, Persons, attacks
from experiments.command import Task, Text
from experiments.provenance import LIBRARY, code_hash
from experiments.streams import METRICS, Coded, trained

EXPERIMENT, METRIC = "privacy", "recall@50"
DATASETS = "goodbooks,gowalla,yelp2018,amazon-sports"
SUPPORTS = (1, 3, 5, 7)
SIZES = (6, 11, 54)
WHOLE = 1000
"""More bytes per item than any stream has."""
LISTS = (2, 5)
"""Lengths of lists that are measured alone."""
FILLED = "support 5, filled"
"""Lists whose empty slots are filled."""
METHODS = (*(f"support {n}" for n in SUPPORTS), FILLED)
LAST = {
    "attack": {"method": f"both, {FILLED}", "bytes_per_item": WHOLE},
    "cost": {"method": FILLED, "bytes_per_item": SIZES[-1]},
}
"""What each kind measures last."""
FORMAT = 4
CODE = (*LIBRARY, "experiments/attacking.py", "experiments/privacy.py",
        "experiments/streams.py")  # fmt: skip
app = command.make_app(__doc__)


@app.command()
def run(
    dataset: command.Datasets = DATASETS,
    data: command.Data = command.LOCAL,
    kinds: Text = "attack,cost",
    seeds: command.Seeds = "0",
    tables_in: command.Tables = None,
    users: command.Users = 3_000,
    device: command.Device = "auto",
    jobs: command.Jobs = 1,
    minutes: command.Minutes = None,
    again: command.Again = False,
) -> None:
    """Attack streams of half of the users, and measure what support costs."""
    wanted = [
        Task(name, seed, data, device, users, tables_in if kind == "cost" else None, method=kind)
        for name in command.datasets_in(data, dataset)
        for kind in command.named(kinds)
        for seed in command.seeds_of(seeds)
    ]

    def last(task: Task) -> dict[str, object]:
        return {**LAST[task.method], "code_hash": code_hash(*CODE)}

    command.measure_missing(EXPERIMENT, wanted, work, last, jobs=jobs, minutes=minutes, again=again)
    print(f"{comparing.compare(EXPERIMENT, [f'support {n}' for n in SUPPORTS])} tests made")


def work(task: Task) -> str:
    """Do one kind of measurement on one data set."""
    return {"attack": attack, "cost": cost}[task.method](task)


def halved(split: Split, seed: int) -> tuple[Split, np.ndarray]:
    """The split of a random half of the users, and (U,) bool who they are."""
    member = np.random.default_rng(seed).permutation(split.n_users) % 2 == 0
    rows = np.flatnonzero(member)
    parts = {part: getattr(split, part).rows(rows) for part in ("train", "validation", "test")}
    return replace(split, user_ids=split.user_ids.take(rows), **parts), member


def lists_of(coded: Coded) -> dict[str, Neighbours]:
    """The lists of each support, and of one with empty slots filled by the nearest vectors."""
    train, config = coded.split.train, coded.preset.compression
    lists = {
        f"support {n}": make_neighbours(train, replace(config, min_support=n)) for n in SUPPORTS
    }
    return lists | {FILLED: filled(lists[FILLED.partition(",")[0]], coded.table.items)}


def attack(task: Task) -> str:
    """Attack prefixes of the stream that a half of the users makes; extra guesses of whole ones."""
    split, _ = by_popularity(Split.load(task.path))
    half, member = halved(split, task.seed)
    half, order = by_popularity(half)
    preset = PRESETS["default"].seeded(task.seed)
    coded = Coded.make(half, trained(task, half, preset.train), preset, task.device)
    lists = lists_of(coded)
    persons = Persons.draw(split.renumbered(order).train, member, task.users, task.seed)
    made = make_order(
        half.n_items, coded.codes.n_columns, coded.neighbours.slots, preset.order.order,
        least=coded.least,
    )  # fmt: skip
    said = []
    for size in (*SIZES, WHOLE):
        seen = cut(made, coded.codes, size * half.n_items)
        for method, reading, extra in attacks(persons, coded.codes, lists, seen):
            about = fields_of(task, coded) | {"method": method, "bytes_per_item": size}
            about |= {"metrics": extra._asdict() | {"users": len(persons.users)}}
            about |= {"split": split.kind, "chosen": {"reading": reading}}
            lines.append(EXPERIMENT, about)
            said.append(f"{size} {method} {extra.extra:.3f}")
    return f"{task}: {'; '.join(said)}"


def fields_of(task: Task, coded: Coded) -> dict[str, object]:
    """What every line says of the task, the settings and the code."""
    return {
        **task.about, "format": FORMAT, "config": coded.preset.seeded(0).as_dict(),
        "code_hash": code_hash(*CODE),
    }  # fmt: skip


def filled(lists: Neighbours, items: np.ndarray, at_once: int = 512) -> Neighbours:
    """The lists, empty slots filled from the items nearest by vectors, with the lowest vote.

    Args:
        items: (V, D) vectors of the table.
    """
    items = unit(items)
    numbers, votes = lists.numbers.copy(), lists.votes.copy()
    for start in range(0, lists.n_items, at_once):
        cosines = items[start : start + at_once] @ items.T
        for row, near in enumerate(np.argpartition(-cosines, lists.slots, axis=1)):
            target = start + row
            free = np.flatnonzero(votes[target] == 0)
            best = near[: lists.slots + 1][np.argsort(-cosines[row, near[: lists.slots + 1]])]
            new = best[~np.isin(best, numbers[target, : free[0]] if len(free) else best)]
            new = new[new != target][: len(free)]
            numbers[target, free[: len(new)]] = new
            votes[target, free[: len(new)]] = 1
    return replace(lists, numbers=numbers, votes=votes)


def cost(task: Task) -> str:
    """Measure lists alone and streams at each support; Recall@50 of all."""
    split, order = by_popularity(Split.load(task.path))
    halves = comparing.halves(split, most=task.users)
    coded, found = default.compressed(task, split, order)
    said = []
    for method, each in lists_of(coded).items():
        about = fields_of(task, coded) | {"method": method}
        for n in LISTS:
            seen = Composition(np.zeros(split.n_items, np.int64), np.full(split.n_items, n))
            alone = measure(
                coded.codes, each, found.weights, seen, split, users=halves.reporting,
                metrics=METRICS, device=task.device,
            )  # fmt: skip
            size = {"method": f"{n} alone, {method}", "bytes_per_item": bytes_of(n, split.n_items)}
            comparing.record(EXPERIMENT, about | size, alone, split=split)
            said.append(f"{n} alone, {method} {alone.metrics['recall@50']:.4f}")
        for point in replace(coded, neighbours=each).points(
            found.order, found.weights, SIZES,
            users=halves.reporting, person="history", device=task.device,
        ):  # fmt: skip
            size = {"bytes_per_item": point.bytes_per_item, "file_bytes": point.file_bytes}
            comparing.record(EXPERIMENT, about | size, point.found, split=split)
            said.append(
                f"{point.bytes_per_item:g}, {method} {point.found.metrics['recall@50']:.4f}"
            )
    return f"{task}: {'; '.join(said)}"


def bytes_of(n: int, n_items: int) -> float:
    """Bytes per item of lists of n: a number and four bits of vote for each neighbour."""
    return n * ((n_items - 1).bit_length() + 4) / 8


@app.command()
def draw() -> None:
    """Print what an attacker gains, and what support costs."""
    print(gains(), costs(), sep="\n")


def gains() -> str:
    """Extra correct guesses per person ± standard error, by data set, method and size."""
    found = [line for line in lines.latest(EXPERIMENT) if "extra" in line["metrics"]]
    sizes = (*SIZES, WHOLE)
    methods = (CODES, *(f"{what}, {name}" for what in ("lists", "both") for name in METHODS))
    rows = []
    for dataset in tables.datasets(found):
        for method in methods:
            here = tables.cells(found, dataset=dataset, method=method)
            values = [_extra(here.get(size, [])) for size in sizes]
            rows.append([tables.title(dataset), method, *values])
    head = [*(f"{size} bytes per item" for size in SIZES), "whole"]
    return tables.table(["data set", "read", *head], rows)


def _extra(found: list[lines.Line]) -> str:
    """Mean and standard error over seeds."""
    if not found:
        return tables.EMPTY
    value = mean(line["metrics"]["extra"] for line in found)
    error = sqrt(sum(line["metrics"]["error"] ** 2 for line in found)) / len(found)
    return f"{value:.3f} ± {error:.3f}"


def costs() -> str:
    """Recall@50 by data set and what is measured, at each support."""
    found = [line for line in lines.latest(EXPERIMENT) if METRIC in line["metrics"]]
    rows = []
    for dataset in tables.datasets(found):
        here = [line for line in found if line["dataset"] == dataset]
        parts: list[tuple[str, str, int | None]] = []
        parts += [(f"lists of {n} alone", f"{n} alone, ", None) for n in LISTS]
        parts += [(f"{size} bytes per item", "", size) for size in SIZES]
        for part, before, size in parts:
            cells = [
                [x for x in here if x["method"] == before + name
                 and size in (None, x["bytes_per_item"])]
                for name in METHODS
            ]  # fmt: skip
            rows.append([tables.title(dataset), part, *(tables.shown(x, METRIC) for x in cells)])
    return tables.table(["data set", "ranked by", *METHODS], rows)


if __name__ == "__main__":
    app()
