"""From settings to a base with first vectors."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from elasticrec.data.interactions import Pairs
from elasticrec.training.bases import Base
from elasticrec.training.bases.factorization import AggregatedFactorization, Factorization
from elasticrec.training.bases.history import Histories, History
from elasticrec.training.bases.lightgcn import Graph, LightGCN
from elasticrec.training.config import TrainConfig
from elasticrec.training.spectral import spectral_tables

MakeBase = Callable[[Pairs, TrainConfig, torch.Generator], Base]
"""Makes an untrained base for train pairs, on the generator's device."""

OWN_SHARE = 0.3
"""First norm of a user's own vector where it stands beside the unit sum of her items."""


def make_base(train: Pairs, config: TrainConfig, generator: torch.Generator) -> Base:
    """An untrained base on the generator's device."""
    where = generator.device
    needs_graph = config.base == "lightgcn" or config.init == "spectral"
    graph = Graph(train, where) if needs_graph else None
    users, items = first_vectors(train, config, generator, graph)
    # The cosine loss ignores scale; of diversity only the printed form does not.
    printed = config.diversity and config.diversity_form == "printed"
    units = config.loss == "softmax" and not printed
    if config.base == "history":
        return History(items, Histories(train, where), units=units)
    if config.aggregation:
        histories = Histories(train, where)
        return AggregatedFactorization(users * OWN_SHARE, items, histories, units=units)
    if config.base == "mf":
        return Factorization(users, items)
    assert graph is not None
    return LightGCN(users, items, graph, layers=config.layers, readout=config.readout)


def first_vectors(
    train: Pairs, config: TrainConfig, generator: torch.Generator, graph: Graph | None = None
) -> tuple[Tensor, Tensor]:
    """(U, D) users and (V, D) items to start from.

    Args:
        graph: of the train pairs, if it is at hand.
    """
    if config.init == "spectral":
        graph = graph or Graph(train, generator.device)
        unit = config.loss == "softmax"
        users, items = spectral_tables(graph, config.dimensions, generator, unit=unit)
        return users * config.init_scale, items * config.init_scale
    U, V, D = train.n_users, train.n_items, config.dimensions
    scale = config.init_scale
    return random_table(U, D, scale, generator), random_table(V, D, scale, generator)


def random_table(rows: int, dimensions: int, scale: float, generator: torch.Generator) -> Tensor:
    """(rows, D) normal numbers whose rows have a norm of about `scale`."""
    device = generator.device
    numbers = torch.randn(rows, dimensions, generator=generator, device=device)
    return numbers * (scale / dimensions**0.5)
