"""Adam over whole tables, or over only the rows that a step touched."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag
from torch.optim.adam import adam

from elasticrec.training.bases import Tables

Touched = list[tuple[Tensor, Tensor]]
"""Row numbers (n,) and their gradients (n, D), part by part; those of equal rows are summed."""

_BETA1, _BETA2, _EPSILON = 0.9, 0.999, 1e-8
_SHARE = 4
"""A CPU steps by rows where a batch names fewer than one in so many rows of a table."""
_AT_ONCE = 4096
"""Rows updated at once."""


class RowAdam:
    """Adam whose step may be confined to some rows; the others keep their moments as they are.

    On a CPU a batch may touch a small part of a large table, and a step over the whole would
    spend nearly all its time on the rest. Where it touches much of the table, a step over the
    whole is faster, since memory is best read from one end to the other.
    """

    def __init__(self, tables: Tables) -> None:
        for name, table in tables.items():
            if not table.is_contiguous():
                raise ValueError(f"table {name!r} is not stored row by row; expected contiguous()")
        self.tables = tables
        self.first = {name: torch.zeros_like(table) for name, table in tables.items()}
        self.second = {name: torch.zeros_like(table) for name, table in tables.items()}
        self.steps = 0
        self._wholes: Tables = {}  # gradients of whole tables: new memory would cost more than Adam

    def step(self, grads: Tables, touched: dict[str, Touched], learning_rate: float) -> None:
        """One step.

        Args:
            grads: by table, a gradient for every row.
            touched: by table, gradients for some rows.
        """
        for name, grad in grads.items():
            self._move(name, grad.contiguous(), learning_rate)
        for name, parts in touched.items():
            table = self.tables[name]
            n_rows = sum(len(rows) for rows, _ in parts)
            if not table.is_cuda and _SHARE * n_rows < len(table):
                self._move_rows(name, parts, learning_rate)
                continue
            if name not in self._wholes:
                self._wholes[name] = torch.empty_like(table)
            whole = self._wholes[name].zero_()
            for rows, grad in parts:
                whole.index_add_(0, rows, grad)
            self._move(name, whole, learning_rate)
        self.steps += 1

    def _move(self, name: str, grad: Tensor, rate: float) -> None:
        """Adam's update of a whole table."""
        _adam(self.tables[name], self.first[name], self.second[name], grad, self.steps, rate)

    def _move_rows(self, name: str, parts: Touched, rate: float) -> None:
        """Adam's update of some rows of a table."""
        state = self.tables[name], self.first[name], self.second[name]
        at, total = summed(parts, len(state[0]))
        for some, grad in zip(at.split(_AT_ONCE), total.split(_AT_ONCE), strict=True):
            w, m, v = (whole.index_select(0, some) for whole in state)
            _adam(w, m, v, grad, self.steps, rate)
            for whole, part in zip(state, (w, m, v), strict=True):
                whole.numpy()[some.numpy()] = part.numpy()  # faster than index_copy_

    def state(self) -> Tables:
        """The moments by name, for a checkpoint."""
        return {
            **{f"first.{name}": t for name, t in self.first.items()},
            **{f"second.{name}": t for name, t in self.second.items()},
        }

    def restore(self, state: Tables, steps: int) -> None:
        """Go on from what `state` gave."""
        for name in self.tables:
            self.first[name].copy_(state[f"first.{name}"])
            self.second[name].copy_(state[f"second.{name}"])
        self.steps = steps


def _adam(w: Tensor, m: Tensor, v: Tensor, grad: Tensor, steps: int, rate: float) -> None:
    """Adam's update in place, after so many steps."""
    done = torch.full((), steps, dtype=torch.float32, device=w.device)
    adam(
        [w], [grad], [m], [v], [], [done], fused=True, amsgrad=False, beta1=_BETA1,
        beta2=_BETA2, lr=rate, weight_decay=0.0, eps=_EPSILON, maximize=False,
    )  # fmt: skip


def summed(parts: Touched, n: int) -> tuple[Tensor, Tensor]:
    """The distinct rows (m,) among all parts of a table of n, and their summed gradients (m, D)."""
    rows, grads = parts[0]
    if len(parts) == 1 and bool((rows[1:] >= rows[:-1]).all()):  # equal rows are neighbours
        at, counts = torch.unique_consecutive(rows, return_counts=True)
        if len(at) == len(rows):
            return at, grads
        numbers = torch.arange(len(rows), device=rows.device)
        return at, embedding_bag(numbers, grads, torch.cumsum(counts, 0) - counts, mode="sum")
    at, which = distinct(torch.cat([rows for rows, _ in parts]), n)
    total = grads.new_zeros(len(at), grads.shape[1])
    places = which.split([len(rows) for rows, _ in parts])
    for place, (_, grad) in zip(places, parts, strict=True):
        total.index_add_(0, place, grad)
    return at, total


def distinct(rows: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """The distinct numbers below n among some, ascending; and the place of each among them."""
    if n > 64 * len(rows):  # marking takes n steps, sorting as many as there are rows
        return torch.unique(rows, return_inverse=True)
    marks = torch.zeros(n, dtype=torch.uint8, device=rows.device).index_fill_(0, rows, 1)
    found = marks.nonzero().squeeze(1)
    place = torch.empty(n, dtype=torch.int64, device=rows.device)
    place.index_copy_(0, found, torch.arange(len(found), device=rows.device))
    return found, place.index_select(0, rows)
