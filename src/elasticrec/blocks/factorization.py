"""The base `mf`: a vector per user and a vector per item."""

from __future__ import annotations

from torch import Tensor

from elasticrec.blocks.bases import Tables
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
