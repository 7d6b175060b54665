"""A base whose items are composed of other tables, for methods that store those instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from elasticrec.training.bases import Base, Parts, Tables, random_table, take
from elasticrec.training.bases.history import Histories, others_and_items
from elasticrec.training.bases.lightgcn import Graph
from elasticrec.training.spectral import spectral_tables
from elasticrec.data.interactions import Pairs
from elasticrec.training.sampler import Batch
from elasticrec.training.config import TrainConfig
from experiments.baselines.contract import Stored
from experiments.baselines.fitting import Training
from experiments.baselines.packing import code_scales, decode_scales

_OWN_SHARE = 0.3
"""As in the library: with aggregation, a user starts as mostly the sum of her items."""


class Composition(Protocol):
    """How items are composed."""

    def tables(self, items: Tensor, generator: torch.Generator) -> Tables:
        """First values of the tables, given what first vectors (V, D) of the items could be."""
        ...

    def compose(self, tables: Tables) -> Tensor:
        """(V, D) all items."""
        ...


class Composed:
    """Users of their own, with or without the sum of their items, and composed items."""

    name = "composed"
    by_rows: tuple[str, ...] = ("users",)
    units = False

    def __init__(
        self, users: Tensor, tables: Tables, compose: Callable[[Tables], Tensor],
        histories: Histories | None,
    ) -> None:  # fmt: skip
        self.tables: Tables = {"users": users, **tables}
        self.compose, self.histories = compose, histories

    def forward(
        self, tables: Tables, rows: Parts, batch: Batch, items: list[Tensor]
    ) -> tuple[Tensor, list[Tensor]]:
        """(B, D) the batch's users, and some composed items."""
        composed = self.compose(tables)
        if self.histories is None:
            return rows["users"][0], take(composed, items)
        others, found = others_and_items(self.histories, composed, batch, items, units=False)
        return rows["users"][0] + others, found

    def final(self) -> tuple[Tensor, Tensor]:
        """(U, D) users and (V, D) items."""
        items = self.compose({k: t for k, t in self.tables.items() if k != "users"})
        users = self.tables["users"]
        return users if self.histories is None else users + self.histories.everyone(items), items


class Maker:
    """Makes a composed base for the training loop, and keeps it, so that its tables can be read."""

    def __init__(self, composition: Composition) -> None:
        self.composition = composition
        self.base: Composed | None = None

    def __call__(self, train: Pairs, config: TrainConfig, generator: torch.Generator) -> Base:
        """The base, from spectral vectors or from random ones."""
        users, items = first_vectors(train, config, generator)
        histories = Histories(train, generator.device) if config.aggregation else None
        users = users * _OWN_SHARE if config.aggregation else users
        tables = self.composition.tables(items, generator)
        self.base = Composed(users, tables, self.composition.compose, histories)
        return self.base

    def arrays(self) -> dict[str, np.ndarray]:
        """What the best look at validation left in the tables of the items."""
        assert self.base is not None
        return {
            name: table.detach().cpu().numpy()
            for name, table in self.base.tables.items()
            if name != "users"
        }


def first_vectors(
    train: Pairs, config: TrainConfig, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """(U, D) and (V, D) as the library's own bases start."""
    if config.init == "spectral":
        graph = Graph(train, generator.device)
        unit = config.loss == "softmax"
        users, items = spectral_tables(graph, config.dimensions, generator, unit=unit)
        return users * config.init_scale, items * config.init_scale
    U, V, D = train.n_users, train.n_items, config.dimensions
    scale = config.init_scale
    return random_table(U, D, scale, generator), random_table(V, D, scale, generator)


def scales_of(trained: Training, composed: np.ndarray) -> dict[str, np.ndarray]:
    """One byte per item by which a composed vector becomes as long as it is scored.

    On cosines a vector counts by its direction, times a gain; this is the gain over the norm.
    """
    norms = np.linalg.norm(composed, axis=1)
    return code_scales(np.linalg.norm(trained.items, axis=1) / np.maximum(norms, 1e-12))


def scaled(composed: np.ndarray, stored: Stored) -> np.ndarray:
    """(V, D) composed items as they are scored; without scales they are scored as they are."""
    if "scales" not in stored:
        return composed
    return composed * decode_scales(stored["scales"], stored["scale_ends"])[:, None]
