"""The compared methods at equal bytes, tuned on validation and measured on the same parts as ours.

    python -m experiments.rivals run --data local [--dataset gowalla] [--methods pmf,lightrec]
    python -m experiments.rivals draw

Each method is tuned at 11 and at 54 bytes per item on one half of the validation users, each loss
of its own (`rivals-tuning`). The best by Recall@50 is trained for every size and seed, and measured
on the other half. With `--part test` it is measured on test, but knows train alone, for its own
choices need validation: ours is refitted there, so validation is what compares them.
`experiments.blocks` compares ours with each rival user by user.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer

from elasticrec.data.split import Split
from elasticrec.errors import InputError
from elasticrec.space import Budget
from experiments import command, comparing, default, figures, lines, tables
from experiments.baselines import BASELINES, BudgetTooSmall
from experiments.command import Task
from experiments.provenance import LIBRARY, code_hash
from experiments.streams import METRICS

EXPERIMENT, TUNING = "rivals", "rivals-tuning"
SIZES = (11, 54, 110)
TUNED_AT = {11: 11, 54: 54, 110: 54}
"""By size, bytes per item at which settings are chosen for it."""
RETRAINED_FROM = 54
"""Bytes per item from which methods are measured that are trained anew for each size."""
SLOW = ("esapn", "autoemb", "lightrec")
AT_ONCE = ("lightrec", "matryoshka", "pruning")
"""Methods of which one training serves several sizes."""
CODE = (*LIBRARY, "experiments/baselines", "experiments/rivals.py")
app = command.make_app(__doc__)


@dataclass(frozen=True)
class RivalTask(Task):
    """One method with some settings."""

    loss: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    tuning: bool = False
    """On the choosing half, or else on what is reported."""
    sizes: tuple[int, ...] = SIZES

    @property
    def config(self) -> dict[str, Any]:
        """All that its numbers depend on, data, seed and size aside."""
        return {"loss": self.loss, "settings": self.settings}

    @property
    def key(self) -> dict[str, Any]:
        """Fields that its last line has."""
        about = {name: value for name, value in self.about.items() if name != "person"}
        return about | {
            "method": self.method, "bytes_per_item": self.sizes[-1], "code_hash": code_hash(*CODE),
            "config_hash": lines.config_hash(self.config),
        }  # fmt: skip


@app.command()
def run(
    dataset: command.Datasets = default.DATASETS,
    data: command.Data = command.LOCAL,
    only: Annotated[str, typer.Option("--methods", help="Methods; all by default.")] = "",
    seeds: command.Seeds = "0",
    part: Annotated[str, typer.Option(help="validation, or test.")] = "validation",
    users: command.Users = 0,
    device: command.Device = "auto",
    jobs: command.Jobs = 1,
    minutes: command.Minutes = None,
    again: command.Again = False,
) -> None:
    """Tune every method, measure it at every size, and compare ours with it."""
    methods, datasets = methods_of(only), command.datasets_in(data, dataset)
    trials = [
        RivalTask(name, 0, data, device, users, method=method, loss=loss, settings=trial,
                  tuning=True, sizes=sizes)
        for name in datasets
        for method in methods
        for loss in BASELINES[method].losses
        for trial in BASELINES[method].trials(loss)
        for sizes in tuned_at(method)
    ]  # fmt: skip
    tried = lines.read(TUNING)
    missing: list[Task] = [t for t in trials if again or not lines.holds(tried, **t.key)]
    command.plan(missing, expected_seconds, jobs)
    command.measure_all(missing, work, jobs, minutes)
    wanted = [
        RivalTask(
            name, seed, data, device, users, part=command.part_of(part), method=method,
            sizes=sizes, **chosen,
        )
        for seed in command.seeds_of(seeds)
        for method in methods
        for name in datasets[::-1]
        for sizes in sizes_of(method)
        if (chosen := best(name, method, sizes[0]))
    ]  # fmt: skip
    found = lines.read(EXPERIMENT)
    left: list[Task] = [task for task in wanted if again or not lines.holds(found, **task.key)]
    command.plan(left, expected_seconds, jobs)
    command.measure_all(left, work, jobs, minutes)
    tests = comparing.compare(EXPERIMENT, (default.METHOD,), beside=(default.EXPERIMENT,))
    print(f"{tests} tests made")


def sizes_of(method: str) -> list[tuple[int, ...]]:
    """The sizes of each task: those of the same settings where one training serves them."""
    least = RETRAINED_FROM if BASELINES[method].sizes == "retrained" else 0
    sizes = [size for size in SIZES if size >= least]
    if method not in AT_ONCE:
        return [(size,) for size in reversed(sizes)]
    kinds = sorted({TUNED_AT[size] for size in sizes}, reverse=True)
    return [tuple(size for size in sizes if TUNED_AT[size] == kind) for kind in kinds]


def tuned_at(method: str) -> list[tuple[int, ...]]:
    """The sizes at which a method is tuned, by task."""
    sizes = sorted({TUNED_AT[size] for each in sizes_of(method) for size in each})
    return [tuple(sizes)] if method in AT_ONCE else [(size,) for size in sizes]


def expected_seconds(task: Task, split: Split) -> float:
    """Seconds of one process beside a dozen others on an H200, by reckoning steps."""
    assert isinstance(task, RivalTask)
    slow = 2.5 if task.method.startswith("lightgcn") else 1.5 if task.method in SLOW else 1.0
    return len(task.sizes) * (6 + 24 * slow * len(split.train) / 1e6)


def methods_of(names: str) -> list[str]:
    """The methods of a list; all where none is named."""
    if unknown := set(command.named(names)) - set(BASELINES):
        raise InputError(f"no method is called {min(unknown)}; expected {', '.join(BASELINES)}")
    return [name for name in BASELINES if name in command.named(names) or not names]


def best(dataset: str, method: str, size: int) -> dict[str, Any]:
    """The loss and settings with the highest Recall@50 while tuning for a size; empty without."""
    wanted = {"dataset": dataset, "method": method, "bytes_per_item": TUNED_AT[size]}
    tried = [line for line in lines.read(TUNING) if lines.holds([line], **wanted)]
    newest = [x for x in tried if x["code_hash"] == tried[-1]["code_hash"]]
    if not newest:
        return {}
    config: dict[str, Any] = max(newest, key=lambda line: line["metrics"]["recall@50"])["config"]
    return config


def work(task: Task) -> str:
    """Fit one method at its sizes and measure it; Recall@50 at each."""
    assert isinstance(task, RivalTask)
    return f"{task} [{task.loss}]: {', '.join(_measured(task))}"


def _measured(task: RivalTask) -> Iterator[str]:
    split, method = Split.load(task.path), BASELINES[task.method]
    halves = comparing.halves(split, most=task.users)
    learnt, users = default.shown_to_fit(split, task.part, task.users)
    for size in task.sizes:
        try:
            fitted = method.fit(
                learnt, Budget(round(size * split.n_items)), loss=task.loss,
                settings=task.settings, seed=task.seed, device=task.device,
            )  # fmt: skip
        except BudgetTooSmall as error:
            yield f"{size:g}: {error}"
            continue
        asked = halves.choosing if task.tuning else users
        found = fitted.evaluate(split, METRICS, asked, task.device, task.part)
        fields = {
            **task.about, "method": task.method, "person": "vector", "bytes_per_item": size,
            "file_bytes": fitted.n_bytes, "dimensions": fitted.dimensions,
            "seconds": round(fitted.seconds, 2), "config": task.config,
            "code_hash": code_hash(*CODE),
        }  # fmt: skip
        name = TUNING if task.tuning else EXPERIMENT
        comparing.record(name, fields, found, split=split)
        yield f"{size:g}: {found.metrics['recall@50']:.4f}"


@app.command()
def draw() -> None:
    """Print Recall@50 by size, and draw ours beside the rivals."""
    print(tables.by_size(EXPERIMENT, list(BASELINES)))
    found = [*lines.latest(default.EXPERIMENT), *lines.latest(EXPERIMENT)]
    others = dict(zip(BASELINES, 2 * figures.OTHERS, strict=False))
    figures.quality_by_size("quality-by-size", found, {default.METHOD: figures.OURS} | others)


if __name__ == "__main__":
    app()
