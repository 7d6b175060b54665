"""Tensors that one step gives gradients to: whole tables, or only the rows that it touches."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

Tables = dict[str, Tensor]


class Leaves:
    """The tensors to which one step gives gradients.

    A base asks for each table that it needs, once, by `whole` or by `rows`.
    """

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.tensors: Tables = {}
        """By table, the whole of it (V, D), or its touched rows (m, D)."""
        self.touched: dict[str, Tensor] = {}
        """By table, the ascending numbers (m,) of its touched rows; none for whole tables."""

    def whole(self, name: str) -> Tensor:
        """(V, D) a whole table."""
        return self._leaf(name, self.tables[name].detach())

    def rows(self, name: str, numbers: Tensor) -> tuple[Tensor, Tensor]:
        """(m, D) the distinct rows of a table with these numbers, and (n,) each number's row.

        A table with no more rows than there are numbers is taken whole, which costs no more.
        """
        if len(self.tables[name]) <= len(numbers):
            return self.whole(name), numbers
        self.touched[name], places = torch.unique(numbers, return_inverse=True)
        return self._leaf(name, self.tables[name].index_select(0, self.touched[name])), places

    def places(self, name: str, numbers: Tensor) -> Tensor:
        """(n,) the rows of `tensors[name]` that hold the rows with these numbers of the table."""
        if name not in self.touched:
            return numbers
        return torch.searchsorted(self.touched[name], numbers)

    def _leaf(self, name: str, values: Tensor) -> Tensor:
        if name in self.tensors:
            raise ValueError(f"table {name!r} was asked for twice in one step, expected once")
        self.tensors[name] = values.requires_grad_()
        return values


def take(rows: Tensor, parts: list[Tensor]) -> list[Tensor]:
    """Rows (n, D) by number (n,), part by part; by one look-up, so one gradient."""
    return list(rows.index_select(0, torch.cat(parts)).split([len(part) for part in parts]))


def ascending(numbers: Tensor) -> Tensor:
    """The numbers in rising order; on a CPU by numpy, which is several times as fast as torch."""
    if numbers.is_cuda:
        return torch.sort(numbers).values
    return torch.from_numpy(np.sort(numbers.numpy()))
