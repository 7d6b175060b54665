"""The state of one training, and the step that changes it."""

from __future__ import annotations

import logging

import numpy as np
import torch
from torch import Tensor

from elasticrec.training.bases import Base, Parts, Tables
from elasticrec.training.cooccurrence import Cooccurrence
from elasticrec.training.table import BlockTable
from elasticrec.data.splitting import Split
from elasticrec.training.sampler import Batch, TripleSampler
from elasticrec.training.adagrad import PairAdagrad
from elasticrec.training.checkpoint import Progress, generator_state
from elasticrec.training.config import TrainConfig
from elasticrec.training.objective import Loss, Objective, Vectors, add_l2, draw_mask
from elasticrec.training.optimizer import RowAdam
from elasticrec.training.setup import make_table
from elasticrec.training.validation import Validation

log = logging.getLogger(__name__)


class Run:
    """The state of one training and the step that changes it."""

    def __init__(
        self, split: Split, config: TrainConfig, base: Base,
        generator: torch.Generator, cooccurrence: Cooccurrence | None, loss: Loss | None = None,
    ) -> None:  # fmt: skip
        where = generator.device
        self.split, self.config, self.base, self.generator = split, config, base, generator
        self.sampler = TripleSampler(
            split.train,
            batch_size=config.batch_size,
            unseen=config.negatives,
            shared=config.loss == "softmax",
            own=config.own_negatives,
            device=where,
        )
        self.objective: Loss = loss or Objective(config, split.n_items)
        self.optimizer: RowAdam | PairAdagrad = (
            RowAdam(base.tables)
            if config.optimizer == "adam"
            else PairAdagrad(base.tables, config.l2)
        )
        self.validation = Validation(split, config)
        self.near: Tensor | None = None
        if config.cooccurrence and cooccurrence is not None:
            self.near = torch.from_numpy(cooccurrence.items.astype(np.int64)).to(where)
        self.best: Tables = {name: table.clone() for name, table in base.tables.items()}
        self.progress = Progress()
        self.loss_sum, self.loss_count = torch.zeros((), device=where), 0
        self._mean_loss = float("nan")

    def step(self, batch: Batch, rate: float) -> None:
        """One step on one batch."""
        if isinstance(self.optimizer, PairAdagrad):
            self.loss_sum += self.optimizer.step(batch, rate)
        else:
            self.loss_sum += self._step_by_autograd(self.optimizer, batch, rate)
        self.loss_count += 1

    def _step_by_autograd(self, optimizer: RowAdam, batch: Batch, rate: float) -> Tensor:
        """The loss of a batch, after a step of Adam."""
        near = None if self.near is None else self._draw_near(batch.seen)
        mask = draw_mask(self.config, self.generator) if self.config.elastic else None
        items = [batch.seen, batch.unseen.reshape(-1)]
        if near is not None:
            items.append(near.clamp(min=0))
        numbers = {"users": [batch.users], "items": items}
        tables, rows = self._leaves(numbers)
        users, vectors = self.base.forward(tables, rows, batch, items)
        seen, unseen, *others = vectors
        loss = self.objective(
            Vectors(
                users, seen, unseen.view(*batch.unseen.shape, -1),
                near=others[0] if others else None, units=self.base.units,
            ),
            batch.taken,
            None if near is None else near >= 0,
            mask,
        )  # fmt: skip
        leaves = [*tables.values(), *(leaf for parts in rows.values() for leaf in parts)]
        found = iter(torch.autograd.grad(loss, leaves))
        grads = {name: next(found) for name in tables}
        touched = {name: [(at, next(found)) for at in numbers[name]] for name in rows}
        with torch.no_grad():
            if self.config.l2:
                numbers["items"] = items[:2]  # what was drawn to be near is spared
                add_l2(self.config.l2 / len(batch.users), tables, grads, numbers, rows, touched)
            optimizer.step(grads, touched, rate)
        return loss.detach()

    def _leaves(self, numbers: Parts) -> tuple[Tables, Parts]:
        """What gradients are asked for: whole tables, and rows of those that are used by rows."""
        tables, rows = {}, {}
        for name, table in self.base.tables.items():
            if name in self.base.by_rows:
                rows[name] = [table.index_select(0, at).requires_grad_() for at in numbers[name]]
            else:
                tables[name] = table.detach().requires_grad_()
        return tables, rows

    def mean_loss(self) -> float:
        """Mean loss since the last look, read from the device only now and then."""
        if self.loss_count % 20 == 1:
            self._mean_loss = float(self.loss_sum) / self.loss_count
        return self._mean_loss

    def look(self) -> None:
        """Validate; keep the best tables; decide whether to stop early."""
        progress, config = self.progress, self.config
        loss = float(self.loss_sum) / max(self.loss_count, 1)
        if not np.isfinite(loss):
            raise FloatingPointError(
                f"loss is {loss} in epoch {progress.epoch}; expected a finite number: "
                "lower learning_rate or diversity"
            )
        value = self.validation.value(self.base)
        progress.looks.append(
            {
                "epoch": progress.epoch,
                "loss": loss,
                "value": value,
                "seconds": round(progress.seconds, 2),
                "cpu_seconds": round(progress.cpu_seconds, 2),
            }
        )
        log.info("epoch %d: loss %.4f, %s %.4f", progress.epoch, loss, config.metric, value)
        self.loss_sum.zero_()
        self.loss_count = 0
        if value > progress.best:
            progress.best, progress.looks_since_best = value, 0
            self.best = {name: table.clone() for name, table in self.base.tables.items()}
        else:
            progress.looks_since_best += 1
            progress.stopped = bool(config.patience) and (
                progress.looks_since_best >= config.patience
            )

    def best_table(self) -> BlockTable:
        """The block table of the best look."""
        for name, table in self.best.items():
            self.base.tables[name].copy_(table)
        gain = None
        if self.config.loss == "softmax":
            self.progress.gain, gain = self.validation.best_gain(self.base)
        return make_table(self.base, self.config, self.split.train, gain)

    def _draw_near(self, seen: Tensor) -> Tensor:
        """(B,) one of each seen item's co-occurring items, -1 where there is none."""
        assert self.near is not None
        column = torch.randint(
            self.near.shape[1], seen.shape, generator=self.generator, device=seen.device
        )
        k = self.near.shape[1]
        return self.near.view(-1).index_select(0, seen * k + column)

    def tensors(self) -> Tables:
        """Every tensor of the state, for a checkpoint."""
        return {
            **{f"table.{name}": t for name, t in self.base.tables.items()},
            **{f"best.{name}": t for name, t in self.best.items()},
            **self.optimizer.state(),
            "generator": generator_state(self.generator),
            "loss": torch.tensor([float(self.loss_sum), self.loss_count], dtype=torch.float64),
        }

    def restore(self, tensors: Tables, progress: Progress) -> None:
        """Go on from what `tensors` gave."""
        for name in self.base.tables:
            self.base.tables[name].copy_(tensors[f"table.{name}"])
            self.best[name].copy_(tensors[f"best.{name}"])
        self.optimizer.restore(tensors, progress.steps)
        self.generator.set_state(tensors["generator"])
        self.loss_sum.fill_(float(tensors["loss"][0]))
        self.loss_count = int(tensors["loss"][1])
        self.progress = progress
