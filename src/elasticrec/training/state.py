"""The state of one training, and the step that changes it."""

from __future__ import annotations

import copy
import logging

import numpy as np
import torch

from elasticrec.data.cooccurrence import Cooccurrence
from elasticrec.data.split import Split
from elasticrec.errors import InputError
from elasticrec.evaluation.choosing import Choice
from elasticrec.progress import stage
from elasticrec.training.bases import Base
from elasticrec.training.checkpoint import Progress
from elasticrec.training.config import TrainConfig
from elasticrec.training.losses import Loss, Objective, Vectors, add_l2
from elasticrec.training.rows import Leaves, RowAdam, Tables, learning_rate
from elasticrec.training.sampler import Batch, Sampler
from elasticrec.training.sharding import Ranks
from elasticrec.training.table import BlockTable
from elasticrec.training.validation import Validation, final_vectors

log = logging.getLogger(__name__)


class TrainingState:
    """Tables, moments, generator and progress of one training; of rows, those of this rank."""

    def __init__(
        self, split: Split, config: TrainConfig, base: Base, generator: torch.Generator,
        cooccurrence: Cooccurrence | None = None, loss: Loss | None = None,
    ) -> None:  # fmt: skip
        """Args: config: already sized for the split."""
        self.config, self.base, self.generator, self.ranks = config, base, generator, Ranks()
        base.tables = self.ranks.scattered(base.tables)
        self.sampler = Sampler(
            split.train, config, whole_users=base.whole_users,
            near=cooccurrence.items if config.cooccurrence and cooccurrence else None,
            device=generator.device,
        )  # fmt: skip
        self.loss: Loss = loss or Objective(config)
        self.optimizer = RowAdam(base.tables, config)
        self.validation = Validation(split, config)
        self.best: Tables = {}
        """The tables of the best validation; none before the first."""
        self.progress = Progress()
        self._loss_sum = torch.zeros((), device=generator.device)
        self._loss_count = 0

    @property
    def n_steps(self) -> int:
        """Steps if every epoch is run."""
        return self.config.epochs * self.sampler.n_batches

    def step(self, batch: Batch) -> None:
        """One step on one batch."""
        share, ranks = batch, self.ranks
        if ranks.size > 1:
            share = batch.share(ranks.rank, ranks.size)
        leaves = Leaves(self.base.tables, ranks, batch.counts)
        users, vectors = self.base.forward(leaves, share)
        seen, unseen, *near = vectors
        loss = self.loss(
            Vectors(users, seen, unseen.view(*share.unseen.shape, -1), near[0] if near else None),
            share,
        )
        if share is not batch:  # a mean over its own pairs
            loss = loss * (len(share.seen) / len(batch.seen))
        found = torch.autograd.grad(loss, list(leaves.tensors.values()))
        grads = dict(zip(leaves.tensors, found, strict=True))
        with torch.no_grad():
            if self.config.l2:
                add_l2(self.config.l2 / len(batch.seen), leaves, grads, share)
            rate = learning_rate(self.config, self.progress.steps, self.n_steps)
            self.optimizer.step(*leaves.owned(grads), rate)
            if len(share.seen):
                self._loss_sum += loss
        self._loss_count += 1
        self.progress.step += 1
        self.progress.steps += 1

    def mean_loss(self) -> float:
        """Mean loss since the latest validation; one that is not finite is refused."""
        loss = self.ranks.summed(float(self._loss_sum)) / max(self._loss_count, 1)
        if not np.isfinite(loss):
            raise InputError(
                f"the loss is {loss} in epoch {self.progress.epoch + 1}, expected a finite number: "
                f"lower learning_rate ({self.config.learning_rate:g})"
                + (f" or diversity ({self.config.diversity:g})" if self.config.diversity else "")
            )
        return loss

    def validate(self) -> None:
        """Validate on rank 0; keep the best tables; decide whether to stop early."""
        progress, config = self.progress, self.config
        loss = self.mean_loss()
        with stage(f"validation after epoch {progress.epoch}"):
            whole = self.gathered(self.base.tables)
            value = self.ranks.broadcast(0.0 if self.ranks.rank else self.validation.value(whole))
        seconds = round(progress.seconds, 2), round(progress.cpu_seconds, 2)
        progress.validations.append(
            {
                "epoch": progress.epoch, "loss": loss, "value": value,
                "seconds": seconds[0], "cpu_seconds": seconds[1],
            }
        )  # fmt: skip
        measured = "" if self.validation.asked is None else f", {config.metric} {value:.4f}"
        log.info("epoch %d: loss %.4f%s", progress.epoch, loss, measured)
        self._loss_sum.zero_()
        self._loss_count = 0
        if value > progress.best or self.validation.asked is None:
            progress.best, progress.best_epoch, progress.since_best = value, progress.epoch, 0
            self.best = {name: table.clone() for name, table in self.base.tables.items()}
        else:
            progress.since_best += 1
            progress.stopped = bool(config.patience) and progress.since_best >= config.patience

    def gathered(self, tables: Tables) -> Base:
        """The base with whole tables, on rank 0."""
        whole = copy.copy(self.base)
        whole.tables = {name: self.ranks.gathered(name, t) for name, t in tables.items()}
        return whole

    def finish(self) -> tuple[BlockTable, list[Choice]]:
        """The block table of the best validation, and how recency and exponent were chosen."""
        config, base = self.config, self.gathered(self.best or self.base.tables)
        choices: list[Choice | None] = []
        if config.recency < 0 and config.score == "aligned":
            with stage("choosing the recency"):
                choices.append(self.validation.choose_recency(base))
        exponent = 0.0
        if config.loss == "softmax":
            with stage("choosing the popularity exponent"):
                choice = self.validation.choose_exponent(base)
            exponent = float(choice.chosen) if choice else max(config.popularity_exponent, 0.0)
            if config.popularity_exponent < 0:
                choices.append(choice)
        users, items = final_vectors(base, config)
        blocks = items.reshape(len(items), config.n_blocks, config.block_size)
        table = BlockTable(
            blocks=blocks.cpu().numpy().astype(np.float32),
            users=None if users is None else users.cpu().numpy().astype(np.float32), base=base.name,
            score=config.score, cosine=config.loss == "softmax" and config.score == "aligned",
            popularity_exponent=exponent, recency=self.validation.recency,
        )  # fmt: skip
        return table, [choice for choice in choices if choice]

    def tensors(self) -> Tables:
        """Every tensor of the state, for a checkpoint; on rank 0."""
        loss = self.ranks.summed(float(self._loss_sum))
        return {
            **{
                name: self.ranks.gathered(name.partition(".")[2], part)
                for name, part in self._own().items()
            },
            "generator": self.generator.get_state().cpu(),
            "loss": torch.tensor([loss, self._loss_count], dtype=torch.float64),
        }

    def restore(self, tensors: Tables, progress: Progress) -> None:
        """Go on from what `tensors` gave, which rank 0 has."""
        small = {name: tensors[name] for name in ("generator", "loss") if name in tensors}
        progress, small = self.ranks.broadcast((progress, small))
        if progress.validations:
            self.best = {name: torch.empty_like(t) for name, t in self.base.tables.items()}
        for name, part in self._own().items():
            self.ranks.scatter(tensors.get(name), part)
        self.generator.set_state(small["generator"])
        self._loss_sum.fill_(0.0 if self.ranks.rank else float(small["loss"][0]))
        self._loss_count = int(small["loss"][1])
        self.progress, self.optimizer.steps = progress, progress.steps

    def _own(self) -> Tables:
        """By name, this rank's rows of all tables, best tables and moments."""
        return {
            **{f"table.{name}": t for name, t in self.base.tables.items()},
            **{f"best.{name}": t for name, t in self.best.items()},
            **self.optimizer.state(),
        }
