"""The protocol of a base: trainable tables, and the vectors that one batch needs of them."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

from elasticrec.training.rows import Leaves, Tables
from elasticrec.training.sampler import Batch

__all__ = ["Base", "Leaves", "Tables"]


class Base(Protocol):
    """A model that can be trained: `history`, `mf` or `lightgcn`."""

    name: str
    tables: Tables
    """Trainable tensors by name; those named `users` (U, D) and `items` (V, D) may have L2."""
    units: bool
    """True: `forward` gives items as vectors of norm 1, which is all that cosines need."""

    def forward(self, leaves: Leaves, batch: Batch) -> tuple[Tensor, list[Tensor]]:
        """(B, D) vectors of the batch's users, and (n, D) of each part of `batch.items`.

        Args:
            leaves: gives the tables, or rows of them, that are to have gradients.
        """
        ...

    def final(self) -> tuple[Tensor | None, Tensor]:
        """(U, D) users, or None where histories make them, and (V, D) items."""
        ...
