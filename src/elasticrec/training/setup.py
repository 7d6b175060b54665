"""From settings to a base with first vectors, and from a trained base to its block table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from elasticrec.training.bases import Base, random_table
from elasticrec.training.bases.factorization import AggregatedFactorization, Factorization
from elasticrec.training.bases.history import Histories, History
from elasticrec.training.bases.lightgcn import Graph, LightGCN
from elasticrec.training.spectral import spectral_tables
from elasticrec.training.table import BlockTable
from elasticrec.data.interactions import Pairs
from elasticrec.training.config import TrainConfig

MakeBase = Callable[[Pairs, TrainConfig, torch.Generator], Base]
"""Makes an untrained base for train pairs, on the generator's device."""

_RIDGE = 1e-3
_OWN_SHARE = 0.3
"""With aggregation, a user starts as mostly the sum of her items, a unit vector."""


def make_base(train: Pairs, config: TrainConfig, generator: torch.Generator) -> Base:
    """An untrained base on the generator's device."""
    where = generator.device
    needs_graph = config.base == "lightgcn" or config.init == "spectral"
    graph = Graph(train, where) if needs_graph else None
    if config.init == "spectral":
        assert graph is not None
        unit = config.loss == "softmax"
        users, items = spectral_tables(graph, config.dimensions, generator, unit=unit)
        users, items = users * config.init_scale, items * config.init_scale
    else:
        users = random_table(train.n_users, config.dimensions, config.init_scale, generator)
        items = random_table(train.n_items, config.dimensions, config.init_scale, generator)
    # Cosines do not mind norms; of diversity only the printed form does.
    printed = config.diversity and config.diversity_form == "printed"
    units = config.loss == "softmax" and not printed
    if config.base == "history":
        return History(items, Histories(train, where), units=units)
    if config.aggregation:
        histories = Histories(train, where)
        return AggregatedFactorization(users * _OWN_SHARE, items, histories, units=units)
    if config.base == "mf":
        return Factorization(users, items)
    assert graph is not None
    return LightGCN(users, items, graph, layers=config.layers, readout=config.readout)


def make_table(
    base: Base, config: TrainConfig, train: Pairs, gain: Tensor | None = None
) -> BlockTable:
    """The trained vectors as they are scored: unit rows where the loss was on cosines.

    Args:
        gain: (V,) what items are multiplied by; None leaves them as they are.
    """
    users, items = final_vectors(base, config)
    if gain is not None:
        items = items * gain[:, None]
    blocks = items.reshape(len(items), config.n_blocks, config.block_size)
    table = BlockTable(
        blocks=blocks.cpu().numpy().astype(np.float32),
        users=None if users is None else users.cpu().numpy().astype(np.float32),
        base=base.name,
        score=config.score,
        temperature=config.temperature if users is not None and config.loss == "softmax" else None,
    )
    return fit_fold_map(table, train)


def final_vectors(base: Base, config: TrainConfig) -> tuple[Tensor | None, Tensor]:
    """(U, D) users (None for `history`) and (V, D) items whose plain score is the trained one.

    Where the loss was on cosines, each vector is divided by its norm as it is scored.
    """
    users, items = base.final()
    if config.loss == "bpr":
        return users, items
    return None if users is None else _unit(users, config), _unit(items, config)


def fold(vectors: Tensor, config: TrainConfig) -> Tensor:
    """Vectors as they are scored: (n, D) as they are, or (n, d) summed over blocks if tiled."""
    if config.score == "aligned":
        return vectors
    return vectors.view(len(vectors), config.n_blocks, config.block_size).sum(dim=1)


def _unit(vectors: Tensor, config: TrainConfig) -> Tensor:
    return vectors / fold(vectors, config).norm(dim=1, keepdim=True).clamp(min=1e-12)


def fit_fold_map(table: BlockTable, train: Pairs) -> BlockTable:
    """The table with the D×D map that turns a sum of items into a user vector (least squares).

    A `history` table needs none: its users are such sums.
    """
    if table.users is None:
        return table
    some = np.flatnonzero(train.per_user > 0)
    sums = table.item_sums(train.rows(some)).astype(np.float64)
    gram = sums.T @ sums
    gram[np.diag_indices_from(gram)] += _RIDGE * len(some) / table.dimensions
    fold_map = np.linalg.solve(gram, sums.T @ table.users[some].astype(np.float64))
    return replace(table, fold_map=fold_map.astype(np.float32))
