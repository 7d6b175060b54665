"""What all compared methods share in training: our loss by data set, and trainings kept in memory.

The loop, the sampler, the optimiser and the early look at validation are the library's.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from elasticrec.training.cooccurrence import Cooccurrence, count_cooccurrence
from elasticrec.data.splitting import Split
from elasticrec.training.config import TrainConfig
from elasticrec.training.loop import train
from elasticrec.training.objective import Loss
from elasticrec.training.setup import MakeBase, make_base
from experiments.baselines.contract import Fitted
from experiments.bases import read_trials

RECIPES = Path(__file__).parents[1] / "configs" / "bases.toml"
LARGEST = 256
"""No method has more dimensions than ours may have."""
KEPT = 2
"""Trainings kept in memory, so that several budgets may share one."""
METRIC, VALIDATION_USERS = "recall@50", 3_000
"""What a method chooses by, where it has a choice of its own."""
STEPS = 40
"""Steps per epoch that small data have at least, at the price of smaller batches."""
TRAINED = {field.name for field in fields(TrainConfig)}

OUR_TRIALS: list[dict[str, Any]] = [
    {"temperature": 0.07, "cooccurrence": 1.0},
    {"temperature": 0.1, "cooccurrence": 0.3},
    {"temperature": 0.1, "cooccurrence": 1.0},
    {"temperature": 0.15, "cooccurrence": 0.3},
]
"""Few dimensions like a higher temperature than the many that `RECIPES` are for."""


@dataclass(frozen=True, eq=False)
class Training:
    """Vectors as they are scored, by plain products."""

    users: np.ndarray
    """(U, D) float32."""
    items: np.ndarray
    """(V, D) float32."""
    seconds: float
    """What it took, the counting of co-occurring items included."""


def our_config(
    split: Split, dimensions: int, settings: dict[str, Any], seed: int, epochs: int
) -> TrainConfig:
    """Our loss with the settings that suit a data set, but for those of a trial."""
    found: dict[str, Any] = {
        "base": "mf",
        "aggregation": True,
        "temperature": 0.1,
        "cooccurrence": 0.3,
    }
    found |= {"learning_rate": 4e-3, "negatives": 2048}
    for trial in read_trials(RECIPES):
        if trial["dataset"] == split.name:
            found |= trial
    return _config(split, dimensions, found | settings, seed, epochs)


def paper_config(
    split: Split, dimensions: int, settings: dict[str, Any], seed: int, epochs: int
) -> TrainConfig:
    """Products of plain vectors told from items of each pair's own, but for a trial's settings."""
    found: dict[str, Any] = {"base": "mf", "loss": "bpr"}
    found |= {"learning_rate": 5e-3, "negatives": 4}
    return _config(split, dimensions, found | settings, seed, epochs)


def _config(
    split: Split, dimensions: int, found: dict[str, Any], seed: int, epochs: int
) -> TrainConfig:
    """Settings of a training without early end, whose best look at validation counts."""
    shaped: dict[str, Any] = {"n_blocks": dimensions, "block_size": 1, "batch_size": 8192}
    shaped |= {name: value for name, value in found.items() if name in TRAINED}
    most = max(64, 1 << int(np.log2(max(len(split.train) // STEPS, 1))))
    looking: dict[str, Any] = {
        "metric": METRIC,
        "evaluate_every": max(1, epochs // 10),
        "patience": 0,
    }
    shaped["batch_size"] = min(shaped["batch_size"], most)
    return TrainConfig(**shaped | looking | {"seed": seed, "epochs": epochs})


def fit_vectors(
    split: Split,
    config: TrainConfig,
    device: str,
    *,
    make: MakeBase = make_base,
    loss: Loss | None = None,
) -> Training:
    """The vectors that a training leaves, with a base or a loss of the method's own."""
    lists, counting = _cooccurrence(split, config)
    trained = train(split, config, device=device, make=make, loss=loss, cooccurrence=lists)
    table = trained.table
    assert table.users is not None
    return Training(table.users, table.items, trained.progress.seconds + counting)


_kept: dict[tuple[Any, ...], Training] = {}
_lists: dict[tuple[str, int], tuple[Cooccurrence, float]] = {}


def kept_vectors(
    split: Split, config: TrainConfig, device: str, *, loss: Loss | None = None, word: str = ""
) -> Training:
    """The same, made once for several budgets.

    Args:
        word: names the loss, where it is the method's own.
    """
    key = split.fingerprint(), config, device, word
    if key not in _kept:
        while len(_kept) >= KEPT:
            del _kept[next(iter(_kept))]
        _kept[key] = fit_vectors(split, config, device, loss=loss)
    return _kept[key]


def _cooccurrence(split: Split, config: TrainConfig) -> tuple[Cooccurrence | None, float]:
    """The lists of the co-occurrence term, counted once, and the seconds that took."""
    if not config.cooccurrence:
        return None, 0.0
    key = split.fingerprint(), config.cooccurrence_k
    if key not in _lists:
        started = time.perf_counter()
        _lists.clear()
        lists = count_cooccurrence(split.train, config.cooccurrence_k)
        _lists[key] = lists, time.perf_counter() - started
    return _lists[key]


def by_popularity(split: Split) -> np.ndarray:
    """(V,) item numbers by falling popularity in train, then number."""
    return np.argsort(-split.train.per_item, kind="stable")


def validation_recall(fitted: Fitted, split: Split, device: str) -> float:
    """Recall@50 on validation of some seeded users; 0 where there is no validation."""
    able = np.flatnonzero(split.validation.per_user)
    if not len(able):
        return 0.0
    users = np.sort(np.random.default_rng(0).permutation(able)[:VALIDATION_USERS])
    found = fitted.evaluate(split, (METRIC,), users, device, "validation")
    return found.metrics[METRIC]


def reseeded(config: TrainConfig, **changes: Any) -> TrainConfig:
    """The settings with some changed; few enough epochs still get a look at validation."""
    epochs = changes.get("epochs", config.epochs)
    return replace(config, evaluate_every=max(1, epochs // 10), **changes)
