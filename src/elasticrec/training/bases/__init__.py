"""The protocol of a base: trainable tables, and the vectors that one batch needs of them."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from torch import Tensor

from elasticrec.training.rows import Leaves, Tables
from elasticrec.training.sampler import Batch

__all__ = ["Base", "Leaves", "Tables", "Users"]


class Users(NamedTuple):
    """The users of a batch, as they are and as they ask for one of their items."""

    vectors: Tensor
    """(b, D) of the batch's users."""
    asking: Tensor
    """(B, D) of each pair's user, made without the pair's item, so that it cannot copy it."""


class Base(Protocol):
    """A model that can be trained: `history`, `mf` or `lightgcn`."""

    name: str
    tables: Tables
    """Trainable tensors by name; those named `users` (U, D) and `items` (V, D) may have L2."""
    whole_users: bool
    """True: a batch has to hold all items of its users."""

    def forward(self, leaves: Leaves, batch: Batch) -> tuple[Users, list[Tensor]]:
        """The batch's users, and (n, D) vectors of each part of `batch.items`.

        Args:
            leaves: gives the tables, or rows of them, that are to have gradients.
        """
        ...

    def final(self) -> tuple[Tensor | None, Tensor]:
        """(U, D) users, or None where histories make them, and (V, D) items."""
        ...
