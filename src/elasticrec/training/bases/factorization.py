"""The base `mf`: a vector per user and a vector per item, with or without aggregation."""

from __future__ import annotations

from torch import Tensor

from elasticrec.training.bases import Parts, Tables
from elasticrec.training.bases.history import Histories, others_and_items
from elasticrec.training.sampler import Batch


class Factorization:
    """Matrix factorisation; a step touches only the rows of its batch."""

    name = "mf"
    by_rows: tuple[str, ...] = ("users", "items")
    units = False

    def __init__(self, users: Tensor, items: Tensor) -> None:
        self.tables: Tables = {"users": users, "items": items}

    def forward(
        self, tables: Tables, rows: Parts, batch: Batch, items: list[Tensor]
    ) -> tuple[Tensor, list[Tensor]]:
        """The rows of the batch's users, and those of some items."""
        del tables, batch, items  # only its rows matter
        return rows["users"][0], rows["items"]

    def final(self) -> tuple[Tensor, Tensor]:
        """(U, D) users and (V, D) items."""
        return self.tables["users"], self.tables["items"]


class AggregatedFactorization:
    """A user is her own vector plus the normalised sum of her items' unit vectors.

    In training the item to be guessed is left out of the sum, so that it cannot give itself away;
    without that, a user fits what she took better than what she will take.
    """

    name = "mf"
    by_rows: tuple[str, ...] = ("users",)

    def __init__(
        self, users: Tensor, items: Tensor, histories: Histories, *, units: bool = False
    ) -> None:
        self.tables: Tables = {"users": users, "items": items}
        self.histories, self.units = histories, units

    def forward(
        self, tables: Tables, rows: Parts, batch: Batch, items: list[Tensor]
    ) -> tuple[Tensor, list[Tensor]]:
        """(B, D) own vectors plus normalised sums of the users' other items, and some items."""
        others, found = others_and_items(
            self.histories, tables["items"], batch, items, units=self.units
        )
        return rows["users"][0] + others, found

    def final(self) -> tuple[Tensor, Tensor]:
        """(U, D) own vectors plus normalised sums of all their items, and (V, D) items."""
        items = self.tables["items"]
        return self.tables["users"] + self.histories.everyone(items), items
