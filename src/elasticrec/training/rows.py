"""Rows of tables: those that a step gives gradients to, rows of norm 1, products of rows."""

from __future__ import annotations

from typing import Any

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


_LEAST = 1e-12


def unit(vectors: Tensor) -> Tensor:
    """(n, D) rows divided by their norms; a row of zeros stays, and has no gradient."""
    found: Tensor = _Unit.apply(vectors)
    return found


class _Unit(torch.autograd.Function):
    """Needs half the passes over memory that autograd takes for a norm and a division."""

    @staticmethod
    def forward(ctx: Any, vectors: Tensor) -> Tensor:
        scale = inverse_norms(vectors)
        found = vectors * scale
        ctx.save_for_backward(found, scale)
        return found

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        return along(grads[0], *ctx.saved_tensors)


def inverse_norms(vectors: Tensor) -> Tensor:
    """(n, 1) one over the norm of each row; 0 for a row of zeros."""
    norms = torch.linalg.vector_norm(vectors, dim=1, keepdim=True)
    return torch.where(norms > _LEAST, 1 / norms, 0.0)


def along(grads: Tensor, units: Tensor, scale: Tensor, out: Tensor | None = None) -> Tensor:
    """(n, D) the gradient of rows from that of the unit rows made of them.

    Args:
        grads: (n, D) of the unit rows.
        units: (n, D) the unit rows.
        scale: (n, 1) the factors that made the rows unit rows.
        out: where to write it.
    """
    return torch.addcmul(grads, units, dots(grads, units), value=-1, out=out).mul_(scale)


def dots(one: Tensor, other: Tensor) -> Tensor:
    """(n, 1) products of rows; numpy's sum on a CPU makes them without a matrix in between."""
    if one.is_cuda:
        return (one * other).sum(dim=1, keepdim=True)
    return torch.from_numpy(np.einsum("nd,nd->n", one.numpy(), other.numpy())).unsqueeze(1)
