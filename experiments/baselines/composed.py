"""A base whose items are composed of other tables, for methods that store those instead.

Among them items of several sizes: each has as many numbers as its size says, and a map for each
size. A vector of a larger size begins with the numbers of the smaller one, so that growing forgets
nothing; maps bring all sizes to one width.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from elasticrec.data.interactions import Pairs
from elasticrec.training.bases import Base, Users, own_users, sums
from elasticrec.training.config import TrainConfig
from elasticrec.training.rows import Leaves, Tables, take
from elasticrec.training.sampler import Batch
from elasticrec.training.setup import first_vectors
from experiments.baselines.contract import (
    Stored,
    code_scales,
    decode_scales,
    pack,
    packed_bytes,
    unpack,
)
from experiments.baselines.fitting import RivalConfig, Training, everyone


class Composition(Protocol):
    """A way to compose items of other tables."""

    def tables(self, items: Tensor, generator: torch.Generator) -> Tables:
        """First values of the tables, given what first vectors (V, D) of the items could be."""
        ...

    def compose(self, tables: Tables) -> Tensor:
        """(V, D) all items."""
        ...


class Composed:
    """Users of their own, with or without the sum of their items, and composed items."""

    name = "composed"

    def __init__(
        self, users: Tensor, tables: Tables, compose: Callable[[Tables], Tensor],
        summed: Pairs | None,
    ) -> None:  # fmt: skip
        """Args: summed: train pairs, if users are also sums of their items."""
        self.tables: Tables = {"users": users, **tables}
        self.compose, self.summed = compose, summed
        self.whole_users = summed is not None

    def forward(self, leaves: Leaves, batch: Batch) -> tuple[Users, list[Tensor]]:
        """The batch's users, and its composed items."""
        composed = self.compose({k: leaves.whole(k) for k in self.tables if k != "users"})
        own, items = own_users(leaves, batch), take(composed, batch.items)
        if self.summed is None:
            return own, items
        of_items = sums(items[0], batch)
        return Users(own.vectors + of_items.vectors, own.asking + of_items.asking), items

    def final(self) -> tuple[Tensor, Tensor]:
        """(U, D) users and (V, D) items."""
        items = self.compose({k: t for k, t in self.tables.items() if k != "users"})
        users = self.tables["users"]
        return users if self.summed is None else users + everyone(self.summed, items), items


class Maker:
    """Makes a composed base for the training loop, and keeps it, so that its tables can be read."""

    def __init__(self, composition: Composition) -> None:
        self.composition = composition
        self.base: Composed | None = None

    def __call__(self, train: Pairs, config: TrainConfig, generator: torch.Generator) -> Base:
        """The base, from spectral vectors or from random ones."""
        users, items = first_vectors(train, config, generator)
        summed = None
        if isinstance(config, RivalConfig) and config.aggregation:
            summed, users = train, users * config.own_norm
        tables = self.composition.tables(items, generator)
        self.base = Composed(users, tables, self.composition.compose, summed)
        return self.base

    def arrays(self) -> dict[str, np.ndarray]:
        """The tables of the items that validation found best."""
        assert self.base is not None
        return {
            name: table.detach().cpu().numpy()
            for name, table in self.base.tables.items()
            if name != "users"
        }


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


class MixedSizes:
    """Composition of items whose sizes are fixed, or set anew between two steps."""

    def __init__(self, sizes: tuple[int, ...], chosen: Tensor) -> None:
        self.sizes = sizes
        self.chosen = chosen  # (V,) which of the sizes

    def tables(self, items: Tensor, generator: torch.Generator) -> Tables:
        """Items start as first vectors, maps as keeping each number at its place."""
        self.chosen = self.chosen.to(items.device)
        D = items.shape[1]
        found: Tables = {"items": items[:, : self.sizes[-1]].contiguous()}
        for k, size in enumerate(self.sizes):
            noise = torch.randn(size, D, generator=generator, device=items.device)
            found[f"map{k}"] = torch.eye(D, device=items.device)[:size] + 0.01 * noise / D**0.5
        return found

    def compose(self, tables: Tables) -> Tensor:
        """(V, D) all items."""
        return self.composed(tables, self.chosen)

    def composed(self, tables: Tables, chosen: Tensor) -> Tensor:
        """(V, D) all items if their sizes were others."""
        order = torch.argsort(chosen, stable=True)
        counts = torch.bincount(chosen, minlength=len(self.sizes)).tolist()
        rows = tables["items"].index_select(0, order).split(counts)
        parts = [
            part[:, :size] @ tables[f"map{k}"]
            for k, (size, part) in enumerate(zip(self.sizes, rows, strict=True))
        ]
        back = torch.empty_like(order)
        back[order] = torch.arange(len(order), device=order.device)
        return torch.cat(parts).index_select(0, back)


def size_bits(n_sizes: int) -> int:
    """Bits that tell an item's size."""
    return max(1, (n_sizes - 1).bit_length())


def beside_bytes(n_items: int, sizes: tuple[int, ...], dimensions: int) -> int:
    """All bytes but those of the items' own numbers and of a person's vector."""
    return packed_bytes(n_items, size_bits(len(sizes))) + 4 * sum(sizes) * dimensions + 4


def stored_sizes(
    tables: dict[str, np.ndarray], sizes: tuple[int, ...], chosen: np.ndarray
) -> dict[str, np.ndarray]:
    """The arrays to store: numbers item by item, each item's size, the maps."""
    widths = np.array(sizes)[chosen]
    kept = np.arange(sizes[-1]) < widths[:, None]
    return {
        "numbers": tables["items"][kept],
        "chosen": pack(chosen, size_bits(len(sizes))),
        "n_items": np.array([len(chosen)], dtype=np.int32),
        **{f"map{k}": tables[f"map{k}"] for k in range(len(sizes))},
    }


def from_sizes(stored: Stored) -> np.ndarray:
    """(V, D) the items that `stored_sizes` stored."""
    maps = [stored[f"map{k}"] for k in range(sum(name.startswith("map") for name in stored))]
    chosen = unpack(stored["chosen"], int(stored["n_items"][0]))
    widths = np.array([len(one) for one in maps])[chosen]
    starts = np.cumsum(widths) - widths
    items = np.zeros((len(chosen), maps[0].shape[1]), dtype=np.float32)
    for k, one in enumerate(maps):
        some = np.flatnonzero(chosen == k)
        items[some] = stored["numbers"][starts[some, None] + np.arange(len(one))] @ one
    return items
