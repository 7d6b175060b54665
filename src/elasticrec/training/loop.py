"""The training loop on one page."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic

import numpy as np
import torch

from elasticrec.data.cooccurrence import Cooccurrence, count_cooccurrence
from elasticrec.data.split import Split
from elasticrec.evaluation.choosing import Choice, choose, outward
from elasticrec.evaluation.ranking import pick_device
from elasticrec.progress import stage
from elasticrec.training.config import TrainConfig
from elasticrec.training.losses import Loss
from elasticrec.training.rows import Tables
from elasticrec.training.setup import MakeBase, keep_freed_memory, make_base
from elasticrec.training.sharding import Ranks, one_line_if_lost
from elasticrec.training.state import Clock, Progress, TrainingState, load_checkpoint
from elasticrec.training.table import BlockTable

log = logging.getLogger(__name__)

CHECKPOINT_SECONDS = 60.0
"""Seconds between two checkpoints, at least."""
SAVES_APART = 20.0
"""And so many times as long as one takes."""


class InterruptedTraining(Exception):  # noqa: N818 – asked for, not an error
    """Training was asked to stop; everything up to the last step is in the checkpoint."""


@dataclass(frozen=True)
class Trained:
    """The result of a training."""

    table: BlockTable
    """The vectors with the best validation value."""
    tables: Tables
    """The base's tables that they were made of."""
    progress: Progress
    """Validations, epochs and seconds."""
    choices: list[Choice]
    """The choices of recency and popularity exponent, where they were not given."""
    values: np.ndarray | None
    """(1, n) the metric of each validation user with these choices; None without any."""


@dataclass(frozen=True)
class Step:
    """The progress of a training, for a report."""

    done: int
    """Steps done in all."""
    total: int
    """Steps if every epoch is run."""
    epoch: int
    """The epoch under way, from 1."""
    epochs: int
    """Epochs in all."""
    loss: float
    """Mean loss since the latest validation."""
    best: str
    """The metric and its best value on validation so far; empty before the first."""
    seconds_left: float
    """Time that the remaining steps take at the pace of this run."""

    def __str__(self) -> str:
        best = f", best {self.best}" if self.best else ""
        left = self.seconds_left
        time_left = f"{left:.0f} s" if left < 100 else f"{left / 60:.0f} min"
        return (
            f"epoch {self.epoch}/{self.epochs}, step {self.done:,} of {self.total:,}, "
            f"loss {self.loss:.4f}{best}, {time_left} left"
        )


def train(
    split: Split, config: TrainConfig, *, device: str = "auto",
    checkpoint: Path | None = None, resume: bool = False,
    stop: Callable[[], bool] = lambda: False,
    report: Callable[[Step], None] = lambda step: log.info("%s", step),
    report_seconds: float = 10.0,
    cooccurrence: Cooccurrence | None = None, make: MakeBase = make_base, loss: Loss | None = None,
) -> Trained:  # fmt: skip
    """Train a base on the split's train pairs, choosing on validation; test is never read.

    Args:
        checkpoint: where to save now and then, and when `stop` says so; None saves nowhere.
        resume: go on from `checkpoint` where it exists; on a CPU the result is bit-equal to that
            of a run never interrupted.
        report: called with the progress; by default a line in the log.
        make: makes the base to train, for bases of your own; a resume must be given the same one.
        loss: loss of a batch, without L2, instead of the one that the settings name.
    """
    clock = Clock()
    config = config.sized(split.train)
    Ranks().device(torch.device(pick_device(device)))
    if config.cooccurrence and cooccurrence is None:
        with stage(f"counting co-occurrences of {split.n_items:,} items"):
            cooccurrence = count_cooccurrence(split.train, config.cooccurrence_k)
    job = (split, config, device, cooccurrence, make, loss, checkpoint, resume)
    with one_line_if_lost():
        state = _run(*Ranks().broadcast(job), clock, stop, report, report_seconds)
        base = state.gathered(state.best or state.base.tables)
        table, choices = state.validation.table(base)
    return Trained(table, base.tables, state.progress, choices, state.validation.chosen)


def follow() -> None:
    """Take part in the trainings of rank 0 until it says that there are no more."""
    with suppress(InterruptedTraining):
        while job := Ranks().broadcast(()):
            state = _run(*job, Clock(), lambda: False, lambda _: None, 10.0)
            state.gathered(state.best)


def _run(
    split: Split, config: TrainConfig, device: str, cooccurrence: Cooccurrence | None,
    make: MakeBase, loss: Loss | None, checkpoint: Path | None, resume: bool,
    clock: Clock, stop: Callable[[], bool], report: Callable[[Step], None], report_seconds: float,
) -> TrainingState:  # fmt: skip
    """The state at the end of a training; what is read, written and reported, rank 0 does."""
    ranks = Ranks()
    where = ranks.device(torch.device(pick_device(device)))
    if where.type == "cpu":
        keep_freed_memory()
    generator = torch.Generator(device=where).manual_seed(config.seed)
    with stage(f"first vectors of {split.n_items:,} items"):
        first = replace(config, init="random") if ranks.rank else config  # rank 0's are scattered
        base = make(split.train, first, generator)
    generator.set_state(ranks.broadcast(generator.get_state()))
    state = TrainingState(split, config, base, generator, cooccurrence, loss)
    fingerprint = split.fingerprint() if checkpoint and not ranks.rank else ""
    if ranks.broadcast(bool(checkpoint and resume and checkpoint.exists())):
        assert checkpoint is not None
        found = ({}, Progress()) if ranks.rank else load_checkpoint(checkpoint, config, fingerprint)
        state.restore(*found)
        log.info("resumed in epoch %d", state.progress.epoch + 1)
    progress = state.progress
    clock.start(progress)

    def save() -> float:
        """The seconds that it took."""
        clock.note(progress)
        began = monotonic()
        if checkpoint:
            state.save(checkpoint, fingerprint)
        return monotonic() - began

    every = CHECKPOINT_SECONDS
    with fast_matmul():
        while progress.epoch < config.epochs and not progress.stopped:
            for batch in state.sampler.epoch(config.seed, progress.epoch, generator, progress.step):
                state.step(batch)
                due = clock.passed("report", report_seconds), clock.passed("checkpoint", every)
                to_report, to_save, to_stop = ranks.broadcast((*due, stop()))
                if to_report:
                    report(_step(state, clock))
                if to_save or to_stop:
                    every = max(every, SAVES_APART * save())
                if to_stop:
                    raise InterruptedTraining
            progress.epoch, progress.step = progress.epoch + 1, 0
            if progress.epoch % config.evaluate_every == 0 or progress.epoch == config.epochs:
                clock.note(progress)
                state.validate()
    save()
    return state


def choose_temperature(
    split: Split, config: TrainConfig, *, device: str = "auto",
    stop: Callable[[], bool] = lambda: False,
) -> Choice:  # fmt: skip
    """The temperature by which a short training ranks validation clearly best.

    From the default up and down, until the next candidate is no better. Each is measured with the
    popularity exponent that suits it, and with the recency of the first.
    """
    epochs = max(1, round(config.trial_share * config.sized(split.train).epochs))
    lists = None
    if config.cooccurrence:
        lists = count_cooccurrence(split.train, config.cooccurrence_k)
    trial = replace(config, epochs=epochs, evaluate_every=epochs)

    def tried(temperature: float) -> np.ndarray:
        nonlocal trial
        with stage(f"trying temperature {temperature:g} for {epochs} epochs"):
            found = train(
                split, replace(trial, temperature=temperature), device=device, stop=stop,
                cooccurrence=lists, report=lambda _: None,
            )  # fmt: skip
        trial = replace(trial, recency=found.table.recency)  # the first one's, for all
        assert found.values is not None
        return found.values

    values = outward(tried, config.temperature, config.temperatures)
    return choose("temperature", values, f"{config.temperature:g}", doubt=config.doubt)


@contextmanager
def fast_matmul() -> Iterator[None]:
    """Lets a GPU multiply by tensor cores; a CPU's products stay as they are."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def _step(state: TrainingState, clock: Clock) -> Step:
    """The progress of a training now."""
    progress = state.progress
    return Step(
        done=progress.steps, total=state.n_steps, epoch=progress.epoch + 1,
        epochs=state.config.epochs, loss=state.mean_loss(),
        best=f"{state.config.metric} {progress.best:.4f}" if progress.validations else "",
        seconds_left=clock.seconds_left(progress.steps, state.n_steps),
    )  # fmt: skip
