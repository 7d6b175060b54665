"""The training loop on one page."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from elasticrec.training.cooccurrence import Cooccurrence, count_cooccurrence
from elasticrec.training.table import BlockTable
from elasticrec.data.splitting import Split
from elasticrec.evaluation.ranking import pick_device
from elasticrec.training.checkpoint import (
    Progress,
    load_checkpoint,
    save_checkpoint,
)
from elasticrec.training.config import TrainConfig
from elasticrec.training.objective import Loss, learning_rate
from elasticrec.training.setup import MakeBase, make_base
from elasticrec.training.state import Run

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
    make: MakeBase = make_base,
    loss: Loss | None = None,
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
        make: makes the base to train, for bases of your own; a resume must be given the same one.
        loss: of a batch, without L2, instead of the one that the settings name.
    """
    began, began_cpu = time.monotonic(), time.process_time()
    where = torch.device(pick_device(device))
    generator = torch.Generator(device=where).manual_seed(config.seed)
    if config.cooccurrence and cooccurrence is None:
        cooccurrence = count_cooccurrence(split.train, config.cooccurrence_k)
    base = make(split.train, config, generator)
    run = Run(split, config, base, generator, cooccurrence, loss)
    fingerprint = split.fingerprint() if checkpoint else ""
    if checkpoint and resume and checkpoint.exists():
        run.restore(*load_checkpoint(checkpoint, config, fingerprint))
        log.info("resumed at epoch %d, step %d", run.progress.epoch, run.progress.step)
    progress, sampler = run.progress, run.sampler
    saved = time.monotonic()
    before, before_cpu = progress.seconds, progress.cpu_seconds

    def save() -> None:
        note_time()
        if checkpoint:
            save_checkpoint(checkpoint, run.tensors(), progress, config, fingerprint)

    def note_time() -> None:
        progress.seconds = before + time.monotonic() - began
        progress.cpu_seconds = before_cpu + time.process_time() - began_cpu

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
            note_time()
            run.look()
        if time.monotonic() - saved > checkpoint_seconds:
            save()
            saved = time.monotonic()
    torch.set_float32_matmul_precision("highest")
    save()
    return Trained(run.best_table(), cooccurrence, progress)
