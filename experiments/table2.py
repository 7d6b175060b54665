"""Table 2: every method at equal bytes, on test, for every seed.

    python -m experiments.table2 run --dataset gowalla --data DIR --gpu --jobs 12
    python -m experiments.table2 run --quick        # goodbooks, minutes on two cores
    python -m experiments.table2 run --smoke        # a tiny made world; nothing is recorded
    python -m experiments.table2 draw

DIR holds prepared splits, `gowalla.npz` and so on. First each method's settings are tried on
validation at the 5 MB size (`table2-tuning`), then the best of each, by Recall@50, is measured at
all sizes (`table2`); then ours is compared with each rival user by user (`table2-tests`). What the
results hold is skipped; a method that fails is named, and the others go on.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from experiments import lines, methods, paired, table2_tables
from experiments.command import datasets_in, make_app
from experiments.provenance import ROOT
from experiments.table2_session import TABLE, Session, measure_all
from experiments.tasks import Extent

app = make_app(__doc__)
CONFIG = ROOT / "experiments" / "configs" / "bases.toml"
GOODBOOKS = CONFIG.with_name("table2-goodbooks.toml")
KEPT = ROOT / "local" / TABLE
QUICK = Extent(epochs=4, rule_epochs=4, rule_samples=60, samples=600, steps=600)
SMOKE = Extent(epochs=1, rule_epochs=1, rule_samples=12, samples=40, blocks=2, steps=20)


Data = Annotated[Path, typer.Option(help="Folder of prepared splits.")]


@app.command()
def run(
    dataset: Annotated[str, typer.Option(help="Data sets, separated by commas.")] = "gowalla",
    data: Data = ROOT / "local",
    tuning: Annotated[
        Path | None, typer.Option(help="Folder of splits to tune on; by default --data.")
    ] = None,
    config: Annotated[Path, typer.Option(help="TOML file with the trials of ours.")] = CONFIG,
    tables: Annotated[
        Path | None, typer.Option(help="Folder of `experiments.bases run --keep`, for ours.")
    ] = None,
    choose: Annotated[
        Path | None,
        typer.Option(help="Folder of splits whose validation chooses weights and files of ours."),
    ] = None,
    metric: Annotated[
        str,
        typer.Option(
            help="What ours chooses weights and files by, in a row of its own; by default as its "
            "rehearsal said."
        ),
    ] = "",
    only: Annotated[
        str,
        typer.Option("--methods", help="Methods; all by default, `rivals` are all but ours."),
    ] = "",
    sizes: Annotated[str, typer.Option(help="Nominal megabytes; all by default.")] = "",
    seeds: int = 3,
    gpu: Annotated[bool, typer.Option("--gpu", help="Compute on the GPU.")] = False,
    jobs: Annotated[int, typer.Option(help="Tasks at the same time.")] = 1,
    threads: Annotated[int, typer.Option(help="CPU threads of each task.")] = 1,
    rule_epochs: Annotated[int, typer.Option(help="Epochs of the paper's method.")] = 60,
    rule_samples: Annotated[int, typer.Option(help="β of the paper's method.")] = 5_000,
    tuning_epochs: Annotated[
        int | None, typer.Option(help="Epochs of a trial; by default those of the final training.")
    ] = None,
    minutes: Annotated[float | None, typer.Option(help="End after so many minutes.")] = None,
    tune_only: Annotated[bool, typer.Option("--tune-only", help="Only choose settings.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Measure what is there, too.")] = False,
    values: Annotated[
        bool, typer.Option("--values", help="Test again what has no values per user here.")
    ] = False,
    experiment: Annotated[
        str, typer.Option(help="Name of the lines; other than the table's for a rehearsal.")
    ] = TABLE,
    quick: Annotated[bool, typer.Option("--quick", help="Goodbooks, few epochs.")] = False,
    smoke: Annotated[bool, typer.Option("--smoke", help="A tiny made world.")] = False,
) -> None:
    """Tune every method on validation, measure it on test, and compare ours with each."""
    named = methods.named_methods(only)
    session = Session(
        data, tuning or data, config, lines.RESULTS, KEPT.with_name(experiment), named,
        tuple(float(mb) for mb in filter(None, sizes.split(","))), seeds,
        "cuda" if gpu else "cpu", threads, again, values,
        Extent(rule_epochs=rule_epochs, rule_samples=rule_samples), tuning_epochs,
        tables, choose, metric, experiment,
    )  # fmt: skip
    limit = None if minutes is None else 60 * minutes
    if smoke:
        run_smoke(named)
    elif quick:
        session = replace(session, extent=QUICK, seeds=1, config=GOODBOOKS)
        with_goodbooks(data)
        measure_all(session, ["goodbooks"], jobs, limit, tune_only)
    else:
        measure_all(session, datasets_in(data, dataset), jobs, limit, tune_only)


def with_goodbooks(folder: Path) -> None:
    """Prepare the embedded sample in a folder, unless it is there."""
    if not (folder / "goodbooks.npz").exists():
        from elasticrec.data.preparation import prepare

        folder.mkdir(parents=True, exist_ok=True)
        prepare("goodbooks").save(folder / "goodbooks.npz")


def run_smoke(named: tuple[str, ...] = ()) -> str:
    """The table of a tiny made world, after measuring it all; nothing is recorded."""
    from elasticrec.data.synthetic import planted_world

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        planted_world(200, 400, 5_000, np.random.default_rng(0), n_clusters=6).save(
            folder / "goodbooks.npz"
        )
        session = Session(
            folder, folder, GOODBOOKS, folder / "results", folder / "kept", named,
            (2, 5), 1, extent=SMOKE, metric="",
        )  # fmt: skip
        measure_all(session, ["goodbooks"], 1, None, False)
        table = table2_tables.tables(session.results)
    print(table)
    return table


@app.command()
def compare(
    seeds: Annotated[int, typer.Option(help="Seeds that count, from 0: those both have.")] = 3,
) -> None:
    """Compare ours with each rival user by user, wherever lines are new; `run` does it too."""
    made = paired.compare_all(KEPT / "users", lines.RESULTS, seeds)
    print(f"{made} comparisons of up to {seeds} seeds")


@app.command()
def tidy() -> None:
    """Move lines that newer ones superseded to table2-superseded.jsonl, which `reruns` reads."""
    print(f"{lines.set_aside(lines.RESULTS, TABLE)} lines set aside")


@app.command()
def draw() -> None:
    """Print the tables of what `run` measured."""
    print(table2_tables.tables(lines.RESULTS))


if __name__ == "__main__":
    app()
