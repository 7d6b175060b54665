"""What the ranks of `test_sharding` run: trainings of `CONFIGS`, or the command line, with a kill.

torchrun --nproc-per-node=2 -m tests.training.ranks tables FOLDER
torchrun --nproc-per-node=2 -m tests.training.ranks command STEP WORD …   # rank 1 dies there
"""

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.synthetic import planted_world
from elasticrec.cli.main import run
from elasticrec.training import loop
from elasticrec.training.config import TrainConfig
from elasticrec.training.sharding import together
from elasticrec.training.state import TrainingState

SMALL = TrainConfig(
    n_blocks=2, block_size=4, epochs=2, batch_size=256, fewest_steps=8, negatives=64,
    evaluate_every=1, metric="recall@20", l2=1e-3, diversity=1e-4, epsilon=1e-3,
)  # fmt: skip
CONFIGS = {
    "rows": replace(SMALL, negatives=32, batch_size=64),
    "whole": SMALL,
    "mf": replace(SMALL, base="mf"),
    "lightgcn": replace(SMALL, base="lightgcn"),
    "bpr": replace(SMALL, base="mf", loss="bpr", negatives=2, cooccurrence=0.0),
}
"""Batches smaller and larger than the table, every base, both losses; with Adam's usual epsilon,
gradients that are 0 but for rounding would move the vectors."""


def world():
    return planted_world(300, 201, 5_000, np.random.default_rng(0), n_clusters=8)


def save_tables(folder):
    for name, config in CONFIGS.items():
        loop.train(world(), config, device="cpu").table.save(Path(folder) / name)


def die_at(number):
    """Let this process end itself at a step of its last training."""
    step = TrainingState.step

    def counted(state, batch):
        if state.progress.steps == number:
            os.kill(os.getpid(), signal.SIGKILL)
        step(state, batch)

    TrainingState.step = counted


if __name__ == "__main__":
    task, number, *words = sys.argv[1:]
    if task == "tables":
        together(lambda: save_tables(number), loop.follow)
    else:
        loop.CHECKPOINT_SECONDS, loop.SAVES_APART = 0.0, 0.0
        if os.environ["RANK"] == "1":
            die_at(int(number))
        sys.argv[1:] = words
        run()
