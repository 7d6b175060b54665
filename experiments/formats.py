"""The stream against the first release's format, on one table per data set.

    python -m experiments.formats run --data local [--dataset gowalla] [--tables DIR] [--jobs 4]
    python -m experiments.formats draw

`all alike` is the stream in which all items climb together, decoded and measured as a device ranks.
`format 3` has the same table, neighbour lists and bytes: of its rows that fit, the one and the vote
weight that are best on the choosing half. Both are reported on the other half of the users.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from elasticrec.data.split import Split
from elasticrec.data.splitting import by_popularity
from elasticrec.evaluation.measure import Votes, add_votes
from elasticrec.evaluation.ranking import (
    Evaluation,
    evaluate_scores,
    pick_device,
    queries_of,
)
from elasticrec.presets import PRESETS
from elasticrec.space import Composition
from experiments import command, comparing, tables
from experiments.command import Task
from experiments.format3 import Format3, Row, encode
from experiments.provenance import LIBRARY, code_hash
from experiments.streams import METRICS, Coded, chooser, trained

EXPERIMENT = "formats"
DATASETS = "gowalla,yelp2018,amazon-book,goodbooks"
SIZES = (4, 6, 8, 11, 20, 54, 110, 270)
STREAM, OLD = "all alike", "format 3"
STREAM_FORMAT = 4
ALIKE = replace(PRESETS["default"].order.order, lead=0)
"""All items climb together, a column or a neighbour at a time."""
CODE = (*LIBRARY, "experiments/formats.py", "experiments/format3.py", "experiments/streams.py")
WEIGHTS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Vote weights tried, times the one at which votes spread as widely as scores do; and 0."""
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
        for name in command.datasets_in(data, dataset)
        for seed in command.seeds_of(seeds)
    ]
    last = {"method": OLD, "bytes_per_item": SIZES[-1], "code_hash": code_hash(*CODE)}
    command.measure_missing(
        EXPERIMENT, wanted, work, lambda _: last, jobs=jobs, minutes=minutes, again=again
    )
    print(f"{comparing.compare(EXPERIMENT, (STREAM,))} tests made")


def work(task: Task) -> str:
    """Measure one table in both formats; its Recall@50 at every size."""
    split, order = by_popularity(Split.load(task.path))
    halves = comparing.halves(split, most=task.users)
    preset = PRESETS["default"].seeded(task.seed)
    preset = replace(preset, order=replace(preset.order, order=ALIKE, leads=(0,)))
    learnt = chooser(split, halves.choosing)
    table = trained(task, learnt, preset.train, order)
    coded = Coded.make(split, table, preset, halves.choosing, task.device)
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
    for size in SIZES:
        started = time.perf_counter()
        budget_bytes = round(size * coded.split.n_items)
        best = best_row(old, coded, budget_bytes, halves.choosing, task.device)
        if best is None:
            continue
        row, weight = best
        found = Old(old, row, coded, task.device).measure(halves.reporting, weight)
        fields = {
            "method": OLD, "bytes_per_item": size, "format": 3, "file_bytes": old.n_bytes(row),
            "seconds": round(time.perf_counter() - started, 2),
            "chosen": {"planes": sum(row.depths), "neighbours": row.neighbours, "weight": weight},
        }  # fmt: skip
        yield _record(task, coded, fields, found)


def _record(task: Task, coded: Coded, fields: dict[str, Any], found: Evaluation) -> str:
    """Append one line; its Recall@50."""
    about = {
        **task.about, "dimensions": coded.table.dimensions,
        "config": coded.preset.seeded(0).as_dict() | ({"train": "kept"} if task.tables else {}),
        "code_hash": code_hash(*CODE),
    }  # fmt: skip
    comparing.record(EXPERIMENT, about | fields, found, split=coded.split)
    return f"{found.metrics['recall@50']:.4f}"


def best_row(
    old: Format3, coded: Coded, budget_bytes: int, users: np.ndarray, device: str
) -> tuple[Row, float] | None:
    """The row within a budget, and its vote weight, that rank some users best, if any fits."""
    best: tuple[float, Row, float] | None = None
    for row in old.rows(budget_bytes, coded.neighbours.slots):
        scorer = Old(old, row, coded, device)
        unit = scorer.even_weight(users) if row.neighbours else 0.0
        for weight in (0.0, *(unit * w for w in WEIGHTS)) if unit else (0.0,):
            quality = scorer.measure(users, weight).metrics["recall@50"]
            if best is None or quality > best[0]:
                best = quality, row, weight
    return None if best is None else best[1:]


class Old:
    """Scores as the first release had them: products with decoded vectors, plus votes."""

    def __init__(self, old: Format3, row: Row, coded: Coded, device: str) -> None:
        import torch

        self.split, self.device = coded.split, pick_device(device)
        vectors = old.vectors(row)
        self.units = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        self.items = torch.from_numpy(vectors).to(self.device)
        V = self.split.n_items
        kept = Composition.uniform(V, 0, row.neighbours)
        largest = 1 / float(coded.neighbours.values.max())
        self.votes = Votes(coded.neighbours, np.full((1, 2), largest), kept, "history")

    def measure(self, users: np.ndarray, weight: float) -> Evaluation:
        """Metrics of some users' validation items."""
        asked = queries_of(self.split, "validation", users)
        score = self._scorer(asked.users, weight)
        return evaluate_scores(
            score, asked, metrics=METRICS, device=self.device,
        )  # fmt: skip

    def even_weight(self, users: np.ndarray) -> float:
        """The weight at which votes spread as widely as scores do, by a few users."""
        some = users[:: max(1, len(users) // 256)]
        dense = self._scorer(some, 0.0)(0, len(some))
        votes = self._votes(some)
        spread = float(np.sqrt(np.square(votes.data).mean())) if votes.nnz else 0.0
        return float(dense.std(dim=1).mean()) / spread if spread > 0 else 0.0

    def _scorer(self, users: np.ndarray, weight: float) -> Any:
        import torch

        sums = self.split.train.rows(users).csr() @ self.units
        sums /= np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)
        persons = torch.from_numpy(sums.astype(np.float32)).to(self.device)
        votes = self._votes(users) * np.float32(weight) if weight else None

        def score(start: int, stop: int) -> Any:
            scores = persons[start:stop] @ self.items.T
            if votes is not None:
                add_votes(scores, votes[start:stop])
            return scores

        return score

    def _votes(self, users: np.ndarray) -> Any:
        return self.votes.of(self.split.train.rows(users))


@app.command()
def draw() -> None:
    """Print the table of what `run` measured."""
    print(leads())


def leads(metric: str = "recall@50") -> str:
    """The stream beside format 3, by data set and size."""
    return tables.leads_table(tables.leads(EXPERIMENT, STREAM, OLD, metric), STREAM, OLD)


if __name__ == "__main__":
    app()
