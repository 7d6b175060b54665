"""Rows of tables: those that a step gives gradients to, rows of norm 1, and Adam on rows."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor
from torch.optim.adam import adam

from elasticrec.training.config import TrainConfig
from elasticrec.training.sharding import Ranks, all_to_all

Tables = dict[str, Tensor]
_LEAST = 1e-12
"""Rows of a smaller norm count as rows of zeros."""
_AT_ONCE = 4096
"""Rows that a CPU updates at once, so that they stay in its cache."""


class Leaves:
    """The tensors to which one step gives gradients.

    A base asks for each table that it needs, once, by `whole` or by `rows`.
    """

    def __init__(
        self, tables: Tables, ranks: Ranks | None = None, counts: dict[str, int] | None = None
    ) -> None:
        """Args: counts: by table, the numbers that all ranks together will ask for."""
        self.tables, self.ranks, self.counts = tables, ranks or Ranks(), counts or {}
        self.tensors: Tables = {}
        """By table, the whole of it (V, D), or its touched rows (m, D)."""
        self.touched: dict[str, Tensor] = {}
        """By table, the ascending keys (m,) of its touched rows; none for whole tables."""
        self._asked: dict[str, tuple[Tensor, list[int], list[int]]] = {}

    def whole(self, name: str) -> Tensor:
        """(V, D) a whole table."""
        table = self.tables[name]
        if self.ranks.size == 1:
            return self._leaf(name, table.detach())
        numbers = torch.arange(self.ranks.lengths[name], device=table.device)
        rows, places = self._some(name, numbers)
        return rows.index_select(0, places)

    def rows(self, name: str, numbers: Tensor) -> tuple[Tensor, Tensor]:
        """(m, D) the distinct rows of a table with these numbers, and (n,) each number's row.

        A table with no more rows than there are numbers is taken whole, which costs no more.
        """
        length = self.ranks.lengths.get(name, len(self.tables[name]))
        if length > self.counts.get(name, len(numbers) if self.ranks.size == 1 else 0):
            return self._some(name, numbers)
        return self.whole(name), numbers

    def places(self, name: str, numbers: Tensor) -> Tensor:
        """(n,) the rows of `tensors[name]` that hold the rows with these numbers of the table."""
        if name not in self.touched:
            return numbers
        return torch.searchsorted(self.touched[name], self.ranks.keys(name, numbers))

    def owned(self, grads: Tables) -> tuple[Tables, dict[str, Tensor]]:
        """By table, the gradients of this rank's own rows, of all ranks, and the rows touched."""
        if self.ranks.size == 1:
            return grads, self.touched
        summed, touched = {}, {}
        for name, grad in grads.items():
            asked, given, wanted = self._asked[name]
            found = all_to_all(grad, wanted, given)
            touched[name], at = torch.unique(asked, return_inverse=True)
            zeros = found.new_zeros(len(touched[name]), *found.shape[1:])
            summed[name] = zeros.index_add_(0, at, found)
        return summed, touched

    def _some(self, name: str, numbers: Tensor) -> tuple[Tensor, Tensor]:
        """The distinct rows of a table with these numbers, from their owners, and each one's."""
        keys, table = self.ranks.keys(name, numbers), self.tables[name]
        self.touched[name], places = torch.unique(keys, return_inverse=True)
        if self.ranks.size == 1:
            return self._leaf(name, table.index_select(0, self.touched[name])), places
        asked, given, wanted = self.ranks.owners(name, self.touched[name])
        self._asked[name] = asked, given, wanted
        return self._leaf(name, all_to_all(table.index_select(0, asked), given, wanted)), places

    def _leaf(self, name: str, values: Tensor) -> Tensor:
        if name in self.tensors:
            raise ValueError(f"table {name!r} was asked for twice in one step, expected once")
        self.tensors[name] = values.requires_grad_()
        return values


def take(rows: Tensor, parts: list[Tensor]) -> list[Tensor]:
    """Rows (n, D) by number (n,), part by part; by one look-up, so one gradient."""
    return list(rows.index_select(0, torch.cat(parts)).split([len(part) for part in parts]))


def named_rows(leaves: Leaves, name: str, numbers: list[Tensor]) -> list[Tensor]:
    """(n, D) the rows of a table with the numbers of each part."""
    rows, places = leaves.rows(name, torch.cat(numbers))
    return take(rows, list(places.split([len(part) for part in numbers])))


def ascending(numbers: Tensor) -> Tensor:
    """The numbers in rising order; on a CPU by numpy, which is several times as fast as torch."""
    if numbers.is_cuda:
        return torch.sort(numbers).values
    return torch.from_numpy(np.sort(numbers.numpy()))


def unit(vectors: Tensor) -> Tensor:
    """(n, D) rows divided by their norms; a row of zeros stays, and has no gradient."""
    norms = torch.linalg.vector_norm(vectors, dim=1, keepdim=True)
    return vectors * torch.where(norms > _LEAST, norms, torch.inf).reciprocal()


class RowAdam:
    """Adam on whole tables, or on some rows of them; other rows and their moments stay.

    A step then costs what it touches, however many rows there are.
    """

    def __init__(self, tables: Tables, config: TrainConfig) -> None:
        for name, table in tables.items():
            if not table.is_contiguous():
                raise ValueError(f"table {name!r} is not stored row by row; expected contiguous()")
        self.tables, self.config = tables, config
        self.first = {name: torch.zeros_like(table) for name, table in tables.items()}
        self.second = {name: torch.zeros_like(table) for name, table in tables.items()}
        self.steps = 0

    def step(self, grads: Tables, touched: dict[str, Tensor], learning_rate: float) -> None:
        """One step.

        Args:
            grads: by table, the gradient of every row, or of the touched rows.
            touched: by table, the distinct numbers of the touched rows; none for whole tables.
        """
        for name, grad in grads.items():
            state = self.tables[name], self.first[name], self.second[name]
            rows = touched.get(name)
            if rows is None or len(rows) == len(state[0]):
                self._adam(*state, grad.contiguous(), learning_rate)
                continue
            size = len(rows) if rows.is_cuda else _AT_ONCE
            for some, part in zip(rows.split(size), grad.split(size), strict=True):
                w, m, v = (whole.index_select(0, some) for whole in state)
                self._adam(w, m, v, part, learning_rate)
                for whole, moved in zip(state, (w, m, v), strict=True):
                    _put(whole, some, moved)
        self.steps += 1

    def state(self) -> Tables:
        """The moments by name, for a checkpoint."""
        moments = {"first": self.first, "second": self.second}
        return {f"{kind}.{n}": t for kind, found in moments.items() for n, t in found.items()}

    def _adam(self, w: Tensor, m: Tensor, v: Tensor, grad: Tensor, rate: float) -> None:
        """Adam's update in place."""
        done = torch.full((), self.steps, dtype=torch.float32, device=w.device)
        beta1, beta2 = self.config.betas
        adam(
            [w], [grad], [m], [v], [], [done], fused=True, amsgrad=False, beta1=beta1,
            beta2=beta2, lr=rate, weight_decay=0.0, eps=self.config.epsilon, maximize=False,
        )  # fmt: skip


def learning_rate(config: TrainConfig, step: int, n_steps: int) -> float:
    """The learning rate of a step of all steps, counted from 0."""
    if config.schedule == "constant":
        return config.learning_rate
    return config.learning_rate * 0.5 * (1 + math.cos(math.pi * step / n_steps))


def _put(table: Tensor, at: Tensor, rows: Tensor) -> None:
    """Write rows to a table in place; on a CPU by numpy, which is faster."""
    if table.is_cuda:
        table.index_copy_(0, at, rows)
    else:
        table.numpy()[at.numpy()] = rows.numpy()
