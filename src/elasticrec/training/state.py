"""The state of one training, and the step that changes it."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from elasticrec.blocks.bases import Base, Tables
from elasticrec.blocks.cooccurrence import Cooccurrence
from elasticrec.blocks.table import BlockTable
from elasticrec.data.splitting import Split
from elasticrec.data.triples import Batch, TripleSampler
from elasticrec.training.checkpoint import Progress, generator_state
from elasticrec.training.config import TrainConfig
from elasticrec.training.objective import Objective, draw_mask, l2_penalty
from elasticrec.training.optimizer import RowAdam
from elasticrec.training.setup import make_table
from elasticrec.training.validation import Validation

log = logging.getLogger(__name__)


class Run:
    """The state of one training and the step that changes it."""

    def __init__(
        self, split: Split, config: TrainConfig, base: Base,
        generator: torch.Generator, cooccurrence: Cooccurrence | None,
    ) -> None:  # fmt: skip
        where = generator.device
        self.split, self.config, self.base, self.generator = split, config, base, generator
        self.sampler = TripleSampler(
            split.train,
            batch_size=config.batch_size,
            unseen=config.negatives,
            shared=config.loss == "softmax",
            device=where,
        )
        self.objective = Objective(config, split.n_items)
        self.optimizer = RowAdam(base.tables)
        self.validation = Validation(split, config)
        self.near: Tensor | None = None
        if config.cooccurrence and cooccurrence is not None:
            self.near = torch.from_numpy(cooccurrence.items.astype(np.int64)).to(where)
        self.by_rows = base.by_rows if where.type == "cpu" else ()
        self.best: Tables = {name: table.clone() for name, table in base.tables.items()}
        self.progress = Progress()
        self.loss_sum, self.loss_count = torch.zeros((), device=where), 0
        self._mean_loss = float("nan")

    def step(self, batch: Batch, rate: float) -> None:
        """One step of Adam on one batch."""
        config = self.config
        near = None if self.near is None else self._draw_near(batch.seen)
        mask = draw_mask(config, self.generator) if config.elastic else None
        rows: dict[str, Tensor | None] = {}
        if "users" in self.by_rows:
            rows["users"], at = torch.unique(batch.users, return_inverse=True)
            batch = replace(batch, user_rows=at)
        if "items" in self.by_rows:
            batch, near, rows["items"] = _touched_items(batch, near)
        leaves = {}
        for name, table in self.base.tables.items():
            at = rows.get(name)
            leaves[name] = (
                (table if at is None else table.index_select(0, at)).detach().requires_grad_()
            )
        users, items = self.base.forward(leaves, batch)
        loss = self.objective(users, items, batch, near, mask)
        if config.l2:
            loss = loss + l2_penalty(leaves, batch, config.l2)
        grads = torch.autograd.grad(loss, list(leaves.values()))
        with torch.no_grad():
            self.optimizer.step(dict(zip(leaves, grads, strict=True)), rows, rate)
            self.loss_sum += loss.detach()
        self.loss_count += 1

    def mean_loss(self) -> float:
        """Mean loss since the last look, read from the device only now and then."""
        if self.loss_count % 20 == 1:
            self._mean_loss = float(self.loss_sum) / self.loss_count
        return self._mean_loss

    def look(self, seconds: float) -> None:
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
            {"epoch": progress.epoch, "loss": loss, "value": value, "seconds": round(seconds, 2)}
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
        return self.near[seen, column]

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


def _touched_items(batch: Batch, near: Tensor | None) -> tuple[Batch, Tensor | None, Tensor]:
    """The batch with items renumbered to the rows it touches, and those rows."""
    parts = [batch.seen, batch.unseen.reshape(-1)]
    if near is not None:
        parts.append(near.clamp(min=0))
    items, at = torch.unique(torch.cat(parts), return_inverse=True)
    seen, unseen, *rest = torch.split(at, [len(part) for part in parts])
    local = replace(batch, seen=seen, unseen=unseen.view(batch.unseen.shape))
    return local, None if near is None else torch.where(near >= 0, rest[0], -1), items
