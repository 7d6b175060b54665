"""What a person never seen in training loses: fold-in against a vector of her own.

    python -m experiments.foldin run --config CONFIG --data DIR --only gowalla
    python -m experiments.foldin run --smoke        # a small made world; nothing is written

A tenth of the users (seeded) is left out of training and ranked from their train items alone; the
same users are ranked by the vectors they get when everybody is trained on, all else equal. The
ratio of the two Recall@50 says how much of the quality fold-in keeps. Two trainings per trial.
"""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from elasticrec.data.interactions import Pairs
from elasticrec.data.splitting import Split
from experiments import lines
from experiments.bases import read_trials, settings
from experiments.command import make_app

if TYPE_CHECKING:
    from elasticrec.training.config import TrainConfig

METRICS = ("recall@20", "recall@50", "recall@100")
SHARE = 0.1
"""The part of the users that is left out of training."""
app = make_app(__doc__)


@app.command()
def run(
    config: Annotated[Path | None, typer.Option(help="TOML file with [[trial]]s.")] = None,
    data: Annotated[Path | None, typer.Option(help="Folder of prepared splits.")] = None,
    only: Annotated[str, typer.Option(help="Data sets to run, separated by commas.")] = "",
    base: Annotated[str, typer.Option(help="Bases to run, separated by commas.")] = "",
    device: str = "auto",
    seeds: int = 1,
    smoke: Annotated[bool, typer.Option(help="A small made world instead of data.")] = False,
) -> None:
    """Measure fold-in for every trial and seed, and append one line for each."""
    if smoke:
        for name, split, settled in _smoke_trials():
            print(f"{name}: {_said(measure(split, settled, device))}", flush=True)
        return
    if config is None or data is None:
        raise typer.BadParameter("name --config and --data, or --smoke")
    for trial in read_trials(config):
        if only and trial["dataset"] not in only.split(","):
            continue
        if base and trial.get("base", "mf") not in base.split(","):
            continue
        split = Split.load(data / f"{trial['dataset']}.npz")
        for seed in range(seeds):
            settled = replace(settings(trial), seed=seed)
            started = time.monotonic()
            metrics = measure(split, settled, device)
            _append(trial, split, settled, metrics, time.monotonic() - started)
            label = f"{trial['dataset']} {settled.base} {trial['label']}"
            print(f"{label} seed {seed}: {_said(metrics)}", flush=True)


def measure(split: Split, config: TrainConfig, device: str = "auto") -> dict[str, float]:
    """Metrics of left-out users folded in, of the same users trained on, and their ratio."""
    from elasticrec.evaluation.ranking import evaluate
    from elasticrec.training.loop import train

    left_out = choose_users(split, config.seed)
    asked = {"users": left_out, "metrics": METRICS, "device": device}
    without = train(leave_out(split, left_out), config, device=device).table
    folded = evaluate(without, split, histories=split.train, **asked).metrics  # type: ignore[arg-type]
    everybody = train(split, config, device=device).table
    trained = evaluate(everybody, split, **asked).metrics  # type: ignore[arg-type]
    return {
        **folded,
        **{f"{name} trained": value for name, value in trained.items()},
        "ratio": folded["recall@50"] / trained["recall@50"],
        "users": len(left_out),
    }


def choose_users(split: Split, seed: int) -> np.ndarray:
    """A tenth of the users, ascending: those to leave out of training."""
    rng = np.random.default_rng([seed, 10])
    return np.sort(rng.choice(split.n_users, int(split.n_users * SHARE), replace=False))


def leave_out(split: Split, users: np.ndarray) -> Split:
    """The split without what some users took in train and validation; their numbers stay."""
    kept = np.ones(split.n_users, dtype=bool)
    kept[users] = False

    def rest(pairs: Pairs) -> Pairs:
        chosen = kept[pairs.users]
        return Pairs.from_arrays(
            pairs.users[chosen], pairs.items[chosen], n_users=pairs.n_users, n_items=pairs.n_items
        )

    return replace(split, train=rest(split.train), validation=rest(split.validation))


def _append(
    trial: dict[str, object], split: Split, config: TrainConfig, metrics: dict[str, float],
    seconds: float,
) -> None:  # fmt: skip
    lines.append(
        "fold-in",
        {
            "dataset": trial["dataset"],
            "split": split.kind,
            "method": config.base,
            "person": "history",
            "dimensions": config.dimensions,
            "seed": config.seed,
            "metrics": metrics,
            "seconds": round(seconds, 1),
            "config": asdict(replace(config, seed=0)),
            "label": trial["label"],
        },
    )


def _said(metrics: dict[str, float]) -> str:
    """The metrics in short."""
    folded, trained = metrics["recall@50"], metrics["recall@50 trained"]
    return (
        f"Recall@50 {folded:.4f} folded in, {trained:.4f} trained, "
        f"ratio {metrics['ratio']:.3f} ({metrics['users']:,} users)"
    )


def _smoke_trials() -> list[tuple[str, Split, TrainConfig]]:
    """A small world and short settings, one for each base."""
    from elasticrec.data.synthetic import planted_world
    from elasticrec.training.config import TrainConfig

    split = planted_world(600, 300, 15_000, np.random.default_rng(0), n_clusters=8)
    config = TrainConfig(
        n_blocks=4, epochs=8, batch_size=512, negatives=64, learning_rate=0.02, patience=0
    )
    bases = {
        "mf": config,
        "mf, aggregated": replace(config, aggregation=True),
        "lightgcn": replace(config, base="lightgcn", layers=2),
        "history": replace(config, base="history"),
    }
    return [(name, split, each) for name, each in bases.items()]


if __name__ == "__main__":
    app()
