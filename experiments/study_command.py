"""The command that all studies share: its options, its session, and the run over what is left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from elasticrec.errors import InputError
from experiments import lines
from experiments.command import datasets_in
from experiments.jobs import run_all
from experiments.provenance import ROOT
from experiments.study import StudyTask, Variant, tasks
from experiments.table2_session import Session
from experiments.tasks import Extent

STARTS = ("rule-printed", "rule-aligned", "ours")
KEPT = ROOT / "local" / "studies"
ALL_STARTS = ",".join(STARTS)
SMOKE = Extent(epochs=1, rule_epochs=1, rule_samples=12, samples=40, blocks=4, steps=20)
QUICK = Extent(epochs=4, rule_epochs=4, rule_samples=60, samples=600, steps=600)

Datasets = Annotated[str, typer.Option("--dataset", help="Data sets, separated by commas.")]
Starts = Annotated[str, typer.Option(help="What to start from, separated by commas.")]
Only = Annotated[str, typer.Option("--variants", help="Names of variants; all by default.")]
Seeds = Annotated[int, typer.Option(help="Seeds, from 0.")]
Tables = Annotated[
    Path | None, typer.Option(help="Folder of `experiments.bases run --keep`, for ours.")
]
Gpu = Annotated[bool, typer.Option("--gpu", help="Compute on the GPU.")]
Jobs = Annotated[int, typer.Option(help="Tasks at the same time.")]
Threads = Annotated[int, typer.Option(help="CPU threads of each task.")]
Minutes = Annotated[float | None, typer.Option(help="End after so many minutes.")]
Samples = Annotated[int, typer.Option(help="β: compositions measured for each estimator.")]
Again = Annotated[bool, typer.Option("--again", help="Measure what is there, too.")]
Quick = Annotated[bool, typer.Option("--quick", help="Goodbooks, few epochs.")]
Smoke = Annotated[bool, typer.Option("--smoke", help="A tiny made world; nothing is recorded.")]


def add_run(
    app: typer.Typer,
    name: str,
    datasets: str,
    variants: Callable[[str], Sequence[Variant]],
    sizes: Sequence[float],
    work: Callable[[StudyTask], str],
    run_smoke: Callable[[], str],
) -> None:
    """Give a study its command `run`.

    Args:
        datasets: what is measured by default.
        variants: those of a start.
        work: measures a task; a module's own function, so that another process finds it.
        run_smoke: the table of a tiny made world.
    """

    @app.command()
    def run(
        dataset: Datasets = datasets,
        data: Path = ROOT / "local",
        starts: Starts = ALL_STARTS,
        only: Only = "",
        seeds: Seeds = 3,
        samples: Samples = 3_000,
        tables: Tables = None,
        gpu: Gpu = False,
        jobs: Jobs = 1,
        threads: Threads = 1,
        minutes: Minutes = None,
        again: Again = False,
        quick: Quick = False,
        smoke: Smoke = False,
    ) -> None:
        """Measure every variant that has no lines yet."""
        from experiments.table2 import with_goodbooks

        if smoke:
            print(run_smoke())
            return
        if quick:
            with_goodbooks(data)
        session = session_for(data, seeds, gpu, threads, samples, quick, tables)
        session = replace(session, again=again)
        if unknown := set(starts.split(",")) - set(STARTS):
            raise InputError(f"no start is called {min(unknown)!r}; expected some of {ALL_STARTS}")
        named = set(filter(None, only.split(",")))
        chosen = {
            start: [v for v in variants(start) if not named or v.name in named]
            for start in starts.split(",")
        }
        if not any(chosen.values()):
            known = ", ".join(dict.fromkeys(v.name for s in chosen for v in variants(s)))
            raise InputError(f"no variant among {only!r}; expected some of {known}")
        todo = [
            task
            for each in datasets_in(data, "goodbooks" if quick else dataset)
            for task in tasks(name, session, each, chosen, sizes)
        ]
        limit = None if minutes is None else 60 * minutes
        run_all(todo, work, jobs=jobs, threads=threads, seconds=limit)


def session_for(
    data: Path, seeds: int, gpu: bool, threads: int, samples: int, quick: bool = False,
    tables: Path | None = None,
) -> Session:  # fmt: skip
    """The session of a study whose lines are recorded; its trainings stay in `local/studies`."""
    from experiments.table2 import CONFIG, GOODBOOKS

    extent = QUICK if quick else Extent(rule_samples=samples, samples=samples)
    config = GOODBOOKS if quick else CONFIG
    device = "cuda" if gpu else "cpu"
    return Session(
        data, data, config, lines.RESULTS, KEPT, seeds=1 if quick else seeds,
        device=device, threads=threads, extent=extent, tables=tables,
    )  # fmt: skip


def smoke_session(folder: Path) -> Session:
    """The session of a tiny made world, whose lines stay in a folder."""
    import numpy as np

    from elasticrec.data.synthetic import planted_world
    from experiments.table2 import GOODBOOKS

    world = planted_world(200, 400, 5_000, np.random.default_rng(0), n_clusters=6)
    world.save(folder / "goodbooks.npz")
    return Session(folder, folder, GOODBOOKS, folder / "results", None, seeds=1, extent=SMOKE)
