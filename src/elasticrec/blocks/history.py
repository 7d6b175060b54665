"""The base `history`: the user is the normalised sum of her items, so there is no user table."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from elasticrec.blocks.bases import Parts, Tables, take
from elasticrec.blocks.unit import unit
from elasticrec.data.interactions import Pairs
from elasticrec.data.triples import Batch, ascending


class Histories:
    """Every user's train items on one device, ready to be summed for any batch of users."""

    def __init__(self, train: Pairs, device: str | torch.device = "cpu") -> None:
        self.starts = torch.from_numpy(train.indptr[:-1].copy()).to(device)
        self.counts = torch.from_numpy(train.per_user.copy()).to(device)
        self.items = torch.from_numpy(train.items.astype("int64")).to(device)

    def others(self, items: Tensor, batch: Batch) -> Tensor:
        """(B, D) normalised sum of the unit vectors of each user's items but the seen one."""
        units = unit(items)
        users, back = torch.unique(batch.users, return_inverse=True)
        counts = self.counts.index_select(0, users)
        offsets = torch.cumsum(counts, 0) - counts
        shift = torch.repeat_interleave(self.starts.index_select(0, users) - offsets, counts)
        taken = self.items.index_select(0, shift + torch.arange(len(shift), device=shift.device))
        sums: Tensor = _Sums.apply(units, taken, offsets)
        sums = sums.index_select(0, back)
        return unit(sums - units.index_select(0, batch.seen))

    def everyone(self, items: Tensor) -> Tensor:
        """(U, D) normalised sum of the unit vectors of every user's items."""
        return unit(embedding_bag(self.items, unit(items), self.starts, mode="sum"))


class _Sums(torch.autograd.Function):
    """Sums of rows; the gradient is such sums again, by item instead of by user."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, taken: Tensor, offsets: Tensor) -> Tensor:
        ctx.save_for_backward(taken, offsets)
        ctx.n_rows = len(rows)
        return embedding_bag(taken, rows, offsets, mode="sum")

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        taken, offsets = ctx.saved_tensors
        n_bags = len(offsets)
        places = torch.arange(len(taken), device=taken.device)
        bags = torch.searchsorted(offsets, places, right=True) - 1
        keys = ascending(taken * n_bags + bags)  # by row, then by bag
        starts = torch.arange(ctx.n_rows, device=taken.device) * n_bags
        offsets = torch.searchsorted(keys, starts)
        by_row = embedding_bag(keys.remainder_(n_bags), grads[0].contiguous(), offsets, mode="sum")
        return by_row, None, None


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
