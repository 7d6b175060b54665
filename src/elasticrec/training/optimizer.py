"""Adam that moves only the rows that a step touched."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.optim.adam import adam

from elasticrec.training.config import TrainConfig
from elasticrec.training.rows import Tables

_AT_ONCE = 4096
"""Rows that a CPU updates at once, so that they stay in its cache."""


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
