"""Items of several sizes: each has as many numbers as its size says, and a map for each size.

A vector of a larger size begins with the numbers of the smaller one, so that growing forgets
nothing; maps bring all sizes to one width.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from elasticrec.training.rows import Tables
from experiments.baselines.contract import Stored, pack, packed_bytes, unpack


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
