"""The base `mf`: a vector per user and a vector per item, with or without aggregation."""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import normalize

from elasticrec.blocks.bases import Tables
from elasticrec.blocks.history import Histories
from elasticrec.data.triples import Batch


class Factorization:
    """Matrix factorisation; a step touches only the rows of its batch."""

    name = "mf"
    dense = False

    def __init__(self, users: Tensor, items: Tensor) -> None:
        self.tables: Tables = {"users": users, "items": items}

    def forward(self, tables: Tables, batch: Batch) -> tuple[Tensor, Tensor]:
        """(B, D) vectors of the batch's users, and the items."""
        return tables["users"][batch.users], tables["items"]

    def final(self) -> tuple[Tensor, Tensor]:
        """(U, D) users and (V, D) items."""
        return self.tables["users"], self.tables["items"]


class AggregatedFactorization:
    """A user is her own vector plus the normalised sum of her items' unit vectors.

    In training the item to be guessed is left out of the sum, so that it cannot give itself away;
    without that, a user fits what she took better than what she will take.
    """

    name = "mf"
    dense = True

    def __init__(self, users: Tensor, items: Tensor, histories: Histories) -> None:
        self.tables: Tables = {"users": users, "items": items}
        self.histories = histories

    def forward(self, tables: Tables, batch: Batch) -> tuple[Tensor, Tensor]:
        """(B, D) own vectors plus normalised sums of the users' other items, and unit items."""
        items = normalize(tables["items"], dim=1)
        others = self.histories.sums(items, batch.users) - items[batch.seen]
        return tables["users"][batch.users] + normalize(others, dim=1), items

    def final(self) -> tuple[Tensor, Tensor]:
        """(U, D) own vectors plus normalised sums of all items, and (V, D) unit items."""
        items = normalize(self.tables["items"], dim=1)
        sums = self.histories.all_sums(items)
        return self.tables["users"] + normalize(sums, dim=1), items
