"""What the paper's method loses by dropping blocks, and whether what items share is to blame.

    python -m experiments.dropping run --dataset gowalla --starts rule-aligned --gpu
    python -m experiments.dropping run --smoke
    python -m experiments.dropping draw

A trained table ranks with all its blocks, with a half of them that is the same for every group, and
with a half that each group draws for itself. Then all three once more with centred blocks: the mean
over items is taken from each. With all blocks, or the same for everyone, that changes no ranking:
what it adds to a score is the same for every item. Where groups keep different blocks, it is not.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments import methods, study, study_command
from experiments.command import make_app
from experiments.jobs import run_all
from experiments.study import StudyTask, Variant
from experiments.table2_session import recorded
from experiments.tasks import plan_of

if TYPE_CHECKING:
    from elasticrec.training.table import BlockTable
    from elasticrec.space.regroup import Regrouped

NAME = "dropping"
DRAWS = 5
"""Halves that are drawn, of which the mean counts."""
WAYS = ("all blocks", "the same half", "own halves", "own halves, centred")
app = make_app(__doc__)
VARIANTS = tuple(
    Variant(name, train={"diversity": strength, "diversity_form": form})
    for name, strength, form in (
        ("λ = 1e-4", 1e-4, "printed"),
        ("λ = 1e-6", 1e-6, "printed"),
        ("λ = 0", 0.0, "printed"),
        ("λ = 1e-4, bounded", 1e-4, "bounded"),
    )
)


def work(task: StudyTask) -> str:
    """Train a task's variant, measure it in every way, append its line, and say it in short."""
    from elasticrec.space.regroup import regroup

    start, (variant,) = task.start, task.variants
    split = methods.load_split(start.data)
    plan = variant.plan(plan_of(start)).seeded(start.seed)
    done = study.trained_once(split, plan, start)
    made = regroup(split, done.table, plan.preset.space)
    rng, started = np.random.default_rng(start.seed), time.perf_counter()
    ways: dict[str, dict[str, float]] = {}
    for way, masks in halves(made.groups.n_groups, made.table.n_blocks, rng).items():
        for name, table in ((way, made.table), (f"{way}, centred", centred(made.table))):
            found = [_measured(table, made, mask, start.device) for mask in masks]
            ways[name] = {metric: mean(each[metric] for each in found) for metric in found[0]}
    fields = {
        "dataset": start.dataset,
        "split": split.kind,
        "method": start.method,
        "person": "vector",
        "dimensions": made.table.dimensions,
        "seed": start.seed,
        "metrics": ways["all blocks"],
        "seconds": round(time.perf_counter() - started, 3),
        "config": plan.config(),
        "variant": variant.name,
        "part": "test",
        "ways": ways,
        "epochs": done.progress.epoch,
        "shared": shared_energy(made.table),
    }
    recorded(start.results, NAME, fields)
    said = ", ".join(f"{way} {ways[way]['recall@50']:.4f}" for way in WAYS)
    return f"{task}: {said}"


def halves(n_groups: int, n_blocks: int, rng: np.random.Generator) -> dict[str, list[np.ndarray]]:
    """By way, masks (G, N) of the blocks that each group keeps."""
    half = n_blocks // 2

    def drawn(rows: int) -> np.ndarray:
        return rng.random((rows, n_blocks)).argsort(axis=1) < half

    return {
        "all blocks": [np.ones((n_groups, n_blocks), dtype=bool)],
        "the same half": [np.repeat(drawn(1), n_groups, axis=0) for _ in range(DRAWS)],
        "own halves": [drawn(n_groups) for _ in range(DRAWS)],
    }


def centred(table: BlockTable) -> BlockTable:
    """The same table without what all items have in common."""
    return replace(table, blocks=table.blocks - table.blocks.mean(axis=0))


def shared_energy(table: BlockTable) -> float:
    """Which part of the squared length of blocks is that of their mean over items."""
    shared = np.square(table.blocks.mean(axis=0, dtype=np.float64)).sum()
    return float(shared / np.square(table.blocks, dtype=np.float64).sum(axis=(1, 2)).mean())


def _measured(
    table: BlockTable, made: Regrouped, mask: np.ndarray, device: str
) -> dict[str, float]:
    """How a table ranks with the blocks of a mask."""
    from elasticrec.evaluation.ranking import evaluate
    from elasticrec.space.composition import Composition
    from elasticrec.space.keeping import kept_table

    kept = kept_table(table, made.groups, Composition.of_mask(mask), width_correction=True)
    found = evaluate(kept, made.split, metrics=methods.METRICS, device=device)
    return found.metrics | {"coverage": found.coverage}


def run_smoke() -> str:
    """The table of a tiny made world; nothing is recorded."""
    with tempfile.TemporaryDirectory() as place:
        session = study_command.smoke_session(Path(place))
        few = {"rule-aligned": VARIANTS[:2]}
        run_all(study.tasks(NAME, session, "goodbooks", few, ()), work)
        return table(session.results)


study_command.add_run(app, NAME, "gowalla", lambda _: VARIANTS, (), work, run_smoke)


@app.command()
def draw() -> None:
    """Print the table."""
    print(table())


def table(results: Path | None = None) -> str:
    """Recall@50 in every way, a row per variant and seed, as a Markdown table."""
    heads = ("data set", "start", "regularisation", "seed", "epochs", *WAYS, "shared")
    rows = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    names = [variant.name for variant in VARIANTS]

    def place(line: dict[str, Any]) -> tuple[str, str, int, int]:
        return line["dataset"], line["method"], names.index(line["variant"]), line["seed"]

    for line in sorted(study.newest(results, NAME), key=place):
        cells = [str(line[x]) for x in ("dataset", "method", "variant", "seed", "epochs")]
        cells += [f"{line['ways'][way]['recall@50']:.4f}" for way in WAYS]
        rows.append(f"| {' | '.join(cells)} | {line['shared']:.1%} |")
    return "\n".join(rows)


if __name__ == "__main__":
    app()
