"""The state of one training: the step that changes it, its progress, and its checkpoint."""

from __future__ import annotations

import copy
import json
import logging
import os
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from elasticrec.data.cooccurrence import Cooccurrence
from elasticrec.data.split import Split
from elasticrec.errors import InputError
from elasticrec.progress import stage
from elasticrec.training.bases import Base
from elasticrec.training.config import TrainConfig
from elasticrec.training.losses import Loss, Objective, Vectors, add_l2
from elasticrec.training.rows import Leaves, RowAdam, Tables, learning_rate
from elasticrec.training.sampler import Batch, Sampler
from elasticrec.training.sharding import Ranks
from elasticrec.training.validation import Validation

log = logging.getLogger(__name__)


@dataclass
class Progress:
    """The progress of a training: all that a resume needs besides the tensors."""

    epoch: int = 0
    """The epoch under way, from 0."""
    step: int = 0
    """Steps of it that are done."""
    steps: int = 0
    """Steps done in all."""
    best: float = -1.0
    """Best validation value so far."""
    best_epoch: int = 0
    """Epochs done at that value; the number to train on everything."""
    since_best: int = 0
    """Validations since then."""
    stopped: bool = False
    """True once early stopping has ended the training."""
    seconds: float = 0.0
    """Time spent, earlier runs included."""
    validations: list[dict[str, float]] = field(default_factory=list)
    """One entry per validation: epoch, loss, value, seconds."""


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
        ranks = self.ranks
        share = batch if ranks.size == 1 else batch.share(ranks.rank, ranks.size)
        leaves = Leaves(self.base.tables, ranks, batch.counts)
        users, (seen, unseen, *near) = self.base.forward(leaves, share)
        unseen = unseen.view(*share.unseen.shape, -1)
        loss = self.loss(Vectors(users, seen, unseen, near[0] if near else None), share)
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
        found = {"epoch": progress.epoch, "loss": self.mean_loss()}
        with stage(f"validation after epoch {progress.epoch}"):
            whole = self.gathered(self.base.tables)
            value = self.ranks.broadcast(0.0 if self.ranks.rank else self.validation.value(whole))
        found |= {"value": value, "seconds": round(progress.seconds, 2)}
        progress.validations.append(found)
        measured = "" if self.validation.asked is None else f", {config.metric} {value:.4f}"
        log.info("epoch %d: loss %.4f%s", progress.epoch, found["loss"], measured)
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

    def tensors(self) -> Tables:
        """Every tensor of the state, for a checkpoint; on rank 0."""
        loss = self.ranks.summed(float(self._loss_sum))
        own = self._own().items()
        found = {name: self.ranks.gathered(name.partition(".")[2], part) for name, part in own}
        found["generator"] = self.generator.get_state().cpu()
        return found | {"loss": torch.tensor([loss, self._loss_count], dtype=torch.float64)}

    def save(self, path: Path, split: str) -> None:
        """Write a checkpoint, on rank 0."""
        tensors = self.tensors()
        if not self.ranks.rank:
            save_checkpoint(path, tensors, self.progress, self.config, split)

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


def save_checkpoint(
    path: Path, tensors: Tables, progress: Progress, config: TrainConfig, split: str
) -> None:
    """Write everything to one file, whole or not at all."""
    about = {"progress": asdict(progress), "config": asdict(config), "split": split}
    partial = path.with_name(path.name + ".part")
    stored = {name: t.detach().cpu().contiguous() for name, t in tensors.items()}
    save_file(stored, partial, metadata={"elasticrec": json.dumps(about)})
    os.replace(partial, path)


def load_checkpoint(path: Path, config: TrainConfig, split: str) -> tuple[Tables, Progress]:
    """Tensors and progress of a checkpoint made with the same settings from the same split."""
    try:
        with safe_open(path, framework="pt") as file:
            about = json.loads((file.metadata() or {})["elasticrec"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, KeyError, ValueError) as error:
        raise InputError(f"{path} is not a checkpoint: {error}") from error
    if about["split"] != split:
        raise InputError(f"{path} was made from another split; --force begins anew")
    found = about["config"]
    for name, wanted in json.loads(json.dumps(asdict(config))).items():
        if found.get(name) != wanted:
            raise InputError(
                f"{path} was made with {name}={found.get(name)!r}, expected {wanted!r}; "
                "resume with the same settings, or begin anew with --force"
            )
    return tensors, Progress(**about["progress"])


class Clock:
    """Seconds since a training began, and when something was last done."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def start(self, progress: Progress) -> None:
        """Begin to count steps, after those and the seconds that earlier runs took."""
        self._before = progress.seconds - self._began
        self._first, self._latest = (progress.steps, time.monotonic()), dict[str, float]()

    def note(self, progress: Progress) -> None:
        """Write the seconds so far to the progress."""
        progress.seconds = self._before + time.monotonic()

    def passed(self, what: str, seconds: float) -> bool:
        """True once so many seconds have passed since the start, or since it was last true."""
        now = time.monotonic()
        if now - self._latest.get(what, self._first[1]) < seconds:
            return False
        self._latest[what] = now
        return True

    def seconds_left(self, done: int, total: int) -> float:
        """Time that the remaining steps take at the pace of this run."""
        steps, began = self._first
        return (time.monotonic() - began) / max(done - steps, 1) * (total - done)
