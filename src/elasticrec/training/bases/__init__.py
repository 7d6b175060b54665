"""What a base is: trainable tables, and the vectors that one batch needs of them."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from elasticrec.training.sampler import Batch

Tables = dict[str, Tensor]
Parts = dict[str, list[Tensor]]
"""By table, one tensor for each use that a batch makes of it: row numbers, or the rows."""


class Base(Protocol):
    """A model that can be trained: `mf`, `lightgcn` or `history`."""

    name: str
    tables: Tables
    """Trainable tensors by name: `items` (V, D), and `users` (U, D) where the base has them.

    Others may stand beside them, or instead of them, if `by_rows` does not name them.
    """
    by_rows: tuple[str, ...]
    """Tables of which a step needs some rows alone, each as it is."""
    units: bool
    """Whether `forward` gives items as vectors of norm 1, which is all that cosines need."""

    def forward(
        self, tables: Tables, rows: Parts, batch: Batch, items: list[Tensor]
    ) -> tuple[Tensor, list[Tensor]]:
        """(B, D) vectors of the batch's users, and the vectors of some items, part by part.

        Args:
            tables: the trainable tensors, but for those in `by_rows`.
            rows: of those in `by_rows`, the rows of the batch's users, or of `items`.
            items: (n,) item numbers, part by part, the batch's seen ones first.
        """
        ...

    def final(self) -> tuple[Tensor | None, Tensor]:
        """(U, D) users, or None where histories make them, and (V, D) items."""
        ...


def take(table: Tensor, parts: list[Tensor]) -> list[Tensor]:
    """Rows (n, D) of a table by number (n,), part by part; by one look-up, so one gradient."""
    return list(table.index_select(0, torch.cat(parts)).split([len(part) for part in parts]))


def random_table(rows: int, dimensions: int, scale: float, generator: torch.Generator) -> Tensor:
    """(rows, D) normal numbers whose rows have a norm of about `scale`."""
    device = generator.device
    numbers = torch.randn(rows, dimensions, generator=generator, device=device)
    return numbers * (scale / dimensions**0.5)
