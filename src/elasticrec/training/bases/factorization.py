"""The base `mf`: a vector per user and a vector per item, with or without aggregation."""

from __future__ import annotations

from torch import Tensor

from elasticrec.data.interactions import Pairs
from elasticrec.training.bases import Leaves, Tables, Users
from elasticrec.training.bases.history import everyone, sums
from elasticrec.training.rows import named_rows
from elasticrec.training.sampler import Batch


class Factorization:
    """Matrix factorisation; a step touches only the rows of its batch."""

    name = "mf"
    whole_users = False

    def __init__(self, users: Tensor, items: Tensor) -> None:
        self.tables: Tables = {"users": users, "items": items}

    def forward(self, leaves: Leaves, batch: Batch) -> tuple[Users, list[Tensor]]:
        """The rows of the batch's users, and those of its items."""
        return own_users(leaves, batch), named_rows(leaves, "items", batch.items)

    def final(self) -> tuple[Tensor, Tensor]:
        """(U, D) users and (V, D) items."""
        return self.tables["users"], self.tables["items"]


class AggregatedFactorization:
    """A user is her own vector plus the normalised sum of her items' unit vectors."""

    name = "mf"
    whole_users = True

    def __init__(self, users: Tensor, items: Tensor, train: Pairs) -> None:
        self.tables: Tables = {"users": users, "items": items}
        self.train = train

    def forward(self, leaves: Leaves, batch: Batch) -> tuple[Users, list[Tensor]]:
        """Own vectors plus normalised sums of the users' items; and the items."""
        own, items = own_users(leaves, batch), named_rows(leaves, "items", batch.items)
        of_items = sums(items[0], batch)
        return Users(own.vectors + of_items.vectors, own.asking + of_items.asking), items

    def final(self) -> tuple[Tensor, Tensor]:
        """(U, D) own vectors plus normalised sums of all their items, and (V, D) items."""
        items = self.tables["items"]
        return self.tables["users"] + everyone(self.train, items), items


def own_users(leaves: Leaves, batch: Batch) -> Users:
    """The batch's rows of the table `users`."""
    (vectors,) = named_rows(leaves, "users", [batch.users])
    return Users(vectors, vectors.index_select(0, batch.row))
