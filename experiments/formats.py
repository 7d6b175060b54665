"""The stream against the first release's format, on one table per data set.

    python -m experiments.formats run --data local [--dataset gowalla] [--tables DIR] [--jobs 4]
    python -m experiments.formats draw

`all alike` is the stream in which all items climb together, decoded and measured as a device ranks.
`format 3` has the same table, neighbour lists and bytes: of its rows that fit, the one and the vote
weight that are best on 5,000 users of the choosing half. Both are reported on the other half.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from torch import Tensor

from elasticrec.data.split import Split
from elasticrec.data.splitting import by_popularity
from elasticrec.evaluation.ranking import Evaluation
from elasticrec.presets import PRESETS
from experiments import command, comparing, default, equal_bytes, tables
from experiments.command import Task
from experiments.format3 import Format3, Row, encode
from experiments.provenance import code_hash
from experiments.ranking import Ranker, Votes, recall
from experiments.streams import Coded

EXPERIMENT = "formats"
DATASETS = "gowalla,yelp2018,amazon-book,goodbooks"
SIZES = (4, 6, 8, 11, 20, 54, 110, 270)
STREAM, OLD = "all alike", "format 3"
STREAM_FORMAT = 4
ALIKE = replace(PRESETS["default"].order.order, lead=0)
"""All items climb together, a column or a neighbour at a time."""
CODE = (*equal_bytes.CODE, "experiments/formats.py", "experiments/format3.py")
CHOOSING = 5_000
"""Users, about, by whom rows and vote weights of format 3 are chosen."""
app = command.make_app(__doc__)


@app.command()
def run(
    dataset: command.Datasets = DATASETS,
    data: command.Data = command.LOCAL,
    seeds: command.Seeds = "0",
    tables_in: command.Tables = None,
    users: command.Users = 0,
    device: command.Device = "auto",
    jobs: command.Jobs = 1,
    minutes: command.Minutes = None,
    again: command.Again = False,
) -> None:
    """Measure both formats at every size, and compare them."""
    wanted = [
        Task(name, seed, data, device, users, tables_in)
        for seed in command.seeds_of(seeds)
        for name in command.datasets_in(data, dataset)
    ]
    last = {"method": OLD, "bytes_per_item": SIZES[-1], "code_hash": code_hash(*CODE)}
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
    print(f"{comparing.compare(EXPERIMENT, (STREAM,))} tests made")


def expected_seconds(task: Task, split: Split) -> float:
    """Seconds of a process beside a dozen others; 30 + 30 · scores where `blocks` made the fit."""
    del task  # all are alike
    pairs, scores = len(split.train) / 1e6, split.n_users * split.n_items / 1e9
    return 90 + 140 * pairs + 30 * scores


def work(task: Task) -> str:
    """Measure one table in both formats; its Recall@50 at every size."""
    split, order = by_popularity(Split.load(task.path))
    halves = comparing.halves(split, most=task.users)
    preset = PRESETS["default"].seeded(task.seed)
    preset = replace(preset, order=replace(preset.order, order=ALIKE, leads=(0,)))
    coded = replace(default.compressed(task, split, order)[0], preset=preset)
    new = list(measure_stream(task, coded, halves))
    old = list(measure_format3(task, coded, halves))
    return f"{task}: {STREAM} {' '.join(new)}; {OLD} {' '.join(old)}"


def measure_stream(task: Task, coded: Coded, halves: comparing.Halves) -> Iterator[str]:
    """Measure the stream at every size; each Recall@50 as it comes."""
    found = coded.find(halves.choosing, coded.preset.order, task.device)
    started = time.perf_counter()
    for point in coded.points(
        found.order, found.weights, SIZES,
        users=halves.reporting, person="history", device=task.device,
    ):  # fmt: skip
        fields = {
            "method": STREAM, "bytes_per_item": point.bytes_per_item, "format": STREAM_FORMAT,
            "file_bytes": point.file_bytes, "seconds": round(time.perf_counter() - started, 2),
            "chosen": {"order": asdict(found.config), "choices": [str(c) for c in found.choices]},
        }  # fmt: skip
        yield _record(task, coded, fields, point.found)
        started = time.perf_counter()


def measure_format3(task: Task, coded: Coded, halves: comparing.Halves) -> Iterator[str]:
    """Measure format 3 at every size; each Recall@50 as it comes."""
    _, items = coded.table.effective(coded.split.train.per_item)
    old = encode(items, seed=task.seed)
    some = halves.choosing[:: max(1, len(halves.choosing) // CHOOSING)]
    choosing, reporting = (
        Old(Ranker(coded.split, "validation", users, task.device, coded.table.recency), coded, old)
        for users in (some, halves.reporting)
    )
    for size in SIZES:
        started = time.perf_counter()
        best = choosing.best_row(round(size * coded.split.n_items))
        if best is None:
            continue
        row, weight = best
        fields = {
            "method": OLD, "bytes_per_item": size, "format": 3, "file_bytes": old.n_bytes(row),
            "seconds": round(time.perf_counter() - started, 2),
            "chosen": {"planes": sum(row.depths), "neighbours": row.neighbours, "weight": weight},
        }  # fmt: skip
        yield _record(task, coded, fields, reporting.measure(row, weight))


def _record(task: Task, coded: Coded, fields: dict[str, Any], found: Evaluation) -> str:
    """Append one line; its Recall@50."""
    about = {
        **task.about, "dimensions": coded.table.dimensions,
        "config": coded.preset.seeded(0).as_dict() | ({"train": "kept"} if task.tables else {}),
        "code_hash": code_hash(*CODE),
    }  # fmt: skip
    comparing.record(EXPERIMENT, about | fields, found, split=coded.split)
    return f"{found.metrics['recall@50']:.4f}"


@dataclass(frozen=True, eq=False)
class Old:
    """Scores as the first release had them: products with decoded vectors, plus votes."""

    ranker: Ranker
    """The users who are ranked for."""
    coded: Coded
    old: Format3

    def best_row(self, budget_bytes: int) -> tuple[Row, float] | None:
        """The row within a budget, and its vote weight, that rank the users best, if any fits."""
        best: tuple[float, Row, float] | None = None
        weight = equal_bytes.FIRST_WEIGHT
        for row in self.old.rows(budget_bytes, self.coded.neighbours.slots):
            vectors, votes = self._decoded(row)
            tried = [(recall(self.ranker.evaluate(vectors, metrics=("recall@50",))), 0.0)]
            if votes is not None:
                value, weight, _ = equal_bytes.weighed(self.ranker, vectors, votes, weight)
                tried.append((value, weight))
            value, chosen = max(tried)
            if best is None or value > best[0]:
                best = value, row, chosen
        return None if best is None else best[1:]

    def measure(self, row: Row, weight: float) -> Evaluation:
        """Metrics of the users' validation items."""
        vectors, votes = self._decoded(row)
        return self.ranker.evaluate(vectors, votes if weight else None, weight)

    def _decoded(self, row: Row) -> tuple[Tensor, Votes | None]:
        """Vectors of a row, whose lengths count for items alone, and the votes of its lists."""
        vectors, k = torch.from_numpy(self.old.vectors(row)).to(self.ranker.device), row.neighbours
        self.ranker.factors = vectors.norm(dim=1)
        if not k:
            return vectors, None
        return vectors, Votes.of_neighbours(self.coded.neighbours, k, self.ranker.device)


@app.command()
def draw() -> None:
    """Print the table of what `run` measured."""
    print(leads())


def leads(metric: str = "recall@50") -> str:
    """The stream beside format 3, by data set and size."""
    return tables.leads_table(tables.leads(EXPERIMENT, STREAM, OLD, metric), STREAM, OLD)


if __name__ == "__main__":
    app()
