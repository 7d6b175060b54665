"""The base `history`: the user is the normalised sum of her items, so there is no user table."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from elasticrec.data.interactions import Pairs
from elasticrec.training.bases import Leaves, Tables, Users
from elasticrec.training.rows import named_rows, unit
from elasticrec.training.sampler import Batch


class History:
    """Item vectors alone; a user asks for an item of hers by the sum of her others."""

    name = "history"
    whole_users = True

    def __init__(self, items: Tensor) -> None:
        self.tables: Tables = {"items": items}

    def forward(self, leaves: Leaves, batch: Batch) -> tuple[Users, list[Tensor]]:
        """Normalised sums of the users' items, and the batch's items."""
        items = named_rows(leaves, "items", batch.items)
        return sums(items[0], batch), items

    def final(self) -> tuple[None, Tensor]:
        """No users, and (V, D) items."""
        return None, self.tables["items"]


def sums(seen: Tensor, batch: Batch) -> Users:
    """Normalised sums of the unit vectors of the users' items.

    Args:
        seen: (B, D) vectors of the batch's seen items, which are all items of its users.
    """
    units = unit(seen)
    totals = torch.zeros(len(batch.users), seen.shape[1], dtype=seen.dtype, device=seen.device)
    totals = totals.index_add(0, batch.row, units)
    return Users(unit(totals), unit(totals.index_select(0, batch.row) - units))


def everyone(train: Pairs, items: Tensor) -> Tensor:
    """(U, D) normalised sum of the unit vectors of every user's items."""
    numbers = torch.from_numpy(train.items.astype("int64")).to(items.device)
    starts = torch.from_numpy(train.indptr[:-1].copy()).to(items.device)
    return unit(embedding_bag(numbers, unit(items), starts, mode="sum"))
