"""The training loop on one page."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from elasticrec.blocks.bases import Base, Tables
from elasticrec.blocks.cooccurrence import Cooccurrence, count_cooccurrence
from elasticrec.blocks.table import BlockTable
from elasticrec.data.splitting import Split
from elasticrec.data.triples import Batch, TripleSampler
from elasticrec.evaluation.ranking import pick_device
from elasticrec.training.checkpoint import (
    Progress,
    generator_state,
    load_checkpoint,
    save_checkpoint,
)
from elasticrec.training.config import TrainConfig
from elasticrec.training.objective import Objective, draw_mask, l2_penalty, learning_rate
from elasticrec.training.optimizer import RowAdam
from elasticrec.training.setup import make_base, make_table
from elasticrec.training.validation import Validation

log = logging.getLogger(__name__)


class InterruptedTraining(Exception):  # noqa: N818 – asked for, not an error
    """Training was asked to stop; everything up to the last step is in the checkpoint."""


@dataclass(frozen=True)
class Trained:
    """What training returns."""

    table: BlockTable
    """The vectors with the best validation value."""
    cooccurrence: Cooccurrence | None
    """The lists of the co-occurrence term, where it was used."""
    progress: Progress
    """Looks at validation, epochs and seconds."""


@dataclass(frozen=True)
class Step:
    """What a progress bar may show after a step."""

    done: int
    """Steps done in all."""
    total: int
    """Steps if every epoch is run."""
    epoch: int
    """The epoch under way, from 0."""
    loss: float
    """Mean loss since the epoch began, as last read."""
    value: float | None
    """Best validation value so far."""


def train(
    split: Split,
    config: TrainConfig,
    *,
    device: str = "auto",
    checkpoint: Path | None = None,
    resume: bool = False,
    stop: Callable[[], bool] = lambda: False,
    report: Callable[[Step], None] | None = None,
    checkpoint_seconds: float = 60.0,
    cooccurrence: Cooccurrence | None = None,
) -> Trained:
    """Train a base on the split's train pairs, watching validation; test is never read.

    Args:
        checkpoint: where to save now and then, and when `stop` says so; None saves nowhere.
        resume: go on from `checkpoint` where it exists; on CPU the result is bit-equal to that
            of a run never interrupted.
        stop: asked after every step.
        report: called after every step.
        checkpoint_seconds: least time between two checkpoints.
        cooccurrence: the lists of the co-occurrence term, if they are counted already.
    """
    where = torch.device(pick_device(device))
    generator = torch.Generator(device=where).manual_seed(config.seed)
    if config.cooccurrence and cooccurrence is None:
        cooccurrence = count_cooccurrence(split.train, config.cooccurrence_k)
    run = _Run(split, config, make_base(split.train, config, generator), generator, cooccurrence)
    fingerprint = split.fingerprint() if checkpoint else ""
    if checkpoint and resume and checkpoint.exists():
        run.restore(*load_checkpoint(checkpoint, config, fingerprint))
        log.info("resumed at epoch %d, step %d", run.progress.epoch, run.progress.step)
    started, saved = time.monotonic() - run.progress.seconds, time.monotonic()

    def save() -> None:
        if checkpoint:
            run.progress.seconds = time.monotonic() - started
            save_checkpoint(checkpoint, run.tensors(), run.progress, config, fingerprint)

    progress, sampler = run.progress, run.sampler
    total = config.epochs * sampler.n_batches
    torch.set_float32_matmul_precision("high")  # tensor cores on a GPU; nothing changes on a CPU
    while progress.epoch < config.epochs and not progress.stopped:
        for batch in sampler.epoch(config.seed, progress.epoch, generator, progress.step):
            run.step(batch, learning_rate(config, progress.steps, total))
            progress.step += 1
            progress.steps += 1
            if report:
                best = progress.best if progress.looks else None
                report(Step(progress.steps, total, progress.epoch, run.mean_loss(), best))
            if stop():
                save()
                raise InterruptedTraining
        progress.epoch, progress.step = progress.epoch + 1, 0
        if progress.epoch % config.evaluate_every == 0 or progress.epoch == config.epochs:
            run.look(time.monotonic() - started)
        if time.monotonic() - saved > checkpoint_seconds:
            save()
            saved = time.monotonic()
    torch.set_float32_matmul_precision("highest")
    progress.seconds = time.monotonic() - started
    save()
    return Trained(run.best_table(), cooccurrence, progress)


class _Run:
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
        self.by_rows = where.type == "cpu" and not base.dense
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
        if self.by_rows:
            batch, near, rows = _touched(batch, near)
        leaves = {}
        for name, table in self.base.tables.items():
            at = rows.get(name)
            leaves[name] = (table if at is None else table[at]).detach().requires_grad_()
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
        value = self.validation.value(self.base, self.config)
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
        return make_table(self.base, self.config, self.split.train)

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


def _touched(
    batch: Batch, near: Tensor | None
) -> tuple[Batch, Tensor | None, dict[str, Tensor | None]]:
    """The batch renumbered to the rows it touches, and those rows by table."""
    users, user_at = torch.unique(batch.users, return_inverse=True)
    parts = [batch.seen, batch.unseen.reshape(-1)]
    if near is not None:
        parts.append(near.clamp(min=0))
    items, at = torch.unique(torch.cat(parts), return_inverse=True)
    seen, unseen, *rest = torch.split(at, [len(part) for part in parts])
    local = Batch(user_at, seen, unseen.view(batch.unseen.shape), batch.taken)
    local_near = torch.where(near >= 0, rest[0], -1) if near is not None else None
    return local, local_near, {"users": users, "items": items}
