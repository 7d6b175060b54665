"""The base `mf`: a vector per user and a vector per item, with or without aggregation."""

from __future__ import annotations

import torch
from torch import Tensor

from elasticrec.training.bases import Leaves, Tables
from elasticrec.training.bases.history import Histories, from_touched
from elasticrec.training.rows import take
from elasticrec.training.sampler import Batch


class Factorization:
    """Matrix factorisation; a step touches only the rows of its batch."""

    name = "mf"
    units = False

    def __init__(self, users: Tensor, items: Tensor) -> None:
        self.tables: Tables = {"users": users, "items": items}

    def forward(self, leaves: Leaves, batch: Batch) -> tuple[Tensor, list[Tensor]]:
        """The rows of the batch's users, and those of its items."""
        return user_rows(leaves, batch), item_rows(leaves, batch)

    def final(self) -> tuple[Tensor, Tensor]:
        """(U, D) users and (V, D) items."""
        return self.tables["users"], self.tables["items"]


class AggregatedFactorization:
    """A user is her own vector plus the normalised sum of her items' unit vectors.

    In training the sum leaves out the seen item, so that the user's vector cannot copy it.
    """

    name = "mf"

    def __init__(
        self, users: Tensor, items: Tensor, histories: Histories, *, units: bool = False
    ) -> None:
        self.tables: Tables = {"users": users, "items": items}
        self.histories, self.units = histories, units

    def forward(self, leaves: Leaves, batch: Batch) -> tuple[Tensor, list[Tensor]]:
        """(B, D) own vectors plus normalised sums of the users' other items; and the items."""
        others, items = from_touched(self.histories, leaves, batch, units=self.units)
        return user_rows(leaves, batch) + others, items

    def final(self) -> tuple[Tensor, Tensor]:
        """(U, D) own vectors plus normalised sums of all their items, and (V, D) items."""
        items = self.tables["items"]
        return self.tables["users"] + self.histories.everyone(items), items


def user_rows(leaves: Leaves, batch: Batch) -> Tensor:
    """(B, D) the batch's rows of the table `users`."""
    rows, places = leaves.rows("users", batch.users)
    return rows.index_select(0, places)


def item_rows(leaves: Leaves, batch: Batch) -> list[Tensor]:
    """(n, D) the rows of the table `items` for each part of the batch's items."""
    rows, places = leaves.rows("items", torch.cat(batch.items))
    return take(rows, list(places.split([len(part) for part in batch.items])))
