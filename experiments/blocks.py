"""Blocks of equal information: users known by a vector from a server alone, by history, by both.

    python -m experiments.blocks run --data local [--dataset gowalla] [--bases mf] [--jobs 16]
    python -m experiments.blocks draw

`ours` fits the default preset with a base that has user vectors, or with `history`. Users known by
a vector alone are ranked for by the codes, without lists; those known by both get the whole file,
whose lists vote. Rivals code the items of the same table: alone for a vector alone, and for both
beside the same lists with one vote weight, chosen on validation users. A server knows what rivals
decode and sends a vector that suits it: their turns cost nothing. Rivals that are trained for each
size (`experiments.rivals`) know a vector alone, and stand in that block.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import mean
from typing import Annotated, Any

import numpy as np
import torch
import typer
from torch import Tensor
from torch.nn.functional import normalize

from elasticrec.data.split import Split
from elasticrec.errors import InputError
from elasticrec.evaluation.ranking import Evaluation, Part, holders
from elasticrec.model import Model
from elasticrec.ordering.order import make_order
from elasticrec.stream.chunk import read_index
from elasticrec.training.table import popularity_factors
from experiments import command, comparing, default, equal_bytes, lines, rivals, tables
from experiments.baselines.quantisers import QUANTISERS
from experiments.command import Base, Task
from experiments.provenance import code_hash
from experiments.ranking import Ranker
from experiments.streams import Coded, measured

EXPERIMENT = "blocks"
DATASETS = "gowalla,yelp2018,amazon-book,goodbooks,amazon-sports,anime"
BASES: tuple[Base, ...] = ("history", "mf", "lightgcn")
SIZES = (11, 54, 110)
OURS = default.METHOD
WORTH = 0.02
"""A vector that is worth more than this is worth sending."""
CODE = (*equal_bytes.CODE, "experiments/blocks.py")
app = command.make_app(__doc__)


@app.command()
def run(
    dataset: command.Datasets = DATASETS,
    data: command.Data = command.LOCAL,
    bases: Annotated[str, typer.Option(help="history, mf, lightgcn.")] = ",".join(BASES),
    only: Annotated[str, typer.Option("--methods", help="Methods; all by default.")] = "",
    seeds: command.Seeds = "0,1,2",
    part: Annotated[str, typer.Option(help="validation, or test.")] = "validation",
    users: command.Users = 0,
    device: command.Device = "auto",
    jobs: command.Jobs = 1,
    minutes: command.Minutes = None,
    again: command.Again = False,
) -> None:
    """Measure ours and codes of the same tables in each block, and compare them."""
    names = command.datasets_in(data, dataset)
    methods = _asked(only, [OURS, *QUANTISERS], "method")
    kinds = _asked(bases, BASES, "base")
    wanted = [
        Task(name, seed, data, device, users, person="vector", part=command.part_of(part),
             method=method, base=base)
        for phase in (methods[:1], methods[1:])  # codes need tables of ours
        for seed in command.seeds_of(seeds)
        for base in kinds
        for name in names
        for method in phase
        if method == OURS or base != "history"
    ]  # fmt: skip

    def last(task: Task) -> dict[str, object]:
        person = "history" if task.base == "history" else "both"
        return {"method": named(task), "person": person, "bytes_per_item": SIZES[-1],
                "code_hash": code_hash(*CODE)}  # fmt: skip

    command.measure_missing(
        EXPERIMENT,
        wanted,
        work,
        last,
        jobs=jobs,
        minutes=minutes,
        again=again,
        expected=expected_seconds,
    )
    ours = [f"{OURS} of {base}" for base in kinds]
    tests = comparing.compare(EXPERIMENT, ours, beside=(rivals.EXPERIMENT,), across=False)
    print(f"{tests} tests made")


def _asked(names: str, known: Sequence[Any], kind: str) -> list[Any]:
    """Those of some words that a list names; all where it names none."""
    if unknown := set(command.named(names)) - set(known):
        raise InputError(f"no {kind} is called {min(unknown)}; expected {', '.join(known)}")
    return [name for name in known if name in command.named(names) or not names]


def expected_seconds(task: Task, split: Split) -> float:
    """Seconds of one process beside a dozen others, by what fits and codes of Table 2 took."""
    pairs, scores = len(split.train) / 1e6, split.n_users * split.n_items / 1e9
    if task.method == OURS:
        return 60 + (180 if task.base == "lightgcn" else 140) * pairs
    return 20 + 3 * scores


def named(task: Task) -> str:
    """A method with its base."""
    return f"{task.method} of {task.base}"


def work(task: Task) -> str:
    """Measure ours or the codes of one rival in its blocks."""
    before, model = default.fitted(replace(task, method=OURS))
    split, users = default.reported(task, model)
    measure = ours if task.method == OURS else coded
    started, said = time.perf_counter(), []
    for person, size, found, more in measure(task, before, model, split, users):
        fields = {
            **task.about, "method": named(task), "person": person, "bytes_per_item": size,
            "format": default.FORMAT, "dimensions": model.table.dimensions,
            "config": {"base": task.base, "preset": default.preset_of(task).seeded(0).as_dict()},
            "code_hash": code_hash(*CODE), "seconds": round(time.perf_counter() - started, 2),
            **more,
        }  # fmt: skip
        comparing.record(EXPERIMENT, fields, found, split=split)
        said.append(f"{person} {size:g}: {found.metrics['recall@50']:.4f}")
    return f"{task}: {', '.join(said)}"


Found = Iterator[tuple[str, float, Evaluation, dict[str, Any]]]
"""What is known of a user, bytes per item, metrics, and further fields."""


def ours(task: Task, before: Model, model: Model, split: Split, users: np.ndarray | None) -> Found:
    """The codes alone by the vectors alone, and the whole file by both; or by history."""
    del before
    codes, slots = model.codes, 0
    config = replace(default.preset_of(task).order.order, lead=0)
    preset = default.preset_of(task)
    made = Coded(split, model.table, codes, model.neighbours, preset)
    alone = make_order(codes.n_items, codes.n_columns, slots, config, least=made.least)
    files = {"both": read_index(model.stream_path), "vector": made.stream(alone, model.weights)}
    if task.base == "history":
        files = {"history": files["both"]}
    for person, index in files.items():
        for point in measured(
            index, codes, model.neighbours, model.weights, split, SIZES, users=users,
            person="history" if person == "history" else "vector", part=task.part,
            vectors=model.server_vectors(), device=task.device,
        ):  # fmt: skip
            yield person, point.bytes_per_item, point.found, {"file_bytes": point.file_bytes}


def coded(task: Task, before: Model, model: Model, split: Split, users: np.ndarray | None) -> Found:
    """A rival's codes by vectors alone, and beside lists by both."""
    able = holders(before.split)
    some = able[:: max(1, len(able) // equal_bytes.TUNING_USERS)]
    ranker = ByVector(before, before.split, task, some, "validation")
    tuned = equal_bytes.tuned_codes(task, before, ranker, SIZES)
    chosen = {size: config for size, _, config in tuned}
    ranker = ByVector(model, split, task, users, task.part)
    for lists, size, found, config in equal_bytes.measured_codes(task, model, ranker, chosen):
        yield "both" if lists else "vector", size, found, {"chosen": config}


class ByVector(Ranker):
    """Users known by the vectors of a model's table."""

    def __init__(
        self, model: Model, split: Split, task: Task, users: np.ndarray | None, part: Part
    ) -> None:
        table = model.table
        factors = popularity_factors(split.train.per_item, table.popularity_exponent)
        super().__init__(split, part, users, task.device, table.recency, factors)
        assert table.users is not None
        vectors = torch.from_numpy(table.users[self.asked.users]).to(self.device)
        self.known = normalize(vectors, dim=1)
        self.whole = equal_bytes.units(model, self.device)

    def matrices(self, vectors: Tensor) -> tuple[Tensor, Tensor]:
        """Persons and items; what was decoded is turned back to where the vectors are."""
        y = vectors.to(self.device).double()
        moment = y.T @ y
        moment.diagonal().add_(1e-9 * moment.trace())
        turn = torch.linalg.solve(moment, y.T @ self.whole.double())
        return self.known, normalize((y @ turn).float(), dim=1) * self.factors[:, None]


@app.command()
def draw() -> None:
    """Print what a vector is worth, and ours beside rivals in each block."""
    print(worth())
    for person in ("vector", "both"):
        print(block(person))


def _part(found: Sequence[lines.Line]) -> str:
    return "test" if lines.holds(found, part="test") else "validation"


def worth(metric: str = "recall@50") -> str:
    """Ours by history, by vector and by both, and the lead of what is best over history."""
    everything, rows = lines.latest(EXPERIMENT), []
    found = [line for line in everything if line["part"] == _part(everything)]
    kinds = [("history", "history"), *((p, b) for b in BASES[1:] for p in ("vector", "both"))]
    for dataset in tables.datasets(found):
        cells = [
            tables.cells(found, dataset=dataset, person=person, method=f"{OURS} of {base}")
            for person, base in kinds
        ]
        for size in SIZES:
            here = [each.get(size, []) for each in cells]
            if not here[0] or not any(here[1:]):
                continue
            best = max(mean(x["metrics"][metric] for x in cell) for cell in here[1:] if cell)
            lead = best / mean(x["metrics"][metric] for x in here[0]) - 1
            said = f"**{lead:+.1%}**" if lead > WORTH else f"{lead:+.1%}"
            rows.append([tables.title(dataset), str(size), str(len(here[0])),
                         *(tables.shown(cell, metric) for cell in here), said])  # fmt: skip
    heads = [f"{person}, {base}" if base != "history" else "history" for person, base in kinds]
    return tables.table(["data set", "bytes per item", "seeds", *heads, "a vector's worth"], rows)


def block(person: str, metric: str = "recall@50") -> str:
    """Ours and its rivals in one block, by data set and size; leads with their tests."""
    everything = [
        *lines.latest(EXPERIMENT),
        *(lines.latest(rivals.EXPERIMENT) if person == "vector" else ()),
    ]
    part, rows = _part(everything), list[list[str]]()
    everything = [x for x in everything if x["part"] == part and x["person"] == person]
    for dataset in tables.datasets(everything):
        found = [line for line in everything if line["dataset"] == dataset]
        for method in dict.fromkeys(line["method"] for line in found):
            base = method.rpartition(" of ")[2] if " of " in method else BASES[1]
            leads = tables.leads(EXPERIMENT, f"{OURS} of {base}", method, metric, found=found,
                                 dataset=dataset, person=person, part=part)  # fmt: skip
            cells = tables.cells(found, method=method)
            row = [tables.title(dataset), method, str(max(map(len, cells.values())))]
            for size in SIZES:
                text = tables.shown(cells.get(size, []), metric)
                for lead in (x for x in leads if x.size == size and not method.startswith(OURS)):
                    bold = "**" if lead.p is not None and lead.p < comparing.ALPHA else ""
                    text += f" ({bold}{lead.relative:+.1%}{bold})"
                row.append(text)
            rows.append(row)
    return tables.table(["data set", "method", "seeds", *(f"{size:g}" for size in SIZES)], rows)


if __name__ == "__main__":
    app()
