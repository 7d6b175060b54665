"""Training of all compared methods: settings, their papers' losses, trainings kept in memory.

The loop, the sampler, the optimiser and the choice of the best epoch are the library's.
"""

from __future__ import annotations

import time
import tomllib
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Generator, Tensor
from torch.nn.functional import embedding_bag, softplus

from elasticrec.data.cooccurrence import Cooccurrence, count_cooccurrence
from elasticrec.data.interactions import Pairs
from elasticrec.data.split import Split
from elasticrec.settings import Positive
from elasticrec.training.bases import Base, Factorization, Users, sums
from elasticrec.training.config import TrainConfig
from elasticrec.training.loop import train
from elasticrec.training.losses import Loss, Vectors
from elasticrec.training.rows import Leaves, unit
from elasticrec.training.sampler import Batch
from elasticrec.training.setup import MakeBase, make_base
from experiments.baselines.contract import Fitted

RECIPES = Path(__file__).parents[1] / "recipes" / "rivals.toml"
LARGEST = 256
"""No method has more dimensions than ours may have."""
MOST = 64
"""Blocks, and numbers of a block, that a table may have at most."""
KEPT = 2
"""Trainings kept in memory, so that several budgets may share one."""
METRIC, VALIDATION_USERS = "recall@50", 3_000
"""Metric, and users at most, by which a method makes choices of its own."""

OUR_TRIALS: list[dict[str, Any]] = [
    {"temperature": 0.07, "cooccurrence": 1.0},
    {"temperature": 0.1, "cooccurrence": 0.3},
    {"temperature": 0.1, "cooccurrence": 1.0},
    {"temperature": 0.15, "cooccurrence": 0.3},
]
"""Few dimensions like a higher temperature than the many that `RECIPES` are for."""


@dataclass(frozen=True, repr=False)
class RivalConfig(TrainConfig):
    """Settings of a training whose users may be sums of their items, too."""

    aggregation: bool = False
    """`mf`: a user is her own vector plus the normalised sum of her items."""
    own_norm: Positive = 0.3
    """`aggregation`: norm of a user's own first vector; the sum beside it has norm 1."""


TRAINED = {field.name for field in fields(RivalConfig)}


class Summed(Factorization):
    """Matrix factorisation whose users are their own vectors plus the sums of their items."""

    whole_users = True

    def __init__(self, users: Tensor, items: Tensor, train: Pairs) -> None:
        super().__init__(users, items)
        self.train = train

    def forward(self, leaves: Leaves, batch: Batch) -> tuple[Users, list[Tensor]]:
        """The batch's users, and its items."""
        own, items = super().forward(leaves, batch)
        of_items = sums(items[0], batch)
        return Users(own.vectors + of_items.vectors, own.asking + of_items.asking), items

    def final(self) -> tuple[Tensor, Tensor]:
        """(U, D) users and (V, D) items."""
        users, items = super().final()
        return users + everyone(self.train, items), items


def everyone(train: Pairs, items: Tensor) -> Tensor:
    """(U, D) normalised sum of the unit vectors of every user's items."""
    numbers = torch.from_numpy(train.items.astype("int64")).to(items.device)
    starts = torch.from_numpy(train.indptr[:-1].copy()).to(items.device)
    return unit(embedding_bag(numbers, unit(items), starts, mode="sum"))


def make_rival(train: Pairs, config: TrainConfig, generator: Generator) -> Base:
    """An untrained base of the library, or one whose users are sums of their items, too."""
    base = make_base(train, config, generator)
    if not isinstance(config, RivalConfig) or not config.aggregation:
        return base
    return Summed(base.tables["users"] * config.own_norm, base.tables["items"], train)


@dataclass(frozen=True, eq=False)
class Training:
    """Vectors as they are scored, by plain products."""

    users: np.ndarray
    """(U, D) float32."""
    items: np.ndarray
    """(V, D) float32."""
    seconds: float
    """Time to train, the counting of co-occurring items included."""


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
    found |= tomllib.loads(RECIPES.read_text(encoding="utf-8")).get(split.name, {})
    return _config(dimensions, found | settings, seed, epochs)


def paper_config(dimensions: int, settings: dict[str, Any], seed: int, epochs: int) -> TrainConfig:
    """Products of plain vectors, negatives of each pair's own, and the settings of a trial."""
    found: dict[str, Any] = {"base": "mf", "loss": "bpr", "cooccurrence": 0.0}
    found |= {"learning_rate": 5e-3, "negatives": 4}
    return _config(dimensions, found | settings, seed, epochs)


def _config(dimensions: int, found: dict[str, Any], seed: int, epochs: int) -> TrainConfig:
    """Settings of a training without early end, of which the best epoch on validation counts."""
    n_blocks, block_size = blocks_of(dimensions)
    shaped: dict[str, Any] = {"n_blocks": n_blocks, "block_size": block_size, "batch_size": 8192}
    shaped |= {name: value for name, value in found.items() if name in TRAINED}
    looking: dict[str, Any] = {
        "recency": 0.0,
        "metric": METRIC,
        "evaluate_every": max(1, epochs // 10),
        "patience": 0,
    }
    return RivalConfig(**shaped | looking | {"seed": seed, "epochs": epochs})


def blocks_of(dimensions: int) -> tuple[int, int]:
    """Blocks and their size, at most `MOST` of each, that make so many dimensions; 0 if none do."""
    sizes = (size for size in range(1, MOST + 1) if dimensions % size == 0)
    return next(((dimensions // s, s) for s in sizes if dimensions // s <= MOST), (0, 0))


def fit_vectors(
    split: Split,
    config: TrainConfig,
    device: str,
    *,
    make: MakeBase = make_rival,
    loss: Loss | None = None,
) -> Training:
    """The vectors that a training leaves, with a base or a loss of the method's own."""
    lists, counting = _cooccurrence(split, config)
    trained = train(split, config, device=device, make=make, loss=loss, cooccurrence=lists)
    table = trained.table
    assert table.users is not None
    _, items = table.effective(split.train.per_item)
    return Training(table.users, items, trained.progress.seconds + counting)


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


def _products(vectors: Vectors) -> tuple[Tensor, Tensor]:
    """(B,) scores of the items taken, and (B, m) of the sampled zeros."""
    seen = (vectors.users.asking * vectors.seen).sum(dim=1)
    unseen = (vectors.users.asking.unsqueeze(1) * vectors.unseen).sum(dim=2)
    return seen, unseen


def squares(vectors: Vectors, batch: Batch) -> Tensor:
    """Gaussian likelihood of ones and sampled zeros: the sum of squared errors of each pair."""
    del batch  # of other losses
    seen, unseen = _products(vectors)
    return (1 - seen).square().mean() + unseen.square().sum(dim=1).mean()


def logistic(vectors: Vectors, batch: Batch) -> Tensor:
    """Cross entropy of ones and sampled zeros, as in predicting a click."""
    del batch  # of other losses
    seen, unseen = _products(vectors)
    return softplus(-seen).mean() + softplus(unseen).sum(dim=1).mean()
