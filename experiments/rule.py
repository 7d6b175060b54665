"""RULE itself: blocks of f32 chosen by search for a budget, beside one size for all groups.

    python -m experiments.rule run --data local [--dataset yelp2018] [--part test] [--jobs 4]
    python -m experiments.rule draw

`printed` has the paper's loss, score and scaling of Eq. 3, λ from its grid, and its accounting (f32
vectors alone, 10^6 bytes are a megabyte); users have a server vector. `aligned` lets block n meet
block n, with λ from the grid by validation and with λ = 0; `our loss` trains blocks with ours. Of
each, Alg. 2's choice stands beside all groups alike, which is one fixed dimension. A row with fewer
epochs or samples than the paper prints says so in its name.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from statistics import mean
from typing import Annotated, Any

import numpy as np
import torch
import typer

from elasticrec.changing import changed
from elasticrec.data.split import Split
from elasticrec.data.splitting import by_popularity
from elasticrec.evaluation.ranking import (
    Evaluation,
    Part,
    evaluate_vectors,
    pick_device,
    queries_of,
)
from elasticrec.model import Model
from elasticrec.presets import PRESETS, Preset
from elasticrec.rule.config import RuleConfig, SamplesConfig
from elasticrec.rule.customize import Rule
from elasticrec.rule.free_blocks import FreeBlocks
from elasticrec.rule.randomizer import uniform
from elasticrec.space import Budget
from elasticrec.stages import Stages
from elasticrec.training.config import TrainConfig
from elasticrec.training.table import folded
from experiments import command, comparing, default, lines, tables
from experiments.command import Task
from experiments.provenance import LIBRARY, code_hash
from experiments.streams import METRICS

EXPERIMENT = "rule"
SIZES = {"amazon-book": (54.6, 109.2, 272.9), "yelp2018": (47.2, 94.5, 236.2)}
"""Bytes per item at 5, 10 and 25 MB; Yelp2018 takes those of the paper's Yelp2020."""
MEGABYTES = (5, 10, 25)
PRESET = {"amazon-book": "paper-amazon-book", "yelp2018": "paper-yelp"}
GRID = (0.0, 1e-6, 1e-4, 1e-2)
"""λ in the paper's grid; 1e-4 is its choice."""
CHOSEN = 1e-4
VARIANTS = ("printed", "aligned", "aligned, λ = 0", "our loss")
SEARCHED, ALIKE = "searched", "all alike"
PRINTED_SAMPLES = SamplesConfig.printed().n_samples
CODE = (*LIBRARY, "experiments/rule.py")
app = command.make_app(__doc__)


@dataclass(frozen=True)
class RuleTask(Task):
    """One variant of RULE."""

    samples: int = PRINTED_SAMPLES
    """β."""
    epochs: int = 0
    """Epochs at most; 0: as the preset has them."""

    @property
    def name(self) -> str:
        """The variant, with what it has less than printed."""
        less = [f"{self.samples:,} samples"] if self.samples < PRINTED_SAMPLES else []
        less += [f"{self.epochs} epochs"] if self.epochs else []
        return f"RULE, {self.method}" + (f" ({', '.join(less)})" if less else "")


@app.command()
def run(
    dataset: command.Datasets = ",".join(SIZES),  # noqa: B008 – a constant
    data: command.Data = command.LOCAL,
    only: Annotated[str, typer.Option("--variants", help="Variants; all by default.")] = "",
    samples: Annotated[int, typer.Option(help="β: compositions that are measured.")] = (
        PRINTED_SAMPLES
    ),
    epochs: Annotated[int, typer.Option(help="Epochs at most; 0: the preset's.")] = 0,
    seeds: command.Seeds = "0",
    part: Annotated[
        str, typer.Option(help="validation; or test, once per release.")
    ] = "validation",
    device: command.Device = "auto",
    jobs: command.Jobs = 1,
    minutes: command.Minutes = None,
    again: command.Again = False,
) -> None:
    """Train, measure samples, fit the estimator, search each budget, and measure."""
    wanted = [
        RuleTask(name, seed, data, device, person="vector", part=command.part_of(part),
                 method=variant, samples=samples, epochs=epochs)
        for name in command.datasets_in(data, dataset)
        for seed in command.seeds_of(seeds)
        for variant in (only.split(";") if only else VARIANTS)
    ]  # fmt: skip

    def last(task: Task) -> dict[str, object]:
        assert isinstance(task, RuleTask)
        return {"method": f"{task.name}, {ALIKE}", "code_hash": code_hash(*CODE)}

    command.measure_missing(EXPERIMENT, wanted, work, last, jobs=jobs, minutes=minutes, again=again)
    names = {f"{task.name}, {SEARCHED}" for task in wanted}
    print(f"{comparing.compare(EXPERIMENT, sorted(names))} tests made")


def presets(task: RuleTask, split: Split) -> list[Preset]:
    """The trainings of a variant, of which the best on validation counts."""
    paper = PRESETS[PRESET.get(task.dataset, "paper-yelp")].seeded(task.seed)
    if task.epochs:
        paper = replace(paper, train=replace(paper.train, epochs=task.epochs))
    rule = replace(paper.rule, samples=replace(paper.rule.samples, n_samples=task.samples))
    paper = replace(paper, rule=rule)

    def with_train(**changes: Any) -> Preset:
        return replace(paper, train=replace(paper.train, **changes))

    if task.method == "printed":
        # Sums over triples and over items, as means: λ counts V / triples of what it does.
        literal = CHOSEN * split.n_items / len(split.train)
        return [with_train(diversity=literal)]
    if task.method == "our loss":
        ours: TrainConfig = replace(
            PRESETS["default"].train, base="mf", aggregation=True, seed=task.seed, temperatures=(),
            metric=paper.train.metric, popularity_exponent=0.0, recency=0.0,
            epochs=task.epochs,
        )  # fmt: skip
        return [replace(paper, train=ours)]
    weights = GRID if task.method == "aligned" else (0.0,)
    return [
        with_train(score="aligned", diversity=weight, diversity_form="bounded")
        for weight in weights
    ]


def work(task: Task) -> str:
    """Measure one variant at every budget."""
    assert isinstance(task, RuleTask)
    started, said = time.perf_counter(), []
    split, _ = by_popularity(Split.load(task.path))
    model, preset = trained(task, split)
    rule = OnDevice(model, preset.rule, task.device)
    estimator = rule.estimator()
    for mb, size in zip(MEGABYTES, SIZES.get(task.dataset, SIZES["yelp2018"]), strict=True):
        budget = Budget(round(size * split.n_items))
        found = {
            SEARCHED: rule.search(budget, estimator, task.seed).best.candidate,
            ALIKE: uniform(rule.space, budget),
        }
        for how, candidate in found.items():
            measured = rule.measured(candidate, task.part)
            counts = rule.space.counts(candidate)
            fields = {
                **task.about, "method": f"{task.name}, {how}", "bytes_per_item": size,
                "nominal_mb": mb, "file_bytes": rule.space.size(counts),
                "dimensions": model.table.dimensions, "config": preset.seeded(0).as_dict(),
                "code_hash": code_hash(*CODE), "chosen": {"counts": counts.tolist()},
                "seconds": round(time.perf_counter() - started, 1),
            }  # fmt: skip
            comparing.record(EXPERIMENT, fields, measured, split=split)
            said.append(f"{mb} MB {how} {measured.metrics['recall@50']:.4f}")
    return f"{task.name} {task}: {', '.join(said)}"


def trained(task: RuleTask, split: Split) -> tuple[Model, Preset]:
    """The model of a variant's best training on validation, and its preset."""
    best: tuple[float, Model, Preset] | None = None
    for preset in presets(task, split):
        key = lines.config_hash([preset.as_dict(), split.fingerprint(), code_hash(*LIBRARY)])
        root = default.MODELS / f"rule-{task.dataset}-{key}"
        with default.alone(root.name), changed(root) as model:
            made = Stages(model, device=task.device)
            made.prepare(split, preset)
            made.train(preset)
        model = Model.open(root)
        value = float(model.about["validation"][preset.train.metric])
        if best is None or value > best[0]:
            best = value, model, preset
    assert best is not None
    return best[1:]


class OnDevice(Rule):
    """RULE whose candidates are measured with blocks that stay on the device."""

    def __init__(self, model: Model, config: RuleConfig, device: str) -> None:
        super().__init__(model, config, person="vector", device=device)
        assert isinstance(self.space, FreeBlocks)
        self.where = pick_device(device)
        self.blocks = torch.from_numpy(model.table.blocks.copy()).to(self.where)
        self.group = torch.from_numpy(self.space.group).long().to(self.where)
        self.sampled_metric = (config.samples.metric,)

    def measured(
        self, candidate: np.ndarray, part: Part, users: np.ndarray | None = None,
        metrics: tuple[str, ...] = (*METRICS, "recall@100"),
    ) -> Evaluation:  # fmt: skip
        """Metrics of a candidate on a part, for users with a server vector."""
        table, split = self.model.table, self.model.split
        kept = torch.from_numpy(candidate).to(self.where)[self.group]  # (V, N)
        width = kept.sum(dim=1)
        items = self.blocks * kept[:, :, None]
        items = items.sum(dim=1) if table.score == "tiled" else items.flatten(1)
        if table.cosine:  # trained by directions, so what is kept counts by its direction
            items = torch.nn.functional.normalize(items, dim=1)
        else:
            items = items * (width.max() / width)[:, None]
        asked = queries_of(split, part, users)
        assert table.users is not None
        vectors = folded(table.users[asked.users], table)
        return evaluate_vectors(vectors, items, asked, metrics=metrics, device=self.where)

    def _sampled(self, candidate: np.ndarray) -> float:
        """The mean metric of the users on whom samples are measured."""
        found = self.measured(candidate, "validation", self.users, self.sampled_metric)
        return found.metrics[self.sampled_metric[0]]


@app.command()
def draw() -> None:
    """Print what RULE is worth, and what its search is worth."""
    print(worth())


def verdict(metric: str = "recall@50") -> str:
    """What the search was worth against one fixed dimension, by variant; empty without any."""
    said = []
    for name in _variants(lines.latest(EXPERIMENT)):
        leads = tables.leads(EXPERIMENT, f"{name}, {SEARCHED}", f"{name}, {ALIKE}", metric)
        relative = [lead.relative for lead in leads]
        if relative:
            variant = name.removeprefix("RULE, ")
            said.append(f"{variant} {mean(relative):+.1%} "
                        f"({min(relative):+.1%} to {max(relative):+.1%})")  # fmt: skip
    if not said:
        return ""
    return (
        "Blocks and groups chosen by RULE's search, against one fixed dimension, Recall@50 over "
        f"5, 10 and 25 MB: {'; '.join(said)}."
    )


def _variants(found: list[lines.Line]) -> list[str]:
    """The names of variants that were searched."""
    methods = dict.fromkeys(line["method"] for line in found)
    return [x.removesuffix(f", {SEARCHED}") for x in methods if x.endswith(SEARCHED)]


def worth(metric: str = "recall@50") -> str:
    """Every variant at 5, 10 and 25 MB: searched, all alike, and the lead of the search."""
    found, rows = lines.latest(EXPERIMENT), []
    for dataset in tables.datasets(found):
        for name in _variants([line for line in found if line["dataset"] == dataset]):
            leads = tables.leads(EXPERIMENT, f"{name}, {SEARCHED}", f"{name}, {ALIKE}", metric,
                                 dataset=dataset)  # fmt: skip
            for mb, lead in zip(MEGABYTES, leads, strict=False):
                rows.append([tables.title(dataset), name, str(mb), f"{lead.ours:.4f}",
                             f"{lead.theirs:.4f}", f"{lead.relative:+.1%}", lead.sure])  # fmt: skip
    return tables.table(["data set", "variant", "MB", SEARCHED, ALIKE, "lead of the search",
                         "p (Holm)"], rows)  # fmt: skip


if __name__ == "__main__":
    app()
