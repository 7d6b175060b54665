"""How good each base is at full size, on every data set.

    python -m experiments.bases tune --config experiments/configs/bases-tuning.toml --data DIR
    python -m experiments.bases run --config experiments/configs/bases.toml --data DIR
    python -m experiments.bases draw

`tune` measures validation alone; `run` measures test, for every seed. DIR holds prepared splits,
`gowalla.npz` and so on (`elasticrec data prepare`). Both skip what the results already hold.
"""

from __future__ import annotations

import multiprocessing
import time
import tomllib
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from elasticrec.data.splitting import Split
from experiments import kept, lines
from experiments.command import make_app

if TYPE_CHECKING:
    from elasticrec.training.config import TrainConfig

METRICS = tuple(f"{name}@{k}" for name in ("recall", "ndcg") for k in (20, 50, 100))
app = make_app(__doc__)

Config = Annotated[Path, typer.Option(help="TOML file with one [[trial]] per training.")]
Data = Annotated[Path, typer.Option(help="Folder of prepared splits.")]
Jobs = Annotated[int, typer.Option(help="Trainings at the same time.")]
Only = Annotated[str, typer.Option(help="Data sets to run, separated by commas; all by default.")]


@app.command()
def tune(
    config: Config,
    data: Data,
    jobs: Jobs = 1,
    only: Only = "",
    device: str = "auto",
    experiment: Annotated[
        str, typer.Option(help="Name of the result file; one for each kind of validation.")
    ] = "bases-tuning",
) -> None:
    """Train every trial with seed 0 and measure it on validation."""
    known = {"part": "validation", "experiment": experiment}
    trials = [t | known for t in read_trials(config)]
    measure_all(trials, data, jobs, only, device)


@app.command()
def run(
    config: Config,
    data: Data,
    jobs: Jobs = 1,
    only: Only = "",
    device: str = "auto",
    seeds: int = 3,
    keep: Annotated[
        Path | None, typer.Option(help="Keep trained tables of trials with keep = true here.")
    ] = None,
) -> None:
    """Train every trial with each seed and measure it on test."""
    known = {"part": "test", "experiment": "bases", "kept_in": keep}
    trials = [{"keep": False} | t | known for t in read_trials(config)]
    trials = [t | {"seed": seed} for t in trials for seed in range(seeds)]
    measure_all(trials, data, jobs, only, device)


@app.command()
def draw() -> None:
    """Print the table of what `run` measured."""
    print(table())


def table() -> str:
    """Mean and deviation over seeds of what `run` measured, as a Markdown table.

    Of trials with the same name the newest settings count; the older ones stay in the lines.
    """
    newest = {
        tuple(shown[0][name] for name in ("dataset", "method", "label", "dimensions")): shown
        for shown in lines.by_seed(lines.read("bases"))
    }
    rows = [
        "| data set | base | dimensions | Recall@20 | Recall@50 | NDCG@20 | seeds | machine |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for shown in newest.values():
        first = shown[0]
        cells = [first["dataset"], f"{first['method']}, {first['label']}", first["dimensions"]]
        cells += [lines.mean_and_deviation(shown, m) for m in ("recall@20", "recall@50", "ndcg@20")]
        cells += [len(shown), first["machine"]]
        rows.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(rows)


@app.command()
def speed(dataset: str = "goodbooks", share: float = 0.97) -> None:
    """Print when each configuration first reached a share of the best validation value of all."""
    found = [line for line in lines.read("bases") if line["dataset"] == dataset]
    best = max(look["value"] for line in found for look in line["looks"])
    print(f"best validation {best:.4f}; {share:.0%} of it is {share * best:.4f}")
    for line in found:
        reached = [look for look in line["looks"] if look["value"] >= share * best]
        when = "never"
        if reached:
            cpu = reached[0].get("cpu_seconds", float("nan"))
            when = f"{reached[0]['seconds']:.0f} s, {cpu:.0f} CPU seconds"
        print(
            f"{line['method']}, {line['label']}, seed {line['seed']}: {when} on {line['machine']}"
        )


def read_trials(path: Path) -> list[dict[str, Any]]:
    """The trials of a TOML file: `dataset`, `label`, and fields of TrainConfig, over [common]."""
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    common = content.get("common", {})
    return [{"seed": 0, "label": ""} | common | trial for trial in content["trial"]]


def measure_all(
    trials: list[dict[str, Any]], data: Path, jobs: int, only: str, device: str
) -> None:
    """Measure the trials that have no result line yet, several at a time."""
    wanted = [t for t in trials if not only or t["dataset"] in only.split(",")]
    todo = [(t, data, device) for t in wanted if not _is_done(t)]
    print(f"{len(todo)} to do, {len(wanted) - len(todo)} done")
    started = time.monotonic()
    if jobs == 1:
        for each in todo:
            print(_measure(each), flush=True)
        return
    with multiprocessing.get_context("spawn").Pool(jobs, maxtasksperchild=1) as pool:
        for line in pool.imap_unordered(_measure, todo, chunksize=1):
            print(f"{time.monotonic() - started:6.1f} s  {line}", flush=True)


def settings(trial: dict[str, Any]) -> TrainConfig:
    """The training settings of a trial."""
    from elasticrec.training.config import TrainConfig

    known = {"dataset", "label", "part", "experiment", "keep", "kept_in"}
    return TrainConfig(**{name: value for name, value in trial.items() if name not in known})


def _is_done(trial: dict[str, Any]) -> bool:
    """Whether a line has these settings; what was no setting yet then had its default."""
    wanted = asdict(settings(trial))
    defaults = {field.name: field.default for field in fields(settings(trial))}
    return any(
        line["dataset"] == trial["dataset"]
        and defaults | line["config"] | {"seed": line["seed"]} == wanted
        for line in lines.read(trial["experiment"])
    )


def _measure(task: tuple[dict[str, Any], Path, str]) -> str:
    """Train one trial, append its line, and say it in short."""
    from elasticrec.evaluation.ranking import evaluate
    from elasticrec.training.loop import train

    trial, data, device = task
    split = Split.load(data / f"{trial['dataset']}.npz")
    config = settings(trial)
    try:
        trained = train(split, config, device=device)
    except FloatingPointError as error:
        return f"{trial['dataset']} {trial['label']}: {error}"
    if trial.get("keep") and trial.get("kept_in"):
        name = f"{trial['dataset']}-{config.seed}"
        kept.keep(trial["kept_in"], name, trained.table, config, trained.progress)
    found = evaluate(trained.table, split, part=trial["part"], metrics=METRICS, device=device)
    lines.append(
        trial["experiment"],
        {
            "dataset": trial["dataset"],
            "split": split.kind,
            "method": config.base,
            "person": "history" if config.base == "history" else "vector",
            "dimensions": config.dimensions,
            "seed": config.seed,
            "metrics": found.metrics | {"coverage": found.coverage},
            "seconds": round(trained.progress.seconds, 2),
            "config": asdict(replace(config, seed=0)),
            "label": trial["label"],
            "part": trial["part"],
            "epochs": trained.progress.epoch,
            "gain": trained.progress.gain,
            "validation_pairs": len(split.validation),
            "validation": trained.progress.best,
            "looks": trained.progress.looks,
        },
    )
    return (
        f"{trial['dataset']} {trial['label']} seed {config.seed}: {found} "
        f"({trained.progress.seconds:.0f} s, {trained.progress.epoch} epochs)"
    )


if __name__ == "__main__":
    app()
