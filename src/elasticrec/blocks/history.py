"""The base `history`: the user is the normalised sum of her items, so there is no user table."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag, normalize

from elasticrec.blocks.bases import Tables
from elasticrec.data.interactions import Pairs
from elasticrec.data.triples import Batch


class Histories:
    """Every user's train items on one device, ready to be summed for any batch of users."""

    def __init__(self, train: Pairs, device: str | torch.device = "cpu") -> None:
        self.starts = torch.from_numpy(train.indptr[:-1].copy()).to(device)
        self.counts = torch.from_numpy(train.per_user.copy()).to(device)
        self.items = torch.from_numpy(train.items.astype("int64")).to(device)

    def sums(self, items: Tensor, users: Tensor) -> Tensor:
        """(B, D) sum of the item vectors of each user."""
        distinct, back = torch.unique(users, return_inverse=True)
        counts = self.counts[distinct]
        offsets = torch.cumsum(counts, 0) - counts
        within = torch.arange(int(counts.sum()), device=counts.device)
        within -= torch.repeat_interleave(offsets, counts)
        flat = self.items[torch.repeat_interleave(self.starts[distinct], counts) + within]
        return embedding_bag(flat, items, offsets, mode="sum")[back]

    def all_sums(self, items: Tensor) -> Tensor:
        """(U, D) sum of the item vectors of every user."""
        return embedding_bag(self.items, items, self.starts, mode="sum")


class History:
    """Item vectors alone; in training, the item to be guessed is left out of the sum."""

    name = "history"
    dense = True

    def __init__(self, items: Tensor, histories: Histories) -> None:
        self.tables: Tables = {"items": items}
        self.histories = histories

    def forward(self, tables: Tables, batch: Batch) -> tuple[Tensor, Tensor]:
        """(B, D) sums of the users' other items, normalised, and all items."""
        items = normalize(tables["items"], dim=1)
        sums = self.histories.sums(items, batch.users) - items[batch.seen]
        return normalize(sums, dim=1), items

    def final(self) -> tuple[None, Tensor]:
        """No users, and (V, D) items."""
        return None, self.tables["items"]
