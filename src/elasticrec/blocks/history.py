"""The base `history`: the user is the normalised sum of her items, so there is no user table."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag, normalize

from elasticrec.blocks.bases import Parts, Tables, take
from elasticrec.data.interactions import Pairs
from elasticrec.data.triples import Batch


class Histories:
    """Every user's train items on one device, ready to be summed for any batch of users."""

    def __init__(self, train: Pairs, device: str | torch.device = "cpu") -> None:
        self.starts = torch.from_numpy(train.indptr[:-1].copy()).to(device)
        self.counts = torch.from_numpy(train.per_user.copy()).to(device)
        self.items = torch.from_numpy(train.items.astype("int64")).to(device)

    def others(self, items: Tensor, batch: Batch) -> Tensor:
        """(B, D) normalised sum of the unit vectors of each user's items but the seen one."""
        unit = normalize(items, dim=1)
        users, back = torch.unique(batch.users, return_inverse=True)
        counts = self.counts[users]
        offsets = torch.cumsum(counts, 0) - counts
        row = torch.repeat_interleave(counts)
        at = torch.arange(len(row), device=row.device) - offsets[row] + self.starts[users][row]
        sums = embedding_bag(self.items[at], unit, offsets, mode="sum").index_select(0, back)
        return normalize(sums - unit.index_select(0, batch.seen), dim=1)

    def everyone(self, items: Tensor) -> Tensor:
        """(U, D) normalised sum of the unit vectors of every user's items."""
        unit = normalize(items, dim=1)
        return normalize(embedding_bag(self.items, unit, self.starts, mode="sum"), dim=1)


class History:
    """Item vectors alone; in training, the item to be guessed is left out of the sum."""

    name = "history"
    by_rows: tuple[str, ...] = ()

    def __init__(self, items: Tensor, histories: Histories) -> None:
        self.tables: Tables = {"items": items}
        self.histories = histories

    def forward(
        self, tables: Tables, rows: Parts, batch: Batch, items: list[Tensor]
    ) -> tuple[Tensor, list[Tensor]]:
        """(B, D) normalised sums of the users' other items, and some items."""
        del rows
        return self.histories.others(tables["items"], batch), take(tables["items"], items)

    def final(self) -> tuple[None, Tensor]:
        """No users, and (V, D) items."""
        return None, self.tables["items"]
