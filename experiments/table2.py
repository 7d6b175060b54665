"""Table 2: the product beside its rivals at equal bytes, for users known by their history alone.

    python -m experiments.table2 run --data local [--dataset gowalla] [--part test] [--jobs 12]
    python -m experiments.table2 draw

Three stages, each skipped where its lines are there. `fit`: the default preset fits and is measured
(`experiments.default`), and so are simple orders of the same codes, and the codes without lists.
`tune`: a rival's settings are chosen on validation users, once for each data set, by the table of
seed 0 before its refit. `measure`: rivals code the table that ships, the same as ours and refitted
alike, alone and with its neighbour lists beside them, and are measured on the same users. Lists
alone (ItemKNN, a sparse linear model) and popularity need no table and have no seeds. `base` is the
first step of the decomposition: the base with the plain loss, stored as bytes.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Annotated, Any

import typer

from elasticrec.data.split import Split
from elasticrec.model import Model
from elasticrec.ordering.order import Order, make_order
from experiments import command, comparing, default, equal_bytes, figures, lines, tables, verdicts
from experiments.baselines.neighbours import LISTS_ALONE
from experiments.baselines.quantisers import QUANTISERS
from experiments.command import Task, Text
from experiments.equal_bytes import BASE, POPULARITY, StageTask
from experiments.provenance import energy
from experiments.streams import Coded
from experiments.tasks import Outcome, run_all

DATASETS = "amazon-book,yelp2018,gowalla,amazon-sports,anime"
RUNS = "table2-runs"
"""Seconds and energy of each run."""
STAGES = "fit,tune,measure,base"
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
    stages: Text = STAGES,
    users: command.Users = 0,
    device: command.Device = "auto",
    jobs: command.Jobs = 1,
    minutes: command.Minutes = None,
    again: command.Again = False,
) -> None:
    """Measure ours and all rivals at every size, and compare them."""
    kind = command.part_of(part)
    wanted = [
        StageTask(name, seed, data, device, users, part=kind, method=method, stage=stage)
        for stage in command.named(stages)
        for seed in command.seeds_of(seeds)
        for name in command.datasets_in(data, dataset)
        for method in methods_of(stage)
        if seed == 0 or not (stage in ("tune", "base") or method in equal_bytes.UNTRAINED)
    ]
    plan(wanted, jobs)
    found = [x for name in (equal_bytes.EXPERIMENT, equal_bytes.TUNING) for x in lines.read(name)]
    left = [task for task in wanted if again or not equal_bytes.is_done(task, found)]
    print(f"{len(left)} of {len(wanted)} tasks are left", flush=True)

    def ready(ended: Outcome[Task] | None = None) -> list[Task]:
        """Tasks that wait for nothing any more, taken out of those that are left."""
        if ended and not ended.failed:
            running.remove(ended.task)
        now: list[Task] = [t for t in left if not any(is_needed(x, t) for x in [*left, *running])]
        left[:] = [task for task in left if task not in now]
        running.extend(now)
        return now

    running: list[Any] = []
    seconds = None if minutes is None else 60 * minutes
    with energy() as used:
        run_all(ready(), work, jobs=jobs, then=ready, seconds=seconds)
    lines.append(RUNS, {"dataset": dataset, "part": kind, "metrics": used, "jobs": jobs})
    tests = comparing.compare(
        equal_bytes.EXPERIMENT, (default.METHOD,), beside=(default.EXPERIMENT,)
    )
    print(f"{tests} tests made")


def is_needed(first: StageTask, task: StageTask) -> bool:
    """True if a task has to wait for another one: for the table, or for the settings."""
    if first.dataset != task.dataset or task.method in (POPULARITY, BASE):
        return False
    if first.stage == "tune":
        return task.stage == "measure" and first.method == task.method
    if first.stage == "fit" and task.method in QUANTISERS:
        return first.seed == task.seed
    return False


def methods_of(stage: str) -> tuple[str, ...]:
    """The methods that a stage does one by one, those that take longest first."""
    return {
        "fit": (CODES,), "tune": (*reversed(LISTS_ALONE), *QUANTISERS), "base": (BASE,)
    }.get(stage, (*reversed(LISTS_ALONE), *QUANTISERS, POPULARITY))  # fmt: skip


def plan(tasks: list[StageTask], jobs: int) -> None:
    """Print the seconds that the tasks are expected to take on one H200 with 16 cores."""
    sizes = {path: Split.load(path) for path in {task.path for task in tasks}}
    whole = 0.0
    for stage in dict.fromkeys(task.stage for task in tasks):
        each = [expected_seconds(x, sizes[x.path]) for x in tasks if x.stage == stage]
        seconds = sum(each) / max(min(jobs, 12), 1)
        whole += seconds
        print(f"plan: {stage}, {len(each)} tasks, {sum(each):.0f} s of processes, about "
              f"{seconds:.0f} s at {jobs} side by side", flush=True)  # fmt: skip
    print(f"plan: {whole:.0f} s in all, {whole / 3600:.2f} GPU hours", flush=True)


def expected_seconds(task: StageTask, split: Split) -> float:
    """Seconds of one process beside a dozen others, by looks at the parts."""
    pairs, scores = len(split.train) / 1e6, split.n_users * split.n_items / 1e9
    if task.stage in ("fit", "base"):
        return (30 + 70 * pairs) / (1 if task.stage == "fit" else 4)
    if task.method in LISTS_ALONE:
        return 10 + 40 * pairs
    return (15 if task.stage == "tune" else 5) + 3 * scores


def work(task: Task) -> str:
    """Do one stage of one task."""
    assert isinstance(task, StageTask)
    stages = {"fit": fit, "tune": equal_bytes.tune, "measure": equal_bytes.measure}
    return stages.get(task.stage, equal_bytes.measure_base)(task)


def fit(task: StageTask) -> str:
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
    first = min(lead for lead in coded.preset.order.leads if lead)

    def made(slots: int, lead: int) -> Order:
        codes = coded.codes
        return make_order(codes.n_items, codes.n_columns, slots, replace(config, lead=lead),
                          least=coded.least)  # fmt: skip

    slots = coded.neighbours.slots
    return {ALIKE: made(slots, 0), POPULAR: made(slots, first), CODES: made(0, 0)}


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
    shown = {default.METHOD: figures.OURS, ALIKE: figures.SECOND}
    others = ("opq + lists", "int8 + lists", "sparse linear", "itemknn", POPULARITY)
    figures.quality_by_size(
        equal_bytes.EXPERIMENT, found, shown | dict(zip(others, figures.OTHERS, strict=False))
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
