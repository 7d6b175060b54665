"""What a base is: trainable tables, and the vectors that one batch needs of them."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from elasticrec.data.triples import Batch

Tables = dict[str, Tensor]


class Base(Protocol):
    """A model that can be trained: `mf`, `lightgcn` or `history`."""

    name: str
    tables: Tables
    """Trainable tensors by name: `items` (V, D), and `users` (U, D) where the base has them."""
    by_rows: tuple[str, ...]
    """Tables of which a step touches few rows; `forward` may be given only those."""

    def forward(self, tables: Tables, batch: Batch) -> tuple[Tensor, Tensor]:
        """(B, D) vectors of the batch's users, and the item vectors its numbers point into.

        Args:
            tables: the trainable tensors; of those in `by_rows` perhaps only the touched rows, to
                which `batch.own`, or the item numbers in `batch`, then refer.
        """
        ...

    def final(self) -> tuple[Tensor | None, Tensor]:
        """(U, D) users, or None where histories make them, and (V, D) items."""
        ...


def random_table(rows: int, dimensions: int, scale: float, generator: torch.Generator) -> Tensor:
    """(rows, D) normal numbers whose rows have a norm of about `scale`."""
    device = generator.device
    numbers = torch.randn(rows, dimensions, generator=generator, device=device)
    return numbers * (scale / dimensions**0.5)
