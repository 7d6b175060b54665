"""Adam over whole tables, or over only the rows that a step touched."""

from __future__ import annotations

import torch
from torch import Tensor

from elasticrec.blocks.bases import Tables

_BETA1, _BETA2, _EPSILON = 0.9, 0.999, 1e-8


class RowAdam:
    """Adam whose step may be confined to some rows; the others keep their moments as they are.

    On a CPU a batch touches a small part of a large table, and a dense step would spend nearly
    all its time on the rest.
    """

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.first = {name: torch.zeros_like(table) for name, table in tables.items()}
        self.second = {name: torch.zeros_like(table) for name, table in tables.items()}
        self.steps = 0

    def step(
        self, grads: dict[str, Tensor], rows: dict[str, Tensor | None], learning_rate: float
    ) -> None:
        """One step.

        Args:
            grads: by table, for the whole table or for its touched rows.
            rows: by table, distinct row numbers the gradient belongs to; None is the whole table.
        """
        self.steps += 1
        size = learning_rate / (1 - _BETA1**self.steps)
        root = (1 - _BETA2**self.steps) ** 0.5
        for name, grad in grads.items():
            table, m, v = self.tables[name], self.first[name], self.second[name]
            at = rows.get(name)
            if at is None:
                _move(table, m, v, grad, size, root)
                continue
            # Gather, then add what changes: on a CPU both are several times faster than
            # table[at] and table[at] = row.
            row_m, row_v = m.index_select(0, at), v.index_select(0, at)
            change_m = (grad - row_m).mul_(1 - _BETA1)
            change_v = torch.addcmul(-row_v, grad, grad).mul_(1 - _BETA2)
            root_v = row_v.add_(change_v).sqrt_().div_(root).add_(_EPSILON)
            table.index_add_(0, at, row_m.add_(change_m).div_(root_v), alpha=-size)
            m.index_add_(0, at, change_m)
            v.index_add_(0, at, change_v)

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


def _move(table: Tensor, m: Tensor, v: Tensor, grad: Tensor, size: float, root: float) -> None:
    """Adam's update in place: table -= size · m / (√v / root + ε)."""
    m.lerp_(grad, 1 - _BETA1)
    v.mul_(_BETA2).addcmul_(grad, grad, value=1 - _BETA2)
    table.addcdiv_(m, v.sqrt().div_(root).add_(_EPSILON), value=-size)
